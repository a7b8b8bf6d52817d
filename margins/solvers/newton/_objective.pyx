"""Newton steps: the objective over a working set, and steps that reduce it.

The problem: given a working set of samples with losses h_k (margins/losses/_smoothed.pyx), and the fixed
vector r = sum of alpha_k y_k over the other samples, minimise

    f(w) = |w|^2 / 2 - r.w + sum_k h_k(1 - w.y_k)

    gradient   w - r - sum_k alpha_k(w) y_k
    Hessian    I + sum over the free k of sigma_k y_k y_k^T

Vectors have one element for every feature and, with an intercept, one more: y_k = l_k [x_k, rho]. A free
intercept b is left out of |w|^2, and f is minimised over b at every evaluation, so that sum_k alpha_k l_k = 0, as
the dual problem requires. Slack terms are part of the loss. Arrays hold the samples of the working set, whose
indices are in `working_set`, ascending.

Source: Mangasarian (2002), A finite Newton method for classification; Keerthi & DeCoste (2005), A
modified finite Newton method for fast solution of large scale linear SVMs; Yan & Li (2020), An
efficient augmented Lagrangian method for support vector machine.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs, sqrt
from libc.stdint cimport int8_t, int32_t
from margins.solvers.newton._hessian cimport Hessian
from margins.losses._smoothed cimport SmoothLoss
from margins.data._passes cimport add_block, bias_of, is_one_block, set_block, set_combination, set_products
from margins.linalg._sums cimport BLOCK, dot_of
from margins._update cimport BinaryData

import numpy as np

from margins.linalg.threads import blocks_of_rows, current_team, sum_in_order
from margins.linalg.threads import time_is_over

# ---------------------------------------------------------------------------- working sets


def working_set_of(const double[::1] margins, const double[::1] dual, const double[:] upper,
                   const int8_t[::1] included, double tolerance):
    """Return the working set of an epoch: indices of samples, ascending.

    A sample that is not `included` is left out if its dual variable is at the bound that is optimal for w, and its
    w.y_k differs from 1 by more than `tolerance`.
    """
    cdef Py_ssize_t k, n = 0
    cdef double slack
    indices = np.empty(margins.shape[0], dtype=np.int32)
    cdef int32_t[::1] out = indices
    with nogil:
        for k in range(margins.shape[0]):
            slack = 1 - margins[k]
            if not included[k] and (
                (slack < -tolerance and dual[k] == 0) or (slack > tolerance and dual[k] == upper[k])
            ):
                continue
            out[n] = <int32_t> k
            n += 1
    return indices[:n]


def mean_distance(const double[::1] a, const double[::1] b):
    """Return the mean of |a_k - b_k|; not finite if an element is not."""
    cdef double total = 0
    cdef Py_ssize_t k
    with nogil:
        for k in range(a.shape[0]):
            total += fabs(a[k] - b[k])
    return total / a.shape[0]


# ------------------------------------------------------------------------------------------ the steps


cdef class Point:
    """A weight vector, and everything that is computed at it."""

    cdef double[::1] w, margins, combination   # margins w.y_k, and sum_k alpha_k y_k
    cdef double[::1] dual                      # alpha_k
    cdef int8_t[::1] free
    cdef double residual, total                # of complementarity; contribution of alpha to the dual objective

    def __init__(self, w, margins):
        self.w, self.margins, self.combination = w, margins, np.empty(len(w))
        self.dual, self.free = np.empty(len(margins)), np.empty(len(margins), dtype=np.int8)


cdef class Objective:
    """The objective over a working set, with the dual variables of all other samples fixed.

    working_set: indices of samples, ascending.
    fixed, shape (n,): r, the sum of alpha_k y_k over all other samples.
    fixed_value: the contribution of their alpha_k to the dual objective, apart from |a|^2 / 2.
    w, shape (n,): starting point.
    margins: w.y_k of the working set; overwritten. None: they are computed.
    losses: losses of the working set; smoothing is reduced as steps converge.
    drawn: the samples over which the Hessian is, if the working set is all samples; None: all.
    dual: dual variables of the working set at w.
    combination, shape (n,): sum_k alpha_k y_k over the working set, recomputed for every w.
    margins: w.y_k of the working set.
    is_exact: True: `margins` are products with w. False: they were passed, or interpolated along a step,
        with rounding errors.
    gap: primal value minus dual value.
    value: dual value.
    """

    cdef BinaryData data
    cdef SmoothLoss losses
    cdef Hessian hessian
    cdef const int32_t[::1] samples   # indices of the working set
    cdef object drawn
    cdef double weight                # the number of samples that each in the Hessian represents
    # Blocks of merged passes. None: products first and dual variables later, as these depend on the best
    # intercept, or the data stay in a cache: dual variables are computed in vain if a step is shortened.
    cdef list blocks
    cdef Point point, trial
    cdef const double[::1] fixed
    cdef double[::1] gradient, step
    cdef const int8_t[::1] labels
    cdef double fixed_value
    cdef Py_ssize_t n_penalised   # a free intercept comes last and does not count
    cdef bint has_free_intercept
    cdef readonly double gap, value
    cdef readonly bint is_exact

    def __init__(self, BinaryData data not None, working_set, fixed, double fixed_value, w, margins,
                 SmoothLoss losses not None, Hessian hessian not None, drawn=None):
        cdef Py_ssize_t n = len(w)
        self.data, self.samples, self.drawn = data, working_set, drawn
        self.weight = 1.0 if drawn is None else len(working_set) / len(drawn)
        if not (data.has_free_intercept or is_one_block(data)):
            self.blocks = blocks_of_rows(data.rows, len(working_set), data.rows.n_features)
        self.fixed, self.fixed_value = fixed, fixed_value
        self.losses, self.hessian = losses, hessian
        self.point = Point(w.copy(), np.empty(len(working_set)) if margins is None else margins)
        self.trial = None
        self.gradient, self.step = np.zeros(n), np.empty(n)
        self.is_exact = margins is None
        self.has_free_intercept = data.has_free_intercept
        self.n_penalised = n - self.has_free_intercept
        if self.has_free_intercept:
            self.labels = data.signs[working_set]
        if margins is None:
            self._visit(self.point)
        if margins is None and self.blocks is not None:
            self._compare()
        else:
            self._evaluate()

    @property
    def w(self):
        return np.asarray(self.point.w)

    @property
    def dual(self):
        return np.asarray(self.point.dual)

    @property
    def combination(self):
        return np.asarray(self.point.combination)

    @property
    def margins(self):
        return np.asarray(self.point.margins)

    def minimise(self, double share, double min_gap, Py_ssize_t max_steps):
        """Take Newton steps until the gap is at most `share` of the dual value, or `min_gap`; return their number.

        They end early if a step does not reduce the objective beyond rounding, unless the smoothing was just reduced.
        """
        cdef Py_ssize_t n_steps = 0
        cdef bint is_reduced
        while n_steps < max_steps and not self.gap <= max(min_gap, share * self.value):
            # Smoothing causes most of the gap, so reduce it.
            is_reduced = self.losses.is_smoothed and 0.5 * _dot(self.gradient, self.gradient) <= self.point.residual
            if is_reduced:
                self.losses.recentre(self.point.dual)
                self._evaluate()
            if not self._step() and not is_reduced:
                break
            n_steps += 1
            PyErr_CheckSignals()
            if time_is_over():
                break
        return n_steps

    def gain(self):
        """Return what the next step gains if its Hessian is exact and stays so; inf if there is no step."""
        return 0.5 * fabs(_dot(self.gradient, self.step)) if self._set_step() else float("inf")

    cdef int _evaluate(self) except -1:
        """Compute dual variables, gradient, value and gap at w, given its products."""
        cdef Point point = self.point
        cdef double total
        if self.has_free_intercept:
            self._shift_intercept(point)
        with nogil:
            point.residual = self.losses.dual_variables(point.margins, point.dual, point.free, &total)
        point.total = total
        # Recomputed, not updated: dual variables that went to a large C and back would leave rounding errors.
        set_combination(self.data, self.samples, point.dual, point.combination)
        self._compare()
        return 0

    cdef void _compare(self):
        """Compute gradient, value and gap."""
        cdef Point point = self.point
        cdef double total, square = 0
        cdef Py_ssize_t j
        for j in range(self.n_penalised):
            total = self.fixed[j] + point.combination[j]
            self.gradient[j] = point.w[j] - total
            square += total * total
        self.value = point.total + self.fixed_value - 0.5 * square
        self.gap = 0.5 * _dot(self.gradient, self.gradient) + point.residual

    cdef int _visit(self, Point point) except -1:
        """Compute the products of a point and, in blocks, its dual variables and their sum in the same pass."""
        if self.blocks is None:
            return set_products(self.data, self.samples, point.w, point.margins)
        sums = current_team().map(lambda block: self._block(point, block.start, block.stop), self.blocks)
        point.residual = sum([residual for residual, _, _ in sums])
        point.total = sum([total for _, total, _ in sums])
        point.combination = sum_in_order([part for _, _, part in sums])
        return 0

    def _block(self, Point point, Py_ssize_t begin, Py_ssize_t end):
        """Return the sums of `_visit` over a block of samples: (residual, total, combination)."""
        cdef double residual = 0, total = 0
        result = np.empty(point.w.shape[0])
        cdef double[::1] out = result
        with nogil:
            self._add_block(self.data, point, begin, end, &residual, &total, out)
        return residual, total, result

    cdef void _add_block(
        self, BinaryData data, Point point, Py_ssize_t begin, Py_ssize_t end, double* residual, double* total,
        double[::1] out
    ) noexcept nogil:
        cdef Py_ssize_t n
        cdef double bias = bias_of(data, point.w), label_sum = 0
        out[:] = 0
        while begin < end:
            n = min(BLOCK, end - begin)  # so few that their rows stay in the cache
            set_block(data, &self.samples[begin], n, &point.w[0], bias, &point.margins[begin])
            residual[0] += self.losses.dual_of_block(begin, n, point.margins, point.dual, point.free, total)
            label_sum += add_block(data, &self.samples[begin], n, &point.dual[begin], &out[0])
            begin += n
        if data.sq_intercept_scaling > 0:
            out[data.rows.n_features] += sqrt(data.sq_intercept_scaling) * label_sum

    cdef int _shift_intercept(self, Point point) except -1:
        """Change a free intercept to the best value for the other weights."""
        cdef Py_ssize_t i, d = self.n_penalised
        cdef double rho = sqrt(self.data.sq_intercept_scaling), shift
        with nogil:
            shift = self.losses.best_shift(point.margins, self.labels, self.fixed[d] / rho)
            point.w[d] += shift / rho
            for i in range(point.margins.shape[0]):
                point.margins[i] += self.labels[i] * shift
        return 0

    cdef bint _set_step(self) except -1:
        """Compute a Newton step; return False if rounding prevents it."""
        cdef Py_ssize_t j
        if self.drawn is None:
            self.hessian.update(self.samples, self.point.free)
        else:
            self.hessian.update(self.drawn, np.asarray(self.point.free)[self.drawn])
        for j in range(self.step.shape[0]):
            self.step[j] = -self.gradient[j]
        return self.hessian.solve(self.losses.factor * self.weight, self.step)

    cdef bint _step(self) except -1:
        """Take one Newton step; return False if it does not reduce the objective."""
        cdef Point point = self.point, trial
        cdef Py_ssize_t i, j, n = point.w.shape[0], d = self.n_penalised
        cdef double t, slope, linear = 0
        cdef bint has_moved = False
        if not self._set_step():
            return False
        slope = _dot(self.gradient, self.step)
        if not slope < 0:
            return False
        if self.trial is None:
            self.trial = Point(np.empty(n), np.empty(self.samples.shape[0]))
        trial = self.trial
        for j in range(n):
            trial.w[j] = point.w[j] + self.step[j]
        self._visit(trial)
        if self.has_free_intercept and self.hessian.n_free == 0:
            # The Hessian does not say how the best intercept changes with the other weights.
            self._shift_intercept(trial)
            self.step[d] = trial.w[d] - point.w[d]
        for j in range(n):
            linear += ((point.w[j] if j < d else 0) - self.fixed[j]) * self.step[j]
        with nogil:
            t = self.losses.line_search(point.margins, trial.margins, linear, _dot(self.step[:d], self.step[:d]), slope)
        for j in range(n):
            has_moved = has_moved or point.w[j] + t * self.step[j] != point.w[j]
        if not has_moved:  # the step is below rounding
            return False
        self.is_exact = t == 1
        if t == 1:
            self.point, self.trial = trial, point
        else:
            with nogil:
                for j in range(n):
                    point.w[j] += t * self.step[j]
                for i in range(point.margins.shape[0]):
                    point.margins[i] = (1 - t) * point.margins[i] + t * trial.margins[i]
        if t == 1 and self.blocks is not None:
            self._compare()
        else:
            self._evaluate()
        return True


cdef double _dot(const double[::1] a, const double[::1] b) noexcept nogil:
    return dot_of(&a[0], &b[0], a.shape[0])
