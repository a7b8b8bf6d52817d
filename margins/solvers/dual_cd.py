"""Dual coordinate descent, which optimises one dual variable at a time."""

import math

import numpy as np

from margins.data._passes import combination, products
from margins.linalg.threads import time_is_over, time_limit
from margins.regularisers._terms import bound, value_of
from margins.rules import CoordinateStep, NoShrink, Rules, UnitMargin
from margins.solvers._dual_cd import PenalisedPasses, ShrinkingPasses
from margins.solvers.base import EpochReport, EpochSolver, RulesSolver, Solver
from margins.solvers.proof import PrimalPoint

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


class PenalisedCoordinateSolver(Solver):
    """Dual coordinate descent for a regulariser with a ridge.

    max_passes: an epoch is the last one as soon as its gap seems to need more passes; the only epoch
    of a run makes them all.
    """

    name = "dcd"

    def __init__(self, max_passes):
        self._max_passes = max_passes

    def start(self, run):
        if run.loss.has_upper_bounds:
            run.bound_dual(run.loss.upper)
        data, self._terms = run.data, run.problem.penalty.terms_of(run.data)
        self._every = np.arange(len(data), dtype=np.int32)
        dual = np.minimum(run.dual_scale * run.weights.dual, data.upper_bounds)
        total = combination(data, self._every, dual)
        self._passes = PenalisedPasses(data, self._terms, dual, total)

    @property
    def end(self):
        """w and alpha at the end of the solver, from which Newton steps may start."""
        return self._passes.primal, self._passes.dual

    def epoch(self, run):
        passes, data, loss, gap = self._passes, run.data, run.loss, math.inf
        dual, w, n_before, n_changed = passes.dual, passes.primal, passes.n_accesses, 0
        for n_left in reversed(range(self._max_passes)):
            with time_limit(math.inf):  # a pass is short, and what it has changed must be reported
                n_changed += passes.full_epoch(data, run.weights, None, run.orders.next())
            margins, before = products(data, self._every, w), gap
            square = float(dual @ (loss.diag * dual))
            value = bound(self._terms, w, passes.total, float(dual.sum()), square)[1]
            gap = value_of(self._terms, w) + loss.value(margins) - value
            required = run.required_gap * value
            is_slow = run.max_iter > 1 and gap * min(gap / before, 1.0) ** n_left > required
            if gap <= required or is_slow or time_is_over():
                break
        run.weights.assign(data, dual, passes.total)
        point = PrimalPoint(w, margins, math.sqrt(data.sq_intercept_scaling), run.weights)
        n = passes.n_accesses - n_before
        return EpochReport(n_changed, n, primal=point, dual_is_feasible=True, is_exhausted=is_slow)
