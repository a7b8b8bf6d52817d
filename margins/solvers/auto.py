"""The planner: the only place where the data of a problem choose a solver.

    plan(problem, eps, solver) -> Plan

A plan is a short list of phases, each with its solver, its purpose, and, where that is known
only once the phase before has ended, the condition under which it runs. `Plan.phases_of` runs them;
`explain` shows them without training. Costs are in passes over the stored elements of X.

Whatever the plan, the certificate decides when a fit ends.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from margins.rules import SuffixAverage
from margins.solvers._conjugate import estimated_gap
from margins.solvers.base import Phase, RulesSolver
from margins.solvers.conjugate import ConjugateSolver, dual_value
from margins.solvers.dual_cd import dual_coordinate_descent
from margins.solvers.newton.newton import NewtonSolver
from margins.solvers.newton.subsample import SubsampledNewtonSolver
from margins.solvers.schedules import UNLEARNING_BOUNDED
from margins.solvers.unlearning import (
    accuracy_before_run,
    refined,
    threshold,
    unlearning_phases,
    unlearning_rules,
)
from margins.tuning import TUNING

SOLVERS = ("newton", "conjugate", "unlearning", "dcd")


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


class PlannedPhase(NamedTuple):
    """A phase of a plan.

    Attributes
    ----------
    solver : str
    purpose : str
        Its purpose.
    play : callable
        ``play(run)`` yields margins.solvers.base.Phase.
    condition : str or None
        The condition under which it runs, if known only then; None: unless the phases before have ended
        the fit.
    """

    solver: str
    purpose: str
    play: Callable
    condition: str | None = None

    def __str__(self):
        return f"{self.solver}: {self.purpose}" + (f" [{self.condition}]" if self.condition else "")


class Plan:
    """How a problem is going to be solved.

    Parameters
    ----------
    phases : callable
        ``phases()`` yields PlannedPhase, each made only when the ones before have not ended the fit.
    reason : str
    """

    def __init__(self, phases, reason):
        self._phases, self.reason = phases, reason

    @property
    def phases(self):
        """All phases: tuple of PlannedPhase."""
        return tuple(self._phases())

    def phases_of(self, run):
        """The phases of a run: yields margins.solvers.base.Phase."""
        for phase in self._phases():
            yield from phase.play(run)

    def __repr__(self):
        return f"Plan({self.reason!r}: {'; '.join(map(str, self.phases))})"


# -------------------------------------------------------------------------------------- sizes and costs


def has_small_hessian(problem):
    """True if a Hessian has no more elements than X stores: features are few."""
    n = problem.n_weights
    # Samples are counted before their elements are.
    return n <= problem.n_samples and problem.data.rows.has_nonzeros(n**2)


def are_few(problem, tuning=TUNING):
    """True if samples are few beside the features: they may well be separable.

    Many of them then are at the margin: updates of single samples find them soon, and each Newton step
    changes which they are.

    **Source**: Cover (1965), Geometrical and statistical properties of systems of linear inequalities:
    of samples in general position, labelled at random, twice as many as features are separable in one
    case of two.
    """
    return problem.n_samples <= tuning.newton.few_samples * problem.n_features


def adds_in_blocks(problem, tuning=TUNING):
    """True if samples are dense enough to be added to a stored Hessian in blocks."""
    n, cost = problem.n_weights, tuning.cost
    enough = problem.n_samples * math.sqrt(n * (cost.dense_square * n + cost.dense_linear))
    return n > cost.min_block_features and problem.data.rows.has_nonzeros(int(enough) + 1)


def product_passes(problem, tuning=TUNING):
    """Passes over all samples to expect of Newton steps by Hessian-vector products."""
    newton = tuning.newton
    return newton.product_passes if problem.loss.is_smooth else newton.product_passes_smoothed


def newton_passes(problem, tuning=TUNING):
    """Passes over all samples that Newton steps are expected to cost.

    The first step sums a Hessian of all samples, and each solves with one, if it is stored.
    """
    if not has_small_hessian(problem):
        return product_passes(problem, tuning)
    cost, newton = tuning.cost, tuning.newton
    m, n = problem.n_samples, problem.n_weights
    stored = problem.data.rows.n_stored
    of_sample = stored / max(m, 1)
    dense = n * (cost.dense_square * n + cost.dense_linear)
    hessian = m * min(of_sample * of_sample, dense) * cost.sparse_product
    one_pass = cost.sample_access * m + stored
    n_steps = newton.steps_of_few if are_few(problem, tuning) else newton.steps
    return (hessian + n_steps * cost.factorisation * n**3) / one_pass + n_steps


def subsample_size(problem, tuning=TUNING):
    """The size of the subsample of the first Newton steps: int; 0 if a subsample does not pay.

    It does not for a smooth loss, which few steps minimise in any case.
    """
    if problem.loss.is_smooth or not has_small_hessian(problem):
        return 0
    subsample, m = tuning.subsample, problem.n_samples
    size = max(subsample.per_feature * problem.n_features, subsample.min_size)
    return max(size, int(subsample.min_share * m)) if subsample.min_ratio * size <= m else 0


def needs_passes(problem, tuning=TUNING):
    """True if passes over samples precede Newton steps, to identify the working set.

    Not where elements are few: one more step, if any, costs less.
    """
    newton = tuning.newton
    if not problem.loss.is_smooth and problem.n_features > newton.few_features:
        return True
    return not has_small_hessian(problem) or problem.data.rows.has_nonzeros(newton.few_elements + 1)


def gram_pays(X, tuning=TUNING):
    """True if the Gram matrix replaces X: samples are few, and X is dense enough.

    Parameters
    ----------
    X : ndarray or CSR matrix, shape (m, d)
    """
    m, d = X.shape
    n_stored = X.nnz if sparse.issparse(X) else m * d
    gram = tuning.gram
    return gram.min_ratio * m * m <= n_stored and gram.min_density * m * d <= n_stored


def _predicted(prediction, problem, eps):
    gap = problem.loss.required_gap(eps)
    return prediction.base + prediction.slope * max(math.log10(1 / gap), 0.0) if gap > 0 else math.inf


def candidates(problem, eps, tuning=TUNING):
    """All solvers, with predicted costs, or why they are not applicable: tuple of Candidate."""
    bounded = problem.loss.has_upper_bounds
    prediction = tuning.prediction
    passes = {
        "newton": lambda: newton_passes(problem, tuning) + (1 if needs_passes(problem, tuning) else 0),
        "conjugate": lambda: _predicted(
            prediction.conjugate_bounded if bounded else prediction.conjugate, problem, eps
        ),
        "unlearning": lambda: _predicted(
            prediction.unlearning_bounded if bounded else prediction.unlearning, problem, eps
        ),
        "dcd": lambda: _predicted(prediction.dcd_bounded if bounded else prediction.dcd, problem, eps),
    }
    found = []
    for name in SOLVERS:
        why_not = why_not_of(name, problem)
        found.append(Candidate(name, None if why_not else float(passes[name]()), why_not))
    return tuple(found)


def why_not_of(solver, problem):
    """Why a solver is not applicable to a problem: str; None if it is."""
    classes = {"newton": NewtonSolver, "conjugate": ConjugateSolver}
    return classes[solver].why_not(problem) if solver in classes else None


# --------------------------------------------------------------------------------------- the decision


def plan(problem, eps, solver="auto", *, C=1.0, max_iter=1000, tuning=TUNING):
    """Choose the solvers of a problem.

    Parameters
    ----------
    problem : margins.solvers.base.Problem
    eps : float
        Accuracy to prove.
    solver : {"auto", "newton", "conjugate", "unlearning", "dcd"}
    C : float
        Penalty of a sample of weight 1.
    max_iter : int
        Maximum number of full epochs.
    tuning : margins.tuning.Tuning, optional

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If the solver is not applicable; the error says why.
    """
    why_not = None if solver == "auto" else why_not_of(solver, problem)
    if why_not is not None:
        serving = [name for name in SOLVERS if why_not_of(name, problem) is None]
        raise ValueError(
            f"solver={solver!r} is not applicable here: {why_not}. "
            f"Allowed here: {', '.join(map(repr, ('auto', *serving)))}."
        )
    planner = _Planner(problem, eps, C, max_iter, tuning)
    chosen, reason = planner.choice() if solver == "auto" else (solver, f"solver={solver!r}")
    return Plan(getattr(planner, chosen), reason)


class _Planner:
    """The phases that a problem may need, and the choice of them."""

    def __init__(self, problem, eps, C, max_iter, tuning):
        self.problem, self.eps, self.C, self.max_iter, self.tuning = problem, eps, C, max_iter, tuning

    def choice(self):
        """The name of the method with the phases, and the reason: two str."""
        problem, tuning = self.problem, self.tuning
        if not problem.loss.is_finite:
            return "unlearning", "a hard margin has neither a finite objective nor slacks"
        if why_not_of("conjugate", problem) is not None:
            if why_not_of("newton", problem) is None:
                return "newton", f"few Newton steps minimise the smooth loss {problem.loss.name!r}"
            return "dcd", "dual coordinate descent serves any loss over any kernel"
        if problem.is_kernel:
            return "conjugate", "the rows of a kernel have no Hessian over features"
        if has_small_hessian(problem):
            return "passes_and_newton", "the Hessian has no more elements than X"
        if are_few(problem, tuning):
            return "conjugate", "samples are few beside the features, and the Hessian is larger than X"
        return "passes_and_newton", "samples are many beside the features"

    # The phases of each choice, and of each value of `solver`.

    def passes_and_newton(self):
        """Newton steps, after passes over samples where these pay, or conjugate passes where these seem
        to cost less."""
        problem, tuning = self.problem, self.tuning
        size = subsample_size(problem, tuning) if self.max_iter > 1 else 0
        if size > 0 or not needs_passes(problem, tuning):
            yield self._direct_newton(size)
        yield self._first_passes()
        passes = newton_passes(problem, tuning)
        if self._conjugate_may_pay(passes):
            yield self._conjugate_before_newton(passes)
        if not problem.loss.is_smooth:
            yield self._more_passes()
        yield self._newton_phase()
        yield self._conjugate_phase("in case Newton steps end without the proof", scaled=True)

    def newton(self):
        """Newton steps alone."""
        size = subsample_size(self.problem, self.tuning) if self.max_iter > 1 else 0
        yield self._direct_newton(size)
        if size > 0:
            yield self._newton_phase("in case the subsample misleads", restarts=True)

    def conjugate(self):
        """Conjugate passes alone."""
        yield self._conjugate_phase()

    def unlearning(self):
        """The rules of unlearning with nested active sets only."""

        def play(run):
            b, delta_b = self._threshold(run)
            yield from unlearning_phases(run, b, delta_b)

        purpose = "the rules of the margin perceptron with unlearning, with nested active sets"
        yield PlannedPhase("unlearning", purpose, _named(play, "unlearning"))

    def dcd(self):
        """Dual coordinate descent with shrinking."""

        def play(run):
            yield Phase(solver=dual_coordinate_descent(run))

        yield PlannedPhase("dcd", "one dual variable after the other", play)

    # The phases.

    def _threshold(self, run):
        """b and delta_b of the rules of unlearning."""
        unlearning = self.tuning.unlearning
        delta_b = unlearning.delta_b * (
            run.sqradius or 1.0
        )  # R = 0: only zero rows, which a loss may allow
        accuracy = accuracy_before_run(run.loss, self.eps, unlearning)
        return threshold(run.loss, self.C, accuracy, delta_b), delta_b

    def _newton_solver(self):
        problem, tuning = self.problem, self.tuning
        if has_small_hessian(problem):
            return NewtonSolver(None, adds_in_blocks(problem, tuning), tuning.newton)
        ratio = tuning.newton.max_product_ratio
        max_read = ratio * product_passes(problem, tuning) * problem.n_samples
        return NewtonSolver(max_read, tuning=tuning.newton)

    def _direct_newton(self, size):
        """Newton steps from w = 0, or from the optimum over a subsample."""

        def play(run):
            if size > 0:
                blocks = adds_in_blocks(self.problem, self.tuning)
                solver = SubsampledNewtonSolver(size, blocks, self.tuning.newton, self.tuning.subsample)
            else:
                solver = self._newton_solver()
            yield Phase(solver=solver)

        start = f"a subsample of {size} samples" if size > 0 else "w = 0"
        return PlannedPhase("newton", f"Newton steps from {start}", play)

    def _first_passes(self):
        """One epoch of accesses, of a part of the samples if the loss is smooth."""
        newton, m = self.tuning.newton, self.problem.n_samples
        # Of a smoothed loss the steps also need to know which dual variables are free.
        takes_all = not self.problem.loss.is_smooth or self.max_iter == 1
        n = m if takes_all else min(max(int(newton.accessed_share * m), newton.min_accessed), m)

        def play(run):
            if run.n_epochs > 0:
                # Newton steps have not ended the fit: a subsample has misled; or, with long rows among
                # short ones, what is left of a Hessian of all samples is rounding.
                run.restart()
            rules = unlearning_rules(run, *self._threshold(run))

            def late_average(weights):
                return SuffixAverage(weights, n / 2, max(n / (2 * newton.averaged_iterates), 1))

            n_samples = None if takes_all else n
            solver = RulesSolver(rules, n_samples=n_samples)
            solver.name = "unlearning"
            yield Phase(solver=solver, epochs=1, averaging=late_average)

        return PlannedPhase("unlearning", f"one pass over {n} samples, to find those that matter", play)

    def _conjugate_pays(self):
        """True if conjugate passes are to be tried before Newton steps in any case."""
        return are_few(self.problem, self.tuning) or not has_small_hessian(self.problem)

    def _conjugate_may_pay(self, newton_passes):
        """True if conjugate passes may take the place of Newton steps that cost so many passes."""
        return self._conjugate_pays() or newton_passes >= self.tuning.conjugate.min_newton_passes

    def _conjugate_before_newton(self, passes):
        """Conjugate passes that take the place of Newton steps, if they seem to cost less."""
        conjugate, always = self.tuning.conjugate, self._conjugate_pays()

        def pays(run, b):
            if always:
                return True
            found = estimated_gap(run.data, run.weights, np.zeros(len(run.data)), b)
            return found <= conjugate.max_relative_gap * dual_value(run.weights, b)

        def play(run):
            b, delta_b = self._threshold(run)
            if b > 0 and pays(run, b):
                rules = unlearning_rules(run, b, delta_b)
                yield Phase(solver=ConjugateSolver(rules, passes, conjugate))

        condition = None
        if not always:
            condition = f"if the gap is at most {conjugate.max_relative_gap:g} times the dual value"
        purpose = f"as long as they seem to cost less than {passes:.3g} passes"
        return PlannedPhase("conjugate", purpose, play, condition)

    def _more_passes(self):
        """A few epochs with active sets, where the gap is small already."""
        newton = self.tuning.newton

        def play(run):
            if run.phases and run.phases[-1].solver == "conjugate":
                return
            if run.certificate.gap <= newton.near_gap * self.eps:
                rules = unlearning_rules(run, *self._threshold(run))
                solver = RulesSolver(rules, UNLEARNING_BOUNDED[0][1])
                solver.name = "unlearning"
                yield Phase(solver=solver, epochs=newton.near_epochs)

        condition = f"if the gap is at most {newton.near_gap:g} eps"
        return PlannedPhase(
            "unlearning", f"{newton.near_epochs} epochs with active sets", play, condition
        )

    def _newton_phase(self, purpose="Newton steps from the mean of the late iterates", restarts=False):
        def play(run):
            if restarts:
                run.restart()
            yield Phase(solver=self._newton_solver())

        return PlannedPhase("newton", purpose, play)

    def _conjugate_phase(self, purpose="conjugate passes until the proof", scaled=False):
        """Conjugate passes, b doubled until the certificate confirms eps."""

        def play(run):
            b, delta_b = self._threshold(run)
            if scaled:
                run.rescale(b)  # a.y_k = b where the margin is 1
            while True:
                if b > 0:
                    rules = unlearning_rules(run, b, delta_b)
                    yield Phase(solver=ConjugateSolver(rules, tuning=self.tuning.conjugate))
                else:
                    yield from _named(unlearning_phases, "unlearning")(run, b, delta_b)
                if run.finished:
                    return
                b = refined(run, b)

        return PlannedPhase("conjugate", purpose, play)


def _named(phases, name):
    """Phases of rules that are reported under a name."""

    def named(run, *arguments):
        for phase in phases(run, *arguments):
            solver = phase.play()
            solver.name = name
            yield phase._replace(solver=solver)

    return named
