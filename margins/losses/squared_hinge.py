"""The squared hinge loss: the 2-norm soft margin, LinearSVC's default problem."""

import math

import numpy as np

from margins.data.binary_data import of_each, sum_of_each, sums_of_classes
from margins.losses._scaling import squared_hinge_minimum, squared_hinge_sums
from margins.losses.base import Bounds, MaximumMarginLoss


class SquaredHinge(MaximumMarginLoss):
    """Squared hinge loss: ``min |w|^2 / 2 + sum_k C_k max(0, 1 - w.y_k)^2``.

    It is the 2-norm soft margin, with D_k = 1 / (2 C_k), the Delta_k^2 of the papers.

    Parameters
    ----------
    C : float or ndarray of float64, shape (m,)
        Penalty of every sample; samples of penalty 0 are left out.

    See Also
    --------
    Hinge : The L1-SVM.
    HardMargin : The limit of large C.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge(C=2.0).value(np.array([0.5, 3.0]))
    0.5

    **Source**: Panagiotakopoulos & Tsampouka (2010), (20), (24); (2011), section 2.
    """

    name = "squared_hinge"
    has_upper_bounds = False
    is_smooth = True

    def __init__(self, C):
        super().__init__(C)
        if isinstance(C, np.ndarray) and not C.all():  # dual variable 0, with any diagonal
            C, self.upper = np.where(C == 0, 1.0, C), np.where(C == 0, 0.0, np.inf)
        self.diag = 1 / (2 * C)

    def value(self, margins):
        """Return the sum of C_k max(0, 1 - w.y_k)^2."""
        return float(np.sum(self.C * np.maximum(1 - margins, 0) ** 2))

    def value_of_slacks(self, slacks):
        """See `Loss.value_of_slacks`."""
        return float(np.sum(self.C * np.maximum(slacks, 0) ** 2))

    def best_intercept(self, scores, signs):
        """See `Loss.best_intercept`; it is a weighted mean over all samples with a loss."""
        points = signs - scores
        order = np.argsort(points)
        t, C = points[order], of_each(self.C, len(points))[order]
        # If b is between t[k - 1] and t[k], the positive samples from k on and the negative samples
        # before k have a loss.
        positive, negative = np.where(signs[order] > 0, C, 0.0), np.where(signs[order] > 0, 0.0, C)
        weight = _sums_from(positive) + _sums_before(negative)
        moment = _sums_from(positive * t) + _sums_before(negative * t)
        # Half of the slope at t[k] is t[k] weight - moment, which ascends.
        k = int(np.searchsorted(t * weight[:-1] - moment[:-1], 0.0))
        return float(moment[k] / weight[k] if weight[k] > 0 else 0.5 * (t[k - 1] + t[k]))

    def constant_objective(self, signs, sq_intercept_scaling):
        """See `Loss.constant_objective`."""
        positive, negative = sums_of_classes(self.C, signs)
        total = positive + negative
        if sq_intercept_scaling == 0:
            return total
        penalty = 0.5 / sq_intercept_scaling
        return (4 * positive * negative + penalty * total) / (total + penalty)

    def gap_of_samples(self, slacks, dual):
        """See `Loss.gap_of_samples`."""
        violations = slacks - self.diag * dual
        losses = np.where(
            slacks > 0, self.C * violations * violations, -dual * (slacks + violations) / 2
        )
        return float(np.sum(losses))

    def max_sensitivity(self, n_samples, error, primal):
        """See `Loss.max_sensitivity`; it uses Cauchy-Schwarz, and sum C s^2 <= `primal`."""
        share = math.sqrt(sum_of_each(self.C, n_samples) / primal) * error
        return 4 * share + 2 * share * share

    def bounds(self, products, sqnorm, weights):
        """See `Loss.bounds`; the slacks are optimal for w, and not taken from the dual variables."""
        C, has_dual = of_each(self.C, len(products)), weights.sqnorm > 0
        if not has_dual and sqnorm == 0:
            return Bounds(float(C.sum()), 0.0, 0.0, 0.0)
        dual_scale = weights.dual_sum / weights.sqnorm if has_dual else 1.0
        primal, scale, converged = squared_hinge_minimum(products, C, sqnorm, dual_scale)
        if not has_dual:
            return Bounds(primal, 0.0, scale, 0.0)
        if not converged:
            # Try the slacks of the dual variables, too, at a scale just above 1 / min_k a.y_k.
            smallest = float((products + self.diag * weights.dual).min())
            if smallest > 0:
                dual_slack_scale = (1 + 1e-15) / smallest
                losses = squared_hinge_sums(products, C, dual_slack_scale)[0]
                objective = 0.5 * dual_slack_scale * dual_slack_scale * sqnorm + losses
                if objective < primal:
                    primal, scale = objective, dual_slack_scale
        return Bounds(primal, 0.5 * weights.dual_sum * dual_scale, scale, dual_scale)


def _sums_from(values):
    """Return the sums of values[k:], for k = 0, ..., n (ndarray, shape (n + 1,))."""
    return np.append(np.cumsum(values[::-1])[::-1], 0.0)


def _sums_before(values):
    """Return the sums of values[:k], for k = 0, ..., n (ndarray, shape (n + 1,))."""
    return np.append(0.0, np.cumsum(values))
