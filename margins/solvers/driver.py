"""The driver: one binary problem, from the first full epoch to the proof.

An algorithm is a generator of phases (`margins.solvers.base.Phase`): each names a solver, or rules and
active sets, and continues from where the run is, until a full pass changes nothing, or until the
certificate proves the accuracy.
"""

import copy
import math
import time
from collections.abc import Iterable

from margins._sparse import Rows
from margins._update import BinaryData, WeightVector
from margins.data.binary_data import of_each
from margins.data.permutations import Orders
from margins.losses import Loss
from margins.solvers.base import EpochReport, Phase, PhaseRecord, Problem, Solver, solver_path
from margins.solvers.certification import Certifier
from margins.solvers.history import Epoch, progress, standstill
from margins.solvers.options import RunOptions
from margins.solvers.rounding import Rounding

# Squared norms with a larger relative difference are not the same but for rounding.
SAME = 1e-9


class Run:
    """The state of one fit of one binary problem. Algorithms read it, and change it by its methods.

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
    data, loss, seed, options, features
        As given.
    orders : margins.data.permutations.Orders
        In which the samples are accessed.
    weights : WeightVector
    averaging : Averaging or None
        What averages iterates; None: the last one is the model.
    history : list of Epoch
    phases : list of PhaseRecord
        Those that have run.
    solver : Solver or None
        Of the last phase.
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
        self._primal = None  # the model, if the solver of the last epoch has reported one
        self._certifier, self._rounding = Certifier(), Rounding()
        self.history: list[Epoch] = []
        self.phases: list[PhaseRecord] = []
        self.solver: Solver | None = None
        self.n_epochs = self.n_accesses = 0
        self._report: EpochReport | None = None  # of the epoch, as far as it has run
        self._checks_gap = True  # at the end of the last epoch
        self.clean = self.converged = False
        self.standstill = self.message = None

    def __copy__(self):
        """A run that may be certified and may leave its Gram matrix without a change of this one."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied._certifier, copied.orders = copy.copy(self._certifier), copy.copy(self.orders)
        return copied

    # What is solved, and what has been reached.

    @property
    def problem(self):
        """The samples and the loss: Problem."""
        return Problem(self.data, self.loss)

    @property
    def sqradius(self):
        """R^2, the largest squared norm of an augmented and extended sample."""
        return self.data.max_sqnorm

    @property
    def eps(self):
        """The accuracy to prove: float; None: only an epoch without changes ends the run."""
        return self.options.eps

    @property
    def max_iter(self):
        """The maximum number of full epochs: int."""
        return self.options.max_iter

    @property
    def theta(self):
        """The threshold of the score: float."""
        return self.options.theta

    @property
    def keep_dual(self):
        """True if the dual variables are kept."""
        return self.options.keep_dual

    @property
    def hypothesis(self):
        """The weight vector of the model."""
        if self._primal is not None:
            return self._primal
        if self.averaging is None:
            return self.weights
        return self.averaging.hypothesis(self.weights, self.data)

    @property
    def certificate(self):
        """That of the last full epoch at whose end it was computed: Certificate, or None."""
        return self._certifier.certificate

    @property
    def products(self):
        """w.y_k - theta l_k of the certified hypothesis: ndarray of float64, shape (m,), or None."""
        return self._certifier.products

    @property
    def primal_scale(self):
        """The factor by which the hypothesis attains the certified objective: float."""
        return self._certifier.primal_scale

    @property
    def dual_scale(self):
        """The factor by which the dual variables attain the certified objective: float."""
        return self._certifier.dual_scale

    @property
    def upper_bound(self):
        """|a| / S, which no margin exceeds; inf before the first update."""
        total = self.weights.dual_sum
        return math.sqrt(self.weights.sqnorm) / total if total > 0 else math.inf

    @property
    def finished(self):
        """True if the accuracy is proven, and an epoch has changed nothing if one must; or, without an
        accuracy to prove, if the run has converged."""
        if self.eps is None:
            return self.clean and self.standstill is None
        return (
            (self.clean or not self.options.needs_clean_pass)
            and self.certificate is not None
            and self.loss.is_proven(self.certificate, self.eps)
        )

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
        self._primal = None
        self._certifier.expire()

    def rescale(self, factor):
        """Multiply the weight vector and its dual variables by `factor` > 0."""
        self.weights.rescale(factor)
        self._certifier.expire()

    def rescale_to_feasible(self):
        """Rescale the dual variables to the best scale that the certificate has found."""
        if self.dual_scale > 0 and self.dual_scale != 1:
            self.rescale(self.dual_scale)
            self._certifier.note_feasible()

    def leave_gram(self):
        """Continue over X itself, if it was its Gram matrix until now: True if it was.

        Where rows are long beside the margin, the products with a weight vector are small sums of large
        inner products, and a certificate could not distinguish their rounding from a proof.
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
        self._certifier.certify(self)

    # The loop: phases, and the epochs of each.

    def train(self, phases: Iterable[Phase]):
        """Run the phases in order, until one of them ends the run."""
        for phase in phases:
            if self.n_epochs >= self.max_iter:
                self.message = self._max_iter_message()
                break
            if self._run_phase(phase):
                break
        self.conclude()

    def _run_phase(self, phase):
        """Run one phase: True if it ends the run."""
        solver = self.begin_phase(phase)
        ends_run = ends_phase = False
        while not (ends_run or ends_phase):
            self.begin_epoch()
            report = solver.epoch(self)
            self.add(report)
            self.end_epoch(solver.name)
            ends_run = self._ends_run(phase, solver)
            ends_phase = self._ends_phase(phase, solver, report)
        self.end_phase()
        return ends_run

    def begin_phase(self, phase):
        """Begin a phase: its solver."""
        solver = phase.make_solver()
        solver.start(self)
        self.solver = solver
        averaging = self._averaging if phase.averaging is None else phase.averaging(self.weights)
        if averaging is not self.averaging:
            self.averaging = averaging
            self._certifier.expire()
        if solver.corrects_rounding:
            self._rounding.require()
        self._begin = self.n_epochs, self.weights.n_updates, self.n_accesses, time.perf_counter()
        return solver

    def begin_epoch(self):
        """Begin a full epoch, and notify observers."""
        self._report, self._checks_gap = None, True
        self._certifier.expire()
        if self._watch is not None:
            self._watch.begin_epoch(self.n_epochs + 1)

    def add(self, report):
        """Add the report of a solver, on a whole epoch or on a part of it."""
        self._report = report if self._report is None else self._report.followed_by(report)
        self.n_accesses += report.n_accesses
        self._primal = report.primal
        if report.dual_is_feasible:
            self._certifier.note_feasible()

    def end_epoch(self, solver="rules"):
        """End a full epoch: compute its certificate, record it, and notify observers."""
        report = self._report
        self.n_epochs += 1
        self.clean = report.n_changed == 0
        self._note_standstill(report)
        self._checks_gap = report.check_gap or self.n_epochs == self.max_iter
        is_certified = self._certify_epoch() if self._checks_gap else False
        epoch = Epoch(
            self.n_epochs,
            self.weights.n_updates,
            report.n_changed + report.n_rejected,
            self.certificate if is_certified else None,
            solver,
        )
        self.history.append(epoch)
        if self.options.report is not None:
            self.options.report(progress(epoch, moves_together=self._primal is not None))
        if self.clean and self.averaging is not None:
            self._count_remaining_epochs(report)
        if self._watch is not None and self._watch.end_epoch(self):
            self.message = "a callback stopped it"

    def _certify_epoch(self):
        """Compute the certificate of a full epoch, if it could end the run: True if it was computed."""
        self._rounding.correct(self)
        if self.eps is None or (self.options.needs_clean_pass and not self.clean):
            return False
        self.certify()
        if self.finished and self._leave_rounding():
            self.certify()
        return True

    def _ends_run(self, phase, solver):
        """True if the run ends after the epoch that has just ended."""
        if self._is_done(phase, solver):
            self.message = None  # an observer that stopped it was late
            return True
        ends_phase = self.clean and not solver.decays
        if self.message is None and phase.infeasible is not None and not ends_phase:
            self.message = phase.infeasible(self)
        if self.message is None and self.n_epochs >= self.max_iter:
            # Before the algorithm prepares another phase: it may begin again from 0, or rescale.
            is_done = self.finished and not (self.eps is None and solver.decays)
            self.message = None if is_done else self._max_iter_message()
        return self.message is not None

    def _is_done(self, phase, solver):
        """True if the run has reached its end, by the proof or by an epoch without changes."""
        if phase.until is not None and phase.until(self):
            self.clean = True
            return True
        if self.eps is not None:
            return not self.options.needs_clean_pass and self.finished
        # Where every access shrinks, a full epoch without updates is no end.
        return phase.is_last and not solver.decays and self.finished

    def _ends_phase(self, phase, solver, report):
        """True if the phase ends after the epoch that has just ended."""
        if report.is_exhausted or (self.clean and not solver.decays):
            return True
        begin, *_ = self._begin
        is_over = phase.epochs is not None and self.n_epochs - begin >= phase.epochs
        return is_over or self.n_epochs >= self.max_iter

    def end_phase(self):
        """End a phase: record it."""
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

    def ends_phase(self):
        """True if a run that is trained with others ends: nothing changed, stopped, or out of epochs."""
        if self.clean and self.standstill is None:
            self.message = None  # an observer that stopped it was late
        elif self.message is None and self.n_epochs == self.max_iter:
            self.message = self._max_iter_message()
        return self.clean or self.message is not None

    def conclude(self):
        """Certify the model, and record whether it has the accuracy required."""
        if not self._checks_gap:
            self._rounding.correct(self)
        if self._leave_rounding() or not self._certifier.is_current:
            self.certify()
        if not self._checks_gap:  # an observer ended the run after an epoch without a certificate
            self.history[-1] = self.history[-1]._replace(certificate=self.certificate)
            if self.finished:
                self.message = None
        if self.message is None:
            self.converged = self.finished
            if not self.converged:
                self.message = self.standstill or "the algorithm ended before its accuracy was proven"
        if self._watch is not None:
            self._watch.end()

    def _max_iter_message(self):
        return f"max_iter={self.max_iter} full epochs came first"

    def _note_standstill(self, report):
        """Distinguish an epoch that could not change anything from one that did not have to."""
        self.standstill = None
        if not self.clean or not report.n_unmoved:
            return
        rules = self.solver.full_pass_rules or self.solver.rules
        self.standstill = standstill(report.n_unmoved, rules)
        if not rules.decays and self.message is None:
            self.message = self.standstill

    def _count_remaining_epochs(self, report):
        """Count the accesses of all remaining epochs, which would equal the last one, in the average."""
        # A double counts exactly up to 2**53.
        n_epochs = min(self.max_iter - self.n_epochs, 2**53 // len(self.data))
        n_accesses = len(self.data) - self.orders.n_held_out
        self.averaging.n_accesses += n_epochs * n_accesses
        self.averaging.n_right += n_epochs * (n_accesses - report.n_rejected)

    # Rounding.

    def _leave_rounding(self):
        """Before a proof is final, leave the sums over a Gram matrix or over rows of a kernel: True if
        there were any."""
        if self.leave_gram():
            return True
        before = self.weights.sqnorm
        if not self._rounding.correct_kernel_sums(self):
            return False
        self._forget_dual_unless(before)
        return True

    def _forget_dual_unless(self, sqnorm):
        """Forget the best dual value, unless the weight vector had this squared norm all the time."""
        if not abs(self.weights.sqnorm - sqnorm) <= SAME * sqnorm:
            self._certifier.forget_dual()
