"""Single precision: which problems are within its range, and values in it."""

import math

import numpy as np

# Of kernel values, squared norms and penalties: their products stay within single precision.
MAX_SINGLE = 1e15


def is_in_range(problem, longest=0.0):
    """True if the solver's single precision has the range of a problem.

    Parameters
    ----------
    problem : margins.solvers.base.Problem
    longest : float
        The largest squared norm of a row of X, if kernel values are computed from inner products.
    """
    least = problem.loss.upper
    if isinstance(least, np.ndarray):  # 0 of samples that are left out
        least = np.min(least, initial=math.inf, where=least > 0)
    return max(problem.data.max_sqnorm, longest) <= MAX_SINGLE and least >= 1 / MAX_SINGLE


def as_single(values):
    """The values in single precision, inf beyond its range: ndarray of float32."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)
