"""PA, PA-I and PA-II: as written in the paper, and by the bounds of their theorems."""

import math

import exact_optima
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from problems import two_clouds
from properties import examples
from sample_problems import data_of, orders_of, orders_of_fit, replay, vector_of
from scikit_learn_checks import VERSION
from sklearn.linear_model import SGDClassifier

import margins
from margins.rules import MarginError, NoShrink, PassiveAggressive, Rules

NAMES = ("pa", "pa-i", "pa-ii")


def oracle(data, orders, variant="pa", C=math.inf, tol=0.0):
    """The updates as (sample, c), and the weight vector, by the paper's Figure 1."""
    w = np.zeros(data.shape[1])
    updates = []
    for k in np.concatenate(orders):
        y = data[k]
        loss = max(0.0, 1 - w @ y)
        if loss > tol and y @ y > 0:
            if variant == "pa-ii":
                step = loss / (y @ y + 1 / (2 * C))
            else:
                step = min(C if variant == "pa-i" else math.inf, loss / (y @ y))
            w = w + step * y
            updates.append((int(k), step))
    return updates, w


def rules_of(variant, C=math.inf, tol=0.0):
    update = {
        "pa": lambda: PassiveAggressive(),
        "pa-i": lambda: PassiveAggressive(most=C),
        "pa-ii": lambda: PassiveAggressive(slack=1 / (2 * C)),
    }[variant]()
    return Rules(MarginError(1 - tol), update, NoShrink())


@pytest.mark.parametrize("variant", NAMES)
@examples(40)
@given(delta2=st.sampled_from([0.0, 2.0]), seed=st.integers(0, 10**6))
def test_every_update_follows_the_paper(variant, delta2, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 3)), rng.choice([-1, 1], 8)
    orders = orders_of(8, 3, seed)
    updates, w = oracle(oracles.data_of(X, y, 1.0, delta2), orders, variant, 0.1, tol=1e-9)
    ours, weights = replay(data_of(X, y, 1.0, delta2), rules_of(variant, 0.1, tol=1e-9), orders)
    assert [k for k, _ in ours] == [k for k, _ in updates]
    assert all(count == 1 for _, count in ours)
    assert_allclose(vector_of(weights, y, delta2), w, rtol=1e-9, atol=1e-12)
    steps = np.zeros(8)
    for k, step in updates:
        steps[k] += step
    assert_allclose(weights.dual, steps, rtol=1e-9)
    assert weights.dual_sum == pytest.approx(steps.sum())


def test_tie_at_one_changes_nothing_and_the_double_below_does():
    condition = MarginError()
    assert 1.0 > condition.py_threshold() == np.nextafter(1.0, 0.0)
    X, y = np.array([[1.0]]), np.array([1])
    for product, n_updates in ((1.0, 1), (np.nextafter(1.0, 0.0), 2)):
        weights = replay(data_of(X, y, 0.0), rules_of("pa-i", product), [np.zeros(2, np.int32)])[1]
        assert weights.n_updates == n_updates


def test_aggressiveness_is_in_units_of_the_longest_sample():
    X, y = two_clouds(distance=0.3)
    sqradius = np.max(np.sum(X**2, axis=1)) + 1
    for name in ("pa-i", "pa-ii"):
        for size, radius in ((0.01 * sqradius, None), (0.01, 1.0), (0.04, 2.0)):
            model = margins.get(name)(aggressiveness=size, radius=radius, random_state=0, max_iter=3)
            _, w = oracle(oracles.data_of(X, y), [*orders_of_fit(len(y), 3, 0)], name, 0.01, tol=1e-9)
            assert_allclose(np.append(model.fit(X, y).coef_, model.intercept_), w, rtol=1e-9)


@pytest.mark.skipif(VERSION < (1, 8), reason="SGDClassifier has these learning rates since 1.8")
@pytest.mark.parametrize(("name", "learning_rate"), [("pa-i", "pa1"), ("pa-ii", "pa2")])
def test_with_radius_1_it_is_sgds_algorithm_of_features_and_a_constant(name, learning_rate):
    X, y = two_clouds(distance=0.3)
    same = {"shuffle": False, "max_iter": 3, "tol": None}
    theirs = SGDClassifier(
        penalty=None, learning_rate=learning_rate, eta0=0.05, fit_intercept=False, **same
    ).fit(np.column_stack((X, np.ones(len(X)))), y)
    ours = margins.get(name)(aggressiveness=0.05, radius=1, min_loss=0, **same).fit(X, y)
    assert_allclose(np.append(ours.coef_, ours.intercept_), theirs.coef_[0], rtol=1e-9)


@pytest.mark.parametrize("tol", [0.5, 0.1, 0.01])
@examples(30)
@given(seed=st.integers(0, 10**6))
def test_separable_data_converge_within_the_bound(tol, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 3))
    y = np.where(X @ rng.normal(size=3) + 0.3 > 0, 1, -1)
    data = oracles.data_of(X, y)
    gamma, R = exact_optima.maximum_margin(data), np.linalg.norm(data, axis=1).max()
    if len(set(y)) < 2 or gamma < 0.05:
        return
    model = margins.get("pa")(min_loss=tol, max_iter=10**6, random_state=0).fit(X, y)
    assert model.converged_
    assert model.n_updates_ <= (R / (gamma * tol)) ** 2 * (1 + 1e-9)
    w = np.append(model.coef_, model.intercept_)
    assert (data @ w).min() >= 1 - tol - 1e-9
    assert np.linalg.norm(w) <= 2 / gamma * (1 + 1e-9)
    (certificate,) = model.certificates_
    assert (1 - tol) / 2 * gamma * (1 - 1e-9) <= certificate.margin <= gamma * (1 + 1e-9)
    assert certificate.upper_bound >= gamma * (1 - 1e-9)


def test_average_is_the_mean_over_all_processed_samples():
    X, y = two_clouds(distance=0.3)
    for name in NAMES:
        radius = {} if name == "pa" else {"radius": 1.0}
        model = margins.get(name)(averaging="averaged", **radius)
        data, path = oracles.data_of(X, y), []
        for k in range(len(y)):
            orders = [np.arange(k)]
            path.append(oracle(data, orders, name, 1.0, tol=1e-9)[1])
        model.partial_fit(X, y, [-1, 1])
        assert_allclose(np.append(model.coef_, model.intercept_), np.mean(path, axis=0), rtol=1e-9)


def test_zero_row_has_a_loss_that_no_update_reduces():
    X, y = np.array([[0.0], [1.0], [-1.0]]), np.array([1, 1, -1])
    for name in NAMES:
        model = margins.get(name)(fit_intercept=False, max_iter=3, random_state=0).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert model.certificates_[0].margin <= 0
    pa = margins.get("pa")(fit_intercept=False, random_state=0).fit(X, y)
    assert not pa.converged_ and pa.n_updates_ == 1
