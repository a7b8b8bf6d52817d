"""Single precision: which problems are within its range, and conversion to it."""

import math

import numpy as np
from scipy import sparse

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


def what_is_large(problem):
    """Return a text on the numbers that `is_in_range` refuses, with the column of X that causes them."""
    blocks, data = problem.data.rows.blocks, problem.data
    if data.max_sqnorm <= MAX_SINGLE and blocks.max_sqnorm <= MAX_SINGLE:
        return f"penalties must be at least {1 / MAX_SINGLE:g}; raise C or the sample weights"
    text = f"K(x, x), with the intercept, is up to {data.max_sqnorm:.3g}; {MAX_SINGLE:g} is allowed"
    if not blocks.kernel.uses_products:
        return f"{text}; divide the kernel matrix by a common factor, and multiply C by it"
    largest = abs(blocks.X).max(axis=0)
    largest = largest.toarray().ravel() if sparse.issparse(largest) else np.ravel(largest)
    column = int(largest.argmax())
    return (
        f"{text}; column {column} of X has values up to {largest[column]:.3g}: divide it, or "
        "standardize X"
    )


def as_single(values):
    """Return the values in single precision, as an ndarray of float32; inf beyond its range."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)
