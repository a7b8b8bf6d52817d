"""Confidence intervals of a mean over folds."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from margins.parameters import Interval, check

Values = Sequence[float] | NDArray[Any]
CONFIDENCE = 0.95
# Metrics of scikit-learn between 0 and 1, including their variants, such as f1_macro.
SHARES = ("accuracy", "balanced_accuracy", "precision", "recall", "f1", "jaccard", "roc_auc")


class ConfidenceInterval(NamedTuple):
    """A confidence interval of a mean; nan if there is only one fold.

    Attributes
    ----------
    low, high : float

    See Also
    --------
    t_interval, corrected_interval : The intervals of means.

    Examples
    --------
    >>> ConfidenceInterval(0.25, 0.75).high
    0.75
    """

    low: float
    high: float


def is_share(metric: str) -> bool:
    """Return True if a metric is known to be between 0 and 1."""
    return any(metric == name or metric.startswith(f"{name}_") for name in SHARES)


def within_range(interval: ConfidenceInterval, metric: str, lowest: float = 0.0) -> ConfidenceInterval:
    """Return the part of an interval within the range of a metric."""
    if not is_share(metric) or math.isnan(interval.low):
        return interval
    return ConfidenceInterval(max(interval.low, lowest), min(interval.high, 1.0))


def mean(values: Values) -> float:
    """Return the mean, rounded once, so that it does not depend on the order of the values."""
    try:
        return math.fsum(values) / len(values)
    except (OverflowError, ValueError):  # the sum is too large, or contains inf and -inf
        return float(sum(map(float, values)) / len(values))


def comparable(means: Values) -> NDArray[np.float64]:
    """Return means in 12 digits, so that equal ones are equal in spite of rounded scores of folds."""
    return np.array([float(f"{value:.12g}") for value in means])


def t_interval(values: Values, confidence: float = CONFIDENCE) -> ConfidenceInterval:
    """Return the T interval, mean +/- t sqrt(s**2 / k), t Student's quantile with k - 1 degrees.

    It assumes that the k values are independent. The values of a cross-validation are not: their
    training sets overlap, so the interval is too narrow; see `corrected_interval`.

    Parameters
    ----------
    values : array-like of float, shape (k,)
    confidence : float, in (0, 1)

    Raises
    ------
    ValueError
        If there are no values, or the confidence is out of range.

    Notes
    -----
    **Source**: Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm,
    footnote 5.

    Examples
    --------
    >>> low, high = t_interval([0.9, 0.8, 1.0])
    >>> print(f"{low:.4f} {high:.4f}")
    0.6516 1.1484
    """
    return _interval(values, 1 / max(len(values), 1), confidence)


def corrected_interval(
    values: Values, n_train: ArrayLike, n_test: ArrayLike, confidence: float = CONFIDENCE
) -> ConfidenceInterval:
    """Return the T interval with the variance corrected for overlapping training sets.

    The variance of the mean is (1/k + n_test/n_train) s**2 instead of s**2 / k.

    Parameters
    ----------
    values : array-like of float, shape (k,)
    n_train, n_test : int, or array-like of int, shape (k,)
        Sizes of the training and test sets. If ratios differ, their mean is used.
    confidence : float, in (0, 1)

    Raises
    ------
    ValueError
        As `t_interval`.

    Notes
    -----
    **Source**: Nadeau & Bengio (2003), Inference for the Generalization Error, Machine Learning 52,
    section 3.2 (the corrected resampled t-test).

    Examples
    --------
    >>> low, high = corrected_interval([0.9, 0.8, 1.0], n_train=80, n_test=40)
    >>> print(f"{low:.4f} {high:.4f}")
    0.5072 1.2928
    """
    ratio = float(np.mean(np.asarray(n_test) / np.asarray(n_train)))
    return _interval(values, 1 / max(len(values), 1) + ratio, confidence)


def _interval(values: Values, factor: float, confidence: float) -> ConfidenceInterval:
    if len(values) == 0:
        raise ValueError("values of an interval must be at least 1. Got none.")
    check("confidence", "an interval", confidence, Interval(0, 1, "neither"))
    centre, n_free = mean(values), len(values) - 1
    if n_free == 0:
        return ConfidenceInterval(math.nan, math.nan)
    variance = math.fsum((value - centre) ** 2 for value in values) / n_free
    half = float(stdtrit(n_free, (1 + confidence) / 2)) * math.sqrt(factor * variance)
    return ConfidenceInterval(centre - half, centre + half)
