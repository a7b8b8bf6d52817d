"""Probabilities from scores, calibrated on samples that the fits have not seen.

The folds of a selection score every sample by a fit to other samples. scikit-learn's calibrators are
fitted to these scores. The sigmoid and isotonic regression calibrate several classes one-vs-rest and
normalise; a temperature divides the scores of all classes before their softmax. The probabilities
are the same as with `CalibratedClassifierCV(ensemble=False)` and the same folds, without extra fits.

**Source**: Platt (1999), Probabilistic outputs for support vector machines; Zadrozny & Elkan (2002),
Transforming classifier scores into accurate multiclass probability estimates; Guo, Pleiss, Sun &
Weinberger (2017), On calibration of modern neural networks.
"""

from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from margins.data.types import MatrixLike
from margins.estimators._typed import BaseEstimator, ClassifierMixin
from margins.training.schemes import labels_of_scores, positive_codes

TrainTest = list[tuple[NDArray[np.int64], NDArray[np.int64]]]
METHODS = ("sigmoid", "isotonic", "temperature")


class _Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose samples are already scores, which it divides by `unit`."""

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
        classes: NDArray[Any] = self.classes
        return classes

    def decision_function(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores: ndarray of float64, shape (n,) for two classes, else (n, n_classes)."""
        return (X[:, 0] if X.shape[1] == 1 else X) / self.unit

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Return the class of the largest score: ndarray, shape (n,)."""
        labels: NDArray[Any] = labels_of_scores(self.decision_function(X), self.classes)
        return labels


def calibrated(
    method: str, scores: NDArray[np.float64], y: Any, classes: NDArray[Any], sample_weight: Any
) -> Any:
    """Return fitted calibrators of scores.

    Parameters
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
    scores : ndarray of float64, shape (m, 1) for two classes, else (m, n_classes)
    y : ndarray, shape (m,)
    classes : ndarray, shape (n_classes,)
    sample_weight : ndarray of float64, shape (m,), or None

    Returns
    -------
    CalibratedClassifierCV
        Its `predict_proba` takes scores instead of samples.
    """
    everything = np.arange(len(y))  # a single "fold", because nothing is fitted
    # scikit-learn 1.9.1 calibrates scores of 1e-8 to a constant, and by a temperature scores of 1e6 to 0
    # and 1. Division by a power of two is exact.
    unit = np.ldexp(0.5, np.frexp(np.abs(scores).max())[1])
    calibrators = CalibratedClassifierCV(
        _Scores(classes, unit), method=method, cv=[(everything, everything)], ensemble=False
    )
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
    """Raise ValueError unless every sample is in exactly one test set.

    Parameters
    ----------
    folds : list of (ndarray of int64, ndarray of int64)
        Training and test samples.
    n_samples : int
    caller : object
        Its str is the name of the method.
    """
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
    n_samples: int,
    n_classes: int,
    caller: object,
) -> NDArray[np.float64]:
    """Return every sample's scores by the fold that tests it: ndarray of float64, shape (m, n_problems).

    Parameters
    ----------
    folds, n_samples, caller
        As for `check_folds`.
    scores_of_folds : list of ndarray of float64, shape (n_test, n_problems)
    n_classes : int

    Raises
    ------
    ValueError
        If a fold lacks a class.
    """
    n_problems = len(positive_codes(n_classes))
    if any(part.shape[1] != n_problems for part in scores_of_folds):
        raise ValueError(
            f"calibration of {caller} needs a cv whose training sets have all {n_classes} classes. "
            "Got a training set with fewer."
        )
    scores = np.empty((n_samples, n_problems))
    for (_, test), part in zip(folds, scores_of_folds, strict=True):
        scores[test] = part
    return scores


def _calibrates(self: Any) -> bool:
    return self.calibration is not None


class ProbabilitiesMixin:
    """`predict_proba` and `predict_log_proba` of a classifier with `calibration`."""

    @available_if(_calibrates)  # type: ignore[untyped-decorator]
    def predict_proba(self: Any, X: MatrixLike) -> NDArray[np.float64]:
        """Return probabilities of the classes, calibrated on the scores of samples left out of folds.

        As in SVC, the class of the largest score, which `predict` returns, need not have the largest
        probability, except with ``calibration="temperature"``.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Columns in the order of `classes_`; rows sum to 1.
        """
        check_is_fitted(self, "classes_")
        for attribute, needed in (("estimator_", "refit=True"), ("_calibrated", "calibration")):
            if not hasattr(self, attribute):
                raise NotFittedError(
                    f"predict_proba of {type(self).__name__} needs a fit with {needed}. "
                    "The last fit was without it."
                )
        scores = self.decision_function(X)
        columns = scores.reshape(len(scores), -1)
        probabilities: NDArray[np.float64] = self._calibrated.predict_proba(columns)
        return probabilities

    @available_if(_calibrates)  # type: ignore[untyped-decorator]
    def predict_log_proba(self: Any, X: MatrixLike) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities; -inf for a probability of 0.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms
