"""What solvers compute of the `Terms` of a regulariser in each step, in one pass over the weights."""

from libc.math cimport INFINITY, copysign, fabs, fmax, fmin
from libc.stdint cimport int32_t

import numpy as np


cdef inline double _value(double w, double ridge, double l1, double centre, double lower, double upper) noexcept nogil:
    """Return r(w) of one weight."""
    cdef double from_centre = w - centre
    if w < lower or w > upper:
        return INFINITY
    return 0.5 * ridge * from_centre * from_centre + l1 * fabs(from_centre)


def value_of(terms, const double[::1] w not None):
    """Return r(w) (float), as `Terms.value`."""
    cdef const double[::1] ridge, l1, centre, lower, upper
    cdef double total = 0
    cdef Py_ssize_t j
    ridge, l1, centre, lower, upper = terms
    with nogil:
        for j in range(ridge.shape[0]):
            if w[j] != 0 or centre[j] != 0 or lower[j] > 0 or upper[j] < 0:
                total += _value(w[j], ridge[j], l1[j], centre[j], lower[j], upper[j])
    return total


cdef inline double _conjugate(
    double a, double ridge, double l1, double centre, double lower, double upper, double* best
) noexcept nogil:
    """Return r*(a) of one weight, and set the weight that attains it."""
    cdef double excess = a - l1 if a > l1 else a + l1 if a < -l1 else 0
    best[0] = centre
    if excess != 0:
        best[0] += excess / ridge if ridge > 0 else copysign(INFINITY, excess)
    best[0] = fmin(fmax(best[0], lower), upper)
    return a * best[0] - _value(best[0], ridge, l1, centre, lower, upper)


def measures(
    terms, const double[::1] w not None, const double[::1] a not None, double inside, double error=0
):
    """Return t <= 1 for which r*(t a) is finite, r*(t a), and r(w) + r*(t a) - t w.a, summed without cancellation.

    If t < 1, it is `inside` times the largest one. They are sums of what `Terms` has of each weight. With an error,
    t and r*(t a) are for the worst of all vectors whose elements differ from those of a by at most this.
    """
    cdef const double[::1] ridge, l1, centre, lower, upper
    cdef double t = 1, x, best, other, move, slope, value, conjugate = 0, gap = 0
    cdef Py_ssize_t j, n
    ridge, l1, centre, lower, upper = terms
    n = ridge.shape[0]
    with nogil:
        for j in range(n):
            if ridge[j] == 0 and (
                (a[j] + error > l1[j] and upper[j] == INFINITY) or (error - a[j] > l1[j] and lower[j] == -INFINITY)
            ):
                t = fmin(t, l1[j] / (fabs(a[j]) + error))
        if t < 1:
            t *= inside
        for j in range(n):
            x = t * a[j]
            if w[j] == centre[j] and fabs(x) + t * error <= l1[j] and lower[j] <= centre[j] <= upper[j]:
                conjugate += x * centre[j] + t * error * fabs(centre[j])  # of most weights, which stay there
                continue
            value = _conjugate(x, ridge[j], l1[j], centre[j], lower[j], upper[j], &best)
            if error > 0:
                value = fmax(
                    _conjugate(t * (a[j] - error), ridge[j], l1[j], centre[j], lower[j], upper[j], &other),
                    _conjugate(t * (a[j] + error), ridge[j], l1[j], centre[j], lower[j], upper[j], &other),
                )
            conjugate += value
            move, slope = w[j] - best, x - ridge[j] * (best - centre[j])
            gap += 0.5 * ridge[j] * move * move
            gap += fmax(l1[j] * (fabs(w[j] - centre[j]) - fabs(best - centre[j])) - slope * move, 0)
    return t, conjugate, gap


def movable(terms, const double[::1] w not None, const double[::1] a not None, double sure):
    """Return the weights that a step may change, ascending, and how far their gradient is from a subgradient of r.

    Weights at a kink are left out if their gradient is less than a share `sure` of l1. For weights that are not at
    the centre the distance is inf.
    """
    cdef const double[::1] ridge, l1, centre, lower, upper
    cdef double slope
    cdef Py_ssize_t j, n = 0
    ridge, l1, centre, lower, upper = terms
    indices, distances = np.empty(ridge.shape[0], dtype=np.int32), np.empty(ridge.shape[0])
    cdef int32_t[::1] out = indices
    cdef double[::1] distance = distances
    with nogil:
        for j in range(ridge.shape[0]):
            slope = ridge[j] * (w[j] - centre[j])
            if w[j] == centre[j] and fabs(a[j]) < sure * l1[j]:
                continue
            if w[j] == lower[j] and a[j] <= slope + (l1[j] if w[j] >= centre[j] else -l1[j]):
                continue
            if w[j] == upper[j] and a[j] >= slope + (l1[j] if w[j] > centre[j] else -l1[j]):
                continue
            out[n] = <int32_t> j
            distance[n] = fabs(a[j]) - l1[j] if w[j] == centre[j] else INFINITY
            n += 1
    return indices[:n], distances[:n]
