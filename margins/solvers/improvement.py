"""Models that are no better than the best constant classifier, and how to improve them."""

import math
from typing import NamedTuple

import numpy as np

from margins.certificate import features_sqnorm
from margins.solvers.proof import PrimalPoint

# Weights of 0 would not be a multiple of a direction; these make a difference below rounding.
SMALLEST_MULTIPLE = 1e-16
# A multiple whose weights change the objective by more than rounding, and by nothing that matters.
SMALL_MULTIPLE = 1e-9
# `minimum` is at most this far from the minimum, relative to the larger end.
RESOLUTION = 1e-7


class Refit(NamedTuple):
    """A model with another intercept, and a multiple of its weights."""

    theta: float
    primal: PrimalPoint | None
    multiple: float
    value: float  # its objective


def refit_intercept(claim, proof, primal):
    """Choose the intercept and the multiple of a model again; 0 is the constant classifier (Refit)."""
    data, loss, hypothesis = claim.data, claim.loss, claim.hypothesis
    signs, scaling, sqnorm = data.signs, data.sq_intercept_scaling, features_sqnorm(hypothesis, data)
    bias = scaling * hypothesis.label_sum - claim.theta
    scores = signs * proof.products - bias
    penalty = 0.0 if data.has_free_intercept else 1 / scaling

    def intercept_at(multiple):
        if penalty == 0:
            return loss.best_intercept(multiple * scores, signs)
        points = signs - multiple * scores

        def objective(b):
            return 0.5 * penalty * b * b + loss.value(signs * (multiple * scores + b))

        ends = (min(points.min(), 0.0), max(points.max(), 0.0))
        best = minimum(objective, *ends)
        if loss.is_smooth:
            return best
        # Kinks of a small multiple are nearer to each other than what the search can tell apart.
        width = RESOLUTION * max(map(abs, ends))
        best += minimum(lambda step: objective(best + step), -width, width)
        kink = float(points[np.abs(points - best).argmin()])
        return min(best, kink, key=objective)

    largest = 2 * proof.primal_scale or 1.0

    def best_at(multiple):
        """Return the objective of a multiple of the weights with its best intercept, and both."""
        b = intercept_at(multiple)
        value = loss.value(signs * (multiple * scores + b))
        return 0.5 * (multiple * multiple * sqnorm + penalty * b * b) + value, b, multiple

    best = best_at(SMALLEST_MULTIPLE * largest)
    # The objective is convex: if it rises at first, it rises, and it has one minimum on a logarithmic
    # scale, too.
    if best_at(SMALL_MULTIPLE * largest) < best:
        ends = math.log(SMALLEST_MULTIPLE), 0.0
        exponent = minimum(lambda t: best_at(math.exp(t) * largest)[0], *ends)
        best = min(best, best_at(math.exp(exponent) * largest))
    value, b, multiple = best
    if primal is None:
        return Refit(claim.theta + bias - b / multiple, None, multiple, value)
    w = np.append(multiple * primal.w[:-1], b / primal.rho)
    margins = signs * (multiple * scores + b)
    return Refit(claim.theta, primal.moved(w, margins), multiple, value)


def minimum(function, low, high):
    """Return where a convex function of one variable is smallest between two ends."""
    from scipy.optimize import minimize_scalar

    accuracy = {"xatol": 1e-12 * max(abs(low), abs(high))}
    best = minimize_scalar(function, bounds=(low, high), method="bounded", options=accuracy)
    return float(best.x)
