"""The planner: the only place where the data of a problem choose a solver.

    plan(problem, eps, solver) -> Plan

A plan (`margins.solvers.plans`) is a short list of phases, each with its solver, its purpose, and, where
that is known only once the phase before has ended, the condition under which it runs.
`Plan.phases_of` runs them; `explain` shows them without training. Sizes and predicted costs, which the
choice compares, are those of `margins.solvers.costs`.

Whatever the plan, the certificate decides when a fit ends.
"""

from typing import NamedTuple

import numpy as np

from margins.solvers._conjugate import estimated_gap
from margins.solvers.conjugate import ConjugateSolver, dual_value
from margins.solvers.costs import Costs
from margins.solvers.decomposition.decomposition import DecompositionSolver
from margins.solvers.decomposition.free_intercept import FreeInterceptSolver
from margins.solvers.newton.newton import NewtonSolver
from margins.solvers.newton.subsample import SubsampledNewtonSolver
from margins.solvers.plans import Condition, PhaseBuilder, Plan
from margins.tuning import TUNING

SOLVERS = ("newton", "decomposition", "conjugate", "unlearning", "dcd")
CLASSES = {"newton": NewtonSolver, "decomposition": DecompositionSolver, "conjugate": ConjugateSolver}


class Candidate(NamedTuple):
    """A solver with its predicted cost, or why it is not applicable.

    Attributes
    ----------
    solver : str
    passes : float or None
        Predicted cost, in passes over the stored elements of X; None if it is not applicable.
    why_not : str or None
        Why it is not applicable.
    """

    solver: str
    passes: float | None
    why_not: str | None


def candidates(problem, eps, tuning=TUNING):
    """All solvers, with predicted costs, or why they are not applicable: tuple of Candidate."""
    costs, found = Costs(problem, tuning), []
    for name in SOLVERS:
        why_not = why_not_of(name, problem)
        found.append(Candidate(name, None if why_not else costs.predicted_passes(name, eps), why_not))
    return tuple(found)


def why_not_of(solver, problem):
    """Why a solver is not applicable to a problem: str; None if it is."""
    if problem.has_free_intercept and solver != "decomposition":
        return "it penalises the intercept"
    return CLASSES[solver].why_not(problem) if solver in CLASSES else None


def plan(problem, eps, solver="auto", *, C=1.0, max_iter=1000, is_warm=False, start=None, tuning=TUNING):
    """Choose the solvers of a problem.

    Parameters
    ----------
    problem : margins.solvers.base.Problem
    eps : float
        Accuracy to prove.
    solver : {"auto", "newton", "decomposition", "conjugate", "unlearning", "dcd"}
    C : float
        Penalty of a sample of weight 1.
    max_iter : int
        Maximum number of full epochs.
    is_warm : bool
        True: a run begins from dual variables that are expected to be near the solution.
    start : margins.solvers.newton.newton.NewtonStart, optional
        From which Newton steps start, if the plan begins with them.
    tuning : margins.tuning.Tuning, optional

    Returns
    -------
    margins.solvers.plans.Plan

    Raises
    ------
    ValueError
        If the solver is not applicable; the error says why.
    """
    planner = _Planner(problem, eps, C, max_iter, is_warm, start, tuning)
    if problem.has_free_intercept:
        why_not = why_not_of("decomposition", problem)
        if why_not is not None:
            raise ValueError(
                "penalize_intercept=False needs solver='decomposition', which is not applicable here: "
                f"{why_not}."
            )
    if solver == "auto":
        return Plan(*planner.choice())
    why_not = why_not_of(solver, problem)
    if why_not is not None:
        serving = [name for name in SOLVERS if why_not_of(name, problem) is None]
        raise ValueError(
            f"solver={solver!r} is not applicable here: {why_not}. "
            f"Allowed here: {', '.join(map(repr, ('auto', *serving)))}."
        )
    return Plan(getattr(planner, solver), f"solver={solver!r}")


