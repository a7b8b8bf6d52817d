"""Patterns as dense rows, and the sum of their outer products, by BLAS.

The problem: add x x^T, or take it away, for many x of n elements, most of them not 0. BLAS does so
several times as fast for a block of rows as for one after the other, and in single precision in half the
time.
"""

from libc.stdint cimport int32_t
from libc.string cimport memset
from margins._sparse cimport value_t
from margins.linalg._sums cimport BLOCK
from scipy.linalg.cython_blas cimport dsyrk, ssyrk

import numpy as np

# Rows of a block in single precision, whose sum takes a pass over the matrix of its own.
cdef Py_ssize_t SINGLE_BLOCK = 512


cdef class DenseBlock:
    """Rows that wait for their turn.

    Parameters
    ----------
    n : int
        The length of a row.
    m : int
        There will be no more rows than these.
    is_double : bool
        False: products are those of single precision; what blocks add up to is in double precision.
    """

    def __init__(self, Py_ssize_t n, Py_ssize_t m, bint is_double):
        self.is_double = is_double
        self.room = min(m, BLOCK if is_double else SINGLE_BLOCK)
        if is_double:
            self.double_rows = np.empty((self.room, n))
        else:
            self.single_rows = np.empty((self.room, n), dtype=np.float32)
            self.single_sum = np.empty((n, n), dtype=np.float32)

    cdef bint append(
        self, const double* values, const int32_t* columns, Py_ssize_t n, double factor
    ) noexcept nogil:
        """Append a row by its n elements, times a factor: True if the block is full now."""
        if self.is_double:
            _write(&self.double_rows[self.n_rows, 0], self.double_rows.shape[1], values, columns, n, factor)
        else:
            _write(&self.single_rows[self.n_rows, 0], self.single_rows.shape[1], values, columns, n, factor)
        self.n_rows += 1
        return self.n_rows == self.room

    cdef void flush(self, double sign, double[:, ::1] total) noexcept nogil:
        """Add the outer products of the rows, times 1 or -1, to the lower triangle; none are left."""
        # The lower triangle by rows is the upper one by columns, as BLAS wants it.
        cdef int n = <int> total.shape[0], k = <int> self.n_rows, width = <int> total.shape[1]
        cdef double one = 1
        cdef float single_one = 1, nothing = 0
        cdef Py_ssize_t i, j
        if k == 0:
            return
        self.n_rows = 0
        if self.is_double:
            dsyrk(b"U", b"N", &n, &k, &sign, &self.double_rows[0, 0], &n, &one, &total[0, 0], &width)
            return
        ssyrk(
            b"U", b"N", &n, &k, &single_one, &self.single_rows[0, 0], &n, &nothing,
            &self.single_sum[0, 0], &n
        )
        for i in range(n):
            for j in range(i + 1):
                total[i, j] += sign * self.single_sum[i, j]


cdef inline void _write(
    value_t* row, Py_ssize_t length, const double* values, const int32_t* columns, Py_ssize_t n,
    double factor
) noexcept nogil:
    cdef Py_ssize_t i
    memset(row, 0, length * sizeof(value_t))
    for i in range(n):  # a row may store an element in parts
        row[columns[i]] += <value_t> (factor * values[i])
