"""The driver: one binary problem, from the first full epoch to the proof.

An algorithm is a generator of phases (`margins.solvers.base.Phase`). Each continues from the state of
the run until a full pass changes nothing or the certificate proves the accuracy. `Run.train` is the loop
over phases, `Run._run_phase` the loop over epochs.
"""

import copy
import math
import reprlib
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from margins._sparse import Rows
from margins._update import BinaryData, WeightVector
from margins.certificate import ACCURACY
from margins.data.binary_data import of_each
from margins.data.permutations import Orders, rows_per_chunk
from margins.linalg.threads import TimeLimitReached, check_cancelled, one_thread_for, time_limit
from margins.losses._scaling import largest_factor
from margins.solvers.balance import balanced, is_balanced
from margins.solvers.base import Ending, EpochReport, Phase, PhaseRecord, Problem, Solver
from margins.solvers.history import Epoch as Epoch
from margins.solvers.history import Progress, progress, standstill
from margins.solvers.indefinite import known_indefinite
from margins.solvers.outcome import Outcome, hypothesis_of, upper_bound_of
from margins.solvers.proof import Claim, Proof
from margins.solvers.rounding import Rounding
from margins.solvers.specification import Specification

# Squared norms with a larger relative difference differ by more than rounding.
SAME = 1e-9


class Kept(NamedTuple):
    """A model that a run may return to, with its proof."""

    problem: Problem
    features: Rows | None
    weights: WeightVector
    theta: float
    primal: Any
    solver: Solver | None  # which tells whether its sums are fresh
    proof: Proof


