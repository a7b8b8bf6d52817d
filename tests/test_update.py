"""The engine replays the oracles, step by step and bit for bit."""

import math
from itertools import product

import numpy as np
import oracles
import pytest
import sample_problems
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from margins.rules import (
    Additive,
    ConstantShrink,
    DynamicMargin,
    FixedMargin,
    FixedThreshold,
    Mistake,
    NoShrink,
    Rules,
    ShrunkThreshold,
    Unlearning,
    VariableShrink,
)

SETTINGS = examples(8)
# Shrunk sums are rounded, and rounding would decide a tie p == threshold; an irrational b has none.
IRRATIONAL = 7 + math.sqrt(2) / 8
INTEGERS = {  # name: (oracle, condition); sums on integer samples are exact, so every bit must agree
    "perceptron": (oracles.Perceptron(), Mistake()),
    "margin perceptron": (oracles.MarginPerceptron(7.0), FixedThreshold(7)),
    "fixed margin": (oracles.PFM(0.25), FixedMargin(0.25)),
    "dynamic margin": (oracles.PDM(0.25), DynamicMargin(0.25)),
    "dynamic margin, eps 1": (oracles.PDM(1.0), DynamicMargin(1)),
    "unlearning": (oracles.MPU(30.0, 200.0), Unlearning(30, 200)),
}


def rules_of(condition, multiple=False):
    return Rules(condition, Additive(most=math.inf if multiple else 1), NoShrink())


def assert_same(weights, y, trace, delta2=0.0):
    np.testing.assert_array_equal(sample_problems.vector_of(weights, y, delta2), trace.a)
    np.testing.assert_array_equal(weights.dual, trace.alpha)
    assert weights.n_updates == weights.t == trace.n_updates
    assert weights.dual_sum == trace.alpha.sum()
    assert weights.sqnorm == trace.a @ trace.a


@pytest.mark.parametrize("name", INTEGERS)
@examples(16)
@given(problem=sample_problems.problems(), seed=st.integers(0, 99))
def test_every_access_follows_the_oracle(name, problem, seed):
    X, y = problem
    oracle, condition = INTEGERS[name]
    orders = sample_problems.orders_of(len(X), 12, seed)
    for multiple, delta2 in product((False, True), (0.0, 4.0)):
        samples = oracles.data_of(X, y, 1.0, delta2)
        trace = oracles.run(samples, oracle, orders, multiple=multiple, cap=1000)
        rules = Rules(condition, Additive(most=1000 if multiple else 1), NoShrink())
        data = sample_problems.data_of(X, y, 1.0, delta2)
        updates, weights = sample_problems.replay(data, rules, orders)
        assert updates == trace.updates, (multiple, delta2)
        assert_same(weights, y, trace, delta2)


@SETTINGS
@given(
    problem=sample_problems.problems(),
    seed=st.integers(0, 99),
    upper=st.one_of(st.integers(1, 9), st.lists(st.integers(1, 9), min_size=8, max_size=8)),
    multiple=st.booleans(),
)
def test_bounded_dual_variables_follow_the_oracle(problem, seed, upper, multiple):
    X, y = problem
    upper = float(upper) if isinstance(upper, int) else np.array(upper[: len(X)], dtype=float)
    orders = sample_problems.orders_of(len(X), 12, seed)
    trace = oracles.run(
        oracles.data_of(X, y, 0), oracles.MPU(20.0, 100.0, upper), orders, multiple=multiple
    )
    updates, weights = sample_problems.replay(
        sample_problems.data_of(X, y, 0.0, upper=upper), rules_of(Unlearning(20, 100), multiple), orders
    )
    assert updates == trace.updates
    np.testing.assert_array_equal(weights.dual, trace.alpha)
    np.testing.assert_array_equal(weights.weights, trace.a)
    assert np.all((weights.dual >= 0) & (weights.dual <= upper))


