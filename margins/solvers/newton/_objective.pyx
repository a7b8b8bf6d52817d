"""Newton steps: the objective over a working set, and steps that reduce it.

The problem: given a working set of samples with losses h_k (margins/losses/_smoothed.pyx), and the fixed
vector r = sum of alpha_k y_k over the other samples, minimise

    f(w) = |w|^2 / 2 - r.w + sum_k h_k(1 - w.y_k)

    gradient   w - r - sum_k alpha_k(w) y_k
    Hessian    I + sum over the free k of sigma_k y_k y_k^T

Vectors have an element for every feature and, with an intercept, one more: y_k = l_k [x_k, rho]. If the
intercept b is not penalised, |w|^2 is without it, and f is minimised over it wherever it is evaluated: then
sum_k alpha_k l_k = 0, as the dual problem requires. Slack terms are part of the loss. Arrays hold
the samples of the working set, whose indices are in `working_set`, ascending.

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
from margins._update cimport BinaryData

from margins.linalg.time_limits import time_is_over

import numpy as np

# ---------------------------------------------------------------------------- sums over a working set


def products(BinaryData data not None, const int32_t[::1] working_set, const double[::1] vector):
    """w.y_k over a working set: ndarray of float64."""
    result = np.empty(working_set.shape[0])
    cdef double[::1] out = result
    with nogil:
        _products(data, working_set, vector, out)
    return result


cdef void _products(
    BinaryData data, const int32_t[::1] working_set, const double[::1] vector, double[::1] out
) noexcept nogil:
    cdef const double* v = &vector[0]
    cdef double bias = 0
    cdef Py_ssize_t i
    if data.sqrho > 0:
        bias = sqrt(data.sqrho) * vector[data.rows.n_features]
    for i in range(working_set.shape[0]):
        out[i] = data.labels[working_set[i]] * (dot(data.rows, working_set[i], v) + bias)


def combination(BinaryData data not None, const int32_t[::1] working_set, const double[::1] dual):
    """sum_k alpha_k y_k over a working set: ndarray of float64."""
    result = np.zeros(data.rows.n_features + (data.sqrho > 0))
    cdef double[::1] out = result
    with nogil:
        _add_combination(data, working_set, dual, out)
    return result


cdef void _add_combination(
    BinaryData data, const int32_t[::1] working_set, const double[::1] dual, double[::1] out
) noexcept nogil:
    """Add sum_k alpha_k y_k over a working set."""
    cdef Py_ssize_t i, k, d = data.rows.n_features
    cdef double* v = &out[0]
    cdef double c, label_sum = 0
    for i in range(working_set.shape[0]):
        if dual[i] != 0:
            k = working_set[i]
            c = dual[i] * data.labels[k]
            axpy(data.rows, k, c, v)
            label_sum += c
    if data.sqrho > 0:
        out[d] += sqrt(data.sqrho) * label_sum


# ---------------------------------------------------------------------------- working sets


def working_set_of(const double[::1] products, const double[::1] dual, const double[::1] upper,
                   const int8_t[::1] included, double tolerance):
    """The working set of an epoch: indices of samples, ndarray of int32, ascending.

    A sample that is not `included` is left out if its dual variable is at the bound that is optimal for
    w, and its w.y_k differs from 1 by more than `tolerance`.
    """
    cdef Py_ssize_t k, n = 0
    cdef double slack
    indices = np.empty(products.shape[0], dtype=np.int32)
    cdef int32_t[::1] out = indices
    with nogil:
        for k in range(products.shape[0]):
            slack = 1 - products[k]
            if not included[k] and (
                (slack < -tolerance and dual[k] == 0) or (slack > tolerance and dual[k] == upper[k])
            ):
                continue
            out[n] = <int32_t> k
            n += 1
    return indices[:n]


def mean_distance(const double[::1] a, const double[::1] b):
    """The mean of |a_k - b_k|; not finite if an element is not."""
    cdef double total = 0
    cdef Py_ssize_t k
    with nogil:
        for k in range(a.shape[0]):
            total += fabs(a[k] - b[k])
    return total / a.shape[0]


# ------------------------------------------------------------------------------------------ the steps


cdef class Objective:
    """The objective over a working set, with the dual variables of all other samples fixed.

    Parameters
    ----------
    data : BinaryData
    working_set : ndarray of int32
        Indices of samples, ascending.
    fixed : ndarray of float64, shape (n,)
        r, the sum of alpha_k y_k over all other samples.
    fixed_value : float
        The contribution of their alpha_k to the dual objective, apart from |a|^2 / 2.
    w : ndarray of float64, shape (n,)
        The starting point.
    margins : ndarray of float64
        w.y_k of the working set; overwritten.
    losses : SmoothLoss
        Of the working set; smoothing is reduced as steps converge.
    hessian : Hessian

    Attributes
    ----------
    w : ndarray of float64, shape (n,)
    dual : ndarray of float64
        The dual variables of the working set at w.
    combination : ndarray of float64, shape (n,)
        sum_k alpha_k y_k over the working set, recomputed for every w.
    margins : ndarray of float64
        w.y_k of the working set.
    is_exact : bool
        False: `margins` were interpolated along a step, with rounding errors.
    gap : float
        Primal value minus dual value.
    value : float
        Dual value.
    """

    cdef BinaryData data
    cdef SmoothLoss losses
    cdef Hessian hessian
    cdef const int32_t[::1] working_set
    cdef const double[::1] fixed
    cdef double[::1] weights, products, alpha, loss_gradient
    cdef double[::1] trial_products, gradient, step, trial
    cdef int8_t[::1] free, labels
    cdef double residual, fixed_value
    cdef Py_ssize_t n_penalised   # of an intercept that is not, the weight is the last
    cdef bint has_free_intercept
    cdef readonly object w, dual, combination, margins
    cdef readonly double gap, value
    cdef readonly bint is_exact

    def __init__(self, BinaryData data not None, working_set, fixed, double fixed_value, w, margins,
                 SmoothLoss losses not None, Hessian hessian not None):
        self.data, self.working_set = data, working_set
        self.fixed, self.fixed_value = fixed, fixed_value
        self.w, self.margins, self.losses, self.hessian = w.copy(), margins, losses, hessian
        self.dual, self.combination = np.empty(len(working_set)), np.empty(len(w))
        self.weights, self.products = self.w, self.margins
        self.alpha, self.loss_gradient = self.dual, self.combination
        cdef Py_ssize_t m = len(working_set), n = len(w)
        cdef double[::1] buffer = np.empty(m + 3 * n)
        self.free = np.empty(m, dtype=np.int8)
        self.trial_products, self.gradient = buffer[:m], buffer[m : m + n]
        self.step, self.trial = buffer[m + n : m + 2 * n], buffer[m + 2 * n :]
        self.is_exact = True
        self.has_free_intercept = data.has_free_intercept
        self.n_penalised = n - self.has_free_intercept
        if self.has_free_intercept:
            self.labels = data.signs[working_set]
            self.gradient[n - 1] = 0
        with nogil:
            self._evaluate()

    def minimise(self, double share, double min_gap, Py_ssize_t max_steps):
        """Make Newton steps until the gap is at most `share` of the dual value, or `min_gap`: int.

        Returns the number of steps. They end early if a step does not reduce the objective by more than
        rounding errors, or if the time limit is reached.
        """
        cdef Py_ssize_t n_steps = 0
        with nogil:
            while n_steps < max_steps and not self.gap <= max(min_gap, share * self.value):
                # Smoothing causes most of the gap: reduce it.
                if self.losses.is_smoothed and 0.5 * _dot(self.gradient, self.gradient) <= self.residual:
                    self.losses.reduce_smoothing(self.alpha)
                    self._evaluate()
                if not self._step():
                    break
                n_steps += 1
                with gil:
                    PyErr_CheckSignals()
                    if time_is_over():
                        break
        return n_steps

    cdef void _evaluate(self) noexcept nogil:
        """Compute dual variables, gradient, value and gap at w."""
        cdef Py_ssize_t j
        cdef double total, square = 0
        if self.has_free_intercept:
            self._shift_intercept(self.weights, self.products)
        self.residual = self.losses.dual_variables(self.products, self.alpha, self.free, &total)
        # Recomputed, not updated: dual variables that went to a large C and back leave rounding errors.
        self.loss_gradient[:] = 0
        _add_combination(self.data, self.working_set, self.alpha, self.loss_gradient)
        for j in range(self.n_penalised):
            self.gradient[j] = self.weights[j] - self.fixed[j] - self.loss_gradient[j]
            square += (self.fixed[j] + self.loss_gradient[j]) * (self.fixed[j] + self.loss_gradient[j])
        self.value = total + self.fixed_value - 0.5 * square
        self.gap = 0.5 * _dot(self.gradient, self.gradient) + self.residual

    cdef void _shift_intercept(self, double[::1] weights, double[::1] products) noexcept nogil:
        """Change an intercept that is not penalised to the best one for the other weights."""
        cdef Py_ssize_t i, d = self.n_penalised
        cdef double rho = sqrt(self.data.sqrho)
        cdef double shift = self.losses.best_shift(products, self.labels, self.fixed[d] / rho)
        weights[d] += shift / rho
        for i in range(products.shape[0]):
            products[i] += self.labels[i] * shift

    cdef int _step(self) except -1 nogil:
        """Make one Newton step; 0 if it does not reduce the objective, otherwise 1."""
        cdef Py_ssize_t i, j, n = self.weights.shape[0], d = self.n_penalised
        cdef double t, slope, before, linear = 0
        cdef bint has_moved = False
        self.hessian.update(self.working_set, self.free)
        for j in range(n):
            self.step[j] = -self.gradient[j]
        if not self.hessian.solve(self.losses.factor, self.step):
            return 0
        slope = _dot(self.gradient, self.step)
        if not slope < 0:
            return 0
        for j in range(n):
            self.trial[j] = self.weights[j] + self.step[j]
        _products(self.data, self.working_set, self.trial, self.trial_products)
        if self.has_free_intercept and self.hessian.n_free == 0:
            # The Hessian does not say how the best intercept changes with the other weights.
            self._shift_intercept(self.trial, self.trial_products)
            self.step[d] = self.trial[d] - self.weights[d]
        for j in range(n):
            linear += ((self.weights[j] if j < d else 0) - self.fixed[j]) * self.step[j]
        t = self.losses.line_search(
            self.products, self.trial_products, linear, _dot(self.step[:d], self.step[:d]), slope
        )
        for j in range(n):
            before = self.weights[j]
            self.weights[j] = self.trial[j] if t == 1 else before + t * self.step[j]
            has_moved = has_moved or self.weights[j] != before
        if not has_moved:  # the step is below rounding
            return 0
        self.is_exact = t == 1
        for i in range(self.products.shape[0]):
            self.products[i] = (
                self.trial_products[i] if t == 1
                else (1 - t) * self.products[i] + t * self.trial_products[i]
            )
        self._evaluate()
        return 1


cdef double _dot(const double[::1] a, const double[::1] b) noexcept nogil:
    return dot_of(&a[0], &b[0], a.shape[0])
