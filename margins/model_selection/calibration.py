"""Probabilities from scores, calibrated on samples that the fits have not seen.

The folds of a selection score every sample by a fit to other samples. scikit-learn's calibrators are
fitted to these scores, so that probabilities and predictions are the same as with
`CalibratedClassifierCV(ensemble=False)` and the same folds, without extra fits.

**Source**: Platt (1999), Probabilistic outputs for support vector machines; Zadrozny & Elkan (2002),
Transforming classifier scores into accurate multiclass probability estimates; Guo, Pleiss, Sun &
Weinberger (2017), On calibration of modern neural networks.
"""

import warnings
from collections.abc import Callable
from types import MethodType
from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from margins.data.chunks import is_dask
from margins.data.types import MatrixLike
from margins.estimators._typed import BaseEstimator, ClassifierMixin
from margins.estimators.names import display_name
from margins.estimators.predictions import by_blocks
from margins.linalg.threads import one_thread
from margins.training.schemes import labels_of_scores, positive_codes

TrainTest = list[tuple[NDArray[np.int64], NDArray[np.int64]]]
METHODS = ("sigmoid", "isotonic", "temperature")


class _Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose samples are already scores, which it divides by `unit`."""

    unit = 1.0  # of calibrators in files of version 0.3.0, which do not have it

    def __init__(self, classes: Any = None, unit: float = 1.0) -> None:
        self.classes, self.unit = classes, unit

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: NDArray[np.float64], y: Any, sample_weight: Any = None) -> Self:
        """Do nothing: there is nothing to learn."""
        return self

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]
        """Labels: ndarray, shape (n_classes,)."""
        return np.asarray(self.classes)

    def decision_function(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores: ndarray of float64, shape (n,) for two classes, else (n, n_classes)."""
        return (X[:, 0] if X.shape[1] == 1 else X) / self.unit

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Return the class of the largest score: ndarray, shape (n,)."""
        return np.asarray(labels_of_scores(self.decision_function(X), self.classes))


def calibrated(
    method: str, scores: NDArray[np.float64], y: Any, classes: NDArray[Any], sample_weight: Any
) -> Any:
    """Return fitted calibrators of scores."""
    everything = np.arange(len(y))  # a single "fold", because nothing is fitted
    # scikit-learn 1.9.1 calibrates scores of 1e-8 to a constant, and by a temperature scores of 1e6 to 0
    # and 1. Division by a power of two is exact.
    unit = np.ldexp(0.5, np.frexp(np.abs(scores).max())[1])
    calibrators = CalibratedClassifierCV(
        _Scores(classes, unit), method=method, cv=[(everything, everything)], ensemble=False
    )
    with one_thread():  # SciPy's optimizer multiplies vectors of two numbers in several
        return calibrators.fit(scores, y, sample_weight=sample_weight)


def check_method(method: str | None, caller: object) -> None:
    """Raise ValueError if the installed scikit-learn does not have a method of calibration."""
    installed = tuple(map(int, sklearn.__version__.split(".")[:2]))
    if method == "temperature" and installed < (1, 8):
        raise ValueError(
            f"calibration='temperature' of {caller} needs scikit-learn 1.8 or newer. "
            f"Got {sklearn.__version__}."
        )


def check_folds(folds: TrainTest, n_samples: int, caller: object) -> None:
    """Raise ValueError unless every sample is in exactly one test set."""
    times = np.bincount(np.concatenate([test for _, test in folds]), minlength=n_samples)
    if (times != 1).any():
        sample = int(np.flatnonzero(times != 1)[0])
        raise ValueError(
            f"calibration of {caller} needs a cv in which every sample is in exactly one test set. "
            f"Got sample {sample} in {times[sample]}."
        )


def scores_out_of_fold(
    folds: TrainTest,
    scores_of_folds: list[NDArray[np.float64]],
    y: NDArray[Any],
    classes: NDArray[Any],
    sample_weight: NDArray[np.float64] | None,
    caller: object,
) -> NDArray[np.float64]:
    """Return every sample's scores by the fold that tests it, shape (m, n_problems)."""
    n_problems = len(positive_codes(len(classes)))
    for fold, ((train, _), part) in enumerate(zip(folds, scores_of_folds, strict=True)):
        if part.shape[1] != n_problems:
            kept = train if sample_weight is None else train[sample_weight[train] > 0]
            missing = np.setdiff1d(classes, y[kept]).tolist()
            raise ValueError(
                f"calibration of {caller} needs samples of positive weight of all {len(classes)} "
                f"classes in every training set. Got none of {missing or 'some class'} in that of fold "
                f"{fold}: pass a stratified cv, or leave out classes that have too few."
            )
    scores = np.empty((len(y), n_problems))
    for (_, test), part in zip(folds, scores_of_folds, strict=True):
        scores[test] = part
    return scores


