"""Fits: the runs of the binary problems of a training set, and the model that they make."""

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from margins.certificate import Certificate
from margins.data.permutations import seeds_of
from margins.kernels.kernel import Kernel
from margins.linalg.teams import n_threads_of, run_tasks
from margins.linalg.time_limits import TimeBudget
from margins.solvers.base import Ending, HasEnding
from margins.solvers.driver import Run
from margins.solvers.specification import Specification
from margins.training.schemes import Scheme
from margins.training.training_set import TrainingSet

# Certificate of a problem in which a class has no samples: any margin is achieved, and w = 0 is optimal.
NOTHING_TO_SEPARATE = Certificate(
    margin=math.inf,
    upper_bound=math.inf,
    fraction=1.0,
    primal=0.0,
    dual=0.0,
    gap=0.0,
    n_updates=0,
    improvement=1.0,
)


class AbsentRun(HasEnding):
    """Stand-in for the run of a problem that is not trained because a class has no samples.

    Most solvers train such a problem like any other. But nothing would determine the size of a free
    intercept, and a pair of classes may have no samples at all.
    """

    certificate = NOTHING_TO_SEPARATE
    ending = Ending.PROVEN
    n_epochs = n_accesses = 0
    primal_scale = dual_scale = 1.0
    theta = 0.0
    problem = None  # only a run that makes steps needs one

    def __init__(self, specification, n_features, n_samples):
        self.specification, self.history, self.phases = specification, [], []
        zeros = np.zeros(n_samples)
        self.data = SimpleNamespace(signs=zeros, sq_intercept_scaling=0.0, has_free_intercept=False)
        self.hypothesis = SimpleNamespace(weights=np.zeros(n_features), dual=zeros, label_sum=0.0)

    def release(self):
        """Do nothing: there is no memory to release."""


def absent_run(training_set, index, specification):
    """Return the run of a binary problem that is not trained (AbsentRun), or None if it is trained."""
    scheme, samples = training_set.scheme, training_set.samples
    if not samples.absent or not (scheme.has_pairs or specification.has_free_intercept):
        return None
    if not scheme.is_absent(index, samples.absent):
        return None
    return AbsentRun(specification, samples.n_features, len(samples.codes))


class Fit(NamedTuple):
    """Finished fit, from which the fitted attributes follow."""

    training_set: TrainingSet
    specification: Specification
    runs: list[Any]  # One for each binary problem
    continuation: Any = None  # object or None: the state that the fit continued from
    n_seen: int = 0  # Number of earlier samples, in the fits and chunks that it continued from
    task: Any = None  # object or None: the task that notified callbacks of the fit


class Training:
    """Fit in progress, which makes and trains the runs of its binary problems.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, counted as in joblib.
    run_type : type
        Run, or a subclass of it.
    watch : callable, optional
        ``watch(index)`` returns the observer of a binary problem, or None.
    continuation : object, optional
        ``continuation.begin(run, index)`` makes a run start where an earlier fit ended.
    prefers_cached : bool
        True: solvers prefer samples whose kernel rows are cached. Problems that share rows are then
        trained one at a time, by all threads, so that the pace of threads does not decide which rows are
        cached.
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
        prefix = f"{self._scheme.names(self.training_set.classes)[index]}: "
        return self.specification._replace(report=lambda line: report(prefix + line))

    def train(self, phases, random_state):
        """Train all binary problems."""
        return self.train_with_seeds(phases, seeds_of(random_state, self.n_problems))

    def train_with_seeds(self, phases, seeds):
        """Train all binary problems with a seed for each of them (list of Run)."""

        def train(index, seed):
            absent = absent_run(self.training_set, index, self.specification)
            if absent is not None:
                return absent
            run = self.make_run(index, seed)
            if self.budget is not None:
                run.limit_time(self.budget.end_of_next())
            run.train(phases(run))
            if self._scheme.has_pairs and self.training_set.is_kernel:
                run.release()
            return run

        names = self._scheme.names(self.training_set.classes)
        return run_tasks(train, seeds, self.n_jobs, self._in_turn, names)


class LinearModel(NamedTuple):
    """Model of weight vectors and intercepts."""

    coef: Any  # ndarray or CSR matrix of float64, shape (n_problems, n_features)
    intercept: np.ndarray  # shape (n_problems,)

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of validated samples (ndarray of float64, shape (n, n_problems))."""
        scores = X @ self.coef.T
        return (scores.toarray() if sparse.issparse(scores) else scores) + self.intercept


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
        """Return the scores of validated samples (ndarray of float64, shape (n, n_problems))."""
        scores = np.empty((X.shape[0], len(self.intercept)))
        for batch, products in self.kernel.blocks(X, self.support_vectors, self.support):
            scores[batch] = self.scheme.sums(products, self.dual_coef, self.codes) + self.intercept
        return scores


Model = LinearModel | KernelModel


def scale_of(run: Any, specification: Any) -> float:
    """Return the factor from the hypothesis of a run to its model."""
    fixed = specification.model_scale
    return run.primal_scale if fixed is None else fixed


def intercept_of(run: Any, hypothesis: Any, scale: float, centre: Any = None) -> float:
    """Return the intercept of the model of a run."""
    theta = run.theta if centre is None else run.theta + float(hypothesis.weights @ centre)
    return float(scale * (run.data.sq_intercept_scaling * hypothesis.label_sum - theta))


def model_of(runs: list[Any], specification: Any, training_set: Any) -> Model:
    """Return the model of runs that have ended."""
    scheme = training_set.scheme
    absent = training_set.samples.absent if len(runs) == scheme.n_problems else ()
    models = [(run, run.hypothesis, scale_of(run, specification)) for run in runs]
    intercept = np.array([intercept_of(*model, training_set.centre) for model in models])
    scheme.set_absent(intercept, absent, 1.0)
    if not training_set.is_kernel:
        # Fill one row at a time, so that memory never holds a second copy of all weights.
        coef = np.empty((len(models), len(models[0][1].weights)))
        for row, (_, model, scale) in zip(coef, models, strict=True):
            np.multiply(model.weights, scale, out=row)
        scheme.set_absent(coef, absent, 0.0)
        _check_finite(specification, coef, intercept)
        return LinearModel(coef, intercept)
    codes = training_set.samples.codes
    signed = [scale * run.data.signs * model.dual for run, model, scale in models]
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
