"""The violation of each dual variable's optimality condition, in one pass over the samples.

The problem: given the products v_k = sum_j alpha_j l_j K(x_j, x_k) and an intercept b, the gradient of the
negative dual objective is

    G_k = p_k + D_k alpha_k - 1,   p_k = l_k (v_k + b),

and alpha_k is optimal if G_k = 0, or if it is at a bound that G_k does not let it leave. A step of this variable
alone gains about G_k^2 / (K(x_k, x_k) + D_k), which determines the choice of working sets.

Source: Joachims (1999), Making large-scale SVM learning practical, section 3.
"""

from libc.math cimport INFINITY

import numpy as np


def gradient_of(
    const double[::1] v, double intercept, const double[::1] signs, const double[::1] alpha,
    const double[::1] upper, const double[::1] diag
):
    """Return functional margins and gradient at an intercept, and the sums that the duality gap needs."""
    cdef Py_ssize_t k, m = v.shape[0]
    cdef double total = 0, product = 0, square = 0, high = -INFINITY, low = INFINITY, distance
    margins_array, gradient_array = np.empty(m), np.empty(m)
    cdef double[::1] margins = margins_array, gradient = gradient_array
    with nogil:
        for k in range(m):
            margins[k] = signs[k] * (v[k] + intercept)
            gradient[k] = margins[k] + diag[k] * alpha[k] - 1
            total += alpha[k]
            product += alpha[k] * margins[k]
            square += diag[k] * alpha[k] * alpha[k]
            distance = -signs[k] * gradient[k]
            if (alpha[k] < upper[k] if signs[k] > 0 else alpha[k] > 0) and distance > high:
                high = distance
            if (alpha[k] > 0 if signs[k] > 0 else alpha[k] < upper[k]) and distance < low:
                low = distance
    return margins_array, gradient_array, (total, product, square), (high, low)


def violations_of(
    double[::1] gradient, double change, const double[::1] signs, const double[::1] alpha,
    const double[::1] upper, const double[::1] diagonal
):
    """Return the gain of each variable's best step after the intercept is changed, 0 if it is optimal."""
    cdef Py_ssize_t k, m = gradient.shape[0]
    result = np.empty(m)
    cdef double[::1] violation = result
    cdef double g
    with nogil:
        for k in range(m):
            gradient[k] += signs[k] * change
            g = gradient[k]
            if (alpha[k] <= 0 and g >= 0) or (alpha[k] >= upper[k] and g <= 0):
                violation[k] = 0
            else:
                violation[k] = g * g / diagonal[k]
    return result
