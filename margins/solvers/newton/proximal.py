"""Newton steps for regularisers that are not smooth, or not the same for all weights.

The problem: minimise r(w) + sum_k h_k(1 - w.y_k), for r of `margins.regularisers` and losses that are
smooth or smoothed, as in `margins.solvers.newton.newton`. A step minimises r plus a quadratic model
of the losses by coordinates (`margins.solvers.newton._coordinates`). The model is damped where it
gains more than the objective.

Weights that would stay at a kink of r or at a bound are left out of a step; the gradient is over all
weights, so they join when they matter. The first steps are for a smaller C, whose optimum has few
weights or is reached in few steps. C grows when what is left of its problem is at most its objective.
It need not grow to the end where all dual variables stay below their bounds: a larger C then changes
nothing.

A smooth loss is smoothed, too, as soon as steps are hard: with D_k for its dual variables, around an
estimate c_k of them, it is max over alpha of alpha s - D_k alpha^2 / 2 - (alpha - c_k)^2 / (2 sigma_k).
With more weights than samples and a large C, 1 / D_k is so large that every step changes which samples
have a loss.

If r* is finite for all vectors (a ridge, or bounds), the dual variables at w are feasible. Otherwise
they are multiplied by the largest t <= 1 for which it is. At the optimum t = 1; near it, t is as far
from 1 as the largest |sum_k alpha_k y_kj| from l1_j, so the bound of the optimum is about as accurate
as the gradient.

**Source**: Lee, Sun & Saunders (2014), Proximal Newton-type methods for minimizing composite functions;
Yuan, Ho & Lin (2012), An improved GLMNET for L1-regularized logistic regression.
"""

import math
from typing import NamedTuple

import numpy as np

from margins.data._passes import combination, products
from margins.data.binary_data import of_each
from margins.linalg.threads import one_thread, time_is_over
from margins.losses._line_search import StepLengths, max_derivatives
from margins.losses._smoothed import SmoothLoss, smoothing_curvature, smoothing_growth
from margins.regularisers import Terms
from margins.regularisers._terms import bound, movable, value_of
from margins.solvers.base import EpochReport, Solver
from margins.solvers.newton._coordinates import ColumnModel, StoredModel
from margins.solvers.newton._dense_hessian import DenseHessian, centre_of
from margins.solvers.newton.newton import assign_balanced
from margins.solvers.proof import PrimalPoint
from margins.tuning import TUNING

# A weight at a kink is left out of a step if its gradient is smaller than this share of l1.
SURE = 0.9
# A diagonal element of the model is at least this share of that of a Hessian over all samples.
LEAST = 1e-3
# A step that reduces the objective by less than this share of what its model gains is shortened.
DECREASE = 0.25
# A step that reduces it by more than this multiple is doubled, as often as that wins as much: the model
# is too stiff.
STIFF = 1.5
# A gain of at most this share of the objective is hidden by rounding: the model is right.
ROUNDING = 1e-14
# The least and the largest multiple of `LEAST` that is added to the diagonal of the model.
SMALLEST, LARGEST = 1e-5, 1e6
# A smoothed loss is solved when what steps may close is this share of what the smoothing leaves. It is
# smoothed less if that share of what was left when it was solved last is still left.
SOLVED, SLOW = 0.1, 0.5
# C grows if steps may close no more than this share of the objective for the present C, or after so many
# steps in a row that close none of it.
FOLLOWED, MOST_STALLED = 1.0, 5
# A smooth loss is smoothed after so many short steps, or one with more sweeps over many weights.
MOST_SHORT, MOST_SWEEPS = 3, 30
# A dual variable above this share of its bound may be at it at the optimum.
NEAR_BOUND = 0.5
# An l1 that is smaller, relative to the ridge, leaves most weights: the first C is the whole one.
LITTLE_L1 = 0.1
MOST_DIVISOR = 1e8


class DualPoint(NamedTuple):
    """Dual variables, and what the largest feasible multiple of them proves."""

    alpha: np.ndarray
    total: np.ndarray  # the sum of alpha_k y_k
    value: float


