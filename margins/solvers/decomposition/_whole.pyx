"""The dual of few samples, with the whole kernel matrix in memory: from any start to a gap, in one loop.

The problem, with signed dual variables b_k = l_k alpha_k and u = (K + rho^2 + diag(D)) b:

    min b.u / 2 - l.b,   0 <= l_k b_k <= U_k,   and, if the intercept is free, sum_k b_k = 0.

Given: K in single precision, b and u. Left in place: b and u, whose gap is at most the required gap unless the
limit on pairs is reached or nothing moves. Returned: the pairs moved, and the relative duality gap.

In each round pairs move in single precision (`_pairs`), relative to the start of the round. Then b and u are
updated in double precision, and the gap is computed. A loss with D_k and U_k has the value

    h(s) = max over 0 <= a <= U of a s - D a^2 / 2,   s = 1 - p,

for a sample with the functional margin p. A free intercept is the middle of the interval in which no pair can gain.
"""

from libc.math cimport INFINITY, fmax, fmin
from margins.linalg._vectorised cimport add_four_rows
from margins.solvers.decomposition._pairs cimport LazyRows, diagonal_of, move_balanced_pairs, move_pairs

import numpy as np


def minimise_whole(
    const float[:, ::1] K, double sq_intercept_scaling, const double[::1] signs, double[::1] b, double[::1] u,
    const double[::1] upper, const double[::1] diag, bint has_free_intercept,
    double required_gap, float reduction, Py_ssize_t max_pairs, Py_ssize_t max_of_round=0
):
    """Move pairs until the gap is at most the required gap; see above.

    max_of_round: after this many pairs b, u and the gap are computed again in any case; 0: after max_pairs.
    """
    cdef double gap = INFINITY
    cdef Py_ssize_t n = 1, n_pairs = 0
    cdef float[:, ::1] work = np.empty((N_WORK, b.shape[0]), np.float32)
    cdef float rho2 = 0 if has_free_intercept else sq_intercept_scaling
    cdef const float[::1] D = np.asarray(diag).astype(np.float32), diagonal = diagonal_of(K, rho2, D)
    with nogil:
        while gap > required_gap and n > 0 and n_pairs < max_pairs:
            n = minimise_rows(
                K, NULL, rho2, signs, b, u, upper, diag, D, diagonal, has_free_intercept, required_gap, reduction,
                min(max_of_round or max_pairs, max_pairs - n_pairs), work, &gap
            )
            n_pairs += n
    return n_pairs, gap


cdef Py_ssize_t minimise_rows(
    const float[:, ::1] K, const LazyRows* lazy, float rho2, const double[::1] signs, double[::1] b, double[::1] u,
    const double[::1] upper, const double[::1] diag, const float[::1] D, const float[::1] diagonal,
    bint has_free_intercept, double required_gap, float reduction, Py_ssize_t max_pairs, float[:, ::1] work,
    double* gap
) noexcept nogil:
    """Do so with rows of K that may be filled on demand; `diagonal` is that of K + rho^2 + diag(D)."""
    cdef Py_ssize_t k, n, n_pairs = 0, m = b.shape[0]
    cdef double intercept = 0
    cdef float[::1] F = work[0], steps = work[1], lower = work[2], above = work[3], gains = work[4], inverse = work[5]
    for k in range(m):
        inverse[k] = 1 / diagonal[k]
    while True:
        gap[0] = _gap(signs, b, u, upper, diag, has_free_intercept, &intercept)
        if gap[0] <= required_gap or n_pairs >= max_pairs:
            break
        for k in range(m):
            F[k], steps[k] = <float> (signs[k] - u[k] - intercept), 0
            lower[k] = <float> (-b[k] if signs[k] > 0 else -upper[k] - b[k])
            above[k] = <float> (upper[k] - b[k] if signs[k] > 0 else -b[k])
        if has_free_intercept:
            n = move_balanced_pairs(
                K, D, F, steps, lower, above, diagonal, gains, reduction, max_pairs - n_pairs, lazy
            )
        else:
            for k in range(m):
                F[k] = -F[k]
            n = move_pairs(
                K, rho2, D, F, steps, lower, above, diagonal, inverse, gains, reduction, max_pairs - n_pairs, lazy
            )
        if n == 0 or not _take(K, rho2, signs, b, u, upper, diag, steps, lower, above):
            break
        n_pairs += n
    return n_pairs


