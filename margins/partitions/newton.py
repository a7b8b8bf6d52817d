"""Newton steps of one binary problem whose samples are in partitions: the client's part.

The problem: minimise f(w) = |w|^2 / 2 + sum_k h_k(1 - w.y_k), given sums over the samples at any w, each
of which takes a pass. One pass yields both the certificate of w and the input of the next step, so a
step that is accepted at full length takes one pass. A line search takes one more: partitions keep w.y_k
at both ends. A loss that is not smooth is smoothed around dual variables, as in
`margins.solvers.newton`; only after the pass is it known which, so a pass computes both sums.

Steps are generators: they yield a request (`margins.partitions.requests`) and receive the sums, so that
all binary problems share the passes.

**Source**: Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large scale
linear SVMs; Yan & Li (2020), An efficient augmented Lagrangian method for support vector machine.
"""

import math
import time

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from margins.certificate import ACCURACY, Certificate, Standing
from margins.linalg.threads import one_thread_for
from margins.losses._line_search import StepLengths, max_derivatives
from margins.partitions.partition import GROWTH, Point
from margins.partitions.requests import Accurate, Evaluate, Multiply, Slopes
from margins.partitions.start import start_at_zero
from margins.solvers.base import Ending, PhaseRecord
from margins.solvers.history import Epoch
from margins.solvers.outcome import Outcome
from margins.solvers.proof import (
    CANCELLED,
    CANCELLED_OF_SPREAD,
    NEGLIGIBLE,
    ROUNDINGS,
    SAME_OBJECTIVE,
    SMALL,
    PrimalPoint,
    is_nothing,
    unit_of,
)
from margins.tuning import TUNING


