"""The path of a solution while some dual variables are lowered to 0, by pivots of its response.

The problem: given the response T of a solution over some samples, of which one variable each moves and
the other is fixed, moves = T (changes of the fixed ones), lower the dual variables of a group together.
Whenever a moving variable reaches a bound, the sample changes sides, and its two variables swap roles.

Source: Cauwenberghs & Poggio (2000), appendix A; Keller (1973), The general quadratic optimization
problem, for the principal pivot.
"""

from libc.math cimport INFINITY

# Of the last sample that is FREE, the pivot is 0 but for rounding.
cdef double SMALLEST_PIVOT = 1e-9

cpdef enum:
    ZERO  # alpha is 0, sigma moves and is at least 1
    FREE  # sigma is 1, alpha moves within its bounds
    UPPER  # alpha is at its upper bound, sigma moves and is at most 1


def follow(
    double[:, ::1] response,
    double[::1] moving,
    signed char[::1] sides,
    const double[::1] upper,
    const double[::1] sizes,
    const double[::1] lowered,
    double[::1] rates,
    int max_pivots,
):
    """Follow the path to its end. `response`, `moving`, `sides` and `rates` are overwritten.

    Parameters
    ----------
    response : ndarray of float64, shape (n, n)
    moving : ndarray of float64, shape (n,)
        alpha of the samples that are FREE, sigma of all others.
    sides : ndarray of int8, shape (n,)
        ZERO, FREE or UPPER.
    upper : ndarray of float64, shape (n,)
        Upper bounds of alpha.
    sizes : ndarray of float64, shape (n,)
        M_kk, in units of which pivots of samples that are FREE are at least about 1.
    lowered : ndarray of float64, shape (n_group,)
        alpha of the first samples, the group. Those of no other sample are forced.
    rates : ndarray of float64, shape (n,)
        Working memory.
    max_pivots : int

    Returns
    -------
    int
        The number of pivots; -1 if there would have been more, or one that is not positive.

    Notes
    -----
    If the intercept is free, the last sample that is FREE cannot leave: its alpha follows from those of
    the others, and its pivot is 0. Then the intercept moves, until another sample takes its place.
    """
    cdef int n_pivots
    with nogil:
        n_pivots = _follow(response, moving, sides, upper, sizes, lowered, rates, max_pivots)
    return n_pivots


cdef int _follow(
    double[:, ::1] response,
    double[::1] moving,
    signed char[::1] sides,
    const double[::1] upper,
    const double[::1] sizes,
    const double[::1] lowered,
    double[::1] rates,
    int max_pivots,
) noexcept nogil:
    cdef Py_ssize_t n = moving.shape[0], n_group = lowered.shape[0], k, g, first
    cdef double position = 0, step
    cdef int n_pivots = 0
    cdef bint is_free
    for g in range(n_group):
        if sides[g] == FREE:
            if response[g, g] * sizes[g] < SMALLEST_PIVOT:
                if not _replace(response, moving, sides, upper, rates, n_group, g, -1.0):
                    return -1
            elif not _pivot(response, g):
                return -1
            sides[g] = UPPER
    while True:
        for k in range(n):
            rates[k] = 0
            for g in range(n_group):
                rates[k] -= response[k, g] * lowered[g]
        first = _first(moving, rates, sides, upper, n_group, -1, &step)
        if position + step >= 1:
            return n_pivots
        position += step
        for k in range(n):
            moving[k] += step * rates[k]
        if n_pivots == max_pivots:
            return -1
        n_pivots += 1
        is_free = sides[first] == FREE
        if is_free:
            sides[first] = UPPER if rates[first] > 0 else ZERO
            if response[first, first] * sizes[first] < SMALLEST_PIVOT:
                step = 1.0 if sides[first] == ZERO else -1.0
                if not _replace(response, moving, sides, upper, rates, n_group, first, step):
                    return -1
                continue
        if not _pivot(response, first):
            return -1
        if is_free:
            moving[first] = 1.0
        else:
            moving[first] = upper[first] if sides[first] == UPPER else 0.0
            sides[first] = FREE


cdef Py_ssize_t _first(
    const double[::1] moving,
    const double[::1] rates,
    const signed char[::1] sides,
    const double[::1] upper,
    Py_ssize_t n_group,
    Py_ssize_t but,
    double* step,
) noexcept nogil:
    """The sample outside the group, and other than `but`, whose moving variable reaches a bound first."""
    cdef Py_ssize_t first = -1, k
    cdef double length
    step[0] = INFINITY
    for k in range(n_group, moving.shape[0]):
        if k != but:
            length = _room(moving[k], rates[k], sides[k], upper[k])
            if length < step[0]:
                step[0], first = length, k
    step[0] = max(step[0], 0.0)
    return first


cdef bint _replace(
    double[:, ::1] response,
    double[::1] moving,
    signed char[::1] sides,
    const double[::1] upper,
    double[::1] rates,
    Py_ssize_t n_group,
    Py_ssize_t k,
    double direction,
) noexcept nogil:
    """Let sigma_k move up or down, until another sample becomes FREE in the place of k: True; False if
    none does."""
    cdef Py_ssize_t n = moving.shape[0], i, other
    cdef double step, alpha
    for i in range(n):
        rates[i] = direction * response[i, k]
    other = _first(moving, rates, sides, upper, n_group, k, &step)
    if other < 0:
        return False
    for i in range(n):
        moving[i] += step * rates[i]
    alpha = upper[other] if sides[other] == UPPER else 0.0
    if sides[other] == FREE or not (_pivot(response, other) and _pivot(response, k)):
        return False
    moving[other], sides[other] = alpha, FREE
    moving[k] = 1 + direction * step
    return True


cdef inline double _room(double value, double rate, signed char side, double upper) noexcept nogil:
    """How far the path goes until a moving variable reaches a bound."""
    if rate > 0:
        if side == FREE:
            return (upper - value) / rate
        return (1 - value) / rate if side == UPPER else INFINITY
    if rate < 0:
        if side == FREE:
            return value / -rate
        return (value - 1) / -rate if side == ZERO else INFINITY
    return INFINITY


cdef bint _pivot(double[:, ::1] response, Py_ssize_t k) noexcept nogil:
    """Swap the roles of the two variables of sample k: True; False if the pivot is not positive."""
    cdef Py_ssize_t n = response.shape[0], i, j
    cdef double pivot = response[k, k], factor
    if not pivot > 0:
        return False
    for j in range(n):
        response[k, j] /= -pivot
    response[k, k] = 1 / pivot
    for i in range(n):
        if i != k:
            factor = response[i, k]
            response[i, k] = 0
            for j in range(n):
                response[i, j] += factor * response[k, j]
    return True
