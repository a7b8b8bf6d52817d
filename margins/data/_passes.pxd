# cython: language_level=3
"""Passes over samples: one of them in a product with a vector, or in a linear combination."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t
from margins._sparse cimport axpy, dot
from margins.data._binary_data cimport BinaryData


cdef inline double bias_of(BinaryData data, const double[::1] vector) noexcept nogil:
    """What the intercept adds to every product with a vector."""
    return sqrt(data.sq_intercept_scaling) * vector[data.rows.n_features] if data.sq_intercept_scaling > 0 else 0


cdef inline double product_of(BinaryData data, Py_ssize_t k, const double* v, double bias) noexcept nogil:
    """w.y_k, given the weights of the features and `bias_of` the vector."""
    return data.labels[k] * (dot(data.rows, k, v) + bias)


cdef inline double add_sample(BinaryData data, Py_ssize_t k, double alpha, double* v) noexcept nogil:
    """Add alpha y_k to the weights of the features; return what it adds to the sum of alpha_k l_k."""
    if alpha == 0:
        return 0
    alpha *= data.labels[k]
    axpy(data.rows, k, alpha, v)
    return alpha


cdef bint is_one_block(BinaryData data)

cdef int set_products(BinaryData data, const int32_t[::1] samples, const double[::1] vector, double[::1] out) except -1

cdef int set_combination(BinaryData data, const int32_t[::1] samples, const double[::1] dual, double[::1] out) except -1
