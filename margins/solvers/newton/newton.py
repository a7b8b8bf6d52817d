"""Newton steps: the dual variables of many samples at once.

The problem: minimise f(w) = |w|^2 / 2 + sum_k h_k(1 - w.y_k), for a loss h that is smooth (squared
hinge), or that is smoothed around the current dual variables, less and less (hinge: the augmented
Lagrangian method).

An epoch reads all samples once and leaves out those whose dual variable will most likely stay at its
bound: whose margin differs from 1 by more than the last epoch has changed margins. Over the rest, the
working set, it minimises f by Newton steps until the gap is small. The steps change a primal weight
vector w; the dual variables that belong to w become those of the run, so the certificate holds as after
any other epoch, and at the optimum w = a.

A step solves with the Hessian, which is stored and kept from step to step where features are few
(`DenseHessian`), and is a product with vectors elsewhere (`HessianVectorProduct`).

**Source**: Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large scale
linear SVMs; Yan & Li (2020), An efficient augmented Lagrangian method for support vector machine.
"""

import math
from typing import NamedTuple

import numpy as np

from margins.data._passes import combination, products
from margins.data.binary_data import array_of_each
from margins.linalg.threads import one_thread
from margins.losses import Loss
from margins.losses._smoothed import SmoothLoss, smoothing_curvature
from margins.solvers.balance import balance
from margins.solvers.base import EpochReport, Solver
from margins.solvers.certification import PrimalPoint
from margins.solvers.newton._dense_hessian import DenseHessian, centre_of
from margins.solvers.newton._hessian import Hessian
from margins.solvers.newton._hessian_vector import HessianVectorProduct
from margins.solvers.newton._objective import Objective, mean_distance, working_set_of
from margins.tuning import TUNING

# A working set of more than this share of the samples is extended to all: copies of it would cost more.
MOST = 0.9


class NewtonStart(NamedTuple):
    """Where a solver has ended, for one over the same samples with a multiple of its penalties."""

    # w, margins: float64: as `PrimalPoint` has them
    w: np.ndarray
    margins: np.ndarray
    hessian: Hessian  # it is changed by the solver that starts
    curvature: np.ndarray  # float64, shape (m,): of the Hessian
    first_loss: Loss  # to whose penalties the curvature belongs
    band: float = math.inf  # by how much its last epoch has changed margins
    # alpha, upper: float64, shape (m,), or None: dual variables and their upper bounds; not read if the
    # loss is smooth
    alpha: np.ndarray | None = None
    upper: np.ndarray | None = None


class Steps(NamedTuple):
    """What the steps over a working set have led to."""

    objective: Objective
    # fixed: float64: the sum of alpha_k y_k over the other samples
    fixed: np.ndarray
    n_steps: int
    margins: np.ndarray  # of all samples
    band: float  # the mean change of margins
    factor: float  # of the smoothing
    n_accesses: int


