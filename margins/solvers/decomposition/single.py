"""Single precision: which problems are within its range, and conversion to it."""

import math

import numpy as np

from margins.data.binary_data import is_sparse

# Bound on squared norms and penalties, whose products then stay within single precision.
MAX_SINGLE = 1e15
# Bound on kernel values, so that rows of the matrix stay within it; they are multiplied in a unit.
MAX_VALUE = 1e35


def is_in_range(problem, longest=0.0):
    """Return True if a problem, in its unit, is within the range of the solver's single precision."""
    is_small = problem.data.max_sqnorm <= MAX_VALUE and longest <= MAX_SINGLE
    return is_small and _smallest_bound(problem.loss) * unit_of(problem) >= 1 / MAX_SINGLE


def unit_of(problem):
    """Return the unit of kernel values: 1, or a power of 2 if products would leave single precision."""
    largest = problem.data.max_sqnorm
    if largest <= MAX_SINGLE and _smallest_bound(problem.loss) >= 1 / MAX_SINGLE:
        return 1.0
    return 2.0 ** math.ceil(math.log2(largest))


def _smallest_bound(loss):
    """Return the smallest upper bound of a dual variable, but 0 for samples that are left out."""
    if isinstance(loss.upper, np.ndarray):
        return np.min(loss.upper, initial=math.inf, where=loss.upper > 0)
    return loss.upper


def what_is_large(problem):
    """Return a text on the numbers that `is_in_range` refuses, with the column of X that causes them."""
    blocks, data = problem.data.rows.blocks, problem.data
    if data.max_sqnorm <= MAX_VALUE and blocks.max_sqnorm <= MAX_SINGLE:
        least = 1 / MAX_SINGLE / unit_of(problem)
        return f"penalties must be at least {least:.3g}; raise C or the sample weights"
    text = f"K(x, x), with the intercept, is up to {data.max_sqnorm:.3g}; {MAX_VALUE:g} is allowed"
    if data.max_sqnorm <= MAX_VALUE:
        text = f"|x|**2 is up to {blocks.max_sqnorm:.3g}; {MAX_SINGLE:g} is allowed"
    if not blocks.kernel.uses_products:
        return f"{text}; divide the kernel matrix by a common factor, and multiply C by it"
    largest = abs(blocks.X).max(axis=0)
    largest = largest.toarray().ravel() if is_sparse(largest) else np.ravel(largest)
    column = int(largest.argmax())
    return (
        f"{text}; column {column} of X has values up to {largest[column]:.3g}: divide it, or "
        "standardize X"
    )


def as_single(values):
    """Return the values in single precision, as an ndarray of float32; inf beyond its range."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)
