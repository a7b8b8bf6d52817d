"""Optimality of dual variables: against formulas of whole arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from margins.solvers.decomposition._subproblem import gradient_of, violations_of


def problem(seed, m=50):
    """Products, signs, dual variables, of which some are at bounds, bounds and diagonal terms."""
    rng = np.random.default_rng(seed)
    upper = rng.uniform(0.5, 2, m)
    alpha = upper * rng.choice([0.0, 0.3, 1.0], m)
    return rng.normal(size=m), rng.choice([-1.0, 1.0], m), alpha, upper, rng.random(m)


@pytest.mark.parametrize("seed", range(5))
def test_margins_gradient_and_sums(seed):
    v, signs, alpha, upper, diag = problem(seed)
    margins, gradient, sums, (high, low) = gradient_of(v, 0.25, signs, alpha, upper, diag)
    assert_allclose(margins, signs * (v + 0.25))
    assert_allclose(gradient, margins + diag * alpha - 1)
    assert_allclose(sums, [alpha.sum(), alpha @ margins, diag @ alpha**2])
    distance = -signs * gradient
    can_rise = np.where(signs > 0, alpha < upper, alpha > 0)
    can_fall = np.where(signs > 0, alpha > 0, alpha < upper)
    assert (high, low) == (distance[can_rise].max(), distance[can_fall].min())


def test_no_variable_can_move_in_a_direction():
    one = np.ones(3)
    assert gradient_of(one, 0.0, one, one, one, one)[3][0] == -np.inf
    assert gradient_of(one, 0.0, one, 0 * one, one, one)[3][1] == np.inf


@pytest.mark.parametrize("seed", range(5))
def test_only_variables_that_can_gain_violate(seed):
    v, signs, alpha, upper, diag = problem(seed)
    gradient, diagonal = v.copy(), 1 + diag
    violation = violations_of(gradient, 0.5, signs, alpha, upper, diagonal)
    assert_array_equal(gradient, v + 0.5 * signs)
    stays = ((alpha == 0) & (gradient >= 0)) | ((alpha == upper) & (gradient <= 0))
    assert_allclose(violation, np.where(stays, 0, gradient**2 / diagonal))
    assert 0 < stays.sum() < len(stays)
