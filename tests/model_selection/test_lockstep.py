"""Fits in lockstep leave, bit for bit, what fits one after the other leave."""

import math
from itertools import product

import numpy as np
import pytest
import sample_problems
from algorithm_groups import NOISE_TOLERANT
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Perceptron

import margins
from margins.kernels.functions.linear import Linear
from margins.model_selection import lockstep
from margins.model_selection.lockstep import reason_against, scores_in_lockstep
from margins.parameters import Interval, parameter
from margins.rules import Additive, FixedThreshold, NoShrink, Rules

# These tests do not depend on whether a run ends with an epoch without updates.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
BOUNDS = [math.inf, 12, 5, 3, 1]
GRID = [
    {"tau": tau, "alpha_bound": bound, "lam": lam}
    for tau, bound, lam in product([0, 0.125, 1.0], BOUNDS, [0.0, 0.5])
]
AVERAGINGS = [
    {"averaging": averaging, "weighting": "votes"}
    for averaging in ("last", "longest", "averaged", "voted", "pocket")
] + [{"averaging": "averaged", "weighting": "accesses"}]


def pam(**params):
    return margins.get("pam")(**{"max_iter": 15, "random_state": 1} | params)


def real_data(n_classes=2, m=90, d=11):
    """Classes that overlap; training labels and points, and test points."""
    generator = np.random.default_rng(n_classes)
    y = generator.integers(n_classes, size=m)
    X = generator.normal(size=(m, d)) + 0.7 * generator.normal(size=(n_classes, d))[y]
    return X, np.array(["ash", "fir", "oak"])[y], generator.normal(size=(40, d))


def separable_data():
    """Some epochs, then one without updates."""
    X, _, points = real_data()
    X = X[np.abs(X[:, 0] - 0.3) > 0.5]
    return X, X[:, 0] > 0.3, points


def integer_data():
    generator = np.random.default_rng(0)
    X = generator.integers(-2, 3, size=(60, 6)).astype(float)  # rows of zeros and ties too
    return X, X[:, 0] + generator.integers(-2, 3, size=60) > 0, X[:20]


def one_by_one(classifier, settings, X, y, points, sample_weight=None):
    for setting in settings:
        fitted = clone(classifier).set_params(**setting).fit(X, y, sample_weight)
        yield fitted, fitted.decision_function(points)


def assert_alike(classifier, settings, X, y, points, sample_weight=None):
    assert reason_against(classifier, settings) is None
    before = dict(vars(classifier))
    found = scores_in_lockstep(classifier, settings, X, y, points, sample_weight)
    assert len(found) == len(settings) and vars(classifier) == before
    expected = one_by_one(classifier, settings, X, y, points, sample_weight)
    for setting, trained, (fitted, scores) in zip(settings, found, expected, strict=True):
        assert trained.scores.tobytes() == scores.tobytes(), setting
        assert trained.scores.shape == scores.shape and trained.scores.dtype == scores.dtype
        assert (trained.n_iter, trained.n_updates) == (fitted.n_iter_, fitted.n_updates_), setting
        assert_array_equal(trained.classes, fitted.classes_)


# ---------------------------------------------------------------------------------------- equal results