class Run:
    """One fit of one binary problem, which runs phases, epoch by epoch, until the proof.

    Algorithms read a run between phases and after epochs, and change it with its methods.

    watch: observes every full epoch and may end the run; see `margins.estimators.callbacks.Watch`.
    features: if the rows of the data form a Gram matrix: X, on which the run must end.
    theta: threshold of the score; at first from the specification.
    orders: orders in which the samples are accessed.
    weights: the weight vector, with the dual variables if they are kept.
    averaging: averages the iterates; None: the last iterate is the model.
    proof: what has been proven; `certificate`, `products`, `primal_scale` and `dual_scale` read it.
    history: records of the full epochs.
    phases: records of the phases that have run.
    solver: solver of the last phase.
    n_epochs, n_accesses: full epochs; accesses of a sample, without epochs that the time limit ended.
    end_of_time: time limit of the run, in seconds of `time.perf_counter`; inf: no limit.
    last_epoch_changed_nothing: True if the last full epoch changed nothing.
    is_warm: True if the run started from the dual variables of an earlier fit.
    standstill: why the last full epoch is not convergence, although it changed nothing.
    """

    def __init__(self, problem: Problem, seed, specification: Specification, watch=None, features=None):
        self.problem = problem
        self.seed, self.specification, self.theta = seed, specification, specification.theta
        self.features: Rows | None = features
        self._watch = watch
        data, m = problem.data, len(problem.data)
        n_held_out, is_proven = math.ceil(specification.held_out * m), specification.eps is not None
        n_rows, shuffle = rows_per_chunk(data.rows), specification.shuffle
        self.orders = Orders(m, seed, is_proven, shuffle, n_held_out=n_held_out, rows_per_chunk=n_rows)
        if specification.new_weights is None:
            self.weights = WeightVector(data.rows.n_features, m if self.keep_dual else 0)
        else:
            self.weights = specification.new_weights(data)
        averaging = specification.averaging
        self.averaging = self._averaging = None if averaging is None else averaging(self.weights)
        self._primal = None  # the model, if the solver of the last epoch reported one
        self._rounding: Rounding | None = None  # None: no solver requires its correction
        self.proof = Proof(
            constant=problem.constant_objective,
            indefinite=known_indefinite(data) if data.rows.is_kernel else None,
        )
        self.history: list[Epoch] = []
        self.phases: list[PhaseRecord] = []
        self.solver: Solver | None = None
        self.n_epochs = self.n_accesses = 0
        self.end_of_time = math.inf
        self._progress = Progress(specification.patience) if specification.patience else None
        self._report: EpochReport | None = None  # report on the epoch, as far as it has run
        self._checks_gap = True  # at the end of the last epoch
        self.last_epoch_changed_nothing = self.is_warm = False
        self.standstill: str | None = None
        # The reason, if the last epoch ends the run, and for an infeasible problem why it is.
        self._stop: tuple[Ending | None, str | None] = None, None
        self._kept: Kept | None = None

    def __copy__(self):  # the copy may be certified, or leave its Gram matrix
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.orders = copy.copy(self.orders)
        return copied

    # ---------------------- what it reads; see `Problem`, `Specification` and `Proof` for the first ones

    @property
    def data(self):
        return self.problem.data

    @property
    def loss(self):
        return self.problem.loss

    @property
    def certificate(self):
        return self.proof.certificate

    @property
    def products(self):
        return self.proof.products

    @property
    def primal_scale(self):
        return self.proof.primal_scale

    @property
    def dual_scale(self):
        return self.proof.dual_scale

    @property
    def indefinite(self):
        return self.proof.indefinite

    @property
    def eps(self):
        return self.specification.eps

    @property
    def max_iter(self):
        return self.specification.max_iter

    @property
    def keep_dual(self):
        """True if the dual variables are kept."""
        return self.specification.keep_dual or self.data.rows.is_kernel

    @property
    def required_gap(self):
        """The relative duality gap that, as far as is known, proves the accuracy."""
        gap = self.loss.required_gap(self.eps)
        return self.proof.required_gap(gap, self.specification.required_improvement)

    @property
    def sqradius(self):
        """R^2, the largest squared norm of a sample, including bias and slack term."""
        return self.data.max_sqnorm

    @property
    def hypothesis(self):
        """The weight vector of the model."""
        if self._primal is not None:
            return self._primal
        return hypothesis_of(self.weights, self.averaging, self.data)

    @property
    def upper_bound(self):
        """|a| / S, which no margin exceeds; inf before the first update."""
        return upper_bound_of(self.weights)

    @property
    def reached_goal(self):
        """True if the accuracy is proven or, without an accuracy to prove, the run has converged."""
        if self.eps is None:
            return self.last_epoch_changed_nothing and self.standstill is None
        needs_clean_pass = self.specification.needs_clean_pass
        return self.is_proven and (self.last_epoch_changed_nothing or not needs_clean_pass)

    @property
    def is_proven(self):
        """True if there is an accuracy to prove and the certificate proves it."""
        certificate, specification = self.proof.certificate, self.specification
        if certificate is None or specification.eps is None:
            return False
        return specification.is_proven(self.problem.loss, certificate)

    # ------------------------------------------------------------------------- what algorithms change

    def bound_dual(self, upper):
        """Bound the dual variables from above by `upper`, a float or an array of shape (m,)."""
        upper, m = np.asarray(upper, dtype=np.float64), len(self.data)
        if upper.shape not in ((), (m,)) or not (upper >= 0).all():
            raise ValueError(
                f"upper of bound_dual must be a number >= 0, or one for each of the {m} samples. "
                f"Got {reprlib.repr(upper.tolist())}."
            )
        self._set_data(self.data.with_limits(upper=of_each(upper, m)))

    def _set_data(self, data: BinaryData):
        self.problem = self.problem._replace(data=data)

    def restart(self):
        """Restart from 0; epochs and updates stay counted."""
        self.weights.clear()
        self._primal = None
        self.proof = self.proof._replace(is_current=False, products=None)

    def resume(self, weights, averaging):
        """Start from the weights of an earlier run and its averaging, instead of 0."""
        self.weights = weights
        self.averaging = self._averaging = averaging

    def start_from(self, dual):
        """Start from dual variables >= 0, bounded or scaled, whichever is better, and certify them."""
        dual, upper = np.maximum(dual, 0.0), of_each(self.loss.upper, len(self.data))
        starts = [np.minimum(dual, upper)]
        if (dual > upper).any():
            starts.insert(0, dual * largest_factor(dual, upper))
        best = -math.inf
        for start in starts:
            self.weights.assign(self.data, start)
            self._forget_dual()
            self.certify()
            value, best = self.certificate.dual, max(best, self.certificate.dual)
        if value < best:  # the first is better
            self.weights.assign(self.data, starts[0])
            self.certify()
        self.is_warm = self.weights.dual_sum > 0

    def set_threshold(self, theta):
        """Set the threshold theta of the score, which is then ``a.x - theta``."""
        self.theta = theta
        self._outdate_proof()

    def rescale(self, factor):
        """Multiply the weight vector and its dual variables by `factor` > 0."""
        if not 0 < factor < math.inf:
            raise ValueError(f"factor of rescale must be in (0, inf). Got {factor!r}.")
        self.weights.rescale(factor)
        self._outdate_proof()

    def rescale_to_feasible(self):
        """Rescale the dual variables to the best scale that the certificate has found."""
        if self.dual_scale > 0 and self.dual_scale != 1:
            self.rescale(self.dual_scale)
            self.proof = self.proof._replace(dual_scale=1.0)

    def recentre(self, shift=0.0):
        """Balance the dual variables; a free intercept moves by rho^2 `shift`."""
        data = self.data
        dual = balanced(self.weights.dual, data.upper_bounds, data.signs)
        self.weights.recentre(data, dual, shift)

    def leave_gram(self):
        """Continue with X instead of its Gram matrix; return True if it was in use.

        If rows are long, products are small sums of large inner products, mostly rounding.
        """
        if self.features is None:
            return False
        sqnorm_before = self.weights.sqnorm
        self._set_data(self.data.over(self.features))
        self.weights = self.weights.over(self.data)
        self.orders.rows_per_chunk = rows_per_chunk(self.features)
        self.features = None
        self._forget_dual_unless(sqnorm_before)
        return True

    # ----------------------------------------------------------------------------------------- phases

    def train(self, phases: Iterable[Phase]):
        """Run the phases in order, until one of them ends the run, and return its Outcome."""
        if phases is None or isinstance(phases, Phase):
            raise self._wrong_phases("None" if phases is None else "a phase that is returned")
        for phase in phases:
            if not isinstance(phase, Phase):
                raise self._wrong_phases(repr(phase))
            if self.n_epochs > 0:  # even with very little time, part of an epoch runs
                self._stop = self._limit_reached(), None
            if self._is_going_on:
                self._run_phase(phase)
            if not self._is_going_on:
                break
        if not self.history:
            raise self._wrong_phases("no phase")
        outcome = self.conclude()
        if self.solver is not None:
            self.solver.release()
        return outcome

    def _wrong_phases(self, got):
        """Return the error of an algorithm whose `phases` does not yield phases."""
        return TypeError(
            f"phases of {self.specification.name} must yield instances of margins.solvers.base.Phase, "
            f"at least one: `yield Phase(...)`. Got {got}."
        )

    def _run_phase(self, phase):
        """Run one phase, epoch by epoch."""
        solver, is_over = self.begin_phase(phase), False
        while not is_over:
            check_cancelled()
            self.begin_epoch()
            try:
                with time_limit(self.end_of_time):
                    report = solver.epoch(self)
            except TimeLimitReached:
                report = self.report_of_part()
            self.add(report)
            is_over = self.end_epoch()
        self.end_phase()

    def limit_time(self, end):
        """Set the time, as in `time.perf_counter`, at which the run ends, even within an epoch."""
        self.end_of_time = end

    def report_of_part(self):
        """Return the report on an epoch that the time limit ended before the solver could."""
        return EpochReport(1, 0, check_gap=False, primal=self._primal, is_cut=True)

    def begin_phase(self, phase):
        """Start a phase, and return its solver."""
        solver = phase.make_solver()
        solver.start(self)
        self._phase, self.solver = phase, solver
        averaging = self._averaging if phase.averaging is None else phase.averaging(self.weights)
        if averaging is not self.averaging:
            self.averaging = averaging
            self._outdate_proof()
        if solver.corrects_rounding and self._rounding is None:
            self._rounding = Rounding()
        self._begin = self.n_epochs, self.weights.n_updates, self.n_accesses, time.perf_counter()
        return solver

    def end_phase(self):
        """Record the phase that has ended."""
        epochs, updates, accesses, seconds = self._begin
        self.phases.append(
            PhaseRecord(
                self.solver.name,
                epochs=self.n_epochs - epochs,
                updates=self.weights.n_updates - updates,
                accesses=self.n_accesses - accesses,
                seconds=time.perf_counter() - seconds,
            )
        )

    # ------------------------------------------------------------------------- the model that is kept

    def keep_model(self):
        """Keep a certified model, unless it is an average, in case the next solvers end worse."""
        if not self.proof.is_current or self.averaging is not None:
            return
        weights = self.weights.copy()
        primal = None if self._primal is None else self._primal.with_dual_side(weights)
        self._kept = Kept(
            self.problem, self.features, weights, self.theta, primal, self.solver, self.proof
        )

    def _proves_kept(self):
        """Return True if the dual values since then prove the model that was kept."""
        if self._kept is None or not self.proof.is_current:
            return False
        proof = self._kept.proof.with_best_dual(self.proof.best_dual, self.weights.n_updates)
        return self.specification.is_proven(self.loss, proof.certificate)

    def _return_to(self, kept):
        """Return to a model that was kept, with the best dual value so far."""
        n_updates, best_dual = self.weights.n_updates, self.proof.best_dual
        self.problem, self.features, self.weights, self.theta = kept[:4]
        self._primal, self.solver = kept.primal, kept.solver
        proven = dict(best_dual=best_dual, indefinite=self.proof.indefinite)
        self.proof = kept.proof._replace(**proven, is_as_returned=False)
        if self._leave_rounding():
            self.certify()
        self.certify_as_returned()
        self.proof = self.proof.with_best_dual(self.proof.best_dual, n_updates)

    # ----------------------------------------------------------------------------------------- epochs

    def begin_epoch(self):
        """Start a full epoch, and notify observers."""
        self._report, self._checks_gap = None, True
        self._outdate_proof()
        if self.averaging is not None:
            self._counts_before = self.averaging.n_accesses, self.averaging.n_right
        if self._watch is not None:
            self._watch.begin_epoch(self.n_epochs + 1)

    def add(self, report):
        """Add the report of a solver on a whole epoch or a part of one."""
        self._report = report if self._report is None else self._report.followed_by(report)
        self.n_accesses += report.n_accesses
        self._primal = report.primal
        if report.dual_is_feasible and self.proof.dual_scale != 1:
            self.proof = self.proof._replace(dual_scale=1.0)

    def end_epoch(self):
        """End a full epoch: certify, record and notify observers. Return True if the phase ends, too."""
        report = self._report
        self.n_epochs += 1
        self.last_epoch_changed_nothing = report.n_changed == 0
        self.standstill = None
        if self.last_epoch_changed_nothing and report.n_unmoved:
            rules = self.solver.full_pass_rules or self.solver.rules
            self.standstill = standstill(report.n_unmoved, rules)
        self._checks_gap = report.check_gap or self.n_epochs == self.max_iter
        is_certified = self._certify_epoch() if self._checks_gap else False
        certificate = self.certificate if is_certified else None
        counts = self.n_epochs, self.weights.n_updates, report.n_changed + report.n_rejected
        epoch = Epoch(*counts, certificate, self.solver.name, self.n_accesses)
        self.history.append(epoch)
        if self.specification.report is not None:
            moves_together = self._primal is not None or self.solver.moves_together
            self.specification.report(progress(epoch, moves_together))
        if self.last_epoch_changed_nothing and self.averaging is not None:
            self._count_remaining_epochs()
        is_stopped = self._watch is not None and self._watch.end_epoch(self)
        self._stop = self._stop_after(report, is_stopped)
        return self._stop[0] is not None or self._ends_phase(report)

    def _certify_epoch(self):
        """Compute the certificate of a full epoch, and return True, if it could end the run."""
        self._correct_rounding()
        needs_clean_pass = self.specification.needs_clean_pass
        if self.eps is None or (needs_clean_pass and not self.last_epoch_changed_nothing):
            return False
        self.certify()
        rests_on_rounding = self.features is not None or self._rounding is not None
        if rests_on_rounding and self.reached_goal and self._leave_rounding():
            self.certify()
        if self.reached_goal:
            self.certify_as_returned()
        return True

    # ------------------------------------------------------------------------------------ is it over?

    def _stop_after(self, report, is_stopped):
        """Return the reason to stop after this epoch, None to go on, and a detail of the reason."""
        if not report.is_cut and self._is_done():
            return self._converged_ending, None
        if is_stopped:
            return Ending.CALLBACK, None
        if self._progress is not None and self._progress.has_ended(self):
            return Ending.NO_PROGRESS, None
        if report.is_cut:
            return Ending.MAX_TIME, None
        # If every access shrinks the weights, an epoch without updates does not mean convergence.
        decays = self.solver.decays
        if self.standstill is not None and not decays:
            return Ending.STANDSTILL, None
        if self._phase.infeasible is not None and (decays or not self.last_epoch_changed_nothing):
            reason = self._phase.infeasible(self)
            if reason is not None:
                return Ending.INFEASIBLE, reason
        if self.reached_goal and not (self.eps is None and decays):
            return None, None
        # Checked before the algorithm prepares another phase, which may restart from 0 or rescale.
        return self._limit_reached(), None

    def _is_done(self):
        """Return True if the run reached its end, by the proof or by an epoch without changes."""
        phase = self._phase
        if phase.converged_when is not None and phase.converged_when(self):
            self.last_epoch_changed_nothing = True
            return True
        if self.eps is not None:
            return not self.specification.needs_clean_pass and (self.reached_goal or self._proves_kept())
        return phase.is_last and not self.solver.decays and self.reached_goal

    def _ends_phase(self, report):
        """Return True if the phase ends after this epoch, whether the run does or not."""
        if report.is_exhausted or (self.last_epoch_changed_nothing and not self.solver.decays):
            return True
        limit, n_epochs = self._phase.epochs, self.n_epochs - self._begin[0]
        is_over = limit is not None and n_epochs >= limit
        return is_over or self.n_epochs >= self.max_iter

    @property
    def _converged_ending(self):
        return Ending.UNCHANGED if self.eps is None else Ending.PROVEN

    def _limit_reached(self):
        """Return the limit that has been reached; None if there is none."""
        if self.n_epochs >= self.max_iter:
            return Ending.MAX_ITER
        return Ending.MAX_TIME if time.perf_counter() >= self.end_of_time else None

    @property
    def _is_going_on(self):
        return self._stop[0] is None

    def _ending(self, is_late):
        """Return how the run ended; `is_late`: it was certified only after its last epoch."""
        stop = self._stop[0]
        was_stopped = stop not in (None, self._converged_ending)
        # A limit may be reached before the clean pass that should end the run.
        is_proven_at_limit = stop in (Ending.MAX_ITER, Ending.MAX_TIME) and self.is_proven
        if is_proven_at_limit or (self.reached_goal and (is_late or not was_stopped)):
            return self._converged_ending
        if was_stopped:
            return stop
        return Ending.EXHAUSTED if self.standstill is None else Ending.STANDSTILL

    # ---------------------------------------------------------------------------------------- the end

    def conclude(self):
        """Certify the model, decide how the run ended, and return its Outcome."""
        is_late = not self._checks_gap  # the last epoch ended the run without a certificate
        if is_late:
            self._correct_rounding()
        if self._leave_rounding() or not self.proof.is_current:
            self.certify()
        self.certify_as_returned()
        kept, self._kept = self._kept, None
        is_worse = kept is not None and kept.proof.certificate.primal < self.certificate.primal
        has_seen_last = self._stop[0] is Ending.CALLBACK
        if is_worse and not self.is_proven and not has_seen_last:
            self.solver.release()
            self._return_to(kept)
            is_late = True
        if self._is_worse_than_constant:
            self._refit_intercept()
            is_late = True
        if is_late or self.history[-1].certificate is not None:
            self.history[-1] = self.history[-1]._replace(certificate=self.certificate)
        if self._watch is not None:
            self._watch.end()
        ending = self._ending(is_late)
        return self.outcome(ending, self._stop[1] if ending is Ending.INFEASIBLE else self.standstill)

    @property
    def _is_worse_than_constant(self):
        """True if a run that should improve on the best constant classifier has not, but could."""
        data, proof = self.problem.data, self.proof
        has_intercept = data.has_free_intercept or data.sq_intercept_scaling > 0
        could = has_intercept and not proof.indefinite and self.problem.penalty is None
        is_worse = (1 + ACCURACY) * proof.constant < proof.certificate.primal < math.inf
        return self.specification.required_improvement > 0 and could and is_worse

    def _refit_intercept(self):
        """Choose the intercept and the length of the model again, so that it is no worse than w = 0."""
        from margins.solvers.improvement import refit_intercept  # few fits need it

        claim = self._claim()
        length = claim.length
        refit = refit_intercept(claim, self.proof, self._primal)
        if refit.primal is None:
            self.set_threshold(refit.theta)
        else:
            self._primal = refit.primal
        self.certify()
        if refit.value < self.certificate.primal:  # the search for the best multiple was not exact
            scale, length = refit.multiple if refit.primal is None else 1.0, refit.multiple * length
            self.proof = self.proof.with_primal(refit.value, scale, length, self.weights.n_updates)
        self.certify_as_returned()

    def outcome(self, ending=None, detail=None):
        """Return the outcome of the run, as if it ended now (Outcome)."""
        data, proof, scale = self.problem.data, self.proof, self.specification.model_scale
        is_unproven = ending is not None and not ending.has_converged and self.eps is not None
        return Outcome(
            specification=self.specification,
            data=data.over(Rows(None, 0, 0)) if data.rows.is_kernel else data,  # no cache of rows
            hypothesis=self.hypothesis,
            weights=self.weights,
            certificate=proof.certificate,
            ending=ending,
            detail=detail,
            history=self.history,
            phases=self.phases,
            loss=self.problem.loss,
            scale=proof.primal_scale if scale is None else scale,
            theta=self.theta,
            dual_scale=proof.dual_scale,
            n_epochs=self.n_epochs,
            n_accesses=self.n_accesses,
            indefinite=proof.indefinite,
            required_gap=self.required_gap if is_unproven else None,
            averaging=self.averaging,
            orders=self.orders,
            loop=getattr(self.solver, "loop", None),
        )

    # ----------------------------------------------------------------------------------------- proofs

    def certify(self, products=None):
        """Compute the certificate of the hypothesis, by a pass over all samples or its products."""
        is_model = self._primal is None and self.averaging is None
        if products is None and is_model and not is_balanced(self.weights, self.data):
            self.recentre()
        # First without the products, so that memory holds only one such array at a time.
        self.proof = self.proof.begun_again()
        with one_thread_for(self._longest):
            self.proof = self.proof.certified(self._claim(), products)

    def certify_as_returned(self):
        """Certify the primal value of the rounded coefficients, if rounding makes a difference."""
        if not self.proof.is_as_returned:
            with one_thread_for(self._longest):
                self.proof = self.proof.as_returned(self._claim())

    @property
    def _longest(self):
        """The length of the longest vector of a proof."""
        return max(len(self.data), self.data.rows.n_features)

    def _claim(self):
        """Return what a certificate is about: the model and its dual variables (Claim)."""
        is_fresh = self.solver is not None and self.solver.sums_are_fresh
        n_summed = 0 if self._rounding is None else self._rounding.n_accesses_summed
        problem, scale = self.problem, self.specification.model_scale
        n_accesses = 0 if is_fresh else self.n_accesses - n_summed
        return Claim(
            problem.data,
            problem.loss,
            self.hypothesis,
            self.weights,
            self.theta,
            scale,
            n_accesses,
            is_fresh,
            problem.original,
            problem.penalty,
        )

    def _outdate_proof(self):
        """Note that the model has changed since it was certified."""
        if self.proof.is_current:  # few epochs of many begin with a proof
            self.proof = self.proof._replace(is_current=False)

    def _forget_dual(self):
        """Forget the best dual value, which belongs to other dual variables."""
        self.proof = self.proof._replace(best_dual=0.0)

    def _forget_dual_unless(self, sqnorm):
        """Forget the best dual value unless the weight vector still has this squared norm."""
        if not abs(self.weights.sqnorm - sqnorm) <= SAME * sqnorm:
            self._forget_dual()

    def _count_remaining_epochs(self):
        """Count the accesses of all remaining epochs, which would equal the last, in the average."""
        # A double counts exactly up to 2**53.
        n_epochs = min(self.max_iter - self.n_epochs, 2**53 // len(self.data))
        n_accesses, n_right = self._counts_before
        self.averaging.n_accesses += n_epochs * (self.averaging.n_accesses - n_accesses)
        self.averaging.n_right += n_epochs * (self.averaging.n_right - n_right)

    def _correct_rounding(self):
        """Recompute what updates have rounded."""
        if self.solver is not None:
            self.solver.make_exact(self)
        self.weights.recompute(self.data)
        if self._rounding is not None:
            self._rounding.correct(self)

    def _leave_rounding(self):
        """Replace sums over a Gram matrix or kernel rows before a proof is final; True if any."""
        if self.leave_gram():
            return True
        sqnorm_before = self.weights.sqnorm
        if self._rounding is None or not self._rounding.correct_kernel_sums(self):
            return False
        self._forget_dual_unless(sqnorm_before)
        return True
