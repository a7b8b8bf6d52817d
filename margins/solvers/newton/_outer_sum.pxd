# cython: language_level=3
"""Sums of outer products of samples."""

from libc.stdint cimport int32_t
from margins.data._binary_data cimport BinaryData
from margins.solvers.newton._dense_block cimport DenseBlock
from margins.solvers.newton._elements cimport Elements


cdef class OuterSum:
    cdef BinaryData data
    cdef const double[::1] curvature, centre
    cdef Elements elements
    cdef DenseBlock block           # for dense samples; otherwise None
    # Two triangles in one array: [i, j] with j <= i is the sum; [j, i + 1] is for a factor of it.
    cdef double[:, ::1] matrix

    cdef int add(self, const int32_t[::1] samples, double sign) except -1
    cdef bint is_single(self) noexcept nogil
    cdef void _add(self, const int32_t[::1] samples, double sign) noexcept nogil
