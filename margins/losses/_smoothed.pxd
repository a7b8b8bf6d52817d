"""The smooth losses that Newton steps minimise."""

from libc.stdint cimport int8_t


cdef class SmoothLoss:
    cdef double[::1] centre                      # None: 0
    cdef const double[::1] upper, curvature      # of every sample, or BLOCK times the value of all
    cdef Py_ssize_t upper_step, curvature_step   # 1, or 0 if all samples have the same value
    cdef readonly double factor
    cdef readonly bint is_smoothed
    cdef bint has_upper_bounds
    cdef list parts     # (slice, SmoothLoss) of each block of samples; None: there is only one

    cdef const double* upper_of(self, Py_ssize_t begin) noexcept nogil
    cdef const double* curvature_of(self, Py_ssize_t begin) noexcept nogil
    cdef const double* centre_of(self, Py_ssize_t begin) noexcept nogil
    cdef double dual_variables(
        self, const double[::1] products, double[::1] dual, int8_t[::1] free, double* total
    ) except? -1 nogil
    cdef double dual_of_block(
        self, Py_ssize_t begin, Py_ssize_t n, const double[::1] products, double[::1] dual, int8_t[::1] free,
        double* total
    ) noexcept nogil
    cdef int derivatives(
        self, const double[::1] products, const double[::1] trial, double t, double* first, double* second
    ) except -1 nogil
    cdef double best_shift(self, const double[::1] products, const int8_t[::1] labels, double excess) except? -1 nogil
    cdef double _to_middle(self, const double[::1] products, const int8_t[::1] labels, double shift) noexcept nogil
    cdef int _balance(
        self, const double[::1] products, const int8_t[::1] labels, double shift, double* balance,
        double* total, double* second
    ) except -1 nogil
    cdef double line_search(
        self, const double[::1] products, const double[::1] trial, double linear, double square, double slope
    ) except? -1 nogil
