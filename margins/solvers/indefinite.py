"""Runs over a kernel that is not positive semidefinite: what shows it, and what their model is.

|a|^2 may then be negative, the objective has no lower bound, and no dual value is one. The model of such
a run is what its dual variables give, proven or not.
"""

import math

import numpy as np

from margins.kernels.semidefinite import MAX_SAMPLES

# Of |a|^2, relative to that of vectors of one direction: kernels may be computed in single precision.
ROUNDING_OF_SINGLE = 1e-6


def known_indefinite(data):
    """What the kernel matrix has shown so far: str; None: nothing.

    Parameters
    ----------
    data : BinaryData
        Of a kernel.
    """
    blocks = data.rows.blocks
    return None if blocks is None else blocks.indefinite


def why_indefinite(data, weights, closely=False):
    """What shows that the kernel of a problem is not positive semidefinite: str; None: nothing does.

    Parameters
    ----------
    data : BinaryData
        Of a kernel.
    weights : WeightVector
        With the dual variables: their |a|^2 may be negative.
    closely : bool
        True: the matrix of the support vectors is looked at, of those with the largest dual variables.
    """
    blocks = data.rows.blocks
    if blocks is None or blocks.kernel.is_semidefinite or blocks.indefinite is not None:
        return known_indefinite(data)
    dual, m = weights.dual, len(data)
    coefficients = data.signs * dual
    sqnorm = float(coefficients @ weights.weights) + data.sqrho * float(coefficients.sum()) ** 2
    size = float(dual @ np.sqrt(data.ordinary_sqnorms))
    if sqnorm < -ROUNDING_OF_SINGLE * size * size:
        return f"|a|^2 is {sqnorm:.3g} for the dual variables of a fit"
    if not closely or m <= MAX_SAMPLES:
        return None
    largest = np.argpartition(dual, m - MAX_SAMPLES)[m - MAX_SAMPLES :]
    return blocks.why_indefinite(np.sort(largest[dual[largest] > 0]))


def with_model(bounds, loss, products):
    """The bounds of such a run: without a dual value, and of a model that is not zero.

    If no multiple of the dual variables is best, since |a|^2 is not positive, it is the one of least
    loss among 1, 1/2, 1/4, ...

    Parameters
    ----------
    bounds : margins.losses.base.Bounds
    loss : margins.losses.Loss
    products : ndarray of float64, shape (m,)
        w.y_k - theta l_k.
    """
    bounds = bounds._replace(dual=0.0)
    if bounds.primal_scale > 0:
        return bounds if bounds.primal > 0 else bounds._replace(margin=0.0)
    scale, value, half = 1.0, math.inf, loss.value(products)
    while half < value:
        value, scale = half, scale / 2
        half = loss.value(scale * products)
    return bounds._replace(primal=value, primal_scale=min(2 * scale, 1.0), margin=0.0)
