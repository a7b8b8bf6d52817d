"""Single precision: which problems are within its range, and conversion to it."""

import math

import numpy as np

# Bound on kernel values, squared norms and penalties, whose products then stay within single precision.
MAX_SINGLE = 1e15


def is_in_range(problem, longest=0.0):
    """Return True if a problem is within the range of the solver's single precision.

    Parameters
    ----------
    problem : margins.solvers.base.Problem
    longest : float
        Largest squared norm of a row of X, if kernel values are computed from inner products.
    """
    smallest_bound = problem.loss.upper
    if isinstance(smallest_bound, np.ndarray):  # 0 for samples that are left out
        smallest_bound = np.min(smallest_bound, initial=math.inf, where=smallest_bound > 0)
    return max(problem.data.max_sqnorm, longest) <= MAX_SINGLE and smallest_bound >= 1 / MAX_SINGLE


def as_single(values):
    """Return the values in single precision, as an ndarray of float32; inf beyond its range."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)