class _Planner:
    """Decides on the phases of a problem: one method for each choice, and the choice of one."""

    def __init__(self, problem, eps, C, max_iter, is_warm, start, tuning):
        self.problem, self.eps, self.max_iter, self.tuning = problem, eps, max_iter, tuning
        self.is_warm = is_warm
        self.start = start
        self.costs = Costs(problem, tuning)
        self.phase = PhaseBuilder(eps, C, tuning)

    def choice(self):
        """The method that yields the phases, and the reason."""
        phases, reason = self._cold_choice()
        if self.is_warm and phases == self.passes_and_newton:
            return self.newton, f"{reason}, and the last fit has found those that matter"
        return phases, reason

    def _cold_choice(self):
        """The same, for a run that begins at zero."""
        problem, costs = self.problem, self.costs
        if DecompositionSolver.why_not(problem) is None:
            return self.decomposition, "a row of the kernel matrix serves hundreds of updates"
        if not problem.loss.is_finite:
            return self.unlearning, "a hard margin has neither a finite objective nor slacks"
        if ConjugateSolver.why_not(problem) is not None:
            if NewtonSolver.why_not(problem) is None:
                return self.newton, f"few Newton steps minimise the smooth loss {problem.loss.name!r}"
            return self.dcd, "dual coordinate descent serves any loss over any kernel"
        if problem.is_kernel:
            return self.conjugate, "the rows of a kernel have no Hessian over features"
        if costs.has_small_hessian:
            return self.passes_and_newton, "the Hessian has no more elements than X"
        if costs.has_few_samples:
            reason = "samples are few beside the features, and the Hessian is larger than X"
            return self.conjugate, reason
        return self.passes_and_newton, "samples are many beside the features"

    # The phases of each choice, and of each value of `solver`.

    def passes_and_newton(self):
        """Newton steps, after passes over samples where these pay, or conjugate passes where these seem
        to cost less."""
        costs, phase = self.costs, self.phase
        size = self._subsample_size()
        if size > 0 or not costs.needs_passes:
            yield self._newton_from_zero(size)
        # The only epoch of a run is over all samples.
        n_accessed = costs.n_first_accessed if self.max_iter > 1 else self.problem.n_samples
        yield phase.first_passes(n_accessed)
        if costs.conjugate_may_pay:
            condition = None if costs.conjugate_pays else self._is_nearly_proven()
            yield phase.conjugate_before_newton(costs.newton_passes, condition)
        if not self.problem.loss.is_smooth:
            yield phase.more_passes(self.tuning.newton.near_epochs, self._is_near())
        yield phase.newton("Newton steps from the mean of the late iterates", self._newton_solver)
        yield phase.conjugate("in case Newton steps end without the proof", from_solution=True)

    def newton(self):
        """Newton steps alone; after a warm start with conjugate passes in reserve."""
        if self.is_warm:
            yield self.phase.newton("Newton steps from the last fit", self._newton_solver)
            if ConjugateSolver.why_not(self.problem) is None:
                yield self.phase.conjugate(
                    "in case Newton steps end without the proof", from_solution=True
                )
            return
        size = self._subsample_size()
        yield self._newton_from_zero(size)
        if size > 0:
            yield self.phase.newton("in case the subsample misleads", self._newton_solver, restarts=True)

    def decomposition(self):
        """Subproblems of working sets; then, one sample at a time, what single precision leaves."""
        costs, tuning = self.costs, self.tuning.decomposition
        is_free = self.problem.has_free_intercept
        solver = FreeInterceptSolver if is_free else DecompositionSolver
        yield self.phase.decomposition(lambda: solver(costs.multiplies_densely, tuning))
        purpose = "in case single precision does not suffice"
        if is_free:
            return  # all other solvers penalise it
        if ConjugateSolver.why_not(self.problem) is None:
            yield self.phase.conjugate(purpose, from_solution=True)
        else:
            yield self.phase.unlearning(purpose)

    def conjugate(self):
        """Conjugate passes alone."""
        yield self.phase.conjugate(from_solution=self.is_warm)

    def unlearning(self):
        """The rules of unlearning alone."""
        yield self.phase.unlearning(from_solution=self.is_warm)

    def dcd(self):
        """Dual coordinate descent alone."""
        yield self.phase.dcd()

    # Newton solvers.

    def _subsample_size(self):
        """The size of the subsample of the first Newton steps; 0: there is none."""
        return self.costs.subsample_size if self.max_iter > 1 else 0

    def _newton_from_zero(self, size):
        """Newton steps from w = 0, or from the optimum over a subsample."""
        if size == 0:
            return self.phase.newton("Newton steps from w = 0", self._newton_solver)

        def subsampled():
            tuning = self.tuning
            return SubsampledNewtonSolver(
                size,
                self.costs.adds_in_blocks,
                self._epoch_reduction(),
                tuning.newton,
                tuning.subsample,
            )

        return self.phase.newton(f"Newton steps from a subsample of {size} samples", subsampled)

    def _newton_solver(self):
        """Newton steps with a Hessian that is stored, if it is small."""
        costs, newton, reduction = self.costs, self.tuning.newton, self._epoch_reduction()
        if costs.has_small_hessian:
            return NewtonSolver(None, costs.adds_in_blocks, reduction, newton, self.start)
        max_read = newton.max_product_ratio * costs.product_passes * self.problem.n_samples
        return NewtonSolver(max_read, False, reduction, newton, self.start)

    def _epoch_reduction(self):
        """The share of its first gap at which an epoch of Newton steps ends; 0: none."""
        if self.problem.loss.is_smooth or not self.costs.has_many_elements:
            return 0.0
        return self.tuning.newton.epoch_reduction

    # Conditions that the first phases decide.

    def _is_nearly_proven(self):
        """The condition of conjugate passes before Newton steps on a small Hessian."""
        ratio = self.tuning.conjugate.max_relative_gap

        def holds(run):
            b, _ = self.phase.threshold(run)
            gap = estimated_gap(run.data, run.weights, np.zeros(len(run.data)), b)
            return gap <= ratio * dual_value(run.weights, b)

        return Condition(f"if the gap is at most {ratio:g} times the dual value", holds)

    def _is_near(self):
        """The condition of more passes before Newton steps on a smoothed loss."""
        ratio = self.tuning.newton.near_gap

        def holds(run):
            if run.phases[-1].solver == "conjugate":
                return False
            return run.certificate.gap <= ratio * self.eps

        return Condition(f"if the gap is at most {ratio:g} eps", holds)
