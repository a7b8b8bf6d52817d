"""The interface of Hessians."""

from libc.stdint cimport int8_t, int32_t
from margins._update cimport BinaryData


cdef class Hessian:
    cdef BinaryData data
    cdef const double[:] curvature
    cdef double rho
    cdef Py_ssize_t n_penalised     # number of penalised weights, which come first
    cdef Py_ssize_t n_free          # number of free samples
    cdef readonly object included
    cdef int8_t[::1] is_included
    cdef readonly Py_ssize_t n_read   # samples read so far for Hessian-vector products

    cdef double ridge(self, Py_ssize_t j) noexcept nogil
    cdef int update(self, const int32_t[::1] working_set, const int8_t[::1] free) except -1
    cdef bint solve(self, double factor, double[::1] vector) except -1


cdef class Elements:
    cdef BinaryData data
    cdef double rho
    cdef const double[::1] centre   # features are measured from this; None: from 0
    cdef double[::1] values
    cdef int32_t[::1] columns
    cdef bint is_whole              # the columns are all columns, in order
    cdef Py_ssize_t read(self, Py_ssize_t k) noexcept nogil
