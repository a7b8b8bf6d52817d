"""Executors for the samples that `fit` receives: chunks, memory maps and dask collections."""

import numpy as np

from margins.data.chunks import Chunks, is_dask
from margins.partitions.executors import ChunkExecutor, DaskExecutor
from margins.tuning import TUNING


def is_large_map(X, min_bytes=TUNING.partitions.min_mapped_bytes):
    """Return True if X is a memory map so large that it is read in chunks."""
    return isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes > min_bytes


def executor_of(name, X, y, sample_weight, n_threads):
    """Return a ChunkExecutor or DaskExecutor over samples in partitions; y must match X."""
    if isinstance(X, Chunks):
        check_held_by_chunks(name, y, sample_weight)
        return ChunkExecutor(X, n_threads)
    if is_dask(X):
        return DaskExecutor(dask_parts(name, X, y, sample_weight))
    if y is None:
        raise ValueError(f"y of {name} must hold a label for each row of X. Got None.")
    return ChunkExecutor(Chunks.of_rows(X, y, sample_weight), n_threads)


def check_held_by_chunks(name, y, sample_weight):
    """Raise ValueError if labels or weights are passed with Chunks, which already hold them."""
    for argument, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise ValueError(
                f"{argument} of {name} must be None if X is Chunks, whose chunks are tuples "
                f"(X, y) or (X, y, sample_weight). Got {type(value).__name__}."
            )


def check_dimensions(name, X, n_features=None):
    """Raise ValueError if a dask collection is not a matrix or has the wrong number of features."""
    if len(X.shape) != 2:
        raise ValueError(f"X of {name} must have 2 dimensions. Got {len(X.shape)}.")
    is_other = n_features is not None and X.shape[1] != n_features
    if is_other and not np.isnan(X.shape[1]):  # dask may not know it
        raise ValueError(
            f"X of {name} must have {n_features} features, like the training set. Got {X.shape[1]}."
        )


def dask_parts(name, X, y, sample_weight):
    """Return the partitions of dask collections, as a list of tuples of Delayed."""
    check_dimensions(name, X)
    if y is None:
        raise ValueError(f"y of {name} must hold a label for each row of X. Got None.")
    lengths = None
    if hasattr(X, "chunks"):  # an array; a data frame does not state the lengths of its partitions
        X = X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})
        lengths = X.chunks[0] if not np.isnan(X.chunks[0]).any() else None
    matrices = list(np.ravel(X.to_delayed()))
    labels = _like(name, "y", y, lengths, len(matrices))
    if sample_weight is None:
        return [(*pair, None) for pair in zip(matrices, labels, strict=True)]
    weights = _like(name, "sample_weight", sample_weight, lengths, len(matrices))
    return list(zip(matrices, labels, weights, strict=True))


def _like(name, argument, values, lengths, n_partitions):
    """Return labels or weights in the partitions of X, as a list of Delayed or arrays."""
    if not is_dask(values):
        values = np.asarray(values)
        if lengths is None:
            raise ValueError(
                f"{argument} of {name} must be a dask collection if the lengths of the partitions of "
                f"X are unknown. Got {type(values).__name__}. Allowed: an array or series with the "
                "partitions of X."
            )
        if values.shape[:1] != (sum(lengths),):
            raise ValueError(
                f"{argument} of {name} must have a number for each of the {sum(lengths)} rows of X. "
                f"Got shape {values.shape}."
            )
        return np.split(values, np.cumsum(lengths)[:-1])
    if hasattr(values, "chunks"):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(
                f"{argument} of {name} must have 1 dimension. Got a dask array of shape {values.shape}."
            )
        if lengths is not None and not np.isnan(values.chunks[0]).any():
            if sum(lengths) != values.shape[0]:
                raise ValueError(
                    f"{argument} of {name} must have a number for each of the {sum(lengths)} rows of X. "
                    f"Got {values.shape[0]}."
                )
            values = values.rechunk((lengths,))
    parts = list(np.ravel(values.to_delayed()))
    if len(parts) != n_partitions:
        raise ValueError(
            f"{argument} of {name} must have the {n_partitions} partitions of X. Got {len(parts)}."
        )
    return parts
