# cython: language_level=3
"""What Newton steps ask a Hessian for."""

from libc.stdint cimport int8_t, int32_t


cdef class Curvature:
    cdef readonly object held
    cdef int8_t[::1] is_held
    cdef readonly Py_ssize_t n_read   # patterns that products with the Hessian have read so far

    cdef void update(self, const int32_t[::1] members, const int8_t[::1] free) noexcept nogil
    cdef int solve(self, double factor, double[::1] vector) except -1 nogil
