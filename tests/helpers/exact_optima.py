"""Exact optima: the maximum margin, and the least objectives, slowly and obviously.

Samples are reflected and augmented, as `oracles.data_of` makes them; `oracles` explains the symbols.
"""

import functools
import math
from fractions import Fraction

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


def rational_objective(w, b, X, y, C, loss, is_penalised=True):
    """What rounded coefficients cost, without rounding; C of all samples or of each: Fraction."""
    w, b = [Fraction(float(v)) for v in w], Fraction(float(b))
    total = (sum(v * v for v in w) + is_penalised * b * b) / 2
    for row, label, penalty in zip(X, y, np.broadcast_to(C, len(y)), strict=True):
        score = sum((v * Fraction(float(x)) for v, x in zip(w, row, strict=True)), b)
        slack = max(1 - (score if label > 0 else -score), Fraction(0))
        total += Fraction(float(penalty)) * (slack * slack if loss == "squared_hinge" else slack)
    return total


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
def l1_svm_optimum(data, C, accuracy=1e-10, sweeps=100_000):
    """Return (primal, alpha) at the least |w|^2 / 2 + sum_k C_k max(0, 1 - w.y_k).

    C is one number or (m,); w = alpha @ samples and 0 <= alpha <= C. One alpha_k after the other
    maximises the dual, until the duality gap is `accuracy` times the primal value.
    """
    C = np.broadcast_to(C, len(data))
    sqnorms = np.sum(data**2, axis=1)
    alpha = np.zeros(len(data))
    for _ in range(sweeps):
        for k, y in enumerate(data):
            alpha[k] = np.clip(alpha[k] - (y @ (alpha @ data) - 1) / sqnorms[k], 0.0, C[k])
        w = alpha @ data
        primal, dual = w @ w / 2 + C @ np.maximum(0, 1 - data @ w), alpha.sum() - w @ w / 2
        if primal - dual <= accuracy * primal:
            return float(primal), alpha
    raise ArithmeticError(f"The duality gap is still {primal - dual} after {sweeps} sweeps.")
