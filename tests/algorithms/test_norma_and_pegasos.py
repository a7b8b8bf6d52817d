"""NORMA and Pegasos as written in their papers, step by step; their fits, streams and kernels."""

import math

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import two_clouds
from properties import examples
from sample_problems import data_of, run, seed_of, vector_of
from scipy import sparse

import margins
from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.rules import (
    Additive,
    ConstantDecay,
    FixedThreshold,
    HarmonicDecay,
    LongestSurvivor,
    MarginError,
    Mistake,
    NoShrink,
    Rules,
    SubgradientStep,
)
from margins.solvers._mini_batch import MiniBatches


def norma_rules(lam, eta, rho):
    return Rules(FixedThreshold(rho), Additive(eta, most=1), ConstantDecay(eta * lam))


def assert_state(weights, data, alpha, n_accesses):
    """The scalars of the state are those of the weight vector."""
    w = alpha @ data
    assert weights.sqnorm == pytest.approx(w @ w, rel=1e-9, abs=1e-12)
    assert weights.dual_sum == pytest.approx(alpha.sum(), rel=1e-9, abs=1e-12)
    assert weights.t == n_accesses
    assert_allclose(weights.dual, alpha, rtol=1e-9, atol=1e-12)


def present(data, weights, rules, order):
    sets = ActiveSets((), len(data))
    n_changed = sets.full_epoch(data, weights, rules, np.asarray(order, dtype=np.int32))
    return n_changed, weights


def norma(data, order, lam, eta, rho):
    """(Sample, if it was added) of every access, the weight vector and alpha."""
    w, alpha, added = np.zeros(data.shape[1]), np.zeros(len(data)), []
    for k in order:
        error = w @ data[k] <= rho
        w, alpha = (1 - eta * lam) * w, (1 - eta * lam) * alpha
        if error:
            w = w + eta * data[k]
            alpha[k] += eta
        added.append((int(k), bool(error)))
    return added, w, alpha


@pytest.mark.parametrize("delta2", [0.0, 2.0])
@examples(30)
@given(
    seed=st.integers(0, 10**6),
    lam=st.sampled_from([0.0, 0.01, 1.0]),
    eta=st.sampled_from([0.05, 0.9]),
    rho=st.sampled_from([0.0, 1.0]),
)
def test_every_access_of_norma_follows_the_paper(delta2, seed, lam, eta, rho):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 3)), rng.choice([-1, 1], 8)
    order = rng.integers(8, size=30).astype(np.int32)
    data = oracles.data_of(X, y, 1.0, delta2)
    added, w, alpha = norma(data, order, lam, eta, rho)
    weights = WeightVector(3, 8)
    ours = data_of(X, y, 1.0, delta2)
    for k, (expected, error) in zip(order, added, strict=True):
        assert k == expected
        before = weights.n_updates
        one, _ = present(ours, weights, norma_rules(lam, eta, rho), [k])
        assert weights.n_updates - before == error == one
    assert_allclose(vector_of(weights, y, delta2), w, rtol=1e-9, atol=1e-12)
    assert_state(weights, data, alpha, 30)


def test_norma_decays_without_underflow():
    # 100000 halvings: far beyond 2^-1074.
    X, y = np.array([[1.0], [3.0]]), np.array([1, 1])
    order = np.array([0] * 50_000, dtype=np.int32)
    weights = WeightVector(1, 2)
    data, rules = data_of(X, y, 0.0), norma_rules(0.5, 1.0, -0.0)
    present(data, weights, rules, order)
    present(data, weights, rules, order)
    weights.recompute(data)
    assert np.isfinite(weights.weights).all() and weights.sqnorm >= 0


