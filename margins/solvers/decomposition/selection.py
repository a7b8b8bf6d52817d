"""The largest of some values, which working sets are chosen by."""

import numpy as np


def largest(values, n):
    """The indices of the n largest values > 0, or of all that are: in any order."""
    if not 0 < n < len(values):
        return np.flatnonzero(values > 0) if n > 0 else np.empty(0, np.intp)
    best = np.argpartition(-values, n)[:n]
    return best[values[best] > 0]


def keep_largest(values, which, n):
    """Set all but the n largest of these values, none of them negative, to 0, in place."""
    indices = np.flatnonzero(which)
    best = indices[largest(values[indices], n)]
    kept = values[best]
    values[indices] = 0
    values[best] = kept
