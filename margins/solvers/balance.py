"""Dual variables that balance: sum_k alpha_k l_k = 0, as an intercept that is not penalised requires."""

import math
from typing import NamedTuple

import numpy as np

from margins._update import WeightVector
from margins.losses._accurate import label_sum

# Of the sum of all dual variables: a smaller label sum is rounding, whose effect certificates contain.
ROUNDING = 1e-13


class DualSide(NamedTuple):
    """Dual variables that balance, as losses read them of a `WeightVector`.

    Attributes
    ----------
    dual : ndarray of float64, shape (m,)
    dual_sum : float
    sqnorm : float
        |a|^2 over features and slack terms.
    of_features : float
        |a|^2 over features alone.
    """

    dual: np.ndarray
    dual_sum: float
    sqnorm: float
    of_features: float

    def ordinary_sqnorm(self, data):
        """As of a `WeightVector`: float."""
        return self.of_features


def dual_side_of(weights, data):
    """The dual variables of a weight vector, the larger class multiplied to balance the other: DualSide.

    Where the weight vector is the best one for some intercept, multiplying a class by 1 + e changes the
    dual value by a multiple of e^2.

    Parameters
    ----------
    weights : WeightVector
    data : BinaryData
        With an intercept that is not penalised, the weight of a constant feature.
    """
    dual = weights.dual
    if not is_balanced(weights, data):
        dual = with_equal_classes(dual, data.upper_bounds, data.signs)
        weights = WeightVector(data.rows.n_features, len(data))
        weights.assign(data, dual)
    of_features = weights.ordinary_sqnorm(data)
    sqnorm = of_features + float(dual @ (data.diagonal * dual))
    return DualSide(dual, weights.dual_sum, sqnorm, of_features)


def is_balanced(weights, data):
    """True if sum_k alpha_k l_k is 0 but for rounding, or need not be."""
    if not data.has_free_intercept or data.sqrho == 0 or weights.dual_sum == 0:
        return True
    return abs(label_sum(weights.dual, data.signs)) <= ROUNDING * weights.dual_sum


def with_equal_classes(dual, upper, signs):
    """Dual variables of which both classes have the same sum: ndarray of float64, shape (m,).

    Those of the larger class are multiplied; only those between their bounds if that suffices, since
    the others are where they are to be.

    Parameters
    ----------
    dual, upper, signs : ndarrays, shape (m,)
    """
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
    """Dual variables near `dual` for which sum_k alpha_k l_k is 0, but for one rounding: ndarray."""
    alpha = with_equal_classes(dual, upper, signs)
    balance(alpha, upper, signs)
    return alpha


def balance(alpha, upper, signs):
    """Make sum_k alpha_k l_k 0, of dual variables for which it nearly is.

    Parameters and what is returned as of `lower_label_sum`.
    """
    return lower_label_sum(alpha, upper, signs, label_sum(alpha, signs))


def lower_label_sum(alpha, upper, signs, excess):
    """Lower sum_k alpha_k l_k by `excess`, by changing those that are farthest from their bounds.

    Parameters
    ----------
    alpha : ndarray of float64, shape (n,)
        Changed in place, within [0, upper].
    upper, signs : ndarrays, shape (n,)
    excess : float
        Small beside the sum of alpha.

    Returns
    -------
    changed : ndarray of int32
    changes : ndarray of float64
        Of alpha.
    """
    changed, changes = [], []
    if excess != 0:
        above = upper - alpha
        # A dual variable near a bound is to stay free, if it is.
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
