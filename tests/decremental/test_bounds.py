"""Bounds of margins hold for any feasible dual variables and directions."""

import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import margins
from margins.decremental.bounds import bounds_by, radius
from margins.decremental.left_out import MarginBounds
from tests.helpers.small_solutions import KINDS, clouds, problem_of, solved


def margins_without(X, signs, number, loss, is_free, C=1.0):
    kept = np.arange(len(signs)) != number
    solution = solved(X[kept], signs[kept], loss, is_free, C)
    w = X[kept].T @ (solution.alpha * signs[kept])
    bias = solution.bias if is_free else float(solution.alpha @ signs[kept])
    return float(signs[number] * (X[number] @ w + bias))


@pytest.mark.parametrize(("loss", "is_free"), KINDS)
def test_bounds_by_any_feasible_variables_hold(loss, is_free):
    X, signs = clouds(0, m=20)
    problem, rng = problem_of(X, signs, loss, is_free), np.random.default_rng(0)
    groups = np.arange(20)
    for number in range(20):
        true = margins_without(X, signs, number, loss, is_free)
        kept = np.arange(20) != number
        alpha = np.where(kept, rng.random((30, 20)), 0.0)
        directions = np.where(kept, rng.normal(size=(30, 20)), 0.0)
        if is_free:  # balanced, as they must be
            positive = signs > 0
            ratios = alpha[:, ~positive].sum(axis=1) / alpha[:, positive].sum(axis=1)
            alpha[:, positive] *= ratios[:, None]
            alpha /= np.maximum(alpha.max(axis=1, keepdims=True), 1.0)
            first = int(np.flatnonzero(kept)[0])
            directions[:, first] += signs[first] * (signs[number] - directions @ signs)
        bounds = bounds_by(problem, alpha, directions, groups, np.full(30, number))
        assert (bounds.lower <= true + 1e-7).all(), number
        assert (bounds.upper >= true - 1e-7).all(), number


def test_dual_variables_that_do_not_balance_prove_nothing_much():
    X, signs = clouds(0, m=20)
    problem = problem_of(X, signs, "squared_hinge", True)
    solution = solved(X, signs, "squared_hinge", True)
    alpha = solution.alpha.copy()
    alpha[int(np.flatnonzero(solution.alpha)[0])] += 1.0
    bounds = bounds_by(problem, alpha[None], np.zeros((1, 20)), np.arange(20), np.array([3]))
    assert bounds.upper - bounds.lower > 1


@given(
    gap=st.floats(0, 1e3),
    curvature=st.floats(1e-3, 1e3),
    longest=st.floats(0, 1e3),
    mu=st.floats(1e-6, 1),
)
def test_the_radius_is_the_least(gap, curvature, longest, mu):
    found = float(radius(np.array([gap]), np.array([curvature]), np.array([longest]))[0])
    if longest == 0:
        assert found == np.inf
        return
    step = mu * longest
    assert found <= (gap / step if step else np.inf) + 0.5 * step * curvature + 1e-9 * (1 + found)


@pytest.mark.parametrize(("loss", "is_free"), KINDS)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_bounds_without_work_and_by_paths_hold(loss, is_free, C):
    X, signs = clouds(10, m=30)
    left_out = MarginBounds(solved(X, signs, loss, is_free, C), np.arange(30))
    true = np.array([margins_without(X, signs, k, loss, is_free, C) for k in range(30)])
    tolerance = 1e-6 * (1 + np.abs(true))
    for _ in range(2):
        assert (left_out.lower <= true + tolerance).all()
        assert (left_out.upper >= true - tolerance).all()
        left_out.follow([np.array([k]) for k in range(30)])
    assert left_out.is_settled.all()
    is_unique = left_out.upper - left_out.lower < 1e-4  # of the hinge loss b may be an interval
    assert is_unique.sum() >= (25 if is_free and loss == "hinge" else 30)
    np.testing.assert_allclose(left_out.margin[is_unique], true[is_unique], atol=float(tolerance.max()))


def test_a_sample_without_which_the_intercept_is_an_interval_has_bounds_at_its_ends():
    """Five samples of either class, all at their upper bound, and a sixth that decides nothing but b."""
    rng = np.random.default_rng(475)
    X = rng.normal(size=(11, 40))
    signs = np.array([1.0] * 5 + [-1.0] * 6)
    C = 1e-4
    left_out = MarginBounds(solved(X, signs, "hinge", True, C), np.arange(11))
    left_out.follow([np.array([k]) for k in range(11)])
    for number in range(5, 11):
        kept = np.arange(11) != number
        w = C * X[kept].T @ signs[kept]
        biases = signs[kept] * 1.0 - X[kept] @ w  # where a sample has margin 1
        low = np.max(np.where(signs[kept] < 0, biases, -np.inf))
        high = np.min(np.where(signs[kept] > 0, biases, np.inf))
        ends = sorted(-(X[number] @ w + b) for b in (low, high))
        assert left_out.lower[number] <= ends[0] + 1e-9
        assert left_out.upper[number] >= ends[1] - 1e-9
        assert left_out.upper[number] - left_out.lower[number] < ends[1] - ends[0] + 1e-3


