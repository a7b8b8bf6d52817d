"""Selection of the largest values, for the choice of working sets."""

import numpy as np


def largest(values, n):
    """Return the indices of the n largest values > 0, or of all values > 0, in any order."""
    if not 0 < n < len(values):
        return np.flatnonzero(values > 0) if n > 0 else np.empty(0, np.intp)
    best = np.argpartition(-values, n)[:n]
    return best[values[best] > 0]


def keep_largest(values, mask, n):
    """Set the values of a mask, none negative, to 0 in place, except for the n largest."""
    indices = np.flatnonzero(mask)
    best = indices[largest(values[indices], n)]
    largest_values = values[best]
    values[indices] = 0
    values[best] = largest_values
