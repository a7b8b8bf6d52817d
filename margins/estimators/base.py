"""The classifier that every algorithm inherits.

A subclass declares its parameters and yields stages; the rest of scikit-learn's contract is here:

    class DynamicMarginPerceptron(MaximumMarginClassifier):
        \"""Perceptron with dynamic margin ...\"""

        def stages(self, run):
            yield Stage(Rules(DynamicMargin(self.eps), Additive(), NoShrink()))
"""

import inspect
import math
import threading
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from margins import registry
from margins.certificate import HardMargin, SquaredHinge
from margins.data.binary_problem import (
    augmented_sqnorms,
    binary_patterns,
    rows_of,
)
from margins.data.samples import weigh
from margins.data.validation import validate_points, validate_samples
from margins.estimators.callbacks import FRAMES, CallbackSupportMixin, Fit, with_callbacks
from margins.estimators.multiclass import one_vs_rest, positive_codes, seeds_of
from margins.kernels import gram
from margins.kernels.kernel import LINEAR, Kernel
from margins.parameters import (
    BOOLEAN,
    CALLABLE,
    MAPPING,
    POSITIVE,
    AnyOf,
    InstanceOf,
    Interval,
    OneOf,
    check_parameters,
    describe_parameters,
    optional,
    parameter,
)
from margins.rules.errors import RuleError
from margins.solvers.driver import Run

# Between these, 1 / (2 C) keeps its digits beside the squared norms that double arithmetic bears.
SMALLEST_C = 1e-100
LARGEST_C = 1e100

