"""How much work a fit is: visits and updates, which no clock and no machine can blur.

A later change may make a fit cheaper or a visit dearer, but must not silently present patterns a
multiple of the times that it took to prove the same. Who lowers the numbers stores the new ones here;
who needs a higher one says why.
"""

import functools
import warnings

import benchmark
import contests
import numpy as np
import peers
import pytest
import real_data
from sklearn.exceptions import ConvergenceWarning

import margins

# Rounding decides ties, and so, a little, how a run goes on: other processors count a little otherwise.
ROOM = 1.25
# {(data set, task): (visits, updates with their multiplicities)} of mpu.
WORK = {
    ("breast-cancer", "a"): (6_259, 4_144_594_001),
    ("breast-cancer", "b"): (3_414, 41_448_109),
    ("breast-cancer", "c"): (2_845, 1),
    ("breast-cancer", "d, C=0.01"): (1_707, 1),
    ("breast-cancer", "d, C=1"): (2_845, 1),
    ("breast-cancer", "d, C=100"): (4_552, 1),
    ("digits", "a"): (21_625, 7_893_822_663),
    ("digits", "b"): (13_604, 78_942_557),
    ("digits", "c"): (8_188, 245_420),
    ("digits", "d, C=0.01"): (4_594, 4_232_861),
    ("digits", "d, C=1"): (8_188, 4_914_658),
    ("digits", "d, C=100"): (11_782, 4_996_356),
    ("a9a", "a"): (340_990, 99_427_328_027),
    ("a9a", "b"): (261_787, 994_332_448),
    ("a9a", "c"): (138_384, 1_201_051),
    ("a9a", "d, C=0.01"): (105_823, 21_452_214),
    ("a9a", "d, C=1"): (138_384, 24_539_850),
    ("a9a", "d, C=100"): (170_945, 24_892_978),
    ("w8a", "a"): (557_453, 3_656_477_444_391),
    ("w8a", "b"): (211_823, 58_889_958_078),
    ("w8a", "c"): (261_182, 6_303_587),
    ("w8a", "d, C=0.01"): (211_433, 18_975_154),
    ("w8a", "d, C=1"): (310_931, 155_284_896),
    ("w8a", "d, C=100"): (509_927, 209_098_825),
    # Features are many, so every pattern is visited on its own.
    ("pcmac", "a"): (62_867, 1_352_803_200_862),
    ("pcmac", "b"): (23_527, 13_410_525_556),
    ("pcmac", "c"): (57_025, 104_610_433),
    ("pcmac", "d, C=0.01"): (9_634, 92_522_483),
    ("pcmac", "d, C=1"): (26_379, 1_229_310_074),
    ("pcmac", "d, C=100"): (90_163, 2_273_625_356),
}

# {(algorithm, data set): (visits, updates)} of task c.
OTHERS = {
    ("pdm", "breast-cancer"): (2_845, 1),
    ("mpcs", "breast-cancer"): (2_845, 1),
    ("mpvs", "breast-cancer"): (2_845, 1),
    ("pdm", "digits"): (8_188, 411),
    ("mpcs", "digits"): (8_188, 8_450),
    ("mpvs", "digits"): (8_188, 2_469),
    ("pdm", "a9a"): (138_384, 2_051),
    ("mpcs", "a9a"): (138_384, 42_258),
    ("mpvs", "a9a"): (138_384, 10_200),
    ("pdm", "w8a"): (261_182, 616),
    ("mpcs", "w8a"): (261_182, 211_972),
    ("mpvs", "w8a"): (261_182, 48_947),
    ("pdm", "pcmac"): (808_176, 261_849),
    ("mpcs", "pcmac"): (438_439, 28_661_066),
}


@functools.cache
def problems(name):
    """The problems of the benchmark's tasks: {task: (problem, gap)}."""
    tasks = benchmark.Benchmark(name, None, ())
    found = {
        "a": (tasks.l1_svm(), 1e-4),
        "b": (tasks.l1_svm(), 0.01),
        "c": (tasks.maximum_margin(), benchmark.MARGIN_GAP),
    }
    for C in (0.01, 1.0, 100.0):
        found[f"d, C={C:g}"] = tasks.squared_hinge(C), 1e-3
    return found


def check_work(algorithm, name, task, visits, updates):
    if name not in benchmark.SHIPPED and name not in real_data.available():
        pytest.skip(f"{real_data.VARIABLE} does not lead to {name}: it is not part of the project")
    problem, gap = problems(name)[task]
    eps = contests.accuracy_of(problem, gap)
    fit = peers.ours(algorithm, problem, eps, seed=0, max_iter=1000).fit(problem.X, problem.y)
    assert fit.converged_
    assert fit.n_visits_ <= ROOM * visits
    assert fit.n_updates_ <= ROOM * updates


@pytest.mark.parametrize(("name", "task"), list(WORK))
def test_mpu_needs_no_more_visits_and_updates_than_it_did(name, task):
    check_work("mpu", name, task, *WORK[name, task])


@pytest.mark.parametrize(("algorithm", "name"), list(OTHERS))
def test_others_need_no_more_visits_and_updates_than_they_did(algorithm, name):
    check_work(algorithm, name, "c", *OTHERS[algorithm, name])


def overlapping_classes(n_classes):
    generator = np.random.default_rng(0)
    y = generator.integers(n_classes, size=70)
    return generator.normal(size=(70, 4)) + np.eye(4)[y], y


@pytest.mark.parametrize("name", ["perceptron", "budget-perceptron", "second-order-perceptron"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_plain_epochs_and_streams_visit_every_pattern_once_a_pass(name, n_classes):
    X, y = overlapping_classes(n_classes)
    n_problems = 1 if n_classes == 2 else n_classes
    classifier = margins.get(name)(random_state=0)
    if "max_iter" in classifier.get_params():
        classifier.set_params(max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(X, y)
    assert classifier.n_iter_ >= 1
    assert classifier.n_visits_ == sum(len(curve) for curve in classifier.learning_curve_) * len(X)
    for chunk in (slice(0, 50), slice(50, 70)):
        classifier.partial_fit(X[chunk], y[chunk], classes=np.unique(y))
    assert classifier.n_visits_ == n_problems * len(X)


def test_visits_to_active_sets_count_and_threads_change_nothing():
    X, y = overlapping_classes(3)
    fits = [margins.get("mpu")(random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)]
    assert fits[0].n_visits_ == fits[1].n_visits_
    assert fits[0].n_visits_ > len(X) * sum(len(curve) for curve in fits[0].learning_curve_)
