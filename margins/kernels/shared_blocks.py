"""The rows of one kernel matrix for all classes: by blocks, or, of few samples, the whole matrix."""

import functools

import numpy as np

from margins.kernels.row_blocks import BYTES_PER_MEGABYTE, UNIT, times
from margins.kernels.semidefinite import (
    MAX_SAMPLES,
    check_symmetry,
    longest_beyond,
    negative_eigenvalue,
    negative_minor,
    some_samples,
)
from margins.linalg.threads import one_thread

BYTES_OF_WHOLE = 12  # of an element of a matrix in double and in single precision


class SharedBlocks:
    """The row blocks of a training set: made on demand, and once for all classes that a thread trains.

    Parameters
    ----------
    kernel, X, cache_size
        As of `RowBlocks`.
    sqnorms : ndarray of float64, shape (m,), or None
        |x_k|^2; None if rows are not computed from inner products.
    """

    def __init__(self, kernel, X, cache_size, sqnorms):
        self.kernel, self.X, self.cache_size = kernel, X, cache_size
        self._sqnorms, self._made = sqnorms, None
        self._lengths, self._seen = None, None  # roots of K(x, x); what computed rows have shown

    @functools.cached_property
    def max_sqnorm(self):
        """The largest squared norm of a row of X; 0 if no inner products are computed."""
        return 0.0 if self._sqnorms is None else float(self._sqnorms.max())

    @functools.cached_property
    def matrix(self):
        """The whole kernel matrix in double precision: ndarray of float64, shape (m, m)."""
        with one_thread():
            # Of a view of X, NumPy computes each product of two rows once.
            matrix = self.kernel.training_block(self.X, slice(None), self._sqnorms)
        if np.array_equal(matrix, matrix.T):
            return matrix
        check_symmetry(self.kernel.label, matrix)
        return 0.5 * (matrix + matrix.T)

    @property
    def indefinite(self):
        """What shows so far that the kernel is not semidefinite: str, or None.

        Raises ValueError if the matrix of evenly spread samples is not symmetric.
        """
        return self._at_first or self._seen

    @functools.cached_property
    def _at_first(self):
        """What shows it before any row is computed: a whole matrix, or that of evenly spread samples."""
        pair = negative_minor(self.X) if self.kernel.name == "precomputed" else None
        return self.why_indefinite(some_samples(self.X.shape[0])) if pair is None else _exceeds(*pair)

    def watch(self, rows, lengths):
        """Look at some samples now and, if these show nothing, at all pairs of rows that are computed.

        Parameters
        ----------
        rows : margins.kernels._row_cache.RowCache
            The same rows, one at a time.
        lengths : ndarray of float64, shape (m,)
            The roots of K(x, x).
        """
        is_open = self.indefinite is None and not self.kernel.is_semidefinite
        if is_open and self.kernel.name != "precomputed" and len(lengths) > MAX_SAMPLES:
            self._lengths, rows.watch = lengths, self.look_at

    def look_at(self, indices, values):
        """Look at all pairs of some rows, for one whose minor is negative.

        Parameters
        ----------
        indices : ndarray of int, shape (n,)
        values : ndarray of float32 or float64, shape (n, m)
        """
        if self._seen is not None:
            return
        pair = longest_beyond(values, self._lengths[indices], self._lengths)
        if pair is None:
            return
        i, j = sorted((int(indices[pair[0]]), pair[1]))
        two = self.kernel.samples_of(self.X, np.array([i, j]))
        # Not as it was rounded in single precision.
        if negative_minor(self.kernel.training_block(two, slice(None))) is not None:
            self._seen = _exceeds(i, j)

    def why_indefinite(self, samples):
        """The same of given samples: ndarray of int, at most `MAX_SAMPLES` if they are not all."""
        if self.kernel.is_semidefinite:
            return None
        if len(samples) == self.X.shape[0]:
            matrix = self.matrix
        else:
            with one_thread():
                some = self.kernel.samples_of(self.X, samples)
                matrix = self.kernel.training_block(some, slice(None))
            if self.kernel.name != "precomputed":  # all of that was compared at first
                check_symmetry(self.kernel.label, matrix, samples)
        least = negative_eigenvalue(matrix)
        if least is None:
            return None
        which = f"the matrix of {len(samples)} samples, scaled to K(x, x) = 1,"
        return f"{which} has the eigenvalue {least:.3g}"

    def make(self, densely, most_whole=0):
        """The row blocks: RowBlocks, or MatrixBlocks of at most so many samples.

        The arguments count the first time.
        """
        if self._made is None:
            m = self.X.shape[0]
            if m <= most_whole and BYTES_OF_WHOLE * m * m <= self.cache_size * BYTES_PER_MEGABYTE:
                self._made = MatrixBlocks(self.matrix)
            else:
                self._made = self.kernel.row_blocks(self.X, self.cache_size, self._sqnorms, densely)
                self._made.watch = None if self._lengths is None else self.look_at
        return self._made


def _exceeds(i, j):
    return f"|K(x, z)| of samples {i} and {j} exceeds the root of K(x, x) K(z, z)"


class MatrixBlocks:
    """The whole kernel matrix of few samples. Methods and attributes as of `RowBlocks`.

    Parameters
    ----------
    matrix : ndarray of float64, shape (m, m)
        Symmetric.
    """

    is_whole = True

    def __init__(self, matrix):
        self._matrix, self.n_computed = matrix, len(matrix)
        self.slots = matrix.astype(np.float32, order="C")

    def slots_of(self, indices, kept):
        return indices

    def are_cached(self):
        return np.ones(len(self.slots), bool)

    def sums(self, indices, support, coefficients):
        of_all = np.zeros(len(self._matrix))
        of_all[support] = coefficients
        return times(self._matrix, of_all)[indices]

    def rounding(self):
        return UNIT * float(np.abs(self._matrix).max())
