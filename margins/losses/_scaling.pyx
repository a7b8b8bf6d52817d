"""Losses at multiples of a weight vector, and the best multiple, without temporary arrays.

The problem: given the products p_k = w.y_k, the penalties C_k and a factor c, with the slacks
s_k = max(0, 1 - c p_k), return the loss at c w and the sums from which its derivatives in c follow:

    squared_hinge_sums   sum C_k s_k^2,   sum C_k s_k p_k,         sum over s_k > 0 of C_k p_k^2
    hinge_sums           sum C_k s_k,     sum over s_k > 0 of C_k p_k

and the best c, by a line search.

Source: Panagiotakopoulos & Tsampouka (2010), (24); (2011), section 2.
"""

from libc.math cimport INFINITY
from margins.linalg._sums cimport BLOCK, sum_of

# Maximum number of pieces of the piecewise quadratic that a search evaluates.
cdef int MAX_PIECES = 100

# Maximum number of steps of the search for the hinge loss. It ends when a step can gain at most this share
# of the distance from a lower bound.
cdef int HINGE_STEPS = 30
cdef double MIN_GAIN = 0.1


def squared_hinge_sums(const double[::1] products, const double[:] C, double factor):
    """Return sums for the squared hinge loss at `factor` times the weight vector."""
    cdef double loss, slope, curvature
    with nogil:
        _squared_hinge_sums(products, C, factor, &loss, &slope, &curvature)
    return loss, slope, curvature


cdef void _squared_hinge_sums(
    const double[::1] products, const double[:] C, double factor, double* loss, double* slope, double* curvature
) noexcept nogil:
    cdef double[BLOCK] losses, slopes, curvatures
    cdef double p, slack
    cdef Py_ssize_t i, n, begin = 0
    loss[0] = slope[0] = curvature[0] = 0
    while begin < products.shape[0]:
        n = min(BLOCK, products.shape[0] - begin)
        for i in range(n):
            p = products[begin + i]
            slack = 1 - factor * p
            p = 0 if slack <= 0 else p  # propagates NaN
            slack = 0 if slack <= 0 else slack
            losses[i] = C[begin + i] * slack * slack
            slopes[i] = C[begin + i] * slack * p
            curvatures[i] = C[begin + i] * p * p
        loss[0] += sum_of(losses, n)
        slope[0] += sum_of(slopes, n)
        curvature[0] += sum_of(curvatures, n)
        begin += n


def squared_hinge_minimum(const double[::1] products, const double[:] C, double sqnorm, double factor):
    """Minimise f(c) = c^2 |w|^2 / 2 + sum_k C_k max(0, 1 - c p_k)^2, from `factor` on, by Newton's method.

    The derivative is concave, since slacks only vanish as c grows: steps go from a factor that is too large to one that
    is too small (and possibly worse), and from there upwards, from piece to piece.
    """
    cdef double best = INFINITY, best_factor = factor, before = INFINITY
    cdef double value, loss_slope, curvature, slope, step
    cdef int _
    cdef bint converged = False
    with nogil:
        for _ in range(MAX_PIECES):
            _squared_hinge_sums(products, C, factor, &value, &loss_slope, &curvature)
            value += 0.5 * factor * factor * sqnorm
            if value >= before:
                break
            if value < best:
                best, best_factor = value, factor
            slope = factor * sqnorm - 2 * loss_slope
            curvature = sqnorm + 2 * curvature
            step = slope / curvature if curvature > 0 else 0
            if slope * step <= 1e-12 * value:  # twice the remaining gain
                converged = True
                break
            if factor == 0 and step >= 0:
                break
            before = value if step < 0 else INFINITY
            factor = max(factor - step, 0)
    return best, best_factor, converged


def hinge_sums(const double[::1] products, const double[:] C, double factor):
    """Return sums for the hinge loss at `factor` times the weight vector."""
    cdef double loss, slope
    with nogil:
        _hinge_sums(products, C, factor, &loss, &slope)
    return loss, slope


cdef void _hinge_sums(
    const double[::1] products, const double[:] C, double factor, double* loss, double* slope
) noexcept nogil:
    cdef double[BLOCK] losses, slopes
    cdef double p, slack
    cdef Py_ssize_t i, n, begin = 0
    loss[0] = slope[0] = 0
    while begin < products.shape[0]:
        n = min(BLOCK, products.shape[0] - begin)
        for i in range(n):
            p = products[begin + i]
            slack = 1 - factor * p
            p = 0 if slack <= 0 else p  # propagates NaN
            slack = 0 if slack <= 0 else slack
            losses[i] = C[begin + i] * slack
            slopes[i] = C[begin + i] * p
        loss[0] += sum_of(losses, n)
        slope[0] += sum_of(slopes, n)
        begin += n


def hinge_minimum(const double[::1] products, const double[:] C, double sqnorm, double factor, double below):
    """Minimise f(c) = c^2 |w|^2 / 2 + sum_k C_k max(0, 1 - c p_k), c >= 0, from `factor` on.

    The tangents of the piecewise linear loss bound it below. Each step goes to the minimum of f with the loss replaced
    by two tangents, one on either side of the minimum: near it, kinks are close together and slopes differ greatly.
    """
    cdef double best = INFINITY, best_factor = factor, value, least, meeting, loss, slope
    # Tangents of the loss, at_0 - slope c; 0 until there is a tangent on the right.
    cdef double left = -1, left_at_0 = 0, left_slope = 0, right = INFINITY, right_at_0 = 0, right_slope = 0
    cdef int _
    with nogil:
        for _ in range(HINGE_STEPS):
            _hinge_sums(products, C, factor, &loss, &slope)
            value = 0.5 * (factor * factor) * sqnorm + loss
            if value < best:
                best, best_factor = value, factor
            if factor * sqnorm < slope:
                left, left_at_0, left_slope = factor, loss + factor * slope, slope
            else:
                right, right_at_0, right_slope = factor, loss + factor * slope, slope
            factor = max(right_slope / sqnorm, 0)
            if left >= 0:
                # Go slightly further: slacks that should vanish there have rounding errors, multiplied by C.
                meeting = (1 + 1e-12) * (left_at_0 - right_at_0) / (left_slope - right_slope)
                factor = max(factor, min(left_slope / sqnorm, meeting))
            least = 0.5 * (factor * factor) * sqnorm + max(left_at_0 - left_slope * factor,
                                                           right_at_0 - right_slope * factor)
            if not left < factor < right or (best < INFINITY and best - least <= MIN_GAIN * (best - below)):
                break
    return best, best_factor


def largest_factor(const double[::1] dual, const double[:] C):
    """Return the largest factor that keeps every ``factor * alpha_k <= C_k``; inf if all alpha_k are 0."""
    cdef double least = INFINITY, ratio
    cdef Py_ssize_t k
    with nogil:
        for k in range(dual.shape[0]):
            if dual[k] > 0:
                ratio = C[k] / dual[k]
                if ratio < least:
                    least = ratio
    return least
