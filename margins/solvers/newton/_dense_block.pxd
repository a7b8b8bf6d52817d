# cython: language_level=3
"""Patterns as dense rows, and the sum of their outer products, by BLAS."""

from libc.stdint cimport int32_t


cdef class DenseBlock:
    cdef float[:, ::1] single_rows, single_sum
    cdef double[:, ::1] double_rows
    cdef Py_ssize_t n_rows      # so many are waiting
    cdef Py_ssize_t room
    cdef bint is_double

    cdef bint append(
        self, const double* values, const int32_t* columns, Py_ssize_t n, double factor
    ) noexcept nogil
    cdef void flush(self, double sign, double[:, ::1] total) noexcept nogil
