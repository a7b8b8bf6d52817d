"""Selection of C by cross-validation: one call trains all folds along C."""

import dataclasses
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold, check_cv

from margins.data.chunks import is_in_parts
from margins.data.types import Folds, MatrixLike, Metric
from margins.data.validation import (
    ValidSamples,
    class_weights_of,
    validate_points,
    validate_samples,
    weighted_samples,
    weights_given,
)
from margins.estimators._typed import BaseEstimator, ClassifierMixin
from margins.estimators.base import exclusive, restored_on_error
from margins.estimators.declared import Declared
from margins.estimators.fitted import LEFT_OUT, StoredMixin, fitted_model
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.messages import all_of, not_converged, noted, warn_of
from margins.estimators.names import MessageName, display_name
from margins.estimators.partitioned import fit_of, partitioned_fit, takes_partitions
from margins.estimators.path import grid_of, ratios_of
from margins.estimators.predictions import accuracy_of, selected
from margins.kernels.kernel import Kernel
from margins.losses import LOSSES, Loss
from margins.model_selection import partitioned_folds
from margins.model_selection.calibration import (
    METHODS,
    ProbabilitiesMixin,
    calibrated,
    check_folds,
    check_method,
    scores_out_of_fold,
    warn_of_useless_scores,
)
from margins.model_selection.fold_paths import FoldFit, score_folds, unproven_of_folds
from margins.model_selection.folds import folds_of, listed
from margins.model_selection.intervals import comparable
from margins.model_selection.leave_one_out import (
    LeaveOneOut,
    check_left_out,
    finite_scores,
    results_along,
)
from margins.model_selection.scoring import Scoring
from margins.parameters import BOOLEAN, OneOf, check_parameters, parameter
from margins.regularisers import Regulariser
from margins.training.schemes import fitted_scheme


class _Described:
    """The values for which ``contains(value)`` is true, described by `text` in messages."""

    def __init__(self, text: str, contains: Callable[[Any], bool]) -> None:
        self._text, self.contains = text, contains

    def __str__(self) -> str:
        return self._text


def _is_cv(value: Any) -> bool:
    """Return True if a parameter `cv` may have this value."""
    if isinstance(value, str):
        return value == "loo"
    if isinstance(value, Integral):
        return not isinstance(value, bool) and int(value) >= 2
    is_iterable = hasattr(value, "__iter__") and not isinstance(value, str | bytes | dict)
    is_splitter = hasattr(value, "split") and not isinstance(value, str | bytes)
    return value is None or is_splitter or is_iterable


def _same(name: str) -> Any:
    """Return the declaration of a parameter of MarginClassifier."""
    field = MarginClassifier.__dataclass_fields__[name]
    return dataclasses.field(default=field.default, metadata=field.metadata)


