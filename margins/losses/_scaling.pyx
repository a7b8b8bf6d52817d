"""Slacks: what a certificate needs to know of all patterns, in one pass without temporary arrays.

The problem: given the products p_k = w.y_k, the penalties C_k and a factor c, with the slacks
s_k = max(0, 1 - c p_k), return the loss at c w and the sums of which its derivatives in c are made:

    squared_hinge_sums   sum C_k s_k^2,   sum C_k s_k p_k,         sum over s_k > 0 of C_k p_k^2
    hinge_sums           sum C_k s_k,     sum over s_k > 0 of C_k p_k

and the c that is best, as far as a line search finds it.

Source: Panagiotakopoulos & Tsampouka (2010), (24); (2011), section 2.
"""

from libc.math cimport INFINITY
from margins.linalg._sums cimport BLOCK, sum_of

# Pieces of a piecewise quadratic that a search may visit.
cdef int MOST_PIECES = 100

# Steps of the search for the hinge loss, and what share of the distance from a lower bound may be left to
# gain when it ends. (Mostly 5 steps; with a share of 0.02 fits took 1.5 % more.)
cdef int HINGE_STEPS = 30
cdef double ENOUGH = 0.1


def squared_hinge_sums(const double[::1] products, const double[:] C, double factor):
    """Sums for the squared hinge loss at `factor` times the weight vector.

    Parameters
    ----------
    products : ndarray of float64, shape (m,)
        w.y_k.
    C : ndarray of float64, shape (m,)
        Penalties; may be a broadcast scalar.
    factor : float

    Returns
    -------
    loss, pull, curvature : float
        ``sum C s**2``, ``sum C s p`` and the sum of ``C p**2`` over the patterns with s > 0.
    """
    cdef double loss, pull, curvature
    with nogil:
        _squared_hinge_sums(products, C, factor, &loss, &pull, &curvature)
    return loss, pull, curvature


cdef void _squared_hinge_sums(
    const double[::1] products, const double[:] C, double factor, double* loss, double* pull, double* curvature
) noexcept nogil:
    cdef double losses[BLOCK]
    cdef double pulls[BLOCK]
    cdef double curvatures[BLOCK]
    cdef double p, slack
    cdef Py_ssize_t i, n, begin = 0
    loss[0] = pull[0] = curvature[0] = 0
    while begin < products.shape[0]:
        n = min(BLOCK, products.shape[0] - begin)
        for i in range(n):
            p = products[begin + i]
            slack = 1 - factor * p
            p = 0 if slack <= 0 else p  # NaN stays what it is
            slack = 0 if slack <= 0 else slack
            losses[i] = C[begin + i] * slack * slack
            pulls[i] = C[begin + i] * slack * p
            curvatures[i] = C[begin + i] * p * p
        loss[0] += sum_of(losses, n)
        pull[0] += sum_of(pulls, n)
        curvature[0] += sum_of(curvatures, n)
        begin += n


def squared_hinge_minimum(const double[::1] products, const double[:] C, double sqnorm, double factor):
    """Minimise f(c) = c^2 |w|^2 / 2 + sum_k C_k max(0, 1 - c p_k)^2, from `factor` on.

    f is convex and piecewise quadratic, and its slope is concave, since slacks only vanish as c grows:
    Newton's method hops from piece to piece, from too large a factor at once to one that is too small
    (perhaps a worse one), and then upwards.

    Parameters
    ----------
    products, C
        As those of `squared_hinge_sums`.
    sqnorm : float
        |w|^2.
    factor : float

    Returns
    -------
    objective, factor : float
        Any factor is valid: the best one seen, and f there.
    converged : bool
    """
    cdef double best = INFINITY, best_factor = factor, before = INFINITY
    cdef double value, pull, curvature, slope, step
    cdef int _
    cdef bint converged = False
    with nogil:
        for _ in range(MOST_PIECES):
            _squared_hinge_sums(products, C, factor, &value, &pull, &curvature)
            value += 0.5 * factor * factor * sqnorm
            if value >= before:
                break
            if value < best:
                best, best_factor = value, factor
            slope = factor * sqnorm - 2 * pull
            curvature = sqnorm + 2 * curvature
            step = slope / curvature if curvature > 0 else 0
            if slope * step <= 1e-12 * value:  # twice what the step can still gain
                converged = True
                break
            if factor == 0 and step >= 0:
                break
            before = value if step < 0 else INFINITY
            factor = max(factor - step, 0)
    return best, best_factor, converged


