"""Fits and predictions of samples that are not in memory: dask collections, memory maps, chunks."""

import math
import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from margins.data.chunks import Chunks, is_dask, is_in_parts, read_chunk
from margins.data.validation import check_labels
from margins.estimators.callbacks import FRAMES
from margins.estimators.messages import not_converged
from margins.estimators.multiclass import seeds_of
from margins.kernels import LINEAR
from margins.partitions.fit import Limits, Request, fit_partitions
from margins.partitions.samples import n_rows_of, named, read_labels
from margins.partitions.sources import check_dimensions, dask_parts, executor_of, is_large_map

if TYPE_CHECKING:
    from margins.estimators.base import BaseMarginClassifier as Fitting
else:
    Fitting = object  # the classifier that inherits the mixin is one


class FittedSamples(NamedTuple):
    """What fitted attributes are collected from, where the samples themselves are not in memory."""

    n_samples: int


def why_not_partitioned(estimator):
    """Why an estimator is not fitted to samples in partitions: (parameter, allowed, got) or None.

    Parameters
    ----------
    estimator : MarginClassifier
    """
    kernel = estimator.kernel
    if not (isinstance(kernel, str) and kernel == LINEAR.name):
        return "kernel", "'linear'", kernel
    if math.isinf(estimator.C):
        return "C", "finite", estimator.C
    if estimator.solver not in ("auto", "newton"):
        return "solver", "'auto' or 'newton'", estimator.solver
    if estimator.warm_start:
        return "warm_start", "False", True
    callbacks = getattr(estimator, "_skl_callbacks", None)
    return ("set_callbacks", "without callbacks", callbacks) if callbacks else None


def takes_partitions(estimator, X):
    """True if samples are to be fitted in partitions.

    Raises
    ------
    ValueError
        If X is in partitions, and a parameter does not allow that.
    """
    if not is_in_parts(X):
        return is_large_map(X) and why_not_partitioned(estimator) is None
    why_not = why_not_partitioned(estimator)
    if why_not is not None:
        name, allowed, got = why_not
        kind = "Chunks" if isinstance(X, Chunks) else "a dask collection"
        raise ValueError(
            f"{name} of {estimator._display_name('fit')} must be {allowed} if X is {kind}, whose "
            f"samples are not in memory together. Got {got!r}."
        )
    return True


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
    estimator.__dict__.pop("feature_names_in_", None)
    if scanned.feature_names is not None:
        estimator.feature_names_in_ = scanned.feature_names
    estimator.classes_, estimator.n_features_in_ = scanned.classes, scanned.n_features
    estimator.kernel_ = LINEAR
    estimator._forget()
    estimator._collect(runs, FittedSamples(scanned.n_samples))
    for index, run in enumerate(runs):
        if not run.converged:
            which = "" if len(runs) == 1 else f" for class {scanned.classes.tolist()[index]!r}"
            text = not_converged(estimator, run, which)
            warnings.warn(text, ConvergenceWarning, stacklevel=4 + FRAMES + estimator._frames)


