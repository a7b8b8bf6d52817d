"""NORMA: as written in its paper, step by step; fits and streams that end as those of Pegasos do."""

import numpy as np
import oracles
import pytest
from decaying_steps import SLACK, assert_state, clouds, norma_rules, present
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples
from sample_problems import data_of, orders_of, replay, vector_of

import margins
from margins._update import WeightVector
from margins.rules import Additive, FixedThreshold, NoShrink, Rules


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
def test_every_access_of_norma_is_the_papers(delta2, seed, lam, eta, rho):
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


@examples(30)
@given(seed=st.integers(0, 10**6))
def test_norma_with_powers_of_two_is_exact_bit_for_bit(seed):
    # eta lam = 1 / 2: forty halvings of small integers lose no bit.
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (6, 3)).astype(float), rng.choice([-1, 1], 6)
    order = rng.integers(6, size=40).astype(np.int32)
    _, w, alpha = norma(oracles.data_of(X, y), order, 0.5, 1.0, 1.0)
    weights = present(data_of(X, y), WeightVector(3, 6), norma_rules(0.5, 1.0, 1.0), order)[1]
    assert_array_equal(vector_of(weights, y), w)
    assert_array_equal(weights.dual, alpha)


def test_norma_without_regularisation_is_the_perceptron_with_margin():
    X, y = clouds()
    orders = orders_of(len(y), 5, 0)
    plain = Rules(FixedThreshold(1.0), Additive(0.1, most=1), NoShrink())
    expected, weights = replay(data_of(X, y), plain, orders)
    ours, decayed = replay(data_of(X, y), norma_rules(0.0, 0.1, 1.0), orders)
    assert ours == expected
    assert_array_equal(decayed.weights, weights.weights)


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


def test_units_of_norma_are_those_of_the_longest_sample():
    X, y = clouds()
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


@examples(30)
@given(seed=st.integers(0, 10**6), lam=st.sampled_from([0.01, 0.5]), eta=st.sampled_from([0.05, 0.5]))
def test_norma_satisfies_its_bounds(seed, lam, eta):
    rng = np.random.default_rng(seed)
    X, y, u = rng.normal(size=(30, 2)), rng.choice([-1, 1], 30), rng.normal(size=3)
    data = oracles.data_of(X, y)
    R = np.linalg.norm(data, axis=1).max()
    weights, losses = WeightVector(2, 30), []
    for k in range(30):
        w = vector_of(weights, y)
        assert np.linalg.norm(w) <= R / lam * (1 + SLACK)
        losses.append(lam / 2 * (w @ w) + max(0, 1 - w @ data[k]))
        present(data_of(X, y), weights, norma_rules(lam, eta, 1.0), [k])
    theirs = lam / 2 * (u @ u) + np.maximum(1 - data @ u, 0).mean()
    assert np.mean(losses) <= theirs + (u @ u) / (2 * eta * 30) + 2 * eta * R**2


@pytest.mark.parametrize("name", ["norma", "pegasos"])
def test_stream_does_not_depend_on_the_chunks_bit_for_bit(name):
    X, y = clouds()
    params = {"radius": 2.0} if name == "norma" else {"lam": 0.1}
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))
    whole = margins.get(name)(**params).partial_fit(X, y, [-1, 1], weight)
    parts = margins.get(name)(**params)
    for rows in np.split(np.arange(len(y)), [1, 2, 17]):
        parts.partial_fit(X[rows], y[rows], [-1, 1], weight[rows])
    assert_array_equal(parts.coef_, whole.coef_)
    assert_array_equal(parts.intercept_, whole.intercept_)
    assert parts.upper_bounds_ == whole.upper_bounds_


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
