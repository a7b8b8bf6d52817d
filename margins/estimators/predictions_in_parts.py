"""Predictions of samples that are not in memory: lazily for dask collections, one chunk at a time."""

import math

import numpy as np

from margins.data.chunks import Chunks, read_chunk
from margins.data.validation import check_labels, n_rows_of, read_labels
from margins.partitions.samples import named
from margins.partitions.sources import check_dimensions, check_held_by_chunks, dask_parts


def in_parts(estimator, method, X, dtype, n_columns=None):
    """Return the result of a method for samples in parts: an array or, for dask, a dask array."""
    name, function = estimator._display_name(method), getattr(estimator, method)
    if isinstance(X, Chunks):
        return by_chunks(X, function, name)
    check_dimensions(name, X, estimator.n_features_in_)
    return by_blocks(X, function, dtype, n_columns)


def by_blocks(X, function, dtype, n_columns=None):
    """Apply a function of rows lazily to the parts of a dask collection, and return a dask array."""
    import dask
    import dask.array as da

    lengths = [math.nan] * X.npartitions
    if hasattr(X, "chunks"):
        X = X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})
        lengths = X.chunks[0]
    columns = () if n_columns is None else (n_columns,)

    def apply(part):
        if part.shape[0] == 0:
            return np.empty((0, *columns), dtype)
        return function(part)

    delayed = dask.delayed(apply, pure=False, traverse=False)
    parts = [
        da.from_delayed(delayed(part), (length, *columns), dtype=dtype)
        for part, length in zip(np.ravel(X.to_delayed()), lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def by_chunks(chunks, function, name):
    """Apply a function of rows to one chunk at a time, and return all results (ndarray)."""
    parts = []
    for index in range(len(chunks)):
        X, _, _ = read_chunk(chunks, index, name)
        with named(f"chunk {index} of {name}"):
            if n_rows_of(X) > 0:
                parts.append(function(X))
        del X
        chunks.release(index)
    if not parts:
        raise ValueError(f"X of {name} must hold samples. Got only empty chunks.")
    return np.concatenate(parts)


def accuracy_in_parts(estimator, X, y, sample_weight):
    """Return the accuracy of a fitted classifier on a dask collection or on chunks (float)."""
    name = estimator._display_name("score")
    if isinstance(X, Chunks):
        check_held_by_chunks(name, y, sample_weight)
        sums = [
            _correct_weight(estimator, f"chunk {index} of {name}", *read_chunk(X, index, name))
            for index in range(len(X))
        ]
    else:
        import dask

        parts = dask_parts(name, X, y, sample_weight)
        delayed = dask.delayed(_correct_weight, pure=False, traverse=False)
        sums = dask.compute(
            *[delayed(estimator, f"chunk {index} of {name}", *part) for index, part in enumerate(parts)]
        )
    correct, total = np.sum(sums, axis=0)
    if not total > 0:
        raise ValueError(f"{name} must be given a sample of positive weight. Got none.")
    return float(correct / total)


def _correct_weight(estimator, chunk, X, y, weight):
    """Return the weight of the correctly classified samples, and the weight of all samples."""
    with named(chunk):
        if n_rows_of(X) == 0:
            return 0.0, 0.0
        labels = read_labels(n_rows_of(X), y, weight, chunk)
        both = [*labels.classes.tolist(), *estimator.classes_.tolist()]
        check_labels(np.array(both, object), f"y of {chunk}, with the classes of the model,")
        is_correct = estimator.predict(X) == labels.classes[labels.codes]
    weight = np.ones(len(is_correct)) if labels.weight is None else labels.weight
    return float(weight @ is_correct), float(weight.sum())
