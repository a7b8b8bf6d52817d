"""Online algorithms that take one step against the loss of each pattern, of a size to be chosen.

Sizes of steps have the units of 1 / |x|^2, so they are given in units of 1 / R^2: then they mean the
same for all data, and a change of the units of X changes nothing.
"""

import math

from margins.data._binary_problem import SMALLEST_SQNORM
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import Interval, optional, parameter
from margins.solvers.base import Phase

ABOUT_RADIUS = (
    "R. None: the length of the longest pattern, augmented and extended; for a stream, of its first "
    "chunk. 1: the numbers are those of the paper."
)
RADII = optional(Interval(1e-60, 1e60))


class StepClassifier(OnlineMixin, BaseMarginClassifier):
    """An online algorithm that is played for a fixed number of epochs; `coef_` is its weight vector."""

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Penalty of the 2-norm soft margin, as LinearSVC's: finite, every pattern has a private "
        "coordinate of size 1 / sqrt(2 C), which makes any data separable.",
        default=math.inf,
    )
    max_iter: int = parameter(
        Interval(1, math.inf, "left", integer=True),
        "Epochs. A fit ends earlier if one changes nothing.",
        default=100,
    )

    _takes_zero_rows = True

    def _options(self, rows):
        return super()._options(rows)._replace(readout=self.online_readout)

    def phases(self, run):
        yield Phase(self.online_rules(run.sqradius))

    def _scale(self, run):
        return 1.0

    def _warn(self, runs):
        """Nobody asks these for a separating hyperplane."""

    def _square(self, sqradius):
        """R^2, as chosen or as found."""
        if self.radius is not None:
            return float(self.radius) ** 2
        return sqradius if sqradius >= SMALLEST_SQNORM else 1.0  # zero rows give no unit
