"""Proofs from the model and the dual variables of a run: as they are, and as they are returned.

The slack 1 - p of a sample on the margin is a difference of nearly equal numbers. If C |x|^2 is large,
or rows are long relative to the margin, rounding p in the last place changes the objective. In this case
the objective is computed from the rounded coefficients, with products in twice the working precision.
"""

import math
from typing import NamedTuple

import numpy as np

from margins.losses._accurate import kernel_scores, label_sum, scores
from margins.losses.base import NOTHING
from margins.solvers.balance import dual_side_of

# A smaller relative change of the primal value by rounding is ignored, even if the losses of all samples
# change in the same direction. docs/certificates.md says 1e-9.
NEGLIGIBLE = 1e-10
# The same for the change by one sample, if sums were just computed from the dual variables: then their
# roundings are independent.
NEGLIGIBLE_OF_ONE = 5e-10

UNIT = float(np.finfo(np.float64).eps) / 2


class PrimalPoint:
    """A weight vector from the primal side, in addition to the dual variables of a run.

    Parameters
    ----------
    margins : ndarray of float64, shape (m,)
        w.y_k.
    rho : float
        Size of the constant feature of the intercept; 0: no intercept.
    dual_side : WeightVector
        The weight vector with its dual variables.
    """

    def __init__(self, w, margins, rho, dual_side):
        self.w, self.margins, self.rho, self._dual_side = w, margins, rho, dual_side

    def with_dual_side(self, dual_side):
        """Return this weight vector in addition to other dual variables (PrimalPoint)."""
        return PrimalPoint(self.w, self.margins, self.rho, dual_side)

    def moved(self, w, margins):
        """Return another weight vector in addition to the same dual variables (PrimalPoint)."""
        return PrimalPoint(w, margins, self.rho, self._dual_side)

    @property
    def weights(self):
        """The weights of the features, an ndarray of float64 of shape (n_features,)."""
        return self.w[:-1] if self.rho > 0 else self.w

    @property
    def dual(self):
        """The current dual variables of the run, an ndarray of float64 of shape (m,)."""
        return self._dual_side.dual

    @property
    def label_sum(self):
        """The intercept divided by rho^2."""
        return self.w[-1] / self.rho if self.rho > 0 else 0.0

    def products(self, data):
        """Return w.y_k of all samples, an ndarray of float64 of shape (m,)."""
        return self.margins

    def ordinary_sqnorm(self, data):
        """Return |w|^2 over features and a penalised intercept."""
        w = self.weights if data.has_free_intercept else self.w
        return float(w @ w)


def bounds_of(hypothesis, weights, data, loss, theta=0.0, scale=None, products=None):
    """Return bounds on the optimum from a model and dual variables, by one pass over all samples."""
    if products is None:
        products = hypothesis.products(data)
    sqnorm = hypothesis.ordinary_sqnorm(data)
    if data.has_free_intercept and data.sq_intercept_scaling > 0:
        weights = dual_side_of(weights, data)
    if theta != 0:
        products -= theta * data.signs
    if theta != 0 and not data.has_free_intercept:
        # The weight of the intercept is rho label_sum - theta / rho.
        length = theta / data.sq_intercept_scaling if data.sq_intercept_scaling > 0 else math.inf
        sqnorm = max(sqnorm + theta * (length - 2 * hypothesis.label_sum), 0.0)
        if not math.isfinite(sqnorm):
            return NOTHING, products
    bounds = loss.bounds(products, sqnorm, weights)
    bounds = _without_rounding(bounds, weights, data)
    if scale is not None:
        bounds = bounds.at_scale(scale, loss, products, sqnorm)
    return bounds, products


def _without_rounding(bounds, weights, data):
    """Return the bounds with a dual value that holds in spite of rounding.

    The sum of the alpha_k y_k may be rounded, which matters if it is far shorter than its terms, as for
    classes that cannot be separated. And if the intercept is free, the dual variables must balance: the
    variables of one class are lowered by its excess over the other.
    """
    dual, dual_sum = weights.dual, weights.dual_sum
    if not bounds.dual > 0 or (dual is None and math.isfinite(bounds.dual)):
        return bounds
    error = 0.0
    if not data.rows.is_kernel:  # for kernels, `proven_bounds` does this
        error = _rounding_of_sum(dual, dual_sum, data)
    if data.has_free_intercept:
        excess = abs(label_sum(dual, data.signs))
        error += excess * math.sqrt(data.max_sqnorm)
        dual_sum -= excess
    # In algorithms with a separate loop, the weight vector is not the sum of the alpha_k y_k.
    length = math.sqrt(min(weights.ordinary_sqnorm(data), weights.sqnorm))
    change = error * (2 * length + error)
    if not change > 0.2 * NEGLIGIBLE * weights.sqnorm and math.isfinite(bounds.dual):
        return bounds
    return _lowered(bounds, dual_sum, weights.sqnorm + change)


