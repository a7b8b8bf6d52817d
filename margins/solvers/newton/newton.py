"""Newton steps, which change the dual variables of many samples at once.

The problem: minimise f(w) = |w|^2 / 2 + sum_k h_k(1 - w.y_k), for a loss h that is smooth (squared
hinge) or that is smoothed, less and less, around the current dual variables (hinge: the augmented
Lagrangian method).

An epoch reads all samples once. It leaves out samples whose dual variable will most likely stay at its
bound, because their margin differs from 1 by more than the last epoch changed margins. Over the rest,
the working set, Newton steps minimise f until the gap is small. The dual variables that belong to w
become the run's, so the certificate holds as after any other epoch; at the optimum w = a. The Hessian is
stored and kept if features are few (`DenseHessian`); otherwise vectors are multiplied by it
(`HessianVectorProduct`).

**Source**: Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large scale
linear SVMs; Yan & Li (2020), An efficient augmented Lagrangian method for support vector machine.
"""

import math
from typing import NamedTuple

import numpy as np

from margins.data._passes import combination, products
from margins.data.binary_data import of_each
from margins.linalg.threads import one_thread
from margins.losses import Loss
from margins.losses._smoothed import SmoothLoss, smoothing_curvature
from margins.solvers.balance import balance
from margins.solvers.base import EpochReport, Solver
from margins.solvers.newton._hessian import Hessian
from margins.solvers.newton._hessian_vector import HessianVectorProduct
from margins.solvers.newton._objective import Objective, mean_distance, working_set_of
from margins.solvers.proof import PrimalPoint
from margins.tuning import TUNING

# A working set of more than this share of the samples is extended to all: copies of it would cost more.
MOST = 0.9


class NewtonStart(NamedTuple):
    """The end of a solver, from which another one with a multiple of its penalties may start."""

    w: np.ndarray  # float64, as in `PrimalPoint`
    margins: np.ndarray  # likewise
    hessian: Hessian  # changed by the solver that starts from it
    curvature: np.ndarray  # float64, shape (m,): curvature of the Hessian
    first_loss: Loss  # the loss whose penalties the curvature belongs to
    band: float = math.inf  # change of margins in its last epoch
    alpha: np.ndarray | None = None  # float64, shape (m,): dual variables; None: not needed
    upper: np.ndarray | None = None  # float64, shape (m,): their upper bounds


class Steps(NamedTuple):
    """The results of steps over a working set."""

    objective: Objective
    fixed: np.ndarray  # float64: the sum of alpha_k y_k over the other samples
    n_steps: int
    margins: np.ndarray  # margins of all samples
    band: float  # mean change of margins
    factor: float  # factor of the smoothing
    n_accesses: int


