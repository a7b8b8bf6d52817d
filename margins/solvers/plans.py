"""Plans: short lists of phases with purposes and conditions, and the solver phases they consist of.

`margins.solvers.auto` decides what a plan contains.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from margins.rules import SuffixAverage
from margins.solvers.base import Phase, RulesSolver
from margins.solvers.conjugate import ConjugateSolver
from margins.solvers.dual_cd import PenalisedCoordinateSolver, dual_coordinate_descent
from margins.solvers.hard_margin import HardMarginSolver, inseparability
from margins.solvers.interior_point import InteriorPointSolver
from margins.solvers.schedules import UNLEARNING_BOUNDED
from margins.solvers.unlearning import (
    accuracy_before_run,
    refined,
    threshold,
    unlearning_phases,
    unlearning_rules,
)


class PlannedPhase(NamedTuple):
    """A phase of a plan."""

    solver: str
    purpose: str
    phases: Callable  # ``phases(run)`` yields margins.solvers.base.Phase
    # Condition under which the phase runs, if it is known only then; None: unless earlier phases ended
    # the fit.
    condition: str | None = None

    def __str__(self):
        return f"{self.solver}: {self.purpose}" + (f" [{self.condition}]" if self.condition else "")


class Plan:
    """A plan: the phases that solve a problem, made (as PlannedPhase) one after another, and why."""

    def __init__(self, phases, reason):
        self._phases, self.reason = phases, reason

    @property
    def phases(self):
        """All phases, as a tuple of PlannedPhase."""
        return tuple(self._phases())

    def phases_of(self, run):
        """Yield the margins.solvers.base.Phase of a run."""
        for phase in self._phases():
            if run.indefinite is None or run.n_epochs == 0:  # no other solver would prove it either
                yield from phase.phases(run)

    def __repr__(self):
        return f"Plan({self.reason!r}: {'; '.join(map(str, self.phases))})"


class Precondition(NamedTuple):
    """A condition of a phase that is known only when the phase could start."""

    text: str
    holds: Callable  # ``holds(run)`` is True if the phase runs


class PhaseBuilder:
    """The maker of the phases of plans."""

    def __init__(self, specification, tuning):
        self._specification, self._tuning = specification, tuning

    def newton(self, purpose, make_solver, restarts=False):
        """Plan Newton steps, from the hypothesis of the run or, with `restarts`, from w = 0."""

        def phases(run):
            if restarts:
                run.restart()
            yield Phase(solver=make_solver())

        return PlannedPhase("newton", purpose, phases)

    def continuation(self, plan):
        """Plan soft margins whose C grows; `plan` as in `HardMarginSolver`."""
        tuning = self._tuning.hard_margin

        def why_inseparable(run):
            return inseparability(run, tuning)

        def phases(run):
            yield Phase(solver=HardMarginSolver(plan, tuning), infeasible=why_inseparable)

        return PlannedPhase("continuation", "soft margins whose C grows", phases)

    def decomposition(self, make_solver):
        """Plan subproblems of working sets."""

        def phases(run):
            yield Phase(solver=make_solver())

        return PlannedPhase("decomposition", "subproblems of working sets", phases)

    def interior_point(self):
        """Plan interior-point steps over the whole kernel matrix."""

        def phases(run):
            yield Phase(solver=InteriorPointSolver(self._tuning.interior_point))

        purpose = "Newton steps over the whole kernel matrix, in double precision"
        return PlannedPhase("interior-point", purpose, phases)

    def first_passes(self, n):
        """Plan one epoch that accesses n samples."""
        n_averaged = self._tuning.newton.averaged_iterates

        def late_average(weights):
            return SuffixAverage(weights, n / 2, max(n / (2 * n_averaged), 1))

        def phases(run):
            if run.n_epochs > 0:
                # Newton steps did not end the fit: a subsample was misleading, or, with long rows among
                # short ones, only rounding is left of a Hessian of all samples.
                run.restart()
            rules = unlearning_rules(run, *self.threshold(run))
            solver = RulesSolver(rules, n_samples=n, name="unlearning")
            yield Phase(solver=solver, epochs=1, averaging=late_average)

        purpose = f"one pass over {n} samples, to find the samples that matter"
        return PlannedPhase("unlearning", purpose, phases)

    def more_passes(self, n_epochs, condition):
        """Plan a few epochs with active sets, under a condition."""

        def phases(run):
            if condition.holds(run):
                rules = unlearning_rules(run, *self.threshold(run))
                solver = RulesSolver(rules, UNLEARNING_BOUNDED[0][1], name="unlearning")
                yield Phase(solver=solver, epochs=n_epochs)

        purpose = f"{n_epochs} epochs with active sets"
        return PlannedPhase("unlearning", purpose, phases, condition.text)

    def conjugate_before_newton(self, max_passes, condition=None):
        """Plan conjugate passes instead of Newton steps, as long as they seem to cost less."""

        def phases(run):
            b, delta_b = self.threshold(run)
            if b > 0 and (condition is None or condition.holds(run)):
                rules = unlearning_rules(run, b, delta_b)
                yield Phase(solver=ConjugateSolver(rules, max_passes, self._tuning.conjugate))

        purpose = f"as long as they seem to cost less than {max_passes:.3g} passes"
        return PlannedPhase("conjugate", purpose, phases, condition and condition.text)

    def conjugate(self, from_solution=False):
        """Plan conjugate passes until the proof."""

        def phases(run):
            yield from self._conjugate_phases(run, from_solution)

        return PlannedPhase("conjugate", "conjugate passes until the proof", phases)

    def reserve(self, purpose):
        """Plan conjugate passes for what another solver leaves; its model returns if it is better."""

        def phases(run):
            gap = math.inf
            if run.certificate is not None:
                gap = run.certificate.gap
                run.keep_model()
            yield from self._conjugate_phases(run, True, gap)

        return PlannedPhase("conjugate", purpose, phases)

    def _conjugate_phases(self, run, from_solution, gap=math.inf):
        """Yield conjugate passes, b doubled until eps is proven, as long as they reduce `gap`."""
        b, delta_b = self.threshold(run)
        if from_solution:
            run.rescale_to_feasible()
            run.rescale(b)
        while True:
            if b > 0:
                rules = unlearning_rules(run, b, delta_b)
                solver = ConjugateSolver(rules, tuning=self._tuning.conjugate, gap=gap)
                yield Phase(solver=solver)
                if solver.has_stalled:
                    return
            else:
                yield from unlearning_phases(run, b, delta_b, name="unlearning")
            if run.reached_goal:
                return
            if not run.leave_gram():  # its rounding may be what is left
                b = refined(run, b)
            if b is None:
                return

    def unlearning(
        self,
        purpose="the rules of the margin perceptron with unlearning, with nested active sets",
        from_solution=False,
    ):
        """Plan unlearning rules with nested active sets; `from_solution` as in `conjugate`."""

        def phases(run):
            b, delta_b = self.threshold(run)
            if from_solution:
                run.rescale_to_feasible()
                run.rescale(b)
            yield from unlearning_phases(run, b, delta_b, name="unlearning")

        return PlannedPhase("unlearning", purpose, phases)

    def dcd(self):
        """Plan dual coordinate descent with shrinking."""

        def phases(run):
            run.rescale_to_feasible()  # after a warm start
            yield Phase(solver=dual_coordinate_descent(run))

        return PlannedPhase("dcd", "one dual variable at a time", phases)

    def penalised_dcd(self, condition):
        """Plan dual coordinate descent with a regulariser, as long as few passes seem to suffice."""

        def phases(run):
            if condition.holds(run):
                yield Phase(solver=PenalisedCoordinateSolver(self._tuning.proximal.max_passes))

        return PlannedPhase("dcd", "one dual variable at a time", phases, condition.text)

    def threshold(self, run):
        """Return b and delta_b of the unlearning rules."""
        unlearning = self._tuning.unlearning
        # R = 0 if all rows are zero, which a loss may allow.
        delta_b = unlearning.delta_b * (run.sqradius or 1.0)
        accuracy = accuracy_before_run(run.loss, self._specification.eps, unlearning)
        return threshold(run.loss, self._specification.C, accuracy, delta_b), delta_b
