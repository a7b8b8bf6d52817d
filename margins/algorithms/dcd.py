"""Dual coordinate descent, LIBLINEAR's algorithm for linear support vector machines."""

from margins.estimators.soft_margin import SoftMarginClassifier
from margins.parameters import BOOLEAN, parameter
from margins.solvers.base import Phase
from margins.solvers.dual_cd import dual_coordinate_descent


class DualCoordinateDescent(SoftMarginClassifier):
    """Dual coordinate descent: set one dual variable after the other to its best value.

    Every visit solves the dual problem for one alpha, the others held, by
    ``alpha <- alpha + (1 - a.y) / N`` within its bounds. This is LIBLINEAR's algorithm, and the problem
    that of `LinearSVC`; but the fit ends with the proof of its accuracy, and not by a tolerance of the
    gradient.

    **Source**: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), Algorithms 1 and 3; Fan, Chang, Hsieh,
    Wang & Lin (2008), LIBLINEAR.
    """

    shrinking: bool = parameter(
        BOOLEAN,
        "Between two full passes, pass over those patterns only whose dual variables are not held at "
        "their bounds.",
        default=True,
    )

    def phases(self, run):
        yield Phase(solver=dual_coordinate_descent(run, self.shrinking))
