"""The hard margin: every sample has a functional margin of at least 1."""

import math

import numpy as np

from margins.losses.base import MaximumMarginLoss, margin_bounds


class HardMargin(MaximumMarginLoss):
    """Hard margin: ``min |w|^2 / 2`` subject to ``w.y_k >= 1``.

    See Also
    --------
    SquaredHinge, Hinge : Losses that allow margin errors.

    Examples
    --------
    >>> import numpy as np
    >>> HardMargin().value(np.array([1.0, 2.5]))
    0.0

    **Source**: Panagiotakopoulos & Tsampouka (2010), (13); (2011), (4).
    """

    name = "squared_hinge"
    is_finite = False
    has_upper_bounds = False
    is_smooth = False

    def __init__(self):
        super().__init__(math.inf)

    def value(self, margins):
        """Return 0 if every functional margin is at least 1, otherwise inf."""
        return 0.0 if np.min(margins) >= 1 else math.inf

    def objective(self, slacks, sqnorm):
        """See `Loss.objective`; the multiple has a smallest functional margin of 1."""
        smallest = 1 - float(slacks.max())
        if sqnorm == 0:  # the dual variables cancel: w is not a hyperplane
            return math.inf, 0.0, 1.0
        margin = smallest / math.sqrt(sqnorm)
        if margin <= 0:
            return math.inf, margin, 1.0
        return 0.5 / margin / margin, margin, 1 / smallest

    def best_intercept(self, scores, signs):
        """See `Loss.best_intercept`; both classes then have equal smallest margins."""
        return -0.5 * float(scores[signs > 0].min() + scores[signs < 0].max())

    def constant_objective(self, signs, sq_intercept_scaling):
        """See `Loss.constant_objective`; no constant classifier separates the classes."""
        return math.inf

    def max_sensitivity(self, n_samples, error, primal):
        """See `Loss.max_sensitivity`; the smallest w.y_k is 1."""
        return 8 * error

    def sensitivity(self, margins, errors, primal):
        """See `Loss.sensitivity`."""
        change = np.min(margins + errors) - np.min(margins - errors)
        return 2 * float(change) / float(margins.min())

    def bounds(self, products, sqnorm, weights):
        """See `Loss.bounds`; if a is 0 except for rounding, no margin exceeds this rounding."""
        bounds = margin_bounds(products, sqnorm, weights)
        if weights.sqnorm == 0 and weights.dual_sum > 0:
            return bounds._replace(dual=math.inf, dual_scale=math.inf)
        return bounds
