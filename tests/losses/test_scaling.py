"""The sums of a certificate against plain NumPy."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from margins.losses._scaling import (
    hinge_minimum,
    hinge_sums,
    squared_hinge_minimum,
    squared_hinge_sums,
)


def problem(m):
    generator = np.random.default_rng(m)
    return generator.normal(size=m), generator.random(m) + 0.1


@pytest.mark.parametrize("m", [1, 255, 256, 257, 3000])
def test_sums_follow_the_definition(m):
    for factor, scalar in product((0.0, 0.7, 4.0), (True, False)):
        p, C = problem(m)
        if scalar:
            C = np.broadcast_to(0.3, m)
        slack = np.maximum(1 - factor * p, 0)
        short = slack > 0
        within = {"rtol": 1e-12, "atol": 1e-12, "err_msg": f"factor {factor}, scalar {scalar}"}
        squared = [(C * slack**2).sum(), (C * slack * p).sum(), (C * p**2)[short].sum()]
        np.testing.assert_allclose(squared_hinge_sums(p, C, factor), squared, **within)
        plain = [(C * slack).sum(), (C * p)[short].sum()]
        np.testing.assert_allclose(hinge_sums(p, C, factor), plain, **within)


def test_a_sample_at_margin_1_counts_for_nothing():
    assert squared_hinge_sums(np.array([0.5]), np.ones(1), 2.0) == (0, 0, 0)
    assert hinge_sums(np.array([0.5]), np.ones(1), 2.0) == (0, 0)


def test_nan_is_propagated():
    assert math.isnan(squared_hinge_sums(np.array([1.0, np.nan]), np.ones(2), 0.5)[0])
    assert math.isnan(hinge_sums(np.array([1.0, np.nan]), np.ones(2), 0.5)[0])


def test_sums_of_many_keep_their_digits():
    p = np.full(1_000_000, 0.1)
    assert hinge_sums(p, np.broadcast_to(1.0, len(p)), 1.0)[0] == pytest.approx(9e5, rel=1e-13)


@examples(10)
@given(seed=st.integers(0, 10**6))
def test_minima_are_minima_of_the_objective(seed):
    rng = np.random.default_rng(seed)
    p, C = rng.normal(0.3, 1, 50) * 10.0 ** rng.integers(-3, 4), rng.random(50) + 0.01
    sqnorm = float(10.0 ** rng.uniform(-3, 3))

    def objective(factor, power):
        return 0.5 * factor**2 * sqnorm + (C * np.maximum(1 - factor * p, 0) ** power).sum()

    for start in (0.0, 1e-3, 1.0, 1e3):
        value, factor, converged = squared_hinge_minimum(p, C, sqnorm, start)
        assert value == pytest.approx(objective(factor, 2), rel=1e-12)
        _, pull, curvature = squared_hinge_sums(p, C, factor)
        slope = factor * sqnorm - 2 * pull
        assert converged or (factor == 0 and slope > 0)
        assert slope**2 <= 1e-11 * value * (sqnorm + 2 * curvature) or (factor == 0 and slope > 0)
        kinks = [0.0, *(1 / p[p > 0])]
        pieces = [max((C * p)[1 - kink * p > 0].sum() / sqnorm, 0) for kink in kinks]
        least = min(objective(c, 1) for c in kinks + pieces)
        for below in (least, 0.9 * least, 0.0):
            value, factor = hinge_minimum(p, C, sqnorm, start, below)
            assert value == pytest.approx(objective(factor, 1), rel=1e-12)
            assert value <= least + 0.1 * (value - below) + 1e-12 * least


def test_minimum_without_slack_is_found_with_a_large_C():
    p, C = np.array([3.0, 1.0, 1.0 + 1e-9, 7.0]), np.full(4, 1e9)
    for start in (0.0, 1.0, 1 / (1 + 1e-9), 0.5, 30.0):
        value, factor = hinge_minimum(p, C, 2.0, start, 1.0)
        assert value == pytest.approx(1.0, rel=1e-11)
        assert 1 <= factor <= 1 + 1e-11
    p[0] = -1e-9  # there is a slack whatever the factor
    value, factor = hinge_minimum(p, C, 2.0, 1.0, 1e9)
    assert value == pytest.approx(1e9 + 2, rel=1e-12)


@pytest.mark.parametrize("minimum", [squared_hinge_minimum, lambda *a: hinge_minimum(*a, 0.0)])
def test_minima_hold_no_number_that_overflows(minimum):
    p, C = np.array([1.0, -1.0]), np.ones(2)
    assert minimum(p, C, 1e200, 1e200)[0] >= 2 * (1 - 1e-12)
    assert minimum(p, C, 0.0, 0.0)[0] <= 2
    assert minimum(np.array([math.nan, 1.0]), C, 1.0, 1.0)[0] == math.inf
