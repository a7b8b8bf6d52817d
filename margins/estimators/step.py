"""Online algorithms with one step per sample along the negative gradient of its loss.

Step sizes have the units of 1 / |x|^2. Parameters give them in units of 1 / R^2, so that they do not
depend on the units of X.
"""

import math

from margins.data._binary_data import SMALLEST_SQNORM
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin, PatienceMixin
from margins.parameters import BOOLEAN, Interval, optional, parameter

ABOUT_RADIUS = (
    "R. None: the norm of the longest sample (in a stream: so far), bias and slack term included. "
    "1: step sizes in the units of the paper."
)
RADII = optional(Interval(1e-60, 1e60))


class StepClassifier(OnlineMixin, PatienceMixin, BaseMarginClassifier):
    """Online algorithm that runs a fixed number of epochs; `coef_` is its weight vector."""

    LOSS_MARGIN = 1.0  # the hinge loss

    C = math.inf
    max_iter = 100
    shuffle: bool = parameter(
        BOOLEAN,
        "Permute the samples before every epoch. False: keep the order of X, as in a stream.",
        default=True,
    )

    def specification(self, sqnorms, continues=False):
        specification = super().specification(sqnorms, continues)
        return specification._replace(
            allows_zero_rows=True,
            model_scale=1.0,
            averaging=self.online_averaging,
            shuffle="epochs" if self.shuffle else "never",
            warns=False,  # no separating hyperplane is required
        )

    def _square(self, sqradius):
        """Return R^2, from the parameter `radius` or from the data."""
        if self.radius is not None:
            return float(self.radius) ** 2
        return sqradius if sqradius >= SMALLEST_SQNORM else 1.0  # zero rows alone cannot serve as a unit
