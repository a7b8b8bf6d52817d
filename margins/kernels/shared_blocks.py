"""The kernel matrix that all classes share: blocks of rows or, for few samples, the whole matrix.

In one-vs-one, the matrix of a pair consists of blocks of two classes, which other pairs read, too.
"""

import math
from itertools import pairwise

import numpy as np

from margins.data.binary_data import rows_of
from margins.kernels._gram import place
from margins.kernels.row_blocks import BYTES_PER_MEGABYTE, scaled
from margins.kernels.semidefinite import (
    MAX_SAMPLES,
    check_symmetry,
    longest_beyond,
    negative_eigenvalue,
    negative_minor,
    some_samples,
)
from margins.linalg.threads import computed_once, on_one_thread, one_thread

SMALLEST_VARIANCE = 1e-9  # of kernel values, relative to them: less is rounding
BYTES_OF_WHOLE = 12  # for each element of a matrix in both double and single precision


class SharedBlocks:
    """Row blocks of a training set, made on demand and once for all classes that a thread trains."""

    def __init__(self, kernel, X, cache_size, sqnorms):
        self.kernel, self.X, self.cache_size = kernel, X, cache_size
        self._sqnorms, self._row_blocks = sqnorms, None
        self._lengths, self._evidence = None, None  # roots of K(x, x); why it is indefinite, from rows
        self._class_blocks = None

    def take_from(self, blocks):
        """Use ``blocks()``, rows of blocks of classes of the same samples, as the matrix."""
        self._class_blocks = blocks

    @computed_once
    def max_sqnorm(self):
        """The largest squared norm of a row that is multiplied; 0 if the kernel uses no products."""
        if self._sqnorms is None:
            return 0.0
        longest = float(self._sqnorms.max())
        factor, _ = scaled(self.kernel, longest)
        return factor * factor * longest

    @computed_once
    def matrix(self):
        """The whole kernel matrix in double precision (ndarray of float64, shape (m, m))."""
        if self._class_blocks is not None:
            return np.block(self._class_blocks())
        matrix = matrix_of(self.kernel, self.X, self._sqnorms)
        if not np.array_equal(matrix, matrix.T):
            check_symmetry(self.kernel.label, matrix)
            matrix = 0.5 * (matrix + matrix.T)
        return np.ascontiguousarray(matrix)

    @computed_once
    def spread(self):
        """Root mean square of the distances of evenly spread samples from their mean; 0 if rounding."""
        matrix = self._matrix_of(some_samples(self.X.shape[0]))
        square = float(matrix.diagonal().mean())
        variance = square - float(matrix.mean())
        return math.sqrt(variance) if variance > SMALLEST_VARIANCE * square else 0.0

    def _matrix_of(self, samples):
        """Return the kernel matrix of some samples, ascending, in double precision."""
        if len(samples) == self.X.shape[0]:
            return self.matrix
        with one_thread():
            X = self.kernel.samples_of(self.X, samples)
            return self.kernel.training_block(X, slice(None))

    @property
    def matrix_fits(self):
        """True if the whole matrix is at most as large as the cache."""
        return BYTES_OF_WHOLE * self.X.shape[0] ** 2 <= self.cache_size * BYTES_PER_MEGABYTE

    @property
    def matrix_in_memory(self):
        """The matrix (a copy for a pair of classes) if a solver has computed all values; or None."""
        is_computed = "matrix" in vars(self) or isinstance(self._row_blocks, MatrixBlocks)
        return self.matrix if is_computed else None

    @property
    def indefinite(self):
        """The evidence so far that the kernel is not semidefinite; ValueError if it is not symmetric."""
        return self._initial_evidence or self._evidence

    @computed_once
    def _initial_evidence(self):
        """The evidence before any row is computed, from the whole matrix or evenly spread samples."""
        if self.kernel.is_semidefinite:
            return None
        pair = negative_minor(self.X) if self.kernel.name == "precomputed" else None
        return self.why_indefinite(some_samples(self.X.shape[0])) if pair is None else _exceeds(*pair)

    def watch(self, rows, lengths):
        """Check some samples now and, if they show nothing, all pairs of rows computed later."""
        is_open = self.indefinite is None and not self.kernel.is_semidefinite
        if is_open and self.kernel.name != "precomputed" and len(lengths) > MAX_SAMPLES:
            self._lengths, rows.watch = lengths, self.look_at

    def look_at(self, indices, values):
        """Search all pairs of some rows for a negative minor."""
        if self._evidence is not None:
            return
        pair = longest_beyond(values, self._lengths[indices], self._lengths)
        if pair is None:
            return
        i, j = sorted((int(indices[pair[0]]), pair[1]))
        pair_samples = self.kernel.samples_of(self.X, np.array([i, j]))
        # Check again in double precision: the minor may be due to rounding in single precision.
        if negative_minor(self.kernel.training_block(pair_samples, slice(None))) is not None:
            self._evidence = _exceeds(i, j)

    def why_indefinite(self, samples):
        """Return the evidence from some samples (ndarray of int): all, or at most `MAX_SAMPLES`."""
        if self.kernel.is_semidefinite:
            return None
        matrix = self._matrix_of(samples)
        if len(samples) < self.X.shape[0] and self.kernel.name != "precomputed":  # compared as a whole
            check_symmetry(self.kernel.label, matrix, samples)
        least = negative_eigenvalue(matrix)
        if least is None:
            return None
        matrix_name = f"the matrix of {len(samples)} samples, scaled to K(x, x) = 1,"
        return f"{matrix_name} has the eigenvalue {least:.3g}"

    def make(self, densely, most_whole=0, most_shared=0):
        """Return MatrixBlocks for few samples (`most_shared` if pairs share them), or RowBlocks."""
        if self._row_blocks is None:
            m, class_blocks = self.X.shape[0], self._class_blocks
            most = most_whole if class_blocks is None else most_shared
            if m <= most and self.matrix_fits:
                self._row_blocks = MatrixBlocks(class_blocks() if class_blocks else [[self.matrix]])
            else:
                blocks = self.kernel.row_blocks(self.X, self.cache_size, self._sqnorms, densely)
                blocks.watch = None if self._lengths is None else self.look_at
                self._row_blocks = blocks
        return self._row_blocks


