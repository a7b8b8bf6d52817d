"""Newton steps of one binary problem whose samples are in partitions: the client's part.

The problem: minimise f(w) = |w|^2 / 2 + sum_k h_k(1 - w.y_k), given sums over the samples at any w,
each of which takes a pass. A pass yields, at once, what certifies w and what the next step needs: the
loss, the gradient and the Hessian. So a step whose full length is accepted takes one pass. One that
needs a line search takes another, and the search itself none, because partitions keep w.y_k at both of
its ends.

A loss that is not smooth is smoothed around dual variables, as in `margins.solvers.newton`. Whether
those of w become the centre is known only after the pass, so a pass sums for either case.

Steps are generators: they yield a request (`margins.partitions.requests`), and receive the sums. So all
binary problems share the passes.

**Source**: Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large scale
linear SVMs; Yan & Li (2020), An efficient augmented Lagrangian method for support vector machine.
"""

import math
import time

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from margins.certificate import Certificate
from margins.losses._line_search import StepLengths, max_derivatives
from margins.partitions.partition import GROWTH, Point
from margins.partitions.requests import Accurate, Evaluate, Multiply, Slopes
from margins.partitions.start import start_at_zero
from margins.solvers.base import Ending, HasEnding, PhaseRecord
from margins.solvers.certification import NEGLIGIBLE, PrimalPoint, unit_of
from margins.solvers.history import Epoch
from margins.tuning import TUNING


