"""Models against the best constant classifier: how much they win, and that they win at all.

Where C |x|^2 is small, objectives are nearly equal (`accurate_gap`):

Given: a model with primal value P, dual variables with dual value D, and the objective P0 of the best
constant classifier, w = 0 with the best intercept. If C |x|^2 is small, all three are nearly equal, and
rounding hides their differences. Returned: P - D, summed from terms that all vanish at the optimum,

    |w - a|^2 / 2   and for each sample   h_k - alpha_k s_k + D_k alpha_k^2 / 2,   with the slack s_k.

It proves what share of the possible improvement P0 - D the model has (`margins.certificate.Standing`).
And if a fit ends with P > P0, it chooses the length of w and the intercept again (`refit_intercept`).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from margins.certificate import features_sqnorm
from margins.data._passes import combination, mean_of
from margins.data.binary_data import of_each
from margins.losses._accurate import label_sum
from margins.solvers.balance import balanced
from margins.solvers.certification import (
    PrimalPoint,
    accurate_slacks,
    rounding_of_sqnorm,
    unit_of,
)

# Below this relative improvement, slacks are computed in twice the working precision.
TINY = 1e-8
# The constant classifier is optimal if its objective is this close to a bound, relative to it, and if
# the samples cancel in the weight vector up to this share: in small units, objectives are as close.
SAME_OBJECTIVE = 1e-12
CANCELLED = 1e-9
# With a free intercept an offset of the features cancels, too, so it is a share of their spread, or only
# this multiple of rounding counts; with a kernel, this multiple of the rounding of its values in |a|^2.
CANCELLED_OF_SPREAD = 1e-7
ROUNDINGS = 10
# With a kernel it is optimal, too, if no more can be won than by a signal of this share of the samples'
# spread, which noise in fewer than 1e8 samples hides: single precision does not prove more, and the
# interior-point solver takes 100 times as long. Objectives must be so close that gains are quadratic.
WEAKEST = 1e-4
CLOSE = 1e-4
ROUNDING = 1e-13  # of objectives
# Weights of 0 would not be a multiple of a direction; these make a difference below rounding.
SMALLEST_MULTIPLE = 1e-16
# A dual variable at most this share below its upper bound is at the bound.
NEAR = 1e-12


def accurate_gap(claim, products, bounds, constant, scale):
    """Return an accurate upper bound of P - D; 0 if no model is better than a constant classifier."""
    data, loss, weights, hypothesis = claim.data, claim.loss, claim.weights, claim.hypothesis
    dual = _snapped(bounds.dual_scale * weights.dual, of_each(loss.upper, len(data)), data)
    lengths = np.sqrt(data.ordinary_sqnorms)
    total, error = float(dual @ lengths), 0.0
    rounding, limit = unit_of(np.count_nonzero(dual)) * total, CANCELLED * total
    if not data.rows.is_kernel:
        w = scale * hypothesis.weights
        a = combination(data, np.arange(len(data), dtype=np.int32), dual)[: len(w)]
        length, distance = np.linalg.norm(a), np.linalg.norm(w - a)
        if data.has_free_intercept:
            limit = ROUNDINGS * rounding
            if constant - bounds.dual <= SAME_OBJECTIVE * constant:
                limit = max(limit, CANCELLED_OF_SPREAD * float(dual.sum()) * _spread(data))
    elif _is_below_noise(constant, bounds.dual, dual, data):
        return 0.0
    elif hypothesis is weights:
        length = bounds.dual_scale * math.sqrt(features_sqnorm(weights, data))
        moved = float(np.abs(dual - bounds.dual_scale * weights.dual) @ lengths)
        distance = abs(scale / bounds.dual_scale - 1) * length + moved
        error = ROUNDINGS * bounds.dual_scale**2 * rounding_of_sqnorm(data, weights)
        limit = max(limit, math.sqrt(error))
    else:
        return math.inf
    if is_nothing(constant, bounds.dual, length, limit, error):
        return 0.0
    if data.sq_intercept_scaling > 0 and not data.has_free_intercept:
        sums = scale * hypothesis.label_sum - label_sum(dual, data.signs)
        intercept = data.sq_intercept_scaling * sums - scale * claim.theta
        distance = math.hypot(distance, intercept / math.sqrt(data.sq_intercept_scaling))
    if constant - bounds.dual < TINY * constant:
        slacks = accurate_slacks(data, hypothesis, claim.theta, scale)
    else:
        slacks = 1 - scale * products
    return 0.5 * (distance + rounding) ** 2 + loss.gap_of_samples(slacks, dual)


class Refit(NamedTuple):
    """A model with another intercept, and a multiple of its weights."""

    theta: float
    primal: PrimalPoint | None
    multiple: float
    value: float  # its objective


def refit_intercept(claim, proof, primal):
    """Choose the intercept of a model again, together with the multiple of its weights (Refit).

    The multiple 0 is the constant classifier, so no model is then worse, except for rounding.
    """
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
        best = _minimum(objective, *ends)
        kink = float(points[np.abs(points - best).argmin()])  # where a loss that is not smooth may end
        return min(best, kink, key=objective)

    largest = 2 * proof.primal_scale or 1.0

    def objective(multiple):
        b = intercept_at(multiple)
        margins = signs * (multiple * scores + b)
        return 0.5 * (multiple * multiple * sqnorm + penalty * b * b) + loss.value(margins)

    # The objective is convex, so it has one minimum on a logarithmic scale, too.
    best = _minimum(lambda t: objective(math.exp(t) * largest), math.log(SMALLEST_MULTIPLE), 0.0)
    multiple = min((SMALLEST_MULTIPLE * largest, math.exp(best) * largest), key=objective)
    b, value = intercept_at(multiple), objective(multiple)
    if primal is None:
        return Refit(claim.theta + bias - b / multiple, None, multiple, value)
    w = np.append(multiple * primal.w[:-1], b / primal.rho)
    margins = signs * (multiple * scores + b)
    return Refit(claim.theta, primal.moved(w, margins), multiple, value)


def _minimum(function, low, high):
    """Return where a convex function of one variable is smallest between two ends."""
    accuracy = {"xatol": 1e-12 * max(abs(low), abs(high))}
    best = minimize_scalar(function, bounds=(low, high), method="bounded", options=accuracy)
    return float(best.x)


def is_nothing(constant, dual, length, limit, error=0.0):
    """Return whether no model is better than the best constant classifier, as far as can be computed."""
    return constant - dual <= SAME_OBJECTIVE * constant + error and length <= limit


def _is_below_noise(constant, dual_value, dual, data):
    """Return whether the shortest vector that could win P0 - D is within noise; see `WEAKEST`."""
    won = constant - dual_value + ROUNDING * constant
    if won > CLOSE * constant or data.rows.blocks is None:
        return False
    return math.sqrt(2 * max(won, 0.0)) <= WEAKEST * float(dual.sum()) * data.rows.blocks.spread


def _spread(data):
    """Return the root mean square of the distances of samples from their mean; 0 if it is rounding."""
    mean = mean_of(data)
    square = float(data.ordinary_sqnorms.mean()) - data.sq_intercept_scaling
    variance = square - float(mean @ mean)
    return math.sqrt(variance) if variance > CANCELLED * square else 0.0


def _snapped(dual, upper, data):
    """Return dual variables, balanced, with those that rounding moved off their bound moved back."""
    dual = np.where(dual >= (1 - NEAR) * upper, upper, dual)
    return balanced(dual, upper, data.signs) if data.has_free_intercept else dual
