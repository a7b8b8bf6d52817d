"""Blocks of rows of a kernel matrix, in single precision for training and in double for proofs.

Rows in single precision give a solver its directions. Certificates are computed from sums in double
precision or, if it is sufficient, from a bound on the rounding in single precision.
"""

import functools
import math
import operator
import time

import numpy as np

from margins.data.binary_data import is_sparse, rows_of
from margins.linalg.threads import current_team, on_one_thread, one_thread

BYTES_PER_MEGABYTE = 1 << 20
# Maximum numbers of values, and of products of two numbers in dense and sparse rows, between two checks
# for Ctrl-C: about a tenth of a second.
BLOCK_VALUES = 1 << 22
DENSE_PRODUCTS, SPARSE_PRODUCTS = 1 << 31, 1 << 26
# Columns in a part of rows that one thread computes: enough parts for any number of threads, and small
# enough for the processor's cache.
COLUMNS = 1024
# Side of the squares in which kernel values in double precision are computed; shorter for long samples.
TILE, TILE_VALUES = 384, 1 << 20
# Maximum numbers of support vectors, and of their values, that are made dense together for such squares.
PANEL, PANEL_VALUES = 1 << 13, 1 << 21
# Maximum number of features that are summed at once in single precision: sums of sums round less.
FEATURES = 256
# Maximum share of the cache that the copy of X in single precision takes from the rows.
MAX_COPY_SHARE = 0.5
# Minimum number of cached rows: a working set needs rows of both directions.
MIN_ROWS = 16
# Half of the relative spacing of numbers in single and in double precision.
UNIT, UNIT_OF_DOUBLE = 2.0**-24, 2.0**-53
# Rows with a larger squared norm are divided, if the kernel allows, before they are multiplied.
MOST_SQNORM = 1e12
# Maximum rounding errors of a formula in single precision (`Transform.single_block`), in these units: of
# products, relative to the mean of the two squared norms, and of values.
FORMULA_PRODUCTS, FORMULA_VALUES = 5, 4


