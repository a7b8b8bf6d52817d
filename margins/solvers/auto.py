"""The planner: the only module that chooses a solver, or what solvers read, from a problem's data.

    plan(problem, specification, solver) -> Plan

A plan (`margins.solvers.plans`) is a short list of phases, each with a solver, a purpose and, if this is
known only when the previous phase has ended, the condition under which it runs. `Plan.phases_of` runs
the phases; `explain` shows them. The choice compares sizes and predicted costs (`Costs`), in passes over
the stored elements of X: it depends on no machine. The certificate decides when a fit ends.
"""

import math
from typing import NamedTuple

import numpy as np

from margins.data._passes import combination
from margins.data.binary_data import array_of_each, is_sparse
from margins.solvers._conjugate import estimated_gap
from margins.solvers.conjugate import ConjugateSolver, dual_value
from margins.solvers.decomposition.decomposition import DecompositionSolver
from margins.solvers.decomposition.free_intercept import FreeInterceptSolver
from margins.solvers.decomposition.single import is_in_range, unit_of
from margins.solvers.interior_point import InteriorPointSolver
from margins.solvers.newton.newton import NewtonSolver
from margins.solvers.newton.subsample import SubsampledNewtonSolver
from margins.solvers.plans import PhaseBuilder, Plan, Precondition
from margins.tuning import TUNING


