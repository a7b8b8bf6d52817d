"""Exact optima: the maximum margin, and the least objectives, slowly and obviously.

Samples are reflected and augmented, as `oracles.data_of` makes them; `oracles` explains the symbols.
"""

import functools
import math

import numpy as np

from margins.testing import truth


def remembered(optimum):
    """Keep what it returns for arrays: many tests draw the same problems, one for each algorithm."""
    found = {}

    @functools.wraps(optimum)
    def of(*arrays):
        arrays = [np.asarray(array, dtype=float) for array in arrays]
        key = tuple((array.shape, array.tobytes()) for array in arrays)
        if key not in found:
            found[key] = optimum(*arrays)
        return found[key]

    return of


def margin(a, data):
    """Return the directional margin min_k a.y_k / |a|."""
    return float(np.min(data @ a) / np.linalg.norm(a))


maximum_margin = remembered(truth.maximum_margin)


def best_multiple(products, sqnorm, C):
    """Return min over c >= 0 of c^2 sqnorm / 2 + sum_k C_k max(0, 1 - c p_k)^2, products p (m,).

    Between the points 1 / p_k the objective is a parabola: its minimum is one of theirs.
    """
    products, C = np.asarray(products, dtype=float), np.broadcast_to(C, len(products))
    scales = [0.0]
    for p in (math.inf, *products[products > 0]):
        loses = products < p  # between 1 / p and the next of these points
        curvature = sqnorm + 2 * np.sum((C * products**2)[loses])
        slope = 2 * np.sum((C * products)[loses])
        scales.append(max(slope / curvature, 0.0) if curvature > 0 else 0.0)
    return min(
        0.5 * c**2 * sqnorm + float(np.sum(C * np.maximum(1 - c * products, 0) ** 2)) for c in scales
    )


@remembered
def l1_svm_optimum(data, C):
    """Return (primal, alpha) at the least |w|^2 / 2 + sum_k C_k max(0, 1 - w.y_k).

    C is one number or (m,); w = alpha @ samples and 0 <= alpha <= C.
    """
    C = np.broadcast_to(np.asarray(C, dtype=float), len(data))

    def primal(alpha):
        w = alpha @ data
        return w @ w / 2 + C @ np.maximum(0, 1 - data @ w)

    def dual(alpha):
        w = alpha @ data
        return alpha.sum() - w @ w / 2

    return _dual_coordinate_descent(data, primal, dual, upper=C, diagonal=np.zeros(len(data)))


@remembered
def l2_svm_optimum(data, C):
    """Return (primal, alpha) at the least |w|^2 / 2 + sum_k C_k max(0, 1 - w.y_k)^2.

    C is one number or (m,); w = alpha @ samples and alpha >= 0.
    """
    C = np.broadcast_to(np.asarray(C, dtype=float), len(data))

    def primal(alpha):
        w = alpha @ data
        return w @ w / 2 + C @ np.maximum(0, 1 - data @ w) ** 2

    def dual(alpha):
        w = alpha @ data
        return alpha.sum() - (w @ w + alpha @ (alpha / (2 * C))) / 2

    return _dual_coordinate_descent(
        data, primal, dual, upper=np.full(len(data), math.inf), diagonal=1 / (2 * C)
    )


def _dual_coordinate_descent(data, primal, dual, upper, diagonal, accuracy=1e-10, sweeps=100_000):
    """Maximise the dual over 0 <= alpha <= upper, one alpha_k exactly at a time.

    Ends when the duality gap is `accuracy` times the primal value.
    """
    curvature = np.sum(data**2, axis=1) + diagonal
    alpha = np.zeros(len(data))
    for _ in range(sweeps):
        for k, y in enumerate(data):
            gradient = y @ (alpha @ data) - 1 + diagonal[k] * alpha[k]
            alpha[k] = min(max(alpha[k] - gradient / curvature[k], 0.0), upper[k])
        if primal(alpha) - dual(alpha) <= accuracy * primal(alpha):
            return float(primal(alpha)), alpha
    gap = primal(alpha) - dual(alpha)
    raise ArithmeticError(f"The duality gap is still {gap} after {sweeps} sweeps.")
