# cython: language_level=3
"""The elements of one sample, for loops that read each many times."""

from libc.stdint cimport int32_t
from margins.data._binary_data cimport BinaryData


cdef class Elements:
    cdef BinaryData data
    cdef double rho
    cdef const double[::1] centre   # from which features are measured; None: from 0
    cdef double[::1] values
    cdef int32_t[::1] columns
    cdef bint is_whole              # the columns are all, in order

    cdef Py_ssize_t read(self, Py_ssize_t k) noexcept nogil
