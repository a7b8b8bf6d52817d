"""The driver: one binary problem, from the first full epoch to the proof.

An algorithm is a generator of phases (`margins.solvers.base.Phase`): each names a solver, or rules and
active sets, and continues from where the run is, until a full pass changes nothing, or until the
certificate proves the accuracy. `Run.train` is the loop over phases, `Run._run_phase` that over epochs.
"""

import time
from collections.abc import Iterable

from margins.linalg.time_limits import TimeLimitReached, time_limit
from margins.solvers.base import EpochReport, Phase, PhaseRecord
from margins.solvers.history import Epoch as Epoch
from margins.solvers.history import progress, standstill
from margins.solvers.options import RunOptions as RunOptions
from margins.solvers.rounding import Rounding
from margins.solvers.state import RunState


class Run(RunState):
    """One fit of one binary problem: runs phases, epoch by epoch, until the proof.

    Parameters and attributes are those of `RunState`. Algorithms read a run, and change it by the
    methods of its state, between phases; the methods here belong to the driver.
    """

    def train(self, phases: Iterable[Phase]):
        """Run the phases in order, until one of them ends the run."""
        if self.options.time_budget is not None:
            self.limit_time(self.options.time_budget.end_of_next())
        for phase in phases:
            if self.n_epochs > 0:  # however short the time, a part of an epoch runs
                self.message = self._limit_message()
            if self.message is not None or self._run_phase(phase):
                break
        self.conclude()

    def _run_phase(self, phase):
        """Run one phase: True if it ends the run."""
        solver = self.begin_phase(phase)
        while True:
            self.begin_epoch()
            try:
                with time_limit(self.end_of_time):
                    report = solver.epoch(self)
                is_whole = True
            except TimeLimitReached:
                report, is_whole = self.report_of_part(), False
            self.add(report)
            self.end_epoch(solver.name)
            ends_run = not is_whole or self._ends_run(phase, solver)
            if ends_run or self._ends_phase(phase, solver, report):
                break
        self.end_phase()
        return ends_run

    def limit_time(self, end):
        """End the run, within an epoch if need be, at a time as `time.perf_counter` counts it."""
        self.end_of_time = end

    def report_of_part(self):
        """The report on an epoch that the time limit has ended before the solver could: EpochReport."""
        self.message = self._limit_message()
        return EpochReport(1, 0, check_gap=False, primal=self._primal)

    def begin_phase(self, phase):
        """Begin a phase: its solver."""
        solver = phase.make_solver()
        solver.start(self)
        self.solver = solver
        averaging = self._averaging if phase.averaging is None else phase.averaging(self.weights)
        if averaging is not self.averaging:
            self.averaging, self._is_certified = averaging, False
        if solver.corrects_rounding and self._rounding is None:
            self._rounding = Rounding()
        self._begin = self.n_epochs, self.weights.n_updates, self.n_accesses, time.perf_counter()
        return solver

    def begin_epoch(self):
        """Begin a full epoch, and notify observers."""
        self._report, self._checks_gap, self._is_certified = None, True, False
        if self._watch is not None:
            self._watch.begin_epoch(self.n_epochs + 1)

    def add(self, report):
        """Add the report of a solver, on a whole epoch or on a part of it."""
        self._report = report if self._report is None else self._report.followed_by(report)
        self.n_accesses += report.n_accesses
        self._primal = report.primal
        if report.dual_is_feasible:
            self.dual_scale = 1.0

    def end_epoch(self, solver="rules"):
        """End a full epoch: compute its certificate, record it, and notify observers."""
        report = self._report
        self.n_epochs += 1
        self.clean = report.n_changed == 0
        self.standstill = None
        if self.clean and report.n_unmoved:
            self._note_standstill(report.n_unmoved)
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
        self._correct_rounding()
        if self.eps is None or (self.options.needs_clean_pass and not self.clean):
            return False
        self.certify()
        rests_on_rounding = self.features is not None or self._rounding is not None
        if rests_on_rounding and self.finished and self._leave_rounding():
            self.certify()
        if self.finished:
            self.certify_as_returned()
        return True

    def _ends_run(self, phase, solver):
        """True if the run ends after the epoch that has just ended."""
        if self._is_done(phase, solver):
            self.message = None  # an observer that stopped it was late
            return True
        has_converged = self.clean and not solver.decays
        if self.message is None and phase.infeasible is not None and not has_converged:
            self.message = phase.infeasible(self)
        if self.message is None and self._limit_message() is not None:
            # Before the algorithm prepares another phase: it may begin again from 0, or rescale.
            is_done = self.finished and not (self.eps is None and solver.decays)
            self.message = None if is_done else self._limit_message()
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
        is_over = phase.epochs is not None and self.n_epochs - self._begin[0] >= phase.epochs
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
        elif self.message is None:
            self.message = self._limit_message()
        return self.clean or self.message is not None

    def conclude(self):
        """Certify the model, and record whether it has the accuracy required."""
        if not self._checks_gap:
            self._correct_rounding()
        if self._leave_rounding() or not self._is_certified:
            self.certify()
        self.certify_as_returned()
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

    def _limit_message(self):
        """Which limit has been reached, if any: str or None."""
        if self.n_epochs >= self.max_iter:
            return f"max_iter={self.max_iter} full epochs came first"
        if time.perf_counter() >= self.end_of_time:
            return f"max_time={self.options.time_budget.seconds:g} seconds came first"
        return None

    def _note_standstill(self, n_unmoved):
        """Distinguish an epoch that could not change anything from one that did not have to."""
        rules = self.solver.full_pass_rules or self.solver.rules
        self.standstill = standstill(n_unmoved, rules)
        if not rules.decays and self.message is None:
            self.message = self.standstill

    def _count_remaining_epochs(self, report):
        """Count the accesses of all remaining epochs, which would equal the last one, in the average."""
        # A double counts exactly up to 2**53.
        n_epochs = min(self.max_iter - self.n_epochs, 2**53 // len(self.data))
        n_accesses = len(self.data) - self.orders.n_held_out
        self.averaging.n_accesses += n_epochs * n_accesses
        self.averaging.n_right += n_epochs * (n_accesses - report.n_rejected)

    def _correct_rounding(self):
        """Recompute what updates have rounded off."""
        if self.solver is not None:
            self.solver.make_exact(self)
        self.weights.recompute(self.data)
        if self._rounding is not None:
            self._rounding.correct(self)

    def _leave_rounding(self):
        """Before a proof is final, leave the sums over a Gram matrix or over rows of a kernel: True if
        there were any."""
        if self.leave_gram():
            return True
        before = self.weights.sqnorm
        if self._rounding is None or not self._rounding.correct_kernel_sums(self):
            return False
        self._forget_dual_unless(before)
        return True
