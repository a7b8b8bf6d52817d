"""Sums of outer products of samples: the stored part of a Hessian.

The problem: for changing sets of samples, keep the sum of s_k y_k y_k^T. Sparse samples are added singly, dense samples
in blocks, by BLAS: it is faster on many rows at once, and faster still in single precision. With many samples, several
threads sum the blocks of `margins.linalg.threads` separately.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t
from libc.string cimport memset
from margins._sparse cimport value_t
from margins.data._binary_data cimport BinaryData
from margins.linalg._sums cimport BLOCK
from margins.solvers.newton._hessian cimport Elements
from scipy.linalg.cython_blas cimport dsyrk, ssyrk

import numpy as np

from margins.linalg.threads import MAX_SHARE_OF_SUM, MIN_SHARED, blocks_of, current_team
from margins.tuning import TUNING

cdef double ONE_BLOCK = MIN_SHARED
# The cost of a product of two elements by BLAS, and the cost of an element of a separate sum, in accesses.
cdef double BLAS = TUNING.cost.dense_square
cdef double OVERHEAD = 8
# Rows of a block in single precision. These blocks are larger, because adding their sum in double precision takes
# a pass over the matrix.
cdef Py_ssize_t SINGLE_BLOCK = 512


cdef class DenseBlock:
    """Rows, at most m of length n, whose outer products have not been added yet."""

    def __init__(self, Py_ssize_t n, Py_ssize_t m, bint is_double):
        self.is_double = is_double
        self.max_rows = min(m, BLOCK if is_double else SINGLE_BLOCK)
        if is_double:
            self.double_rows = np.empty((self.max_rows, n))
        else:
            self.single_rows = np.empty((self.max_rows, n), dtype=np.float32)
            self.single_sum = np.empty((n, n), dtype=np.float32)

    cdef bint append(self, const double* values, const int32_t* columns, Py_ssize_t n, double factor) noexcept nogil:
        """Append a row, n elements (all if without `columns`) times a factor; return True if the block is full."""
        if self.is_double:
            _write(&self.double_rows[self.n_rows, 0], self.double_rows.shape[1], values, columns, n, factor)
        else:
            _write(&self.single_rows[self.n_rows, 0], self.single_rows.shape[1], values, columns, n, factor)
        self.n_rows += 1
        return self.n_rows == self.max_rows

    cdef void flush(self, double sign, double[:, ::1] total) noexcept nogil:
        """Add the rows' outer products, times 1 or -1, to the lower triangle, and empty the block."""
        # BLAS orders by columns, so its upper triangle is the lower triangle by rows.
        cdef int n = <int> total.shape[0], k = <int> self.n_rows, width = <int> total.shape[1]
        cdef double one = 1
        cdef float single_one = 1, zero = 0
        cdef Py_ssize_t i, j
        if k == 0:
            return
        self.n_rows = 0
        if self.is_double:
            dsyrk(b"U", b"N", &n, &k, &sign, &self.double_rows[0, 0], &n, &one, &total[0, 0], &width)
            return
        ssyrk(b"U", b"N", &n, &k, &single_one, &self.single_rows[0, 0], &n, &zero, &self.single_sum[0, 0], &n)
        for i in range(n):
            for j in range(i + 1):
                total[i, j] += sign * self.single_sum[i, j]


cdef inline void _write(
    value_t* row, Py_ssize_t length, const double* values, const int32_t* columns, Py_ssize_t n, double factor
) noexcept nogil:
    cdef Py_ssize_t i
    if columns == NULL:
        for i in range(length):
            row[i] = <value_t> (factor * values[i])
        return
    memset(row, 0, length * sizeof(value_t))
    for i in range(n):  # a row may store several elements of a column
        row[columns[i]] += <value_t> (factor * values[i])


