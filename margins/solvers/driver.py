"""The driver: one binary problem, from the first full epoch to the proof.

An algorithm is a generator of phases (`margins.solvers.base.Phase`): each says by which solver, or by
which rules and active sets, to go on, and the run goes on so, from where it is, until a full pass
changes nothing, or until the certificate proves the accuracy.
"""

import math
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from margins._sparse import Rows
from margins._update import BinaryData, WeightVector
from margins.certificate import Certificate
from margins.data.binary_data import of_each
from margins.data.permutations import Orders
from margins.losses import Loss
from margins.losses.base import NOTHING
from margins.solvers.base import Phase, PhaseRecord, Problem, Solver, solver_path
from margins.tuning import TUNING

EPSILON = np.finfo(np.float64).eps

# Squared norms with a larger relative difference are not the same but for rounding.
SAME = 1e-9

# A conjugate step, of which there are fewer than updates, may round off so many times what an update
# does.
ROUNDED_BY_STEP = 100


class Epoch(NamedTuple):
    """One full epoch of a run.

    Attributes
    ----------
    epoch : int
        From 1.
    updates : int
        Since the start of the run, multiplicities counted.
    mistakes : int
        Misclassified samples of the full pass, by the rules' condition, those included that an upper
        bound kept from being updated. Of a solver that moves many dual variables at once: how many.
    certificate : Certificate or None
        What was proven at its end; None if it was not computed: where the estimated gap is above the
        tolerance, or before a clean pass if one is needed.
    solver : str
        Which one ran.
    """

    epoch: int
    updates: int
    mistakes: int
    certificate: Certificate | None
    solver: str = "rules"


class RunOptions(NamedTuple):
    """What an estimator asks of a run, beside samples and loss.

    Attributes
    ----------
    eps : float or None
        Accuracy to prove; None: only a clean full pass ends the fit.
    needs_clean_pass : bool
        True: a proof ends the fit only after a full epoch that has changed nothing.
    max_iter : int
        The most full epochs.
    keep_dual : bool
        True: keep the dual variables.
    report : callable or None
        Called with a line of progress after every full epoch.
    theta : float
        The score of a sample is ``l_k (a.y_k) - theta``; the rules must say the same.
    shuffle : {"epochs", "once", "never", "draws"}
        When samples are permuted: see `margins.data.permutations.Orders`.
    held_out : float
        The share of the samples, those first in the first order, that are never accessed.
    averaging : callable or None
        ``averaging(weights)`` makes what averages the iterates of the whole run.
    new_weights : callable or None
        ``new_weights(data)`` makes what is trained in place of a `WeightVector`.
    """

    eps: float | None = None
    needs_clean_pass: bool = False
    max_iter: int = 1000
    keep_dual: bool = False
    report: Callable[[str], None] | None = None
    theta: float = 0.0
    shuffle: str = "epochs"
    held_out: float = 0.0
    averaging: Callable | None = None
    new_weights: Callable | None = None


