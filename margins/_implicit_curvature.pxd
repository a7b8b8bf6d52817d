# cython: language_level=3
"""A Hessian that is a product with vectors."""

from libc.stdint cimport int32_t
from margins._curvature cimport Curvature
from margins._update cimport Patterns


cdef class ImplicitCurvature(Curvature):
    cdef Patterns patterns
    cdef const double[::1] steepness
    cdef double rho
    cdef int32_t[::1] free          # the free patterns, so many of them
    cdef Py_ssize_t n_free, most_read
    cdef double[::1] diagonal       # of the sum
    cdef double[::1] solution, scaled, direction, image
    cdef double[::1] values         # room for a row's elements
    cdef int32_t[::1] columns

    cdef void _multiply(self, double factor) noexcept nogil
    cdef double _scale(self, double factor, const double[::1] residual) noexcept nogil
