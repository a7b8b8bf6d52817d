"""Leave-one-out: the error of as many refits as there are samples, proven, for the price of a few."""

import math
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from margins.data.chunks import is_in_parts
from margins.data.types import MatrixLike
from margins.data.validation import ValidSamples, checked_labels, validate_samples
from margins.decremental.scores import LeavingOut, ScoreBounds
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.names import Caller
from margins.losses import LOSSES
from margins.model_selection.tables import frame

NAME = "leave_one_out"
# In the place of inf.
LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What models say of samples that they have not seen, each left out alone or with its group.

    Attributes
    ----------
    classes : ndarray, shape (n_classes,)
    y : ndarray, shape (n_samples,)
        The labels given.
    scores : ndarray of float64, shape (n_samples,) for two classes, else (n_samples, n_classes)
        The decision values of each sample by the model without it, as `decision_function` has them. A
        prediction that is proven with less work has estimates instead, what one step of the solution
        gives, within `bounds`. Infinite where a class has no other samples.
    bounds : ndarray of float64, shape (2, n_samples) for two classes, else (2, n_samples, n_problems)
        Proven lower and upper bounds; one-vs-one of the score of each pair of classes.
    full_scores : ndarray of float64, of the shape of `scores`
        The decision values by the model with all samples.
    predictions : ndarray, shape (n_samples,)
    possible : ndarray of bool, shape (n_samples, n_classes)
        True for the labels that `bounds` do not exclude.
    margins, full_margins : ndarray of float64, shape (n_samples,)
        The decision value of a sample's own label less the largest of all others; of two classes the
        decision value, signed. By the model without it, and by the model with all samples.
    span_estimate : float or None
        The error if the solution moved by one step for each sample (Vapnik & Chapelle 2000); None with
        groups of several samples.
    n_refits : int
        Fits of binary problems without a sample or group, after all else.
    seconds : float
        Wall time.

    See Also
    --------
    leave_one_out : Computes it.
    margins.plotting.InfluenceDisplay : Draws it.

    Examples
    --------
    >>> import margins
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = margins.leave_one_out(margins.MarginClassifier(kernel="rbf", gamma=1.0), X, y)
    >>> round(result.error, 3), result.error_interval[1] == result.error
    (0.047, True)
    >>> int(result.margins.argmin())  # the sample that the others contradict most
    83
    """

    classes: NDArray[Any]
    y: NDArray[Any]
    scores: NDArray[np.float64]
    bounds: NDArray[np.float64]
    full_scores: NDArray[np.float64]
    predictions: NDArray[Any]
    possible: NDArray[np.bool_]
    margins: NDArray[np.float64]
    full_margins: NDArray[np.float64]
    span_estimate: float | None
    n_refits: int
    seconds: float

    @property
    def is_proven(self) -> NDArray[np.bool_]:
        """True where every optimal model without the sample predicts the same label: ndarray of bool,
        shape (n_samples,)."""
        return np.asarray(self.possible.sum(axis=1) == 1)

    @property
    def error(self) -> float:
        """The share of the samples whose prediction is not their label: float. Not weighted."""
        return float(np.mean(self.predictions != self.y))

    @property
    def error_interval(self) -> tuple[float, float]:
        """What is proven of the error: its bounds, equal if all predictions are proven."""
        own = self.possible[np.arange(len(self.y)), np.searchsorted(self.classes, self.y)]
        n_possible = self.possible.sum(axis=1)
        return float(np.mean(~own)), float(np.mean(n_possible > own))

    @property
    def influence(self) -> NDArray[np.float64]:
        """By how much a sample raises its own margin: ndarray of float64, shape (n_samples,).

        That of a sample that is no support vector is 0. The largest ones are outliers and label errors.
        """
        return self.full_margins - self.margins

    def to_frame(self) -> Any:
        """One row for each sample; needs pandas: pandas.DataFrame."""
        columns = {
            "label": self.y,
            "prediction": self.predictions,
            "is_proven": self.is_proven,
            "margin": self.margins,
            "full_margin": self.full_margins,
            "influence": self.influence,
        }
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        return frame([dict(zip(columns, row, strict=True)) for row in rows])

    def __repr__(self) -> str:
        low, high = self.error_interval
        proven = "proven" if low == high else f"proven between {low:.4g} and {high:.4g}"
        return (
            f"LeaveOneOut(error {self.error:.4g}, {proven}; {len(self.y)} samples, {self.seconds:.2g} s)"
        )


def leave_one_out(
    classifier: MarginClassifier,
    X: MatrixLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    groups: ArrayLike | str | None = None,
    exact: bool = False,
) -> LeaveOneOut:
    """What the classifier would predict of each sample if it were trained without it, with a proof.

    One fit to all samples, from which everything else follows: most samples are no support vectors, or
    bounded well enough; for others the exact solution is followed to the one without them. Only where
    that fails, or a decision value is within rounding of 0, is a model trained again.

    Parameters
    ----------
    classifier : MarginClassifier
        Its parameters are read, and it is not changed. `C` is finite, `loss` 'squared_hinge' or 'hinge',
        `max_time` None, and it has no callbacks. `eps` is not read: the solutions are exact, also where
        `max_iter` ends the fit.
    X : array-like or sparse matrix, shape (n_samples, n_features)
        A kernel, and features that outnumber samples, take memory for two matrices of all pairs.
    y : array-like, shape (n_samples,)
    sample_weight : array-like of float, shape (n_samples,), optional
        Multiplies C of every sample. The error counts each sample once, also those of weight 0.
    groups : array-like, shape (n_samples,), or "duplicates", optional
        Samples of one group are left out together; "duplicates": samples with equal features are.
    exact : bool, default=False
        True: all `scores` are those of exact solutions, also where a prediction is proven without.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    TypeError
        If `classifier` is no MarginClassifier, or X is not in memory.
    ValueError
        If a parameter or the data are not allowed, before any training; or if a kernel is not positive
        semidefinite.
    MemoryError
        If the matrices of all pairs do not fit into memory.

    Notes
    -----
    Class weights, gamma='scale' and a kernel's other parameters that depend on the data are those of all
    samples. With `groups` a class may vanish: then the others are predicted.

    The bounds and their proof are in docs/leave_one_out.md.

    **Source**: Cauwenberghs & Poggio (2000), section 3; Vapnik & Chapelle (2000); Jaakkola & Haussler
    (1999), Probabilistic kernel regression models, for bounds without work.

    Examples
    --------
    >>> import margins
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = margins.leave_one_out(margins.MarginClassifier(C=1), X / X.max(axis=0), y)
    >>> result.error_interval[0] == result.error == result.error_interval[1]
    True
    >>> round(569 * result.error)
    17
    """
    started = time.perf_counter()
    caller = Caller(classifier, NAME)
    check_left_out(classifier, None, caller)
    if not isinstance(exact, bool | np.bool_):
        raise ValueError(f"exact of {NAME} must be True or False. Got {exact!r}.")
    if is_in_parts(X):
        raise TypeError(f"X of {NAME} must be in memory. Got {type(X).__name__}.")
    valid = validate_samples(classifier, X, y, caller)
    Cs = np.array([classifier.C], dtype=np.float64)
    [result] = results_along(classifier, valid, sample_weight, groups, Cs, caller, exact)
    return replace(result, seconds=time.perf_counter() - started)


def results_along(
    classifier: MarginClassifier,
    valid: ValidSamples,
    sample_weight: Any,
    groups: Any,
    Cs: Any,
    caller: Caller,
    exact: bool,
) -> list[LeaveOneOut]:
    """The results for some values of C, each fit begun from that for the next smaller one.

    Parameters
    ----------
    classifier, sample_weight, groups, exact
        As for `leave_one_out`.
    valid : margins.data.validation.ValidSamples
    Cs : ndarray of float64, shape (n_cs,)
    caller : margins.estimators.names.Caller

    Returns
    -------
    list of LeaveOneOut
    """
    codes = _codes_of_groups(groups, valid.X, caller)
    leaving, order = LeavingOut(classifier, valid, sample_weight, codes, caller), np.argsort(Cs)
    results, is_single = {}, len(leaving.members) == len(codes)
    for place, solutions in zip(order, leaving.solve(Cs[order]), strict=True):
        started, n_refits = time.perf_counter(), leaving.n_refits
        bounds = ScoreBounds(leaving, leaving.specification(Cs[place]), solutions)
        bounds.estimate()
        span = float(np.mean(_predicted(bounds) != valid.y)) if is_single else None
        bounds.close(np.full(len(codes), exact))
        results[place] = _result(bounds, span, leaving.n_refits - n_refits, started)
    return [results[place] for place in range(len(Cs))]


def _result(
    bounds: ScoreBounds, span_estimate: float | None, n_refits: int, started: float
) -> LeaveOneOut:
    """The result of bounds that are as close as they are to be: LeaveOneOut."""
    scheme, valid = bounds.scheme, bounds.leaving.valid

    scores, full_scores = (_decision(scheme, values) for values in (bounds.scores, bounds.with_all))
    limits = np.array([bounds.lower, bounds.upper])
    return LeaveOneOut(
        classes=valid.classes,
        y=valid.y,
        scores=scores,
        bounds=limits[:, :, 0] if scheme.n_problems == 1 else limits,
        full_scores=full_scores,
        predictions=_predicted(bounds),
        possible=bounds.possible(),
        margins=_margins(scores, valid.codes),
        full_margins=_margins(full_scores, valid.codes),
        span_estimate=span_estimate,
        n_refits=n_refits,
        seconds=time.perf_counter() - started,
    )


def _decision(scheme: Any, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """What `decision_function` makes of the scores of binary problems."""
    if scheme.has_pairs:  # whose scores are added
        scores = np.clip(scores, -LARGEST, LARGEST)
    return np.asarray(scheme.decision(scores))


def _predicted(bounds: ScoreBounds) -> NDArray[Any]:
    """The labels by the estimates of the scores: ndarray, shape (n_samples,)."""
    classes = bounds.leaving.valid.classes
    predictions: NDArray[Any] = bounds.scheme.predict(bounds.scores, classes)
    return predictions


def _margins(scores: NDArray[np.float64], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """The decision value of each sample's own label, less the largest other one."""
    if scores.ndim == 1:
        return np.asarray(np.where(codes == 1, scores, -scores))
    rows, others = np.arange(len(codes)), scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(scores[rows, codes] - others.max(axis=1))


