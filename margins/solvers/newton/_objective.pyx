"""Newton steps: the objective as a function of what some patterns contribute, and steps down it.

The problem: given some of the patterns, with losses h_k (margins/losses/_smoothed.pyx), and a fixed vector r that
stands for the others, minimise

    f(w) = |w|^2 / 2 - r.w + sum_k h_k(1 - w.y_k)

    gradient   w - r - sum_k alpha_k(w) y_k
    Hessian    I + sum over the free k of sigma_k y_k y_k^T

Vectors have an element for every feature and, with an augmentation, one more: y_k = l_k [x_k, rho].
Private coordinates are left out, the loss stands for them. Arrays hold the given patterns only, whose
numbers are in `members`, ascending.

Source: Mangasarian (2002), A finite Newton method for classification; Keerthi & DeCoste (2005), A
modified finite Newton method for fast solution of large scale linear SVMs; Yan & Li (2020), An
efficient augmented Lagrangian method for support vector machine.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs, sqrt
from libc.stdint cimport int8_t, int32_t
from margins.solvers.newton._hessian cimport Hessian
from margins.losses._smoothed cimport SmoothLoss
from margins._sparse cimport axpy, dot
from margins.linalg._sums cimport dot_of
from margins._update cimport Patterns

import numpy as np

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
    cdef const double* v = &vector[0]
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
    cdef double* v = &out[0]
    cdef double c, label_sum = 0
    for i in range(members.shape[0]):
        if dual[i] > 0:
            k = members[i]
            c = dual[i] * patterns.labels[k]
            axpy(patterns.rows, k, c, v)
            label_sum += c
    if patterns.sqrho > 0:
        out[d] += sqrt(patterns.sqrho) * label_sum


# ---------------------------------------------------------------------------- which patterns, how far


def movable(const double[::1] products, const double[::1] dual, const double[::1] upper,
            const int8_t[::1] included, double band):
    """The patterns that a step may concern: ndarray of int32, ascending.

    Left out are those whose dual variable is at a bound where it belongs, and whose w.y_k is further
    than `band` from 1; unless they are `included`.
    """
    cdef Py_ssize_t k, n = 0
    cdef double slack
    members = np.empty(products.shape[0], dtype=np.int32)
    cdef int32_t[::1] out = members
    with nogil:
        for k in range(products.shape[0]):
            slack = 1 - products[k]
            if not included[k] and (
                (slack < -band and dual[k] == 0) or (slack > band and dual[k] == upper[k])
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


# ------------------------------------------------------------------------------------------ the steps


cdef class Objective:
    """The objective as a function of what some patterns contribute, the others' dual variables included.

    Parameters
    ----------
    patterns : Patterns
    members : ndarray of int32
        The patterns, ascending.
    others : ndarray of float64, shape (n,)
        sum_k alpha_k y_k over the other patterns.
    others_sum : float
        What their alpha_k add to the dual objective, |a|^2 / 2 aside.
    w : ndarray of float64, shape (n,)
        Where it starts.
    margins : ndarray of float64
        w.y_k of the members; is changed.
    losses : SmoothLoss
        Of the members; those that are smoothed are sharpened.
    curvature : Hessian

    Attributes
    ----------
    w : ndarray of float64, shape (n,)
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
    cdef SmoothLoss losses
    cdef Hessian curvature
    cdef const int32_t[::1] members
    cdef const double[::1] others
    cdef double[::1] weights, products, alpha, pull
    cdef double[::1] ahead, gradient, step, there   # of what is tried
    cdef int8_t[::1] free
    cdef double distance, others_sum
    cdef readonly object w, dual, combination, margins
    cdef readonly double gap, value
    cdef readonly bint is_exact

    def __init__(self, Patterns patterns not None, members, others, double others_sum, w, margins,
                 SmoothLoss losses not None, Hessian curvature not None):
        self.patterns, self.members, self.others, self.others_sum = patterns, members, others, others_sum
        self.w, self.margins, self.losses, self.curvature = w.copy(), margins, losses, curvature
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
                if self.losses.is_smoothed and 0.5 * _dot(self.gradient, self.gradient) <= self.distance:
                    self.losses.sharpen(self.alpha)
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
        self.distance = self.losses.dual_variables(self.products, self.alpha, self.free, &total)
        # Not by how much dual variables have changed (5 % of a fit less): those that went to a large C
        # and came back would leave their rounding.
        self.pull[:] = 0
        _add_combination(self.patterns, self.members, self.alpha, self.pull)
        for j in range(self.weights.shape[0]):
            self.gradient[j] = self.weights[j] - self.others[j] - self.pull[j]
            square += (self.others[j] + self.pull[j]) * (self.others[j] + self.pull[j])
        self.value = total + self.others_sum - 0.5 * square
        self.gap = 0.5 * _dot(self.gradient, self.gradient) + self.distance

    cdef int _step(self) except -1 nogil:
        """Make one Newton step: 0 if there is none downwards."""
        cdef Py_ssize_t i, j, n = self.weights.shape[0]
        cdef double t, downwards, linear = 0
        self.curvature.update(self.members, self.free)
        for j in range(n):
            self.step[j] = -self.gradient[j]
        if not self.curvature.solve(self.losses.factor, self.step):
            return 0
        downwards = _dot(self.gradient, self.step)
        if not downwards < 0:
            return 0
        for j in range(n):
            self.there[j] = self.weights[j] + self.step[j]
            linear += (self.weights[j] - self.others[j]) * self.step[j]
        _products(self.patterns, self.members, self.there, self.ahead)
        t = self.losses.line_search(
            self.products, self.ahead, linear, _dot(self.step, self.step), downwards
        )
        for j in range(n):
            self.weights[j] = self.there[j] if t == 1 else self.weights[j] + t * self.step[j]
        self.is_exact = t == 1
        for i in range(self.products.shape[0]):
            self.products[i] = self.ahead[i] if t == 1 else (1 - t) * self.products[i] + t * self.ahead[i]
        self._settle()
        return 1


cdef double _dot(const double[::1] a, const double[::1] b) noexcept nogil:
    return dot_of(&a[0], &b[0], a.shape[0])
