"""Votes of all hypotheses of a run on new points.

The problem: k mistakes define k + 1 hypotheses, each of which adds one sample to the previous one. The list of
mistakes replaces k weight vectors. Given the products of a new point x with all distinct misclassified samples,
return its votes:

    s_0 = -theta,   s_i = s_{i-1} + c_{j_i} l_{j_i} (K(x_{j_i}, x) + rho^2),   votes(x) = sum_i vote_i sign(s_i)

with sign(0) = 0 and c_j the weight of sample j. With many points, each step is one pass over contiguous numbers.

Source: Khardon & Wachman (2007), section 2.3; Freund & Schapire (1999).
"""

from libc.stdint cimport int32_t, int64_t

import numpy as np


cdef inline double _sign(double s) noexcept nogil:
    return <double> (s > 0) - <double> (s < 0)


def count_votes(const double[:, ::1] products, const int32_t[::1] mistakes, const double[::1] labels,
                const double[::1] votes, double theta, double sq_intercept_scaling) -> NDArray[np.float64]:
    """Return the votes of all hypotheses on some points."""
    cdef Py_ssize_t i, j, row, n = products.shape[1]
    cdef double step, label, vote = votes[0]
    result = np.full(n, vote * _sign(-theta))
    cdef double[::1] total = result
    cdef double[::1] s = np.full(n, -theta)
    with nogil:
        for i in range(mistakes.shape[0]):
            row = mistakes[i]
            label = labels[row]
            step = label * sq_intercept_scaling
            vote = votes[i + 1]
            for j in range(n):
                s[j] += label * products[row, j] + step
            if vote:
                for j in range(n):
                    total[j] += vote * _sign(s[j])
    return result


def tail_errors(
    const double[:, ::1] products, const int32_t[::1] mistakes, const double[::1] labels, const double[::1] votes,
    double theta, double sq_intercept_scaling, const signed char[::1] truth,
) -> NDArray[np.int64]:
    """Return the errors of voting by the hypotheses from the i-th on, for every i, on labelled points."""
    cdef Py_ssize_t i, j, k = mistakes.shape[0]
    cdef double total
    result = np.zeros(k + 1, dtype=np.int64)
    cdef int64_t[::1] errors = result
    cdef double[::1] s = np.empty(k + 1)
    with nogil:
        for j in range(products.shape[1]):
            s[0] = -theta
            for i in range(k):
                s[i + 1] = s[i] + labels[mistakes[i]] * (products[mistakes[i], j] + sq_intercept_scaling)
            total = 0
            for i in range(k, -1, -1):
                total += votes[i] * _sign(s[i])
                errors[i] += (total > 0) != (truth[j] > 0)
    return result
