"""What solvers compute of the `Terms` of a regulariser in each step, in one pass over the weights."""

from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.stdint cimport int32_t

import numpy as np

# Dual variables are scaled to this share of what is feasible, so that products may round.
cdef double INSIDE = 1 - 1e-15
# A smaller ridge, relative to l1, lets r* grow almost as without one.
cdef double LITTLE_RIDGE = 1e-3


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
    best[0] = best_weight(a, ridge, l1, centre, lower, upper)
    return a * best[0] - _value(best[0], ridge, l1, centre, lower, upper)


cdef double _value_at(
    double t, terms, const double[::1] w, const double[::1] a, double dual_sum, double square, double error, double* gap
) except? -1:
    """Return the dual value of a multiple t, and set the gap of r: see `bound`."""
    cdef const double[::1] ridge, l1, centre, lower, upper
    cdef double x, best, other, move, slope, value, conjugate = 0
    cdef Py_ssize_t j
    ridge, l1, centre, lower, upper = terms
    gap[0] = 0
    with nogil:
        for j in range(ridge.shape[0]):
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
            gap[0] += 0.5 * ridge[j] * move * move
            gap[0] += fmax(l1[j] * (fabs(w[j] - centre[j]) - fabs(best - centre[j])) - slope * move, 0)
    return t * dual_sum - 0.5 * t * t * square - conjugate


def gap_of(terms, const double[::1] w not None, const double[::1] a not None):
    """Return r(w) + r*(a) - w.a (float), summed without cancellation."""
    cdef double gap
    _value_at(1, terms, w, a, 0, 0, 0, &gap)
    return gap


def bound(
    terms, const double[::1] w not None, const double[::1] a not None, double dual_sum, double square, double error=0
):
    """Return a multiple t <= 1 of dual variables, its dual value, and the gap of r at w and t a (floats).

    a, shape (n,): their sum of alpha_k y_k, except for `error` in each element.
    dual_sum, square: their sums of alpha_k and of D_k alpha_k^2.

    t is the largest for which r*(t a) is finite or, if its value is better, the largest for which t a is a subgradient
    of r at w but where w is at a bound. r* is large as soon as a is a little beyond l1 if that leads far: if the ridge
    is small, or 0 and the bound is distant.
    """
    cdef const double[::1] ridge, l1, centre, lower, upper
    cdef double t = 1, suited = 1, length, value, other_value, gap, other_gap
    cdef bint rises, falls
    cdef Py_ssize_t j
    ridge, l1, centre, lower, upper = terms
    with nogil:
        for j in range(ridge.shape[0]):
            length = fabs(a[j]) + error
            if ridge[j] > LITTLE_RIDGE * l1[j] or length <= l1[j]:
                continue
            rises, falls = a[j] + error > l1[j], error - a[j] > l1[j]
            if rises and w[j] != upper[j] or falls and w[j] != lower[j]:
                suited = fmin(suited, INSIDE * (l1[j] + ridge[j] * fabs(w[j] - centre[j])) / length)
            if ridge[j] == 0 and (rises and upper[j] == INFINITY or falls and lower[j] == -INFINITY):
                t = fmin(t, INSIDE * l1[j] / length)
    value = _value_at(t, terms, w, a, dual_sum, square, error, &gap)
    if suited < t:
        other_value = _value_at(suited, terms, w, a, dual_sum, square, error, &other_gap)
        if other_value > value:
            return suited, other_value, other_gap
    return t, value, gap


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
