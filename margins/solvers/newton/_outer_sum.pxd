"""Sums of outer products of samples."""

from libc.stdint cimport int32_t
from margins.data._binary_data cimport BinaryData
from margins.solvers.newton._hessian cimport Elements


cdef class DenseBlock:
    cdef float[:, ::1] single_rows, single_sum
    cdef double[:, ::1] double_rows
    cdef Py_ssize_t n_rows      # in the block, not yet added
    cdef Py_ssize_t max_rows
    cdef bint is_double
    cdef bint append(self, const double* values, const int32_t* columns, Py_ssize_t n, double factor) noexcept nogil
    cdef void flush(self, double sign, double[:, ::1] total) noexcept nogil


cdef class OuterSum:
    cdef BinaryData data
    cdef const double[:] curvature
    cdef const double[::1] centre
    cdef Elements elements
    cdef DenseBlock block           # for dense samples; otherwise None
    # Two triangles in one array: [i, j] with j <= i is the sum; [j, i + 1] is for a factor of it.
    cdef double[:, ::1] matrix

    cdef int add(self, const int32_t[::1] samples, double sign) except -1
    cdef bint is_single(self) noexcept nogil
    cdef void _add(self, const int32_t[::1] samples, double sign) noexcept nogil
