"""Passes over samples: products with a vector, and linear combinations.

The samples are y_k = l_k [x_k, rho], and vectors have an element for every feature and, with an intercept,
one more. Threads share the blocks of a pass, and sums over blocks are added in order, so that they do not
depend on the number of threads (`margins.linalg.teams`).
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t
from margins.data._binary_data cimport BinaryData
from margins.data._passes cimport add_sample, bias_of, product_of

import numpy as np

from margins.linalg.teams import MIN_ELEMENTS, blocks_of, current_team, sum_in_order

cdef Py_ssize_t ONE_BLOCK = 2 * MIN_ELEMENTS


cdef bint is_one_block(BinaryData data):
    """True if no pass has several blocks: the calls of Python that they take show in small fits."""
    return data.rows.n_stored < ONE_BLOCK


def blocks_of_pass(BinaryData data, n):
    """The blocks of a pass over n samples: list of slices."""
    return blocks_of(n, data.rows.n_stored * n // max(data.rows.n_rows, 1), data.rows.n_features)


def products(BinaryData data not None, samples not None, vector not None):
    """w.y_k of some samples: ndarray of float64.

    Parameters
    ----------
    data : BinaryData
    samples : ndarray of int32
    vector : ndarray of float64
        w.
    """
    result = np.empty(len(samples))
    if is_one_block(data):
        set_products(data, samples, vector, result)
        return result

    def of_block(block):
        _set_products(data, samples[block], vector, result[block])

    current_team().map(of_block, blocks_of_pass(data, len(samples)))
    return result


cdef void set_products(
    BinaryData data, const int32_t[::1] samples, const double[::1] vector, double[::1] out
) noexcept nogil:
    """Set the products of some samples, of one block."""
    cdef double bias = bias_of(data, vector)
    cdef Py_ssize_t i
    for i in range(samples.shape[0]):
        out[i] = product_of(data, samples[i], &vector[0], bias)


def _set_products(BinaryData data, const int32_t[::1] samples, const double[::1] vector, double[::1] out):
    with nogil:
        set_products(data, samples, vector, out)


def combination(BinaryData data not None, samples not None, dual not None):
    """sum_k alpha_k y_k over some samples: ndarray of float64.

    Parameters
    ----------
    data : BinaryData
    samples : ndarray of int32
    dual : ndarray of float64
        alpha_k of these samples.
    """
    if is_one_block(data):
        return _combination(data, samples, dual)

    def of_block(block):
        return _combination(data, samples[block], dual[block])

    return sum_in_order(current_team().map(of_block, blocks_of_pass(data, len(samples))))


def _combination(BinaryData data, const int32_t[::1] samples, const double[::1] dual):
    result = np.empty(data.rows.n_features + (data.sqrho > 0))
    cdef double[::1] out = result
    with nogil:
        set_combination(data, samples, dual, out)
    return result


cdef void set_combination(
    BinaryData data, const int32_t[::1] samples, const double[::1] dual, double[::1] out
) noexcept nogil:
    """Set the combination of some samples, of one block."""
    cdef Py_ssize_t i
    cdef double label_sum = 0
    out[:] = 0
    for i in range(samples.shape[0]):
        label_sum += add_sample(data, samples[i], dual[i], &out[0])
    if data.sqrho > 0:
        out[data.rows.n_features] += sqrt(data.sqrho) * label_sum


def mean_of(data, step=1):
    """The mean of the features of every `step`-th sample: ndarray of float64, shape (n_features,)."""
    samples = np.arange(0, len(data), step, dtype=np.int32)
    return combination(data, samples, data.signs[::step] / len(samples))[: data.rows.n_features]
