"""The subproblem of a working set: its optimum, against an independent solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from margins.solvers.decomposition._subproblem import add_rows, minimise, minimise_balanced, sub_gram

F = np.float32


def problem(seed, n, rank=None, offset=0.0):
    """Q, the gradient at 0, and bounds, some of which are 0."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, rank or n))
    Q = points @ points.T / points.shape[1] + offset + 0.01 * np.eye(n)
    lower = -rng.random(n) * (rng.random(n) < 0.7)
    upper = rng.random(n) * (rng.random(n) < 0.7)
    return Q, rng.normal(size=n), lower, upper


def optimum(Q, g, lower, upper):
    found = minimize(
        lambda d: (d @ g + d @ Q @ d / 2, g + Q @ d),
        np.clip(0, lower, upper),
        jac=True,
        bounds=list(zip(lower, upper, strict=True)),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000},
    )
    return found.fun


@pytest.mark.parametrize("n", [1, 2, 3, 17, 200])
@pytest.mark.parametrize("rank, offset", [(None, 0.0), (3, 0.0), (None, 100.0)])
def test_the_optimum_agrees_with_an_independent_solver(n, rank, offset):
    for seed in range(5):
        Q, g, lower, upper = problem(seed, n, rank, offset)
        d, gradient = np.zeros(n, F), g.astype(F)
        minimise(
            (Q - offset).astype(F),
            offset,
            np.zeros(n, F),
            gradient,
            d,
            lower.astype(F),
            upper.astype(F),
            0.0,
            200 * n + 100,
        )
        assert np.all((lower.astype(F) <= d) & (d <= upper.astype(F)))
        steps = d.astype(np.float64)
        value = steps @ g + steps @ Q @ steps / 2
        assert value <= optimum(Q, g, lower, upper) + 1e-4 * (1 + offset / 10)
        assert_allclose(gradient + offset * steps.sum(), g + Q @ steps, atol=1e-3 * (1 + offset / 10))


@pytest.mark.parametrize(("C", "most"), [(1.0, 2), (1e4, 2), (1e6, 2), (1e9, 12)])
def test_contrary_duplicates_reach_their_bounds_in_few_steps(C, most):
    # Along (1, 1) the objective is linear, so that no variable gets far alone. Steps are doubled.
    upper = np.full(2, C, F)
    Q = np.array([[2, -2], [-2, 2]], F)
    d, gradient = np.zeros(2, F), np.array([-1, -1], F)
    assert minimise(Q, 0.0, np.zeros(2, F), gradient, d, np.zeros(2, F), upper, 0.0, 100) <= most
    assert_array_equal(d, C)
    # With the constraint, one rises and the other one, of a contrary label, falls by as much.
    Q, slopes, moves = np.full((2, 2), 2, F), np.array([1, -1], F), np.zeros(2, F)
    lower, upper = np.array([0, -C], F), np.array([C, 0], F)
    assert minimise_balanced(Q, np.zeros(2, F), slopes, moves, lower, upper, 0.0, 100) <= most
    assert_array_equal(moves, [C, -C])


@pytest.mark.parametrize("C", [1.0, 1e4, 1e9])
def test_contrary_duplicates_stop_where_their_diagonal_terms_say(C):
    diag, bounds = np.full(2, 1 / (2 * C), F), (np.zeros(2, F), np.full(2, np.inf, F))
    Q, d = np.array([[2, -2], [-2, 2]], F), np.zeros(2, F)
    gradient = np.array([-1, -1], F)
    # Q + diag(D) is Q in single precision.
    assert minimise(Q, 0.0, diag, gradient, d, *bounds, 0.0, 100) < 60
    assert_allclose(d, 2 * C, rtol=1e-5)
    Q, slopes, moves = np.full((2, 2), 2, F), np.array([1, -1], F), np.zeros(2, F)
    free = np.array([0, -np.inf], F), np.array([np.inf, 0], F)
    assert minimise_balanced(Q, diag, slopes, moves, *free, 0.0, 100) < 60
    assert_allclose(moves, [2 * C, -2 * C], rtol=1e-5)


@pytest.mark.parametrize("correlation", [-1.0, -0.999999, -0.5, 0.0, 0.5, 0.999999, 1.0])
def test_a_pair_moves_to_the_best_point_of_its_rectangle(correlation):
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, c = rng.uniform(0.5, 2, 2)
        b = correlation * np.sqrt(a * c)
        Q, g = np.array([[a, b], [b, c]]), rng.normal(size=2)
        lower, upper = -rng.random(2) * (rng.random(2) < 0.7), rng.random(2)
        d = np.zeros(2, F)
        # After a first step the other variable may gain, too.
        bounds = lower.astype(F), upper.astype(F)
        minimise(Q.astype(F), 0.0, np.zeros(2, F), g.astype(F), d, *bounds, 0.0, 2)
        steps = d.astype(np.float64)
        value = steps @ g + steps @ Q @ steps / 2
        assert value <= optimum(Q, g, lower, upper) + 1e-5


@pytest.mark.parametrize("n_kept", [0, 1, 40, 100])
def test_the_matrix_holds_the_cached_rows_times_a_factor(n_kept):
    rng = np.random.default_rng(n_kept)
    m, n, padding = 300, 100, 7
    K = rng.integers(-4, 5, size=(m, m)).astype(F)
    K += K.T

    def matrix_of(samples):
        return np.ascontiguousarray(K[samples][:, samples])

    before = rng.permutation(m)[:n]
    places = np.sort(rng.permutation(n)[:n_kept]).astype(np.int32)
    others = np.setdiff1d(np.arange(m), before)[: n - n_kept]
    working_set = np.concatenate([before[places], others]).astype(np.int32)
    where = rng.permutation(m)[:n].astype(np.int32)
    slots = np.zeros((m, m), F)
    slots[where[n_kept:]] = K[working_set[n_kept:]]  # rows of those that are kept are not read
    Q = np.full((n, n + padding), np.nan, F)
    for scale in (1, 0.25):
        sub_gram(slots, where, working_set, scale * matrix_of(before), places, scale, Q)
        assert_array_equal(Q[:, :n], scale * matrix_of(working_set))
    assert np.isnan(Q[:, n:]).all()


@pytest.mark.parametrize("n", range(1, 10))
def test_any_number_of_rows_is_added(n):
    rng = np.random.default_rng(n)
    slots = rng.integers(-4, 5, size=(12, 5000)).astype(F)
    where = rng.permutation(12)[:n].astype(np.int32)
    coefficients, v = rng.integers(-4, 5, size=n).astype(float), np.ones(5000)
    add_rows(slots, where, coefficients, v, 0, 4100)
    assert_array_equal(v[4100:], 1)
    add_rows(slots, where, coefficients, v, 4100, 5000)
    assert_array_equal(v, 1 + coefficients @ slots[where])
