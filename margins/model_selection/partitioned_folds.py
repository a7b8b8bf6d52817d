"""Folds of samples in partitions: all fits of all folds share the passes over the samples.

Each partition divides the rows of each class among the folds at random. The fit of a fold has penalties
of 0 for the rows that it leaves out. At the end, one pass counts the predictions of all models for the
rows that they left out.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer

from margins.estimators.partitioned import fit_of
from margins.model_selection.fold_paths import FoldFit
from margins.partitions.fit import PartitionedFit
from margins.training.fit import model_of
from margins.training.schemes import scheme_of

DEFAULT_FOLDS = 5
MetricOfCounts = Callable[[NDArray[np.float64], NDArray[Any]], float]
RESPONSE = "predict"  # scikit-learn's name for the method that metrics of predicted labels need


def number_of_folds(cv: Any, caller: object, **unsupported: Any) -> int:
    """Return the number of folds for a parameter `cv`."""
    for name, value in unsupported.items():
        if value is not None:
            raise ValueError(
                f"{name} of {caller} must be None if samples are in partitions. Got {value!r}."
            )
    if cv is None:
        return DEFAULT_FOLDS
    if not isinstance(cv, Integral):
        raise ValueError(
            f"cv of {caller} must be None or an integer >= 2 if samples are in partitions, because each "
            f"partition divides its rows. Got {cv!r}."
        )
    return int(cv)


def metric_of_counts(scoring: Any, caller: object) -> MetricOfCounts:
    """Return the metric as a function of counts, by class and prediction, and of the classes."""
    name = "accuracy" if scoring is None else scoring
    scorer = get_scorer(name) if isinstance(name, str) else name
    if getattr(scorer, "_response_method", None) != RESPONSE:
        raise ValueError(
            f"scoring of {caller} must be None or the name of a metric of predicted labels, such as "
            f"'balanced_accuracy', if samples are in partitions. Got {scoring!r}."
        )

    def metric(counts: NDArray[np.float64], classes: NDArray[Any]) -> float:
        truth, predicted = np.nonzero(counts)
        if len(truth) == 0:
            raise ValueError(
                f"cv of {caller} must be smaller, or chunks larger: each chunk divides its samples "
                "among the folds, and a fold got none."
            )
        value = scorer._score_func(
            classes[truth], classes[predicted], sample_weight=counts[truth, predicted], **scorer._kwargs
        )
        return float(scorer._sign * value)

    return metric


def check_scanned(
    partitioned: PartitionedFit, n_folds: int, metric: MetricOfCounts, caller: object
) -> None:
    """Raise ValueError, before any fit, if the metric or the folds do not suit the samples."""
    scanned = partitioned.scanned
    if n_folds > scanned.n_samples:
        raise ValueError(
            f"cv of {caller} must be at most the number of samples, {scanned.n_samples}. Got {n_folds}."
        )
    try:
        metric(np.eye(len(scanned.classes)), scanned.classes)
    except ValueError as error:
        raise ValueError(
            f"scoring of {caller} must be a metric for {len(scanned.classes)} classes with these "
            f"labels: {error}"
        ) from error


def score_partitions(
    partitioned: PartitionedFit, Cs: NDArray[np.float64], n_folds: int, metric: MetricOfCounts
) -> tuple[NDArray[np.float64], list[list[list[FoldFit]]]]:
    """Return the scores of all folds, shape (n_folds, n_cs), and the fits by fold, C and problem."""
    folds, classes = range(n_folds), partitioned.scanned.classes
    outcomes = partitioned.train(partitioned.problems(Cs, folds))
    n_problems = len(outcomes) // (len(Cs) * n_folds)
    # By C and fold, each with the outcomes of all problems.
    grid = [outcomes[begin : begin + n_problems] for begin in range(0, len(outcomes), n_problems)]
    fitted = [
        fit_of(partitioned.scanned, of_fit, partitioned.absent(index % n_folds))
        for index, of_fit in enumerate(grid)
    ]
    models: list[Any] = [model_of(fit.outcomes, fit.specification, fit.training_set) for fit in fitted]
    counts = partitioned.confusions(
        [(index % n_folds, model.coef, model.intercept) for index, model in enumerate(models)]
    )
    scores = np.array([metric(table, classes) for table in counts]).reshape(len(Cs), n_folds).T
    names = scheme_of("ovr", len(classes)).names(classes)

    def proven(outcome: Any, name: str) -> FoldFit:
        return FoldFit(outcome.certificate, outcome.converged, outcome.n_epochs, "newton", name)

    fits = [
        [list(map(proven, grid[i * n_folds + fold], names)) for i in range(len(Cs))] for fold in folds
    ]
    return scores, fits