@pytest.mark.parametrize("delta2", [0.0, 4.0])
@pytest.mark.parametrize("multiple", [False, True])
@pytest.mark.parametrize(
    ("oracle", "make"),
    [
        (oracles.MPCS(0.05, IRRATIONAL), lambda: ConstantShrink(0.05)),
        (oracles.MPVS(1, IRRATIONAL), lambda: VariableShrink(1)),
        (oracles.MPVS(2, IRRATIONAL), lambda: VariableShrink(2)),
        (oracles.MPVS(5, IRRATIONAL), lambda: VariableShrink(5)),
    ],
    ids=["constant", "variable 1", "variable 2", "variable 5"],
)
@SETTINGS
@given(problem=sample_problems.problems(max_samples=6), seed=st.integers(0, 99))
def test_shrinking_runs_follow_the_oracle_to_rounding(oracle, make, multiple, delta2, problem, seed):
    X, y = problem
    shrink = make()
    orders = sample_problems.orders_of(len(X), 6, seed)
    trace = oracles.run(oracles.data_of(X, y, 1.0, delta2), oracle, orders, multiple=multiple, cap=50)
    rules = Rules(ShrunkThreshold(IRRATIONAL, shrink), Additive(most=50 if multiple else 1), shrink)
    updates, weights = sample_problems.replay(sample_problems.data_of(X, y, 1.0, delta2), rules, orders)
    assert updates == trace.updates
    np.testing.assert_allclose(
        sample_problems.vector_of(weights, y, delta2), trace.a, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(weights.dual, trace.alpha, rtol=1e-9, atol=1e-9)
    assert weights.dual_sum == pytest.approx(trace.alpha.sum())
    assert weights.sqnorm == pytest.approx(trace.a @ trace.a, abs=1e-9)


@SETTINGS
@given(problem=sample_problems.problems(), seed=st.integers(0, 99))
def test_the_slack_term_equals_a_materialised_column(problem, seed):
    X, y = problem
    delta2 = np.arange(1.0, len(X) + 1) ** 2  # one for every sample
    explicit = np.hstack([X, np.diag(np.sqrt(delta2) * y)])
    orders = sample_problems.orders_of(len(X), 12, seed)
    rules = rules_of(DynamicMargin(0.25), multiple=True)
    implicit_updates, weights = sample_problems.replay(
        sample_problems.data_of(X, y, 1.0, delta2), rules, orders
    )
    explicit_updates, materialised = sample_problems.replay(
        sample_problems.data_of(explicit, y), rules, orders
    )
    assert implicit_updates == explicit_updates
    np.testing.assert_array_equal(weights.weights, materialised.weights[: X.shape[1]])
    assert weights.sqnorm == materialised.sqnorm


def test_a_lazy_scale_is_renormalised_before_it_underflows():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), np.array([1, 1, -1])
    shrink = ConstantShrink(0.999)
    rules = Rules(ShrunkThreshold(1e-3, shrink), Additive(most=1), shrink)
    orders = [np.arange(3, dtype=np.int32)] * 400  # 0.001**800 is below double's range
    trace = oracles.run(oracles.data_of(X, y), oracles.MPCS(0.999, 1e-3), orders)
    weights, _, converged = sample_problems.run(sample_problems.data_of(X, y), rules, orders)
    assert not converged and trace.n_updates == 800
    np.testing.assert_allclose(sample_problems.vector_of(weights, y), trace.a, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weights.dual, trace.alpha, rtol=1e-9, atol=1e-12)


def test_a_sample_of_no_length_takes_its_whole_bound_at_once():
    X, y = np.array([[0.0], [3.0]]), np.array([1, -1])
    updates, weights = sample_problems.replay(
        sample_problems.data_of(X, y, 0.0, upper=50.0),
        rules_of(Unlearning(20, 100), multiple=True),
        sample_problems.orders_of(2, 5, 0),
    )
    assert (0, 50) in updates and weights.dual[0] == 50
    assert weights.dual_sum == weights.dual.sum()


def test_recompute_repairs_the_squared_norm_and_rescale_scales_all():
    X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1, -1])
    data = sample_problems.data_of(X, y, 1.0, 4.0)
    weights, *_ = sample_problems.run(
        data, rules_of(FixedThreshold(5), multiple=True), sample_problems.orders_of(2, 9, 0)
    )
    before = (weights.weights, weights.label_sum, weights.dual, weights.sqnorm, weights.dual_sum)
    weights.rescale(2)
    weights.recompute(data)
    for was, now, factor in zip(
        before,
        (weights.weights, weights.label_sum, weights.dual, weights.sqnorm, weights.dual_sum),
        (2, 2, 2, 4, 2),
        strict=True,
    ):
        np.testing.assert_array_equal(now, factor * np.asarray(was))


def test_products_do_not_include_slack_terms():
    X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1, -1])
    data = sample_problems.data_of(X, y, 2.0, 4.0)
    weights, *_ = sample_problems.run(
        data, rules_of(FixedThreshold(5)), sample_problems.orders_of(2, 9, 0)
    )
    scores = X @ weights.weights + 4.0 * weights.label_sum
    np.testing.assert_array_equal(weights.products(data), y * scores)


def test_unlearning_begins_at_its_threshold_exactly():
    # Sample 1 is met at a = 4 with p = 8, where unlearning begins, and left at p = 4.
    data = sample_problems.data_of(np.array([[1.0], [2.0]]), [1, 1], 0.0)
    updates, _ = sample_problems.replay(data, rules_of(Unlearning(3, 5), multiple=True), [(1, 0)] * 9)
    assert updates == [(1, 1), (0, 2), (1, -1), (0, 2)]
