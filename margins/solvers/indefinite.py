"""Runs with a kernel that is not positive semidefinite: how to detect it, and their model.

|a|^2 may then be negative, the objective has no lower bound, and no dual value is a bound. The model of
such a run is computed from its dual variables, without a proof.
"""

import math

import numpy as np

from margins.kernels.semidefinite import MAX_SAMPLES

# Relative to |a|^2 of parallel vectors; as large as this because kernels may be in single precision.
ROUNDING_OF_SINGLE = 1e-6


def known_indefinite(data):
    """Return the evidence in the kernel matrix so far; None: no evidence."""
    blocks = data.rows.blocks
    return None if blocks is None else blocks.indefinite


def why_indefinite(data, weights, closely=False):
    """Return the evidence that a problem's kernel is not positive semidefinite; None: no evidence."""
    blocks = data.rows.blocks
    if blocks is None or blocks.kernel.is_semidefinite or blocks.indefinite is not None:
        return known_indefinite(data)
    dual, m = weights.dual, len(data)
    coefficients = data.signs * dual
    penalty = data.sq_intercept_scaling * float(coefficients.sum()) ** 2
    sqnorm = float(coefficients @ weights.weights) + penalty
    size = float(dual @ np.sqrt(data.ordinary_sqnorms))
    if sqnorm < -ROUNDING_OF_SINGLE * size * size:
        return f"|a|^2 is {sqnorm:.3g} for the dual variables of a fit"
    if not closely or m <= MAX_SAMPLES:
        return None
    largest = np.argpartition(dual, m - MAX_SAMPLES)[m - MAX_SAMPLES :]
    return blocks.why_indefinite(np.sort(largest[dual[largest] > 0]))


def with_model(bounds, loss, products):
    """Return the bounds without a dual value, at a multiple of a model that is not zero.

    If |a|^2 is not positive, no multiple is best: 1, 1/2, 1/4, ..., with the smallest loss is used.
    """
    bounds = bounds._replace(dual=0.0)
    if bounds.primal_scale > 0:
        return bounds if bounds.primal > 0 else bounds._replace(margin=0.0)
    scale, value, half = 1.0, math.inf, loss.value(products)
    while half < value:
        value, scale = half, scale / 2
        half = loss.value(scale * products)
    return bounds._replace(primal=value, primal_scale=min(2 * scale, 1.0), margin=0.0)
