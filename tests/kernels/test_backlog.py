"""Updates that wait: whatever the cache holds, a fit is the same bit for bit."""

import time
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import margins
from margins._activeset import Level
from margins._update import WeightVector
from margins.data.binary_data import augmented_sqnorms, make_binary_data
from margins.kernels import Kernel, Polynomial
from margins.linalg.threads import TimeLimitReached, time_limit
from margins.rules import (
    Additive,
    Average,
    Averaging,
    ConstantShrink,
    LongestSurvivor,
    MarginError,
    MistakeHistory,
    NoShrink,
    PassiveAggressive,
    Python,
    Rules,
)
from margins.solvers._waiting_passes import WaitingPasses

MAX_COLUMNS = 32  # points whose values are computed together
N = 1300  # more samples than a block, and more mistakes than the list of updates holds
EVERY_ROW = 100.0  # megabytes
FEW_ROWS, SOME_ROWS = 0.01, 2.0
NOISE_TOLERANT = [
    ("perceptron", {"averaging": averaging})
    for averaging in ("last", "longest", "pocket", "averaged", "voted", "tail")
]
OTHERS = [
    ("perceptron", {"averaging": "averaged", "weighting": "accesses"}),
    ("perceptron", {"tau": 0.5, "theta_init": None, "averaging": "longest", "shuffle": "epochs"}),
    ("lambda-trick", {"lam": 3.0}),
    ("alpha-bound", {"alpha_bound": 2}),
    ("paum", {}),
    ("romma", {}),  # its updates shrink
    ("norma", {}),  # every sample shrinks
    ("ballseptron", {}),
    ("pa", {}),
    ("servedio-average", {}),
]


@dataclass(frozen=True)
class Cubic(Kernel):
    """A formula in Python."""

    def transform(self, products, x_sqnorms, z_sqnorms):
        return (1 + products) ** 3


def noisy_problem(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 12)) < 0.5, rng.normal(size=(n, 12)), 0.0)
    y = np.where((X[:, 0] * X[:, 1] > 0) ^ (rng.random(n) < 0.3), 1, -1)
    return X, y


def fit(name, params, X, y, cache_size, **more):
    settings = {"kernel": "poly", "degree": 2, "coef0": 1.0, "random_state": 3, "max_iter": 3}
    classifier = margins.get(name)(cache_size=cache_size, **(settings | params | more))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return classifier.fit(X, y)


def few_cached_rows():
    """A noisy problem over the rows of a kernel matrix, two of them cached: BinaryData."""
    X, y = noisy_problem()
    rows = Polynomial(degree=2).resolve(X).rows(X, FEW_ROWS)
    return make_binary_data(rows, augmented_sqnorms(rows.sqnorms(), 1.0, False), y > 0, 1.0, 0.0, np.inf)


def n_rows_computed(rules, averaging=None, levels=()):
    """How many rows one epoch computes: 0 if all its updates wait."""
    data, weights, order = few_cached_rows(), WeightVector(N, N), np.arange(N, dtype=np.int32)
    averaging = averaging and averaging(weights)
    n_changed = WaitingPasses(levels, N).full_epoch(data, weights, rules, order, None, averaging)
    assert n_changed > 0
    return data.rows.n_computed


def model_of(classifier):
    """All numbers that a fit leaves: list of ndarray."""
    numbers = [classifier.decision_function(noisy_problem(200, seed=1)[0])]
    for name in ("dual_coef_", "intercept_", "support_", "n_iter_", "n_updates_"):
        if hasattr(classifier, name):
            numbers.append(np.ravel(getattr(classifier, name)))
    numbers.extend(np.array(certificate) for certificate in classifier.certificates_)
    return numbers