def warn_of_useless_scores(classifier: Any) -> None:
    """Warn if the probability of a class does not rise with its score."""
    [fitted] = classifier._calibrated.calibrated_classifiers_
    labels, rises = classifier.classes_.tolist(), list(map(_rise, fitted.calibrators))
    if len(rises) == 1:  # of two classes, or a temperature
        labels, rises = labels[1:], rises * (len(labels) - 1)
    for sign, how in (-1, "rank the classes in reverse"), (0, "do not tell the classes apart"):
        found = [label for label, rise in zip(labels, rises, strict=True) if np.sign(rise) == sign]
        if found:
            warnings.warn(
                f"calibration of {display_name(classifier, 'fit')}: scores of left-out samples {how}: "
                f"the probability of class {' and '.join(map(repr, found))} does not rise with its "
                "score. Predictions of new samples are hardly better than by chance there; see "
                "`scores_` for the accuracy of the folds.",
                UserWarning,
                stacklevel=3,
            )


def _rise(calibrator: Any) -> float:
    """Return a number with the sign of the slope of the probability over the score."""
    if hasattr(calibrator, "a_"):  # Platt's slope
        return -float(calibrator.a_)
    if hasattr(calibrator, "y_thresholds_"):
        return float(np.ptp(calibrator.y_thresholds_))
    # scikit-learn searches the inverse temperature above exp(-10).
    return float(calibrator.beta_ > np.exp(-9.99))


class _WithCalibration:
    """A method that exists only with `calibration`; otherwise the error names the parameter."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self._method
        name = self._method.__name__
        if instance.calibration is None:
            raise AttributeError(
                f"{name} of {owner.__name__} needs calibration='sigmoid', 'isotonic' or 'temperature' "
                "before fit. Got calibration=None."
            )
        return MethodType(self._method, instance)


class ProbabilitiesMixin:
    """`predict_proba` and `predict_log_proba` of a classifier with `calibration`."""

    @_WithCalibration
    def predict_proba(self: Any, X: MatrixLike) -> NDArray[np.float64]:
        """Return probabilities of the classes, calibrated on the scores of samples left out of folds.

        Parameters
        ----------
        X : array-like, sparse matrix, Chunks, or array or data frame of dask, (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Columns in the order of `classes_`; rows sum to 1. For a dask collection: a dask array.

        Raises
        ------
        AttributeError, NotFittedError
            If `calibration` is None, or the last fit was without it or with ``refit=False``.
        """
        check_is_fitted(self, "classes_")
        for attribute, needed in (("estimator_", "refit=True"), ("_calibrated", "calibration")):
            if not hasattr(self, attribute):
                raise NotFittedError(
                    f"predict_proba of {type(self).__name__} needs a fit with {needed}. "
                    "The last fit was without it."
                )
        probabilities: NDArray[np.float64] = self._probabilities(X)
        return probabilities

    @_WithCalibration
    def predict_log_proba(self: Any, X: MatrixLike) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities; -inf for a probability of 0.

        Parameters
        ----------
        X : as for `predict_proba`
        """
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

    def _probabilities(self: Any, X: Any) -> Any:
        """Return the probabilities of X, from the calibrators of the fit."""
        if is_dask(X):
            self.decision_function(X)  # checks X
            return by_blocks(X, self._probabilities, np.float64, len(self.classes_))
        scores = self.decision_function(X)
        return self._calibrated.predict_proba(scores.reshape(len(scores), -1))

    def _most_probable(self: Any, X: Any) -> Any:
        """Return the class with the largest probability of each row of X, the first of equal ones."""
        if is_dask(X):
            self.decision_function(X)  # checks X
            return by_blocks(X, self._most_probable, self.classes_.dtype)
        return self.classes_[self._probabilities(X).argmax(axis=1)]