def test_norma_counts_in_units_of_the_longest_sample():
    X, y = two_clouds()
    first = np.argsort(-np.sum(X**2, axis=1), kind="stable")  # the unit of all, if it comes first
    X, y = X[first], y[first]
    sqradius = np.max(np.sum(X**2, axis=1)) + 1
    order = np.arange(len(y))
    _, w, _ = norma(oracles.data_of(X, y), order, 0.2, 0.03, 1.0)
    params = {"eta": 0.03 * sqradius, "lam": 0.2 / sqradius}
    if params["eta"] <= 1:
        by_default = margins.get("norma")(**params).partial_fit(X, y, [-1, 1])
        assert_allclose(np.append(by_default.coef_, by_default.intercept_), w, rtol=1e-9)
    absolute = margins.get("norma")(eta=0.03, lam=0.2, radius=1.0).partial_fit(X, y, [-1, 1])
    assert_allclose(np.append(absolute.coef_, absolute.intercept_), w, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
@pytest.mark.parametrize(
    ("name", "params"), [("norma", {}), ("pegasos", {}), ("pegasos", {"batch_size": 2})]
)
def test_epoch_without_margin_errors_does_not_end_the_fit(name, params, kernel):
    X, y = np.array([[2.0], [-2.0], [3.0], [-3.0]]), np.array([1, -1, 1, -1])
    model = margins.get(name)(max_iter=50, random_state=0, kernel=kernel, **params)
    model.fit(X @ X.T if kernel == "precomputed" else X, y)
    mistakes = [epoch.mistakes for epoch in model.learning_curve_[0]]
    assert 0 in mistakes[:-1]
    assert model.n_iter_ == 50 and not model.converged_


def draws_of(random_state, m, n_epochs):
    """The draws of a fit of two classes."""
    generator = np.random.default_rng(seed_of(random_state))
    return np.concatenate([generator.integers(m, size=m, dtype=np.int32) for _ in range(n_epochs)])


def pegasos(data, order, lam, k=1, project=False, weight=None):
    """The samples added, the weight vector and alpha after all whole batches of k."""
    weight = np.ones(len(data)) if weight is None else weight
    w, alpha, added = np.zeros(data.shape[1]), np.zeros(len(data)), []
    for t in range(1, len(order) // k + 1):
        batch = order[(t - 1) * k : t * k]
        wrong = [j for j in batch if w @ data[j] < 1]
        eta = 1 / (lam * t)
        w, alpha = (1 - eta * lam) * w, (1 - eta * lam) * alpha
        for j in wrong:
            w = w + eta / k * weight[j] * data[j]
            alpha[j] += eta / k * weight[j]
        length = np.linalg.norm(w)
        if project and length > 0:
            factor = min(1, 1 / (math.sqrt(lam) * length))
            w, alpha = factor * w, factor * alpha
        added += [int(j) for j in wrong]
    return added, w, alpha


def pegasos_rules(lam, project=False, weight=None):
    return Rules(MarginError(), SubgradientStep(lam, project, weight), HarmonicDecay())


@pytest.mark.parametrize("project", [True, False])
@examples(30)
@given(
    seed=st.integers(0, 10**6),
    lam=st.sampled_from([0.01, 0.3, 5.0]),
    size=st.sampled_from([1, 2, 3, 7]),
    weighted=st.booleans(),
)
def test_every_step_of_pegasos_follows_the_paper(project, seed, lam, size, weighted):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 3)), rng.choice([-1, 1], 8)
    weight = rng.uniform(0.5, 2, 8) if weighted else None
    order = rng.integers(8, size=40).astype(np.int32)
    data, ours = oracles.data_of(X, y), data_of(X, y)
    rules = pegasos_rules(lam, project, weight)
    weights, batches = WeightVector(3, 8), MiniBatches(size)
    n_added = [batches.full_epoch(ours, weights, rules, part) for part in np.split(order, [5, 6, 25])]
    added, w, alpha = pegasos(data, order, lam, size, project, weight)
    assert sum(n_added) == weights.n_updates == len(added)
    assert batches.n_accesses == 40 // size * size
    assert_allclose(vector_of(weights, y), w, rtol=1e-9, atol=1e-12)
    assert_state(weights, data, alpha, 40 // size)


def test_a_margin_of_exactly_1_is_not_an_error_of_pegasos():
    X, y, lam = np.array([[1.0]]), np.array([1]), 1.0  # after the first step w = 1
    weights = present(data_of(X, y, 0.0), WeightVector(1, 1), pegasos_rules(lam), [0, 0])[1]
    assert weights.n_updates == 1
    assert_array_equal(weights.weights, [0.5])


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_fit_of_pegasos_draws_with_replacement(size, weighted):
    X, y = two_clouds()
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(y)) if weighted else np.ones(len(y))
    model = margins.get("pegasos")(C=2.0, batch_size=size, max_iter=3, random_state=4)
    model.fit(X, y, weight)
    C_k = 2.0 * weight
    _, w, alpha = pegasos(
        oracles.data_of(X, y), draws_of(4, len(y), 3), 1 / C_k.sum(), size, True, C_k / C_k.mean()
    )
    direction = np.append(model.coef_, model.intercept_)
    assert_allclose(direction / np.linalg.norm(direction), w / np.linalg.norm(w), rtol=1e-9)
    assert_allclose(model.dual_coef_[0] / model.dual_coef_.sum(), alpha / alpha.sum(), rtol=1e-9)
    assert not model.converged_ and model.n_iter_ == 3


