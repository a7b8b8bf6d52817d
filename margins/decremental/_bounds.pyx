"""Sums over samples that bound a margin in the model without its sample, in one pass.

The problem (see `margins.decremental.bounds`): given dual variables alpha, a direction v, and the margins
s_k = l_k w.x_k + b l_k, compute the difference G of the objectives, the sums over v in the bound, and how
far alpha can move along v and -v.
"""

from libc.math cimport INFINITY, fabs


def sums_of_bounds(
    const double[:, ::1] alpha, const double[:, ::1] directions, const double[:, :] margins,
    const double[::1] roundings, const double[::1] lengths, const Py_ssize_t[::1] groups,
    const Py_ssize_t[::1] left_out, const double[::1] signs, const double[::1] diag, const double[::1] upper,
    bint is_smooth, bint is_free, double unit, double[:, ::1] result,
):
    """Write the sums of some models to `result`, shape (n, 8): one row for each model.

    `left_out` is -1 for a model of all samples; `roundings` bounds the error of a margin for |x| = 1.
    """
    cdef Py_ssize_t row
    cdef double bias
    with nogil:
        for row in range(alpha.shape[0]):
            bias = 0.0
            if is_free:
                bias = _bias(alpha[row], margins[row], groups, left_out[row], signs, diag, upper)
            _sums(
                alpha[row], directions[row], margins[row], roundings[row], lengths, groups, left_out[row],
                signs, diag, upper, is_smooth, bias, unit, &result[row, 0],
            )


cdef double _bias(
    const double[::1] alpha, const double[:] margins, const Py_ssize_t[::1] groups, Py_ssize_t left_out,
    const double[::1] signs, const double[::1] diag, const double[::1] upper,
) noexcept nogil:
    """Return the intercept at which the free support vectors have margin 1 - D_k alpha_k on average.

    Without free support vectors, return the middle of the interval of intercepts for which no sample is on
    the wrong side of its margin.
    """
    cdef Py_ssize_t k, n_free = 0
    cdef double total = 0, lowest = -INFINITY, highest = INFINITY, bias
    for k in range(alpha.shape[0]):
        if upper[k] == 0 or groups[k] == left_out:
            continue
        bias = signs[k] * (1 - diag[k] * alpha[k] - margins[k])
        if 0 < alpha[k] < upper[k]:
            n_free += 1
            total += bias
        elif (signs[k] > 0) == (alpha[k] == 0):
            lowest = max(lowest, bias)
        else:
            highest = min(highest, bias)
    if n_free:
        return total / n_free
    if lowest == -INFINITY:
        return highest if highest < INFINITY else 0.0
    return lowest if highest == INFINITY else 0.5 * (lowest + highest)


cdef void _sums(
    const double[::1] alpha, const double[::1] direction, const double[:] margins, double rounding,
    const double[::1] lengths, const Py_ssize_t[::1] groups, Py_ssize_t left_out, const double[::1] signs,
    const double[::1] diag, const double[::1] upper, bint is_smooth, double bias, double unit, double* result,
) noexcept nogil:
    cdef double gap = 0, rests = 0, rounded = 0, curvature = 0, ahead = INFINITY, behind = INFINITY
    cdef double a, u, v, margin, error, excess, room, multiple = 1
    cdef Py_ssize_t k
    for k in range(alpha.shape[0]):
        a, u, v = alpha[k], upper[k], direction[k]
        if u == 0 or groups[k] == left_out:
            continue
        margin = margins[k] + bias * signs[k]
        error = rounding * lengths[k] + unit * (1 + fabs(bias) + diag[k] * a)
        if is_smooth:
            excess = fabs(diag[k] * a - max(1 - margin, 0.0)) + error
            gap += 0.5 * excess * excess / diag[k] + a * max(margin - 1 + error, 0.0)
        if v != 0:
            rests += v * (1 - diag[k] * a - margin)
            rounded += fabs(v) * error
            curvature += diag[k] * v * v
            room = (u - a) / fabs(v)
            a /= fabs(v)
            ahead = min(ahead, room if v > 0 else a)
            behind = min(behind, a if v > 0 else room)
    if not is_smooth:
        gap = _gap_of_hinge(
            alpha, margins, rounding, lengths, groups, left_out, signs, upper, bias, unit, &multiple
        )
    result[0], result[1], result[2], result[3] = gap, bias, rests, rounded
    result[4], result[5], result[6], result[7] = curvature, ahead, behind, multiple


cdef double _gap_of_hinge(
    const double[::1] alpha, const double[:] margins, double rounding, const double[::1] lengths,
    const Py_ssize_t[::1] groups, Py_ssize_t left_out, const double[::1] signs, const double[::1] upper,
    double bias, double unit, double* best,
) noexcept nogil:
    """Return the difference G of the objectives, with the primal one at w and b or at a multiple t of both:

        (t - 1)^2 |w|^2 + sum_k (u_k - alpha_k) max(0, 1 - t s_k) + alpha_k max(0, t s_k - 1)

    A margin that is 1 up to a rounding error adds u_k times this error, which may be far more than
    alpha_k times. At the smallest multiple at which no sample below its upper bound has a margin less than
    1, the margin adds only alpha_k times the error. `best` is set to the multiple whose G is returned.
    """
    cdef double gap = 0, multiplied = 0, sqnorm = 0, least = 1, multiple, a, room, margin, error
    cdef double error_of_sum = unit * (1 + fabs(bias))
    cdef Py_ssize_t k
    for k in range(alpha.shape[0]):
        if upper[k] > 0 and groups[k] != left_out and alpha[k] < upper[k]:
            error = rounding * lengths[k] + error_of_sum
            least = min(least, margins[k] + bias * signs[k] - error)
    multiple = 1 / max(least, 0.5)
    for k in range(alpha.shape[0]):
        if upper[k] == 0 or groups[k] == left_out:
            continue
        a, room = alpha[k], upper[k] - alpha[k]
        margin, error = margins[k] + bias * signs[k], rounding * lengths[k] + error_of_sum
        sqnorm += a * (margin + error)
        gap += room * max(1 - margin + error, 0.0) + a * max(margin + error - 1, 0.0)
        multiplied += room * max(1 - multiple * (margin - error), 0.0)
        multiplied += a * max(multiple * (margin + error) - 1, 0.0)
    # The square is not halved, because w may be rounded.
    multiplied += (multiple - 1) ** 2 * max(sqnorm, 0.0)
    best[0] = multiple if multiplied < gap else 1
    return min(gap, multiplied)
