"""Proximal Newton steps of one binary problem whose samples are in partitions: the client's part.

The problem: minimise f(w) = r(w) + sum_k h_k(1 - w.y_k) for r of `margins.regularisers`, with the passes
of `margins.partitions.newton`. A step minimises r plus the quadratic model of the losses that a pass has
summed, as in `margins.solvers.newton.proximal`. A line search goes by slopes, since f has kinks.
"""

import math

import numpy as np

from margins.certificate import ACCURACY
from margins.linalg.threads import one_thread_for
from margins.losses._line_search import StepLengths, max_derivatives
from margins.partitions.newton import NewtonRun
from margins.partitions.requests import Slopes
from margins.regularisers._terms import bound, gap_of, movable, value_of
from margins.solvers.newton._coordinates import StoredModel
from margins.solvers.newton.proximal import LARGEST, LEAST, SMALLEST, SURE
from margins.solvers.proof import unit_of
from margins.tuning import TUNING


class ProximalRun(NewtonRun):
    """The fit of one binary problem with a Penalty; its Hessians are stored."""

    def __init__(self, problem, summary, specification, start, end_of_time, penalty):
        super().__init__(problem, summary, specification, True, start, end_of_time)
        self._penalty, self._terms = penalty, penalty.terms_of(summary)
        self._n = len(self._terms.ridge)
        self._least, self._share = np.zeros(self._n), SMALLEST

    def _evaluate(self, w, factor, base=None):
        w = w.copy()
        w[: self._n] = np.clip(w[: self._n], self._terms.lower, self._terms.upper)  # rounding
        return super()._evaluate(w, factor, base)

    def _value(self, w):
        return value_of(self._terms, w[: self._n])

    def _length_of_features(self, w):
        return self._penalty.length(w)

    def _sqnorm(self, point, sums):
        """Return twice the part of the duality gap that a step may close."""
        return 2 * (self._gap_at(point.w, sums) - sums.residual)

    def _improve(self):
        n_epochs = self.n_epochs
        has_moved = yield from super()._improve()
        # Where weights stay, less smoothing improves the dual variables.
        return has_moved or (len(self._sums) > 1 and self.n_epochs > n_epochs)

    def _along(self, w, step, t):
        """Return the first two derivatives of r along a step from w, at the step length t."""
        n, terms = self._n, self._terms
        step = step[:n]
        from_centre = w[:n] + t * step - terms.centre
        # At a kink, the derivative from the left, or at the start from the right.
        signs = np.sign(np.where(from_centre == 0, -step if t > 0 else step, from_centre))
        slope = float(step @ (terms.ridge * from_centre + terms.l1 * signs))
        return slope, float(step @ (terms.ridge * step))

    def _slope(self, base, step, point, sums):
        """Return the derivative of the objective along a step from `base`, at its start or end."""
        slope, _ = self._along(base.w, step, float(point is not base))
        return slope - float(sums.combination @ step)

    def _has_improved(self, base):
        step = self._point.w - base.w
        # Past a kink near the start, the slope may be small although the objective is large.
        slope = self._slope(base, step, self._point, self._sums[0])
        has_improved = slope <= 0 or self._last_primal <= self._base_primal
        self._share = min(max((0.1 if has_improved else 10) * self._share, SMALLEST), LARGEST)
        return has_improved

    def _length(self, base, sums_index, step):
        slope = self._slope(base, step, base, self._base_sums)
        lengths, t, low, trial = StepLengths(min(slope, 0.0)), 1.0, 0.0, self._point
        for _ in range(max_derivatives):
            ((first, second),) = yield (Slopes(self.problem, base, trial, sums_index, t),)
            own, curvature = self._along(base.w, step, t)
            derivative, curvature = own - first, curvature + second
            low = t if derivative <= 0 else low
            if 0 >= derivative >= 0.1 * slope:
                break
            t = lengths.after(t, derivative, curvature or abs(derivative))
        return low

    def _direction(self, base, sums_index):
        yield from ()  # no request
        n, tuning, self._base_primal = self._n, TUNING.proximal, self._last_primal
        lower = self._factor(base, sums_index) * self._base_sums.hessian
        matrix = lower + lower.T
        np.fill_diagonal(matrix, np.diagonal(lower))
        a, step, means = self._base_sums.combination, np.zeros(len(base.w)), 0.0
        if n < len(a):  # eliminate the intercept
            last = matrix[-1, -1] or 1.0
            means, a = matrix[-1, :n] / last, a / np.append(np.ones(n), last)
            a[:n] -= matrix[-1, :n] * a[-1]
            matrix = np.ascontiguousarray(matrix[:n, :n] - np.outer(means, matrix[-1, :n]))
        self._least = np.maximum(0.1 * self._least, LEAST * np.diagonal(matrix))
        least = np.where(self._least > 0, self._least, 1.0)
        candidates, _ = movable(self._terms, base.w[:n], a[:n], SURE)
        with one_thread_for(matrix.size):
            model = StoredModel(base.w[:n], -a[:n], self._terms, least, self._share, matrix)
            few = tuning.max_sweeps_of_face
            model.minimise(candidates, tuning.tolerance, tuning.max_sweeps, few, few)
        step[:n] = model.point - base.w[:n]
        step[n:] = a[n:] - np.sum(means * step[:n])
        is_step = np.isfinite(step).all() and (step.any() or len(self._sums) > 1)
        return step if is_step else None

    def _bound_of(self, w, sums):
        """Return the feasible multiple of alpha, its dual value, and the errors of a and sum alpha_k."""
        n, longest = self._n, math.sqrt(self.data.max_sqnorm)
        excess = float(np.abs(sums.combination[n:]).sum()) / math.sqrt(
            self.data.sq_intercept_scaling or 1
        )
        error = (unit_of(self.data.n_samples) * sums.dual_sum + excess) * longest
        dual_sum, square = sums.dual_sum - excess, 2 * (sums.dual_sum - sums.value)
        a = sums.combination[:n]
        scale, value, _ = bound(self._terms, w[:n], a, dual_sum, square, error)
        return scale, value, error, excess

    def _dual_value(self, w, sums):
        value = self._bound_of(w, sums)[1]
        return max(value, 0.0) if math.isfinite(value) else 0.0

    def _accurate_gap(self, w, primal, sums):
        constant, limit = self.data.constant, self._cancelled(sums)
        scale, value, _, _ = self._bound_of(w, sums)
        is_zero = self._penalty.is_start_best(constant, value, scale * sums.combination, limit)
        if is_zero and self._primal <= (1 + ACCURACY) * constant:  # of an earlier point
            self._standing = self._standing._replace(accurate_gap=0.0)
        return 0.0 if is_zero else self._gap_at(w, sums)

    def _gap_at(self, w, sums):
        """Return an accurate upper bound of P - D."""
        scale, _, error, excess = self._bound_of(w, sums)
        weights, longest = w[: self._n], math.sqrt(self.data.max_sqnorm)
        a = sums.combination[: self._n]
        # Terms of r are convex in a: the sum over both ends of its error bounds them.
        ends = (a - error, a + error) if excess > 0 else (a,)
        gap = sum(gap_of(self._terms, weights, scale * end) for end in ends)
        gap += error * float(np.abs(weights).sum())
        gap += sums.residual + excess * (1 + longest * float(np.linalg.norm(w)))
        # What scaled dual variables leave of the losses.
        slacks, square = sums.dual_sum - float(w @ sums.combination), sums.dual_sum - sums.value
        return gap + max((1 - scale) * slacks - (1 - scale * scale) * square, 0.0)
