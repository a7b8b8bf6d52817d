"""Dual variables that balance: sum_k alpha_k l_k = 0, as a free intercept requires."""

import math
from typing import NamedTuple

import numpy as np

from margins._update import WeightVector
from margins.linalg.threads import on_one_thread
from margins.losses._accurate import label_sum

# A label sum below this share of the sum of all dual variables is rounding; certificates allow for it.
ROUNDING = 1e-13


class DualSide(NamedTuple):
    """Dual variables that balance, in the form in which losses read a `WeightVector`."""

    dual: np.ndarray  # shape (m,)
    dual_sum: float
    sqnorm: float  # |a|^2 over features and slack terms
    of_features: float  # |a|^2 over features alone

    def ordinary_sqnorm(self, data):
        return self.of_features


@on_one_thread
def dual_side_of(weights, data):
    """Return the dual variables of a weight vector; the larger class is scaled to balance the other."""
    dual = weights.dual
    if not is_balanced(weights, data):
        dual = with_equal_classes(dual, data.upper_bounds, data.signs)
        weights = WeightVector(data.rows.n_features, len(data))
        weights.assign(data, dual)
    of_features = weights.ordinary_sqnorm(data)
    sqnorm = of_features + float(dual @ (data.diagonal * dual))
    return DualSide(dual, weights.dual_sum, sqnorm, of_features)


def is_balanced(weights, data):
    """Return True if sum_k alpha_k l_k is 0 up to rounding, or need not be 0."""
    if not data.has_free_intercept or data.sq_intercept_scaling == 0 or weights.dual_sum == 0:
        return True
    return abs(label_sum(weights.dual, data.signs)) <= ROUNDING * weights.dual_sum


def with_equal_classes(dual, upper, signs):
    """Return dual variables with equal sums of both classes; those at bounds move only if they must."""
    is_positive = signs > 0
    positive, negative = float(dual[is_positive].sum()), float(dual[~is_positive].sum())
    if positive == negative:
        return dual
    is_larger = is_positive if positive > negative else ~is_positive
    excess, is_free = abs(positive - negative), is_larger & (dual < upper)
    total = float(dual[is_free].sum())
    if total <= excess:
        is_free, total = is_larger, max(positive, negative)
    return np.where(is_free, dual * (1 - excess / total), dual)


def balanced(dual, upper, signs):
    """Return dual variables near `dual` for which sum_k alpha_k l_k is 0, up to one rounding."""
    alpha = with_equal_classes(dual, upper, signs)
    balance(alpha, upper, signs)
    return alpha


def balance(alpha, upper, signs):
    """Make sum_k alpha_k l_k, which nearly is 0, exactly 0; return what `lower_label_sum` returns."""
    return lower_label_sum(alpha, upper, signs, label_sum(alpha, signs))


def lower_label_sum(alpha, upper, signs, excess):
    """Lower sum_k alpha_k l_k by `excess`, by changing the variables farthest from their bounds."""
    changed, changes = [], []
    if excess != 0:
        above = upper - alpha
        # A dual variable that is free but near a bound should stay free.
        preference = np.minimum(alpha, above)
        best = int(preference.argmax())
        order = [best] if preference[best] >= abs(excess) else np.argsort(-preference, kind="stable")
        for k in order:
            is_lowered = signs[k] * excess > 0
            step = min(abs(excess), alpha[k] if is_lowered else above[k])
            changed.append(k)
            changes.append(-step if is_lowered else step)
            alpha[k] += changes[-1]
            excess -= math.copysign(step, excess)
            if excess == 0:
                break
    return np.array(changed, dtype=np.int32), np.array(changes)
