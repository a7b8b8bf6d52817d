"""Fits: the runs of the binary problems of a training set, and the model that they make."""

from typing import Any, NamedTuple

import numpy as np

from margins.kernels.kernel import Kernel
from margins.linalg.time_limits import TimeBudget
from margins.solvers.driver import Run
from margins.training.one_vs_rest import n_threads_of, one_vs_rest, seeds_of
from margins.training.specification import Specification
from margins.training.training_set import TrainingSet


class Fit(NamedTuple):
    """A fit that has ended, from which fitted attributes follow.

    Attributes
    ----------
    training_set : TrainingSet
    specification : Specification
    runs : list of Run, or of objects with what is read of one
        One for each binary problem.
    continuation : object or None
        What the fit continued from.
    n_seen : int
        Number of samples before these, of the fits and chunks that it continued from.
    task : object or None
        What notified callbacks of the fit.
    """

    training_set: TrainingSet
    specification: Specification
    runs: list[Any]
    continuation: Any = None
    n_seen: int = 0
    task: Any = None


class Training:
    """A fit that is to be made: makes and trains the runs of its binary problems.

    Parameters
    ----------
    training_set : TrainingSet
    specification : Specification
    n_jobs : int or None
        Threads, as joblib counts them.
    run_type : type
        Run, or a subclass of it.
    watch : callable, optional
        ``watch(index)`` is the observer of a binary problem, or None.
    continuation : object, optional
        ``continuation.begin(run, index)`` makes a run begin where an earlier fit has ended.
    """

    def __init__(
        self, training_set, specification, n_jobs=None, *, run_type=Run, watch=None, continuation=None
    ):
        self.training_set, self.specification, self.n_jobs = training_set, specification, n_jobs
        self._run_type, self._watch, self._continuation = run_type, watch, continuation
        self.positive_codes = training_set.positive_codes
        n_problems = len(self.positive_codes)
        self.budget = None
        if specification.max_time is not None:
            n_threads = n_threads_of(n_jobs, n_problems)
            self.budget = TimeBudget(specification.max_time, n_problems, n_threads)

    def make_run(self, index, seed):
        """The run of a binary problem, made in the thread that trains it: Run."""
        training_set, specification = self.training_set, self._specification_of(index)
        problem = training_set.problem(self.positive_codes[index], specification)
        watch = None if self._watch is None else self._watch(index)
        run = self._run_type(problem, seed, specification, watch, training_set.features)
        if self._continuation is not None:
            self._continuation.begin(run, index)
        return run

    def _specification_of(self, index):
        """The specification, whose lines of progress name the class if there are several problems."""
        report = self.specification.report
        if report is None or len(self.positive_codes) == 1:
            return self.specification
        prefix = f"class {self.training_set.classes.tolist()[index]!r}: "
        return self.specification._replace(report=lambda line: report(prefix + line))

    def train(self, phases, random_state):
        """Train all binary problems.

        Parameters
        ----------
        phases : callable
            ``phases(run)`` yields the phases of a run.
        random_state : int, numpy.random.RandomState or None

        Returns
        -------
        list of Run
        """
        return self.train_with_seeds(phases, seeds_of(random_state, len(self.positive_codes)))

    def train_with_seeds(self, phases, seeds):
        """The same, given a seed for each binary problem: list of Run."""

        def train(index, seed):
            run = self.make_run(index, seed)
            if self.budget is not None:
                run.limit_time(self.budget.end_of_next())
            run.train(phases(run))
            return run

        return one_vs_rest(train, seeds, self.n_jobs)


class LinearModel(NamedTuple):
    """Weight vectors and intercepts.

    Attributes
    ----------
    coef : ndarray of float64, shape (n_problems, n_features)
    intercept : ndarray of float64, shape (n_problems,)
    """

    coef: np.ndarray
    intercept: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of validated samples: ndarray of float64, shape (n, n_problems)."""
        return X @ self.coef.T + self.intercept


class KernelModel(NamedTuple):
    """Sums over support vectors.

    Attributes
    ----------
    kernel : margins.kernels.Kernel
    support_vectors : ndarray or CSR matrix, shape (n_support, n_features)
        Empty if the kernel is precomputed.
    support : ndarray of int, shape (n_support,)
        Their indices among the samples, by class.
    dual_coef : ndarray of float64, shape (n_problems, n_support)
        Dual variables, signed by the labels and scaled.
    intercept : ndarray of float64, shape (n_problems,)
    """

    kernel: Kernel
    support_vectors: Any
    support: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of validated samples: ndarray of float64, shape (n, n_problems)."""
        scores = np.empty((X.shape[0], len(self.intercept)))
        for batch, products in self.kernel.blocks(X, self.support_vectors, self.support):
            scores[batch] = products.T @ self.dual_coef.T + self.intercept
        return scores


Model = LinearModel | KernelModel


def scale_of(run: Any, specification: Any) -> float:
    """Return the factor from the hypothesis of a run to its model."""
    fixed = specification.model_scale
    return run.primal_scale if fixed is None else fixed


def model_of(runs: list[Any], specification: Any, training_set: Any) -> Model:
    """Return the model of runs that have ended.

    Parameters
    ----------
    runs : list
        One for each binary problem: Run, Stream, or another object with their `data`, `theta`,
        `hypothesis` and, unless the specification has a scale, `primal_scale`.
    specification : margins.training.specification.Specification
    training_set : margins.training.training_set.TrainingSet
        Only of fits with a kernel more than `is_kernel` is read.

    Returns
    -------
    LinearModel or KernelModel

    Raises
    ------
    ValueError
        If a coefficient or an intercept is not finite.
    """
    models = [(run, run.hypothesis, scale_of(run, specification)) for run in runs]
    intercept = np.array(
        [scale * (run.data.sqrho * model.label_sum - run.theta) for run, model, scale in models]
    )
    if not training_set.is_kernel:
        # One after the other, so that memory holds no second copy of all of them.
        coef = np.empty((len(models), len(models[0][1].weights)))
        for row, (_, model, scale) in zip(coef, models, strict=True):
            np.multiply(model.weights, scale, out=row)
        _check_finite(specification, coef, intercept)
        return LinearModel(coef, intercept)
    signed = np.stack([scale * run.data.signs * model.dual for run, model, scale in models])
    _check_finite(specification, signed, intercept)
    support = np.flatnonzero(signed.any(axis=0))
    support = support[np.argsort(training_set.samples.codes[support], kind="stable")]
    vectors, indices = training_set.support(support)
    return KernelModel(training_set.kernel, vectors, indices, signed[:, support], intercept)


def _check_finite(specification, coefficients, intercept):
    """Raise ValueError for a model that would predict NaN: the one place where models are made."""
    if not (np.isfinite(coefficients).all() and np.isfinite(intercept).all()):
        raise ValueError(
            f"X of {specification.name} must have columns whose numbers are of similar size: the model "
            "is not finite in double precision. Standardize the columns."
        )