class Costs:
    """The sizes of a problem that the planner compares, and predicted costs, each computed once."""

    def __init__(self, problem, tuning=TUNING):
        self.problem, self.tuning = problem, tuning
        self._rows, self._m = problem.data.rows, problem.n_samples
        self._d, self._n = self._rows.n_features, problem.n_weights
        # The number of samples is known; the number of their elements must be counted.
        self.has_small_hessian = is_small_hessian(self._n, self._m, self._rows.has_nonzeros)

    @property
    def has_few_samples(self):
        """True if samples are few relative to the features, so that they may well be separable.

        Many samples are then on the margin, which updates by single samples find soon.

        **Source**: Cover (1965), Geometrical and statistical properties of linear inequalities.
        """
        return self._m <= self.tuning.newton.few_samples * self._d

    @property
    def has_many_elements(self):
        """True if accessing all samples costs more than a Newton step or two."""
        return self._rows.has_nonzeros(self.tuning.newton.few_elements + 1)

    @property
    def adds_in_blocks(self):
        """True if samples are dense enough to be added to a stored Hessian in blocks."""
        enough = nonzeros_for_blocks(self._n, self._m, self.tuning.cost)
        if enough == math.inf:
            return False
        return self._m * self._rows.mean_nonzeros(self.tuning.permutation.sampled_rows) >= enough

    @property
    def product_passes(self):
        """The expected passes over all samples for Newton steps with Hessian-vector products."""
        newton = self.tuning.newton
        return newton.product_passes if self.problem.loss.is_smooth else newton.product_passes_smoothed

    @property
    def newton_passes(self):
        """The expected passes over all samples for Newton steps."""
        if not self.has_small_hessian:
            return self.product_passes
        newton = self.tuning.newton
        return self._passes_of_steps(newton.steps_of_few if self.has_few_samples else newton.steps)

    def _passes_of_steps(self, n_steps):
        """Return the passes that `n_steps` Newton steps cost, and the first sum of a Hessian."""
        factorisation = self.tuning.cost.factorisation * self._n**3
        one_pass = self.tuning.cost.sample_access * self._m + self._rows.n_stored
        return (self._hessian_cost + n_steps * factorisation) / one_pass + n_steps

    @property
    def _hessian_cost(self):
        """The cost of summing a Hessian of all samples."""
        cost, n = self.tuning.cost, self._n
        of_sample = self._rows.n_stored / max(self._m, 1)
        dense = n * (cost.dense_square * n + cost.dense_linear)
        return self._m * min(of_sample * of_sample, dense) * cost.sparse_product

    @property
    def subsample_size(self):
        """The size of the subsample for the first Newton steps; 0 if it does not pay: steps are few."""
        subsample, m, is_smooth = self.tuning.subsample, self._m, self.problem.loss.is_smooth
        if (is_smooth and self.problem.loss.has_upper_bounds) or not self.has_small_hessian:
            return 0
        size, share, ratio = self.first_subsample_size, subsample.min_share, subsample.min_ratio
        if is_smooth:  # a step reads all samples: the Hessian must be close to that of all
            size, share = subsample.per_weight * self._n, subsample.min_share_of_smooth
            ratio = subsample.min_ratio_of_smooth
        return max(size, int(share * m)) if ratio * size <= m else 0

    @property
    def max_free(self):
        """The number of samples whose Hessian can be summed while all elements are read once."""
        return self._m * min(self._rows.n_stored / self._hessian_cost, 1)

    @property
    def first_subsample_size(self):
        """The minimum number of samples over which the first steps on a subsample are."""
        subsample = self.tuning.subsample
        return max(subsample.per_feature * self._d, subsample.min_size)

    @property
    def needs_passes(self):
        """True if passes over samples precede Newton steps; if elements are few, a step costs less."""
        if not self.problem.loss.is_smooth and self._d > self.tuning.newton.few_features:
            return True
        return not self.has_small_hessian or self.has_many_elements

    @property
    def newton_is_first(self):
        """True if Newton steps over all samples, with a stored Hessian, come first and may suffice."""
        loss = self.problem.loss
        is_smooth = loss.is_smooth and not loss.has_upper_bounds and self.has_small_hessian
        return is_smooth and not self.needs_passes and self.subsample_size == 0

    @property
    def n_first_accessed(self):
        """The number of samples that a pass before Newton steps accesses; all for a smoothed loss."""
        newton, m = self.tuning.newton, self._m
        if not self.problem.loss.is_smooth:
            return m
        return min(max(int(newton.accessed_share * m), newton.min_accessed), m)

    @property
    def conjugate_pays(self):
        """True if conjugate passes should be tried before Newton steps in any case."""
        return self.has_few_samples or not self.has_small_hessian

    @property
    def newton_work(self):
        """The work of Newton steps if pairs of samples are slow, in elements accessed."""
        passes = self.newton_passes
        if self.has_small_hessian:
            passes = max(passes, self._passes_of_steps(self.tuning.newton.steps_of_pairs))
        return passes * self._rows.n_stored + self.tuning.decomposition.overhead

    @property
    def pairs_pay(self):
        """True if pairs of samples, over their inner products, should cost less than Newton steps."""
        problem, gram = self.problem, self.problem.gram
        if gram is None:
            return False
        is_smooth = problem.loss.is_smooth
        if gram.is_shared and not problem.has_free_intercept:
            most = math.inf if is_smooth else self.tuning.gram.samples_per_feature_penalised * self._d
            if self._m > most or self._mean_curvature < 1:
                return False
        work = self.tuning.decomposition.expected_pairs * self._m * self._m
        return not is_smooth or work < self.newton_passes * self._rows.n_stored

    @property
    def _mean_curvature(self):
        """Return C |x|^2 of the mean sample: if it is small, a step or two suffice."""
        loss = self.problem.loss
        C = 0.5 / np.mean(loss.diag) if loss.is_smooth else np.mean(loss.upper)
        return C * self.problem.data.ordinary_sqnorms.mean()

    @property
    def passes_suffice(self):
        """True if a few passes over samples may solve a problem with a regulariser: C is small."""
        problem = self.problem
        if problem.loss.is_smooth or problem.has_free_intercept:
            return False
        ridge, tuning = problem.penalty.terms_of(problem.data).ridge, self.tuning.proximal
        most = tuning.max_curvature_of_few if self.has_small_hessian else tuning.max_curvature
        return ridge.all() and self._mean_curvature <= most * ridge.min(initial=math.inf)

    @property
    def multiplies_densely(self):
        """True if kernel values of dense copies of rows cost less, as matrix products."""
        X = self.problem.data.rows.blocks.X
        return is_sparse(X) and X.shape[0] * X.shape[1] <= self.tuning.decomposition.dense_ratio * X.nnz

    @property
    def interior_point(self):
        """The expected work of interior-point steps, in stored elements accessed."""
        cost, tuning = self.tuning.cost, self.tuning.interior_point
        return tuning.steps * (cost.factorisation * self._m**3 + tuning.overhead)

    def predicted_passes(self, solver, eps):
        """Return the number of passes that a solver is expected to need."""
        if solver == "newton":
            return float(self.newton_passes + (1 if self.needs_passes else 0))
        if solver == "interior-point":
            return self.interior_point / (self._m * self._m)
        loss, prediction = self.problem.loss, self.tuning.prediction
        line = getattr(prediction, f"{solver}_bounded" if loss.has_upper_bounds else solver)
        gap = loss.required_gap(eps)
        return line.base + line.slope * max(math.log10(1 / gap), 0.0) if gap > 0 else math.inf