class ProximalNewtonSolver(Solver):
    """A solver whose full epochs are sequences of proximal Newton steps.

    is_stored: True: the Hessian is stored; otherwise it is multiplied by its columns.
    start: w and alpha of another solver over the same samples, or None.
    """

    name = "newton"

    def __init__(self, is_stored, in_blocks=False, tuning=TUNING, start=None):
        self._is_stored, self._in_blocks, self._start = is_stored, in_blocks, start
        self._tuning, self._newton = tuning.proximal, tuning.newton

    def start(self, run):
        """Start from the minimum of r, or where another solver ended."""
        data, loss = self._data, self._loss = run.data, run.loss
        m = len(data)
        self._all = np.arange(m, dtype=np.int32)
        self._rho, self._is_free = math.sqrt(data.sq_intercept_scaling), data.has_free_intercept
        penalty = run.problem.penalty
        self._terms = penalty.terms_of(data)
        self._n = len(self._terms.ridge)
        self._is_bounded = bool(np.isfinite(self._terms[3:]).any())
        upper = of_each(loss.upper, m)
        is_cold = self._start is None
        if is_cold:
            # Without a ridge, r* has no gradient that gives the weights at dual variables.
            is_cold = run.weights.dual_sum == 0 or not self._terms.ridge.all()
            scale = 0.0 if is_cold else run.dual_scale
            a = np.append(run.weights.weights, self._rho * run.weights.label_sum)[: self._n]
            self.w = np.zeros(data.rows.n_features + (self._rho > 0))
            self.w[: self._n] = self._terms.weights(scale * a)
            alpha = np.minimum(scale * run.weights.dual, upper)
        else:
            self.w, alpha = self._start[0].copy(), np.minimum(self._start[1], upper)
        self._is_smoothed, self._centre = not loss.is_smooth, np.array(alpha)
        if loss.is_smooth:
            curvature = of_each(1 / loss.diag, m)
        else:
            curvature = smoothing_curvature(upper, data.ordinary_sqnorms)
        self._curvature, self._upper, total = curvature, upper, float(curvature.sum())
        self._set_divisor(1.0)
        self.alpha, self._free = np.empty(m), np.empty(m, dtype=np.int8)
        self._hessian = None
        if self._is_stored:
            self._mean = centre_of(data) if self._is_free else None
            self._hessian = DenseHessian(data, curvature, self._in_blocks, True, self._mean)
            self._hessian.py_update(self._all, np.ones(m, dtype=np.int8))
            matrix = self._hessian.whole(1.0)
            sums, squares = matrix[-1, : self._n] / (self._rho or 1.0), np.diagonal(matrix)[: self._n]
        else:
            self._columns = penalty.columns_of(data)
            every = np.arange(self._n, dtype=np.int32)
            sums, squares = self._columns.moments(curvature, every, self._n)
            if self._n > data.rows.n_features:
                squares[-1] = total * self._rho**2
        if self._is_free:  # the model is over deviations from a mean
            squares = np.maximum(squares - sums * sums / total, 1e-6 * squares)
        squares = LEAST * squares
        self._least = np.where(squares > 0, squares, 1.0)
        self._best = DualPoint(np.zeros(m), np.zeros(len(self.w)), -math.inf)
        self._lowest = math.inf, self.w  # the least objective, and its weights
        self._last_residual, self._n_short = math.inf, 0
        self._aim = self._newton.gap_share
        self._share, self._floor = 1.0 if self._is_smoothed else SMALLEST, 1.0
        with one_thread():
            self.margins = products(data, self._all, self.w) if self.w.any() else np.zeros(m)
            if self._start is None and self._n > data.rows.n_features:
                self._move_intercept(total)
            self._evaluate()
            divisor = self._first_divisor() if is_cold else 1.0
            if divisor > 1:
                self._change_divisor(divisor)

    def _move_intercept(self, curvature):
        """Move a penalised intercept, at most to its best value: the losses curve no more than this."""
        terms = Terms(*(values[-1] for values in self._terms))
        signs, before, h = self._data.signs, self.w[-1], self._losses.factor * curvature * self._rho**2
        self._losses.evaluate(self.margins, self.alpha, self._free)
        now = h * (before - terms.centre) + self._rho * float(self.alpha @ signs)
        now = math.copysign(max(abs(now) - terms.l1, 0.0), now) / (h + terms.ridge) + terms.centre
        self.w[-1] = min(max(now, terms.lower), terms.upper)
        self.margins += (self.w[-1] - before) * self._rho * signs

    def _first_divisor(self):
        """Return by what C is divided first: few weights move, or margins change by about 1."""
        d, terms = self._data.rows.n_features, self._terms
        sizes = np.flatnonzero(terms.l1[:d] > LITTLE_L1 * terms.ridge[:d])
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if len(sizes):
                largest = float(np.max(np.abs(self._total[sizes]) / terms.l1[sizes]))
                largest *= self._tuning.first_divisor
            elif self._is_smoothed or self._n > len(self._data):
                # With more weights than samples, a step fits those that are free, and frees others.
                step = np.where(terms.ridge > 0, self._total[: self._n] / terms.ridge, 0.0)
                step = np.append(step, np.zeros(len(self.w) - self._n))
                largest = float(np.max(np.abs(products(self._data, self._all, step))))
            else:
                return 1.0
        return min(max(largest, 1.0), MOST_DIVISOR)

    @property
    def _is_inside(self):
        """True if no dual variable of a smoothed loss is near its bound: a larger C changes nothing."""
        if self._loss.is_smooth:
            return False
        return not (self._divisor * self.alpha > NEAR_BOUND * self._upper).any()

    def _change_divisor(self, divisor):
        """Divide C by another number from now on."""
        ratio = self._divisor / divisor
        if self._is_smoothed and self._divisor > 1:
            self._centre[:] = self.alpha
        self._set_divisor(divisor)
        if self._is_smoothed:
            self._evaluate()
        else:
            self.alpha *= ratio
            self._total *= ratio
            self._bound()

    def _set_divisor(self, divisor):
        """Divide C by a number, and smooth a loss to suit dual variables as large as now."""
        self._divisor, self._current = divisor, self._terms
        upper, curvature, factor = self._upper, self._curvature, 1.0
        if self._is_smoothed:
            scale = curvature if self._loss.is_smooth else upper
            used = scale > 0
            largest = divisor * float(np.max(self._centre[used] / scale[used]))
            factor = self._newton.first_factor * (min(largest, 1.0) or 1.0)
        if divisor > 1:
            upper, curvature = upper / divisor, curvature / divisor
            if self._n > self._data.rows.n_features:  # the intercept moves as for the whole C
                ridge, l1 = self._terms.ridge.copy(), self._terms.l1.copy()
                ridge[-1], l1[-1] = ridge[-1] / divisor, l1[-1] / divisor
                self._current = self._terms._replace(ridge=ridge, l1=l1)
        self._sizes = upper, curvature
        self._smooth(factor)

    def _smooth(self, factor):
        """Smooth the loss around the centre: a larger factor is closer to it."""
        self._factor, self._at_margin = factor, self._centre
        if not self._is_smoothed:
            self._at_margin, factor = None, 1.0
        elif self._loss.is_smooth:  # it is one of its kind, with D_k + 1 / sigma_k for D_k
            self._at_margin, factor = self._centre / (1 + factor), factor / (1 + factor)
        self._losses = SmoothLoss(self._at_margin, *self._sizes, factor, not self._loss.is_smooth)

    def _evaluate(self):
        """Compute the dual variables and their sum at w, and what they prove."""
        data = self._data
        if self._is_free:
            shift = self._losses.shift(self.margins, data.signs)
            self.w[-1] += shift / self._rho
            self.margins += shift * data.signs
        self._losses.evaluate(self.margins, self.alpha, self._free)
        self._total = combination(data, self._all, self.alpha)
        self._bound()

    def _bound(self):
        """Compute what the weights and the dual variables prove."""
        terms, a, w = self._terms, self._total[: self._n], self.w[: self._n]
        dual_sum, square = float(self.alpha.sum()), float(self.alpha @ (self._loss.diag * self.alpha))
        t, value, gap_of_terms = bound(terms, w, a, dual_sum, square)
        if value > self._best.value:
            self._best = DualPoint(self.alpha.copy(), self._total.copy(), value)
        penalty, losses, d = value_of(terms, w), self._loss.value(self.margins), self._divisor
        self._losses_at_w = losses
        if penalty + losses < self._lowest[0]:
            self._lowest = penalty + losses, self.w.copy()
        self._gap = penalty + losses - self._best.value
        # What less smoothing may close: h(s) + h*(alpha) - alpha s, summed.
        left = losses / d + 0.5 * d * square - (dual_sum - float(self.alpha @ self.margins))
        self._residual = max(left, 0.0) if self._is_smoothed else 0.0
        # What steps may close: the gap of r, and of the losses where dual variables must be scaled.
        primal, dual = penalty + losses / d, value - 0.5 * (d - 1) * t * t * square
        self._unsolved = max(gap_of_terms, primal - dual - self._residual)
        self._is_followed = self._unsolved <= FOLLOWED * primal

    @property
    def end(self):
        """w and alpha at the end of the solver, from which another one may start."""
        return self._lowest[1], self._best.alpha

    def epoch(self, run):
        share, least = self._aim * run.required_gap, math.inf
        n_passes, n_stalled, n_same, has_moved, is_over = 2, 0, 0, True, False
        with one_thread():
            for _ in range(self._newton.max_steps):
                if self._lowest[0] - self._best.value <= share * self._best.value or time_is_over():
                    break
                is_final = self._divisor == 1 or self._is_inside
                is_smoothed = self._is_smoothed and is_final
                if is_final:
                    self._current = self._terms
                is_solved = self._unsolved <= SOLVED * self._residual or not has_moved
                is_hard = n_same >= self._tuning.max_steps_of_smoothing
                n_same += is_smoothed
                if is_smoothed and (is_solved or is_hard):
                    # With a larger factor fewer samples are free, and steps gain less.
                    growth = smoothing_growth if self._residual > SLOW * self._last_residual else 1.0
                    growth, n_same = 1 / smoothing_growth if is_hard else growth, 0
                    self._last_residual = self._residual
                    self._centre[:] = self.alpha
                    self._smooth(growth * self._factor)
                    self._evaluate()
                    n_passes += 1
                has_moved = self._step() or not is_final
                n_passes += 3
                if self._changes_problem(n_stalled):
                    has_moved, least, n_stalled = True, math.inf, 0
                    continue
                left = self._gap if self._divisor == 1 else self._unsolved
                n_stalled = 0 if left < least else n_stalled + (n_same == 0 or not is_smoothed)
                least = min(least, left)
                # Where weights stay, less smoothing improves the dual variables, several times.
                is_over = not (has_moved or is_smoothed) or n_stalled >= self._tuning.patience
                if is_over:
                    break
            if self._hessian is None:  # without the rounding of changes
                self.margins = products(self._data, self._all, self.w)
            w, margins = self.w, self.margins
            if self._lowest[0] - self._best.value < self._gap:  # steps on a smoothed loss may lose
                w = self._lowest[1]
                margins = products(self._data, self._all, w)
        if n_passes == 2:  # no step: what certificates add for rounding is left
            self._aim *= 0.5
        alpha, total = self._best.alpha.copy(), self._best.total.copy()
        assign_balanced(run.weights, self._data, alpha, self._upper, total)
        point = PrimalPoint(w, margins, self._rho, run.weights)
        n_accesses = n_passes * len(self._data)
        return EpochReport(
            len(self._data), n_accesses, primal=point, dual_is_feasible=True, is_exhausted=is_over
        )

    def _changes_problem(self, n_stalled):
        """Smooth a loss where steps are hard, or let C grow; return whether one of them has changed."""
        if self._n_short >= MOST_SHORT and not self._is_smoothed:
            self._is_smoothed, self._centre[:] = True, self.alpha
            self._set_divisor(self._divisor)
            self._evaluate()
            return True
        if self._divisor == 1 or not (self._is_followed or n_stalled >= MOST_STALLED) or self._is_inside:
            return False
        self._change_divisor(max(self._tuning.next_divisor * self._divisor, 1.0))
        return True

    def _step(self):
        """Take one step over the weights that may matter; return False if w stays."""
        before = self.w
        objective = self._objective(before, self.margins, self._losses_at_w)
        while self._share <= LARGEST:
            direction, gain = self._direction(self._candidates())
            if not (gain > 0 and np.isfinite(direction).all()):
                return False
            won = self._follow(direction, gain, objective)
            # Levenberg's rule: shorter steps where the model gains more than the objective.
            # So is NaN, of objectives beyond the range of numbers.
            factor = 0.1 if won > 0.5 * gain else 1 if won >= 0.1 * gain else 10
            self._share = max(factor * self._share, SMALLEST)
            if won < 0.1 * gain:
                self._n_short += 1
                self._floor = min(10 * self._floor, 1.0)
            elif won > STIFF * gain:
                self._floor = max(0.1 * self._floor, SMALLEST)
            if won > 0:
                self._evaluate()
                return bool((self.w != before).any())
        self._share = LARGEST
        return False

    def _follow(self, direction, gain, objective):
        """Move along a direction, if that reduces the objective, and return by how much."""
        moved = self._moved(direction, objective)
        if gain <= ROUNDING * objective:
            moved = *moved[:2], max(moved[2], gain)
        if moved[2] < DECREASE * gain:
            direction = self._length(direction, moved[1]) * direction
            moved = self._moved(direction, objective)
        longer = moved
        while longer[2] > STIFF * gain:
            moved, gain, direction = longer, longer[2], 2 * direction
            longer = self._moved(direction, objective)
        w, margins, won = moved
        if won > 0:
            self.w, self.margins = w, margins
        return won

    def _moved(self, step, objective):
        """Return the weights after a step, their w.y_k, and by how much the objective is less."""
        w, n = self.w + step, self._n
        if self._is_bounded:
            w[:n] = np.clip(w[:n], *self._terms[3:])
        margins = self._margins_at(w)
        return w, margins, objective - self._objective(w, margins)

    def _margins_at(self, w):
        """Return w.y_k of all samples; if there are columns, by those whose weights change."""
        if self._hessian is not None:
            return products(self._data, self._all, w)
        change = w - self.w
        scores = np.full(len(self.margins), self._rho * change[-1] if self._rho > 0 else 0.0)
        self._columns.add_products(change, scores)
        return self.margins + self._data.signs * scores

    def _length(self, direction, trial_margins):
        """Return the length of a step below 1 at which the derivative of the objective is about 0."""
        terms, losses, n = self._current, self._losses, self._n
        w, d, low = self.w[:n], direction[:n], 0.0

        def derivatives(t):
            from_centre = w + t * d - terms.centre
            signs = np.sign(np.where(from_centre == 0, d, from_centre))
            first, second = losses.slopes(self.margins, trial_margins, t)
            slope = float(d @ (terms.ridge * from_centre + terms.l1 * signs))
            return slope - first, float(d @ (terms.ridge * d)) + second

        slope, _ = derivatives(0.0)
        t, lengths = 1.0, StepLengths(min(slope, 0.0))
        for _ in range(max_derivatives):
            derivative, curvature = derivatives(t)
            if abs(derivative) <= 0.1 * abs(slope):
                return t
            low = t if derivative < 0 else low
            t = lengths.after(t, derivative, curvature or abs(derivative))
        return low

    def _objective(self, w, margins, losses=None):
        """Return the objective with the losses smoothed; losses: their sum without, if it is known."""
        value, (upper, curvature) = value_of(self._current, w[: self._n]), self._sizes
        if not self._is_smoothed:
            return value + (self._loss.value(margins) if losses is None else losses) / self._divisor
        sigma, slacks = self._losses.factor * curvature, 1 - margins
        alpha = np.clip(self._at_margin + sigma * slacks, 0, upper)
        change = alpha - self._at_margin
        return value + float(alpha @ slacks - 0.5 * (change @ (change / sigma)))

    def _candidates(self):
        """Return the weights over which a step is, ascending."""
        terms, w, a = self._current, self.w[: self._n], self._total[: self._n]
        candidates, distances = movable(terms, w, a, SURE)
        most = max(self._tuning.min_candidates, 2 * np.count_nonzero(w != terms.centre))
        if len(candidates) > most:
            candidates = np.sort(candidates[np.argpartition(-distances, most)[:most]])
        return candidates

    def _direction(self, candidates):
        """Return the change of the weights that minimises the model (ndarray), and its gain (float)."""
        n, factor = self._n, self._losses.factor / self._divisor
        model, shift_of = self._model(candidates, factor)
        tuning = self._tuning
        few = tuning.max_sweeps_of_face
        many = few if self._is_stored else tuning.max_sweeps_of_columns
        gain = model.minimise(candidates, tuning.tolerance, tuning.max_sweeps, few, many)
        n_used = np.count_nonzero(self.w[:n] != self._terms.centre)
        if model.n_sweeps > MOST_SWEEPS and n_used > len(self._data):
            self._n_short = MOST_SHORT
        direction = np.zeros(len(self.w))
        direction[:n] = model.point - self.w[:n]
        if self._is_free:
            direction[-1] = shift_of(direction[:n]) / self._rho
        return direction, gain

    def _model(self, candidates, factor):
        """Return the model at w, and the change of a free intercept as a function of a step."""
        n, least = self._n, factor * self._floor * self._least
        point = self.w[:n], -self._total[:n], self._current, least, self._share / self._floor
        if self._hessian is None:
            curvature, rho = factor * self._curvature * self._free, 0.0 if self._is_free else self._rho
            model = ColumnModel(*point, self._columns, curvature, candidates, rho, self._is_free)
            return model, lambda step: model.change_of_intercept
        self._hessian.py_update(self._all, self._free)
        matrix, means = self._stored(factor)
        if means is None:
            return StoredModel(*point, matrix), None
        centre = 0.0 if self._mean is None else self._mean
        return StoredModel(*point, matrix), lambda step: -float((means + centre) @ step)

    def _stored(self, factor):
        """Return the stored Hessian times a factor, and the means that a free intercept subtracts."""
        matrix = self._hessian.whole(factor)
        if not self._is_free:
            return matrix, None
        row, last = matrix[-1, :-1] / self._rho, matrix[-1, -1] / self._rho**2
        means = row / last if last > 0 else np.zeros(self._n)
        return np.ascontiguousarray(matrix[:-1, :-1] - np.outer(means, row)), means
