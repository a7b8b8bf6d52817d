"""Leave-one-out: the proven error of one refit per sample, at the cost of a few refits."""

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
from margins.data.validation import ValidSamples, validate_samples
from margins.decremental.scores import LeaveOutProblems, ScoreBounds
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.names import MessageName
from margins.losses import LOSSES
from margins.model_selection.folds import codes_of_groups
from margins.optional import require

NAME = "leave_one_out"
# Finite value that replaces inf.
LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Predictions for samples by models that have not seen them, each left out alone or with its group.

    Attributes
    ----------
    classes : ndarray, shape (n_classes,)
    y : ndarray, shape (n_samples,)
        The labels passed.
    scores : ndarray of float64, shape (n_samples,) for two classes, else (n_samples, n_classes)
        Decision values of each sample by the model without it, as `decision_function` returns them.
        If less work proves a prediction, they are estimates from one step of the solution, within
        `bounds`. Infinite if the class has no other samples.
    bounds : ndarray of float64, shape (2, n_samples) for two classes, else (2, n_samples, n_problems)
        Proven lower and upper bounds; with one-vs-one, for the score of each pair of classes.
    full_scores : ndarray of float64, of the shape of `scores`
        Decision values by the model with all samples.
    predictions : ndarray, shape (n_samples,)
    possible : ndarray of bool, shape (n_samples, n_classes)
        True for the labels that `bounds` do not exclude.
    margins, full_margins : ndarray of float64, shape (n_samples,)
        Decision value of a sample's label minus the largest other decision value; with two classes, the
        signed decision value. `margins` are by the model without the sample, `full_margins` by the
        model with all samples.
    span_estimate : float or None
        Estimate of the error from one step of the solution for each sample (Vapnik & Chapelle 2000);
        None with groups of several samples.
    n_refits : int
        Number of binary problems that had to be refitted without a sample or group.
    seconds : float
        Wall-clock time.

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
        """Samples for which every optimal model without them predicts the same label.

        ndarray of bool, shape (n_samples,).
        """
        return np.asarray(self.possible.sum(axis=1) == 1)

    @property
    def error(self) -> float:
        """Share of the samples that are predicted wrongly, not weighted: float."""
        return float(np.mean(self.predictions != self.y))

    @property
    def error_interval(self) -> tuple[float, float]:
        """Proven bounds of the error, which are equal if all predictions are proven."""
        is_possible = self.possible[np.arange(len(self.y)), np.searchsorted(self.classes, self.y)]
        n_possible = self.possible.sum(axis=1)
        return float(np.mean(~is_possible)), float(np.mean(n_possible > is_possible))

    @property
    def influence(self) -> NDArray[np.float64]:
        """Increase in each sample's margin if it is in the training set: ndarray, shape (n_samples,).

        It is 0 for a sample that is not a support vector, and largest for outliers and label errors.
        """
        return self.full_margins - self.margins

    def to_frame(self) -> Any:
        """Return a pandas.DataFrame with one row for each sample; needs pandas."""
        columns = {
            "label": self.y,
            "prediction": self.predictions,
            "is_proven": self.is_proven,
            "margin": self.margins,
            "full_margin": self.full_margins,
            "influence": self.influence,
        }
        return require("to_frame", "pandas").DataFrame(columns)

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
    """Predict each sample as if the classifier had been trained without it, with a proof.

    One fit to all samples decides most predictions. For the others the exact solution is followed until
    they are removed. A model is trained again only if this fails.

    Parameters
    ----------
    classifier : MarginClassifier
        Its parameters are read, and it is not changed. `C` must be finite, `loss` 'squared_hinge' or
        'hinge' and `max_time` None, without callbacks. `eps` is not used: the solutions are exact, even
        if `max_iter` ends the fit.
    X : array-like or sparse matrix, shape (n_samples, n_features)
        With a kernel, or more features than samples, two matrices of all pairs must fit into memory.
    y : array-like, shape (n_samples,)
    sample_weight : array-like of float, shape (n_samples,), optional
        Factor of C for each sample. The error counts each sample once, even samples of weight 0.
    groups : array-like, shape (n_samples,), or "duplicates", optional
        Samples of one group are left out together; "duplicates": samples
        with equal features form a group.
    exact : bool, default=False
        True: all `scores` are exact, up to the rounding within `bounds`, even if a prediction can be
        proven without them.

    Raises
    ------
    TypeError
        If `classifier` is not a MarginClassifier, or X is not in memory.
    ValueError
        If a parameter or the data are not allowed, before any training; or if a kernel is not positive
        semidefinite.
    MemoryError
        If the matrices of all pairs do not fit into memory.

    Notes
    -----
    Class weights and kernel parameters that depend on the data are computed from all samples. If a group
    contains all samples of a class, the other classes are predicted for it. The bounds and their proof
    are in docs/leave_one_out.md.

    **Source**: Cauwenberghs & Poggio (2000), section 3; Vapnik & Chapelle (2000); Jaakkola & Haussler
    (1999), Probabilistic kernel regression models, for bounds without additional work.

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
    caller = MessageName(classifier, NAME)
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
    caller: MessageName,
    exact: bool,
) -> list[LeaveOneOut]:
    """Return the results for some values of C; each fit starts from the fit for the next smaller C."""
    codes = _codes_of_groups(groups, valid.X, caller)
    leaving, order = LeaveOutProblems(classifier, valid, sample_weight, codes, caller), np.argsort(Cs)
    results, is_single = {}, len(leaving.members) == len(codes)
    for index, solutions in zip(order, leaving.solve(Cs[order]), strict=True):
        started, n_refits = time.perf_counter(), leaving.n_refits
        bounds = ScoreBounds(leaving, leaving.specification(Cs[index]), solutions)
        bounds.estimate()
        span = float(np.mean(_predicted(bounds) != valid.y)) if is_single else None
        bounds.close(np.full(len(codes), exact))
        results[index] = _result(bounds, span, leaving.n_refits - n_refits, started)
    return [results[index] for index in range(len(Cs))]


def _result(
    bounds: ScoreBounds, span_estimate: float | None, n_refits: int, started: float
) -> LeaveOneOut:
    """Return the result for final bounds (LeaveOneOut)."""
    scheme, valid = bounds.scheme, bounds.leaving.valid
    both = bounds.scores, bounds.with_all
    if scheme.has_pairs:  # `decision` adds scores, which must be finite
        both = tuple(np.clip(scores, -LARGEST, LARGEST) for scores in both)
    scores, full_scores = (np.asarray(scheme.decision(values)) for values in both)
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


def _predicted(bounds: ScoreBounds) -> NDArray[Any]:
    """Return the labels predicted from the estimated scores (ndarray, shape (n_samples,))."""
    return np.asarray(bounds.scheme.predict(bounds.scores, bounds.leaving.valid.classes))


def _margins(scores: NDArray[np.float64], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the decision value of each sample's label minus the largest other decision value."""
    if scores.ndim == 1:
        return np.asarray(np.where(codes == 1, scores, -scores))
    rows, other_scores = np.arange(len(codes)), scores.copy()
    other_scores[rows, codes] = -np.inf
    return np.asarray(scores[rows, codes] - other_scores.max(axis=1))