def is_small_hessian(n_weights, n_samples, has_nonzeros):
    """Return True if a Hessian has no more elements than X stores, because features are few."""
    return n_weights <= n_samples and has_nonzeros(n_weights**2)


def nonzeros_for_blocks(n_weights, n_samples, cost=TUNING.cost):
    """Return the minimum non-zeros for adding samples to a Hessian in dense blocks: int or inf."""
    if n_weights <= cost.min_block_features:
        return math.inf
    dense = n_weights * (cost.dense_square * n_weights + cost.dense_linear)
    return int(n_samples * math.sqrt(dense)) + 1


def gram_pays(X, tuning=TUNING):
    """Return True if the Gram matrix replaces X, because samples are few and X is dense enough."""
    m, d = X.shape
    n_stored = X.nnz if is_sparse(X) else m * d
    gram = tuning.gram
    return gram.min_ratio * m * m <= n_stored and gram.min_density * m * d <= n_stored


def shares_products(X, n_problems, tuning=TUNING):
    """Return True if problems of all samples share the inner products of few dense ones."""
    gram, (m, d) = tuning.gram, X.shape
    most = min(gram.max_samples, gram.samples_per_feature * d, gram.samples_per_problem * n_problems)
    pays = n_problems >= gram.min_problems and m * d >= gram.min_elements
    return pays and m <= most and not is_sparse(X)


def most_of_pair(n_features, tuning=TUNING):
    """Return the largest number of samples of two classes whose inner products are all computed."""
    sizes, few = tuning.decomposition, tuning.gram.samples_per_feature * n_features
    return max(sizes.whole, min(sizes.shared_whole, few))


def shares_gram(X):
    """Return True if fits of the same samples share their inner products: X stores more elements."""
    m, d = X.shape
    return m * m <= (X.nnz if is_sparse(X) else m * d)


SOLVERS = ("newton", "decomposition", "interior-point", "conjugate", "unlearning", "dcd")
CLASSES = {
    "newton": NewtonSolver,
    "decomposition": DecompositionSolver,
    "interior-point": InteriorPointSolver,
    "conjugate": ConjugateSolver,
}


class Candidate(NamedTuple):
    """A solver with its predicted cost, or the reason why it is not applicable."""

    solver: str
    passes: float | None  # over the stored elements of X; None if the solver is not applicable
    why_not: str | None  # why the solver is not applicable


def candidates(problem, eps, tuning=TUNING):
    """Return a Candidate for each solver, with its predicted cost or why it is not applicable."""
    costs, reasons = Costs(problem, tuning), [reason_not_applicable(name, problem) for name in SOLVERS]
    return tuple(
        Candidate(name, None if why_not else costs.predicted_passes(name, eps), why_not)
        for name, why_not in zip(SOLVERS, reasons, strict=True)
    )


def reason_not_applicable(solver, problem):
    """Return why a solver is not applicable to a problem; None if it is."""
    if problem.penalty is not None and solver != "newton":
        begins = "; auto may begin with it for a small C, 'elasticnet' and 'hinge'"
        return "it is for penalty='l2'" + (begins if solver == "dcd" else "")
    if problem.has_free_intercept and not leaves_free(solver, problem):
        return "it penalises the intercept"
    return CLASSES[solver].why_not(problem) if solver in CLASSES else None


def leaves_free(solver, problem):
    """Return True if a solver does not penalise the intercept."""
    if solver == "conjugate":  # it moves the intercept by proximal steps, along a constant feature
        return problem.data.sq_intercept_scaling > 0
    return solver in ("newton", "decomposition", "interior-point")


def reads_gram(X, solver):
    """Return True if the solvers of `MarginClassifier` read the Gram matrix of X instead of X."""
    return solver != "newton" and gram_pays(X)


def rounds_gram(eps):
    """Return True if products in single precision are accurate enough to start with."""
    return eps >= TUNING.gram.single_precision_eps


def starts_from_moments(problem, solver):
    """Return True if Newton steps of a smooth loss may start from the sum of all y_k y_k^T."""
    costs = Costs(problem)
    is_newton = solver in ("auto", "newton")
    return is_newton and costs.has_small_hessian and not costs.has_few_samples


