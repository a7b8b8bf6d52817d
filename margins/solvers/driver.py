"""The driver: one binary problem, from the first full epoch to the proof.

An algorithm is a generator of phases (`margins.solvers.base.Phase`). Each phase names a solver, or rules
and active sets. It continues from the state of the run until a full pass changes nothing or the
certificate proves the accuracy. `Run.train` is the loop over phases, `Run._run_phase` the loop over
epochs.
"""

import copy
import dataclasses
import math
import time
from collections.abc import Iterable

from margins.certificate import ACCURACY
from margins.linalg.time_limits import TimeLimitReached, check_cancelled, time_limit
from margins.solvers.base import Ending, EpochReport, Phase, PhaseRecord
from margins.solvers.history import Epoch as Epoch
from margins.solvers.history import progress, standstill
from margins.solvers.rounding import Rounding
from margins.solvers.state import RunState

# The attributes that a run takes back with a kept model; `solver` tells whether its sums are fresh.
MODEL = (
    *("data", "features", "weights", "theta", "_primal", "solver", "products", "certificate"),
    *("primal_scale", "dual_scale", "_is_certified", "_standing"),
)


class Run(RunState):
    """One fit of one binary problem, which runs phases, epoch by epoch, until the proof.

    Parameters and attributes are those of `RunState`. Between phases, algorithms read a run and change
    it with the methods of its state; the methods here belong to the driver.
    """

    _kept = None  # the run as it was when `keep_model` was called

    def train(self, phases: Iterable[Phase]):
        """Run the phases in order, until one of them ends the run, and return its Outcome."""
        if phases is None or isinstance(phases, Phase):
            raise self._wrong_phases("None" if phases is None else "a phase that is returned")
        for phase in phases:
            if not isinstance(phase, Phase):
                raise self._wrong_phases(repr(phase))
            if self.n_epochs > 0:  # even with very little time, part of an epoch runs
                self._stop = self._limit_reached()
            if self._stop is None:
                self._run_phase(phase)
            if self._stop is not None:
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
            self.averaging, self._is_certified = averaging, False
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
                self.n_epochs - epochs,
                self.weights.n_updates - updates,
                self.n_accesses - accesses,
                time.perf_counter() - seconds,
            )
        )

    def keep_model(self):
        """Keep the model, in case the solvers that follow end with a worse one.

        A model that is an average, or has no certificate, is not kept.
        """
        if self._is_certified and self.averaging is None:
            kept = self._kept = copy.copy(self)
            kept.weights = self.weights.copy()
            if kept._primal is not None:
                kept._primal = kept._primal.with_dual_side(kept.weights)

    def _proves_kept(self):
        """Return True if the dual values since then prove the model that was kept."""
        if self._kept is None or not self._is_certified:
            return False
        certificate = self._certificate_of(self._kept.certificate, self._kept._standing)
        return self.specification.is_proven(self.loss, certificate)

    def _return_to(self, kept):
        """Return to a model that was kept, with the best dual value so far."""
        n_updates = self.weights.n_updates
        vars(self).update({name: getattr(kept, name) for name in MODEL})
        if self._leave_rounding():
            self.certify()
        self._is_as_returned = False
        self.certify_as_returned()
        self.certificate = dataclasses.replace(
            self._certificate_of(self.certificate), n_updates=n_updates
        )

    def begin_epoch(self):
        """Start a full epoch, and notify observers."""
        self._report, self._checks_gap, self._is_certified = None, True, False
        if self.averaging is not None:
            self._counts_before = self.averaging.n_accesses, self.averaging.n_right
        if self._watch is not None:
            self._watch.begin_epoch(self.n_epochs + 1)

    def add(self, report):
        """Add the report of a solver on a whole epoch or a part of one."""
        self._report = report if self._report is None else self._report.followed_by(report)
        self.n_accesses += report.n_accesses
        self._primal = report.primal
        if report.dual_is_feasible:
            self.dual_scale = 1.0

    def end_epoch(self):
        """End a full epoch: certify, record and notify observers. Return True if the phase ends, too."""
        report = self._report
        self.n_epochs += 1
        self.clean = report.n_changed == 0
        self.standstill = None
        if self.clean and report.n_unmoved:
            rules = self.solver.full_pass_rules or self.solver.rules
            self.standstill = standstill(report.n_unmoved, rules)
        self._checks_gap = report.check_gap or self.n_epochs == self.max_iter
        is_certified = self._certify_epoch() if self._checks_gap else False
        epoch = Epoch(
            self.n_epochs,
            self.weights.n_updates,
            report.n_changed + report.n_rejected,
            self.certificate if is_certified else None,
            self.solver.name,
        )
        self.history.append(epoch)
        if self.specification.report is not None:
            self.specification.report(
                progress(epoch, self._primal is not None or self.solver.moves_together)
            )
        if self.clean and self.averaging is not None:
            self._count_remaining_epochs()
        is_stopped = self._watch is not None and self._watch.end_epoch(self)
        self._stop = self._stop_after(report, is_stopped)
        return self._stop is not None or self._ends_phase(report)

    def _certify_epoch(self):
        """Compute the certificate of a full epoch, and return True, if it could end the run."""
        self._correct_rounding()
        if self.eps is None or (self.specification.needs_clean_pass and not self.clean):
            return False
        self.certify()
        rests_on_rounding = self.features is not None or self._rounding is not None
        if rests_on_rounding and self.finished and self._leave_rounding():
            self.certify()
        if self.finished:
            self.certify_as_returned()
        return True

    def _stop_after(self, report, is_stopped):
        """Return the reason to stop after this epoch; None to go on."""
        if not report.is_cut and self._is_done():
            return self._converged_ending
        if is_stopped:
            return Ending.CALLBACK
        if self._progress is not None and self._progress.has_ended(self):
            return Ending.NO_PROGRESS
        if report.is_cut:
            return Ending.MAX_TIME
        # If every access shrinks the weights, an epoch without updates does not mean convergence.
        decays = self.solver.decays
        if self.standstill is not None and not decays:
            return Ending.STANDSTILL
        if self._phase.infeasible is not None and (decays or not self.clean):
            self._why_infeasible = self._phase.infeasible(self)
            if self._why_infeasible is not None:
                return Ending.INFEASIBLE
        if self.finished and not (self.eps is None and decays):
            return None
        # Checked before the algorithm prepares another phase, which may restart from 0 or rescale.
        return self._limit_reached()

    def _is_done(self):
        """Return True if the run reached its end, by the proof or by an epoch without changes."""
        phase = self._phase
        if phase.until is not None and phase.until(self):
            self.clean = True
            return True
        if self.eps is not None:
            return not self.specification.needs_clean_pass and (self.finished or self._proves_kept())
        return phase.is_last and not self.solver.decays and self.finished

    def _ends_phase(self, report):
        """Return True if the phase ends after this epoch, whether the run does or not."""
        if report.is_exhausted or (self.clean and not self.solver.decays):
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

    def conclude(self):
        """Certify the model, decide how the run ended, and return its Outcome."""
        is_late = not self._checks_gap  # the last epoch ended the run without a certificate
        if is_late:
            self._correct_rounding()
        if self._leave_rounding() or not self._is_certified:
            self.certify()
        self.certify_as_returned()
        kept, self._kept = self._kept, None
        is_worse = kept is not None and kept.certificate.primal < self.certificate.primal
        if is_worse and not self.is_proven and self._stop is not Ending.CALLBACK:  # it has seen the last
            self.solver.release()
            self._return_to(kept)
            is_late = True
        if self._is_worse_than_constant:
            from margins.solvers.improvement import refit_intercept  # few fits need it

            refit_intercept(self)
            self.certify_as_returned()
            is_late = True
        if is_late or self.history[-1].certificate is not None:
            self.history[-1] = self.history[-1]._replace(certificate=self.certificate)
        was_stopped = self._stop not in (None, self._converged_ending)
        # A limit may be reached before the clean pass that should end the run.
        is_proven_at_limit = self._stop in (Ending.MAX_ITER, Ending.MAX_TIME) and self.is_proven
        if is_proven_at_limit or (self.finished and (is_late or not was_stopped)):
            ending = self._converged_ending
        elif was_stopped:
            ending = self._stop
        else:
            ending = Ending.EXHAUSTED if self.standstill is None else Ending.STANDSTILL
        if self._watch is not None:
            self._watch.end()
        detail = self._why_infeasible if ending is Ending.INFEASIBLE else self.standstill
        return self.outcome(ending, detail)

    @property
    def _is_worse_than_constant(self):
        """True if a run that should improve on the best constant classifier has not, but could."""
        has_intercept = self.data.has_free_intercept or self.data.sq_intercept_scaling > 0
        could = has_intercept and not self.indefinite
        is_worse = (1 + ACCURACY) * self._constant < self.certificate.primal < math.inf
        return self.specification.required_improvement > 0 and could and is_worse

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
