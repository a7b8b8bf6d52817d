"""Fits of samples that are not in memory: dask collections, memory maps, chunks.

`MarginClassifier` makes Newton steps of sums over the partitions. The algorithms of rules process one
partition after the other: only what a run reads of X differs, so that their fit is the one of
`BaseMarginClassifier` over a `StreamedMatrix`.
"""

import math
import time
import warnings
from typing import TYPE_CHECKING, NamedTuple

from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from margins.data.chunks import Chunks, check_in_memory, is_in_parts
from margins.estimators.callbacks import FRAMES
from margins.estimators.messages import not_converged
from margins.estimators.multiclass import seeds_of
from margins.kernels import LINEAR
from margins.partitions.fit import Limits, Request, fit_partitions
from margins.partitions.sources import executor_of, is_large_map
from margins.partitions.streamed import scan

if TYPE_CHECKING:
    from margins.estimators.base import BaseMarginClassifier as Fitting
else:
    Fitting = object  # the classifier that inherits the mixin is one


class FittedSamples(NamedTuple):
    """What fitted attributes are collected from, where the samples themselves are not in memory."""

    n_samples: int


def why_not_streamed(estimator):
    """Why an estimator is not fitted to samples in partitions: (parameter, allowed, got) or None.

    Parameters
    ----------
    estimator : BaseMarginClassifier
    """
    kernel = estimator.kernel
    if not (isinstance(kernel, str) and kernel == LINEAR.name):
        return "kernel", "'linear'", kernel
    if getattr(estimator, "warm_start", False):
        return "warm_start", "False", True
    callbacks = getattr(estimator, "_skl_callbacks", None)
    return ("set_callbacks", "without callbacks", callbacks) if callbacks else None


def is_streamed(estimator, X):
    """True if the samples are in partitions.

    Raises
    ------
    ValueError
        If the algorithm or a parameter does not allow that.
    """
    if not is_in_parts(X):
        return False
    if not estimator._streams_partitions:
        check_in_memory(X, f"X of {estimator._display_name('fit')}")
    why_not = estimator._why_not_in_partitions()
    if why_not is not None:
        name, allowed, got = why_not
        kind = "Chunks" if isinstance(X, Chunks) else "a dask collection"
        raise ValueError(
            f"{name} of {estimator._display_name('fit')} must be {allowed} if X is {kind}, whose "
            f"samples are not in memory together. Got {got!r}."
        )
    return True


def read_samples(estimator, X, y, sample_weight):
    """Read samples in partitions for the first time; the estimator gets `classes_` and its features.

    Returns
    -------
    X : StreamedMatrix
    codes : ndarray of int, shape (m,)
    sample_weight : ndarray of float64, shape (m,), or None
    """
    name = estimator._display_name("fit")
    found = scan(executor_of(name, X, y, sample_weight, 1), name)
    set_features(estimator, found.scanned)
    return found.X, found.codes, found.weight


def set_features(estimator, scanned):
    """Set the attributes about classes and features that the first reading has found."""
    estimator.__dict__.pop("feature_names_in_", None)
    if scanned.feature_names is not None:
        estimator.feature_names_in_ = scanned.feature_names
    estimator.classes_, estimator.n_features_in_ = scanned.classes, scanned.n_features


def takes_partitions(estimator, X):
    """True if samples are to be fitted in partitions by Newton steps; see `is_streamed`.

    Parameters
    ----------
    estimator : MarginClassifier
    """
    return is_streamed(estimator, X) or (is_large_map(X) and estimator._why_not_in_partitions() is None)


def fit_in_partitions(estimator, X, y, sample_weight):
    """Fit an estimator to samples in partitions, and set its fitted attributes."""
    name = estimator._display_name("fit")
    end = math.inf if estimator.max_time is None else time.perf_counter() + estimator.max_time
    write = estimator._reporter() if estimator.verbose else None
    request = Request(
        name=name,
        C=float(estimator.C),
        loss=estimator.loss,
        class_weight=estimator.class_weight,
        sqrho=estimator._sqrho,
        seed=seeds_of(estimator.random_state, 1)[0],
        limits=Limits(estimator.eps, estimator.max_iter, estimator.max_time, end, write),
        check_penalties=lambda weights: estimator._penalties(
            weights[(weights > 0) & (weights < math.inf)]
        ),
    )
    scanned, runs = fit_partitions(
        executor_of(name, X, y, sample_weight, effective_n_jobs(estimator.n_jobs)), request
    )
    set_features(estimator, scanned)
    estimator.kernel_ = LINEAR
    estimator._forget()
    estimator._collect(runs, FittedSamples(scanned.n_samples))
    for index, run in enumerate(runs):
        if not run.converged:
            which = "" if len(runs) == 1 else f" for class {scanned.classes.tolist()[index]!r}"
            text = not_converged(estimator, run, which)
            warnings.warn(text, ConvergenceWarning, stacklevel=4 + FRAMES)


class PartitionsMixin(Fitting):
    """Fits of samples in partitions by Newton steps, of a classifier that fits others in memory."""

    _frames = 1

    def _why_not_in_partitions(self):
        if math.isinf(self.C):
            return "C", "finite", self.C
        if self.solver not in ("auto", "newton"):
            return "solver", "'auto' or 'newton'", self.solver
        return super()._why_not_in_partitions()

    def _fit(self, X, y, sample_weight):
        if takes_partitions(self, X):
            fit_in_partitions(self, X, y, sample_weight)
        else:
            super()._fit(X, y, sample_weight)