class NewtonSolver(Solver):
    """Full epochs by Newton steps.

    They start from the best multiple of the run's weight vector; the run's own is rescaled likewise, to
    w.y_k = 1 at the margin, whether or not a step is made.

    Parameters
    ----------
    max_read : int or None
        None: the Hessian is stored. Else it is only multiplied by vectors; these products may read so
        many samples altogether, and then steps end.
    in_blocks : bool
        True: a stored Hessian is summed from dense blocks of samples.
    epoch_reduction : float
        Of a smoothed loss: an epoch ends at this share of its first gap, if not at the required one; 0:
        only at the required one.
    tuning : margins.tuning.NewtonTuning, optional
    start : NewtonStart, optional
        Of a solver over the same samples whose penalties are a multiple of these.
    hessian_size : int
        The first Hessian is one of so many samples; 0: of all.
    """

    name = "newton"

    def __init__(
        self,
        max_read=None,
        in_blocks=False,
        epoch_reduction=0.0,
        tuning=TUNING.newton,
        start=None,
        hessian_size=0,
    ):
        self._max_read, self._in_blocks, self._hessian_size = max_read, in_blocks, hessian_size
        self._reduction, self._tuning, self._start = epoch_reduction, tuning, start

    @classmethod
    def why_not(cls, problem):
        """See `Solver.why_not`."""
        if problem.is_kernel:
            return "Newton steps need the features of linear data, which a kernel does not give"
        if not problem.loss.is_finite:
            return "the hard margin (C=inf) has no finite objective to minimise"
        return None

    def start(self, run):
        """Start from the best multiple of the run's weight vector."""
        self.data, self.loss = data, loss = run.data, run.loss
        m, n_features = len(data), data.rows.n_features
        self._rho = rho = math.sqrt(data.sqrho)
        self._all = np.arange(m, dtype=np.int32)
        self.upper = array_of_each(loss.upper, m)
        self._least_gap, self._n_stalled = math.inf, 0
        self._best_value = -math.inf
        self._best = None  # dual variables, and the multiple of them that is feasible
        self._has_best = False  # the run as it is
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
            self.curvature = array_of_each(1 / loss.diag, m)
            self.alpha = None  # before the first epoch, those of w are not needed
        else:
            self.factor = self._tuning.first_factor
            self.curvature = smoothing_curvature(self.upper, data.ordinary_sqnorms)
            self.alpha = np.minimum(run.weights.dual, self.upper)
        self._band = math.inf
        self._hessian, self._first_loss = self._new_hessian(run.orders), loss

    def _continue(self, start):
        """Start from where another solver has ended, whose penalties are a multiple of these.

        The Hessian is a sum over the penalties of the first solver; what they are multiplied by is in
        `factor`. A loss that is not smooth is smoothed around the multiple of the dual variables with
        the largest dual value: the sum of alpha_k y_k is the weight vector, so no sample is accessed.
        """
        self.w, self.margins = start.w, start.margins
        self._band = self._tuning.start_band * start.band
        self.curvature, self._hessian, self._first_loss = (
            start.curvature,
            start.hessian,
            start.first_loss,
        )
        self._hessian_size = 0
        if self.loss.is_smooth:
            self.factor = _first(start.first_loss.diag) / _first(self.loss.diag)
            alpha = 1 - self.margins  # in place from here on, because the array is large
            alpha *= self.factor
            alpha *= self.curvature
            self.alpha = np.clip(alpha, 0, self.upper, out=alpha)
            return
        self.factor = self._tuning.first_factor * _first(self.upper) / _first(start.first_loss.upper)
        ratio, sqnorm = _first(self.upper) / _first(start.upper), float(self.w @ self.w)
        multiple = float(start.alpha.sum()) / sqnorm if sqnorm > 0 else ratio
        if multiple < ratio:
            self.alpha = np.minimum(max(multiple, min(ratio, 1.0)) * start.alpha, self.upper)
        else:  # samples at their upper bound stay there, without rounding
            self.alpha = np.where(start.alpha == start.upper, self.upper, ratio * start.alpha)

    @property
    def end(self):
        """Where the solver has ended: NewtonStart. Its Hessian is that of the solver itself."""
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
        """See `Solver.epoch`."""
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
        # Sums over the samples, not w minus the gradient, whose rounding would make certificates
        # invalid.
        total = steps.fixed + objective.combination
        if self.data.has_free_intercept:
            changed, changes = balance(self.alpha, self.upper, self.data.signs)
            total += combination(self.data, changed, changes)
        run.weights.assign(self.data, self.alpha, total)
        self._n_stalled = 0 if gap < self._least_gap else self._n_stalled + 1
        self._least_gap = min(self._least_gap, gap)
        is_of_all = self._hessian_size == 0
        if not is_of_all:  # after so many steps it must be
            self._hessian_size, self._hessian = 0, None
        # Without a step w may be the optimum, which its dual variables may prove.
        if is_of_all and (steps.n_steps == 0 or self._n_stalled >= tuning.patience):
            self._keep_best(run.weights, 1.0)
            return self._end(run, n_accesses)
        self._has_best = False
        return EpochReport(
            len(working_set),
            n_accesses,
            check_gap=not gap > tuning.check_ratio * run.required_gap * max(objective.value, 0.0),
            primal=self._point(run),
            dual_is_feasible=True,
        )

    def _minimise(self, run, working_set):
        """Minimise the objective over a working set by steps from w: Steps."""
        tuning, hessian = self._tuning, self._hessian
        fixed, fixed_value = self._fixed(working_set)
        n_read = hessian.n_read
        with one_thread():
            loss = self._smooth_loss(working_set)
            objective = Objective(
                self.data,
                working_set,
                fixed,
                fixed_value,
                self.w,
                self._copy_of(self.margins, working_set),
                loss,
                hessian,
            )
            n_steps = objective.minimise(
                tuning.gap_share * run.required_gap,
                self._reduction * objective.gap,
                tuning.max_steps if self._hessian_size == 0 else tuning.hessian_steps,
            )
        margins = self._margins_after(n_steps, objective, working_set)
        band = mean_distance(margins, self.margins) if n_steps > 0 else self._band
        n_accesses = len(self.data) + n_steps * len(working_set) + hessian.n_read - n_read
        return Steps(objective, fixed, n_steps, margins, band, loss.factor, n_accesses)

    def _is_misleading(self, steps):
        """True if a working set has left out samples that matter at the point its steps have led to.

        Margins have changed by more than it assumed, and the objective over all samples has increased.
        """
        if not steps.band > self._band:
            return False
        after = self._value(steps.objective.w, steps.margins)
        return not after <= self._tuning.max_objective_ratio * self._value(self.w, self.margins)

    def _value(self, w, margins):
        """The objective over all samples: float."""
        weights = w[:-1] if self.data.has_free_intercept else w
        return 0.5 * float(weights @ weights) + self.loss.value(margins)

    def _margins_after(self, n_steps, objective, working_set):
        """w.y_k of all samples after steps: ndarray of float64, shape (m,)."""
        if n_steps == 0:
            shift = objective.w[-1] - self.w[-1] if self.data.has_free_intercept else 0.0
            return self.margins if shift == 0 else self.margins + self._rho * shift * self.data.signs
        if not objective.is_exact:  # interpolated along a step, with rounding errors
            return products(self.data, self._all, objective.w)
        if working_set is self._all:
            return objective.margins
        margins, is_other = np.empty(len(self.data)), np.ones(len(self.data), dtype=bool)
        is_other[working_set] = False
        others = np.flatnonzero(is_other).astype(np.int32)
        margins[working_set] = objective.margins
        margins[others] = products(self.data, others, objective.w)
        return margins

    def _keep_best(self, weights, scale):
        """Keep these dual variables, feasible at `scale`, if their dual value is the best so far."""
        value = scale * weights.dual_sum - 0.5 * scale * scale * weights.sqnorm
        is_best = value > self._best_value and weights.dual_sum > 0
        self._has_best = is_best and scale == 1
        if is_best:
            self._best_value, self._best = value, (weights.dual, scale)

    def _end(self, run, n_accesses):
        """Give the run the best dual variables: rounding may have spoilt those of w."""
        if self._best is not None and not self._has_best:
            dual, scale = self._best
            run.weights.assign(self.data, np.minimum(scale * dual, self.upper))
        return EpochReport(0, n_accesses, primal=self._point(run), dual_is_feasible=True)

    def _point(self, run):
        return PrimalPoint(self.w, self.margins, self._rho, run.weights)

    def _new_hessian(self, orders=None):
        """The Hessian; with `orders`, of samples chosen by them, each of which stands for several."""
        if self._max_read is not None:
            return HessianVectorProduct(self.data, self.curvature, self._max_read)
        curvature, size = self.curvature, self._hessian_size
        if size > 0:
            chosen = orders.sample(size)
            curvature = np.zeros(len(self.data))
            curvature[chosen] = len(self.data) / size * self.curvature[chosen]
        centre = centre_of(self.data, self._tuning.offset)
        return DenseHessian(self.data, curvature, self._in_blocks, centre=centre)

    def _ensure_hessian(self):
        """Make the Hessian of all samples, if that of a part has served."""
        if self._hessian is None:
            self._hessian = self._new_hessian()

    def _working_set(self):
        """The indices of the samples of an epoch, ascending: ndarray of int32."""
        if math.isinf(self._band):
            return self._all
        working_set = working_set_of(
            self.margins, self.alpha, self.upper, self._hessian.included, self._band
        )
        # No sum over the others is saved if their dual variables are 0.
        is_most = not self._has_bounds and len(working_set) > MOST * len(self.data)
        return self._all if is_most else working_set

    @property
    def _has_bounds(self):
        return not self.loss.is_smooth or self.loss.has_upper_bounds

    def _fixed(self, working_set):
        """r = the sum of alpha_k y_k over the samples outside a working set, and what these alpha_k add
        to the dual objective."""
        if working_set is self._all or not self._has_bounds:
            return np.zeros(len(self.w)), 0.0
        rest = self.alpha.copy()
        rest[working_set] = 0
        value = float(rest.sum())
        if self.loss.is_smooth:
            value -= 0.5 * float(rest @ (rest / (self.factor * self.curvature)))  # D_k alpha_k^2 / 2
        return combination(self.data, self._all, rest), value

    def _smooth_loss(self, working_set):
        """The losses of a working set, smoothed around their dual variables if they are not smooth."""
        is_smoothed = not self.loss.is_smooth
        centre = self._copy_of(self.alpha, working_set) if is_smoothed else np.zeros(len(working_set))
        upper, curvature = self.upper, self.curvature
        if working_set is not self._all:
            upper, curvature = upper[working_set], curvature[working_set]
        return SmoothLoss(centre, upper, curvature, self.factor, is_smoothed)

    def _copy_of(self, values, working_set):
        """A copy of the values of a working set."""
        return values.copy() if working_set is self._all else values[working_set]


def _first(value):
    """The first of the values of all samples, or the one that they have in common: float."""
    return float(np.ravel(value)[0])
