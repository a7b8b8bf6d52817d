# cython: language_level=3
"""A stored Hessian."""

from libc.stdint cimport int32_t
from margins.solvers.newton._hessian cimport Hessian
from margins.solvers.newton._dense_block cimport DenseBlock
from margins._update cimport BinaryData


cdef class DenseHessian(Hessian):
    # Two triangles in one array: the sum in [i, j], its Cholesky factor in [j, i + 1], j <= i.
    cdef double[:, ::1] sum
    cdef DenseBlock block           # of dense samples; otherwise None

    cdef void _add(self, Py_ssize_t k, double sign) noexcept nogil
    cdef void _sum_in_double(self) noexcept nogil
    cdef void _centre(self, double[::1] vector, double change) noexcept nogil
    cdef void _uncentre(self, double[::1] vector) noexcept nogil
    cdef double _penalty(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef bint _is_single(self) noexcept nogil
    cdef bint _factorise(self, double factor) noexcept nogil
    cdef bint _is_trusted(self, double factor) noexcept nogil
