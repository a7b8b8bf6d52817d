"""Newton steps: what one of them needs to know of the patterns.

The problem: given some of the patterns, a fixed vector r that stands for the others, for each pattern a
centre c_k >= 0, a width sigma_k > 0 and an upper bound U_k (inf: none), minimise

    f(w) = |w|^2 / 2 - r.w + sum_k h_k(1 - w.y_k)
    h_k(s) = max over 0 <= alpha <= U_k of alpha s - (alpha - c_k)^2 / (2 sigma_k)

f is convex, differentiable and piecewise quadratic. The alpha that attains h_k is a dual variable,

    alpha_k(w) = min(max(c_k + sigma_k (1 - w.y_k), 0), U_k)
    gradient   = w - r - sum_k alpha_k(w) y_k
    Hessian    = I + sum over the free k of sigma_k y_k y_k^T      (free: 0 < alpha_k(w) < U_k)

With c = 0, sigma_k = 2 C_k and no upper bounds f is the objective of the squared hinge loss. With
U_k = C_k, and dual variables as centre, it is that of the hinge loss, rounded off at its kinks; the
closer the centre to the optimum, or the larger sigma, the less.

Vectors have an element for every feature and, with an augmentation, one more: y_k = l_k [x_k, rho].
Private coordinates are left out, the loss stands for them. Arrays hold the given patterns only, whose
numbers are in `members`, ascending.

Source: Mangasarian (2002), A finite Newton method for classification; Keerthi & DeCoste (2005), A
modified finite Newton method for fast solution of large scale linear SVMs; Yan & Li (2020), An
efficient augmented Lagrangian method for support vector machine.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int8_t, int32_t
from margins._curvature cimport Curvature
from margins._sparse cimport axpy, dot
from margins._sums cimport BLOCK, dot_of, sum_of
from margins._update cimport Patterns

import numpy as np

# Of rounded-off losses: by what `factor` grows.
cdef double GROWTH = 2

# Added to C_k where it is no upper bound: no dual variable gets there.
cdef double UNBOUNDED = 1e300

# A line search ends when the slope is this share of what it was.
cdef double FLAT = 0.1
cdef int MOST_SLOPES = 30


# ---------------------------------------------------------------------------- sums over some patterns


def products(Patterns patterns not None, const int32_t[::1] members, const double[::1] vector):
    """w.y_k of every member: ndarray of float64."""
    result = np.empty(members.shape[0])
    cdef double[::1] out = result
    with nogil:
        _products(patterns, members, vector, out)
    return result


cdef void _products(
    Patterns patterns, const int32_t[::1] members, const double[::1] vector, double[::1] out
) noexcept nogil:
    cdef const double[::1] v = vector[:patterns.rows.n_features]
    cdef double bias = 0
    cdef Py_ssize_t i
    if patterns.sqrho > 0:
        bias = sqrt(patterns.sqrho) * vector[patterns.rows.n_features]
    for i in range(members.shape[0]):
        out[i] = patterns.labels[members[i]] * (dot(patterns.rows, members[i], v) + bias)


def combination(Patterns patterns not None, const int32_t[::1] members, const double[::1] dual):
    """sum_k alpha_k y_k over the members: ndarray of float64."""
    result = np.zeros(patterns.rows.n_features + (patterns.sqrho > 0))
    cdef double[::1] out = result
    with nogil:
        _add_combination(patterns, members, dual, out)
    return result


cdef void _add_combination(
    Patterns patterns, const int32_t[::1] members, const double[::1] dual, double[::1] out
) noexcept nogil:
    """Add sum_k alpha_k y_k over the members."""
    cdef Py_ssize_t i, k, d = patterns.rows.n_features
    cdef double[::1] v = out[:d]
    cdef double c, label_sum = 0
    for i in range(members.shape[0]):
        if dual[i] > 0:
            k = members[i]
            c = dual[i] * patterns.labels[k]
            axpy(patterns.rows, k, c, v)
            label_sum += c
    if patterns.sqrho > 0:
        out[d] += sqrt(patterns.sqrho) * label_sum


# ------------------------------------------------------------------------------- dual variables, slopes
#
# The loops over products are written without branches (margins/_sums.pxd): compilers take two members at
# a time, and one takes 2.5 nanoseconds, not 7.


def movable(const double[::1] products, const double[::1] dual, const double[::1] penalty, bint bounded,
            const int8_t[::1] held, double band):
    """The patterns that a step may concern: ndarray of int32, ascending.

    Left out are those whose dual variable is at a bound where it belongs, and whose w.y_k is further
    than `band` from 1; unless they are `held`.
    """
    cdef Py_ssize_t k, n = 0
    cdef double slack
    members = np.empty(products.shape[0], dtype=np.int32)
    cdef int32_t[::1] out = members
    with nogil:
        for k in range(products.shape[0]):
            slack = 1 - products[k]
            if not held[k] and (
                (slack < -band and dual[k] == 0) or (bounded and slack > band and dual[k] == penalty[k])
            ):
                continue
            out[n] = <int32_t> k
            n += 1
    return members[:n]


def mean_distance(const double[::1] a, const double[::1] b):
    """The mean of |a_k - b_k|; not finite if a number is not."""
    cdef double total = 0
    cdef Py_ssize_t k
    with nogil:
        for k in range(a.shape[0]):
            total += fabs(a[k] - b[k])
    return total / a.shape[0]


cdef inline double _positive(double x) noexcept nogil:
    """max(x, 0); of -inf NaN, which ends the steps."""
    return 0.5 * (x + fabs(x))


cdef inline double _within(double alpha, double C, double upper) noexcept nogil:
    """alpha, or the bound that it is beyond: 0 or, from `upper` on, C exactly."""
    alpha = _positive(alpha)
    return C if alpha >= upper else alpha


cdef inline double _one_if(bint condition) noexcept nogil:
    return 1.0 if condition else 0.0


def dual_variables(const double[::1] products, const double[::1] centre, const double[::1] penalty,
                   double factor, bint bounded, double[::1] dual, int8_t[::1] free):
    """Compute the dual variables that belong to a weight vector, and say which are free.

    Parameters
    ----------
    products : ndarray of float64
        w.y_k.
    centre, penalty : ndarrays of float64
        c_k and C_k.
    factor : float
        sigma_k is so many C_k.
    bounded : bool
        True: U_k is C_k; False: inf.
    dual : ndarray of float64
        Gets alpha_k.
    free : ndarray of int8
        Gets 1 where alpha_k is free, else 0.

    Returns
    -------
    float
        ``sum_k U_k max(0, 1 - w.y_k) - alpha_k (1 - w.y_k)``, what the dual variables lack of
        complementarity; 0 without upper bounds, where alpha_k = sigma_k max(0, 1 - w.y_k).
    """
    cdef double distance, total
    with nogil:
        distance = _dual_variables(products, centre, penalty, factor, bounded, dual, free, &total)
    return distance


cdef double _dual_variables(
    const double[::1] products, const double[::1] centre, const double[::1] penalty, double factor,
    bint bounded, double[::1] dual, int8_t[::1] free, double* total
) noexcept nogil:
    """`total` gets what the dual variables add to the dual objective."""
    cdef double wanted[BLOCK]
    cdef double distances[BLOCK]
    cdef double totals[BLOCK]
    cdef double slack, alpha, C, distance = 0
    cdef double unbounded = 0 if bounded else UNBOUNDED, half = 0 if bounded else 0.5
    cdef Py_ssize_t i, k, n, begin = 0
    total[0] = 0
    while begin < products.shape[0]:
        n = min(BLOCK, products.shape[0] - begin)
        for i in range(n):
            k = begin + i
            slack = 1 - products[k]
            C = penalty[k]
            wanted[i] = centre[k] + factor * C * slack
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
    return distance if bounded else 0


def slope(const double[::1] products, const double[::1] ahead, const double[::1] centre,
          const double[::1] penalty, double factor, bint bounded, double t):
    """What the members add to the derivatives of f from one weight vector towards another.

    Parameters
    ----------
    products, ahead : ndarrays of float64
        w.y_k and (w + s).y_k.
    centre, penalty, factor, bounded
        As those of `dual_variables`.
    t : float
        Where: at w + t s.

    Returns
    -------
    pull, curvature : float
        What is taken from the first and added to the second derivative in t.
    """
    cdef double pull, curvature
    with nogil:
        _slope(products, ahead, centre, penalty, factor, bounded, t, &pull, &curvature)
    return pull, curvature


cdef void _slope(
    const double[::1] products, const double[::1] ahead, const double[::1] centre,
    const double[::1] penalty, double factor, bint bounded, double t, double* pull, double* curvature
) noexcept nogil:
    cdef double pulls[BLOCK]
    cdef double curvatures[BLOCK]
    cdef double step, wanted, C, unbounded = 0 if bounded else UNBOUNDED
    cdef Py_ssize_t i, k, n, begin = 0
    pull[0] = curvature[0] = 0
    while begin < products.shape[0]:
        n = min(BLOCK, products.shape[0] - begin)
        for i in range(n):
            k = begin + i
            step = ahead[k] - products[k]
            C = penalty[k]
            wanted = centre[k] + factor * C * (1 - products[k] - t * step)
            pulls[i] = step * _within(wanted, C, C + unbounded)
            curvatures[i] = C * step * step * (_one_if(wanted > 0) - _one_if(wanted >= C + unbounded))
        pull[0] += sum_of(pulls, n)
        curvature[0] += sum_of(curvatures, n)
        begin += n
    curvature[0] *= factor


def line_search(const double[::1] products, const double[::1] ahead, const double[::1] centre,
                const double[::1] penalty, double factor, bint bounded, double linear, double square,
                double flat):
    """How far to go: where the slope, which grows along the step and jumps nowhere, is about 0.

    Parameters
    ----------
    products, ahead, centre, penalty, factor, bounded
        As those of `slope`.
    linear, square : float
        (w - r).s and |s|^2.
    flat : float
        So little counts as 0.

    Returns
    -------
    float
    """
    cdef double t
    with nogil:
        t = _line_search(products, ahead, centre, penalty, factor, bounded, linear, square, flat)
    return t


cdef double _line_search(
    const double[::1] products, const double[::1] ahead, const double[::1] centre,
    const double[::1] penalty, double factor, bint bounded, double linear, double square, double flat
) noexcept nogil:
    cdef double low = 0, high = INFINITY, t = 1, now, pull, curvature
    cdef int i
    for i in range(MOST_SLOPES):
        _slope(products, ahead, centre, penalty, factor, bounded, t, &pull, &curvature)
        now = linear + t * square - pull
        if fabs(now) <= flat:
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


# ------------------------------------------------------------------------------------------ the steps


cdef class Objective:
    """The objective as a function of what some patterns contribute, the others' dual variables held.

    Parameters
    ----------
    patterns : Patterns
    members : ndarray of int32
        The patterns, ascending.
    others : ndarray of float64, shape (n,)
        sum_k alpha_k y_k over the other patterns.
    others_sum : float
        The sum of their alpha_k, which are 0 without upper bounds.
    w : ndarray of float64, shape (n,)
        Where it starts.
    margins, centre, C : ndarrays of float64
        Of the members: w.y_k, c_k and C_k. The first two are changed.
    factor : float
        sigma_k is so many C_k.
    bounded : bool
        True: U_k is C_k, and the loss is rounded off.
    curvature : Curvature

    Attributes
    ----------
    w : ndarray of float64, shape (n,)
    factor : float
    dual : ndarray of float64
        The members' dual variables that belong to w.
    combination : ndarray of float64, shape (n,)
        sum_k alpha_k y_k over the members, summed afresh for every w.
    margins : ndarray of float64
        w.y_k of the members.
    is_exact : bool
        False: `margins` were found along a line, and have its rounding.
    gap : float
        Distance of the primal and the dual value.
    value : float
        The dual value.
    """

    cdef Patterns patterns
    cdef Curvature curvature
    cdef const int32_t[::1] members
    cdef const double[::1] others, C
    cdef double[::1] weights, products, centre, alpha, pull
    cdef double[::1] ahead, gradient, step, there   # of what is tried
    cdef int8_t[::1] free
    cdef double distance, others_sum
    cdef bint bounded
    cdef readonly object w, dual, combination, margins
    cdef readonly double factor, gap, value
    cdef readonly bint is_exact

    def __init__(self, Patterns patterns not None, members, others, double others_sum, w, margins,
                 centre, C, double factor, bint bounded, Curvature curvature not None):
        self.patterns, self.members, self.others, self.others_sum = patterns, members, others, others_sum
        self.w, self.margins, self.centre, self.C = w.copy(), margins, centre, C
        self.factor, self.bounded, self.curvature = factor, bounded, curvature
        self.dual, self.combination = np.empty(len(members)), np.empty(len(w))
        self.weights, self.products = self.w, self.margins
        self.alpha, self.pull = self.dual, self.combination
        cdef Py_ssize_t m = len(members), n = len(w)
        cdef double[::1] room = np.empty(m + 3 * n)
        self.free = np.empty(m, dtype=np.int8)
        self.ahead, self.gradient = room[:m], room[m : m + n]
        self.step, self.there = room[m + n : m + 2 * n], room[m + 2 * n :]
        self.is_exact = True
        with nogil:
            self._settle()

    def minimise(self, double share, double enough, Py_ssize_t most_steps):
        """Make Newton steps until the gap is at most `share` of the dual value, or `enough`: how many.

        Fewer if no step leads downwards any more: what is left is rounding.
        """
        cdef Py_ssize_t n_steps = 0
        with nogil:
            while n_steps < most_steps and not self.gap <= max(enough, share * self.value):
                # Rounded off as it is, the loss has little left to lose: round it off less.
                if self.bounded and 0.5 * _dot(self.gradient, self.gradient) <= self.distance:
                    self.centre[:] = self.alpha
                    self.factor *= GROWTH
                    self._settle()
                if not self._step():
                    break
                n_steps += 1
                with gil:
                    PyErr_CheckSignals()
        return n_steps

    cdef void _settle(self) noexcept nogil:
        """Find what belongs to w."""
        cdef Py_ssize_t j
        cdef double total, square = 0
        self.distance = _dual_variables(
            self.products, self.centre, self.C, self.factor, self.bounded, self.alpha, self.free, &total
        )
        # Not by how much dual variables have changed (5 % of a fit less): those that went to a large C
        # and came back would leave their rounding.
        self.pull[:] = 0
        _add_combination(self.patterns, self.members, self.alpha, self.pull)
        for j in range(self.weights.shape[0]):
            self.gradient[j] = self.weights[j] - self.others[j] - self.pull[j]
            square += (self.others[j] + self.pull[j]) * (self.others[j] + self.pull[j])
        self.value = total + self.others_sum - 0.5 * square
        self.gap = 0.5 * _dot(self.gradient, self.gradient) + self.distance

    cdef bint _step(self) noexcept nogil:
        """Make one Newton step: False if there is none downwards."""
        cdef Py_ssize_t i, j, n = self.weights.shape[0]
        cdef double t, downwards, linear = 0
        self.curvature.update(self.members, self.free)
        for j in range(n):
            self.step[j] = -self.gradient[j]
        if not self.curvature.solve(self.factor, self.step):
            return False
        downwards = _dot(self.gradient, self.step)
        if not downwards < 0:
            return False
        for j in range(n):
            self.there[j] = self.weights[j] + self.step[j]
            linear += (self.weights[j] - self.others[j]) * self.step[j]
        _products(self.patterns, self.members, self.there, self.ahead)
        t = _line_search(
            self.products, self.ahead, self.centre, self.C, self.factor, self.bounded, linear,
            _dot(self.step, self.step), -FLAT * downwards
        )
        for j in range(n):
            self.weights[j] = self.there[j] if t == 1 else self.weights[j] + t * self.step[j]
        self.is_exact = t == 1
        for i in range(self.products.shape[0]):
            self.products[i] = self.ahead[i] if t == 1 else (1 - t) * self.products[i] + t * self.ahead[i]
        self._settle()
        return True


cdef double _dot(const double[::1] a, const double[::1] b) noexcept nogil:
    return dot_of(&a[0], &b[0], a.shape[0])