ATTRIBUTES = """
Attributes
----------
coef_ : ndarray of float64, shape (1, n_features) or (n_classes, n_features)
    Weights at the scale of least objective (functional margin 1 if C = inf): they compare with
    LinearSVC's.
    Only with ``kernel="linear"``.
intercept_ : ndarray of float64, shape (1,) or (n_classes,)
classes_ : ndarray, shape (n_classes,)
certificates_ : list of Certificate
    What is proven about each binary problem, in the feature space of the kernel.
dual_coef_ : ndarray of float64, shape (1, n_samples) or (n_classes, n_samples)
    With ``kernel="linear"``: the dual variables alpha_k >= 0, scaled to be feasible (with C < inf,
    or where the algorithm keeps them). `coef_` is proportional to the sum of alpha_k y_k x_k, and
    after Newton steps (`newton`) close to it.
    With another kernel, as SVC's: shape (1, n_support) or (n_classes, n_support), the coefficients
    of K(support vector, x) in the scores, signed by the labels.
support_ : ndarray of int, shape (n_support,)
    Indices of the samples with a coefficient that is not 0 in some binary problem, sorted. Only with
    a kernel.
support_vectors_ : ndarray or CSR matrix, shape (n_support, n_features)
    Those samples; empty if the kernel is precomputed.
learning_curve_ : list of lists of margins.solvers.driver.Epoch
    For each binary problem and full epoch: epoch, updates so far, mistakes, certificate; None where
    nobody looked for one: far from the proof, or, with ``stop="clean-pass"``, before a clean pass.
converged_ : bool
    True if every binary problem ended as it should: with its accuracy proven, or, for algorithms
    without an accuracy, with a full epoch that changed nothing.
n_iter_ : int
    Full epochs, the largest over the binary problems.
n_updates_ : int
    Updates, multiplicities counted, summed over the binary problems.
n_visits_ : int
    Presentations of a pattern, with or without an update, summed over the binary problems: the work of
    the fit, whatever the machine.
n_features_in_ : int
feature_names_in_ : ndarray of str, shape (n_features,)
    Only if X has string column names.
"""


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
class _Declared:
    """Turns declared parameters into the constructor and the docstring of every subclass."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, repr=False, eq=False)(cls)
        if cls.__doc__ and not cls.__name__.startswith("_"):
            text = inspect.cleandoc(cls.__doc__)
            cls.__doc__ = "\n\n".join([text, describe_parameters(cls), ATTRIBUTES.strip()])


class MarginClassifier(CallbackSupportMixin, ClassifierMixin, _Declared, BaseEstimator):
    """A linear classifier trained by presenting one pattern at a time."""

    C: float = parameter(
        1.0,
        Interval(0, math.inf, "right"),
        "Penalty of the 2-norm soft margin, as LinearSVC's: a private coordinate of size "
        "1 / sqrt(2 C) for every pattern. inf: the hard margin.",
    )
    fit_intercept: bool = parameter(
        True, BOOLEAN, "Learn a bias, by one more feature of constant value; penalised like a weight."
    )
    intercept_scaling: float = parameter(
        1.0, Interval(0, 1e60, "right"), "The value of that feature (the papers' rho)."
    )
    class_weight: object = parameter(
        None,
        AnyOf(OneOf(None, "balanced"), MAPPING),
        "Multiplies C of every pattern of a class; 'balanced': by m / (n_classes * class count).",
    )
    max_iter: int = parameter(1000, Interval(1, math.inf, "left", integer=True), "Full epochs at most.")
    random_state: object = parameter(
        None,
        optional(
            AnyOf(
                Interval(0, 2**32 - 1, integer=True),
                InstanceOf(np.random.RandomState, "a numpy.random.RandomState"),
            )
        ),
        "Seed of the permutations.",
    )
    n_jobs: int | None = parameter(
        None,
        optional(
            AnyOf(
                Interval(-math.inf, -1, "right", integer=True),
                Interval(1, math.inf, "left", integer=True),
            )
        ),
        "Threads for one-vs-rest, as joblib counts them. Results do not depend on it.",
    )
    verbose: int = parameter(
        0,
        AnyOf(BOOLEAN, Interval(0, math.inf, "left", integer=True)),
        "Not 0: print a line for every full epoch.",
    )

    # The accuracy to prove; None: the fit ends with a full epoch that changes nothing.
    _accuracy = None
    loss = "squared_hinge"
    stop = "certificate"
    # True if the rules read dual variables even without private coordinates.
    _keeps_dual = False

    kernel: object = parameter(
        "linear",
        AnyOf(OneOf("linear", "poly", "rbf", "precomputed"), CALLABLE),
        "As SVC's: 'poly' is (gamma x.z + coef0)**degree, 'rbf' exp(-gamma |x - z|**2); a callable "
        "takes two matrices and returns the kernel matrix. With 'precomputed' X is that matrix.",
    )
    degree: int = parameter(3, Interval(0, 2**31 - 1, integer=True), "Of kernel='poly'.")
    gamma: object = parameter(
        "scale",
        AnyOf(OneOf("scale", "auto"), POSITIVE),
        "Of the kernels; 'scale': 1 / (n_features * X.var()), 'auto': 1 / n_features.",
    )
    coef0: float = parameter(0.0, Interval(-math.inf, math.inf, "neither"), "Of kernel='poly'.")
    cache_size: float = parameter(
        200.0, POSITIVE, "Memory for rows of the kernel matrix, in megabytes, for each thread."
    )

    def stages(self, run):
        """Yield the stages of one binary problem; every algorithm's own.

        Parameters
        ----------
        run : margins.solvers.driver.Run

        Yields
        ------
        margins.solvers.driver.Stage
        """
        raise NotImplementedError(f"{type(self).__name__} must define stages(run).")

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Train, and prove.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)
            float32, float64 and CSR are used as they are, in any memory layout; anything else is
            converted.
        y : array-like, shape (n_samples,)
            Labels of any type, of at least two classes.
        sample_weight : array-like of float, shape (n_samples,), optional
            Multiplies C of every pattern. Samples of weight 0 are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data are not allowed; before any training.
        margins.rules.RuleError
            If a rule returns a number that is not finite: a ValueError that names the rule, the
            algorithm and the sample. The estimator is left as it was.

        Warns
        -----
        ConvergenceWarning
            If the fit ends without its proof; it states the certificate reached.
        """
        self._check_parameters()
        with kept_if_refused(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight):
        self.__dict__.pop("_streams", None)  # over features and classes that may be others now
        X, y, codes = validate_samples(self, X, y)
        samples = self._weigh(X, codes, sample_weight)
        self.kernel_ = Kernel.of(self, samples.X)
        fit = Fit(self, X, y, sample_weight, samples)
        with rule_errors_named(self, samples.kept):
            runs = self._train_all(samples, fit)
        self._forget()
        self._collect(runs, samples)
        fit.end()
        self._warn(runs)

    def decision_function(self, X):
        """Signed scores: ``X @ coef_.T + intercept_``, or those of the kernel.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)
            With ``kernel="precomputed"``: K(x, training sample), shape (n_samples, n_training_samples).

        Returns
        -------
        ndarray of float64, shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        scores = self._scores(validate_points(self, X))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _scores(self, X):
        """The scores of validated X: ndarray of float64, shape (n_samples, n_problems)."""
        if self.kernel_ == LINEAR:
            return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        scores = np.empty((X.shape[0], len(self.intercept_)))
        for batch, products in self.kernel_.blocks(X, self.support_vectors_, self.support_):
            scores[batch] = products.T @ self.dual_coef_.T + self.intercept_
        return scores

    def predict(self, X):
        """The class with the largest score; for two classes, the second if its score is positive.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

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
        """C of every pattern: a float, or an array if they differ."""
        if isinstance(weight, float):
            C = float(self.C) * weight
        else:
            with np.errstate(over="ignore"):
                C = float(self.C) * weight
        for value in (C,) if isinstance(C, float) else (C.min(), C.max()):
            if not (SMALLEST_C <= value <= LARGEST_C or math.isinf(self.C)):
                raise ValueError(
                    f"C of {type(self).__name__}, times the weight of a pattern, must be in "
                    f"[{SMALLEST_C:g}, {LARGEST_C:g}] or C inf. Got {value}."
                )
        return C

    @property
    def _leaves_dual(self):
        """True if a fit with a linear kernel ends with `dual_coef_`."""
        return self._keeps_dual or not math.isinf(self.C)

    def _problem(self, C):
        return HardMargin() if math.isinf(self.C) else SquaredHinge(C)

    def _weigh(self, X, codes, sample_weight, all_classes=True):
        """The samples of positive weight, of all classes if these are all samples: Samples."""
        return weigh(
            f"{type(self).__name__}.{'fit' if all_classes else 'partial_fit'}",
            X,
            codes,
            self.classes_,
            sample_weight,
            self.class_weight,
            pairwise=self._is_precomputed,
            all_classes=all_classes,
        )

    def _rows(self, X):
        """The rows that a run presents: of X, or of its kernel matrix."""
        return rows_of(X) if self.kernel_ == LINEAR else self.kernel_.rows(X, self.cache_size)

    # True: a zero row is no error, also without augmentation and private coordinates.
    _takes_zero_rows = False
    # The threshold of the first hypothesis, in units of updates; the rules know it.
    _theta = 0.0

    def _settle(self, sqnorms):
        """Settle what depends on |x_k|^2, ndarray of float64, shape (m,)."""

    @property
    def _sqrho(self):
        """The square of the augmentation."""
        return float(self.intercept_scaling) ** 2 if self.fit_intercept else 0.0

    def _run_maker(self, samples, fit):
        """How a run is made: ``make(index, seed)``, in the thread that trains it."""
        rows = self._rows(samples.X)
        features = rows_of(samples.X) if rows.is_kernel and self.kernel_ == LINEAR else None
        sqnorms = rows.sqnorms()
        self._settle(sqnorms)
        sqrho = self._sqrho
        sqnorms = augmented_sqnorms(sqnorms, sqrho, math.isinf(self.C), self._takes_zero_rows)
        problem = self._problem(self._penalties(samples.weight))
        codes = positive_codes(len(self.classes_))
        # A cache of kernel rows is not for two threads. How many there are is not asked: joblib's
        # answer, in a daemonic process for one, is not always what it then does.
        caches, first = threading.local(), [rows]

        def make(index, seed):
            own_rows = rows
            if self.kernel_ != LINEAR:
                if not hasattr(caches, "rows"):
                    try:
                        caches.rows = first.pop()
                    except IndexError:
                        caches.rows = self._rows(samples.X)
                own_rows = caches.rows
            positive = samples.codes == codes[index]
            return Run(
                patterns=binary_patterns(
                    own_rows, sqnorms, positive, sqrho, problem.extension, math.inf
                ),
                problem=problem,
                eps=self._accuracy,
                prove_early=self.stop == "certificate",
                max_iter=self.max_iter,
                seed=seed,
                report=print if self.verbose else None,
                keep_dual=self._leaves_dual or rows.is_kernel,
                features=features,
                watch=fit.watch(index),
            )

        return make

    def _train_all(self, samples, fit):
        """Train every binary problem: list of Run."""
        make = self._run_maker(samples, fit)

        def train(index, seed):
            run = make(index, seed)
            run.train(self.stages(run))
            return run

        seeds = seeds_of(self.random_state, len(positive_codes(len(self.classes_))))
        return one_vs_rest(train, seeds, self.n_jobs)

    def _scale(self, run):
        """By what a hypothesis is multiplied when it becomes a row of `coef_`."""
        return run.primal_scale

    def _forget(self):
        """Drop what an earlier fit has found, and this one may not have."""
        for name in (
            "coef_",
            "intercept_",
            "dual_coef_",
            "support_",
            "support_vectors_",
            "mistakes_",
            "votes_",
        ):
            self.__dict__.pop(name, None)

    def _collect(self, runs, samples):
        """Set the fitted attributes."""
        self._collect_model(runs, samples)
        self.certificates_ = [run.certificate for run in runs]
        self.learning_curve_ = [run.history for run in runs]
        self.n_iter_ = max(run.n_epochs for run in runs)
        self.n_updates_ = sum(run.certificate.n_updates for run in runs)
        self.n_visits_ = sum(run.n_visits for run in runs)
        self.converged_ = all(run.converged for run in runs)

    def _collect_model(self, runs, samples):
        """Set what predictions need."""
        hypotheses = [run.hypothesis for run in runs]
        scales = [self._scale(run) for run in runs]
        self.intercept_ = np.array(
            [
                scale * (run.patterns.sqrho * hypothesis.label_sum - run.theta)
                for run, hypothesis, scale in zip(runs, hypotheses, scales, strict=True)
            ]
        )
        if self.kernel_ != LINEAR:
            signed = np.stack(
                [
                    scale * run.patterns.signs * hypothesis.dual
                    for run, hypothesis, scale in zip(runs, hypotheses, scales, strict=True)
                ]
            )
            support = np.flatnonzero(signed.any(axis=0))
            self.dual_coef_ = signed[:, support]
            self._set_support(samples, support)
            return
        self.coef_ = np.array(
            [scale * hypothesis.weights for hypothesis, scale in zip(hypotheses, scales, strict=True)]
        )
        if runs[0].keep_dual and self._leaves_dual:
            self.dual_coef_ = np.zeros((len(runs), samples.n_samples))
            # Not by indices where they are all: that takes longer than many a Newton step.
            kept = slice(None) if len(samples.kept) == samples.n_samples else samples.kept
            for row, run, hypothesis in zip(self.dual_coef_, runs, hypotheses, strict=True):
                row[kept] = run.dual_scale * hypothesis.dual

    def _set_support(self, samples, support):
        """Set the support to those of the samples."""
        self.support_ = samples.kept[support]
        self.support_vectors_ = samples.X[:0, :0] if self._is_precomputed else samples.X[support]

    def _warn(self, runs):
        """Warn of what is not proven."""
        for index, run in enumerate(runs):
            if not run.converged:
                which = "" if len(runs) == 1 else f" for class {self.classes_.tolist()[index]!r}"
                warnings.warn(
                    f"{type(self).__name__} did not converge{which}: {run.trouble}. {_reached(run)}",
                    ConvergenceWarning,
                    stacklevel=4 + FRAMES,
                )


