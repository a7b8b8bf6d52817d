# cython: language_level=3
"""The Hessian of Newton steps."""

from libc.stdint cimport int8_t, int32_t
from margins._update cimport Patterns


cdef class Curvature:
    cdef Patterns patterns
    cdef const double[::1] C
    cdef readonly object held
    cdef int8_t[::1] is_held
    # Two triangles in one array: the sum in [i, j], its Cholesky factor in [j, i + 1], j <= i.
    cdef double[:, ::1] sum
    cdef double[:, ::1] block       # patterns as dense rows, where they are dense
    cdef double[::1] values         # room for a row's elements
    cdef int32_t[::1] columns
    cdef double rho
    cdef bint is_dense

    cdef void update(self, const int32_t[::1] members, const int8_t[::1] free) noexcept nogil
    cdef Py_ssize_t _elements(self, Py_ssize_t k) noexcept nogil
    cdef void _write(self, Py_ssize_t k, Py_ssize_t row) noexcept nogil
    cdef void _add_block(self, Py_ssize_t n_rows, double sign) noexcept nogil
    cdef bint solve(self, double factor, double[::1] vector) noexcept nogil
