"""Passes over samples: products with a vector, and linear combinations.

The samples are y_k = l_k [x_k, rho]. Vectors have an element for every feature and, with an intercept, one
more. Threads share the blocks of a pass. Sums over blocks are added in order, so that they do not depend on
the number of threads (`margins.linalg.threads`).
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from margins._sparse cimport Rows, axpy, dense_start, dot, is_dense
from margins.data._binary_data cimport BinaryData
from margins.data._passes cimport bias_of
from margins.linalg._sums cimport BLOCK
from margins.linalg._vectorised cimport add_rows, add_single_rows, dots_of_rows, dots_of_single_rows

import numpy as np

from margins.linalg.threads import MIN_SHARED, blocks_of_rows, current_team, sum_in_order

cdef Py_ssize_t ONE_BLOCK = MIN_SHARED


# Rows with fewer elements are not vectorised.
cdef Py_ssize_t MIN_VECTOR = 8


cdef inline bint _is_vectorised(Rows rows) noexcept nogil:
    return is_dense(rows) and rows.column_step == 1 and rows.n_features >= MIN_VECTOR


cdef void set_block(
    BinaryData data, const int32_t* samples, Py_ssize_t n, const double* v, double bias, double* out
) noexcept nogil:
    cdef int64_t[BLOCK] starts
    cdef Py_ssize_t i, d = data.rows.n_features
    if not _is_vectorised(data.rows):
        for i in range(n):
            out[i] = data.labels[samples[i]] * (dot(data.rows, samples[i], v) + bias)
        return
    for i in range(n):
        starts[i] = dense_start(data.rows, samples[i])
    if data.rows.values64 is not None:
        dots_of_rows(&data.rows.values64[0], starts, n, d, v, out)
    else:
        dots_of_single_rows(&data.rows.values32[0], starts, n, d, v, out)
    for i in range(n):
        out[i] = data.labels[samples[i]] * (out[i] + bias)


cdef double add_block(
    BinaryData data, const int32_t* samples, Py_ssize_t n, const double* dual, double* v
) noexcept nogil:
    cdef int64_t[BLOCK] starts
    cdef double[BLOCK] coefficients
    cdef Py_ssize_t i, n_kept = 0, d = data.rows.n_features
    cdef bint is_vectorised = _is_vectorised(data.rows)
    cdef double c, label_sum = 0
    for i in range(n):
        if dual[i] == 0:
            continue
        c = dual[i] * data.labels[samples[i]]
        label_sum += c
        if is_vectorised:
            starts[n_kept], coefficients[n_kept] = dense_start(data.rows, samples[i]), c
            n_kept += 1
        else:
            axpy(data.rows, samples[i], c, v)
    if n_kept > 0 and data.rows.values64 is not None:
        add_rows(&data.rows.values64[0], starts, n_kept, d, coefficients, v)
    elif n_kept > 0:
        add_single_rows(&data.rows.values32[0], starts, n_kept, d, coefficients, v)
    return label_sum


cdef bint is_one_block(BinaryData data):
    """Return whether every pass is one block: the Python calls for several blocks slow down small fits."""
    return data.rows.n_stored < ONE_BLOCK


def products(BinaryData data not None, samples not None, vector not None):
    """Return w.y_k of some samples (ndarray of float64)."""
    result = np.empty(len(samples))
    set_products(data, samples, vector, result)
    return result


cdef int set_products(BinaryData data, const int32_t[::1] samples, const double[::1] vector, double[::1] out) except -1:
    """Set `out` to the products of some samples."""
    if is_one_block(data):
        _set_products(data, samples, vector, out)
        return 0
    chosen, result = np.asarray(samples), np.asarray(out)

    def of_block(block):
        _set_products(data, chosen[block], vector, result[block])

    current_team().map(of_block, blocks_of_rows(data.rows, len(chosen)))
    return 0


cpdef _set_products(BinaryData data, const int32_t[::1] samples, const double[::1] vector, double[::1] out):
    cdef double bias = bias_of(data, vector)
    cdef Py_ssize_t i = 0
    with nogil:
        while i < samples.shape[0]:
            set_block(data, &samples[i], min(BLOCK, samples.shape[0] - i), &vector[0], bias, &out[i])
            i += BLOCK


def combination(BinaryData data not None, samples not None, dual not None):
    """Return sum_k alpha_k y_k over some samples (ndarray of float64)."""
    result = np.empty(data.rows.n_features + (data.sq_intercept_scaling > 0))
    set_combination(data, samples, dual, result)
    return result


cdef int set_combination(
    BinaryData data, const int32_t[::1] samples, const double[::1] dual, double[::1] out
) except -1:
    """Set `out` to the combination of some samples."""
    cdef const double[::1] total
    if is_one_block(data):
        _set_combination(data, samples, dual, out)
        return 0
    chosen, coefficients = np.asarray(samples), np.asarray(dual)

    def of_block(block):
        part = np.empty(out.shape[0])
        _set_combination(data, chosen[block], coefficients[block], part)
        return part

    blocks = blocks_of_rows(data.rows, len(chosen), data.rows.n_features)
    total = sum_in_order(current_team().map(of_block, blocks))
    out[:] = total
    return 0


cpdef _set_combination(BinaryData data, const int32_t[::1] samples, const double[::1] dual, double[::1] out):
    cdef Py_ssize_t i = 0
    cdef double label_sum = 0
    with nogil:
        out[:] = 0
        while i < samples.shape[0]:
            label_sum += add_block(data, &samples[i], min(BLOCK, samples.shape[0] - i), &dual[i], &out[0])
            i += BLOCK
        if data.sq_intercept_scaling > 0:
            out[data.rows.n_features] += sqrt(data.sq_intercept_scaling) * label_sum


def mean_of(data, step=1):
    """Return the mean of the features of every `step`-th sample (ndarray of float64, shape (n_features,))."""
    samples = np.arange(0, len(data), step, dtype=np.int32)
    return combination(data, samples, data.signs[::step] / len(samples))[: data.rows.n_features]