cdef double _gap(
    const double[::1] signs, const double[::1] b, const double[::1] u, const double[::1] upper,
    const double[::1] diag, bint has_free_intercept, double* free_intercept
) noexcept nogil:
    """Return the relative duality gap, and set `free_intercept` if the intercept is free."""
    cdef Py_ssize_t k, m = b.shape[0]
    cdef double total = 0, product = 0, square = 0, loss = 0, least = INFINITY, high = -INFINITY, low = INFINITY
    cdef double intercept = 0, slope, slack, a, dual, scale = 1
    cdef bint is_positive
    if has_free_intercept:
        for k in range(m):
            slope = signs[k] - u[k]
            is_positive = signs[k] > 0
            if (b[k] < upper[k] if is_positive else b[k] < 0) and slope > high:
                high = slope
            if (b[k] > 0 if is_positive else b[k] > -upper[k]) and slope < low:
                low = slope
        intercept = 0.5 * (high + low) if high > -INFINITY and low < INFINITY else 0
        free_intercept[0] = intercept
    for k in range(m):
        total += signs[k] * b[k]
        product += b[k] * (u[k] - diag[k] * b[k])
        square += diag[k] * b[k] * b[k]
        slack = 1 - signs[k] * (u[k] - diag[k] * b[k] + intercept)
        if upper[k] == INFINITY and diag[k] == 0:
            least = fmin(least, 1 - slack)
        elif slack > 0:
            a = fmin(slack / diag[k], upper[k]) if diag[k] > 0 else upper[k]
            loss += a * (slack - 0.5 * diag[k] * a)
    dual = total - 0.5 * product - 0.5 * square
    if not dual > 0 or least <= 0:
        return INFINITY
    if least < INFINITY:  # a multiple attains the hard margin
        scale = 1 / (least * least)
    return (0.5 * scale * product + loss) / dual - 1


cdef bint _take(
    const float[:, ::1] K, double rho2, const double[::1] signs, double[::1] b, double[::1] u, const double[::1] upper,
    const double[::1] diag, const float[::1] steps, const float[::1] lower, const float[::1] above
) noexcept nogil:
    """Take the steps and update u; return False if no b_k changes, or a step is not finite."""
    cdef Py_ssize_t j, k = 0, n = 0, m = b.shape[0], n_moved = 0
    cdef double after, least, most, total = 0
    cdef (const float*)[4] rows
    cdef double[4] c
    for k in range(m):
        if not -INFINITY < steps[k] < INFINITY:  # beyond single precision: there is no optimum
            return False
    for k in range(m):
        if steps[k] != 0:
            least = 0 if signs[k] > 0 else -upper[k]
            most = upper[k] if signs[k] > 0 else 0
            after = least if steps[k] == lower[k] else most if steps[k] == above[k] else b[k] + steps[k]
            after = fmax(least, fmin(after, most))
            if after != b[k]:
                c[n], rows[n] = after - b[k], &K[k, 0]
                u[k] += diag[k] * c[n]
                total += c[n]
                b[k] = after
                n += 1
                n_moved += 1
        if n == 4 or (k == m - 1 and n > 0):
            for j in range(n, 4):
                c[j], rows[j] = 0, rows[0]
            add_four_rows(&u[0], rows[0], rows[1], rows[2], rows[3], c[0], c[1], c[2], c[3], m)
            n = 0
    for k in range(m):
        u[k] += rho2 * total
    return n_moved > 0
