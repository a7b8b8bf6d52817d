"""The losses of Newton steps: against their definition, a maximum over the dual variable."""

import math

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sample_problems import data_of

from margins.data._passes import combination, products
from margins.losses._line_search import StepLengths
from margins.losses._smoothed import SmoothLoss, smoothing_curvature

each_bound = pytest.mark.parametrize("bounded", [False, True])


def objective(w, Y, r, centre, C, sigma, bounded):
    """f(w) as the Newton objective states it, by the maximum over alpha in plain NumPy."""
    s = 1 - Y @ w
    alpha = np.clip(centre + sigma * s, 0, C if bounded else math.inf)
    return 0.5 * w @ w - r @ w + (alpha * s - (alpha - centre) ** 2 / (2 * sigma)).sum()


def pieces(bounded, m, seed=3):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(m, 3)), np.where(rng.random(m) < 0.5, 1, -1)
    C = rng.random(m) + 0.2
    centre = C * rng.integers(0, 3, m) / 2 if bounded else np.zeros(m)
    steep = C * rng.random(m) if bounded else C
    return oracles.data_of(X, y), data_of(X, y), C, centre, steep, rng


@each_bound
@pytest.mark.parametrize("m", [7, 256, 600])
def test_gradient_and_slope_are_differences_of_the_objective(bounded, m):
    Y, data, C, centre, steep, rng = pieces(bounded, m)
    r, w, step = rng.normal(size=(3, Y.shape[1]))
    factor, everyone = 1.7, np.arange(m, dtype=np.int32)
    losses, sigma = (
        SmoothLoss(centre, C if bounded else np.full(len(C), math.inf), steep, factor, bounded),
        factor * steep,
    )

    def f(at):
        return objective(at, Y, r, centre, C, sigma, bounded)

    dual, free = np.empty(m), np.empty(m, dtype=np.int8)
    p = products(data, everyone, w)
    distance, _ = losses.evaluate(p, dual, free)
    upper = C if bounded else math.inf
    assert_allclose(dual, np.clip(centre + sigma * (1 - p), 0, upper), rtol=1e-13)
    assert_array_equal(free, (dual > 0) & (dual < upper))
    lack = (C * np.maximum(1 - p, 0) - dual * (1 - p)).sum() if bounded else 0.0
    assert distance == pytest.approx(lack, rel=1e-12)
    gradient = w - r - combination(data, everyone, dual)
    h = 1e-6
    differences = [(f(w + h * e) - f(w - h * e)) / (2 * h) for e in np.eye(len(w))]
    assert_allclose(gradient, differences, rtol=1e-6, atol=1e-5)
    ahead = products(data, everyone, w + step)
    for t in (0.0, 0.4, 1.0, 2.5):
        pull, curvature = losses.slopes(p, ahead, t)
        at = w + t * step
        now = (at - r) @ step - pull
        assert now == pytest.approx((f(at + h * step) - f(at - h * step)) / (2 * h), rel=1e-6, abs=1e-4)
        alpha = centre + sigma * (1 - Y @ at)
        inside = (alpha > 0) & (alpha < upper)
        assert curvature == pytest.approx((sigma * (Y @ step) ** 2)[inside].sum(), rel=1e-12)


@pytest.mark.parametrize("slack", [1e6, 1e9, 1e12])
def test_dual_variables_at_a_bound_are_exact_for_any_slack(slack):
    C, one = np.array([3.0, 3.0]), np.ones(2)
    losses = SmoothLoss(0.5 * C, C, C, 2.0**40, True)
    products, dual, free = np.array([-slack, slack]), np.empty(2), np.empty(2, dtype=np.int8)
    pull, curvature = losses.slopes(products, products + one, 0.0)
    assert (pull, curvature) == (C[0] * ((1 - slack) + slack), 0)
    distance, _ = losses.evaluate(products, dual, free)
    assert dual.tolist() == [3, 0] and free.tolist() == [0, 0] and distance == 0


def test_line_search_along_a_step_without_a_square_ends():
    nothing = np.zeros(1)
    losses = SmoothLoss(nothing, nothing, nothing, 1.0, True)
    assert losses.py_line_search(nothing, nothing, -1e-170, 0.0, -1e-170) == 1


@each_bound
def test_line_search_ends_where_the_slope_is_flat(bounded):
    Y, data, C, centre, steep, rng = pieces(bounded, 300)
    everyone, factor = np.arange(300, dtype=np.int32), 1.7
    losses = SmoothLoss(centre, C if bounded else np.full(len(C), math.inf), steep, factor, bounded)
    for scale in (1e-3, 1.0, 1e3):
        r, w = rng.normal(size=(2, Y.shape[1]))
        alpha = np.clip(centre + factor * steep * (1 - Y @ w), 0, C if bounded else math.inf)
        gradient = w - r - alpha @ Y
        step = -scale * gradient
        p, ahead = products(data, everyone, w), products(data, everyone, w + step)
        linear, square = (w - r) @ step, step @ step
        t = losses.py_line_search(p, ahead, linear, square, gradient @ step)
        pull, _ = losses.slopes(p, ahead, t)
        assert abs(linear + t * square - pull) <= 0.1 * abs(gradient @ step) * (1 + 1e-9)
        assert t > 0