class RowBlocks:
    """Rows of any kernel matrix, cached in single precision.

    kernel: kernel with resolved parameters.
    cache_size: memory in megabytes (2**20 bytes), at least half for rows, the rest for a copy of X.
    slots, shape (n_slots, m): the cached rows.
    n_computed: number of rows computed so far.
    watch: ``watch(indices, rows)`` is called with new rows.
    sqnorms, shape (m,): squared norms of the samples as they are multiplied in single precision.
    """

    watch = None

    def __init__(self, kernel, X, cache_size):
        m = X.shape[0]
        self.kernel, self.X, self.n_computed, self._seconds = kernel, X, 0, 0.0
        self._block_values, self.sqnorms = BLOCK_VALUES, np.zeros(m)
        n_bytes = cache_size * BYTES_PER_MEGABYTE
        n_bytes_of_copy = self._set_points()
        n_slots = int((n_bytes - min(n_bytes_of_copy, MAX_COPY_SHARE * n_bytes)) / (4 * m))
        self.slots = np.empty((min(m, max(n_slots, MIN_ROWS)), m), np.float32)
        self._n_free = n_bytes - n_bytes_of_copy - self.slots.nbytes
        self._slot_of = np.full(m, -1, np.int32)
        self._row_of = np.full(len(self.slots), -1, np.int32)
        self._last_used = np.zeros(len(self.slots), np.int64)
        self._n_used = self._clock = 0

    def _set_points(self):
        """Prepare the data from which rows are computed; return their bytes in addition to X."""
        return 0

    def slots_of(self, indices, kept):
        """Return the slots of rows, which are computed if not cached (ndarray of int32, shape (n,))."""
        self._clock += 1
        slots = self._slot_of[indices]
        self._last_used[slots[slots >= 0]] = self._clock
        missing = indices[slots < 0]
        n = max(1, self._block_values // len(self._slot_of))
        for begin in range(0, len(missing), n):
            self._cache(missing[begin : begin + n], kept)
        return self._slot_of[indices]

    @property
    def seconds_of_row(self):
        """The mean time that a row has taken (float)."""
        return self._seconds / max(self.n_computed, 1)

    def rows_of_all(self, most):
        """Return a copy of the whole matrix (float32), or None if it exceeds `most` or the cache."""
        m = len(self._slot_of)
        if m > min(most, len(self.slots)):
            return None
        return self.slots[self.slots_of(np.arange(m), np.ones(m, bool))]

    def are_cached(self):
        """Return which rows are cached (ndarray of bool, shape (m,))."""
        return self._slot_of >= 0

    def _cache(self, missing, protected):
        """Compute rows that are not cached, and replace the least recently used rows."""
        start, slots = time.perf_counter(), self._free_slots(len(missing), protected)
        self.compute(missing, slots)
        if self.watch is not None:
            self.watch(missing, self.slots[slots])
        self._slot_of[missing], self._row_of[slots] = slots, missing
        self._last_used[slots] = self._clock
        self.n_computed += len(missing)
        self._seconds += time.perf_counter() - start

    def _free_slots(self, n, protected):
        """Return n slots, ascending, that are unused or whose rows are evicted."""
        unused = np.arange(self._n_used, min(self._n_used + n, len(self.slots)), dtype=np.int32)
        self._n_used += len(unused)
        n_evicted = n - len(unused)
        if n_evicted == 0:
            return unused
        # Rows used in this call have the current clock, so they go last; ties are broken by slot.
        n_slots = self._n_used - len(unused)
        last_used = self._last_used[:n_slots]
        stays = protected[self._row_of[:n_slots]] | (last_used == self._clock)
        order = ((stays * (self._clock + 1)) + last_used) * n_slots + np.arange(n_slots)
        evicted = np.sort(np.argpartition(order, n_evicted - 1)[:n_evicted]).astype(np.int32)
        self._slot_of[self._row_of[evicted]] = -1
        return np.concatenate([evicted, unused])

    def compute(self, indices, slots):
        """Write rows of the kernel matrix to slots."""
        self.slots[slots] = self.kernel.training_block(self.X, indices)

    def sums(self, indices, support, coefficients):
        """Return sum_j coefficients_j K(x_i, x_j) over the support, in double precision."""
        length = max(1, self._block_values // len(self._slot_of))
        sums = [
            times(self.kernel.training_block(self.X, indices[rows])[:, support], coefficients)
            for rows in batches_of(len(indices), length)
        ]
        return np.concatenate(sums) if sums else np.zeros(0)

    def rounding(self):
        """Return a and b: values in single precision have errors up to a + b (p + q); inf: unknown.

        p and q are the `sqnorms` of the two samples.
        """
        return math.inf, 0.0


class FormulaBlocks(RowBlocks):
    """Rows of a kernel of inner products and squared norms.

    kernel, X, cache_size: as in `RowBlocks`.
    sqnorms, shape (m,): |x_k|^2.
    densely: True: make rows of a sparse X dense to multiply them.
    """

    def __init__(self, kernel, X, cache_size, sqnorms, densely):
        self._sqnorms = sqnorms
        self._factor, scaled_kernel = scaled(kernel, float(sqnorms.max()))
        self._transform = scaled_kernel.compiled()
        self._is_dense, self._chunks = densely or not is_sparse(X), chunks_of(X.shape[1])
        super().__init__(kernel, X, cache_size)
        # The whole matrix in double precision, once sums have computed as many values, if it fits.
        self._matrix, self._n_summed = None, 0

    def _set_points(self):
        """Prepare X in single precision, its squared norms and a bound on rounding; return bytes."""
        X, (m, d) = self.X, self.X.shape
        self._n_terms, factor = min(rows_of(X).longest(), d), self._factor
        self._unit = self._unit_of(self._n_terms)
        self._points, self.sqnorms = X, factor * factor * self._sqnorms
        if not self._is_dense:
            values = (X.data if factor == 1 else factor * X.data).astype(np.float32, copy=False)
            from scipy import sparse

            self._points = sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)
            self._block_values = min(BLOCK_VALUES, SPARSE_PRODUCTS * m // max(X.nnz, 1))
            return 0 if values is X.data else values.nbytes
        self._block_values = m * m  # no limit: there is a check after each part of the columns
        mean = self._mean_to_subtract()
        if mean is not None:
            self._unit, self.sqnorms = self._unit_of(d), np.empty(m)
        elif not is_sparse(X) and factor == 1:
            self._points = np.ascontiguousarray(X, dtype=np.float32)
            return 0 if np.shares_memory(self._points, X) else self._points.nbytes
        self._points = np.empty((m, d), np.float32)
        for rows in batches_of(m, max(1, BLOCK_VALUES // max(d, 1))):
            block = X[rows].toarray() if is_sparse(X) else X[rows]
            if mean is not None:
                block = block - mean
            if factor != 1:
                block = factor * block
            if mean is not None:
                self.sqnorms[rows] = np.einsum("ij,ij->i", block, block)
            self._points[rows] = block
        return self._points.nbytes

    def _unit_of(self, n_terms):
        """Return the rounding of inner products in single precision, relative to the rows' lengths."""
        if self._is_dense:  # sums of sums
            n_terms = min(n_terms, self._chunks[0].stop + len(self._chunks) - 1)
        return (n_terms + 3 + FORMULA_PRODUCTS) * UNIT

    @on_one_thread
    def _mean_to_subtract(self):
        """Return the mean of the rows of X (ndarray, shape (d,)), or None if it is not subtracted."""
        X = self.X
        if not self.kernel.uses_differences or not len(self._sqnorms):
            return None
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        centred = float((self._sqnorms - 2 * (X @ mean)).max()) + float(mean @ mean)
        is_closer = self._unit_of(X.shape[1]) * centred < self._unit * float(self._sqnorms.max())
        return mean if is_closer else None

    def compute(self, indices, slots):
        points, sqnorms, is_csr = self._points, self.sqnorms, not self._is_dense
        rows = points[indices]
        # Sparse products read their second factor by rows.
        columns_of_rows = np.ascontiguousarray(rows.toarray().T) if is_csr else None
        length = COLUMNS if is_csr else min(COLUMNS, max(1, DENSE_PRODUCTS // max(rows.size, 1)))

        def fill(columns):
            part = points[columns]
            with one_thread():
                if is_csr:
                    values = np.ascontiguousarray((part @ columns_of_rows).T)
                else:
                    products = (rows[:, chunk] @ part[:, chunk].T for chunk in self._chunks)
                    values = functools.reduce(operator.iadd, products)
            out = self.slots[:, columns]
            self._transform.single(values, sqnorms[indices], sqnorms[columns], out, slots)

        current_team().map(fill, batches_of(len(sqnorms), length))

    def sums(self, indices, support, coefficients):
        n_values = len(self._slot_of) ** 2
        self._n_summed += len(indices) * len(support)
        if self._n_summed > n_values and 8 * n_values <= self._n_free:
            return self._sums_of_matrix(indices, support, coefficients)
        is_support = np.isin(indices, support, assume_unique=True)
        # The support comes first: its values are symmetric, and each is computed once.
        n_own = len(support) if is_support.any() else 0
        samples = np.concatenate([support[:n_own], indices[~is_support]])
        found, length = np.zeros(len(samples)), self._tile_length()
        n_tiles = min(PANEL, PANEL_VALUES // max(self.X.shape[1], 1)) // length
        for panel in batches_of(len(support), length * max(1, n_tiles)):
            points = self._rows(support[panel])

            def sums_of(tile, panel=panel, points=points):
                is_own, rows = tile.start < n_own, self._rows(samples[tile])
                sums, mirrored = np.zeros(len(samples[tile])), np.zeros(points.shape[0] if is_own else 0)
                for columns in batches_of(panel.stop, length, panel.start):
                    if is_own and columns.start < tile.start:
                        continue
                    part = slice(columns.start - panel.start, columns.stop - panel.start)
                    block = self._block(samples[tile], support[columns], rows, points[part])
                    sums += times(block, coefficients[columns])
                    if is_own and columns != tile:
                        mirrored[part] += times(block.T, coefficients[tile])
                return sums, mirrored

            tiles = batches_of(min(panel.stop, n_own), length) + batches_of(len(samples), length, n_own)
            for tile, (sums, mirrored) in zip(tiles, current_team().map(sums_of, tiles), strict=True):
                found[tile] += sums
                found[panel][: len(mirrored)] += mirrored
        result = np.empty(len(indices))
        result[is_support], result[~is_support] = found[:n_own], found[n_own:]
        return result

    def _sums_of_matrix(self, indices, support, coefficients):
        """Return the same sums, from the whole matrix, which is computed once."""
        m = len(self._slot_of)
        every, team, dual = np.arange(m), current_team(), np.zeros(m)
        dual[support] = coefficients
        if self._matrix is None:
            matrix, tiles = np.empty((m, m)), batches_of(m, self._tile_length())

            def fill(pair):
                rows, columns = pair
                parts = every[rows], every[columns]
                block = self._block(*parts, *map(self._rows, parts))
                matrix[rows, columns], matrix[columns, rows] = block, block.T

            team.map(fill, [(rows, columns) for i, rows in enumerate(tiles) for columns in tiles[i:]])
            self._matrix = matrix
        is_part = 2 * len(indices) < m  # copies of more rows would take longer than products of all
        result = np.empty(len(indices) if is_part else m)

        def multiply(part):
            result[part] = times(self._matrix[indices[part] if is_part else part], dual)

        team.map(multiply, batches_of(len(result), TILE))
        return result if is_part else result[indices]

    def _tile_length(self):
        if not self._is_dense:
            # Use few tiles, since each tile makes its columns dense.
            return max(1, math.isqrt(self._block_values))
        return max(1, min(TILE, TILE_VALUES // max(self.X.shape[1], 1)))

    def _rows(self, indices):
        """Return some rows of X; dense, in double precision, unless rows are multiplied as sparse."""
        return as_dense(self.X[indices]) if self._is_dense else self.X[indices]

    def _block(self, indices, support, rows, columns):
        """Return K(x_i, x_j) of two sets of samples, given their rows, in double precision."""
        with one_thread():
            return self.kernel.block(rows, columns, self._sqnorms[indices], self._sqnorms[support])

    def rounding(self):
        """See `RowBlocks.rounding`; it covers inputs, sums in any order, and the formula."""
        sqradius, squared_factor = float(self._sqnorms.max()), self._factor * self._factor
        diagonal = self._transform.diagonal(squared_factor * self._sqnorms)
        values = FORMULA_VALUES * UNIT * float(diagonal.max())
        slope, in_double = self.kernel.slope(sqradius), (self._n_terms + 3) * UNIT_OF_DOUBLE * sqradius
        if not math.isfinite(slope):
            return math.inf, 0.0
        return 1.01 * (slope * in_double + values), 1.01 * slope * self._unit / (2 * squared_factor)


def scaled(kernel, sqradius):
    """Return the factor of X, and the kernel of the result, for products in single precision."""
    if not MOST_SQNORM < sqradius < math.inf:
        return 1.0, kernel
    factor = 2.0 ** -(math.frexp(sqradius)[1] // 2)
    other = kernel.scaled(factor)
    return (1.0, kernel) if other is None else (factor, other)


def batches_of(n, length, begin=0):
    """Return slices of range(begin, n) of this length; the last may be shorter."""
    return [slice(first, min(first + length, n)) for first in range(begin, n, length)]


def chunks_of(d):
    """Return slices of d features, of about the same length, that are summed at once."""
    return batches_of(d, -(-d // -(-d // FEATURES))) if d else [slice(0, 0)]


def as_dense(X):
    """Return a matrix as an ndarray of float64."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


@on_one_thread
def times(block, coefficients):
    """Return a product computed by BLAS in the calling thread."""
    return block @ coefficients
