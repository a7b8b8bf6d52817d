"""Cheap checks whether a kernel matrix can consist of inner products.

If a kernel is positive semidefinite, K(x, z) is the inner product of x and z in some space, and a
certificate bounds the smallest objective in this space. Otherwise the objective has no lower bound.
"""

import numpy as np

from margins.data.binary_data import is_sparse
from margins.linalg.threads import on_one_thread

# Maximum number of samples that are checked: factoring their matrix takes a few milliseconds.
MAX_SAMPLES = 512
# Relative to the largest element: a user's function may compute in single precision.
MAX_ASYMMETRY = 1e-4
TILE = 256  # rows and columns that are compared at once: two tiles stay in the cache
ROUNDINGS = 8  # rounding error of each element of a kernel row, in units


def some_samples(m):
    """Return the samples to check, all m or at most `MAX_SAMPLES` (ndarray of int64, ascending)."""
    return np.unique(np.linspace(0, m - 1, min(m, MAX_SAMPLES)).astype(np.int64))


def check_symmetry(label, matrix, samples=None):
    """Raise a ValueError if K(x, z) and K(z, x) differ by more than rounding in single precision."""
    n, worst = matrix.shape[0], (0.0, 0, 0)
    for row in range(0, n, TILE):
        for column in range(0, row + 1, TILE):
            below = matrix[row : row + TILE, column : column + TILE]
            above = matrix[column : column + TILE, row : row + TILE].T
            if not is_sparse(below) and np.array_equal(below, above):
                continue
            difference = abs(below - above)
            i, j = np.unravel_index(difference.argmax(), difference.shape)
            worst = max(worst, (float(difference[i, j]), *sorted((int(row + i), int(column + j)))))
    largest, i, j = worst
    if largest == 0 or not largest > MAX_ASYMMETRY * float(abs(matrix).max()):
        return
    numbers = (i, j) if samples is None else (samples[i], samples[j])
    raise ValueError(
        f"The kernel {label} must be symmetric. Got K(x, z) = {matrix[i, j]:g} of samples {numbers[0]} "
        f"and {numbers[1]}, and K(z, x) = {matrix[j, i]:g}."
    )


def negative_minor(matrix):
    """Return two samples with |K(x, z)| above the root of K(x, x) K(z, z), (int, int), or None."""
    lengths = np.sqrt(np.asarray(matrix.diagonal(), dtype=np.float64))
    for row in range(0, matrix.shape[0], TILE):
        end = min(row + TILE, matrix.shape[0])
        below = matrix[row:end, :end]
        below = below.toarray() if is_sparse(below) else below
        pair = longest_beyond(below, lengths[row:end], lengths[:end])
        if pair is not None:
            j, i = sorted((row + pair[0], pair[1]))
            return j, i
    return None


def longest_beyond(values, lengths, other_lengths):
    """Return (row, column) of the value that exceeds the product of its lengths most, or None."""
    tiny = np.finfo(np.float64).tiny
    with np.errstate(over="ignore"):
        ratios = values * (1 / np.maximum(other_lengths, tiny))
        largest = np.abs(ratios, out=ratios).max(axis=1) / np.maximum(lengths, tiny)
    row = int(largest.argmax())
    return (row, int(ratios[row].argmax())) if largest[row] > 1 + MAX_ASYMMETRY else None


@on_one_thread
def negative_eigenvalue(matrix):
    """Return an eigenvalue, for unit diagonals, that is negative beyond single precision, or None."""
    from scipy.linalg import lapack

    rounding = ROUNDINGS * float(np.finfo(np.float32).eps) * np.sqrt(len(matrix))
    lengths = np.sqrt(matrix.diagonal())
    if not lengths.all():
        lengths[lengths == 0] = np.sqrt(np.abs(matrix).max()) or 1.0
    scaled = matrix / lengths
    scaled /= lengths[:, np.newaxis]
    factor = scaled.copy()
    factor[np.diag_indices_from(factor)] += rounding
    # np.linalg.cholesky takes ten times as long. The other half is not needed, so it is not cleaned.
    _, failed = lapack.dpotrf(factor.T, overwrite_a=True, clean=False)
    return float(np.linalg.eigvalsh(scaled)[0]) if failed else None