def test_lam_takes_the_place_of_C():
    X, y = two_clouds()
    by_C = margins.get("pegasos")(C=2.0, max_iter=5, random_state=0).fit(X, y)
    by_lam = margins.get("pegasos")(C=77.0, lam=1 / (2.0 * len(y)), max_iter=5, random_state=0).fit(X, y)
    assert_allclose(by_lam.coef_, by_C.coef_, rtol=1e-9)
    assert by_lam.certificates_[0].gap == pytest.approx(by_C.certificates_[0].gap)


def test_pegasos_without_a_limit_to_C_is_a_perceptron_on_draws():
    X, y = two_clouds(distance=2.0)
    model = margins.get("pegasos")(C=math.inf, max_iter=20, random_state=0).fit(X, y)
    plain = Rules(Mistake(), Additive(most=1), NoShrink())
    order = draws_of(0, len(y), 20)
    weights, *_ = run(data_of(X, y), plain, [order])
    w, direction = vector_of(weights, y), np.append(model.coef_, model.intercept_)
    assert model.n_updates_ == weights.n_updates
    assert_allclose(direction / np.linalg.norm(direction), w / np.linalg.norm(w), rtol=1e-9)
    # And it is what a large C comes to.
    large = margins.get("pegasos")(C=1e30, project=False, max_iter=20, random_state=0).fit(X, y)
    assert large.n_updates_ == weights.n_updates


@pytest.mark.parametrize("size", [1, 4])
def test_pegasos_with_a_kernel_is_pegasos(size):
    X, y = two_clouds()
    params = {"batch_size": size, "max_iter": 5, "random_state": 0}
    primal = margins.get("pegasos")(**params).fit(X, y)
    dual = margins.get("pegasos")(kernel="precomputed", **params).fit(X @ X.T, y)
    assert dual.n_updates_ == primal.n_updates_
    assert_allclose(dual.decision_function(X @ X.T), primal.decision_function(X), rtol=1e-7, atol=1e-9)
    csr = margins.get("pegasos")(**params).fit(sparse.csr_array(X), y)
    assert_allclose(csr.coef_, primal.coef_, rtol=1e-9)


def test_stream_needs_lam_and_single_samples():
    pegasos = margins.get("pegasos")
    assert hasattr(pegasos(lam=0.1), "partial_fit")
    assert not hasattr(pegasos(), "partial_fit")
    assert not hasattr(pegasos(lam=0.1, batch_size=2), "partial_fit")


def test_stream_of_pegasos_is_its_loop_over_the_samples_as_they_come():
    X, y = two_clouds()
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(y))
    model = margins.get("pegasos")(lam=0.1).partial_fit(X, y, [-1, 1], weight)
    added, w, alpha = pegasos(oracles.data_of(X, y), np.arange(len(y)), 0.1, 1, True, weight)
    assert model.n_updates_ == len(added)
    assert_allclose(np.append(model.coef_, model.intercept_), w, rtol=1e-9)
    bound = np.linalg.norm(alpha @ oracles.data_of(X, y)) / alpha.sum()
    assert model.upper_bounds_[0] == pytest.approx(bound)


def test_batches_require_subgradient_steps():
    X, y = two_clouds()
    data, weights = data_of(X, y), WeightVector(3, len(y))
    order = np.arange(len(y), dtype=np.int32)
    with pytest.raises(TypeError, match="SubgradientStep"):
        MiniBatches(2).full_epoch(data, weights, norma_rules(0.1, 0.1, 1.0), order)
    with pytest.raises(TypeError, match="no averaging"):
        averaging = LongestSurvivor(weights)
        MiniBatches(2).full_epoch(data, weights, pegasos_rules(0.1), order, None, averaging)
    with pytest.raises(ValueError, match="size of MiniBatches"):
        MiniBatches(0)
