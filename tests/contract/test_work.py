"""The work of a fit: numbers of accesses and updates, which do not depend on time or machine.

A change may make an access more expensive, but must not silently multiply the number of accesses that
prove the same accuracy. Lower numbers are recorded here; a higher one needs a reason.
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

# Rounding decides ties, and so affects runs slightly: counts differ slightly between processors.
ROOM = 1.25
# {(data set, task): (accesses, updates with their multiplicities)} of MarginClassifier.
WORK = {
    ("breast-cancer", "a"): (5_690, 4_227_064_745),
    ("breast-cancer", "b"): (3_414, 42_272_864),
    ("breast-cancer", "c"): (2_845, 1),
    ("breast-cancer", "d, C=0.01"): (1_707, 1),
    ("breast-cancer", "d, C=1"): (2_845, 1),
    ("breast-cancer", "d, C=100"): (4_552, 1),
    ("digits", "a"): (17_343, 8_138_222_870),
    ("digits", "b"): (11_740, 81_386_710),
    ("digits", "c"): (8_985, 393_241),
    ("digits", "d, C=0.01"): (5_391, 6_771_141),
    ("digits", "d, C=1"): (8_985, 7_870_880),
    ("digits", "d, C=100"): (14_376, 8_006_974),
    ("a9a", "a"): (324_618, 99_463_933_020),
    ("a9a", "b"): (242_320, 994_698_587),
    ("a9a", "c"): (134_314, 616_002),
    ("a9a", "d, C=0.01"): (101_753, 11_180_551),
    ("a9a", "d, C=1"): (134_314, 12_586_599),
    ("a9a", "d, C=100"): (166_875, 12_764_899),
    ("w8a", "a"): (553_277, 3_678_935_704_398),
    ("w8a", "b"): (284_383, 60_753_173_537),
    ("w8a", "c"): (254_963, 3_412_073),
    ("w8a", "d, C=0.01"): (205_214, 10_851_996),
    ("w8a", "d, C=1"): (354_461, 82_677_825),
    ("w8a", "d, C=100"): (453_959, 107_923_960),
    ("usps", "d, C=0.01"): (44_405, 99_272_696),
    ("mushrooms", "d, C=0.01"): (25_398, 6_812_367),
    # BinaryData are very many: a sample comes first.
    ("skin_nonskin", "a"): (1_792_170, 4),
    ("skin_nonskin", "b"): (1_014_689, 2),
    ("shuttle", "a"): (287_150, 4),
    ("shuttle", "b"): (190_000, 2),
    # Features are many, so every sample is accessed on its own.
    ("pcmac", "a"): (32_813, 1_254_630_464_211),
    ("pcmac", "b"): (16_467, 12_465_426_283),
    ("pcmac", "c"): (27_486, 82_575_987),
    ("pcmac", "d, C=0.01"): (5_829, 89_223_348),
    ("pcmac", "d, C=1"): (17_118, 1_031_134_807),
    ("pcmac", "d, C=100"): (34_999, 1_782_931_320),
    ("sector", "a"): (129_132, 30_509_548_965),
    ("sector", "b"): (45_636, 298_252_274),
    ("sector", "d, C=0.01"): (12_824, 40_504_610),
    ("sector", "d, C=1"): (49_640, 51_681_522),
    ("relathe", "a"): (31_043, 414_786_021_932),
    ("relathe", "b"): (17_137, 4_137_844_711),
    ("relathe", "c"): (21_346, 33_310_812),
    ("relathe", "d, C=0.01"): (4_281, 49_791_323),
    ("relathe", "d, C=1"): (13_892, 363_391_896),
    ("relathe", "d, C=100"): (34_034, 766_631_652),
    # BinaryData are few: accesses over their Gram matrix.
    ("duke", "a"): (963, 3_150_912_309),
    ("duke", "b"): (623, 31_493_027),
    ("duke", "c"): (298, 129_865),
    ("duke", "d, C=0.01"): (494, 3_050_127),
    ("duke", "d, C=1"): (654, 3_102_275),
    ("duke", "d, C=100"): (682, 3_102_918),
}

# {(algorithm, data set): (accesses, updates)} of task c, by the rules of each.
OTHERS = {
    ("pdm", "breast-cancer"): (193_855, 314_424),
    ("pdm-succ", "breast-cancer"): (56_282, 19_716),
    ("mpcs", "breast-cancer"): (214_176, 470_906),
    ("mpvs", "breast-cancer"): (243_216, 568_718),
    ("mpu", "breast-cancer"): (14_763, 2_632_524),
    ("pdm", "digits"): (1_321_341, 1_763_351),
    ("pdm-succ", "digits"): (682_350, 249_979),
    ("mpcs", "digits"): (181_167, 844_984),
    ("mpvs", "digits"): (993_005, 941_473),
    ("mpu", "digits"): (145_135, 20_271_805),
    ("pdm", "a9a"): (22_399_917, 26_632_117),
    ("pdm-succ", "a9a"): (6_054_620, 1_571_433),
    ("mpcs", "a9a"): (1_783_279, 4_000_675),
    ("mpvs", "a9a"): (2_723_924, 1_603_427),
    ("mpu", "a9a"): (1_108_009, 82_825_941),
    ("pdm", "w8a"): (4_566_237, 3_729_215),
    ("pdm-succ", "w8a"): (4_641_819, 179_375),
    ("mpcs", "w8a"): (5_255_256, 18_433_704),
    ("mpvs", "w8a"): (1_004_959, 1_573_652),
    ("mpu", "w8a"): (767_830, 157_473_587),
    ("pdm", "pcmac"): (805_424, 244_961),
    ("mpcs", "pcmac"): (448_154, 27_676_004),
    ("mpu", "pcmac"): (82_203, 116_019_391),
}


# Small, of few and of many features; the others take seconds to read.
DAILY = ("breast-cancer", "digits", "mushrooms", "pcmac")


def each_record(records, names):
    """Parametrise a test by the keys of records; those of other data sets are slow."""
    position = names.index("name")
    marks = [() if key[position] in DAILY else pytest.mark.slow for key in records]
    cases = [pytest.param(*key, marks=mark) for key, mark in zip(records, marks, strict=True)]
    return pytest.mark.parametrize(names, cases)


@functools.cache
def problems(name):
    """The problems of the benchmark's tasks: {task: (problem, gap)}."""
    return {key: (problem, gap) for key, (_, problem, gap) in benchmark.problems_of(name).items()}


