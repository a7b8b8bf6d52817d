"""A Hessian that is not stored, only multiplied by vectors."""

from libc.stdint cimport int32_t
from margins.data._binary_data cimport BinaryData
from margins.solvers.newton._hessian cimport Elements, Hessian


cdef class HessianVectorProduct(Hessian):
    cdef Elements elements
    cdef int32_t[::1] free          # the free samples
    cdef Py_ssize_t max_read
    cdef double[::1] diagonal       # diagonal of the sum
    cdef double[::1] solution, scaled, direction, image

    cdef int _multiply(self, double factor) except -1
    cdef void _set_product(
        self, BinaryData data, const int32_t[::1] samples, double factor, double[::1] out
    ) noexcept nogil
    cdef double _scale(self, double factor, const double[::1] residual) noexcept nogil
