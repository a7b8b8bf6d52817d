"""Fits: the binary problems of a training set, trained by the phases of an algorithm, and the model."""

import math
from typing import Any, NamedTuple

import numpy as np

from margins._sparse import Rows
from margins._update import BinaryData, WeightVector
from margins.certificate import Certificate
from margins.data.binary_data import is_sparse, of_each
from margins.data.permutations import seeds_of
from margins.kernels.kernel import Kernel
from margins.linalg.threads import (
    NO_LIMIT,
    TimeBudget,
    current_team,
    n_threads_of,
    one_thread,
    one_thread_for,
    run_tasks,
)
from margins.solvers.base import Ending
from margins.solvers.driver import Run
from margins.solvers.outcome import Outcome, without_weights
from margins.solvers.specification import Specification
from margins.training.schemes import Scheme
from margins.training.training_set import TrainingSet
from margins.training.whole import whole_problems

# Certificate of a problem in which a class has no samples: any margin is achieved, and w = 0 is optimal.
NOTHING_TO_SEPARATE = Certificate(
    math.inf, math.inf, fraction=1.0, primal=0.0, dual=0.0, gap=0.0, n_updates=0, improvement=1.0
)


def nothing_to_separate(specification, n_features, n_samples):
    """Return the outcome of a problem that is not trained because a class has no samples (Outcome).

    Nothing would determine a free intercept, and a pair of classes may have no samples at all.
    """
    no_labels, zeros = np.zeros(n_samples, dtype=np.int8), np.zeros(n_samples)
    weights = WeightVector(n_features, n_samples)
    return Outcome(
        specification,
        BinaryData(Rows(None, 0, 0), no_labels, zeros, 0.0, of_each(0.0, n_samples), zeros),
        weights,
        weights,
        NOTHING_TO_SEPARATE,
        Ending.PROVEN,
        history=[],
        phases=[],
    )


def outcome_without_samples(training_set, index, specification):
    """Return the outcome of a binary problem without samples of a class; None if it must be trained."""
    scheme, samples = training_set.scheme, training_set.samples
    is_trained = not (scheme.has_pairs or specification.has_free_intercept)
    if is_trained or not scheme.is_absent(index, samples.absent):
        return None
    return nothing_to_separate(specification, training_set.n_features, len(samples.codes))


class Fit(NamedTuple):
    """Finished fit, from which the fitted attributes follow."""

    training_set: TrainingSet
    specification: Specification
    outcomes: list[Outcome]  # One for each binary problem
    continuation: Any = None  # object or None: the state that the fit continued from
    n_seen: int = 0  # Number of earlier samples, in the fits and chunks that it continued from
    task: Any = None  # object or None: the task that notified callbacks of the fit
    model: Any = None  # LinearModel; None: the outcomes have the weights


class Training:
    """Fit in progress, which makes and trains the runs of its binary problems.

    watch: ``watch(index)`` returns the observer of a binary problem, or None.
    continuation: ``continuation.begin(run, index)`` makes a run start where an earlier fit ended.
    prefers_cached: True: solvers prefer samples whose kernel rows are cached. Problems that share rows
        are then trained one at a time, by all threads, so that the pace of threads does not decide which
        rows are cached.
    """

    def __init__(
        self,
        training_set,
        specification,
        n_jobs=None,
        *,
        run_type=Run,
        watch=None,
        continuation=None,
        prefers_cached=False,
    ):
        self.training_set, self.specification, self.n_jobs = training_set, specification, n_jobs
        self._run_type, self._watch, self._continuation = run_type, watch, continuation
        self._scheme = training_set.scheme
        self._whole = None  # WholeProblems, which need no run
        self.model = None  # LinearModel, if it is stored; else the outcomes have the weights
        self._in_turn = prefers_cached and training_set.is_kernel and not self._scheme.has_pairs
        self.n_problems, self.budget = self._scheme.n_problems, None
        if specification.max_time is not None:
            n_threads = 1 if self._in_turn else n_threads_of(n_jobs, self.n_problems)
            self.budget = TimeBudget(specification.max_time, self.n_problems, n_threads)

    def make_run(self, index, seed):
        """Return the run of a binary problem, made in the thread that trains it (Run)."""
        specification = self._specification_of(index)
        of_problem, positive = self._scheme.binary(self.training_set, index)
        problem = of_problem.problem(positive, specification)
        watch = None if self._watch is None else self._watch(index)
        run = self._run_type(problem, seed, specification, watch, of_problem.features)
        if self._continuation is not None:
            self._continuation.begin(run, index)
        return run

    def _specification_of(self, index):
        """Return the specification; if there are several problems, its progress lines name this one."""
        report = self.specification.report
        if report is None or self.n_problems == 1:
            return self.specification
        prefix = f"{self._scheme.name(self.training_set.classes.tolist(), index)}: "
        return self.specification._replace(report=lambda line: report(prefix + line))

    def solve_whole(self, is_light=False):
        """Solve small problems without runs, unless something observes or continues them."""
        if self._watch is None and self._continuation is None:
            self._whole = whole_problems(self.training_set, self.specification, is_light)

    def store_model(self):
        """Store each of several linear models when its problem ends, so that memory has them once."""
        if self.n_problems > 1 and not self.training_set.is_kernel:
            shape = self.n_problems, self.training_set.samples.n_features
            self.model = LinearModel(np.zeros(shape), np.zeros(self.n_problems))

    def _stored(self, index, outcome):
        """Return an outcome whose weights are in the model, and nowhere else, if there is a model."""
        if self.model is None:
            return outcome
        part = model_of([outcome], self.specification, self.training_set)
        for values, (value,) in zip(self.model, part, strict=True):
            values[index] = value
        return without_weights(outcome)

    def train(self, phases, random_state):
        """Train all binary problems."""
        return self.train_with_seeds(phases, seeds_of(random_state, self.n_problems))

    def train_with_seeds(self, phases, seeds):
        """Train all binary problems with a seed for each of them (list of Outcome)."""

        def train(index, seed):
            outcome = outcome_without_samples(self.training_set, index, self.specification)
            if outcome is None and self._whole is not None:
                outcome = self._whole.outcome(index)
            if outcome is None:
                run = self.make_run(index, seed)
                if self._whole is not None:
                    self._whole.begin(run, index)
                if self.budget is not None:
                    run.limit_time(self.budget.end_of_next())
                outcome = run.train(phases(run))
            return self._stored(index, outcome)

        names = self._scheme.names(self.training_set.classes)
        with NO_LIMIT if self._whole is None else one_thread():  # at once, for hundreds of pairs
            outcomes = run_tasks(train, seeds, self.n_jobs, self._in_turn, names)
        for values, offset in zip(self.model or (), (0.0, 1.0), strict=False):
            self._scheme.set_absent(values, self.training_set.samples.absent, offset)
        return outcomes