def by_blocks(X, function, dtype, n_columns=None):
    """A function of rows, applied lazily to the parts of a dask collection: dask array.

    Parameters
    ----------
    X : array or data frame of dask
    function : callable
        Of a part of X; returns an array of as many rows.
    dtype : dtype
        Of its results.
    n_columns : int, optional
        How many columns they have; None: one dimension.
    """
    import dask
    import dask.array as da

    lengths = [math.nan] * X.npartitions
    if hasattr(X, "chunks"):
        X = X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})
        lengths = X.chunks[0]
    columns = () if n_columns is None else (n_columns,)

    def of_part(part):
        if part.shape[0] == 0:
            return np.empty((0, *columns), dtype)
        return function(part)

    applied = dask.delayed(of_part, pure=False, traverse=False)
    parts = [
        da.from_delayed(applied(part), (length, *columns), dtype=dtype)
        for part, length in zip(np.ravel(X.to_delayed()), lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def accuracy_of(estimator, X, y, sample_weight):
    """The accuracy on a dask collection or on chunks: float."""
    name = estimator._display_name("score")
    if isinstance(X, Chunks):
        for parameter, given in (("y", y), ("sample_weight", sample_weight)):
            if given is not None:
                raise ValueError(
                    f"{parameter} of {name} must be None if X is Chunks, "
                    f"which hold the labels and weights. Got {type(given).__name__}."
                )
        sums = [
            _right(estimator, f"chunk {index} of {name}", *read_chunk(X, index, name))
            for index in range(len(X))
        ]
    else:
        import dask

        parts = dask_parts(name, X, y, sample_weight)
        right = dask.delayed(_right, pure=False, traverse=False)
        sums = dask.compute(
            *[right(estimator, f"chunk {index} of {name}", *part) for index, part in enumerate(parts)]
        )
    right, total = np.sum(sums, axis=0)
    if not total > 0:
        raise ValueError(f"{name} must be given a sample of positive weight. Got none.")
    return float(right / total)


def _right(estimator, chunk, X, y, weight):
    """The weight of the samples that are classified correctly, and that of all."""
    with named(chunk):
        if n_rows_of(X) == 0:
            return 0.0, 0.0
        labels = read_labels(n_rows_of(X), y, weight, chunk)
        both = [*labels.classes.tolist(), *estimator.classes_.tolist()]
        check_labels(np.array(both, object), f"y of {chunk}, with the classes of the model,")
        is_right = estimator.predict(X) == labels.classes[labels.codes]
    weight = np.ones(len(is_right)) if labels.weight is None else labels.weight
    return float(weight @ is_right), float(weight.sum())


class PartitionsMixin(Fitting):
    """Fits and predictions of samples in partitions, of a classifier that fits others in memory."""

    _frames = 1

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train, and compute certificates.

        Parameters
        ----------
        X : array-like, sparse matrix, array or data frame of dask, or Chunks, (n_samples, n_features)
            float32, float64 and CSR are used without a copy, in any memory layout; anything else is
            converted. Samples that are not in memory together stay where they are: see
            `margins.data.chunks.Chunks`.
        y : array-like, or array or series of dask, shape (n_samples,)
            Labels of any type, of at least two classes. None only with chunks, which hold them.
        sample_weight : like y, optional
            Multiplies C of every sample. Samples of weight 0 are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data are not allowed; before any training, or, of chunks, when the one
            that is not allowed is first read.
        RuntimeError
            If the estimator is in use by another thread.

        Warns
        -----
        ConvergenceWarning
            If the fit ends before its accuracy is proven; it states the certificate reached.
        """
        return super().fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        if takes_partitions(self, X):
            fit_in_partitions(self, X, y, sample_weight)
        else:
            super()._fit(X, y, sample_weight)

    def decision_function(self, X: Any) -> Any:
        """Signed scores: ``X @ coef_.T + intercept_``, or those of the kernel.

        Parameters
        ----------
        X : array-like, sparse matrix, or array or data frame of dask, shape (n_samples, n_features)
            With ``kernel="precomputed"``: K(x, training sample), shape (n_samples, n_training_samples).

        Returns
        -------
        ndarray of float64, shape (n_samples,) for two classes, else (n_samples, n_classes)
            Of a dask collection an array of dask, not computed yet.
        """
        if not is_dask(X):
            return super().decision_function(X)
        check_is_fitted(self)
        check_dimensions(self._display_name("decision_function"), X, self.n_features_in_)
        n_problems = len(self.intercept_)
        scores = super().decision_function
        return by_blocks(X, scores, np.float64, None if n_problems == 1 else n_problems)

    def predict(self, X: Any) -> Any:
        """The class with the largest score; for two classes, the second if its score is positive.

        Parameters
        ----------
        X : array-like, sparse matrix, or array or data frame of dask, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
            Of a dask collection an array of dask, not computed yet.
        """
        if not is_dask(X):
            return super().predict(X)
        check_is_fitted(self)
        check_dimensions(self._display_name("predict"), X, self.n_features_in_)
        return by_blocks(X, super().predict, self.classes_.dtype)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy: the share of the samples whose class is predicted.

        Parameters
        ----------
        X : array-like, sparse matrix, array or data frame of dask, or Chunks
        y : array-like, or array or series of dask, shape (n_samples,)
            None with chunks, which hold the labels.
        sample_weight : like y, optional

        Returns
        -------
        float
            Computed at once, also of dask collections.
        """
        if not is_in_parts(X):
            return super().score(X, y, sample_weight)
        check_is_fitted(self)
        return accuracy_of(self, X, y, sample_weight)