cdef class OuterSum:
    """The lower triangle of the sum of s_k y_k y_k^T, at first 0.

    centre, shape (n_features,): features are measured from it; only for whole samples with an intercept.
    in_blocks: True: samples are added as dense rows, in blocks, by BLAS, in single precision or `is_double`.
    """

    def __init__(self, BinaryData data not None, const double[:] curvature not None, const double[::1] centre,
                 bint in_blocks, bint is_double=False):
        cdef Py_ssize_t n = data.rows.n_features + (data.sq_intercept_scaling > 0)
        self.data, self.curvature, self.centre = data, curvature, centre
        self.elements = Elements(data, centre, keeps_zeros=in_blocks)
        self.matrix = np.zeros((n, n + 1))
        if in_blocks:
            self.block = DenseBlock(n, data.rows.n_rows, is_double=is_double)

    cdef bint is_single(self) noexcept nogil:
        """Return True if products are computed in single precision."""
        return self.block is not None and not self.block.is_double

    cdef int add(self, const int32_t[::1] samples, double sign) except -1:
        """Add the outer products of some samples, or subtract them if the sign is -1."""
        cdef Py_ssize_t n = self.matrix.shape[0]
        if samples.shape[0] == 0:
            return 0
        cdef double mean = <double> self.data.rows.n_stored / self.data.rows.n_rows
        cdef double work = samples.shape[0] * mean * mean * (1.0 if self.block is None else BLAS)
        if work < ONE_BLOCK or work * MAX_SHARE_OF_SUM < 2 * OVERHEAD * n * n:
            with nogil:
                self._add(samples, sign)
            return 0
        chosen = np.asarray(samples)

        def sum_of(block):
            part = OuterSum(self.data, self.curvature, self.centre, self.block is not None, not self.is_single())
            part._add_all(chosen[block], sign)
            return part

        blocks = blocks_of(len(chosen), work, OVERHEAD * n * n)
        for part in current_team().map(sum_of, blocks):
            self._add_part(part)
        return 0

    def _add_all(self, const int32_t[::1] samples, double sign):
        with nogil:
            self._add(samples, sign)

    def _add_part(self, OuterSum part):
        cdef Py_ssize_t i, j
        with nogil:
            for i in range(self.matrix.shape[0]):
                for j in range(i + 1):
                    self.matrix[i, j] += part.matrix[i, j]

    cdef void _add(self, const int32_t[::1] samples, double sign) noexcept nogil:
        cdef const double* values = &self.elements.values[0]
        cdef const int32_t* columns = NULL if self.elements.is_whole else &self.elements.columns[0]
        cdef Py_ssize_t i, n
        cdef double s
        for i in range(samples.shape[0]):
            n, s = self.elements.read(samples[i]), self.curvature[samples[i]]
            if self.block is None:
                _add_outer(values, columns, n, sign * s, &self.matrix[0, 0], self.matrix.shape[1])
            elif self.block.append(values, columns, n, sqrt(s)):
                self.block.flush(sign, self.matrix)
        if self.block is not None:
            self.block.flush(sign, self.matrix)


cdef inline bint _ascend(const int32_t* columns, Py_ssize_t n) noexcept nogil:
    """Return True if columns are strictly increasing."""
    cdef Py_ssize_t i
    cdef int32_t n_violations = 0   # counted without a branch, so that compilers vectorise
    for i in range(1, n):
        n_violations += columns[i] <= columns[i - 1]
    return n_violations == 0


cdef inline void _add_outer(
    const double* values, const int32_t* columns, Py_ssize_t n, double c, double* out, Py_ssize_t width
) noexcept nogil:
    """Add c x x^T to the lower triangle of a matrix with rows of `width` elements."""
    cdef Py_ssize_t i = 0, j, p, q
    cdef double x, y, a, b, d, e
    cdef double* row
    cdef double* next_row
    if not _ascend(columns, n):
        for i in range(n):
            for j in range(n):
                if columns[j] <= columns[i]:   # duplicate elements of a column: all products of two
                    out[columns[i] * width + columns[j]] += c * values[i] * values[j]
        return
    # Blocks of two rows and two columns: four elements are read before one is written, and branches occur only at
    # the ends of rows.
    while i + 1 < n:
        x, y = c * values[i], c * values[i + 1]
        row, next_row = out + columns[i] * width, out + columns[i + 1] * width
        j = 0
        while j < i:
            p, q = columns[j], columns[j + 1]
            a, b = row[p] + x * values[j], row[q] + x * values[j + 1]
            d, e = next_row[p] + y * values[j], next_row[q] + y * values[j + 1]
            row[p], row[q] = a, b
            next_row[p], next_row[q] = d, e
            j += 2
        p, q = columns[i], columns[i + 1]
        row[p] += x * values[i]
        next_row[p] += y * values[i]
        next_row[q] += y * values[i + 1]
        i += 2
    if i < n:
        x, row = c * values[i], out + columns[i] * width
        for j in range(n):
            row[columns[j]] += x * values[j]
