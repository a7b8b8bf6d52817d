"""The rows of one kernel matrix for all classes: by blocks, or, of few samples, the whole matrix.

One-vs-one, the matrix of a pair consists of blocks of two classes, which other pairs read too.
"""

import functools
from itertools import pairwise

import numpy as np

from margins.data.binary_data import rows_of
from margins.kernels._single import place
from margins.kernels.row_blocks import BYTES_PER_MEGABYTE
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
        self._of_classes = None

    def take_from(self, blocks_of_classes):
        """Make the matrix of these blocks, BlocksOfClasses: they are about the same samples."""
        self._of_classes = blocks_of_classes

    @functools.cached_property
    def max_sqnorm(self):
        """The largest squared norm of a row of X; 0 if no inner products are computed."""
        return 0.0 if self._sqnorms is None else float(self._sqnorms.max())

    @functools.cached_property
    def matrix(self):
        """The whole kernel matrix in double precision: ndarray of float64, shape (m, m)."""
        if self._of_classes is not None:
            return np.block(self._of_classes.blocks())
        matrix = matrix_of(self.kernel, self.X, self._sqnorms)
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
        if self.kernel.is_semidefinite:
            return None
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

    def make(self, densely, most_whole=0, most_shared=0):
        """The row blocks: RowBlocks, or MatrixBlocks of at most so many samples.

        The arguments count the first time. `most_shared` is about blocks that others read too.
        """
        if self._made is None:
            m, of_classes = self.X.shape[0], self._of_classes
            most = most_whole if of_classes is None else most_shared
            if m <= most and BYTES_OF_WHOLE * m * m <= self.cache_size * BYTES_PER_MEGABYTE:
                self._made = MatrixBlocks([[self.matrix]]) if of_classes is None else of_classes.make()
            else:
                self._made = self.kernel.row_blocks(self.X, self.cache_size, self._sqnorms, densely)
                self._made.watch = None if self._lengths is None else self.look_at
        return self._made


def _exceeds(i, j):
    return f"|K(x, z)| of samples {i} and {j} exceeds the root of K(x, x) K(z, z)"


class MatrixBlocks:
    """The whole kernel matrix of few samples. Methods as of `RowBlocks`.

    Parameters
    ----------
    blocks : list of list of ndarray of float64
        The matrix, symmetric, in rows of blocks.
    """

    def __init__(self, blocks):
        ends = np.cumsum([0, *(len(row[0]) for row in blocks)]).tolist()
        self._m, parts = ends[-1], [slice(*pair) for pair in pairwise(ends)]
        self._blocks = [
            (rows, columns, block)
            for rows, row in zip(parts, blocks, strict=True)
            for columns, block in zip(parts, row, strict=True)
        ]

    def rows_of_all(self, most=None):
        matrix = np.empty((self._m, self._m), np.float32)
        for rows, columns, block in self._blocks:
            if rows.start <= columns.start:
                place(block, matrix, rows.start, columns.start)
        return matrix

    def sums(self, indices, support, coefficients):
        of_all, sums = np.zeros(self._m), np.zeros(self._m)
        of_all[support] = coefficients
        with one_thread():
            for rows, columns, block in self._blocks:
                sums[rows] += block @ of_all[columns]
        return sums[indices]


class ClassBlocks:
    """Kernel values of the samples of two classes each, computed once for all pairs.

    Parameters
    ----------
    kernel : margins.kernels.kernel.Kernel
        Its parameters resolved; symmetric by its formula.
    X : ndarray or CSR matrix, shape (m, d)
    codes : ndarray of int, shape (m,)
        The classes of the samples.
    """

    def __init__(self, kernel, X, codes):
        self.kernel, self.X, self.codes = kernel, X, codes
        self._samples, self._blocks = {}, {}

    @staticmethod
    def may_serve(kernel, m, cache_size):
        """True if all values fit into the cache, and the formula of the kernel is symmetric."""
        n_bytes = 8 * m * m
        is_known = kernel.uses_products and kernel.is_semidefinite
        return is_known and n_bytes <= cache_size * BYTES_PER_MEGABYTE

    def block(self, row, column):
        """K(x, z) of the samples of one class and of another: ndarray of float64.

        Threads may compute it at the same time: the values are the same.
        """
        if row > column:
            return self.block(column, row).T
        if (row, column) not in self._blocks:
            X, sqnorms = self._samples_of(row)
            Z, z_sqnorms = self._samples_of(column)
            if row == column:
                block = matrix_of(self.kernel, X, sqnorms)
            else:
                with one_thread():
                    block = self.kernel.block(X, Z, sqnorms, z_sqnorms)
            self._blocks[row, column] = block
        return self._blocks[row, column]

    def _samples_of(self, code):
        if code not in self._samples:
            X = self.kernel.samples_of(self.X, np.flatnonzero(self.codes == code))
            self._samples[code] = X, rows_of(X).sqnorms()
        return self._samples[code]


class BlocksOfClasses:
    """The kernel matrix of the samples of some classes, sorted by class.

    Parameters
    ----------
    class_blocks : ClassBlocks
    codes : sequence of int
        Of the classes.
    """

    def __init__(self, class_blocks, codes):
        self._class_blocks, self._codes = class_blocks, codes

    def blocks(self):
        """The matrix in rows of blocks: list of list of ndarray of float64."""
        block = self._class_blocks.block
        return [[block(row, column) for column in self._codes] for row in self._codes]

    def make(self):
        """The matrix, as solvers read it: MatrixBlocks."""
        return MatrixBlocks(self.blocks())


def matrix_of(kernel, X, sqnorms):
    """The kernel matrix of all rows of X in double precision: ndarray of float64, shape (m, m)."""
    with one_thread():
        # Of a view of X, NumPy computes each product of two rows once.
        return kernel.training_block(X, slice(None), sqnorms)