@pytest.mark.parametrize("shuffle", ["once", "epochs", "never"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_equal_separate_fits_bit_for_bit(n_classes, shuffle):
    assert_alike(pam(shuffle=shuffle), GRID, *real_data(n_classes))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_averaging_gets_the_hypotheses_of_a_separate_fit(n_classes):
    settings = [
        {"tau": tau, "alpha_bound": bound, "lam": lam} | averaging
        for tau, bound, lam, averaging in product([0.0, 0.5], [math.inf, 5, 2], [0.0, 0.5], AVERAGINGS)
    ]
    assert_alike(pam(), settings, *real_data(n_classes))


@pytest.mark.parametrize("averaging", AVERAGINGS, ids=lambda averaging: "-".join(averaging.values()))
def test_epochs_after_one_without_updates_count(averaging):
    for data in (separable_data, integer_data):
        assert_alike(pam(max_iter=60, **averaging), GRID, *data())


@pytest.mark.parametrize("d", [1, 3, 8, 14])
@pytest.mark.parametrize("layout", sample_problems.LAYOUTS)
def test_sums_have_the_order_of_a_single_product_in_every_layout(layout, d):
    # Many products would be 0 but for rounding, which then decides.
    generator = np.random.default_rng(d)
    X = generator.integers(-3, 4, size=(60, d)) * 0.1
    y = X[:, 0] + generator.integers(-1, 2, size=60) > 0
    settings = [{"tau": 0.0, "lam": lam, "alpha_bound": bound} for lam in (0, 0.1) for bound in BOUNDS]
    settings += [{"intercept_scaling": scaling, "max_iter": 9} for scaling in np.arange(1, 9) / 10]
    classifier = pam(tau=0.0, theta_init=0.0, intercept_scaling=0.0)
    assert_alike(classifier, settings, sample_problems.LAYOUTS[layout](X), y, X[:9])


def test_rows_of_ones_need_no_values():
    X, y, points = real_data(3)
    assert_alike(pam(), GRID, sparse.csr_array((X > 0.5).astype(float)), y, sparse.csr_array(points))


@pytest.mark.parametrize("name", NOISE_TOLERANT)
def test_all_noise_tolerant_perceptrons_train_in_lockstep(name):
    classifier = margins.get(name)(max_iter=8, random_state=0)
    settings = [{}] + [{"eta": eta, "alpha_bound": bound} for eta in (0.3, 2.0) for bound in (2, 4)]
    assert_alike(classifier, settings, *real_data(3))


def test_no_other_algorithm_trains_in_lockstep():
    names = [
        name for name in margins.available() if not reason_against(margins.get(name)(random_state=0), [])
    ]
    assert sorted(names) == NOISE_TOLERANT


SOME = [{"tau": 0.3}, {"tau": 0.3, "alpha_bound": 2}, {"tau": 1.0, "lam": 0.2, "averaging": "voted"}]
OPTIONS = [
    {"fit_intercept": False},
    {"theta_init": 0.0, "tau": 0.0},
    {"theta_init": 3.0},
    {"intercept_scaling": 0.0},
    {"intercept_scaling": 0.3},
    {"eta": 7},
    {"eta": np.float32(0.3), "tau": np.float32(0.7), "lam": np.float32(0.1)},
    {"max_iter": 1},
    {"max_iter": np.int64(3), "alpha_bound": 3},
    {"random_state": np.int64(4)},
    {"shuffle": "epochs", "random_state": 4},
    {"class_weight": {"ash": 0.5, "fir": 2.0}},
    {"class_weight": "balanced"},
    {"n_jobs": 2},
    {"verbose": False},
]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: "-".join(option))
def test_every_option_has_the_effect_it_has_in_a_fit(option):
    X, y, points = real_data(3)
    assert_alike(pam(), [setting | option for setting in SOME] + SOME, X, y, points)


def test_settings_with_different_orders_and_samples_may_be_combined():
    names = ("random_state", "shuffle", "max_iter", "class_weight")
    values = product([0, 1], ["once", "never"], [2, 9], [None, {"ash": 2.0}])
    settings = [dict(zip(names, each, strict=True)) for each in values]
    assert_alike(pam(), settings, *real_data(3))


def test_samples_of_weight_0_are_left_out():
    X, y, points = real_data(3)
    weight = np.random.default_rng(0).integers(0, 3, size=len(X))
    settings = [
        setting | {"averaging": averaging} for setting in SOME for averaging in ("last", "voted")
    ]
    assert_alike(pam(), settings, X, y, points, sample_weight=weight)


def test_many_models_are_trained_in_batches(monkeypatch):
    monkeypatch.setattr(lockstep, "MIN_COLUMNS", 9)
    monkeypatch.setattr(lockstep, "CACHE_BYTES", 0)
    assert_alike(pam(), GRID, *real_data(3))
    monkeypatch.setattr(lockstep, "MEMORY_BYTES", 3000)
    assert_alike(pam(), GRID, *real_data(3))


def test_no_settings_no_results():
    assert scores_in_lockstep(pam(), [], *real_data()) == []


# -------------------------------------------------------------------------------- what is trained once


def columns_of_epochs(monkeypatch, classifier, settings):
    columns = []

    class Watched(lockstep.Lockstep):
        def full_epochs(self, order, n_before, only_one):
            assert only_one
            columns.append(self.n_columns)
            return super().full_epochs(order, n_before, only_one)

    monkeypatch.setattr(lockstep, "Lockstep", Watched)
    scores_in_lockstep(classifier, settings, *real_data())
    return columns


def test_settings_that_differ_only_in_the_averaging_train_once(monkeypatch):
    assert columns_of_epochs(monkeypatch, pam(max_iter=3, shuffle="epochs"), AVERAGINGS) == [1, 1, 1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_voted_settings_multiply_sparse_samples_once(n_classes, monkeypatch):
    X, y, points = real_data(n_classes)
    X, points = sparse.csr_matrix(X * (X > 0)), sparse.csr_matrix(points * (points > 0))
    settings = [setting | {"averaging": kind} for setting in GRID[:6] for kind in ("voted", "last")]
    settings += [{"averaging": "voted", "intercept_scaling": 0.5}]
    assert_alike(pam(), settings, X, y, points)

    products, of_kernel = [], Linear.block
    monkeypatch.setattr(Linear, "block", lambda *args: products.append(args) or of_kernel(*args))
    voted = [setting for setting in settings if setting["averaging"] == "voted"]
    scores_in_lockstep(pam(), voted, X, y, points)
    assert len(products) == 1


def test_a_bound_splits_models_when_it_is_reached(monkeypatch):
    settings = [{"alpha_bound": bound} for bound in (2, math.inf, 4, 6)]  # 6 epochs never reach 6
    columns = columns_of_epochs(monkeypatch, pam(max_iter=6, shuffle="epochs"), settings)
    # 2 is reached in the third epoch, so often that the fourth has no updates; 4 in the fifth.
    assert columns == [1, 1, 1, 2, 1, 2]


# ------------------------------------------------------------------------------------- what is not done


class OwnThresholds(margins.get("pam")):
    """A margin of its own."""

    wish: float = parameter(Interval(0, 1), "In units of theta_init.", default=0.5)

    def _thresholds(self):
        return (self.wish * self.theta_init_ / self.eta,) * 2


class OwnRules(margins.get("pam")):
    """A margin in units of the longest sample."""

    def online_rules(self, sqradius):
        return Rules(FixedThreshold(0.1 * sqradius), Additive(most=1), NoShrink())


class OwnStages(margins.get("pam")):
    """Epochs of its own."""

    def phases(self, run):
        yield from super().phases(run)


def test_subclasses_may_change_thresholds():
    settings = [{"wish": 0.1}, {"wish": 0.9, "alpha_bound": 2}]
    assert_alike(OwnThresholds(max_iter=5, random_state=0), settings, *real_data())


@pytest.mark.parametrize(
    ("classifier", "settings", "reason"),
    [
        (Perceptron(), [{}], "Perceptron is not a noise-tolerant perceptron"),
        (margins.get("pdm")(), [{}], "not a noise-tolerant"),
        (OwnStages(random_state=0), [{}], "OwnStages overrides phases"),
        (OwnRules(random_state=0), [{}], "OwnRules overrides online_rules"),
        (pam(kernel="rbf"), [{}], "kernel='rbf' is not linear"),
        (pam(), [{}, {"kernel": np.dot}], "is not linear"),
        (pam(), [{"C": 1.0}], "C=1.0 is not inf"),
        (pam(), [{"verbose": 1}], "verbose=1"),
        (pam(random_state=None), [{}], "random_state=None is not an integer"),
        (pam(), [{"random_state": np.random.RandomState(0)}], "is not an integer"),
        (pam(), [{}, {"averaging": "tail"}], "averaging='tail'"),
    ],
)
def test_the_reason_against_is_returned(classifier, settings, reason):
    assert reason in reason_against(classifier, settings)
    with pytest.raises(ValueError, match="cannot be trained in lockstep"):
        scores_in_lockstep(classifier, settings, *real_data())


def test_callbacks_exclude_lockstep():
    callback = pytest.importorskip("sklearn.callback")
    classifier = pam().set_callbacks(callback.ScoringMonitor(scoring="accuracy"))
    assert reason_against(classifier, [{}]) == "callbacks are set"


def test_a_setting_may_remove_the_reason_against_lockstep():
    assert reason_against(pam(C=1.0, random_state=None), [{"C": math.inf, "random_state": 0}]) is None


X, Y, POINTS = real_data()
BAD = {
    "parameter": ([{}, {"tau": -1.0}], X, Y, POINTS, None),
    "parameters that do not go together": ([{"tau": 1.0, "theta_init": 0}], X, Y, POINTS, None),
    "thresholds": ([{"tau": 1e60, "theta_init": 1e60, "eta": 1e-300}], X, Y, POINTS, None),
    "averaging": ([{"averaging": "best"}], X, Y, POINTS, None),
    "unknown parameter": ([{"tua": 1.0}], X, Y, POINTS, None),
    "NaN": ([{}], np.where(X > 2, np.nan, X), Y, POINTS, None),
    "lengths": ([{}], X, Y[1:], POINTS, None),
    "one class": ([{}], X, np.zeros(len(X)), POINTS, None),
    "too long": ([{}], X * 1e70, Y, POINTS, None),
    "real labels": ([{}], X, X[:, 0], POINTS, None),
    "test features": ([{}, {"tau": -1.0}], X, Y, POINTS[:, 1:], None),
    "negative weight": ([{}], X, Y, POINTS, -np.ones(len(X))),
    "empty class": ([{}], X, Y, POINTS, (np.unique(Y)[0] == Y).astype(float)),
    "class weight": ([{}, {"class_weight": {"elm": 1.0}}], X, Y, POINTS, None),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_are_the_same_as_in_a_fit(case):
    settings, X, y, points, weight = BAD[case]
    with pytest.raises(ValueError) as expected:
        list(one_by_one(pam(), settings, X, y, points, weight))
    assert reason_against(pam(), settings) is None
    with pytest.raises(ValueError) as found:
        scores_in_lockstep(pam(), settings, X, y, points, weight)
    assert str(found.value) == str(expected.value)
