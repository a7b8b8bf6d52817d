# cython: language_level=3
"""What Newton steps ask a Hessian for."""

from libc.stdint cimport int8_t, int32_t
from margins._update cimport Patterns


cdef class Hessian:
    cdef Patterns patterns
    cdef const double[::1] curvature
    cdef double rho
    cdef double[::1] values         # room for a pattern's elements
    cdef int32_t[::1] columns
    cdef readonly object included
    cdef int8_t[::1] is_included
    cdef readonly Py_ssize_t n_read   # patterns that products with the Hessian have read so far

    cdef Py_ssize_t elements(self, Py_ssize_t k) noexcept nogil
    cdef void update(self, const int32_t[::1] members, const int8_t[::1] free) noexcept nogil
    cdef int solve(self, double factor, double[::1] vector) except -1 nogil
