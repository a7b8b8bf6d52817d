"""The classifier that every algorithm inherits.

A subclass declares its parameters and yields phases; the rest of scikit-learn's contract is here:

    class DynamicMarginPerceptron(MaximumMarginClassifier):
        \"""Perceptron with dynamic margin ...\"""

        def phases(self, run):
            yield Phase(Rules(DynamicMargin(self.eps), Additive(), NoShrink()))
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from margins.data.binary_data import (
    augmented_sqnorms,
    make_binary_data,
    rows_of,
)
from margins.data.chunks import Chunks
from margins.data.samples import weigh
from margins.data.types import LazyMatrix, MatrixLike
from margins.data.validation import validate_samples
from margins.estimators._typed import BaseEstimator
from margins.estimators.callbacks import FRAMES, CallbackSupportMixin, Fit, with_callbacks
from margins.estimators.declared import Declared
from margins.estimators.exclusive import exclusive, restored_on_error
from margins.estimators.exportable import ExportMixin
from margins.estimators.fitted import FittedAttributes
from margins.estimators.messages import not_converged, rule_errors_named, short_name
from margins.estimators.multiclass import (
    RowsOfThread,
    n_threads_of,
    one_vs_rest,
    positive_codes,
    seeds_of,
)
from margins.estimators.names import Caller
from margins.estimators.notebook import NotebookMixin
from margins.estimators.partitioned import is_streamed, read_samples, why_not_streamed
from margins.estimators.predictions import PredictionsMixin
from margins.kernels import LINEAR
from margins.kernels.kernel import Kernel
from margins.kernels.selection import kernel_choice, kernel_of, kernel_parameter
from margins.linalg.time_limits import TimeBudget
from margins.losses import HardMargin, loss_of
from margins.parameters import (
    BOOLEAN,
    MAPPING,
    POSITIVE,
    AnyOf,
    InstanceOf,
    Interval,
    OneOf,
    check_parameters,
    optional,
    parameter,
)
from margins.partitions.run import StreamedRun
from margins.partitions.streamed import StreamedMatrix
from margins.solvers.base import Phase
from margins.solvers.driver import Run, RunOptions

# Between these, adding 1 / (2 C) to a squared norm within double range keeps precision.
SMALLEST_C = 1e-100
LARGEST_C = 1e100


class BaseMarginClassifier(
    CallbackSupportMixin,
    PredictionsMixin,
    FittedAttributes,
    ExportMixin,
    NotebookMixin,
    Declared,
    BaseEstimator,
):
    """The base class of all classifiers: a fit ends with a full epoch without updates.

    A subclass declares its parameters and defines `phases`.
    """

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Penalty of the 2-norm soft margin, as LinearSVC's: slack terms with D_k = 1 / (2 C). inf: the "
        "hard margin.",
        default=1.0,
    )
    fit_intercept: bool = parameter(
        BOOLEAN,
        "Learn a bias, by one more feature of constant value; penalised like a weight.",
        default=True,
    )
    intercept_scaling: float = parameter(
        Interval(0, 1e60, "right"), "The value of that feature (the papers' rho).", default=1.0
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = parameter(
        AnyOf(OneOf(None, "balanced"), MAPPING),
        "Multiplies C of every sample of a class; 'balanced': by m / (n_classes * class count).",
        default=None,
    )
    max_iter: int = parameter(
        Interval(1, math.inf, "left", integer=True), "Full epochs at most.", default=1000
    )
    max_time: float | None = parameter(
        optional(Interval(0, math.inf, "neither")),
        "Seconds of wall time after which training ends, with the certificate of what it has reached; "
        "classes share them. The certificate itself, a pass over the samples, comes in addition. With a "
        "limit that is reached, results depend on the machine. None: no limit.",
        default=None,
    )
    random_state: int | np.random.RandomState | None = parameter(
        optional(
            AnyOf(
                Interval(0, 2**32 - 1, integer=True),
                InstanceOf(np.random.RandomState, "a numpy.random.RandomState"),
            )
        ),
        "Seed of the permutations of samples.",
        default=None,
    )
    n_jobs: int | None = parameter(
        optional(
            AnyOf(
                Interval(-math.inf, -1, "right", integer=True),
                Interval(1, math.inf, "left", integer=True),
            )
        ),
        "Threads for one-vs-rest, as joblib counts them; of MarginClassifier with a kernel, those that "
        "are left share the work of each problem. Results do not depend on it.",
        default=None,
    )
    verbose: int = parameter(
        AnyOf(BOOLEAN, Interval(0, math.inf, "left", integer=True)),
        "Not 0: print a line for every full epoch, with the class if there are more than two.",
        default=0,
    )

    # The accuracy to prove; None: the fit ends with a full epoch that changes nothing.
    _accuracy = None
    loss = "squared_hinge"
    stop = "certificate"
    # True if the rules read dual variables even without slack terms.
    _keeps_dual = False

    kernel: str | Kernel | Callable[[Any, Any], Any] = kernel_choice()
    degree: int = kernel_parameter("degree")
    gamma: float | Literal["scale", "auto"] = kernel_parameter("gamma")
    coef0: float = kernel_parameter("coef0")
    cache_size: float = parameter(
        POSITIVE,
        "Memory for rows of the kernel matrix, in megabytes, for each thread that trains a problem.",
        default=200.0,
    )

    def phases(self, run: Run) -> Iterator[Phase]:
        """Yield the phases of one binary problem.

        Parameters
        ----------
        run : margins.solvers.driver.Run

        Yields
        ------
        margins.solvers.base.Phase
        """
        raise NotImplementedError(f"{type(self).__name__} must define phases(run).")

    @overload
    def fit(self, X: Chunks | LazyMatrix, y: Any = None, sample_weight: Any = None) -> Self: ...
    @overload
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train, and compute certificates.

        Parameters
        ----------
        X : array-like, sparse matrix, array or data frame of dask, or Chunks, (n_samples, n_features)
            float32, float64 and CSR are used without a copy, in any memory layout; anything else is
            converted. Of samples that are not in memory together, `margins.data.chunks.Chunks` or those
            of dask, one partition at a time is read: docs/larger_than_memory.md lists the algorithms.
        y : array-like, or array or series of dask, shape (n_samples,)
            Labels of any type, of at least two classes. None only with chunks, which hold them.
        sample_weight : like y, optional
            Multiplies C of every sample. Samples of weight 0 are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data are not allowed; before any training, or, of chunks, when the one
            that is not allowed is first read.
        RuntimeError
            If the estimator is in use by another thread.
        margins.rules.RuleError
            If a rule returns a number that is not finite: a ValueError that names the rule, the
            algorithm and the sample. The estimator is not changed.

        Warns
        -----
        ConvergenceWarning
            If the fit ends before its accuracy is proven; it states the certificate reached.
        """
        self._check_parameters()
        with exclusive(self, "fit"), restored_on_error(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight):
        is_in_parts = is_streamed(self, X)
        self._begin_fit()
        if is_in_parts:
            X, codes, sample_weight = read_samples(self, X, y, sample_weight)
        else:
            X, y, codes = validate_samples(self, X, y)
        samples = self._weigh(X, codes, sample_weight)
        self.kernel_ = kernel_of(self, samples.X)
        fit = Fit(self, X, y, sample_weight, samples)
        with rule_errors_named(self, samples.kept):
            runs = self._train_all(samples, fit)
        self._forget()
        self._collect(runs, samples)
        fit.end()
        self._warn(runs)

    # True: samples in partitions are fitted; of phases that consist of rules and active sets.
    _streams_partitions = True

    def _why_not_in_partitions(self):
        """Why samples in partitions are not fitted: (parameter, allowed, got) or None."""
        return why_not_streamed(self)

    def _begin_fit(self):
        """Keep what the fit continues from, before classes and features are those of its samples."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_parameters(self):
        """Raise ValueError for parameters that are not allowed, alone or together."""
        check_parameters(self)

    def _penalties(self, weight):
        """C of every sample: a float, or an array if they differ."""
        if isinstance(weight, float):
            C = smallest = largest = float(self.C) * weight
        else:
            with np.errstate(over="ignore"):
                C = float(self.C) * weight
            smallest, largest = C.min(), C.max()
        if not (math.isinf(self.C) or (smallest >= SMALLEST_C and largest <= LARGEST_C)):
            raise ValueError(
                f"C of {self._display_name()}, times the weight of a sample, must be in "
                f"[{SMALLEST_C:g}, {LARGEST_C:g}] or C inf. "
                f"Got {largest if smallest >= SMALLEST_C else smallest}."
            )
        return C

    @property
    def _leaves_dual(self):
        """True if a fit with a linear kernel ends with `dual_coef_`."""
        return self._keeps_dual or not math.isinf(self.C)

    def _loss(self, C):
        """The loss of these penalties: margins.losses.Loss."""
        return HardMargin() if math.isinf(self.C) else loss_of(self.loss, C)

    def _options(self, rows):
        """The options of every run over these rows: RunOptions."""
        return RunOptions(
            eps=self._accuracy,
            needs_clean_pass=self.stop == "clean-pass",
            max_iter=self.max_iter,
            keep_dual=self._leaves_dual or rows.is_kernel,
            report=self._reporter() if self.verbose else None,
            theta=self._theta,
            model_scale=self._model_scale,
            time_budget=self._time_budget(),
        )

    def _time_budget(self):
        """The time of all runs of a fit: TimeBudget; None: no limit."""
        if self.max_time is None:
            return None
        n_problems = len(positive_codes(len(self.classes_)))
        return TimeBudget(self.max_time, n_problems, n_threads_of(self.n_jobs, n_problems))

    def _reporter(self):
        """A function that prints a line of progress, under the registered name."""
        name = short_name(self)
        return lambda line: print(f"{name}: {line}")

    def _naming_class(self, options, index):
        """Options whose lines of progress name the class of a binary problem, if there are several."""
        report, classes = options.report, self.classes_
        if report is None or len(classes) == 2:
            return options
        which = f"class {classes.tolist()[index]!r}: "
        return options._replace(report=lambda line: report(which + line))

    def _limited(self, data):
        """The samples of a binary problem with the limits that the algorithm sets: BinaryData."""
        return data

    def _weigh(self, X, codes, sample_weight, all_classes=True):
        """The samples of positive weight, of all classes if these are all samples: Samples."""
        return weigh(
            Caller(self, "fit" if all_classes else "partial_fit"),
            X,
            codes,
            self.classes_,
            sample_weight,
            self.class_weight,
            pairwise=self._is_precomputed,
            all_classes=all_classes,
        )

    def _rows(self, X):
        """The rows that a run accesses: of X, or of its kernel matrix."""
        return X.rows() if isinstance(X, StreamedMatrix) else self.kernel_.rows(X, self.cache_size)

    # Frames between `fit` and its caller, where warnings are placed.
    _frames = 0
    # True: a zero row is no error, also without intercept and slack terms.
    _takes_zero_rows = False
    # The threshold of the first hypothesis, in units of updates.
    _theta = 0.0

    # True: the intercept is not penalised.
    _has_free_intercept = False

    def _prepare_scales(self, sqnorms):
        """Compute what depends on |x_k|^2, ndarray of float64, shape (m,)."""

    @property
    def _sqrho(self):
        """The square of `intercept_scaling`; 0 without intercept, or if it is not penalised."""
        is_penalised = self.fit_intercept and not self._has_free_intercept
        return float(self.intercept_scaling) ** 2 if is_penalised else 0.0

    def _run_maker(self, samples, fit):
        """A function ``make(index, seed)`` that makes a run, in the thread that trains it."""
        rows, is_linear = self._rows(samples.X), self.kernel_ == LINEAR
        features = rows_of(samples.X) if is_linear and rows.is_kernel else None
        sqnorms = rows.sqnorms()
        self._prepare_scales(sqnorms)
        sqrho, is_free = self._sqrho, self._has_free_intercept
        takes_zero_rows = is_free or self._takes_zero_rows
        sqnorms = augmented_sqnorms(sqnorms, sqrho, math.isinf(self.C), takes_zero_rows)
        loss = self._loss(self._penalties(samples.weight))
        options = self._options(rows)
        codes = positive_codes(len(self.classes_))
        is_streamed = isinstance(samples.X, StreamedMatrix)
        is_shared, make_run = is_linear and not is_streamed, StreamedRun if is_streamed else Run
        own_rows = None if is_shared else RowsOfThread(rows, lambda: self._rows(samples.X))

        def make(index, seed):
            positive = samples.codes == codes[index]
            rows_of_run = rows if is_shared else own_rows.get()
            options_of_run = self._naming_class(options, index)
            data = make_binary_data(rows_of_run, sqnorms, positive, sqrho, loss.diag, math.inf, is_free)
            return make_run(self._limited(data), loss, seed, options_of_run, fit.watch(index), features)

        return make

    def _train_all(self, samples, fit):
        """Train every binary problem: list of Run."""
        make = self._run_maker(samples, fit)

        def train(index, seed):
            run = make(index, seed)
            run.train(self.phases(run))
            return run

        seeds = seeds_of(self.random_state, len(positive_codes(len(self.classes_))))
        return one_vs_rest(train, seeds, self.n_jobs)

    def _describe(self, run):
        """What is proven of the accuracy of a run, in a sentence: str."""
        return run.loss.describe(run.certificate)

    def _warn(self, runs):
        """Warn if an accuracy is not proven."""
        for index, run in enumerate(runs):
            if not run.converged:
                which = "" if len(runs) == 1 else f" for class {self.classes_.tolist()[index]!r}"
                text = not_converged(self, run, which)
                warnings.warn(text, ConvergenceWarning, stacklevel=4 + FRAMES + self._frames)
