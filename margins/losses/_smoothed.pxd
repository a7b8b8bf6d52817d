# cython: language_level=3
"""The losses that Newton steps minimise."""

from libc.stdint cimport int8_t


cdef class Losses:
    cdef double[::1] centre
    cdef const double[::1] penalty, steepness
    cdef readonly double factor
    cdef readonly bint bounded

    cdef void sharpen(self, const double[::1] dual) noexcept nogil
    cdef double dual_variables(
        self, const double[::1] products, double[::1] dual, int8_t[::1] free, double* total
    ) noexcept nogil
    cdef void slope(
        self, const double[::1] products, const double[::1] ahead, double t, double* pull, double* curvature
    ) noexcept nogil
    cdef double line_search(
        self, const double[::1] products, const double[::1] ahead, double linear, double square, double downwards
    ) noexcept nogil
