"""Successive runs: one begins where another one has ended, over the same samples with other penalties.

Newton steps start from its weight vector, whose dual variables follow from it; the other solvers from
its dual variables, multiplied with their upper bounds or, without such bounds, as they are. All of these
are feasible for any C, so a certificate is about its own problem, wherever the run started.
"""

import numpy as np

from margins.solvers.newton.newton import NewtonSolver


def start_from(run, previous):
    """Make a run begin where another one has ended: NewtonStart; None if it begins from dual variables.

    Parameters
    ----------
    run, previous : Run
    """
    if isinstance(previous.solver, NewtonSolver) and previous.converged:
        run.is_warm = True
        return previous.solver.end
    if _continues(run, previous):
        C, previous_C = run.specification.C, previous.specification.C
        run.continue_from(previous, C / previous_C if run.loss.has_upper_bounds else 1.0)
    else:
        run.start_from(previous.weights.dual)
    return None


def _continues(run, previous):
    """True if a run may start from the sums of the previous one, without a pass over samples.

    Linear rows with upper bounds start from the dual variables themselves: multiplied, they are farther
    from the solution.
    """
    if previous.hypothesis is not previous.weights or run.features is not None:
        return False
    if not run.loss.has_upper_bounds:
        return True
    # Solvers by rules leave dual variables that are feasible only after rescaling.
    is_feasible = bool(np.all(previous.weights.dual <= previous.loss.upper))
    return run.data.rows.is_kernel and is_feasible