def assert_same(found, expected):
    for ours, theirs in zip(model_of(found), model_of(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("name", "params"), NOISE_TOLERANT + OTHERS)
def test_cache_does_not_change_a_bit(name, params):
    X, y = noisy_problem()
    expected = fit(name, params, X, y, EVERY_ROW)
    for cache_size in (FEW_ROWS, SOME_ROWS):
        assert_same(fit(name, params, X, y, cache_size), expected)


@pytest.mark.parametrize(
    ("kernel", "layout"),
    [("rbf", sparse.csr_matrix), ("linear", np.asfortranarray), (Cubic(), np.asarray)],
    ids=["rbf", "linear", "cubic"],
)
def test_every_kernel_and_layout(kernel, layout):
    X, y = noisy_problem()
    y = np.where(np.arange(N) % 3 == 0, 5, y)  # three classes share the rows
    found, expected = (
        fit("voted-perceptron", {}, layout(X), y, cache_size, kernel=kernel)
        for cache_size in (SOME_ROWS, EVERY_ROW)
    )
    assert_same(found, expected)


def test_sample_that_is_twice_in_an_order():
    X, y = noisy_problem()
    X, y = np.vstack([X[:700], X[:700]]), np.append(y[:700], y[:700])
    params = {"averaging": "averaged"}
    assert_same(fit("perceptron", params, X, y, FEW_ROWS), fit("perceptron", params, X, y, EVERY_ROW))


def test_error_of_a_kernel_function_is_raised_and_it_is_not_called_again():
    calls = []

    @dataclass(frozen=True)
    class Failing(Kernel):
        def transform(self, products, x_sqnorms, z_sqnorms):
            calls.append("called")
            if products.shape[-1] == MAX_COLUMNS:  # of a list of updates
                calls.append("failed")
                raise RuntimeError("the formula failed")
            return products

    X, y = noisy_problem()
    with pytest.raises(RuntimeError, match="the formula failed"):
        fit("perceptron", {}, X, y, FEW_ROWS, kernel=Failing())
    assert calls[-1] == "failed"


def test_time_limit_leaves_products_that_belong_to_the_dual_variables():
    data = few_cached_rows()
    weights = WeightVector(N, N)
    rules = Rules(MarginError(), Additive(), NoShrink())
    loop = WaitingPasses((), N)
    order = np.arange(N, dtype=np.int32)
    with pytest.raises(TimeLimitReached), time_limit(time.perf_counter()):
        loop.full_epoch(data, weights, rules, order)
    assert 0 < loop.n_accesses < N
    assert data.rows.n_computed == 0  # the other samples have had the updates, without a row
    np.testing.assert_allclose(
        weights.products(data), weights.over(data).products(data), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("averaging", [None, Average, lambda start: MistakeHistory()])
@pytest.mark.parametrize("update", [Additive(), PassiveAggressive()])
def test_updates_wait_if_only_products_are_read(update, averaging):
    assert n_rows_computed(Rules(MarginError(), update, NoShrink()), averaging) == 0


class MyUpdate(Additive):
    """May do anything in a compiled subclass."""


class MyHistory(MistakeHistory):
    """Likewise."""


@pytest.mark.parametrize(
    ("update", "shrink", "averaging"),
    [
        (Additive(), ConstantShrink(0.1), None),
        (Python(lambda sample_sqnorm: 1 / sample_sqnorm, "update"), NoShrink(), None),
        (MyUpdate(), NoShrink(), None),
        (Additive(), NoShrink(), LongestSurvivor),
        (Additive(), NoShrink(), lambda start: Averaging()),
        (Additive(), NoShrink(), lambda start: MyHistory()),
    ],
)
def test_no_update_waits_if_weights_may_be_read_or_rescaled(update, shrink, averaging):
    assert n_rows_computed(Rules(MarginError(), update, shrink), averaging) > 0


def test_no_update_waits_if_active_sets_read_the_products_again():
    rules = Rules(MarginError(), Additive(), NoShrink())
    assert n_rows_computed(rules, levels=[Level(2, 2.0)]) > 0