def check_work(algorithm, name, task, accesses, updates):
    if name not in benchmark.SHIPPED and name not in real_data.available():
        pytest.skip(f"{real_data.VARIABLE} does not lead to {name}: it is not part of the project")
    problem, gap = problems(name)[task]
    eps = contests.accuracy_of(problem.loss, gap)
    classifier = peers.ours(algorithm, problem, eps, seed=0, max_iter=1000)
    if algorithm == "pdm-succ":  # the work until the proof, not until the last accuracy
        classifier.set_params(stop="certificate")
    fit = classifier.fit(problem.X, problem.y)
    assert fit.converged_
    assert fit.n_accesses_ <= ROOM * accesses
    assert fit.n_updates_ <= ROOM * updates
    return fit


@each_record(WORK, ("name", "task"))
def test_the_planned_solvers_need_no_more_passes_and_updates_than_recorded(name, task):
    check_work("auto", name, task, *WORK[name, task])


@each_record(OTHERS, ("algorithm", "name"))
def test_other_algorithms_need_no_more_passes_and_updates_than_recorded(algorithm, name):
    fitted = check_work(algorithm, name, "c", *OTHERS[algorithm, name])
    assert fitted.solver_ == "rules"


def overlapping_classes(n_classes):
    generator = np.random.default_rng(0)
    y = generator.integers(n_classes, size=70)
    return generator.normal(size=(70, 4)) + np.eye(4)[y], y


@pytest.mark.parametrize("name", ["perceptron", "budget-perceptron", "second-order-perceptron"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_plain_epochs_and_streams_access_every_sample_once_a_pass(name, n_classes):
    X, y = overlapping_classes(n_classes)
    n_problems = 1 if n_classes == 2 else n_classes
    classifier = margins.get(name)(random_state=0)
    if "max_iter" in classifier.get_params():
        classifier.set_params(max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(X, y)
    assert classifier.n_iter_ >= 1
    assert classifier.n_accesses_ == sum(len(curve) for curve in classifier.learning_curve_) * len(X)
    of_the_fit = classifier.n_accesses_
    for chunk in (slice(0, 50), slice(50, 70)):
        classifier.partial_fit(X[chunk], y[chunk], classes=np.unique(y))
    assert classifier.n_accesses_ == of_the_fit + n_problems * len(X)


def test_accesses_to_active_sets_count_and_threads_change_nothing():
    X, y = overlapping_classes(3)
    fits = [margins.get("mpu")(random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)]
    assert fits[0].n_accesses_ == fits[1].n_accesses_
    assert fits[0].n_accesses_ > len(X) * sum(len(curve) for curve in fits[0].learning_curve_)
