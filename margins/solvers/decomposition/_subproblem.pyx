"""The subproblem of a working set W, with all other dual variables fixed.

The problem, with signed dual variables b_i = l_i alpha_i: minimise over their steps d_i, i in W,

    f(d) = d.g + d.(Q + rho^2 + diag(D)) d / 2,   lower_i <= d_i <= upper_i,   Q_ij = K(x_i, x_j),

where g is the gradient of the negative dual objective, and the bounds keep 0 <= l_i (b_i + d_i) <= U_i. If the
intercept is free, sum_i d_i = 0, and rho^2 does not matter. Given: Q, rho^2, D, g and the bounds. Left in place: d.
Returned: the number of pairs.

Steps move pairs of variables (`_pairs`), in single precision: they are relative to the dual variables that the
caller keeps in double precision.

W is chosen by optimality: given v_k = sum_j alpha_j l_j K(x_j, x_k) and an intercept b, the gradient is

    G_k = p_k + D_k alpha_k - 1,   p_k = l_k (v_k + b),

and alpha_k is optimal if G_k = 0, or if it is at a bound that G_k does not let it leave. A step of this variable
alone gains about G_k^2 / (K(x_k, x_k) + D_k).

Source: Joachims (1999), Making large-scale SVM learning practical, section 3.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from margins.linalg._vectorised cimport add_four_rows
from margins.solvers.decomposition._pairs cimport diagonal_of, move_balanced_pairs, move_pairs

import numpy as np

cdef enum:
    BLOCK = 2048        # columns that are summed together, so that they stay in the cache
    TILE = 32           # rows that are mirrored together

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define MARGINS_RESTRICT __restrict__
    #else
    #define MARGINS_RESTRICT
    #endif

    MARGINS_VECTORISED
    static void margins_gather(float *MARGINS_RESTRICT q, const float *MARGINS_RESTRICT row,
                               const int32_t *MARGINS_RESTRICT columns, int64_t n)
    {
        for (int64_t j = 0; j < n; j++)
            q[j] = row[columns[j]];
    }
    """
    void gather "margins_gather"(float* q, const float* row, const int32_t* columns, int64_t n) noexcept nogil


def sub_gram(
    const float[:, ::1] slots, const int32_t[::1] slots_of_set, const int32_t[::1] working_set,
    const float[:, ::1] last, const int32_t[::1] places, float scale, float[:, ::1] Q
):
    """Write Q, the kernel values times `scale`, of which only rows of new samples are read."""
    cdef Py_ssize_t i, j, begin, end, n = working_set.shape[0], n_kept = places.shape[0]
    with nogil:
        for i in range(n_kept):
            gather(&Q[i, 0], &last[places[i], 0], &places[0], n_kept)
        for i in range(n_kept, n):
            gather(&Q[i, 0], &slots[slots_of_set[i], 0], &working_set[0], i + 1)
            if scale != 1:
                for j in range(i + 1):
                    Q[i, j] *= scale
        # Q is symmetric. It is mirrored in squares, which stay in the cache.
        begin = n_kept
        while begin < n:
            end = min(begin + <Py_ssize_t> TILE, n)
            for i in range(end):
                for j in range(max(begin, i + 1), end):
                    Q[i, j] = Q[j, i]
            begin = end


def minimise(
    const float[:, ::1] Q, float sq_intercept_scaling, const float[::1] diag, float[::1] g, float[::1] d,
    const float[::1] lower, const float[::1] upper, float reduction, Py_ssize_t max_pairs
):
    """Minimise f until no step decreases it by more than `reduction` times the first; return the pairs moved."""
    cdef const float[::1] diagonal = diagonal_of(Q, sq_intercept_scaling, diag)
    cdef const float[::1] inverse = 1 / np.asarray(diagonal)
    cdef float[::1] gains = np.empty(g.shape[0], np.float32)
    cdef Py_ssize_t n_pairs
    with nogil:
        n_pairs = move_pairs(
            Q, sq_intercept_scaling, diag, g, d, lower, upper, diagonal, inverse, gains, reduction, max_pairs
        )
    return n_pairs


def minimise_balanced(
    const float[:, ::1] Q, const float[::1] diag, float[::1] F, float[::1] d, const float[::1] lower,
    const float[::1] upper, float reduction, Py_ssize_t max_pairs
):
    """Minimise f with the constraint sum_i d_i = 0, as in `move_balanced_pairs`; return the pairs moved."""
    cdef const float[::1] diagonal = diagonal_of(Q, 0, diag)
    cdef float[::1] gains = np.empty(F.shape[0], np.float32)
    cdef Py_ssize_t n_pairs
    with nogil:
        n_pairs = move_balanced_pairs(Q, diag, F, d, lower, upper, diagonal, gains, reduction, max_pairs)
    return n_pairs


def add_rows(
    const float[:, ::1] slots, const int32_t[::1] slots_of_rows, const double[::1] coefficients, double[::1] v,
    Py_ssize_t begin, Py_ssize_t end
):
    """Add the sum of coefficients_i times row i to v, for the elements from `begin` until `end`."""
    cdef Py_ssize_t i, j, length, n = slots_of_rows.shape[0]
    cdef (const float*)[4] rows
    cdef double[4] c
    with nogil:
        while begin < end:
            length = min(<Py_ssize_t> BLOCK, end - begin)
            for i in range(0, n, 4):
                for j in range(4):
                    rows[j] = &slots[slots_of_rows[min(i + j, n - 1)], begin]
                    c[j] = coefficients[i + j] if i + j < n else 0
                add_four_rows(&v[begin], rows[0], rows[1], rows[2], rows[3], c[0], c[1], c[2], c[3], length)
            begin += length


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
