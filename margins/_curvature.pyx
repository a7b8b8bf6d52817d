"""The curvature of a Newton step: a Hessian that is kept from step to step, and solved with.

The problem: of changing sets of patterns, keep the sum of C_k y_k y_k^T, y_k = l_k [x_k, rho], and solve

    (I + factor * the sum) x = vector

Most patterns stay in the set from one step to the next: those that join or leave it are added or taken
away. Where patterns are dense they are so in blocks, by BLAS.

Source: Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large scale
linear SVMs.
"""

from libc.math cimport isfinite, sqrt
from libc.stdint cimport int8_t, int32_t
from libc.string cimport memset
from margins._sparse cimport add_outer, axpy, nonzeros
from margins._sums cimport BLOCK
from margins._update cimport Patterns
from scipy.linalg.cython_blas cimport dsyrk
from scipy.linalg.cython_lapack cimport dposv

import numpy as np

# Patterns are added to the Hessian as dense ones, in blocks, where that takes less time: a non-zero
# element costs half a nanosecond for each other one, a dense pattern of n elements n^2 / 90 + 3 n.
# (Microseconds for all patterns, as dense ones and as sparse ones: spambase, 57 features, 12.9 of them
# not 0, 1250 and 580; mushrooms, 112 and 21, 3820 and 1700; digits, 64 and 33, 440 and 2670; usps, 256
# and 104, 10600 and 54200.) Not where features are few: dense ones then are too short for blocks.
cdef double SQUARE = 1 / 45., LINEAR = 6
cdef Py_ssize_t FEW = 16


cdef class Curvature:
    """The sum of C_k y_k y_k^T over the free patterns, kept from step to step.

    Parameters
    ----------
    patterns : Patterns
    C : ndarray of float64, shape (m,)

    Attributes
    ----------
    held : ndarray of int8, shape (m,)
        1 for the patterns in the sum.
    """

    def __init__(self, Patterns patterns not None, const double[::1] C):
        cdef Py_ssize_t m = patterns.rows.n_rows, n = patterns.rows.n_features + (patterns.sqrho > 0)
        cdef Py_ssize_t longest = patterns.rows.longest() + 1
        self.patterns, self.C, self.rho = patterns, C, sqrt(patterns.sqrho)
        self.held = np.zeros(m, dtype=np.int8)
        self.is_held = self.held
        self.sum = np.zeros((n, n + 1))
        self.values, self.columns = np.empty(longest), np.empty(longest, dtype=np.int32)
        cdef double enough = m * sqrt(n * (SQUARE * n + LINEAR))
        self.is_dense = n > FEW and patterns.rows.has_nonzeros(<Py_ssize_t> enough + 1)
        self.block = np.empty((min(BLOCK, m) if self.is_dense else 0, n))

    @property
    def matrix(self):
        """The lower triangle of the sum: ndarray of float64, shape (n, n)."""
        return np.tril(np.asarray(self.sum)[:, :-1])

    def py_update(self, const int32_t[::1] members, const int8_t[::1] free):
        self.update(members, free)

    def py_solve(self, double factor, double[::1] vector):
        return self.solve(factor, vector)

    cdef void update(self, const int32_t[::1] members, const int8_t[::1] free) noexcept nogil:
        """Add the members that have become free, and take away those that no longer are.

        Those held before must be among the members.
        """
        cdef Py_ssize_t i, k, n, n_rows, n_leaving = 0, n_staying = 0
        cdef bint adding
        for i in range(members.shape[0]):
            if self.is_held[members[i]]:
                n_leaving += not free[i]
                n_staying += free[i]
        if n_leaving > n_staying:  # a sum afresh is less work, and keeps less rounding
            self.is_held[:] = 0
            self.sum[:, :] = 0
        if not self.is_dense:
            for i in range(members.shape[0]):
                k = members[i]
                if free[i] != self.is_held[k]:
                    self.is_held[k] = free[i]
                    n = self._elements(k)
                    add_outer(&self.values[0], &self.columns[0], n, self.C[k] if free[i] else -self.C[k],
                              &self.sum[0, 0], self.sum.shape[1])
            return
        for adding in range(2):
            n_rows = 0
            for i in range(members.shape[0]):
                k = members[i]
                if free[i] == adding and self.is_held[k] != adding:
                    self.is_held[k] = adding
                    self._write(k, n_rows)
                    n_rows += 1
                if n_rows == self.block.shape[0] or (n_rows and i + 1 == members.shape[0]):
                    self._add_block(n_rows, 1 if adding else -1)
                    n_rows = 0

    cdef Py_ssize_t _elements(self, Py_ssize_t k) noexcept nogil:
        """Find the elements of pattern k, its label left out."""
        cdef Py_ssize_t n = nonzeros(self.patterns.rows, k, &self.values[0], &self.columns[0])
        if self.rho > 0:
            self.values[n], self.columns[n] = self.rho, <int32_t> self.patterns.rows.n_features
            n += 1
        return n

    cdef void _write(self, Py_ssize_t k, Py_ssize_t row) noexcept nogil:
        """Write sqrt(C_k) y_k, its label left out, into a row of the block."""
        cdef Py_ssize_t d = self.patterns.rows.n_features
        cdef double factor = sqrt(self.C[k])
        memset(&self.block[row, 0], 0, self.block.shape[1] * sizeof(double))
        axpy(self.patterns.rows, k, factor, self.block[row, :d])
        if self.rho > 0:
            self.block[row, d] = factor * self.rho

    cdef void _add_block(self, Py_ssize_t n_rows, double sign) noexcept nogil:
        # The lower triangle by rows is the upper one by columns, as BLAS wants it.
        cdef int n = <int> self.sum.shape[0], k = <int> n_rows, width = n + 1
        cdef double one = 1
        dsyrk(b"U", b"N", &n, &k, &sign, &self.block[0, 0], &n, &one, &self.sum[0, 0], &width)

    cdef bint solve(self, double factor, double[::1] vector) noexcept nogil:
        """Solve (I + factor * the sum) x = vector, in place; False if rounding does not allow it."""
        cdef Py_ssize_t i, j
        cdef int n = <int> self.sum.shape[0], one = 1, width = n + 1, trouble
        for i in range(n):
            for j in range(i):
                self.sum[j, i + 1] = factor * self.sum[i, j]
            self.sum[i, i + 1] = 1 + factor * self.sum[i, i]
        # The upper triangle by rows is the lower one by columns, as LAPACK wants it.
        dposv(b"L", &n, &one, &self.sum[0, 1], &width, &vector[0], &n, &trouble)
        if trouble != 0:
            return False
        for i in range(n):
            if not isfinite(vector[i]):
                return False
        return True
