"""Samples as dense rows, and the sum of their outer products, by BLAS.

The problem: add or subtract x x^T for many x of n elements, most of them non-zero. BLAS is faster on a block of
rows than on one row at a time, and faster still in single precision.
"""

from libc.stdint cimport int32_t
from libc.string cimport memset
from margins._sparse cimport value_t
from margins.linalg._sums cimport BLOCK
from scipy.linalg.cython_blas cimport dsyrk, ssyrk

import numpy as np

# Rows of a block in single precision. These blocks are larger, because adding their sum in double precision takes
# a pass over the matrix.
cdef Py_ssize_t SINGLE_BLOCK = 512


cdef class DenseBlock:
    """Rows whose outer products have not been added yet.

    n: length of a row.
    m: upper bound on the number of rows.
    is_double: False: products are computed in single precision, and the sums of blocks added in double precision.
    """

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
