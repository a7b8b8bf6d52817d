"""Dual coordinate descent, which optimises one dual variable at a time."""

from margins.rules import CoordinateStep, NoShrink, Rules, UnitMargin
from margins.solvers._dual_cd import ShrinkingPasses
from margins.solvers.base import EpochSolver, RulesSolver

# Passes over the working set between two passes over all samples.
DCD_PASSES = 20


def dual_coordinate_descent(run, shrinking=True):
    """Return the solver of dual coordinate descent; with `shrinking`, a working set between full passes.

    **Source**: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), Algorithms 1 and 3.
    """
    if run.loss.has_upper_bounds:
        run.bound_dual(run.loss.upper)
    rules = Rules(UnitMargin(), CoordinateStep(), NoShrink())
    if not shrinking:
        return RulesSolver(rules, name="dcd")
    # The orders of the inner passes must differ from the orders of the full passes.
    return EpochSolver(rules, ShrinkingPasses((run.seed, 1), DCD_PASSES), "dcd")