def hinge_sums(const double[::1] products, const double[:] C, double factor):
    """Sums for the hinge loss at `factor` times the weight vector.

    Parameters
    ----------
    products, C, factor
        As those of `squared_hinge_sums`.

    Returns
    -------
    loss, pull : float
        ``sum C s`` and the sum of ``C p`` over the patterns with s > 0.
    """
    cdef double loss, pull
    with nogil:
        _hinge_sums(products, C, factor, &loss, &pull)
    return loss, pull


cdef void _hinge_sums(
    const double[::1] products, const double[:] C, double factor, double* loss, double* pull
) noexcept nogil:
    cdef double losses[BLOCK]
    cdef double pulls[BLOCK]
    cdef double p, slack
    cdef Py_ssize_t i, n, begin = 0
    loss[0] = pull[0] = 0
    while begin < products.shape[0]:
        n = min(BLOCK, products.shape[0] - begin)
        for i in range(n):
            p = products[begin + i]
            slack = 1 - factor * p
            p = 0 if slack <= 0 else p  # NaN stays what it is
            slack = 0 if slack <= 0 else slack
            losses[i] = C[begin + i] * slack
            pulls[i] = C[begin + i] * p
        loss[0] += sum_of(losses, n)
        pull[0] += sum_of(pulls, n)
        begin += n


def hinge_minimum(const double[::1] products, const double[:] C, double sqnorm, double factor, double below):
    """Minimise f(c) = c^2 |w|^2 / 2 + sum_k C_k max(0, 1 - c p_k), c >= 0, from `factor` on.

    The loss is convex and piecewise linear in c, so it lies above its tangents. Each step goes to where
    the two next to the minimum, one on either side, leave f its least value: to the middle of a piece,
    or where they meet. Many patterns have p_k near 1 / c at the minimum: kinks there are close together,
    and steep, if C is large.

    Parameters
    ----------
    products, C, sqnorm, factor
        As those of `squared_hinge_minimum`.
    below : float
        A lower bound of f. The search ends where it can gain but a small share of the distance from it.

    Returns
    -------
    objective, factor : float
        Any factor is valid: the best one seen, and f there.
    """
    cdef double best = INFINITY, best_factor = factor, value, least, meeting, loss, pull
    # Tangents of the loss, at_0 - pull c. Until there is one on the right, 0 stands in.
    cdef double left = -1, left_at_0 = 0, left_pull = 0, right = INFINITY, right_at_0 = 0, right_pull = 0
    cdef int _
    with nogil:
        for _ in range(HINGE_STEPS):
            _hinge_sums(products, C, factor, &loss, &pull)
            value = 0.5 * (factor * factor) * sqnorm + loss
            if value < best:
                best, best_factor = value, factor
            if factor * sqnorm < pull:
                left, left_at_0, left_pull = factor, loss + factor * pull, pull
            else:
                right, right_at_0, right_pull = factor, loss + factor * pull, pull
            factor = max(right_pull / sqnorm, 0)
            if left >= 0:
                # Slacks are to be nothing where they meet, not what rounding leaves of them, times C.
                meeting = (1 + 1e-12) * (left_at_0 - right_at_0) / (left_pull - right_pull)
                factor = max(factor, min(left_pull / sqnorm, meeting))
            least = 0.5 * (factor * factor) * sqnorm + max(left_at_0 - left_pull * factor,
                                                           right_at_0 - right_pull * factor)
            if not left < factor < right or (best < INFINITY and best - least <= ENOUGH * (best - below)):
                break
    return best, best_factor


def largest_factor(const double[::1] dual, const double[:] C):
    """The largest factor that keeps every ``factor * alpha_k <= C_k``; inf if all alpha_k are 0.

    Parameters
    ----------
    dual, C : ndarrays of float64, shape (m,)
    """
    cdef double least = INFINITY, ratio
    cdef Py_ssize_t k
    with nogil:
        for k in range(dual.shape[0]):
            if dual[k] > 0:
                ratio = C[k] / dual[k]
                if ratio < least:
                    least = ratio
    return least
