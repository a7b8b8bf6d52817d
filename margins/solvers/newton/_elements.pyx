"""The elements of one sample and of its intercept, for loops that read each of them many times."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t
from margins._sparse cimport elements, is_dense, nonzeros
from margins.data._binary_data cimport BinaryData

import numpy as np


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
