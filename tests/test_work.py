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
    ("breast-cancer", "a"): (22_398, 2_625_001_148),
    ("breast-cancer", "b"): (7_825, 24_659_490),
    ("breast-cancer", "c"): (14_741, 2_622_276),
    ("breast-cancer", "d, C=0.01"): (3_357, 3_903_961),
    ("breast-cancer", "d, C=1"): (13_621, 26_565_477),
    ("breast-cancer", "d, C=100"): (370_189, 959_614_085),
    ("digits", "a"): (193_532, 13_557_780_481),
    ("digits", "b"): (51_783, 127_432_746),
    ("digits", "c"): (155_270, 20_801_804),
    ("digits", "d, C=0.01"): (9_959, 11_368_800),
    ("digits", "d, C=1"): (153_711, 242_665_543),
    ("digits", "d, C=100"): (10_130_065, 22_849_031_234),
    ("a9a", "a"): (1_723_506, 161_981_487_091),
    ("a9a", "b"): (698_507, 1_511_545_009),
    ("a9a", "c"): (902_095, 78_845_361),
    ("a9a", "d, C=0.01"): (157_605, 140_467_248),
    ("a9a", "d, C=1"): (2_865_968, 3_476_533_424),
    ("a9a", "d, C=100"): (196_470_032, 335_314_539_222),
    ("w8a", "a"): (645_679, 627_034_762_675),
    ("w8a", "b"): (234_028, 6_055_211_351),
    ("w8a", "c"): (767_493, 157_035_570),
    ("w8a", "d, C=0.01"): (195_053, 98_764_374),
    ("w8a", "d, C=1"): (2_602_667, 8_084_899_286),
    ("w8a", "d, C=100"): (174_450_462, 929_219_154_386),
}
LONG = 10_000_000  # visits that a test may take without being called slow


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


def listed():
    for (name, task), (visits, _) in WORK.items():
        yield pytest.param(name, task, marks=[pytest.mark.slow] if visits > LONG else [])


@pytest.mark.parametrize(("name", "task"), list(listed()))
def test_mpu_needs_no_more_visits_and_updates_than_it_did(name, task):
    if name not in benchmark.SHIPPED and name not in real_data.available():
        pytest.skip(f"{real_data.VARIABLE} does not lead to {name}: it is not part of the project")
    problem, gap = problems(name)[task]
    eps = contests.accuracy_of(problem, gap)
    fit = peers.ours("mpu", problem, eps, seed=0, max_iter=1000).fit(problem.X, problem.y)
    assert fit.converged_
    visits, updates = WORK[name, task]
    assert fit.n_visits_ <= ROOM * visits
    assert fit.n_updates_ <= ROOM * updates


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