class MaximumMarginClassifier(MarginClassifier):
    """A margin classifier that proves its accuracy."""

    eps: float = parameter(
        0.01,
        Interval(0, 1, "right"),
        "Accuracy to prove: margin >= (1 - eps) * maximum margin, in the extended space if C < inf; "
        "for the hinge loss, relative duality gap <= eps.",
    )
    stop: str = parameter(
        "certificate",
        OneOf("certificate", "clean-pass"),
        "When a fit ends: as soon as the certificate proves eps, or, as in the papers, only when, "
        "besides, a full epoch has changed nothing.",
    )

    @property
    def _accuracy(self):
        return self.eps

    def _rows(self, X):
        # A matter of speed alone, so not where the papers are followed to the letter.
        if self.kernel_ == LINEAR and self.stop == "certificate" and gram.serves(X):
            return gram.gram_rows(X, coarse=self.eps >= gram.COARSE)
        return super()._rows(X)


@contextmanager
def rule_errors_named(estimator, kept):
    """Add the algorithm to a RuleError, and the index in X: of the samples `kept`, those trained on."""
    try:
        yield
    except RuleError as error:
        error.algorithm = registry.name_of(type(estimator)) or type(estimator).__name__
        error.sample = int(kept[error.sample])
        raise


@contextmanager
def kept_if_refused(estimator):
    """Leave an estimator as it was if what is done within fails."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def _reached(run):
    """What a fit without its proof has proven, in a sentence or two."""
    certificate = run.certificate
    if run.problem.loss == "hinge":
        return f"The relative duality gap reached is {certificate.gap:.3g}."
    sentence = (
        f"Proven: margin {certificate.margin:.6g}, at most {certificate.upper_bound:.6g} possible "
        f"(fraction {certificate.fraction:.4g}, relative duality gap {certificate.gap:.3g})."
    )
    if math.isinf(certificate.primal) and isinstance(run.problem, HardMargin):
        sentence += (
            " The classes are not separated; an upper bound that falls towards 0 says that no "
            "hyperplane separates them. A finite C allows for that."
        )
    return sentence