def _lowered(bounds, dual_sum, sqnorm):
    """Return the bounds with a dual value for which |a|^2 may be as large as `sqnorm`."""
    if sqnorm == 0:  # all rows are 0
        return bounds._replace(dual=0.0, dual_scale=0.0)
    scale = min(bounds.dual_scale, max(dual_sum, 0.0) / sqnorm)
    value = scale * dual_sum - 0.5 * scale * scale * sqnorm
    return bounds._replace(dual=min(bounds.dual, value), dual_scale=scale)


def _rounding_of_sum(dual, dual_sum, data):
    """Return the likely rounding of the sum of the alpha_k y_k, if rounding is random."""
    largest = unit_of(len(data)) * dual_sum * math.sqrt(data.max_sqnorm)
    if dual is None:  # not kept
        return largest
    return min(largest, unit_of(np.count_nonzero(dual)) * float(dual @ np.sqrt(data.ordinary_sqnorms)))


class ReturnedPoint(NamedTuple):
    """The objective of rounded coefficients."""

    primal: float
    scale: float  # multiple of the weight vector whose rounded coefficients attain it
    margin: float | None  # directional margin; None: 1 / sqrt(2 primal)


def returned_point(
    loss, data, hypothesis, *, scale, theta, products, primal, n_accesses, sums_are_fresh
):
    """Return the objective of the coefficients as returned, if rounding may have changed it."""
    if _is_negligible(loss, data, primal):
        return None
    model = _Model(data, hypothesis, theta)
    negligible = NEGLIGIBLE_OF_ONE * math.sqrt(len(data)) if sums_are_fresh else NEGLIGIBLE
    error = model.relative_error(loss, scale, products, primal, n_accesses, negligible)
    if error == 0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        scales = [scale] if not error < 0.1 else [scale, scale * (1 + 2 * error)]
        points = [_point(loss, model, factor) for factor in scales]
        best = min(points, key=lambda point: point.primal)
        if best.scale not in scales:  # other roundings than those just tried
            best = _point(loss, model, best.scale)._replace(scale=best.scale)
    return best


def proven_bounds(bounds, data, weights, n_accesses):
    """Return bounds whose dual value holds in spite of rounding.

    Over the rows of a kernel, |a|^2 is a sum over the products of all pairs of dual variables. If large
    variables of opposite labels cancel, as for duplicates, its rounding may exceed it.
    """
    if not data.rows.is_kernel or not bounds.dual > 0:
        return bounds
    is_finite, share = math.isfinite(bounds.dual), 0.5 * float(bounds.dual_scale) ** 2
    # No sample is longer than the longest.
    longest = unit_of(len(data) + n_accesses) * weights.dual_sum**2 * data.max_sqnorm
    if is_finite and share * longest <= NEGLIGIBLE * bounds.dual:
        return bounds
    error = rounding_of_sqnorm(data, weights, n_accesses)
    if is_finite and not share * error > NEGLIGIBLE * bounds.dual:
        return bounds
    return _lowered(bounds, weights.dual_sum, weights.sqnorm + error)


def rounding_of_sqnorm(data, weights, n_accesses=0):
    """Return the likely rounding of |a|^2 over the rows of a kernel, if rounding is random.

    Parameters are the same as for `proven_bounds`.
    """
    dual = weights.dual
    size = float(dual @ np.sqrt(data.ordinary_sqnorms))
    return unit_of(np.count_nonzero(dual) + n_accesses) * size * size


def returned_bounds(loss, data, hypothesis, weights, *, scale, theta, products, primals, n_accesses):
    """Return the bounds of coefficients whose length does not minimise the objective."""
    model = _Model(data, hypothesis, theta)
    if not any(
        model.relative_error(loss, multiple, products, primal, n_accesses) > 0
        for multiple, primal in primals
    ):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        high, low, sqnorm = model.scores(scale)
        bounds = loss.bounds(data.signs * (high + low), sqnorm, weights)
        return bounds.with_primal(0.5 * sqnorm + loss.value_of_slacks(_slacks(data, high, low)))


