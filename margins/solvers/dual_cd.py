"""Dual coordinate descent: one dual variable after the other to its best value."""

from margins.rules import CoordinateStep, NoShrink, Rules, UnitMargin
from margins.solvers._dual_cd import ShrinkingPasses
from margins.solvers.base import EpochSolver, RulesSolver

# Passes over the working set between two passes over all samples.
DCD_PASSES = 20


def dual_coordinate_descent(run, shrinking=True):
    """Dual coordinate descent over a run: Solver.

    **Source**: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), Algorithms 1 and 3.
    """
    if run.loss.has_upper_bounds:
        run.bound_dual(run.loss.upper)
    rules = Rules(UnitMargin(), CoordinateStep(), NoShrink())
    if not shrinking:
        solver = RulesSolver(rules)
        solver.name = "dcd"
        return solver
    # The orders of the passes between must not be those of the full ones.
    return EpochSolver(rules, ShrinkingPasses((run.seed, 1), DCD_PASSES), "dcd")
