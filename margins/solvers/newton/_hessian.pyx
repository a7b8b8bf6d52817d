"""The interface of Hessians, stored or not.

The problem: for changing sets of free samples y_k = l_k [x_k, rho], solve

    (I + factor * sum_k s_k y_k y_k^T) x = vector

where I has a 0 for a free intercept. A small sum is stored (`margins.solvers.newton._dense_hessian`); a large sum
is only multiplied by vectors (`margins.solvers.newton._hessian_vector`).
"""

from libc.math cimport sqrt
from libc.stdint cimport int8_t, int32_t
from margins._sparse cimport elements, is_dense, nonzeros
from margins._update cimport BinaryData

import numpy as np


cdef class Hessian:
    """The base class of Hessians.

    curvature, shape (m,): s_k > 0.
    included, shape (m,): 1 for the samples that must be in the working set of the next `update`.
    n_read: number of samples read so far for Hessian-vector products.
    """

    def __init__(self, BinaryData data not None, const double[:] curvature not None):
        self.data, self.curvature, self.rho = data, curvature, sqrt(data.sq_intercept_scaling)
        self.n_penalised = data.rows.n_features + (data.sq_intercept_scaling > 0 and not data.has_free_intercept)
        self.included = np.zeros(data.rows.n_rows, dtype=np.int8)
        self.is_included = self.included

    cdef double ridge(self, Py_ssize_t j) noexcept nogil:
        """Return the diagonal element of I for a weight: 0 for a free intercept, unless no sample is free."""
        return 1.0 if j < self.n_penalised or self.n_free == 0 else 0.0

    cdef int update(self, const int32_t[::1] working_set, const int8_t[::1] free) except -1:
        """Sum over the free samples of a working set from now on."""
        return 0

    cdef bint solve(self, double factor, double[::1] vector) except -1:
        """Solve in place, possibly inexactly; False if rounding prevents a solution."""
        return False

    # These are for callers in Python.
    def py_update(self, const int32_t[::1] working_set, const int8_t[::1] free):
        self.update(working_set, free)

    def py_solve(self, double factor, double[::1] vector):
        return self.solve(factor, vector)


cdef class Elements:
    """A copy of [x_k - centre, rho], for one sample at a time; with `keeps_zeros`, of all elements of dense samples."""

    def __init__(self, BinaryData data not None, const double[::1] centre=None, bint keeps_zeros=False):
        cdef Py_ssize_t longest = data.rows.longest() + 1
        self.data, self.rho, self.centre = data, sqrt(data.sq_intercept_scaling), centre
        self.values, self.columns = np.empty(longest), np.arange(longest, dtype=np.int32)
        self.is_whole = keeps_zeros and is_dense(data.rows)

    cdef Py_ssize_t read(self, Py_ssize_t k) noexcept nogil:
        """Set `values` and `columns` to those of sample k, and return the number of elements."""
        cdef Py_ssize_t i, n = self.data.rows.n_features
        if self.is_whole:
            elements(self.data.rows, k, &self.values[0])
        else:
            n = nonzeros(self.data.rows, k, &self.values[0], &self.columns[0])
        if self.centre is not None:
            for i in range(n):
                self.values[i] -= self.centre[self.columns[i]]
        if self.rho > 0:
            self.values[n], self.columns[n] = self.rho, <int32_t> self.data.rows.n_features
            n += 1
        return n
