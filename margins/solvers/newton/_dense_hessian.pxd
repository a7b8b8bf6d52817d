"""A stored Hessian."""

from libc.stdint cimport int32_t
from margins.solvers.newton._hessian cimport Hessian
from margins.solvers.newton._outer_sum cimport OuterSum


cdef class DenseHessian(Hessian):
    cdef const double[::1] centre   # features are measured from this; None: from 0
    cdef OuterSum sum               # holds the Cholesky factor, too
    cdef int32_t[:, ::1] changing   # a buffer: samples that a step subtracts, and samples that it adds

    cdef int _sum_in_double(self) except -1
    cdef void _centre(self, double[::1] vector, double change) noexcept nogil
    cdef void _uncentre(self, double[::1] vector) noexcept nogil
    cdef double _penalty(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef bint _factorise(self, double factor)
    cdef bint _is_trusted(self, double factor)
