"""The hinge loss: the L1-SVM."""

import math

import numpy as np

from margins.data.binary_data import of_each, sum_of_each, sums_of_classes
from margins.losses._scaling import hinge_minimum
from margins.losses.base import Bounds, Loss

# A slope below this share of the penalties is 0 except for rounding.
FLAT = 1e-12


class Hinge(Loss):
    """Hinge loss: ``min |w|^2 / 2 + sum_k C_k max(0, 1 - w.y_k)``.

    Parameters
    ----------
    C : float or ndarray of float64, shape (m,)
        Penalty of every sample, the upper bound of its dual variable.

    See Also
    --------
    SquaredHinge : The 2-norm soft margin.
    HardMargin : The limit of large C.

    Examples
    --------
    >>> import numpy as np
    >>> Hinge(C=2.0).value(np.array([0.5, 3.0]))
    1.0

    **Source**: Panagiotakopoulos & Tsampouka (2010), section 4, (22)-(24).
    """

    name = "hinge"
    has_upper_bounds = True
    is_smooth = False

    def __init__(self, C):
        super().__init__(C)
        self.upper = C

    def value(self, margins):
        """Return the sum of C_k max(0, 1 - w.y_k)."""
        return float(np.sum(self.C * np.maximum(1 - margins, 0)))

    def value_of_slacks(self, slacks):
        """See `Loss.value_of_slacks`."""
        return float(np.sum(self.C * np.maximum(slacks, 0)))

    def best_intercept(self, scores, signs):
        """See `Loss.best_intercept`; it is a weighted quantile of the intercepts with margins of 1."""
        points = signs - scores
        n_positive = int(np.count_nonzero(signs > 0))
        if not isinstance(self.C, np.ndarray) and 0 < n_positive < len(points):
            # Each point raises the slope by C, so the slope is 0 between these two points.
            points = np.partition(points, (n_positive - 1, n_positive))
            return float(0.5 * (points[n_positive - 1] + points[n_positive]))
        order = np.argsort(points)
        # Each point raises the slope, which starts at minus the sum of C over the positive class.
        C = of_each(self.C, len(points))
        total = np.cumsum(C[order])
        share = float(C[signs > 0].sum())
        k = min(int(np.searchsorted(total, share)), len(points) - 1)
        low = points[order[k]]
        is_flat = abs(total[k] - share) <= FLAT * share and k + 1 < len(points)
        return float(0.5 * (low + points[order[k + 1]])) if is_flat else float(low)

    def constant_objective(self, signs, sq_intercept_scaling):
        """See `Loss.constant_objective`."""
        positive, negative = sums_of_classes(self.C, signs)
        total, excess = positive + negative, abs(positive - negative)
        if sq_intercept_scaling * excess <= 1:  # the size of the best intercept
            return total - 0.5 * sq_intercept_scaling * excess * excess
        return total - excess + 0.5 / sq_intercept_scaling

    def gap_of_samples(self, slacks, dual):
        """See `Loss.gap_of_samples`."""
        return float(np.sum(np.abs(slacks) * np.where(slacks > 0, self.C - dual, dual)))

    def max_sensitivity(self, n_samples, error, primal):
        """See `Loss.max_sensitivity`."""
        return 2 * sum_of_each(self.C, n_samples) * error / primal

    def bounds(self, products, sqnorm, weights):
        """See `Loss.bounds`."""
        C = of_each(self.C, len(products))
        if not math.isfinite(sqnorm + weights.sqnorm):
            return Bounds(float(C.sum()), 0.0, 0.0, 0.0)  # overflow: use the bounds of w = 0
        dual, dual_scale = self._dual_bound(weights, C)
        best, best_scale = hinge_minimum(products, C, sqnorm, dual_scale, dual)
        return Bounds(best, dual, best_scale, dual_scale)
