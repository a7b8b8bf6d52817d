# cython: language_level=3
"""Samples as dense rows, and the sum of their outer products, by BLAS."""

from libc.stdint cimport int32_t


cdef class DenseBlock:
    cdef float[:, ::1] single_rows, single_sum
    cdef double[:, ::1] double_rows
    cdef Py_ssize_t n_rows      # in the block, not yet added
    cdef Py_ssize_t max_rows
    cdef bint is_double

    cdef bint append(self, const double* values, const int32_t* columns, Py_ssize_t n, double factor) noexcept nogil
    cdef void flush(self, double sign, double[:, ::1] total) noexcept nogil