def finite_scores(result: LeaveOneOut, caller: object) -> NDArray[np.float64]:
    """Return the scores in columns, for calibration (ndarray of float64, (n_samples, n_columns))."""
    if not np.isfinite(result.scores).all():
        raise ValueError(
            f"calibration of {caller} needs at least 2 samples of positive weight, or groups with such "
            "samples, of each class. Got fewer of a class."
        )
    return result.scores.reshape(len(result.y), -1)


def check_left_out(classifier: Any, scoring: Any, caller: MessageName) -> None:
    """Raise an error if leave-one-out does not support the classifier or the metric."""
    if not isinstance(classifier, MarginClassifier):
        raise TypeError(
            f"classifier of {NAME} must be a MarginClassifier. Got {classifier!r}. For a pipeline, "
            "transform X first; for MarginClassifierCV, use a MarginClassifier with its `C_`. Use "
            "cross-validation for other classifiers."
        )
    classifier.check_parameters()
    callbacks = vars(classifier).get("_skl_callbacks", [])
    allowed = (
        ("C", "finite", classifier.C, math.isfinite(classifier.C)),
        ("loss", " or ".join(map(repr, LOSSES)), classifier.loss, classifier.loss in LOSSES),
        ("penalty", "'l2'", classifier.penalty, classifier.regulariser() is None),
        ("max_time", "None", classifier.max_time, classifier.max_time is None),
        ("callbacks", "none", callbacks, not callbacks),
        ("scoring", "None or 'accuracy' with cv='loo'", scoring, scoring in (None, "accuracy")),
    )
    for name, text, value, is_fine in allowed:
        if not is_fine:
            raise ValueError(f"{name} of {caller} must be {text}. Got {value!r}.")


def _codes_of_groups(groups: Any, X: Any, caller: object) -> NDArray[np.intp]:
    """Return the group of each sample as 0, 1, ... (ndarray of intp, shape (n_samples,))."""
    n_samples = X.shape[0]
    if groups is None:
        return np.arange(n_samples)
    if isinstance(groups, str):
        if groups != "duplicates":
            raise ValueError(f"groups of {caller} must be an array or 'duplicates'. Got {groups!r}.")
        codes = _codes_of_rows(X)
        if codes.max() == 0:
            raise ValueError(
                f"groups of {caller} must contain at least 2 groups. Got 1: all samples are duplicates."
            )
        return codes
    return np.asarray(codes_of_groups(groups, n_samples, caller))


def _codes_of_rows(X: Any) -> NDArray[np.intp]:
    """Number the different rows 0, 1, ..., and return the number of each row (ndarray of intp)."""
    if sparse.issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        ends = X.indptr.tolist()
        rows = (
            X.indices[begin:end].tobytes() + X.data[begin:end].tobytes() for begin, end in pairwise(ends)
        )
    else:
        rows = (row.tobytes() for row in X + 0.0)  # + 0.0 turns -0.0 into 0.0
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], dtype=np.intp)
