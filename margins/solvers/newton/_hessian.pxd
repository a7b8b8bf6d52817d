# cython: language_level=3
"""The interface of Hessians."""

from libc.stdint cimport int8_t, int32_t
from margins._update cimport BinaryData


cdef class Hessian:
    cdef BinaryData data
    cdef const double[::1] curvature
    cdef double rho
    cdef const double[::1] centre   # from which features are measured; None: from 0
    cdef Py_ssize_t n_penalised     # number of weights that are penalised; they come first
    cdef Py_ssize_t n_free          # number of free samples
    cdef double[::1] values         # buffer for a sample's elements
    cdef int32_t[::1] columns
    cdef readonly object included
    cdef int8_t[::1] is_included
    cdef readonly Py_ssize_t n_read   # samples read so far for Hessian-vector products

    cdef double ridge(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t elements(self, Py_ssize_t k) noexcept nogil
    cdef void update(self, const int32_t[::1] working_set, const int8_t[::1] free) noexcept nogil
    cdef int solve(self, double factor, double[::1] vector) except -1 nogil
