"""The hard margin: every sample at functional margin 1 or more."""

import math

import numpy as np

from margins.losses.base import MaximumMarginLoss, margin_bounds


class HardMargin(MaximumMarginLoss):
    """``min |w|^2 / 2`` subject to ``w.y_k >= 1``.

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
        """0 if every functional margin is at least 1, else inf."""
        return 0.0 if np.min(margins) >= 1 else math.inf

    def bounds(self, products, sqnorm, weights):
        """See `Loss.bounds`."""
        return margin_bounds(products, sqnorm, weights)