def plan_of_partitions(n_weights, n_samples, n_stored):
    """Return whether Hessians of samples in partitions are stored, and summed in dense blocks."""
    is_stored = is_small_hessian(n_weights, n_samples, lambda n: n_stored >= n)
    return is_stored, n_stored >= nonzeros_for_blocks(n_weights, n_samples)


def plan(
    problem, specification, solver="auto", *, is_warm=False, start=None, tuning=TUNING, is_light=False
):
    """Choose the solvers of a problem; `is_light`: begin with those that import NumPy alone."""
    planner = _Planner(problem, specification, is_warm, start, tuning)
    if solver == "auto":
        strategy, reason = planner.choice()
        if strategy in ("decomposition", "interior-point"):  # the choice knows that it is applicable
            return Plan(planner.phases_by(strategy), reason)
    is_soft = problem.loss.is_finite  # a hard margin is the limit of soft margins
    if is_soft and all(reason_not_applicable(name, problem) is not None for name in SOLVERS):
        reasons = "; ".join(f"{name!r}: {reason_not_applicable(name, problem)}" for name in SOLVERS)
        raise ValueError(f"No solver is applicable here. {reasons}.")
    if solver == "auto":
        if is_light and reason_not_applicable("conjugate", problem) is None:
            return Plan(lambda: planner.light(strategy), f"{reason}; first what imports NumPy alone")
        return Plan(planner.phases_by(strategy), reason)
    why_not = reason_not_applicable(solver, problem)
    if why_not is not None:
        applicable = [name for name in SOLVERS if reason_not_applicable(name, problem) is None]
        raise ValueError(
            f"solver={solver!r} is not applicable here: {why_not}. "
            f"Allowed here: {', '.join(map(repr, ('auto', *applicable)))}."
        )
    return Plan(planner.phases_by(solver), f"solver={solver!r}")


# Strategies that `solver` cannot name.
PASSES_AND_NEWTON = "passes and newton"  # passes over samples, then Newton steps
PASSES_AND_PROXIMAL = "passes and proximal"  # the same with a regulariser
CONTINUATION = "continuation"  # soft margins whose limit is a hard margin
WHOLE = "whole"  # decomposition of linear data whose inner products are in memory


