# cython: language_level=3
"""The elements of one sample, for loops that read each of them many times."""

from libc.stdint cimport int32_t
from margins.data._binary_data cimport BinaryData


cdef class Elements:
    cdef BinaryData data
    cdef double rho
    cdef const double[::1] centre   # features are measured from this; None: from 0
    cdef double[::1] values
    cdef int32_t[::1] columns
    cdef bint is_whole              # the columns are all columns, in order

    cdef Py_ssize_t read(self, Py_ssize_t k) noexcept nogil
