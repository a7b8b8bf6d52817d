"""The classifier that every algorithm inherits.

A subclass declares its parameters and yields stages; the rest of scikit-learn's contract is here:

    class DynamicMarginPerceptron(MaximumMarginClassifier):
        \"""Perceptron with dynamic margin ...\"""

        def stages(self, run):
            yield Stage(Rules(DynamicMargin(self.eps), Additive(), NoShrink()))
"""

import inspect
import math
import warnings
from dataclasses import dataclass
from typing import dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from margins.certificate import HardMargin, SquaredHinge
from margins.multiclass import one_vs_rest
from margins.parameters import (
    BOOLEAN,
    MAPPING,
    AnyOf,
    InstanceOf,
    Interval,
    OneOf,
    check_parameters,
    describe_parameters,
    optional,
    parameter,
)
from margins.patterns import (
    augmented_sqnorms,
    binary_patterns,
    rows_of,
)
from margins.training import Run
from margins.weights import pattern_weights

# Between these, 1 / (2 C) keeps its digits beside the squared norms that double arithmetic bears.
SMALLEST_C = 1e-100
LARGEST_C = 1e100

ATTRIBUTES = """
Attributes
----------
coef_ : ndarray of float64, shape (1, n_features) or (n_classes, n_features)
    Weights at the scale of least objective (functional margin 1 if C = inf): they compare with
    LinearSVC's.
intercept_ : ndarray of float64, shape (1,) or (n_classes,)
classes_ : ndarray, shape (n_classes,)
certificates_ : list of Certificate
    What is proven about each row of `coef_`.
dual_coef_ : ndarray of float64, shape (1, n_samples) or (n_classes, n_samples)
    Dual variables alpha_k >= 0, scaled to be feasible (with C < inf, or where the algorithm keeps
    them). `coef_` is proportional to the sum of alpha_k y_k x_k.
converged_ : bool
    True if every binary problem ended as it should: with its accuracy proven, or, for algorithms
    without an accuracy, with a full epoch that changed nothing.
n_iter_ : int
    Full epochs, the largest over the binary problems.
n_updates_ : int
    Updates, multiplicities counted, summed over the binary problems.
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


class MarginClassifier(ClassifierMixin, _Declared, BaseEstimator):
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

    def stages(self, run):
        """Yield the stages of one binary problem; every algorithm's own.

        Parameters
        ----------
        run : margins.training.Run

        Yields
        ------
        margins.training.Stage
        """
        raise NotImplementedError(f"{type(self).__name__} must define stages(run).")

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

        Warns
        -----
        ConvergenceWarning
            If the fit ends without its proof; it states the certificate reached.
        """
        self._check_parameters()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), accept_large_sparse=True
        )
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y of {type(self).__name__}.fit must hold at least 2 classes. "
                f"Got 1 class: {self.classes_.tolist()[0]!r}."
            )
        n_samples = X.shape[0]
        weight = pattern_weights(
            type(self).__name__, X, codes, self.classes_, sample_weight, self.class_weight
        )
        kept = slice(None)
        if isinstance(weight, np.ndarray) and not weight.all():
            kept = np.flatnonzero(weight)
            X, codes, weight = X[kept], codes[kept], weight[kept]
            missing = np.setdiff1d(np.arange(len(self.classes_)), codes)
            if len(missing):
                raise ValueError(
                    f"Every class of {type(self).__name__}.fit must have a sample of positive "
                    f"weight. Got none of class {self.classes_.tolist()[missing[0]]!r}."
                )
        runs = self._train_all(X, codes, weight)
        self._collect(runs, n_samples, kept)
        return self

    def decision_function(self, X):
        """Signed scores ``X @ coef_.T + intercept_``.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

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
        return tags

    def _check_parameters(self):
        """Raise ValueError for parameters that are not allowed, alone or together."""
        check_parameters(self)

    def _penalties(self, weight):
        """C of every pattern: a float, or an array if they differ."""
        with np.errstate(over="ignore"):
            C = float(self.C) * weight
        for value in (np.min(C), np.max(C)):
            if not (SMALLEST_C <= value <= LARGEST_C or math.isinf(self.C)):
                raise ValueError(
                    f"C of {type(self).__name__}, times the weight of a pattern, must be in "
                    f"[{SMALLEST_C:g}, {LARGEST_C:g}] or C inf. Got {value}."
                )
        return C

    def _problem(self, C):
        return HardMargin() if math.isinf(self.C) else SquaredHinge(C)

    def _train_all(self, X, codes, weight):
        """Train every binary problem on validated data: list of Run."""
        rho = float(self.intercept_scaling) if self.fit_intercept else 0.0
        rows = rows_of(X)
        sqnorms = augmented_sqnorms(rows, rho, hard_margin=math.isinf(self.C))
        problem = self._problem(self._penalties(weight))

        def train(positive, seed):
            run = Run(
                patterns=binary_patterns(rows, sqnorms, positive, rho, problem.extension, math.inf),
                problem=problem,
                eps=self._accuracy,
                prove_early=self.stop == "certificate",
                max_iter=self.max_iter,
                seed=seed,
                report=print if self.verbose else None,
                keep_dual=self._keeps_dual or not math.isinf(self.C),
            )
            run.train(self.stages(run))
            return run

        generator = check_random_state(self.random_state)
        return one_vs_rest(train, codes, len(self.classes_), generator, self.n_jobs)

    def _collect(self, runs, n_samples, kept):
        """Set the fitted attributes, and warn of what is not proven."""
        self.coef_ = np.stack([run.primal_scale * run.weights.weights for run in runs])
        self.intercept_ = np.array(
            [run.primal_scale * run.patterns.rho * run.weights.bias_weight for run in runs]
        )
        if hasattr(self, "dual_coef_"):
            del self.dual_coef_  # an earlier fit's; this one may keep none
        if runs[0].keep_dual:
            self.dual_coef_ = np.zeros((len(runs), n_samples))
            for row, run in zip(self.dual_coef_, runs, strict=True):
                row[kept] = run.dual_scale * run.weights.dual
        self.certificates_ = [run.certificate for run in runs]
        self.n_iter_ = max(run.n_epochs for run in runs)
        self.n_updates_ = sum(run.certificate.n_updates for run in runs)
        self.converged_ = all(run.converged for run in runs)
        for index, run in enumerate(runs):
            if not run.converged:
                which = "" if len(runs) == 1 else f" for class {self.classes_.tolist()[index]!r}"
                warnings.warn(
                    f"{type(self).__name__} did not converge{which}: {run.trouble}. {_reached(run)}",
                    ConvergenceWarning,
                    stacklevel=3,
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