class Run:
    """The state of one fit of one binary problem. Algorithms look at it, and change it by its methods.

    Parameters
    ----------
    data : BinaryData
    loss : margins.losses.Loss
    seed : int
    options : RunOptions
    watch : object or None
        Observes every full epoch; may end the run: see `margins.estimators.callbacks.Watch`.
    features : margins._sparse.Rows or None
        Of `data` that are rows of their Gram matrix: X, by which the run is to end.

    Attributes
    ----------
    samples, loss, seed, options, features
        As given.
    eps : float or None
    max_iter : int
    orders : margins.data.permutations.Orders
        In which the samples are accessed.
    weights : WeightVector
    averaging : Averaging or None
        What averages iterates; None: the last one is read out.
    history : list of Epoch
    phases : list of PhaseRecord
        Those that have run.
    solver : Solver or None
        Of the last phase.
    certificate : Certificate or None
        Of the last full epoch at whose end it was computed.
    products : ndarray of float64, shape (m,), or None
        Those of the hypothesis certified, with all samples: w.y_k - theta l_k.
    primal_scale, dual_scale : float
        By what the hypothesis and the dual variables are multiplied to attain the certified objectives.
    n_epochs : int
    n_accesses : int
        Accesses of a sample.
    clean : bool
        True if the last full epoch changed nothing.
    converged : bool
    standstill : str or None
        Why the last full epoch, which changed nothing, is no convergence: misclassified samples that the
        update rule does not add.
    message : str or None
        Why the fit ended without the proof.
    """

    def __init__(
        self,
        data: BinaryData,
        loss: Loss,
        seed: int,
        options: RunOptions,
        watch=None,
        features: Rows | None = None,
    ):
        self.data, self.loss, self.seed, self.options = data, loss, seed, options
        self.features, self._watch = features, watch
        self.eps, self.max_iter, self.theta = options.eps, options.max_iter, options.theta
        self.keep_dual = options.keep_dual
        m = len(data)
        self.orders = Orders(
            m,
            data.rows,
            seed,
            proven=options.eps is not None,
            shuffle=options.shuffle,
            n_held_out=math.ceil(options.held_out * m),
        )
        if options.new_weights is None:
            self.weights = WeightVector(data.rows.n_features, m if options.keep_dual else 0)
        else:
            self.weights = options.new_weights(data)
        self._averaging = None if options.averaging is None else options.averaging(self.weights)
        self.averaging = self._averaging
        self.history: list[Epoch] = []
        self.phases: list[PhaseRecord] = []
        self.solver: Solver | None = None
        self.certificate = self.products = self.standstill = self.message = None
        self.primal_scale = self.dual_scale = 1.0
        self.n_epochs = self.n_accesses = 0
        self.clean = self.converged = False
        self._best_dual = 0.0
        self._n_changed = self._n_rejected = self._n_unmoved = 0
        self._corrects_rounding = False
        self._n_accesses_summed = 0  # before the weight vector was last summed
        self._primal = None  # of the last epoch, if its solver has found one
        self._is_certified = False  # the hypothesis as it is
        self._check_gap = True

    @property
    def problem(self):
        """What is solved: Problem."""
        return Problem(self.data, self.loss)

    @property
    def sqradius(self):
        """R^2, the largest squared norm of an augmented and extended sample."""
        return self.data.max_sqnorm

    @property
    def finished(self):
        """True if nothing is left to do: the accuracy is proven, and a clean pass made if it must be."""
        if self.eps is None:
            return self.clean and self.standstill is None
        return (
            (self.clean or not self.options.needs_clean_pass)
            and self.certificate is not None
            and self.loss.is_proven(self.certificate, self.eps)
        )

    @property
    def hypothesis(self):
        """The weight vector that is read out."""
        if self._primal is not None:
            return self._primal
        if self.averaging is None:
            return self.weights
        return self.averaging.hypothesis(self.weights, self.data)

    @property
    def upper_bound(self):
        """|a| / S, which no margin exceeds; inf before the first update."""
        total = self.weights.dual_sum
        return math.sqrt(self.weights.sqnorm) / total if total > 0 else math.inf

    @property
    def solver_path(self):
        """The solvers that have run, in order: str."""
        return solver_path(self.phases)

    # What an algorithm may do between its phases.

    def bound_dual(self, upper):
        """Bound the dual variables from above by `upper`, a float or an array of shape (m,)."""
        self.data = self.data.with_limits(upper=of_each(upper, len(self.data)))

    def restart(self):
        """Begin again from 0; epochs and updates stay counted."""
        self.weights.clear()
        self._primal, self._is_certified = None, False

    def rescale(self, factor):
        """Multiply the weight vector and its dual variables by `factor` > 0."""
        self.weights.rescale(factor)
        self._is_certified = False

    def rescale_to_feasible(self):
        """Bring the dual variables to the scale at which the certificate has found them best."""
        if self.dual_scale > 0 and self.dual_scale != 1:
            self.weights.rescale(self.dual_scale)
            self.dual_scale, self._is_certified = 1.0, False

    def leave_gram(self):
        """Go on over X itself, if it was its Gram matrix so far: True if it was.

        Where rows are long beside the margin, the products with a weight vector are small sums of large
        inner products, whose rounding no certificate could tell from a proof.
        """
        if self.features is None:
            return False
        before = self.weights.sqnorm
        self.data = self.data.over(self.features)
        self.weights = self.weights.over(self.data)
        self.orders.use(self.features)
        self.features = None
        self._forget_dual_unless(before)
        return True

    def certify(self):
        """Compute the certificate of the hypothesis as it is: one pass over all samples."""
        weights, hypothesis, data = self.weights, self.hypothesis, self.data
        self.products = None  # not two of them at a time
        self.products = products = hypothesis.products(data)
        sqnorm = hypothesis.ordinary_sqnorm(data)
        bounds = NOTHING
        if self.theta != 0:
            products -= self.theta * data.signs
            # The intercept's weight is rho label_sum - theta / rho.
            length = self.theta / data.sqrho if data.sqrho > 0 else math.inf
            sqnorm = max(sqnorm + self.theta * (length - 2 * hypothesis.label_sum), 0.0)
        if self.theta == 0 or math.isfinite(sqnorm):
            bounds = self.loss.bounds(products, sqnorm, weights)
        self._best_dual = max(self._best_dual, bounds.dual)  # every dual value stays proven
        self.primal_scale, self.dual_scale = bounds.primal_scale, bounds.dual_scale
        self.certificate = Certificate.from_bounds(
            bounds.primal, self._best_dual, weights.n_updates, bounds.margin
        )
        self._is_certified = True

    # The loop.

    def train(self, phases: Iterable[Phase]):
        """Play the phases until the end."""
        for phase in phases:
            if self.n_epochs >= self.max_iter:
                self._out_of_epochs()
                break
            if self._play(phase):
                break
        self.conclude()

    def _play(self, phase):
        """Go on by one phase; True: this was the last one."""
        solver = self.begin_phase(phase)
        last = math.inf if phase.epochs is None else self.n_epochs + phase.epochs
        ends_run = phase_ends = False
        while not (ends_run or phase_ends):
            self.begin_epoch()
            report = solver.epoch(self)
            self.add(report)
            self.end_epoch(solver.name)
            ends_run = self._ends_run(phase, solver)
            phase_ends = last <= self.n_epochs or report.is_exhausted
            phase_ends = phase_ends or (self.clean and not solver.decays)
            if not ends_run and self.n_epochs >= self.max_iter:
                phase_ends = True
                if not self.finished or (self.eps is None and solver.decays):
                    # Before the algorithm prepares another phase: it may begin again from 0, or rescale.
                    self._out_of_epochs()
                    ends_run = True
        self.end_phase()
        return ends_run

    def begin_phase(self, phase):
        """Begin a phase: the solver that plays it."""
        solver = phase.play()
        solver.start(self)
        self.solver = solver
        averaging = self._averaging if phase.averaging is None else phase.averaging(self.weights)
        self._is_certified = self._is_certified and averaging is self.averaging
        self.averaging = averaging
        self._corrects_rounding = self._corrects_rounding or solver.corrects_rounding
        self._begin = self.n_epochs, self.weights.n_updates, self.n_accesses, time.perf_counter()
        return solver

    def end_phase(self):
        """Record the phase that has ended."""
        epochs, updates, accesses, seconds = self._begin
        self.phases.append(
            PhaseRecord(
                self.solver.name,
                self.n_epochs - epochs,
                self.weights.n_updates - updates,
                self.n_accesses - accesses,
                time.perf_counter() - seconds,
            )
        )

    def _ends_run(self, phase, solver):
        """True if the run ends after the epoch that has just ended."""
        if self.eps is not None:
            proven = self.finished and not self.options.needs_clean_pass
        else:
            # Where every access shrinks, a full epoch without updates is no end.
            proven = self.finished and phase.is_last and not solver.decays
        if phase.until is not None and phase.until(self):
            self.clean = proven = True
        if proven:
            self.message = None
            return True
        if self.message is None and self.clean and not solver.decays:
            return False
        if self.message is None and phase.infeasible is not None:
            self.message = phase.infeasible(self)
        return self.message is not None

    def ends_phase(self):
        """True if a run that is trained with others ends: nothing changed, stopped, or out of epochs."""
        if self.clean and self.standstill is None:
            self.message = None  # a callback that stopped it came too late
        elif self.message is None and self.n_epochs == self.max_iter:
            self._out_of_epochs()
        return self.clean or self.message is not None

    def _out_of_epochs(self):
        """Note that `max_iter` was what ended the run."""
        self.message = f"max_iter={self.max_iter} full epochs came first"

    def begin_epoch(self):
        """Notify observers that a full epoch begins."""
        self._check_gap, self._is_certified = True, False
        if self._watch is not None:
            self._watch.begin_epoch(self.n_epochs + 1)

    def add(self, report):
        """Count what a solver has done, in a whole epoch or a part of it."""
        self._n_changed += report.n_changed
        self._n_rejected += report.n_rejected
        self._n_unmoved += report.n_unmoved
        self.n_accesses += report.n_accesses
        self._check_gap = report.check_gap
        self._primal = report.primal
        if report.dual_is_feasible:
            self.dual_scale = 1.0

    def end_epoch(self, solver="rules"):
        """Count a full epoch, look for its proof, and notify observers."""
        self.n_epochs += 1
        self.clean = self._n_changed == 0
        self._note_standstill()
        self._check_gap = self._check_gap or self.n_epochs == self.max_iter
        certified = (
            self.eps is not None
            and (self.clean or not self.options.needs_clean_pass)
            and self._check_gap
        )
        if self._check_gap:
            self._correct_rounding()
        if certified:
            self.certify()
            if self.finished and self._leave_rounding():
                self.certify()
        mistakes = self._n_changed + self._n_rejected
        self.history.append(
            Epoch(
                self.n_epochs,
                self.weights.n_updates,
                mistakes,
                self.certificate if certified else None,
                solver,
            )
        )
        if self.options.report is not None:
            self.options.report(self._progress())
        if self.clean and self.averaging is not None:
            # The epochs that are left would be like this one: their accesses count.
            # (No more of them than a double counts exactly.)
            left = min(self.max_iter - self.n_epochs, 2**53 // len(self.data))
            n_accesses = len(self.data) - self.orders.n_held_out
            self.averaging.n_accesses += left * n_accesses
            self.averaging.n_right += left * (n_accesses - self._n_rejected)
        self._n_changed = self._n_rejected = self._n_unmoved = 0
        if self._watch is not None and self._watch.end_epoch(self):
            self.message = "a callback stopped it"

    def conclude(self):
        """Certify what has been reached, and note whether it is what was required."""
        if not self._check_gap:
            self._correct_rounding()
        if self._leave_rounding() or not self._is_certified:
            self.certify()
        if not self._check_gap:  # an observer ended the run after an epoch without a certificate
            self.history[-1] = self.history[-1]._replace(certificate=self.certificate)
            if self.finished:
                self.message = None
        if self.message is None:
            self.converged = self.finished
            if not self.converged:
                self.message = self.standstill or "the algorithm ended before its accuracy was proven"
        if self._watch is not None:
            self._watch.end()

    def _note_standstill(self):
        """Tell an epoch that could change nothing from one that had nothing to change."""
        self.standstill = None
        if not self.clean or not self._n_unmoved:
            return
        n, rules = self._n_unmoved, self.solver.full_pass_rules or self.solver.rules
        self.standstill = (
            f"{n} sample{'s' if n > 1 else ''} below the upper bound of the dual variable "
            f"{'are' if n > 1 else 'is'} misclassified by {rules.condition!r}, and {rules.update!r} "
            "does not move the weight vector"
        )
        if not rules.decays and self.message is None:
            self.message = self.standstill

    # Rounding.

    def _leave_rounding(self):
        """Leave what no proof rests on: a Gram matrix, sums of a kernel's rows. True if it was one."""
        if self.leave_gram():
            return True
        if not (self._corrects_rounding and self.data.rows.is_kernel):
            return False
        if self._n_accesses_summed == self.n_accesses:  # just now
            return False
        before = self.weights.sqnorm
        self.weights.recompute_sum(self.data)
        self._n_accesses_summed = self.n_accesses
        self._forget_dual_unless(before)
        return True

    def _forget_dual_unless(self, sqnorm):
        """Forget the best dual value, unless the weight vector had this squared length all the time."""
        if not abs(self.weights.sqnorm - sqnorm) <= SAME * sqnorm:
            self._best_dual = 0.0

    def _correct_rounding(self):
        """Recompute what updates have rounded off, where a proof could depend on it."""
        self.weights.recompute(self.data)
        if not self._corrects_rounding or self.data.rows.is_kernel:
            return
        limit = TUNING.driver.negligible_rounding * self.loss.required_gap(self.eps)
        if not self._rounded_off() <= limit:
            self.weights.recompute_sum(self.data)
            self._n_accesses_summed = self.n_accesses

    def _rounded_off(self):
        """What share of |a| updates may have rounded off at most, since it was last summed.

        Each rounds a, and its dual variable, which may have been as large as its bound, or as its
        diagonal allows in an `a` of this length. Only after `recompute`.
        """
        data, n_accesses = self.data, self.n_accesses - self._n_accesses_summed
        length = math.sqrt(self.weights.sqnorm)
        if length == 0:
            return math.inf
        diag = float(data.diagonal.min())
        dual = 1 / math.sqrt(diag) if diag > 0 else data.max_upper / length
        return EPSILON * n_accesses * (ROUNDED_BY_STEP + 2 * dual * math.sqrt(self.sqradius))

    def _progress(self):
        epoch = self.history[-1]
        line = f"epoch {epoch.epoch} ({epoch.solver}): {epoch.mistakes} samples "
        line += "misclassified" if self._primal is None else "moved together"
        line += f", {epoch.updates} updates"
        certificate = epoch.certificate
        if certificate is not None:
            line += f", proven fraction {certificate.fraction:.6g}, gap {certificate.gap:.3g}"
        return line
