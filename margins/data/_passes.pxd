"""Passes over samples: products with a vector, and linear combinations."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t
from margins.data._binary_data cimport BinaryData


cdef inline double bias_of(BinaryData data, const double[::1] vector) noexcept nogil:
    """What the intercept adds to every product with a vector."""
    return sqrt(data.sq_intercept_scaling) * vector[data.rows.n_features] if data.sq_intercept_scaling > 0 else 0


# For at most BLOCK samples: set `out` to w.y_k, given the weights of the features and `bias_of` the vector.
cdef void set_block(
    BinaryData data, const int32_t* samples, Py_ssize_t n, const double* v, double bias, double* out
) noexcept nogil

# For at most BLOCK samples: add alpha_k y_k to the weights of the features; return their sum of alpha_k l_k.
cdef double add_block(
    BinaryData data, const int32_t* samples, Py_ssize_t n, const double* dual, double* v
) noexcept nogil

cdef bint is_one_block(BinaryData data)

cdef int set_products(BinaryData data, const int32_t[::1] samples, const double[::1] vector, double[::1] out) except -1

cdef int set_combination(BinaryData data, const int32_t[::1] samples, const double[::1] dual, double[::1] out) except -1