class NewtonRun(HasEnding):
    """The fit of one binary problem.

    Parameters
    ----------
    problem : int
        Its number.
    summary : margins.partitions.fit.Summary
    specification : margins.training.specification.Specification
    is_stored : bool
        True: Hessians are stored.
    start : margins.partitions.start.Start
        The first weight vector.
    end_of_time : float
        When the time limit ends the steps, in seconds of `time.perf_counter`.
    tuning : margins.tuning.PartitionTuning, optional

    Attributes
    ----------
    certificate : Certificate
    hypothesis : PrimalPoint
    history : list of Epoch
    phases : list of PhaseRecord
    n_epochs, n_accesses : int
        Passes over the samples, after the one that has checked them, and samples read in all of them.
    ending : Ending or None
        How it ended; None: it has not.
    """

    # As `margins.training.fit` reads a run of samples in memory.
    primal_scale, theta = 1.0, 0.0

    def __init__(
        self,
        problem,
        summary,
        specification,
        is_stored,
        start,
        end_of_time=math.inf,
        tuning=TUNING.partitions,
    ):
        self.problem, self.data, self.loss = problem, summary, summary.loss
        self.specification, self._end_of_time = specification, end_of_time
        self._is_stored, self._start, self._tuning = is_stored, start, tuning
        # 1 for every weight that is penalised; an intercept that is not is the last one.
        self._ridge = np.ones(len(start.w))
        if summary.has_free_intercept:
            self._ridge[-1] = 0
        self._w, self._primal, self._dual = start.w, math.inf, -math.inf
        self._point = self._sums = None  # the point of the last evaluation, and its sums
        self._before = self._hessian = None  # of the base of the next evaluation
        self._version, self._n_worse, self._gap = 0, 0, math.inf
        self._shortest = math.inf  # the least squared norm of a gradient with this smoothing
        self._n_updates, self._begin = 0, time.perf_counter()
        self.certificate = None
        self.history, self.phases = [], []
        self.n_epochs, self.n_accesses = 0, summary.n_samples

    @property
    def hypothesis(self):
        return PrimalPoint(self._w, None, math.sqrt(self.data.sqrho), None)

    def count_pass(self):
        """Count a pass over the samples in which this problem has taken part."""
        self.n_epochs += 1
        self.n_accesses += self.data.n_samples

    # ---------------------------------------------------------------------------------------- steps

    def steps(self):
        """Make steps until the accuracy is proven, or a limit is reached; yields requests."""
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
        self.phases.append(
            PhaseRecord("newton", self.n_epochs, self._n_updates, self.n_accesses, seconds)
        )
        if self._is_proven():
            self.ending = Ending.PROVEN
        else:  # not by the primal value of the coefficients as they are rounded
            self.ending = Ending.STANDSTILL if stop is Ending.PROVEN else stop
            self._detail = self._why_standstill(stop)

    def _evaluate(self, w, factor, base=None):
        """Evaluate a point: a pass. Sets the point and its sums."""
        history = ()
        if base is not None:
            before, is_centre = base
            history = before.history + (((before.w, before.factor),) if is_centre else ())
        self._version += 1
        point = Point(self._version, factor, w, history)
        (evaluation,) = yield (Evaluate(self.problem, point, base),)
        hessian = None if base is None or not self._is_stored else self._hessian
        self._point, self._is_kept = point, evaluation.n_unkept == 0
        self._sums = tuple(sums.with_hessian(hessian) for sums in evaluation.sums)
        self._certify(w, evaluation)

    def _which_sums(self):
        """0: the smoothing stays; 1: it is reduced, because it causes most of the gap.

        Or, at first, because the accuracy could not be proven with it.
        """
        if len(self._sums) == 1:
            return 0
        residual = self._sums[0].residual
        if self._n_updates == 0 and self._start.max_primal < math.inf:
            share = self._tuning.smoothing_share * self.loss.required_gap(self.specification.eps)
            return int(residual > share * self._primal)
        return int(0.5 * self._sqnorm(self._point, self._sums[0]) <= residual)

    def _gradient(self, point, sums):
        return self._ridge * point.w - sums.combination

    def _sqnorm(self, point, sums):
        """The squared norm of the gradient."""
        gradient = self._gradient(point, sums)
        return float(gradient @ gradient)

    @staticmethod
    def _factor(point, which):
        return point.factor * (GROWTH if which else 1)

    def _improve(self):
        """Move by a Newton step: True if it has changed the weight vector."""
        which, base = self._which_sums(), self._point
        self._before, self._hessian = self._sums[which], self._sums[which].hessian
        sqnorm = self._sqnorm(base, self._before)
        self._shortest = sqnorm if which else min(self._shortest, sqnorm)
        step = yield from self._direction(base, which)
        if step is None:
            return False
        self._n_updates += 1
        factor = self._factor(base, which)
        yield from self._evaluate(base.w + step, factor, (base, bool(which)))
        if self._is_proven() or self._has_improved(base):
            return True
        self._n_worse = max(self._n_worse - 1, 0)  # a step that is not taken is none
        t = yield from self._length(base, which, step)
        yield from self._evaluate(base.w + t * step, factor, (base, bool(which)))
        return bool((t * step != 0).any())

    def _has_improved(self, base):
        """True if the objective has decreased enough, or the gradient is shorter than all before.

        The objective may then have increased. If it were enough to be shorter than the last one, steps
        might go round in circles.
        """
        step, share = self._point.w - base.w, self._tuning.step_reduction
        slope = float(self._gradient(base, self._before) @ step)
        slope_there = float(self._gradient(self._point, self._sums[0]) @ step)
        is_shorter = self._sqnorm(self._point, self._sums[0]) <= share * self._shortest
        return is_shorter or (slope < 0 and slope_there <= share * abs(slope))

    def _length(self, base, which, step):
        """The length of a step to the point of the last evaluation, by a line search."""
        trial, sums = self._point, self._before
        penalised = self._ridge * step
        linear, square = float(base.w @ penalised), float(step @ penalised)
        slope = float(self._gradient(base, sums) @ step)
        lengths, t = StepLengths(slope), 1.0
        for _ in range(max_derivatives):
            ((first, second),) = yield (Slopes(self.problem, base, trial, which, t),)
            derivatives = linear + t * square - first, square + second
            if lengths.is_long_enough(t, *derivatives):
                break
            t = lengths.after(t, *derivatives)
        return t

    # ----------------------------------------------------------------------------------- directions

    def _direction(self, base, which):
        """The search direction: ndarray of float64; None if rounding prevents it."""
        sums, factor = self._before, self._factor(base, which)
        if not self._is_stored:
            return (yield from self._conjugate_gradients(base, which))
        matrix = factor * sums.hessian
        np.einsum("ii->i", matrix)[:] += self._ridge_of(matrix[-1, -1])
        try:
            cholesky = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        step = cho_solve(cholesky, -self._gradient(base, sums), check_finite=False)
        return step if np.isfinite(step).all() else None

    def _ridge_of(self, curvature):
        """What the penalty adds to the diagonal of the Hessian, given the curvature of the last weight.

        Without curvature no intercept is better than another, so that it may be penalised.
        """
        return self._ridge if curvature > 0 else 1.0

    def _conjugate_gradients(self, base, which):
        """The direction by conjugate gradients, preconditioned by the diagonal."""
        sums, factor, tuning = self._before, self._factor(base, which), self._tuning
        residual = -self._gradient(base, sums)
        ridge = self._ridge_of(sums.hessian[-1])
        scale = 1 / (ridge + factor * sums.hessian)
        limit = tuning.residual * math.sqrt(float(residual @ residual))
        solution, scaled = np.zeros(len(residual)), scale * residual
        direction, inner = scaled, float(residual @ scaled)
        for _ in range(tuning.max_products):
            reads = not self._is_kept
            ((image,),) = yield (Multiply(self.problem, base, which, direction, reads),)
            image = ridge * direction + factor * image
            length = inner / float(direction @ image)
            if not math.isfinite(length):
                return None
            solution += length * direction
            residual = residual - length * image
            if math.sqrt(float(residual @ residual)) <= limit or self._is_out_of_time():
                break
            scaled = scale * residual
            before, inner = inner, float(residual @ scaled)
            direction = scaled + (inner / before) * direction
        return solution

    # ---------------------------------------------------------------------------------- certificates

    def _certify(self, w, evaluation):
        """Record what a pass has proven."""
        with np.errstate(over="ignore", invalid="ignore"):
            primal = 0.5 * float(w @ (self._ridge * w)) + evaluation.loss
            for sums in evaluation.sums:
                self._dual = max(self._dual, self._dual_value(sums))
        if primal < self._primal:
            self._primal, self._w = primal, w
        self.certificate = Certificate.from_bounds(self._primal, self._dual, self._n_updates)
        gap = self.certificate.gap
        self._n_worse = 0 if gap < self._gap else self._n_worse + 1
        self._gap = min(gap, self._gap)
        n_positive = evaluation.n_positive
        epoch = Epoch(self.n_epochs, self._n_updates, n_positive, self.certificate, "newton")
        self.history.append(epoch)
        if self.specification.report is not None:
            self.specification.report(
                f"pass {self.n_epochs + 1} (newton), problem {self.problem}: {n_positive} samples "
                f"with a loss, proven fraction {self.certificate.fraction:.6g}, gap {gap:.3g}"
            )

    def _dual_value(self, sums):
        """The dual value of the best feasible multiple of dual variables: float; -inf without any.

        Without a penalised intercept they must balance: one class is lowered by the excess.
        """
        combination, dual_sum = sums.combination * self._ridge, sums.dual_sum
        square = float(combination @ combination) + 2 * (dual_sum - sums.value)
        if self.data.has_free_intercept:
            excess = abs(float(sums.combination[-1])) / math.sqrt(self.data.sqrho)
            square = (math.sqrt(max(square, 0.0)) + excess * math.sqrt(self.data.max_sqnorm)) ** 2
            dual_sum -= excess
        if not (dual_sum > 0 and 0 < square < math.inf):
            return -math.inf
        scale = dual_sum / square
        if self.loss.has_upper_bounds:
            scale = min(scale, 1.0)
        return scale * dual_sum - 0.5 * scale * scale * square

    def _certify_as_returned(self):
        """Where rounding may matter, state the primal value of the weights by products in twice the
        working precision."""
        summary, primal = self.data, self._primal
        if not 0 < primal < math.inf:
            return
        error = unit_of(summary.n_features) * 2 * math.sqrt(primal * summary.max_sqnorm)
        if summary.mean_loss.max_sensitivity(summary.n_samples, error, primal) > NEGLIGIBLE:
            ((loss,),) = yield (Accurate(self.problem, self._w),)
            primal = 0.5 * float(self._w @ (self._ridge * self._w)) + loss
            self.certificate = Certificate.from_bounds(primal, self._dual, self._n_updates)

    # ---------------------------------------------------------------------------------------- limits

    def _stop(self):
        """Why the steps end now: Ending; None if they do not."""
        if self._is_proven():
            return Ending.PROVEN
        if self.n_epochs >= self.specification.max_iter:
            return Ending.MAX_ITER
        if self._is_out_of_time():
            return Ending.MAX_TIME
        return Ending.STANDSTILL if self._n_worse >= self._tuning.patience else None

    def _why_standstill(self, stop):
        """Why more steps would not help: str."""
        if stop is Ending.PROVEN:
            return "rounding prevents its proof"
        if self._n_worse >= self._tuning.patience:
            return f"{self._n_worse} steps in a row have not reduced the gap"
        return "Newton steps do not reduce the objective any more"

    def _is_proven(self):
        return self.loss.is_proven(self.certificate, self.specification.eps)

    def _is_out_of_time(self):
        return time.perf_counter() >= self._end_of_time