def finite_scores(result: LeaveOneOut, caller: object) -> NDArray[np.float64]:
    """The scores in columns, for calibration: ndarray of float64, shape (n_samples, n_columns).

    Raises
    ------
    ValueError
        If a class has no other samples than those that one model is without.
    """
    if not np.isfinite(result.scores).all():
        raise ValueError(
            f"calibration of {caller} needs at least 2 samples, or groups, of each class. Got 1."
        )
    return result.scores.reshape(len(result.y), -1)


def check_left_out(classifier: Any, scoring: Any, caller: Caller) -> None:
    """Raise an error for a classifier of which nothing would be proven, or for another metric."""
    if not isinstance(classifier, MarginClassifier):
        raise TypeError(
            f"classifier of {NAME} must be a MarginClassifier. Got {classifier!r}. For a pipeline, "
            "transform X first; for MarginClassifierCV, use a MarginClassifier with the C it found. "
            "Cross-validate others."
        )
    classifier.check_parameters()
    callbacks = vars(classifier).get("_skl_callbacks", [])
    allowed = (
        ("C", "finite", classifier.C, math.isfinite(classifier.C)),
        ("loss", " or ".join(map(repr, LOSSES)), classifier.loss, classifier.loss in LOSSES),
        ("max_time", "None", classifier.max_time, classifier.max_time is None),
        ("callbacks", "none", callbacks, not callbacks),
        ("scoring", "None or 'accuracy' with cv='loo'", scoring, scoring in (None, "accuracy")),
    )
    for name, text, value, is_fine in allowed:
        if not is_fine:
            raise ValueError(f"{name} of {caller} must be {text}. Got {value!r}.")