@pytest.mark.parametrize(("loss", "is_free"), KINDS)
def test_one_step_estimates_lie_within_the_bounds(loss, is_free):
    X, signs = clouds(11, m=50)
    left_out = MarginBounds(solved(X, signs, loss, is_free, 0.1), np.arange(50))
    left_out.estimate()
    assert (left_out.lower <= left_out.margin).all() and (left_out.margin <= left_out.upper).all()
    estimates = left_out.margin.copy()
    left_out.follow([np.array([k]) for k in range(50)])
    errors = np.abs(estimates - left_out.margin)
    changes = np.abs(left_out.with_all - left_out.margin)
    assert errors.mean() < (0.5 if loss == "squared_hinge" else 0.9) * changes.mean()


@pytest.mark.parametrize(("loss", "is_free"), KINDS)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_bounds_by_one_step_hold(loss, is_free, C):
    X, signs = clouds(6)
    solution = solved(X, signs, loss, is_free, C)
    left_out = MarginBounds(solution, np.arange(len(signs)))
    before = left_out.upper - left_out.lower
    left_out.step([np.array([number]) for number in range(len(signs))])
    after = left_out.upper - left_out.lower
    is_narrower = after < before
    # With every other variable at a bound, a step of a free intercept cannot be balanced.
    assert is_narrower.any() or (is_free and loss == "hinge" and C == 0.01)
    assert not is_narrower[solution.alpha == 0].any()
    for number in np.flatnonzero(is_narrower):
        true = margins_without(X, signs, number, loss, is_free, C)
        slack = 1e-7 * (1 + abs(true))
        assert left_out.lower[number] - slack <= true <= left_out.upper[number] + slack


@pytest.mark.parametrize(
    ("C", "offset"),
    [(1e-9, 0.0), (1e-13, 0.0), (1e-17, 0.0), (1e-5, 1e3), (1e-8, 1e5), (1e-8, 1e7), (1e-12, 1e9)],
)
def test_bounds_of_scores_that_are_small_differences_of_large_numbers_hold(C, offset):
    """Pairs of either class are left out: b is nearly 0, the sum of numbers of size 1. Far from 0 the
    terms of w cancel, too.

    All are support vectors, of one feature z = x - mean: w = 2 C sum_k z_k l_k / (1 + 2 C sum_k z_k^2).
    """
    params = {"C": C, "penalize_intercept": False, "random_state": 0}
    kernels = "linear", lambda A, B: A @ B.T
    classifiers = [margins.MarginClassifier(kernel=kernel, **params) for kernel in kernels]
    pairs, labels = np.arange(20) // 2, np.arange(20) % 2
    for seed in range(3 if offset < 1e7 else 1):
        x = offset + np.random.default_rng(seed).normal(size=20)
        results = [margins.leave_one_out(each, x[:, None], labels, groups=pairs) for each in classifiers]
        for pair in range(10):
            kept = [(Fraction(x[k]), 2 * int(labels[k]) - 1) for k in range(20) if k // 2 != pair]
            mean = sum(value for value, _ in kept) / 18
            deviations = sum((value - mean) ** 2 for value, _ in kept)
            w = 2 * Fraction(C) * sum((value - mean) * sign for value, sign in kept)
            for number, result in product((2 * pair, 2 * pair + 1), results):
                true = w / (1 + 2 * Fraction(C) * deviations) * (Fraction(x[number]) - mean)
                assert result.bounds[0, number] <= true <= result.bounds[1, number]
                assert not result.is_proven[number] or result.predictions[number] == int(true > 0)


def test_a_gap_at_a_multiple_of_the_model_bounds_margins_by_that_multiple():
    """Hinge loss, C |x|^2 of 1e10: the rational solution without sample 5 has the score -1/2."""
    X = 4096.0 * np.arange(11)[:, None] * np.ones((1, 2))
    y = [0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1]
    result = margins.leave_one_out(margins.MarginClassifier(C=10, loss="hinge"), X, y)
    low, high = result.bounds[:, 5]
    assert low <= -0.5 <= high


@pytest.mark.parametrize("penalize_intercept", [True, False])
def test_bounds_are_in_order_and_hold_for_large_penalties(penalize_intercept):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.integers(-4, 5, (12, 2)) * 2.0 ** rng.integers(8, 20)
        y = (X[:, 0] + X[:, 0].std() * rng.normal(size=12) > 0).astype(int)
        if min(np.bincount(y, minlength=2)) < 3:
            continue
        params = {"C": 10, "loss": "hinge", "penalize_intercept": penalize_intercept}
        result = margins.leave_one_out(margins.MarginClassifier(**params), X, y)
        low, high = result.bounds
        assert (low <= high).all(), seed
        for k in range(12 if penalize_intercept else 0):  # a free intercept may be an interval
            kept = np.arange(12) != k
            refit = margins.MarginClassifier(**params, eps=1e-9, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = refit.fit(X[kept], y[kept]).decision_function(X[[k]])[0]
            tolerance = 1e-4 * (1 + abs(score))
            if refit.converged_:
                assert low[k] - tolerance <= score <= high[k] + tolerance, (seed, k)
