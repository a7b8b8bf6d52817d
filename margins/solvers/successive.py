"""Successive runs: one starts from the end of another, over the same samples with other penalties.

Newton steps start from the previous weight vector, from which dual variables follow. Other solvers start
from the previous dual variables, scaled with their upper bounds or, without such bounds, unchanged. All
of these are feasible for any C, so a certificate describes its problem regardless of the start.
"""

import math

import numpy as np

from margins.data.binary_data import of_each
from margins.solvers.newton.newton import NewtonSolver


def start_from(run, previous):
    """Start a run from the end of another: return the start of Newton steps; None: dual variables."""
    if run.problem.penalty is not None:
        return previous.solver.end
    if isinstance(previous.solver, NewtonSolver) and previous.is_proven:
        run.is_warm = True
        return previous.solver.end
    if _continues(run, previous):
        C, previous_C = run.specification.C, previous.specification.C
        _continue(run, previous, C / previous_C if run.loss.has_upper_bounds else 1.0)
    else:
        run.start_from(previous.weights.dual)
    return None


def _continues(run, previous):
    """Return True if a run may start from the previous sums, without a pass over samples.

    Scaled dual variables of linear rows with upper bounds are farther from the solution.
    """
    if previous.hypothesis is not previous.weights or run.features is not None:
        return False
    if not run.loss.has_upper_bounds:
        return True
    # Rule-based solvers leave dual variables that are feasible only after rescaling.
    is_feasible = bool(np.all(previous.weights.dual <= previous.loss.upper))
    return run.data.rows.is_kernel and is_feasible


def _continue(run, previous, factor):
    """Start a run from the weights of another over the same rows, times a factor; no row is read."""
    weights, data = previous.weights, run.data
    if data.has_free_intercept and data.sq_intercept_scaling > 0:
        run.weights = weights.copy()  # with its centre; there are no upper bounds
        run.weights.recompute(data)
    else:
        combination = factor * weights.weights
        if data.rows.is_kernel or data.sq_intercept_scaling > 0:
            rho = math.sqrt(data.sq_intercept_scaling)
            combination = np.append(combination, rho * factor * weights.label_sum)
        dual = np.minimum(factor * weights.dual, of_each(run.loss.upper, len(data)))
        run.weights.assign(data, dual, combination)
    products = previous.products + previous.theta * previous.data.signs  # without the threshold
    run.certify(factor * products)
    run.is_warm = run.weights.dual_sum > 0