def _exceeds(i, j):
    return f"|K(x, z)| of samples {i} and {j} exceeds the root of K(x, x) K(z, z)"


class MatrixBlocks:
    """The whole kernel matrix of few samples, in rows of blocks, with the methods of `RowBlocks`."""

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
        dual, sums = np.zeros(self._m), np.zeros(self._m)
        dual[support] = coefficients
        with one_thread():
            for rows, columns, block in self._blocks:
                sums[rows] += block @ dual[columns]
        return sums[indices]


class ClassBlocks:
    """Blocks of kernel values for two classes each, computed once for all pairs of classes."""

    def __init__(self, kernel, X, codes):
        self.kernel, self.X, self.codes = kernel, X, codes
        self._samples, self._blocks = {}, {}

    @staticmethod
    def may_serve(kernel, m, cache_size):
        """Return whether all values fit into the cache, and the formula of the kernel is symmetric."""
        is_known = kernel.uses_products and kernel.is_semidefinite
        return is_known and 8 * m * m <= cache_size * BYTES_PER_MEGABYTE

    def block(self, row, column):
        """Return K(x, z) of the samples of two classes; threads may compute one block twice."""
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

    def blocks(self, codes):
        """Return the matrix of some classes, in rows of blocks (list of list of ndarray of float64)."""
        return [[self.block(row, column) for column in codes] for row in codes]

    def _samples_of(self, code):
        if code not in self._samples:
            X = self.kernel.samples_of(self.X, np.flatnonzero(self.codes == code))
            self._samples[code] = X, rows_of(X).sqnorms()
        return self._samples[code]


@on_one_thread
def matrix_of(kernel, X, sqnorms):
    """Return the kernel matrix of all rows of X in double precision (ndarray, shape (m, m))."""
    # Pass a slice, so that NumPy multiplies X by its own view and computes each product once.
    return kernel.training_block(X, slice(None), sqnorms)