def _codes_of_groups(groups: Any, X: Any, caller: object) -> NDArray[np.intp]:
    """The group of each sample as 0, 1, ...: ndarray of intp, shape (n_samples,).

    Parameters
    ----------
    groups : array-like, "duplicates" or None
    X : ndarray or CSR matrix, shape (n_samples, n_features)
    caller : object
        Its str is the name of the function, for errors.
    """
    n_samples = X.shape[0]
    if groups is None:
        return np.arange(n_samples)
    if isinstance(groups, str):
        if groups != "duplicates":
            raise ValueError(f"groups of {caller} must be an array or 'duplicates'. Got {groups!r}.")
        codes = _codes_of_rows(X)
        if codes.max() == 0:
            raise ValueError(
                f"groups of {caller} must be at least 2. Got 1: all samples are duplicates."
            )
        return codes
    labels = np.asarray(checked_labels(groups, f"groups of {caller}"))
    if labels.shape != (n_samples,):
        raise ValueError(
            f"groups of {caller} must have one label for each of the {n_samples} samples. Got shape "
            f"{labels.shape}."
        )
    is_missing = labels != labels  # nan, and NaT
    if is_missing.any():
        first = int(is_missing.argmax())
        raise ValueError(
            f"groups of {caller} must hold no missing label. Got {labels[first]!s} for sample {first}."
        )
    codes = np.unique(labels, return_inverse=True)[1].reshape(n_samples)
    if codes.max() == 0:
        raise ValueError(f"groups of {caller} must be at least 2. Got 1: {labels[0].item()!r}.")
    return codes.astype(np.intp)


def _codes_of_rows(X: Any) -> NDArray[np.intp]:
    """The numbers 0, 1, ... of the different rows, for each row: ndarray of intp, shape (n_samples,)."""
    if sparse.issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        ends = X.indptr.tolist()
        rows = (
            X.indices[begin:end].tobytes() + X.data[begin:end].tobytes() for begin, end in pairwise(ends)
        )
    else:
        rows = (row.tobytes() for row in X + 0.0)  # -0.0 is 0.0
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], dtype=np.intp)
