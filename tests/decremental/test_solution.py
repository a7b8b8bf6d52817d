"""Exact solutions, and how they move: against the conditions of optimality, and finite differences."""

import numpy as np
import pytest

from margins.decremental.problem import BoxProblem, Features, Gram
from margins.decremental.response import DualResponse, PrimalResponse
from margins.decremental.solution import Solution, augmented_margins, solution_of
from tests.helpers.small_solutions import KINDS, clouds, problem_of, solved


@pytest.mark.parametrize(("loss", "is_free"), KINDS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(3))
def test_solutions_are_exact(loss, is_free, C, seed):
    X, signs = clouds(seed)
    solution = solved(X, signs, loss, is_free, C)
    assert solution.violation < 1e-9
    alpha = solution.alpha
    assert (alpha >= 0).all() and (alpha <= solution.problem.upper).all()
    if is_free:
        assert abs(alpha @ signs) < 1e-9 * max(alpha.max(), 1e-30)


def test_discrete_samples_with_duplicates_have_exact_solutions():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 4)).astype(float)
    signs = np.where(rng.random(200) < 0.2 + 0.6 * X[:, 0], 1.0, -1.0)
    for is_free in (False, True):
        for C in (0.01, 1.0, 100.0):
            solution = solved(X, signs, "hinge", is_free, C)
            assert solution.violation < 1e-8, (is_free, C)


def test_a_hinge_solution_follows_from_a_poor_start():
    X, signs = clouds(4)
    problem = problem_of(X, signs, "hinge", True)
    exact = solved(X, signs, "hinge", True)
    poor = np.clip(exact.alpha + 0.2 * np.random.default_rng(0).normal(size=40), 0.0, 1.0)
    found = solution_of(problem, poor, exact.bias + 0.3)
    np.testing.assert_allclose(found.sigma, exact.sigma, atol=1e-8)


@pytest.mark.parametrize(("loss", "is_free"), KINDS)
def test_inner_products_of_features_and_stored_ones_give_the_same_solution(loss, is_free):
    X, signs = clouds(5)
    of_features = solved(X, signs, loss, is_free)
    of_gram = solved(X, signs, loss, is_free, inner=Gram(X @ X.T + (not is_free)))
    np.testing.assert_allclose(of_gram.sigma, of_features.sigma, atol=1e-8)
    numbers = np.array([0, 3, 11])
    of_dual = DualResponse(of_features.problem, of_features.free)
    np.testing.assert_allclose(of_dual.columns(numbers), of_gram.response.columns(numbers), atol=1e-8)


@pytest.mark.parametrize("is_free", [False, True])
def test_both_responses_are_the_same(is_free):
    X, signs = clouds(6)
    solution = solved(X, signs, "squared_hinge", is_free)
    assert isinstance(solution.response, PrimalResponse)
    dual, numbers = DualResponse(solution.problem, solution.free), np.arange(40)
    columns = solution.response.columns(numbers)
    np.testing.assert_allclose(columns, dual.columns(numbers), atol=1e-9)
    for response in (solution.response, dual):
        np.testing.assert_allclose(response.diagonal(numbers), np.diag(columns), atol=1e-9)


@pytest.mark.parametrize(("loss", "is_free"), KINDS)
def test_the_response_is_the_derivative_of_the_solution(loss, is_free):
    X, signs = clouds(7)
    solution = solved(X, signs, loss, is_free)
    problem, response = solution.problem, solution.response
    outside = int(np.flatnonzero(~response.is_free_vector)[0])
    step = 1e-2
    alpha = solution.alpha.copy()
    alpha[outside] += step
    excess = augmented_margins(problem, alpha, solution.bias) - 1
    moves, shift = response.solve(-excess[solution.free], -float(signs @ alpha))
    alpha[solution.free] += moves
    moved = Solution(problem, alpha, solution.bias + float(shift), solution.free)
    column = response.columns(np.array([outside]))[0]
    is_free_vector = response.is_free_vector
    changes = np.where(is_free_vector, moved.alpha - solution.alpha, moved.sigma - solution.sigma)
    start = np.where(is_free_vector, 0.0, 1 - solution.sigma)[solution.free]
    np.testing.assert_allclose(start, 0.0, atol=1e-9)
    np.testing.assert_allclose(changes / step, column, atol=1e-5)


def test_every_variable_at_a_bound_leaves_an_interval_of_intercepts():
    X, signs = clouds(8)
    signs[:20], signs[20:] = 1.0, -1.0
    solution = solved(X, signs, "hinge", True, C=1e-6)
    assert solution.violation < 1e-12
    assert len(solution.free) == 1
    np.testing.assert_array_equal(solution.alpha, 1e-6)


def test_samples_that_are_not_in_the_problem_keep_a_dual_variable_of_zero():
    X, signs = clouds(9)
    penalties = np.ones(40)
    penalties[::4] = 0.0
    problem = BoxProblem(Features(X, 1.0), signs, penalties, True, False)
    solution = solution_of(problem, np.full(40, 0.5), 0.0)
    assert not solution.alpha[::4].any()
    kept = np.flatnonzero(penalties)
    alone = solved(X[kept], signs[kept], "squared_hinge", False)
    np.testing.assert_allclose(solution.alpha[kept], alone.alpha, atol=1e-9)