class NewtonSolver(Solver):
    """A solver whose full epochs are Newton steps, from the best multiple of the run's weight vector.

    max_read: None: the Hessian is stored; otherwise, how many samples its products may read.
    in_blocks: True: a stored Hessian is summed from dense blocks of samples.
    epoch_reduction: with a smoothed loss, share of its first gap at which an epoch ends; 0: none.
    start: the end of a solver over the same samples whose penalties are a multiple of these.
    """

    name = "newton"

    def __init__(
        self,
        max_read=None,
        in_blocks=False,
        epoch_reduction=0.0,
        tuning=TUNING.newton,
        start=None,
    ):
        self._max_read, self._in_blocks = max_read, in_blocks
        self._reduction, self._tuning, self._start = epoch_reduction, tuning, start
        self._gap_share = tuning.gap_share

    @classmethod
    def why_not(cls, problem):
        if problem.is_kernel:
            return "Newton steps need the features of linear data, which a kernel does not provide"
        if not problem.loss.is_finite:
            return "the hard margin (C=inf) has no finite objective to minimise"
        return None

    def start(self, run):
        """Start from the best multiple of the run's weight vector."""
        self.data, self.loss = data, loss = run.data, run.loss
        m, n_features = len(data), data.rows.n_features
        self._rho = rho = math.sqrt(data.sq_intercept_scaling)
        self._all = np.arange(m, dtype=np.int32)
        self.upper = of_each(loss.upper, m)
        self._least_gap, self._n_stalled = math.inf, 0
        self._best_value = -math.inf
        self._best = None  # dual variables, and their feasible multiple
        self._has_best = False  # True: the run has these dual variables
        if self._start is not None:
            self._continue(self._start)
            return
        self.w = np.empty(n_features + (rho > 0))
        start, scale = run.hypothesis, run.primal_scale
        if not loss.is_smooth and scale < self._tuning.zero_scale * run.dual_scale:
            scale = run.dual_scale
        np.multiply(start.weights, scale, out=self.w[:n_features])
        if rho > 0:
            self.w[-1] = scale * rho * start.label_sum
        self.margins = np.zeros(m) if run.products is None else scale * run.products
        run.rescale_to_feasible()
        if loss.is_smooth:
            self.factor = 1.0
            self.curvature = of_each(1 / loss.diag, m)
            self.alpha = None  # the dual variables at w are not needed before the first epoch
        else:
            self.factor = self._tuning.first_factor
            self.curvature = smoothing_curvature(self.upper, data.ordinary_sqnorms)
            self.alpha = np.minimum(run.weights.dual, self.upper)
        self._band = math.inf
        self._hessian, self._first_loss = self._new_hessian(), loss

    def _continue(self, start):
        """Start from the end of another solver, whose penalties are a multiple of these.

        The Hessian stays a sum over those penalties, times `factor`. A loss that is not smooth is
        smoothed around the best multiple of the dual variables, whose sum is the weight vector.
        """
        self.w, self.margins = start.w, start.margins
        self._band = self._tuning.start_band * start.band
        self.curvature, self._hessian = start.curvature, start.hessian
        self._first_loss = start.first_loss
        if self.loss.is_smooth:
            self.factor = _first(start.first_loss.diag) / _first(self.loss.diag)
            self.alpha = self._dual_variables()
            return
        self.factor = self._tuning.first_factor * _first(self.upper) / _first(start.first_loss.upper)
        ratio, sqnorm = _first(self.upper) / _first(start.upper), float(self.w @ self.w)
        multiple = float(start.alpha.sum()) / sqnorm if sqnorm > 0 else ratio
        if multiple < ratio:
            self.alpha = np.minimum(max(multiple, min(ratio, 1.0)) * start.alpha, self.upper)
        else:  # samples at their upper bound stay there, without rounding
            self.alpha = np.where(start.alpha == start.upper, self.upper, ratio * start.alpha)

    def _dual_variables(self, centre=None):
        """Return the dual variables at w, smoothed around a centre (ndarray of float64, shape (m,))."""
        alpha = 1 - self.margins  # in place from here on, because the array is large
        alpha *= self.factor
        alpha *= self.curvature
        if centre is not None:
            alpha += centre
        return np.clip(alpha, 0, self.upper, out=alpha)

    @property
    def end(self):
        """The NewtonStart at the end of the solver, which shares its Hessian."""
        self._ensure_hessian()
        return NewtonStart(
            self.w,
            self.margins,
            self._hessian,
            self.curvature,
            self._first_loss,
            self._band,
            self.alpha,
            self.upper,
        )

    def epoch(self, run):
        tuning = self._tuning
        self._keep_best(run.weights, run.dual_scale)
        self._ensure_hessian()
        working_set = self._working_set()
        steps = self._minimise(run, working_set)
        n_accesses = steps.n_accesses
        if working_set is not self._all and self._is_misleading(steps):
            working_set = self._all
            steps = self._minimise(run, working_set)
            n_accesses += steps.n_accesses
        objective, gap = steps.objective, steps.objective.gap
        if not math.isfinite(gap) or math.isnan(steps.band):
            return self._end(run, n_accesses)
        self._band = steps.band
        self.w, self.margins, self.factor = objective.w, steps.margins, steps.factor
        if working_set is self._all:
            self.alpha = objective.dual
        else:
            self.alpha[working_set] = objective.dual
        # Sums over the samples: w minus the gradient would be rounded, which makes certificates invalid.
        total = steps.fixed + objective.combination
        assign_balanced(run.weights, self.data, self.alpha, self.upper, total)
        is_first = math.isinf(self._least_gap)
        self._n_stalled = 0 if gap < self._least_gap else self._n_stalled + 1
        self._least_gap = min(self._least_gap, gap)
        # Without a step, w may be the optimum, which its dual variables may prove; or a start was near
        # enough, by what was required before its certificate.
        if (steps.n_steps == 0 and not is_first) or self._n_stalled >= tuning.patience:
            self._keep_best(run.weights, 1.0)
            return self._end(run, n_accesses)
        self._has_best = False
        check_gap = not gap > tuning.check_ratio * run.required_gap * max(objective.value, 0.0)
        return self._report(run, len(working_set), n_accesses, check_gap)

    def _report(self, run, n_changed, n_accesses, check_gap=True):
        return EpochReport(
            n_changed, n_accesses, check_gap=check_gap, primal=self._point(run), dual_is_feasible=True
        )

    def _minimise(self, run, working_set):
        """Minimise the objective over a working set by steps from w."""
        tuning, hessian = self._tuning, self._hessian
        fixed, fixed_value = self._fixed(working_set)
        n_read = hessian.n_read
        with one_thread():
            loss, start = self._smooth_loss(working_set), self._copy_of(self.margins, working_set)
            objective = Objective(
                self.data, working_set, fixed, fixed_value, self.w, start, loss, hessian
            )
            share, min_gap = self._gap_share * run.required_gap, self._reduction * objective.gap
            n_steps = objective.minimise(share, min_gap, tuning.max_steps)
        margins = self._margins_after(objective, working_set)
        band = mean_distance(margins, self.margins) if n_steps > 0 else self._band
        n_accesses = len(self.data) + n_steps * len(working_set) + hessian.n_read - n_read
        return Steps(objective, fixed, n_steps, margins, band, loss.factor, n_accesses)

    def _is_misleading(self, steps):
        """Return True if margins moved more than a working set assumed, and the whole objective grew."""
        if not steps.band > self._band:
            return False
        before, after = self._value(self.w, self.margins), self._value(steps.objective.w, steps.margins)
        return not after <= self._tuning.max_objective_ratio * before

    def _value(self, w, margins):
        """Return the objective over all samples."""
        weights = w[:-1] if self.data.has_free_intercept else w
        return 0.5 * float(weights @ weights) + self.loss.value(margins)

    def _margins_after(self, objective, working_set):
        """Return w.y_k of all samples after steps, an ndarray of float64 of shape (m,)."""
        if not objective.is_exact:  # scaled from another solver's, or interpolated: with rounding errors
            return products(self.data, self._all, objective.w)
        if working_set is self._all:
            return objective.margins
        margins, is_other = np.empty(len(self.data)), np.ones(len(self.data), dtype=bool)
        is_other[working_set] = False
        other_samples = np.flatnonzero(is_other).astype(np.int32)
        margins[working_set] = objective.margins
        margins[other_samples] = products(self.data, other_samples, objective.w)
        return margins

    def _keep_best(self, weights, scale):
        """Keep these dual variables, feasible at `scale`, if their dual value is the best so far."""
        value = scale * weights.dual_sum - 0.5 * scale * scale * weights.sqnorm
        is_best = value > self._best_value and weights.dual_sum > 0
        self._has_best = is_best and scale == 1
        if is_best:
            self._best_value, self._best = value, (weights.dual, scale)

    def _end(self, run, n_accesses):
        """Give the run the best dual variables, because rounding may have spoilt the last ones."""
        if self._best is not None and not self._has_best:
            dual, scale = self._best
            run.weights.assign(self.data, np.minimum(scale * dual, self.upper))
        return self._report(run, 0, n_accesses)

    def _point(self, run):
        return PrimalPoint(self.w, self.margins, self._rho, run.weights)

    def _new_hessian(self):
        """Return a Hessian."""
        if self._max_read is not None:
            return HessianVectorProduct(self.data, self.curvature, self._max_read)
        return dense_hessian(self.data, self.curvature, self._in_blocks, self._tuning.offset)

    def _ensure_hessian(self):
        """Make the Hessian of all samples if only a part has been used."""
        if self._hessian is None:
            self._hessian = self._new_hessian()

    def _working_set(self):
        """Return the indices of the samples of an epoch, ascending."""
        if math.isinf(self._band):
            return self._all
        working_set = working_set_of(
            self.margins, self.alpha, self.upper, self._hessian.included, self._band
        )
        # If the dual variables of the other samples are 0, their sum saves nothing.
        is_most = not self._has_bounds and len(working_set) > MOST * len(self.data)
        return self._all if is_most else working_set

    @property
    def _has_bounds(self):
        return not self.loss.is_smooth or self.loss.has_upper_bounds

    def _fixed(self, working_set):
        """Return r, the sum of alpha_k y_k outside a working set, and its part of the dual objective."""
        if working_set is self._all or not self._has_bounds:
            return np.zeros(len(self.w)), 0.0
        other_dual = self.alpha.copy()
        other_dual[working_set] = 0
        value = float(other_dual.sum())
        if self.loss.is_smooth:
            # The sum of D_k alpha_k^2 / 2.
            value -= 0.5 * float(other_dual @ (other_dual / (self.factor * self.curvature)))
        return combination(self.data, self._all, other_dual), value

    def _smooth_loss(self, working_set):
        """Return the losses of a working set, smoothed around their dual variables if necessary."""
        is_smoothed = not self.loss.is_smooth
        centre = self._copy_of(self.alpha, working_set) if is_smoothed else None
        upper, curvature = self.upper, self.curvature
        if working_set is not self._all:
            upper, curvature = upper[working_set], curvature[working_set]
        return SmoothLoss(centre, upper, curvature, self.factor, is_smoothed)

    def _copy_of(self, values, working_set):
        """Return a copy of the values of a working set."""
        return values.copy() if working_set is self._all else values[working_set]


def assign_balanced(weights, data, alpha, upper, total):
    """Assign dual variables and their sum over the samples, both balanced in place if necessary."""
    if data.has_free_intercept:
        changed, changes = balance(alpha, upper, data.signs)
        total += combination(data, changed, changes)
    weights.assign(data, alpha, total)


def dense_hessian(data, curvature, in_blocks, offset):
    """Return a stored Hessian, measured from the mean of features that are far from 0 (DenseHessian)."""
    # It imports scipy.linalg, which takes longer than many fits without it.
    from margins.solvers.newton._dense_hessian import DenseHessian, centre_of

    return DenseHessian(data, curvature, in_blocks, centre=centre_of(data, offset))


def _first(value):
    """Return the value of the first sample, or the value that all samples share."""
    return float(np.ravel(value)[0])