def test_long_samples_have_less_curvature():
    C = np.array([1.0, 1.0, 1.0, 2.0, 4.0, 1.0, 1.0])
    sqnorms = np.array([1.0, 2.0, 0.5, 1.0, 1000.0, 80.0, 2e100])
    expected = C.copy()  # 2 is in the middle of C_k |y_k|^2
    expected[4], expected[6] = 4 * np.sqrt(100 * 2 / 4000), 1e-49
    assert_allclose(smoothing_curvature(C, sqnorms), expected, rtol=1e-14)
    assert_allclose(C, [1, 1, 1, 2, 4, 1, 1])  # as they were


@pytest.mark.parametrize(
    "sqnorms",
    [np.ones(5), np.zeros(5), np.array([1.0, 100, 100, 1, 1]), np.array([0.0, 0, 0, 3, 200])],
    ids=["all the same", "all empty", "long", "most empty"],
)
def test_curvature_is_the_upper_bound_unless_some_are_much_longer(sqnorms):
    C = np.full(5, 3.0)
    assert_array_equal(smoothing_curvature(C, sqnorms), C)


@pytest.mark.parametrize("m", [7, 256, 600])
def test_a_smooth_loss_with_upper_bounds_has_no_residual_and_its_conjugate_in_the_dual(m):
    # The modified Huber loss: D = 1 / (2 C), U = 4 C.
    rng = np.random.default_rng(m)
    C = rng.random(m) + 0.2
    losses = SmoothLoss(np.zeros(m), 4 * C, 2 * C, 1.0, False)
    p, dual, free = rng.normal(size=m) * 3, np.empty(m), np.empty(m, dtype=np.int8)
    assert losses.evaluate(p, dual, free)[0] == 0
    assert_allclose(dual, np.clip(2 * C * (1 - p), 0, 4 * C), rtol=1e-13)
    assert_array_equal(free, (p < 1) & (p > -1))
    assert free.any() and (dual == 4 * C).any() and (dual == 0).any()


@pytest.mark.parametrize("n_parts", [1, 3])
def test_a_line_search_over_parts_ends_as_over_all_samples(n_parts):
    Y, data, C, centre, steep, rng = pieces(True, 300)
    everyone, factor = np.arange(300, dtype=np.int32), 1.7
    losses = SmoothLoss(centre, C, steep, factor, True)
    r, w = rng.normal(size=(2, Y.shape[1]))
    step = 10 * (r - w + np.clip(centre + factor * steep * (1 - Y @ w), 0, C) @ Y)
    p, ahead = products(data, everyone, w), products(data, everyone, w + step)
    linear, square = (w - r) @ step, step @ step
    parts = [
        (SmoothLoss(centre[part], C[part], steep[part], factor, True), p[part], ahead[part])
        for part in np.array_split(everyone, n_parts)
    ]

    def derivatives(t):
        first, second = np.sum([part.slopes(at, then, t) for part, at, then in parts], axis=0)
        return linear + t * square - first, square + second

    slope, t = derivatives(0.0)[0], 1.0
    lengths = StepLengths(slope)
    while not lengths.is_long_enough(t, *derivatives(t)):
        t = lengths.after(t, *derivatives(t))
    assert t == pytest.approx(losses.py_line_search(p, ahead, linear, square, slope), rel=1e-9)


def test_a_line_search_that_is_not_a_whole_step_does_not_increase_the_objective():
    # Steep losses: the derivative may be small again far beyond the minimum.
    rng = np.random.default_rng(0)
    for _ in range(200):
        m = int(rng.integers(2, 8))
        C, p = 10 ** rng.uniform(-2, 8, m), rng.normal(size=m)
        losses = SmoothLoss(np.zeros(m), C, C, 1.0, True)
        change = rng.normal(size=m) * 10 ** rng.uniform(-3, 3)
        linear, square = rng.normal() * 10 ** rng.uniform(0, 6), 10 ** rng.uniform(-3, 3)
        slope = linear - losses.slopes(p, p + change, 0.0)[0]
        if slope > 0:  # the other direction
            linear, change, slope = -linear, -change, -slope
        t = losses.py_line_search(p, p + change, linear, square, slope)
        before, after = bounded_losses(C, p), bounded_losses(C, p + t * change)
        assert t == 1 or after + t * linear + t * t * square / 2 <= before * (1 + 1e-12)


def bounded_losses(C, p):
    """The sum of the smoothed hinge losses of curvature C, centre 0 and slopes at most C, by hand."""
    rises = np.maximum(C * (1 - p), 0)
    return np.sum(np.where(rises < C, rises**2 / 2, C * rises - C**2 / 2) / C)


def test_the_median_of_a_part_may_be_given():
    C, sqnorms = np.ones(4), np.array([1.0, 1.0, 1.0, 400.0])
    assert smoothing_curvature(C, sqnorms)[-1] == 0.5
    assert_allclose(smoothing_curvature(C[2:], sqnorms[2:], median=1.0), [1.0, 0.5])