class NewtonRun:
    """The fit of one binary problem; Hessians that are not stored are multiplied by vectors."""

    def __init__(self, problem, summary, specification, is_stored, start, end_of_time):
        self.problem, self.data, self.loss = problem, summary, summary.loss
        self.specification, self._end_of_time = specification, end_of_time
        self._is_stored, self._start, self._tuning = is_stored, start, TUNING.partitions
        # 1 for every penalised weight, 0 for a free intercept, which comes last.
        self._ridge = np.ones(len(start.w))
        if summary.has_free_intercept:
            self._ridge[-1] = 0
        self._w, self._primal, self._dual = start.w, math.inf, -math.inf
        self._spread = start.spread
        self._last_primal = math.inf  # at the last point evaluated
        self._standing = Standing(summary.constant, 0.0)
        self._point = self._sums = None  # the last point evaluated, and its sums
        self._base_sums = self._hessian = None  # sums and Hessian at the base of the next evaluation
        self._version, self._n_worse, self._gap, self._improvement = 0, 0, math.inf, 0.0
        self._shortest = math.inf  # smallest squared norm of a gradient with this smoothing
        self._n_updates, self._begin = 0, time.perf_counter()
        self.certificate = None
        self.history, self.phases = [], []
        # Passes over the samples after the scan, and samples read in all of them.
        self.n_epochs, self.n_accesses = 0, summary.n_samples

    def count_pass(self):
        """Count a pass over the samples in which this problem took part."""
        self.n_epochs += 1
        self.n_accesses += self.data.n_samples

    # ---------------------------------------------------------------------------------------- steps

    def steps(self):
        """Step until the accuracy is proven or a limit is reached; yield requests, return an Outcome."""
        yield from self._evaluate(self._start.w, self._start.factor)
        if self._primal > self._start.max_primal:  # the subsample was misleading
            start = self._start = start_at_zero(len(self._w), self.loss)
            yield from self._evaluate(start.w, start.factor)
        stop = self._stop()
        while stop is None:
            has_moved = yield from self._improve()
            stop = self._stop() if has_moved else Ending.STANDSTILL
        yield from self._certify_as_returned()
        seconds = time.perf_counter() - self._begin
        record = PhaseRecord("newton", self.n_epochs, self._n_updates, self.n_accesses, seconds)
        self.phases.append(record)
        if self._is_proven():
            return self._outcome(Ending.PROVEN, None)
        # The rounded coefficients do not attain this primal value.
        ending = Ending.STANDSTILL if stop is Ending.PROVEN else stop
        return self._outcome(ending, self._why_standstill(stop))

    def _outcome(self, ending, detail):
        """Return the outcome of the run, which has ended (Outcome)."""
        point = PrimalPoint(self._w, None, math.sqrt(self.data.sq_intercept_scaling), None)
        return Outcome(
            self.specification,
            self.data,
            hypothesis=point,
            weights=point,
            certificate=self.certificate,
            ending=ending,
            history=self.history,
            phases=self.phases,
            detail=detail,
            loss=self.loss,
            n_epochs=self.n_epochs,
            n_accesses=self.n_accesses,
        )

    def _evaluate(self, w, factor, base=None):
        """Evaluate a point in one pass, and set the point and its sums."""
        history = ()
        if base is not None:
            previous, is_centre = base
            history = previous.history + (((previous.w, previous.factor),) if is_centre else ())
        self._version += 1
        point = Point(self._version, factor, w, history)
        (evaluation,) = yield (Evaluate(self.problem, point, base),)
        hessian = None if base is None or not self._is_stored else self._hessian
        self._point, self._is_kept = point, evaluation.n_unkept == 0
        self._sums = tuple(sums.with_hessian(hessian) for sums in evaluation.sums)
        self._certify(w, evaluation)

    def _index_of_sums(self):
        """Return 1 if the smoothing, which causes most of the gap or rules out eps, is reduced, or 0."""
        if len(self._sums) == 1:
            return 0
        residual = self._sums[0].residual
        if self._n_updates == 0 and self._start.max_primal < math.inf:
            share = self._tuning.smoothing_share * self.loss.required_gap(self.specification.eps)
            return int(residual > share * self._primal)
        return int(0.5 * self._sqnorm(self._point, self._sums[0]) <= residual)

    def _value(self, w):
        """Return r(w)."""
        return 0.5 * float(w @ (self._ridge * w))

    def _gradient(self, point, sums):
        return self._ridge * point.w - sums.combination

    def _sqnorm(self, point, sums):
        """Return the squared norm of the gradient."""
        gradient = self._gradient(point, sums)
        return float(gradient @ gradient)

    @staticmethod
    def _factor(point, sums_index):
        return point.factor * (GROWTH if sums_index else 1)

    def _improve(self):
        """Take a Newton step, and return True if it has changed the weight vector."""
        sums_index, base = self._index_of_sums(), self._point
        self._base_sums, self._hessian = self._sums[sums_index], self._sums[sums_index].hessian
        sqnorm = self._sqnorm(base, self._base_sums)
        self._shortest = sqnorm if sums_index else min(self._shortest, sqnorm)
        step = yield from self._direction(base, sums_index)
        if step is None:
            return False
        self._n_updates += 1
        factor = self._factor(base, sums_index)
        yield from self._evaluate(base.w + step, factor, (base, bool(sums_index)))
        if self._is_proven() or self._has_improved(base):
            return True
        self._n_worse = max(self._n_worse - 1, 0)  # the rejected point does not count
        t = yield from self._length(base, sums_index, step)
        yield from self._evaluate(base.w + t * step, factor, (base, bool(sums_index)))
        return bool((t * step != 0).any())

    def _has_improved(self, base):
        """Return True if the objective decreased enough or the gradient is the shortest so far."""
        # To be shorter than only the last gradient is not enough: the steps could cycle.
        step, share = self._point.w - base.w, self._tuning.step_reduction
        slope = float(self._gradient(base, self._base_sums) @ step)
        slope_there = float(self._gradient(self._point, self._sums[0]) @ step)
        is_shorter = self._sqnorm(self._point, self._sums[0]) <= share * self._shortest
        return is_shorter or (slope < 0 and slope_there <= share * abs(slope))

    def _length(self, base, sums_index, step):
        """Search along the step to the last point evaluated, and return the step length."""
        trial, sums = self._point, self._base_sums
        penalised = self._ridge * step
        linear, square = float(base.w @ penalised), float(step @ penalised)
        slope = float(self._gradient(base, sums) @ step)
        lengths, t = StepLengths(slope), 1.0
        for _ in range(max_derivatives):
            ((first, second),) = yield (Slopes(self.problem, base, trial, sums_index, t),)
            derivatives = linear + t * square - first, square + second
            if lengths.is_long_enough(t, *derivatives):
                break
            t = lengths.after(t, *derivatives)
        return t

    # ----------------------------------------------------------------------------------- directions

    def _direction(self, base, sums_index):
        """Return the search direction; None if rounding prevents it."""
        sums, factor = self._base_sums, self._factor(base, sums_index)
        if not self._is_stored:
            return (yield from self._conjugate_gradients(base, sums_index))
        matrix, gradient = factor * sums.hessian, self._gradient(base, sums)
        np.einsum("ii->i", matrix)[:] += self._ridge_of(matrix[-1, -1], gradient[-1])
        with one_thread_for(matrix.size):
            try:
                cholesky = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                return None
            step = cho_solve(cholesky, -gradient, check_finite=False)
        return step if np.isfinite(step).all() else None

    def _ridge_of(self, curvature, slope):
        """Return the penalty's part of the Hessian's diagonal, given the last weight's derivatives."""
        if curvature > 0 or self._ridge[-1] > 0:
            return self._ridge
        # No sample holds the free intercept: it moves all scores by 1, or as far as the objective falls.
        ridge = self._ridge.copy()
        ridge[-1] = abs(slope) * math.sqrt(self.data.sq_intercept_scaling) or 1.0
        return ridge

    def _conjugate_gradients(self, base, sums_index):
        """Return the direction by conjugate gradients, preconditioned by the diagonal."""
        sums, factor, tuning = self._base_sums, self._factor(base, sums_index), self._tuning
        residual = -self._gradient(base, sums)
        ridge = self._ridge_of(sums.hessian[-1], residual[-1])
        scale = 1 / (ridge + factor * sums.hessian)
        limit = tuning.residual * math.sqrt(float(residual @ residual))
        solution, scaled = np.zeros(len(residual)), scale * residual
        direction, inner = scaled, float(residual @ scaled)
        for _ in range(tuning.max_products):
            reads = not self._is_kept
            ((image,),) = yield (Multiply(self.problem, base, sums_index, direction, reads),)
            image = ridge * direction + factor * image
            curvature = float(direction @ image)
            length = inner / curvature if curvature > 0 else math.inf  # of products that underflow
            if not math.isfinite(length):
                return None
            solution += length * direction
            residual = residual - length * image
            if math.sqrt(float(residual @ residual)) <= limit or self._is_out_of_time():
                break
            scaled = scale * residual
            previous_inner, inner = inner, float(residual @ scaled)
            direction = scaled + (inner / previous_inner) * direction
        return solution

    # ---------------------------------------------------------------------------------- certificates

    def _certify(self, w, evaluation):
        """Record what a pass has proven."""
        with np.errstate(over="ignore", invalid="ignore"):
            primal = self._value(w) + evaluation.loss
            for sums in evaluation.sums:
                self._dual = max(self._dual, self._dual_value(w, sums))
            accurate_gap = math.inf
            if self.data.constant - self._dual < SMALL * self.data.constant:
                accurate_gap = min(self._accurate_gap(w, primal, sums) for sums in evaluation.sums)
        self._last_primal = primal
        standing = Standing(self.data.constant, self._length_of_features(w), accurate_gap)
        is_same = primal <= (1 + ACCURACY) * self._primal  # except for rounding
        if primal < self._primal or (is_same and accurate_gap < self._standing.accurate_gap):
            self._primal, self._w, self._standing = primal, w, standing
        self.certificate = self._certificate()
        gap, improvement = self.certificate.gap, self.certificate.improvement
        is_better = gap < self._gap or improvement > self._improvement
        self._n_worse = 0 if is_better else self._n_worse + 1
        self._gap, self._improvement = min(gap, self._gap), max(improvement, self._improvement)
        n_positive = evaluation.n_positive
        counts = self.n_epochs, self._n_updates, n_positive
        self.history.append(Epoch(*counts, self.certificate, "newton", self.n_accesses))
        if self.specification.report is not None:
            self.specification.report(
                f"pass {self.n_epochs + 1} (newton), problem {self.problem}: {n_positive} samples "
                f"with a loss, proven fraction {self.certificate.fraction:.6g}, gap {gap:.3g}"
            )

    def _certificate(self):
        """Return the certificate of the best weight vector so far."""
        primal, dual = self._primal, self._dual
        improvement = self._standing.improvement(primal, dual)
        return Certificate.from_bounds(primal, dual, self._n_updates, improvement=improvement)

    def _length_of_features(self, w):
        """Return |w| over the features."""
        features = w[: self.data.n_features]
        return math.sqrt(float(features @ features))

    def _cancelled(self, sums):
        """Return up to what length the sum of alpha_k y_k, over the features, counts as cancelled."""
        square = max(self.data.max_sqnorm - self.data.sq_intercept_scaling, 0.0)
        return CANCELLED * sums.dual_sum * math.sqrt(square)

    def _accurate_gap(self, w, primal, sums):
        """Return an accurate upper bound of P - D, after scaling one class if the intercept is free."""
        gradient = self._ridge * w - self._ridge * sums.combination
        length, longest = math.sqrt(float(gradient @ gradient)), math.sqrt(self.data.max_sqnorm)
        is_free, total = self.data.has_free_intercept, sums.dual_sum * longest
        rounding = unit_of(self.data.n_samples) * total
        own_length, length = self._length_of_features(sums.combination), length + rounding
        limit = ROUNDINGS * rounding if is_free else self._cancelled(sums)
        if is_free and self.data.constant - self._dual <= SAME_OBJECTIVE * self.data.constant:
            limit = max(limit, CANCELLED_OF_SPREAD * sums.dual_sum * self._spread)
        if is_nothing(self.data.constant, self._dual, own_length, limit):
            return 0.0
        if not is_free:
            return 0.5 * length * length + sums.residual
        rho = math.sqrt(self.data.sq_intercept_scaling)
        excess = abs(float(sums.combination[-1])) / rho
        length += excess * longest
        if not self.loss.is_smooth:
            slack = 1 + rho * abs(float(w[-1])) + longest * self._length_of_features(w)
            return 0.5 * length * length + sums.residual + excess * slack
        share = 2 * excess / sums.dual_sum if sums.dual_sum > 0 else math.inf
        return 0.5 * length * length + share * share * primal

    def _dual_value(self, w, sums):
        """Return the dual value of the best multiple of the balanced dual variables, or 0."""
        combination, dual_sum = sums.combination * self._ridge, sums.dual_sum
        square = float(combination @ combination) + 2 * (dual_sum - sums.value)
        if self.data.has_free_intercept:
            excess = abs(float(sums.combination[-1])) / math.sqrt(self.data.sq_intercept_scaling)
            square = (math.sqrt(max(square, 0.0)) + excess * math.sqrt(self.data.max_sqnorm)) ** 2
            dual_sum -= excess
        if not (dual_sum > 0 and 0 <= square < math.inf):
            return 0.0
        scale = dual_sum / square if square > 0 else 1.0
        if self.loss.has_upper_bounds:
            scale = min(scale, 1.0)
        return scale * dual_sum - 0.5 * scale * scale * square

    def _certify_as_returned(self):
        """Recompute the primal value in twice the working precision if rounding may matter."""
        summary, primal = self.data, self._primal
        if not 0 < primal < math.inf:
            return
        length = float(np.linalg.norm(self._w))
        error = unit_of(summary.n_features) * 2 * length * math.sqrt(summary.max_sqnorm)
        if summary.mean_loss.max_sensitivity(summary.n_samples, error, primal) > NEGLIGIBLE:
            ((loss,),) = yield (Accurate(self.problem, self._w),)
            primal = self._value(self._w) + loss
            self._standing = self._standing.raised(primal - self._primal)
            self._primal = primal
            self.certificate = self._certificate()

    # ---------------------------------------------------------------------------------------- limits

    def _stop(self):
        """Return the reason to stop now; None to go on."""
        if self._is_proven():
            return Ending.PROVEN
        if self.n_epochs >= self.specification.max_iter:
            return Ending.MAX_ITER
        if self._is_out_of_time():
            return Ending.MAX_TIME
        return Ending.STANDSTILL if self._n_worse >= self._tuning.patience else None

    def _why_standstill(self, stop):
        """Return the reason why more steps would not help."""
        if stop is Ending.PROVEN:
            return "rounding prevents its proof"
        if self._n_worse >= self._tuning.patience:
            return f"{self._n_worse} steps in a row have not reduced the gap"
        return "Newton steps no longer reduce the objective"

    def _is_proven(self):
        return self.specification.is_proven(self.loss, self.certificate)

    def _is_out_of_time(self):
        return time.perf_counter() >= self._end_of_time