class Selection:
    """Fitted attributes of a selection, in a separate class, so that they are not parameters."""

    C_: float
    l1_ratio_: float | None
    Cs_: NDArray[np.float64]
    scores_: NDArray[np.float64]
    fold_fits_: list[list[Any]]
    leave_one_out_: list[LeaveOneOut]
    estimator_: MarginClassifier
    _adopted: tuple[str, ...]

    def _leave(
        self, Cs: NDArray[np.float64], classes: NDArray[Any], n_features: int, feature_names: Any
    ) -> None:
        """Replace the last fit's attributes by the attributes that do not depend on the selected C."""
        adopted = getattr(self, "_adopted", ())
        for name in [*adopted, "estimator_", "leave_one_out_", "_calibrated", LEFT_OUT]:
            vars(self).pop(name, None)
        self._adopted = ()
        self.Cs_, self.classes_, self.n_features_in_ = Cs, classes, n_features
        vars(self).pop("feature_names_in_", None)
        if feature_names is not None:
            self.feature_names_in_ = feature_names

    def _select(
        self,
        scores: NDArray[np.float64],
        fits: list[list[list[FoldFit]]],
        ratios: list[Any],
        smallest: bool = False,
    ) -> int:
        """Select C and l1_ratio, the first or smallest of equal scores, and return the index of both."""
        self.scores_, self.fold_fits_ = scores, fits
        n_cs, Cs = len(self.Cs_), np.tile(self.Cs_, len(ratios))
        settings = [f"C={C:g}" for C in Cs]
        if len(ratios) > 1:
            settings = [f"l1_ratio={ratios[i // n_cs]:g}, {C}" for i, C in enumerate(settings)]
            self.scores_ = scores.reshape(len(scores), len(ratios), n_cs)
            starts = range(0, len(Cs), n_cs)
            self.fold_fits_ = [[fold[start : start + n_cs] for start in starts] for fold in fits]
        unproven = unproven_of_folds(display_name(self), fits, settings)
        if unproven:
            warn_of(unproven, 2)
        means = comparable(scores.mean(axis=0))
        if np.isnan(means).all():
            raise ValueError(
                f"scoring of {MessageName(self, 'fit')} must give numbers. Got nan for every C."
            )
        equal = np.flatnonzero(means == np.nanmax(means))
        best = int(equal[np.argmin(Cs[equal])] if smallest else equal[0])
        self.C_, self.l1_ratio_ = float(Cs[best]), ratios[best // n_cs]
        return best

    def _adopt(self, classifier: MarginClassifier) -> None:
        """Take over the fitted attributes of a classifier."""
        fitted = {
            name: value
            for name, value in vars(classifier).items()
            if name.endswith("_") and not name.startswith("_") and name not in vars(self)
        }
        vars(self).update(fitted)
        self._adopted = tuple(fitted)


class MarginClassifierCV(
    StoredMixin, ProbabilitiesMixin, Selection, ClassifierMixin, Declared, BaseEstimator
):
    """MarginClassifier with C selected by cross-validation, all folds and values of C in one call.

    Every fold is trained along C: each fit starts from the previous one and has a separate proof, as in
    `svm_path`. The folds share one matrix X and the sums or kernel rows of its samples. The C with the
    best mean score is selected; among ties, the first in `Cs` or, with ``cv="loo"``, the smallest. A
    `MarginClassifier` with this C is then fitted to all samples.

    Parameters and attributes are named as in `LogisticRegressionCV` with
    ``use_legacy_attributes=False``. The fitted attributes are those of the final classifier, and:

    - ``C_`` : float, the selected C.
    - ``l1_ratio_`` : float or None, the selected `l1_ratio`.
    - ``Cs_`` : ndarray of float64, shape (n_cs,), all values of C.
    - ``scores_`` : ndarray of float64, shape (n_folds, n_cs), the metric of every test set; with
      several `l1_ratio`, shape (n_folds, n_l1_ratios, n_cs).
    - ``fold_fits_`` : list of list of list, by fold, C and binary problem: `certificate`, `converged`,
      `n_iter` and `solver`; with several `l1_ratio`, by fold, `l1_ratio`, C and problem.
    - ``leave_one_out_`` : list of LeaveOneOut, for each C; only with ``cv="loo"``.
    - ``estimator_`` : the MarginClassifier fitted to all samples; only with ``refit=True``.

    With `calibration` there are also `predict_proba` and `predict_log_proba`, and `predict` returns the
    class with the largest probability.

    A kernel's `gamma` that depends on the samples is computed from all samples, for all folds. If a fold
    lacks a class, the other classes are trained.

    See Also
    --------
    svm_path : Fits along C, without folds.
    margins.model_selection.parameter_search : Any grid of any classifier.

    Examples
    --------
    >>> import margins
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = margins.MarginClassifierCV(Cs=5).fit(X / X.max(axis=0), y)
    >>> classifier.C_, classifier.scores_.shape
    (100.0, (5, 5))
    >>> all(problem.converged for fold in classifier.fold_fits_ for [problem] in fold)
    True
    """

    Cs: int | ArrayLike = parameter(
        _Described("an integer >= 1, or an array of float, in (0, inf)", lambda value: True),
        "The values of C. An integer n: n values from 1e-4 to 1e4, on a logarithmic scale.",
        default=10,
    )
    cv: Folds | Literal["loo"] | None = parameter(
        _Described("None, an integer >= 2, 'loo', a splitter, or an iterable of (train, test)", _is_cv),
        "An integer: the number of folds, stratified and not shuffled as in GridSearchCV; None: 5. "
        "'loo': leave out one sample, or one of `groups`, at a time, proven by `margins.leave_one_out`, "
        "which takes far less time than folds of one sample; `scoring` is then the accuracy.",
        default=None,
    )
    scoring: Metric | None = parameter(
        _Described(
            "None, the name of a metric, or a callable (estimator, X, y) -> float",
            lambda value: value is None or isinstance(value, str) or callable(value),
        ),
        "The metric of the test sets, as in scikit-learn, of labels or of `decision_function`; None: "
        "accuracy. Samples are not weighted.",
        default=None,
    )
    refit: bool = parameter(
        BOOLEAN, "Fit all samples with the selected C. False: only select `C_`.", default=True
    )
    calibration: Literal["sigmoid", "isotonic", "temperature"] | None = parameter(
        OneOf(None, *METHODS),
        "Compute probabilities by Platt's sigmoid, by isotonic regression or by a temperature (needs "
        "scikit-learn 1.8), fitted to the scores of the test sets, as in CalibratedClassifierCV with "
        "``ensemble=False``, without additional fits. The sigmoid and isotonic regression calibrate "
        "several classes one-vs-rest and normalise, for any `multi_class`. `predict` and `score` then "
        "go by the largest probability; `scores_`, by which C is selected, by the scores of the folds. "
        "None: no probabilities.",
        default=None,
    )
    loss: str | type[Loss] = _same("loss")
    eps: float = _same("eps")
    solver: Literal[
        "auto", "newton", "decomposition", "interior-point", "conjugate", "unlearning", "dcd"
    ] = _same("solver")
    penalty: str | Regulariser = _same("penalty")
    l1_ratio: float | ArrayLike | None = parameter(
        _Described("None, a number in [0, 1], or an array of them", lambda value: True),
        "With penalty='elasticnet': the shares of the sum of |w_j| from which to select. None: 0.5.",
        default=None,
    )
    fit_intercept: bool = _same("fit_intercept")
    intercept_scaling: float = _same("intercept_scaling")
    penalize_intercept: bool = _same("penalize_intercept")
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = _same("class_weight")
    multi_class: Literal["ovr", "ovo"] = _same("multi_class")
    kernel: str | Kernel | Callable[[Any, Any], Any] = _same("kernel")
    degree: int = _same("degree")
    gamma: float | Literal["scale", "auto"] = _same("gamma")
    coef0: float = _same("coef0")
    cache_size: float = _same("cache_size")
    max_iter: int = _same("max_iter")
    random_state: int | np.random.RandomState | None = _same("random_state")
    n_jobs: int | None = _same("n_jobs")
    verbose: int = _same("verbose")

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: ArrayLike | None = None
    ) -> Self:
        """Train all folds along C, select C, train on all samples, and return the classifier.

        Parameters
        ----------
        X : array-like, sparse matrix, Chunks, or array or data frame of dask, (n_samples, n_features)
            If the samples are not all in memory, `cv` must be a number of folds, whose rows are drawn in
            each partition, and `scoring` a metric of labels; all fits share the passes.
        y : array-like, shape (n_samples,)
            None with Chunks, which contain the labels.
        sample_weight : array-like of float, shape (n_samples,), optional
            Factor of C for each sample, in fits; test scores are not weighted.
        groups : array-like, shape (n_samples,), optional
            Samples of one group stay together: an integer `cv` means StratifiedGroupKFold. A splitter
            that ignores groups raises an error.

        Raises
        ------
        ValueError
            If a parameter or the data are not allowed; before any training.

        Warns
        -----
        ConvergenceWarning
            If a fit ends before its accuracy is proven.
        UserWarning
            If the probability of a class does not rise with its score.
        """
        check_parameters(self)
        caller = MessageName(self, "fit")
        check_method(self.calibration, caller)
        Cs = grid_of(self.Cs, caller)
        scoring = Scoring("accuracy" if self.scoring is None else self.scoring, None, caller)
        estimator = self._classifier(1.0, max(ratios_of(self.l1_ratio, caller)))
        vars(estimator)["_owner"] = self  # its errors name this classifier
        estimator.check_parameters()
        with noted() as unproven, exclusive(self, "fit"), restored_on_error(self):
            self._fit(X, y, sample_weight, groups, Cs, scoring, estimator)
        if unproven:  # from the folds, and from the fit with the selected C
            warn_of(all_of(unproven), 2)
        if self.calibration is not None:
            warn_of_useless_scores(self)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        Cs: NDArray[np.float64],
        scoring: Scoring,
        estimator: MarginClassifier,
    ) -> None:
        caller = MessageName(self, "fit")
        if takes_partitions(estimator, X):
            self._fit_in_partitions(X, y, sample_weight, groups, Cs, estimator)
            return
        valid = validate_samples(self, X, y, caller)
        # Splitters and metrics may read the columns of a data frame.
        passed = valid.X if valid.feature_names is None else X
        X, y, codes = valid.X, valid.y, valid.codes
        # Check all weights, even of samples outside all training sets, and of classes.
        if sample_weight is not None:
            sample_weight = weights_given(caller, len(codes), sample_weight)
        class_weights_of(caller, valid.classes, self.class_weight, np.ones(len(valid.classes)))
        scoring.check(estimator, y, caller)
        if isinstance(self.cv, str):
            self._fit_left_out(valid, sample_weight, groups, Cs, estimator)
            return
        cv = listed(5 if self.cv is None else self.cv)
        if isinstance(cv, Integral) and groups is not None:
            splitter = StratifiedGroupKFold(int(cv))
        else:
            splitter = cv if isinstance(cv, list) else check_cv(cv, y, classifier=True)
        folds = folds_of(splitter, passed, y, groups, "cv", caller)
        # Without weights, because they depend on the fold.
        training_set = estimator.training_set_of(weighted_samples(caller, valid, None, None))
        if training_set.is_kernel and self.loss not in (*LOSSES, *LOSSES.values()):
            raise ValueError(
                f"loss of {caller} must be {' or '.join(map(repr, LOSSES))} with a kernel other than "
                f"'linear', because folds set penalties to 0 to share its rows. Got {self.loss!r}."
            )
        if self.calibration is not None:
            check_folds(folds, len(codes), caller)
        order = np.argsort(Cs, kind="stable")
        positions = np.argsort(order)  # in ascending order, of each value in Cs
        ratios, by_ratio = ratios_of(self.l1_ratio, caller), []
        for ratio in ratios:
            estimator.l1_ratio = ratio
            arguments = Cs[order], scoring, sample_weight, self.n_jobs
            by_ratio.append(score_folds(estimator, training_set, passed, y, folds, *arguments))
        names = valid.feature_names
        self._leave(Cs, valid.classes, training_set.samples.n_features, names)
        scores = np.hstack([of_ratio[:, positions] for of_ratio, _, _ in by_ratio])
        fits = [
            [of_ratio[fold][position] for _, of_ratio, _ in by_ratio for position in positions]
            for fold in range(len(folds))
        ]
        index, best = divmod(self._select(scores, fits, ratios), len(Cs))
        if self.calibration is not None:
            of_best = [path.decision(positions[best]) for path in by_ratio[index][2]]
            out_of_fold = scores_out_of_fold(folds, of_best, y, valid.classes, sample_weight, caller)
            self._calibrated = calibrated(self.calibration, out_of_fold, y, valid.classes, sample_weight)
        self._refit(X, y, sample_weight)

    def _fit_left_out(
        self, valid: ValidSamples, sample_weight: Any, groups: Any, Cs: Any, estimator: MarginClassifier
    ) -> None:
        """Select C by leave-one-out."""
        caller = MessageName(self, "fit")
        check_left_out(estimator, self.scoring, caller)
        is_exact = self.calibration is not None
        results = results_along(estimator, valid, sample_weight, groups, Cs, caller, is_exact)
        self._leave(Cs, valid.classes, valid.X.shape[1], valid.feature_names)
        scores = np.array([[1 - result.error for result in results]])
        best = results[self._select(scores, [], [estimator.l1_ratio], True)]
        self.leave_one_out_ = results
        if self.calibration is not None:
            left_out, (y, classes) = finite_scores(best, caller), (valid.y, valid.classes)
            self._calibrated = calibrated(self.calibration, left_out, y, classes, sample_weight)
        self._refit(valid.X, valid.y, sample_weight)

    def _refit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Train on all samples with the selected C."""
        if self.refit:
            estimator = self._classifier(self.C_, self.l1_ratio_)
            if isinstance(self.penalty, Regulariser) and hasattr(self, "feature_names_in_"):
                estimator.penalty = self.penalty.for_features(self.feature_names_in_.tolist())
            self.estimator_ = estimator.fit(X, y, sample_weight)
            self._adopt(self.estimator_)

    def _fit_in_partitions(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, Cs: Any, estimator: MarginClassifier
    ) -> None:
        """Fit samples that are not all in memory."""
        caller = MessageName(self, "fit")
        unsupported = {"groups": groups, "calibration": self.calibration}
        n_folds = partitioned_folds.number_of_folds(self.cv, caller, **unsupported)
        metric = partitioned_folds.metric_of_counts(self.scoring, caller)
        with partitioned_fit(estimator, X, y, sample_weight, n_folds) as partitioned:
            partitioned_folds.check_scanned(partitioned, n_folds, metric, caller)
            ratios, by_ratio = ratios_of(self.l1_ratio, caller), []
            for ratio in ratios:
                estimator.l1_ratio = ratio
                partitioned.penalise(estimator.regulariser())
                by_ratio.append(partitioned_folds.score_partitions(partitioned, Cs, n_folds, metric))
            scores = np.hstack([of_ratio for of_ratio, _ in by_ratio])
            fits = [[fit for _, of_ratio in by_ratio for fit in of_ratio[f]] for f in range(n_folds)]
            scanned = partitioned.scanned
            self._leave(Cs, scanned.classes, scanned.n_features, scanned.feature_names)
            self._select(scores, fits, ratios)
            if self.refit:
                self.estimator_ = self._classifier(self.C_, self.l1_ratio_)
                partitioned.penalise(self.estimator_.regulariser())
                runs = partitioned.train(partitioned.problems([self.C_]))
                fit = fit_of(scanned, runs, partitioned.absent())
                self.estimator_.set_fitted(fit)
                self._adopt(self.estimator_)
                if not self.estimator_.converged_:
                    warn_of(not_converged(self.estimator_, fit), 2)

    def _classifier(self, C: float, l1_ratio: float | None) -> MarginClassifier:
        """Return the MarginClassifier for one value of C and of l1_ratio."""
        params = self.get_params(deep=False) | {"l1_ratio": l1_ratio}
        names = MarginClassifier().get_params(deep=False).keys()
        return MarginClassifier(C=C, **{name: params[name] for name in params if name in names})

    def decision_function(self, X: Any) -> Any:
        """Return signed scores of the classifier with the selected C.

        Parameters
        ----------
        X : array-like, sparse matrix, Chunks, or array or data frame of dask, (n_samples, n_features)
            With ``kernel="precomputed"``: K(x, training sample), shape (n_samples, n_training_samples).

        Returns
        -------
        ndarray of float64, shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        if is_in_parts(X):
            return self._selected.decision_function(X)
        return fitted_scheme(self._selected).decision(self._scores(X))

    def predict(self, X: Any) -> Any:
        """Return the class with the largest score; for two classes, the second if its score is positive.

        With ``multi_class="ovo"``, return the first of the classes with the most votes. If the fit was
        with `calibration`, return the class with the largest probability, the first of equal ones.

        Parameters
        ----------
        X : as for `decision_function`
        """
        if hasattr(self, "_calibrated"):
            return self._most_probable(X)
        if is_in_parts(X):
            return self._selected.predict(X)
        return fitted_scheme(self._selected).predict(self._scores(X), self.classes_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, as `MarginClassifier.score` does."""
        selected(self)
        return accuracy_of(self, X, y, sample_weight)

    @property
    def _selected(self) -> MarginClassifier:
        return selected(self)  # type: ignore[no-any-return]

    @property
    def n_features_(self) -> int:
        """The number of features in use of the classifier with the selected C."""
        return self._selected.n_features_

    def _scores(self, X: MatrixLike) -> NDArray[np.float64]:
        """Return the scores of each binary problem: ndarray, shape (n_samples, n_problems)."""
        return np.asarray(fitted_model(self._selected).scores(validate_points(self, X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
