"""What a model costs as it is returned: its coefficients rounded, its slacks free of cancellation.

The slack 1 - p of a sample on the margin is a difference of nearly equal numbers. Where C |x|^2 is
large, or rows are long beside the margin, rounding of p by a unit in the last place changes the
objective. There it is computed from the rounded coefficients, with products in twice the working
precision.
"""

import math
from typing import NamedTuple

import numpy as np

from margins.losses._accurate import kernel_scores, scores

# Relative change of the primal value that rounding may make without being looked into.
NEGLIGIBLE = 1e-10

UNIT = np.finfo(np.float64).eps / 2


class ReturnedPoint(NamedTuple):
    """The objective of rounded coefficients.

    Attributes
    ----------
    primal : float
    scale : float
        The multiple of the weight vector whose rounded coefficients attain it.
    margin : float or None
        Directional margin; None: 1 / sqrt(2 primal).
    """

    primal: float
    scale: float
    margin: float | None


def returned_point(loss, data, hypothesis, *, scale, theta, products, primal, n_accesses, rescales=True):
    """The objective of the coefficients as they are returned, where rounding may have changed it.

    Parameters
    ----------
    loss : margins.losses.Loss
    data : BinaryData
    hypothesis : object
        With `weights` and `label_sum`; over the rows of a kernel, with `dual`.
    scale : float
        From the hypothesis to the coefficients.
    theta : float
        Threshold of the hypothesis.
    products : ndarray of float64, shape (m,)
        Of the hypothesis, theta subtracted.
    primal : float
        The primal value in ordinary precision.
    n_accesses : int
        Since the weight vector was last summed: each may have rounded its products with a kernel.
    rescales : bool
        False: of this multiple and no other.

    Returns
    -------
    ReturnedPoint or None
        None: rounding is negligible, or nothing is stated. With `rescales`, of `scale` and of a multiple
        that exceeds it by the rounding of the products, so that slacks which should vanish do, the
        better one.
    """
    if not 0 < primal < math.inf or not 0 < scale < math.inf:
        return None
    coefficients = data.signs * hypothesis.dual if data.rows.is_kernel else hypothesis.weights
    bias = data.sqrho * hypothesis.label_sum - theta
    relative = scale * _rounding(data, coefficients, bias, n_accesses)
    largest = relative * math.sqrt(float(data.ordinary_sqnorms.max()))
    if not loss.max_sensitivity(len(data), largest, primal) > NEGLIGIBLE:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        errors = relative * np.sqrt(data.ordinary_sqnorms)
        if not loss.sensitivity(scale * products, errors, primal) > NEGLIGIBLE:
            return None
        scales = [scale]
        if rescales and largest < 0.1:
            scales.append(scale * (1 + 2 * largest))
        points = [
            _point(loss, data, factor * coefficients, factor * bias, factor, rescales)
            for factor in scales
        ]
    return min(points, key=lambda point: point.primal)


def _rounding(data, coefficients, bias, n_accesses):
    """By how much the product with a sample of length 1 may have been rounded, as rounding is random."""
    if data.rows.is_kernel:
        size = float(np.abs(coefficients) @ np.sqrt(data.ordinary_sqnorms))
        n_terms = np.count_nonzero(coefficients) + n_accesses
    else:
        size = math.sqrt(float(coefficients @ coefficients))
        n_terms = data.rows.n_features
    if data.sqrho > 0:
        size += abs(bias) / math.sqrt(data.sqrho)
    return (math.sqrt(n_terms) + 8) * UNIT * size


def _point(loss, data, coefficients, bias, scale, rescales):
    """The objective of some coefficients, in twice the working precision."""
    if data.rows.is_kernel:
        high, low, sqnorm = kernel_scores(data.rows, coefficients, bias)
    else:
        high, low = scores(data.rows, coefficients, bias)
        sqnorm = float(coefficients @ coefficients)
    if data.sqrho > 0:
        sqnorm += bias * bias / data.sqrho
    # 1 - high is exact where it cancels.
    slacks = (1 - data.signs * high) - data.signs * low
    if not rescales:
        return ReturnedPoint(0.5 * sqnorm + loss.value_of_slacks(slacks), scale, None)
    primal, margin, multiple = loss.objective(slacks, sqnorm)
    return ReturnedPoint(primal, scale * multiple, margin)
