"""The losses that Newton steps minimise, of some patterns: their dual variables, and slopes along a step.

The problem: given a centre c_k >= 0, sigma_k > 0 and an upper bound U_k (inf: none), the loss of a
pattern whose slack is s is

    h_k(s) = max over 0 <= alpha <= U_k of alpha s - (alpha - c_k)^2 / (2 sigma_k)

It is convex, differentiable and piecewise quadratic. The alpha that attains it is the dual variable,

    alpha_k(s) = min(max(c_k + sigma_k s, 0), U_k)      its derivative
    sigma_k                                             its second one, where alpha_k is free: 0 < alpha_k < U_k

With c = 0, sigma_k = 2 C_k and no upper bounds it is the squared hinge loss. With U_k = C_k, and dual
variables as centre, it is the hinge loss, rounded off at its kink; the closer the centre to the optimum,
or the larger sigma, the less. All sigma_k grow together: they are so many times the steepness of their
pattern.

Loops over patterns are written without branches (margins/linalg/_sums.pxd): compilers take two members at a
time, and one takes 2.5 nanoseconds, not 7.

Source: Mangasarian (2002), A finite Newton method for classification; Yan & Li (2020), An efficient
augmented Lagrangian method for support vector machine.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int8_t
from margins.linalg._sums cimport BLOCK, sum_of

import numpy as np

# Of rounded-off losses: by what `factor` grows.
cdef double GROWTH = 2

# Added to C_k where it is no upper bound: no dual variable gets there.
cdef double UNBOUNDED = 1e300

# A line search ends when the slope is this share of what it was.
cdef double FLAT = 0.1
cdef int MOST_SLOPES = 30

# Patterns that are more than so many times as steep, C_k |y_k|^2, as the one in the middle are long.
cdef double STEEPEST = 100


def steepness(penalty not None, sqnorms not None):
    """What sigma_k of the hinge loss is a multiple of: ndarray of float64, shape (m,).

    It is C_k: then alpha_k goes from 0 to C_k over a slack that is the same for all. Of long patterns
    it is less, and the slack in proportion to their length: else their kinks are everywhere along a step,
    and no other pattern counts. (Of 300 small problems with three rows in ten up to 1000 times as long as
    the others, C from 1 to 1e8, 3 did not converge in 300 epochs, before 11; up to 1e6 times as long,
    15, before 58.)

    Parameters
    ----------
    penalty, sqnorms : ndarrays of float64, shape (m,)
        C_k and |y_k|^2.
    """
    cdef const double[::1] C = penalty, square = sqnorms
    cdef Py_ssize_t k, n_long = 0, n_steep = 0
    cdef double largest = 0, steep
    with nogil:
        for k in range(C.shape[0]):
            largest = max(largest, C[k] * square[k])
        for k in range(C.shape[0]):
            steep = C[k] * square[k]
            n_long += steep > 0
            n_steep += STEEPEST * steep >= largest
    if 2 * n_steep > n_long:  # the one in the middle is among them
        return penalty
    steepnesses = penalty * sqnorms
    most = STEEPEST * np.median(steepnesses[steepnesses > 0])
    return penalty * np.sqrt(most / np.maximum(steepnesses, most))


cdef inline double _positive(double x) noexcept nogil:
    """max(x, 0); of -inf NaN, which ends the steps."""
    return 0.5 * (x + fabs(x))


cdef inline double _within(double alpha, double C, double upper) noexcept nogil:
    """alpha, or the bound that it is beyond: 0 or, from `upper` on, C exactly."""
    alpha = _positive(alpha)
    return C if alpha >= upper else alpha


cdef inline double _one_if(bint condition) noexcept nogil:
    return 1.0 if condition else 0.0


cdef class Losses:
    """The losses of some patterns.

    Parameters
    ----------
    centre, penalty, steepness : ndarrays of float64, shape (m,)
        c_k, which is changed, C_k, and what sigma_k is so many times.
    factor : float
        How many times.
    bounded : bool
        True: U_k is C_k, and the loss is rounded off; False: inf.
    """

    def __init__(self, double[::1] centre not None, const double[::1] penalty not None,
                 const double[::1] steepness not None, double factor, bint bounded):
        self.centre, self.penalty, self.steepness = centre, penalty, steepness
        self.factor, self.bounded = factor, bounded

    cdef void sharpen(self, const double[::1] dual) noexcept nogil:
        """Round off less, around these dual variables."""
        self.centre[:] = dual
        self.factor *= GROWTH

    cdef double dual_variables(
        self, const double[::1] products, double[::1] dual, int8_t[::1] free, double* total
    ) noexcept nogil:
        """Compute the dual variables that belong to a weight vector, and say which are free.

        `products` are w.y_k. `dual` gets alpha_k, `free` 1 where it is free, else 0, and `total` what
        the alpha_k add to the dual objective. Returned is what they lack of complementarity:
        sum_k U_k max(0, 1 - w.y_k) - alpha_k (1 - w.y_k); 0 without upper bounds.
        """
        cdef double wanted[BLOCK]
        cdef double distances[BLOCK]
        cdef double totals[BLOCK]
        cdef const double[::1] centre = self.centre, penalty = self.penalty, steepness = self.steepness
        cdef double slack, alpha, C, distance = 0, factor = self.factor
        cdef double unbounded = 0 if self.bounded else UNBOUNDED, half = 0 if self.bounded else 0.5
        cdef Py_ssize_t i, k, n, begin = 0
        total[0] = 0
        while begin < products.shape[0]:
            n = min(BLOCK, products.shape[0] - begin)
            for i in range(n):
                k = begin + i
                slack = 1 - products[k]
                C = penalty[k]
                wanted[i] = centre[k] + factor * steepness[k] * slack
                alpha = _within(wanted[i], C, C + unbounded)
                dual[k] = alpha
                distances[i] = (C - alpha) * _positive(slack) + alpha * _positive(-slack)
                totals[i] = alpha - half * alpha * slack  # less alpha^2 / (4 C)
            for i in range(n):
                k = begin + i
                free[k] = (wanted[i] > 0) & (wanted[i] < penalty[k] + unbounded)
            distance += sum_of(distances, n)
            total[0] += sum_of(totals, n)
            begin += n
        return distance if self.bounded else 0

    cdef void slope(
        self, const double[::1] products, const double[::1] ahead, double t, double* pull, double* curvature
    ) noexcept nogil:
        """What the losses add to the derivatives along a step, w + t s.

        `products` are w.y_k, `ahead` (w + s).y_k. `pull` is to be taken from the first derivative in t,
        `curvature` to be added to the second.
        """
        cdef double pulls[BLOCK]
        cdef double curvatures[BLOCK]
        cdef const double[::1] centre = self.centre, penalty = self.penalty, steepness = self.steepness
        cdef double step, sigma, wanted, C, factor = self.factor
        cdef double unbounded = 0 if self.bounded else UNBOUNDED
        cdef Py_ssize_t i, k, n, begin = 0
        pull[0] = curvature[0] = 0
        while begin < products.shape[0]:
            n = min(BLOCK, products.shape[0] - begin)
            for i in range(n):
                k = begin + i
                step = ahead[k] - products[k]
                C = penalty[k]
                sigma = factor * steepness[k]
                wanted = centre[k] + sigma * (1 - products[k] - t * step)
                pulls[i] = step * _within(wanted, C, C + unbounded)
                curvatures[i] = sigma * step * step * (_one_if(wanted > 0) - _one_if(wanted >= C + unbounded))
            pull[0] += sum_of(pulls, n)
            curvature[0] += sum_of(curvatures, n)
            begin += n

    cdef double line_search(
        self, const double[::1] products, const double[::1] ahead, double linear, double square, double downwards
    ) noexcept nogil:
        """How far to go along a step: where the slope, which grows and jumps nowhere, is about 0.

        Of |w|^2 / 2 - r.w + sum_k h_k, with `products` and `ahead` as those of `slope`, `linear`
        (w - r).s, `square` |s|^2, and `downwards` the slope at w.
        """
        cdef double low = 0, high = INFINITY, t = 1, now, pull, curvature
        cdef int _
        for _ in range(MOST_SLOPES):
            self.slope(products, ahead, t, &pull, &curvature)
            now = linear + t * square - pull
            if fabs(now) <= FLAT * fabs(downwards):
                break
            if now > 0:
                high = t
            else:
                low = t
            if not square + curvature > 0:  # squares of a step that is too short for them
                break
            t -= now / (square + curvature)
            if not low < t < high:
                t = 0.5 * (low + high) if high < INFINITY else 2 * low
        return t

    # Doors for tests.
    def py_dual_variables(self, const double[::1] products, double[::1] dual, int8_t[::1] free):
        cdef double total
        return self.dual_variables(products, dual, free, &total)

    def py_slope(self, const double[::1] products, const double[::1] ahead, double t):
        cdef double pull, curvature
        self.slope(products, ahead, t, &pull, &curvature)
        return pull, curvature

    def py_line_search(self, const double[::1] products, const double[::1] ahead, double linear,
                       double square, double downwards):
        return self.line_search(products, ahead, linear, square, downwards)
