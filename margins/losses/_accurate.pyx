"""Scores of samples in twice the working precision, and the quadratic form of a kernel matrix.

The problem: given weights w (of the features, or c_j of the samples of a kernel) and a bias b, find

    f_k = w.x_k + b        or, over the rows of a kernel,   f_k = sum_j c_j K(x_j, x_k) + b

as unevaluated sums high_k + low_k whose relative error matches twice the working precision. With
them 1 - f_k keeps its digits where f_k is close to 1.

Source: Ogita, Rump & Oishi (2005), Accurate Sum and Dot Product, Algorithm 5.3 (Dot2).
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fma
from libc.stdint cimport int8_t, int32_t

import numpy as np

from margins._limits cimport SAMPLES_PER_SIGNAL_CHECK
from margins._sparse cimport Rows, nonzeros


cdef inline void _add(double x, double* high, double* low) noexcept nogil:
    """high + low += x; what `high` rounds off goes to `low`."""
    cdef double total = high[0] + x
    cdef double part = total - high[0]
    low[0] += (high[0] - (total - part)) + (x - part)
    high[0] = total


cdef inline void _add_product(double x, double y, double* high, double* low) noexcept nogil:
    cdef double product = x * y
    low[0] += fma(x, y, -product)
    _add(product, high, low)


cdef inline void _normalise(double* high, double* low) noexcept nogil:
    """Leave in `high` the sum, and in `low` what it rounds off."""
    cdef double total = high[0] + low[0]
    low[0] += high[0] - total
    high[0] = total


def label_sum(const double[::1] dual not None, const int8_t[::1] labels not None):
    """Return sum_k alpha_k l_k in twice the working precision (float)."""
    cdef double high = 0, low = 0
    cdef Py_ssize_t k
    with nogil:
        for k in range(dual.shape[0]):
            _add(labels[k] * dual[k], &high, &low)
    return high + low


def scores(Rows rows not None, const double[::1] weights not None, double bias):
    """Return the scores of all rows, for linear data."""
    cdef Py_ssize_t i, k, n, begin, end, longest = rows.longest() + 1
    high_array, low_array = np.empty(rows.n_rows), np.empty(rows.n_rows)
    cdef double[::1] high = high_array, low = low_array, values = np.empty(longest)
    cdef int32_t[::1] columns = np.empty(longest, dtype=np.int32)
    for begin, end in rows.parts():
        for k in range(begin, end):
            with nogil:
                high[k], low[k] = bias, 0
                n = nonzeros(rows, k, &values[0], &columns[0])
                for i in range(n):
                    _add_product(values[i], weights[columns[i]], &high[k], &low[k])
                _normalise(&high[k], &low[k])
            if k % SAMPLES_PER_SIGNAL_CHECK == 0:
                PyErr_CheckSignals()
    return high_array, low_array


def kernel_scores(
    Rows rows not None, const double[::1] coefficients not None, double bias, const double[:, ::1] matrix=None
):
    """Return the scores of all samples of a kernel, and |w|^2, from the rows of samples with coefficients."""
    cdef Py_ssize_t j, k, m = rows.n_rows
    high_array, low_array = np.zeros(m), np.zeros(m)
    cdef double[::1] high = high_array, low = low_array, computed_row = np.empty(m)
    cdef const double* row = &computed_row[0]
    cdef double sqnorm = 0, rest = 0
    if matrix is not None and (matrix.shape[0] != m or matrix.shape[1] != m):
        raise ValueError(f"matrix must have shape {(m, m)}. Got {(matrix.shape[0], matrix.shape[1])}.")
    for j in range(m):
        if coefficients[j] == 0:
            continue
        with nogil:
            if matrix is None:
                computed_row[:] = 0
                rows.kernel_axpy(j, 1, &computed_row[0])
            else:
                row = &matrix[j, 0]
            for k in range(m):
                _add_product(coefficients[j], row[k], &high[k], &low[k])
        rows.check()
        PyErr_CheckSignals()
    with nogil:
        for k in range(m):
            _normalise(&high[k], &low[k])
            _add_product(coefficients[k], high[k], &sqnorm, &rest)
            rest += coefficients[k] * low[k]
            _add(bias, &high[k], &low[k])
            _normalise(&high[k], &low[k])
    return high_array, low_array, max(sqnorm + rest, 0)