class LinearModel(NamedTuple):
    """Model of weight vectors and intercepts."""

    coef: Any  # ndarray or CSR matrix of float64, shape (n_problems, n_features)
    intercept: np.ndarray  # shape (n_problems,)

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of validated samples (ndarray of float64, shape (n, n_problems))."""
        with one_thread_for(X.shape[0] * self.coef.size):
            scores = X @ self.coef.T
        return (scores.toarray() if is_sparse(scores) else scores) + self.intercept


class KernelModel(NamedTuple):
    """Model of sums over support vectors."""

    kernel: Kernel
    # ndarray or CSR matrix, shape (n_support, n_features): empty if the kernel is precomputed.
    support_vectors: Any
    # shape (n_support,): indices of the support vectors among the samples, ordered by class.
    support: np.ndarray
    # shape (n_support,): classes of the support vectors, for problems of pairs.
    codes: np.ndarray | None
    # shape (n_problems, n_support): dual variables, signed by the labels and scaled; for pairs in the
    # layout of `OneVsOne`.
    dual_coef: np.ndarray
    intercept: np.ndarray  # shape (n_problems,)
    scheme: Scheme

    def scores(self, X: Any) -> np.ndarray:
        """Return the same; the current team shares the samples."""
        scores = np.empty((X.shape[0], len(self.intercept)))

        def fill(batch):
            products = self.kernel.support_block(X[batch], self.support_vectors, self.support)
            with one_thread_for(products.size):
                sums = self.scheme.sums(products, self.dual_coef, self.codes)
            scores[batch] = sums + self.intercept

        current_team().map(fill, self.kernel.batches(X.shape[0], len(self.support)))
        return scores


def model_of(
    outcomes: list[Outcome], specification: Any, training_set: Any, is_packed: bool = False
) -> LinearModel | KernelModel:
    """Return the model of one or of all binary problems of a training set.

    `is_packed`: a linear model has only the weights of the features that the training set has kept.
    """
    scheme = training_set.scheme
    absent = training_set.samples.absent if len(outcomes) == scheme.n_problems else ()
    intercept = np.array([outcome.intercept(training_set.centre) for outcome in outcomes])
    scheme.set_absent(intercept, absent, 1.0)
    if not training_set.is_kernel:
        # Fill one row at a time, so that memory never holds a copy of all weights.
        n_features, columns = len(outcomes[0].hypothesis.weights), slice(None)
        if training_set.columns is not None and not is_packed:
            n_features, columns = training_set.samples.n_features, training_set.columns
        coef = np.zeros((len(outcomes), n_features))
        for row, outcome in zip(coef, outcomes, strict=True):
            weights = outcome.scale * outcome.hypothesis.weights
            _check_finite(specification, weights, intercept)
            row[columns] = weights
        scheme.set_absent(coef, absent, 0.0)
        return LinearModel(coef, intercept)
    codes = training_set.samples.codes
    signed = [outcome.scale * outcome.data.signs * outcome.hypothesis.dual for outcome in outcomes]
    dual_coef = scheme.gathered(signed, codes)
    if not scheme.has_pairs:
        scheme.set_absent(dual_coef, absent, 0.0)
    _check_finite(specification, dual_coef, intercept)
    support = np.flatnonzero(dual_coef.any(axis=0))
    support = support[np.argsort(codes[support], kind="stable")]
    vectors, indices = training_set.support(support)
    dual_coef, codes = dual_coef[:, support], codes[support]
    return KernelModel(training_set.kernel, vectors, indices, codes, dual_coef, intercept, scheme)


def _check_finite(specification, coefficients, intercept):
    """Raise a ValueError for a model that would predict NaN; all models are made here."""
    if not (np.isfinite(coefficients).all() and np.isfinite(intercept).all()):
        raise ValueError(
            f"X of {specification.name} must have columns whose numbers are of similar size: the model "
            "is not finite in double precision. Standardize the columns."
        )
