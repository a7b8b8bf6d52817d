"""Dual coordinate descent, LIBLINEAR's algorithm for linear support vector machines."""

from margins.certificate import Hinge
from margins.estimators.soft_margin import SoftMarginClassifier
from margins.parameters import BOOLEAN, parameter
from margins.rules import CoordinateStep, NoShrink, Rules, UnitMargin
from margins.solvers._dual_cd import ShrinkingPasses
from margins.solvers.driver import Stage

# Passes over the patterns left between two looks at all of them. Measured on Adult with 5 to 50: for the
# hinge loss the more the better, for the squared hinge loss few do where the accuracy is low.
PASSES = 20


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

    def stages(self, run):
        if isinstance(run.problem, Hinge):
            run.bound_dual(run.problem.C)
        # The orders of the passes between must not be those of the full ones.
        passes = ShrinkingPasses((run.seed, 1), PASSES) if self.shrinking else None
        yield Stage(Rules(UnitMargin(), CoordinateStep(), NoShrink()), presenter=passes)