def _is_negligible(loss, data, primal):
    """Return True if rounding cannot matter, judging without the weight vector."""
    if data.rows.is_kernel or not 0 < primal < math.inf:
        return False
    # Twice the primal value is at least |w|^2, so |w| + |bias| / rho is at most twice its root.
    size = 2 * math.sqrt(primal)
    largest = unit_of(data.rows.n_features) * size * math.sqrt(data.max_sqnorm)
    return not loss.max_sensitivity(len(data), largest, primal) > NEGLIGIBLE


def unit_of(n_terms):
    """Return the rounding of a sum of products, relative to the lengths of the two vectors."""
    return (math.sqrt(n_terms) + 8) * UNIT


class _Model:
    """The coefficients and the intercept of a hypothesis, before scaling."""

    def __init__(self, data, hypothesis, theta):
        self.data = data
        is_kernel = data.rows.is_kernel
        self.coefficients = data.signs * hypothesis.dual if is_kernel else hypothesis.weights
        self.bias = data.sq_intercept_scaling * hypothesis.label_sum - theta

    def relative_error(self, loss, scale, products, primal, n_accesses, negligible=NEGLIGIBLE):
        """Return the part of functional margin 1 that may be rounding; 0 if the objective is unaffected.

        Parameters are the same as for `returned_point`.
        """
        if not 0 < primal < math.inf or not 0 < scale < math.inf:
            return 0.0
        sqnorms = self.data.ordinary_sqnorms
        relative = scale * _rounding(self.data, self.coefficients, self.bias, n_accesses)
        largest = relative * math.sqrt(float(sqnorms.max()))
        if not loss.max_sensitivity(len(self.data), largest, primal) > negligible:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            errors = relative * np.sqrt(sqnorms)
            matters = loss.sensitivity(scale * products, errors, primal) > negligible
        return largest if matters else 0.0

    def scores(self, scale):
        """Return scores in twice the working precision, and |w|^2 with bias, of rounded coefficients."""
        data, coefficients, bias = self.data, scale * self.coefficients, scale * self.bias
        if data.rows.is_kernel:
            blocks = data.rows.blocks
            matrix = None if blocks is None else blocks.matrix_in_memory
            high, low, sqnorm = kernel_scores(data.rows, coefficients, bias, matrix)
        else:
            high, low = scores(data.rows, coefficients, bias)
            sqnorm = float(coefficients @ coefficients)
        if data.sq_intercept_scaling > 0 and not data.has_free_intercept:
            sqnorm += bias * bias / data.sq_intercept_scaling
        return high, low, sqnorm


def _rounding(data, coefficients, bias, n_accesses):
    """Return the likely rounding of the product with a sample of length 1, if rounding is random."""
    if data.rows.is_kernel:
        size = float(np.abs(coefficients) @ np.sqrt(data.ordinary_sqnorms))
        n_terms = np.count_nonzero(coefficients) + n_accesses
    else:
        size = math.sqrt(float(coefficients @ coefficients))
        n_terms = data.rows.n_features
    if data.sq_intercept_scaling > 0:
        size += abs(bias) / math.sqrt(data.sq_intercept_scaling)
    elif data.has_free_intercept:
        mean = float(data.ordinary_sqnorms.sum()) / len(data)
        size += abs(bias) / math.sqrt(mean or 1.0)
    return unit_of(n_terms) * size


def _point(loss, model, scale):
    """Return the objective of rounded coefficients, in twice the working precision."""
    high, low, sqnorm = model.scores(scale)
    primal, margin, multiple = loss.objective(_slacks(model.data, high, low), sqnorm)
    return ReturnedPoint(primal, scale * multiple, margin)


def accurate_slacks(data, hypothesis, theta, scale):
    """Return 1 - w.y_k of rounded coefficients, computed in twice the working precision.

    Parameters are the same as for `returned_point`.
    """
    high, low, _ = _Model(data, hypothesis, theta).scores(scale)
    return _slacks(data, high, low)


def _slacks(data, high, low):
    """Return 1 - w.y_k from scores in twice the working precision: 1 - high is exact if it cancels."""
    return (1 - data.signs * high) - data.signs * low