class _Planner:
    """The planner of one problem: one method for each strategy, and the choice of a strategy."""

    def __init__(self, problem, specification, is_warm, start, tuning):
        self.problem, self.specification, self.tuning = problem, specification, tuning
        self.is_warm, self.start = is_warm, start
        self.costs = Costs(problem, tuning)
        self.builder = PhaseBuilder(specification, tuning)

    def phases_by(self, strategy):
        """Return the method that yields the phases of a strategy, and has its name."""
        return getattr(self, strategy.replace("-", "_").replace(" ", "_"))

    def choice(self):
        """Return the strategy and the reason."""
        strategy, reason = self._cold_choice()
        if self.is_warm and strategy == PASSES_AND_NEWTON:
            return "newton", f"{reason}, and the last fit found the samples that matter"
        return strategy, reason

    def _cold_choice(self):
        """Return the same for a run that starts at zero."""
        problem, costs = self.problem, self.costs
        if problem.penalty is not None:
            is_cold = self.start is None
            strategy = PASSES_AND_PROXIMAL if is_cold and costs.passes_suffice else "newton"
            return strategy, f"steps over the weights minimise {problem.penalty.regulariser!r}"
        if not problem.loss.is_finite:
            return CONTINUATION, "a hard margin is the limit of soft margins"
        if problem.is_kernel:
            is_exact = InteriorPointSolver.why_not(problem) is None
            is_single = DecompositionSolver.why_not(problem) is None
            if is_single and not (is_exact and unit_of(problem) != 1):
                return "decomposition", "a row of the kernel matrix serves hundreds of updates"
            if is_exact:
                return "interior-point", "this kernel matrix exceeds the range of single precision"
        if costs.pairs_pay and is_in_range(problem) and unit_of(problem) == 1:
            return WHOLE, "the inner products of few samples cost little"
        if problem.loss.is_smooth and problem.loss.has_upper_bounds:  # no conjugate passes
            if NewtonSolver.why_not(problem) is None:
                return "newton", f"few Newton steps minimise the smooth loss {problem.loss.name!r}"
            return "dcd", "dual coordinate descent works for any loss and any kernel"
        if problem.is_kernel:
            return "conjugate", "the rows of a kernel have no Hessian over features"
        if costs.has_small_hessian:
            return PASSES_AND_NEWTON, "the Hessian has no more elements than X"
        if costs.has_few_samples:
            reason = "there are few samples relative to the features, and the Hessian is larger than X"
            return "conjugate", reason
        return PASSES_AND_NEWTON, "there are many samples relative to the features"

    # The phases of each strategy, and of each value of `solver`.

    def passes_and_newton(self):
        """Plan Newton steps, after passes over samples if these pay, or cheaper conjugate passes."""
        costs, builder = self.costs, self.builder
        size = self._subsample_size()
        if size > 0 or not costs.needs_passes:
            yield self._newton_from_zero(size)
        # The only epoch of a run must be over all samples.
        has_more = self.specification.max_iter > 1
        n_accessed = costs.n_first_accessed if has_more else self.problem.n_samples
        yield builder.first_passes(n_accessed)
        if costs.conjugate_pays or costs.newton_passes >= self.tuning.conjugate.min_newton_passes:
            condition = None if costs.conjugate_pays else self._is_nearly_proven()
            yield builder.conjugate_before_newton(costs.newton_passes, condition)
        if not self.problem.loss.is_smooth:
            yield builder.more_passes(self.tuning.newton.near_epochs, self._is_near())
        yield builder.newton("Newton steps from the mean of the late iterates", self._newton_solver)
        yield builder.reserve("in case Newton steps end without the proof")

    def newton(self):
        """Plan Newton steps alone; after a warm start with conjugate passes in reserve."""
        if self.problem.penalty is not None:
            yield self.builder.newton("proximal Newton steps", self._proximal_solver)
            return
        if self.is_warm:
            yield self.builder.newton("Newton steps from the last fit", self._newton_solver)
            if ConjugateSolver.why_not(self.problem) is None:
                yield self.builder.reserve("in case Newton steps end without the proof")
            return
        size = self._subsample_size()
        yield self._newton_from_zero(size)
        if size > 0:
            purpose = "in case the subsample is misleading"
            yield self.builder.newton(purpose, self._newton_solver, restarts=True)

    def passes_and_proximal(self):
        """Plan passes over samples, and proximal Newton steps for what they leave."""
        yield self.builder.penalised_dcd(self._moves_weights())
        yield from self.newton()

    def decomposition(self):
        """Plan subproblems of working sets, and a solver for what they leave unproven."""
        costs, tuning = self.costs, self.tuning.decomposition
        is_free = self.problem.has_free_intercept
        solver = FreeInterceptSolver if is_free else DecompositionSolver
        has_reserve = InteriorPointSolver.why_not(self.problem) is None
        max_work = costs.interior_point if has_reserve else math.inf
        yield self.builder.decomposition(lambda: solver(costs.multiplies_densely, max_work, tuning))
        purpose = "in case single precision does not suffice"
        if has_reserve:
            yield from self.interior_point()
        elif is_free:
            return  # all other solvers penalise the intercept
        elif ConjugateSolver.why_not(self.problem) is None:
            yield self.builder.reserve(purpose)
        else:
            yield self.builder.unlearning(purpose)

    def whole(self):
        """Plan pairs of samples over all inner products; Newton steps from 0 if pairs take longer."""
        costs, tuning = self.costs, self.tuning.decomposition
        solver = FreeInterceptSolver if self.problem.has_free_intercept else DecompositionSolver
        if not self.problem.pairs_are_slow:
            yield self.builder.decomposition(lambda: solver(max_work=costs.newton_work, tuning=tuning))
        if self.problem.gram.is_shared:
            yield from self.passes_and_newton()
            return
        yield self.builder.newton("in case pairs take longer", self._newton_solver, restarts=True)
        yield self.builder.reserve("in case Newton steps end without the proof")

    def interior_point(self):
        """Plan interior-point steps alone."""
        yield self.builder.interior_point()

    def continuation(self):
        """Plan soft margins whose C grows, and rules on the hard margin itself for what they leave."""
        yield self.builder.continuation(self._plan_of_soft_margin)
        if self.problem.is_kernel and DecompositionSolver.why_not(self.problem) is None:
            yield from self.decomposition()
        elif self.problem.is_kernel and InteriorPointSolver.why_not(self.problem) is None:
            yield from self.interior_point()
        elif not self.problem.has_free_intercept:
            yield self.builder.unlearning("in case they end without the proof", from_solution=True)

    def _plan_of_soft_margin(self, problem, specification, is_warm, start):
        return plan(problem, specification, is_warm=is_warm, start=start, tuning=self.tuning)

    def light(self, strategy):
        """Plan conjugate passes, and another strategy if they take longer than SciPy's import."""
        work = self.tuning.conjugate.light_work
        yield self.builder.conjugate_before_newton(work / max(self.problem.data.rows.n_stored, 1))
        yield from self.phases_by(strategy)()

    def conjugate(self):
        """Plan conjugate passes alone."""
        yield self.builder.conjugate(from_solution=self.is_warm)

    def unlearning(self):
        """Plan the unlearning rules alone."""
        yield self.builder.unlearning(from_solution=self.is_warm)

    def dcd(self):
        """Plan dual coordinate descent alone."""
        yield self.builder.dcd()

    # Newton solvers.

    def _subsample_size(self):
        """Return the size of the subsample for the first Newton steps; 0: no subsample."""
        return self.costs.subsample_size if self.specification.max_iter > 1 else 0

    def _newton_from_zero(self, size):
        """Plan Newton steps from w = 0, or from the optimum over a subsample."""
        if size == 0:
            return self.builder.newton("Newton steps from w = 0", self._newton_solver)

        def subsampled():
            costs = self.costs
            sizes = size, costs.first_subsample_size, costs.max_free
            reduction = self._epoch_reduction()
            return SubsampledNewtonSolver(*sizes, costs.adds_in_blocks, reduction, self.tuning)

        return self.builder.newton(f"Newton steps from a subsample of {size} samples", subsampled)

    def _newton_solver(self):
        """Return a solver of Newton steps, whose Hessian is stored if it is small."""
        costs, newton, reduction = self.costs, self.tuning.newton, self._epoch_reduction()
        if costs.has_small_hessian:
            return NewtonSolver(None, costs.adds_in_blocks, reduction, newton, self.start)
        max_read = newton.max_product_ratio * costs.product_passes * self.problem.n_samples
        return NewtonSolver(max_read, False, reduction, newton, self.start)

    def _proximal_solver(self):
        """Return a solver of proximal Newton steps, whose Hessian is stored if it is small."""
        from margins.solvers.newton.proximal import ProximalNewtonSolver  # few fits need it

        is_stored = self.costs.has_small_hessian
        in_blocks = is_stored and self.costs.adds_in_blocks
        return ProximalNewtonSolver(is_stored, in_blocks, self.tuning, self.start)

    def _epoch_reduction(self):
        """Return the share of its first gap at which an epoch of Newton steps ends; 0: no such limit."""
        if self.problem.loss.is_smooth or not self.costs.has_many_elements:
            return 0.0
        return self.tuning.newton.epoch_reduction

    # Conditions that the first phases decide.

    def _is_nearly_proven(self):
        """Return the condition for conjugate passes before Newton steps on a small Hessian."""
        ratio = self.tuning.conjugate.max_relative_gap

        def holds(run):
            b, _ = self.builder.threshold(run)
            gap = estimated_gap(run.data, run.weights, np.zeros(len(run.data)), b)
            return gap <= ratio * dual_value(run.data, run.weights, b)

        return Precondition(f"if the gap is at most {ratio:g} times the dual value", holds)

    def _moves_weights(self):
        """Return the condition for passes with a regulariser: without it, steps end as soon."""

        def holds(run):
            every, terms = np.arange(len(run.data), dtype=np.int32), run.problem.penalty.features
            a = combination(run.data, every, array_of_each(run.loss.upper, len(run.data)))
            return bool((terms.weights(a[: len(terms.ridge)]) != run.problem.penalty.start).any())

        return Precondition("if a weight moves as soon as all samples have a loss", holds)

    def _is_near(self):
        """Return the condition for more passes before Newton steps on a smoothed loss."""
        ratio = self.tuning.newton.near_gap

        def holds(run):
            if isinstance(run.solver, ConjugateSolver):
                return False
            return run.certificate.gap <= ratio * self.specification.eps

        return Precondition(f"if the gap is at most {ratio:g} eps", holds)
