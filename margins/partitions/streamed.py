"""Samples in partitions, of which one after the other is in memory, for algorithms of single updates.

The first reading, `scan`, keeps of every sample what a run needs all the time: its class, its weight and
|x_k|^2. `StreamedMatrix` then takes the place of X, and `StreamedRows` that of the rows of X: whatever
reads all rows reads one partition after the other. Rows of an active set are copied (`ActiveRows`).
"""

from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _get_feature_names

from margins._sparse import Rows
from margins.data._structure import all_ones
from margins.data.binary_data import augmented_sqnorms, csr_arrays, rows_of
from margins.partitions._held_rows import HeldRows
from margins.partitions.fit import Scanned, merged
from margins.partitions.samples import Counts, codes_of, n_rows_of, named, read_labels, read_matrix
from margins.tuning import TUNING


class Part(NamedTuple):
    """The samples of one partition."""

    partition: int  # its index
    n_rows: int  # rows that it has
    # begin, end: the range of its samples among all
    begin: int
    end: int
    places: np.ndarray | None  # int, shape (end - begin,), or None: which rows they are; None: all


class Storage(NamedTuple):
    """How copies of rows are stored, so that they hold those of every partition."""

    is_sparse: bool
    dtype: np.dtype
    # n_stored, longest: numbers stored by all rows, and by one at most
    n_stored: int
    longest: int


class StreamedSamples(NamedTuple):
    """What the first reading keeps."""

    X: "StreamedMatrix"
    codes: np.ndarray  # int, shape (m,): of the classes, as `scanned` has them
    weight: np.ndarray | None  # float64, shape (m,), or None
    scanned: Scanned


class StreamedMatrix:
    """X, of which one partition at a time is read.

    Parameters
    ----------
    executor : margins.partitions.executors.ChunkExecutor or DaskExecutor
    name : str
        The method's, for errors.
    parts : list of Part
    sqnorms : ndarray of float64, shape (m,)
        |x_k|^2.
    n_features : int
    storage : Storage

    Attributes
    ----------
    parts, storage
        As given.
    shape : tuple of int
    """

    def __init__(self, executor, name, parts, sqnorms, n_features, storage):
        self._executor, self._name, self._sqnorms = executor, name, sqnorms
        self.parts, self.storage = parts, storage
        self.shape = len(sqnorms), n_features

    def __getitem__(self, kept):
        """Some of the samples, ndarray of int, ascending: StreamedMatrix."""
        parts, begin = [], 0
        for part in self.parts:
            first, last = np.searchsorted(kept, [part.begin, part.end])
            places = kept[first:last] - part.begin
            if len(places) > 0:
                places = places if part.places is None else part.places[places]
                end = begin + len(places)
                parts.append(Part(part.partition, part.n_rows, begin, end, places))
                begin = end
        sqnorms = self._sqnorms[kept]
        return StreamedMatrix(self._executor, self._name, parts, sqnorms, self.shape[1], self.storage)

    def sqnorms(self):
        """|x_k|^2: ndarray of float64, shape (m,)."""
        return self._sqnorms

    def rows(self):
        """Its rows, for one thread: StreamedRows."""
        return StreamedRows(self)

    def matrices(self):
        """Read one partition after the other: ndarrays or CSR matrices."""
        for part in self.parts:
            with self.read(part) as X:
                yield X

    @contextmanager
    def read(self, part):
        """A context with the matrix of a partition."""
        name = f"X of chunk {part.partition} of {self._name}"
        X = self._executor.read(part.partition, self._name, rows_only=True)[0]
        try:
            X = read_matrix(X, name, self.shape[1])
            if X.shape[0] != part.n_rows:
                raise ValueError(
                    f"{name} must be the same whenever it is read. Got {X.shape[0]} rows after "
                    f"{part.n_rows}."
                )
            yield X
        finally:
            del X
            self._executor.release(part.partition)


class StreamedRows(HeldRows):
    """The rows of samples in partitions; those of one partition, or copies of some rows, are held.

    One run at a time reads them. `copies` are the rows of an active set.
    """

    def __init__(self, X):
        super().__init__(*X.shape, X.storage.n_stored)
        self.X, self.copies = X, ActiveRows(X)

    def sqnorms(self):
        """See `Rows.sqnorms`; of the first reading."""
        return self.X.sqnorms()

    def longest(self):
        """See `Rows.longest`."""
        return self.X.storage.longest

    @contextmanager
    def reading(self, part):
        """A context in which the rows of a partition are held; its value is their matrix."""
        with self.X.read(part) as matrix:
            try:
                self.hold(rows_of(matrix), slice(part.begin, part.end), part.places)
                yield matrix
            finally:
                self.release()
                del matrix

    @contextmanager
    def holding_copies(self):
        """A context in which the copies are held."""
        try:
            self.hold(self.copies.rows(), self.copies.numbers())
            yield
        finally:
            self.release()

    def parts(self):
        """See `Rows.parts`: reads one partition after the other."""
        for part in self.X.parts:
            with self.reading(part):
                yield part.begin, part.end


class ActiveRows:
    """Copies of rows of an active set, up to a limit in bytes; later ones are left out.

    Parameters
    ----------
    X : StreamedMatrix
    max_bytes : int, optional
    """

    def __init__(self, X, max_bytes=TUNING.partitions.active_bytes):
        storage, d = X.storage, X.shape[1]
        itemsize = storage.dtype.itemsize
        self._n_features, self._is_sparse = d, storage.is_sparse
        self.clear()
        # Pages of memory that are never written cost nothing.
        if self._is_sparse:
            columns = np.int32 if d <= np.iinfo(np.int32).max else np.int64
            n = max_bytes // (itemsize + np.dtype(columns).itemsize)
            n = min(n, storage.n_stored, np.iinfo(np.int32).max)
            self._values, self._columns = np.empty(n, storage.dtype), np.empty(n, columns)
        else:
            self._values = np.empty((min(max_bytes // (itemsize * d), X.shape[0]), d), storage.dtype)

    def clear(self):
        """Remove all copies; the memory stays, because to get it again takes longer than to fill it."""
        self._numbers, self._left_out, self._starts = [], [], [np.zeros(1, np.int32)]
        self._n = self._n_stored = 0

    def __len__(self):
        return self._n

    def numbers(self):
        """Their numbers among all rows, in the order in which they were added: ndarray of int32."""
        return np.concatenate(self._numbers) if self._numbers else np.zeros(0, np.int32)

    def left_out(self):
        """The numbers of rows that were beyond the limit: ndarray of int32."""
        return np.concatenate(self._left_out) if self._left_out else np.zeros(0, np.int32)

    def add(self, matrix, part, numbers):
        """Copy rows of a partition, by their numbers among all rows, up to the limit."""
        places = numbers - part.begin
        places = places if part.places is None else part.places[places]
        n = self._add_sparse(matrix, places) if self._is_sparse else self._add_dense(matrix, places)
        self._numbers.append(numbers[:n])
        self._left_out.append(numbers[n:])
        self._n += n

    def _add_dense(self, matrix, places):
        free = self._values[self._n :][: len(places)]
        places = places[: len(free)]
        if matrix.dtype == free.dtype:
            np.take(matrix, places, axis=0, out=free, mode="clip")  # "raise" would copy them twice
        else:
            free[:] = matrix[places]
        return len(free)

    def _add_sparse(self, matrix, places):
        copied = matrix[places]
        values, columns, starts = csr_arrays(sparse.csr_matrix(copied))
        begin = self._n_stored
        n = int(np.searchsorted(starts, len(self._values) - begin, side="right")) - 1
        end = begin + int(starts[n])
        self._values[begin:end], self._columns[begin:end] = values[: starts[n]], columns[: starts[n]]
        self._starts.append(begin + starts[1 : n + 1])
        self._n_stored = end
        return n

    def rows(self):
        """They as rows, in the order in which they were added: Rows."""
        d, n = self._n_features, self._n
        if not self._is_sparse:
            return Rows(self._values[:n].reshape(-1), n, d, row_step=d)
        values, columns = self._values[: self._n_stored], self._columns[: self._n_stored]
        starts = np.concatenate(self._starts).astype(columns.dtype, copy=False)
        return Rows(None if all_ones(values) else values, n, d, columns, starts)


def scan(executor, name):
    """Read and check all partitions: StreamedSamples."""
    parts, sqnorms, labels, counts, kinds, begin = [], [], [], [], [], 0
    for index in range(executor.n_partitions):
        X, y, weight = executor.read(index, name)
        try:
            chunk = f"chunk {index} of {name}"
            with named(chunk):
                found = _scanned(X, y, weight, chunk) if n_rows_of(X) > 0 else None
            if found is not None:
                for several, one in zip((sqnorms, labels, counts, kinds), found, strict=True):
                    several.append(one)
                end = begin + len(found[0])
                parts.append(Part(index, end - begin, begin, end, None))
                begin = end
        finally:
            del X, y, weight
            executor.release(index)
    scanned = merged(counts, name)
    storage = Storage(
        any(kind.is_sparse for kind in kinds),
        np.result_type(*(kind.dtype for kind in kinds)),
        scanned.n_stored,
        max(kind.longest for kind in kinds),
    )
    X = StreamedMatrix(executor, name, parts, np.concatenate(sqnorms), scanned.n_features, storage)
    codes = [codes_of(scanned.classes, each.classes)[each.codes] for each in labels]
    codes = [each.astype(np.min_scalar_type(len(scanned.classes))) for each in codes]
    return StreamedSamples(X, np.concatenate(codes), _weights(labels), scanned)


def _scanned(X, y, weight, name) -> tuple[Any, ...]:
    """What the first reading finds in a partition: squared norms, Labels, Counts, Storage."""
    names = _get_feature_names(X) if hasattr(X, "columns") else None
    X = read_matrix(X, f"X of {name}")
    labels = read_labels(X.shape[0], y, weight, name)
    rows = rows_of(X)
    sqnorms = augmented_sqnorms(rows.sqnorms(), 0.0, hard_margin=False)
    each = np.ones(X.shape[0]) if labels.weight is None else labels.weight
    counts = Counts(
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_stored=int(rows.n_stored),
        classes=labels.classes,
        totals=np.bincount(labels.codes, weights=each, minlength=len(labels.classes)),
        lightest=np.zeros(len(labels.classes)),
        heaviest=np.zeros(len(labels.classes)),
        max_sqnorm=float(sqnorms.max()),
        median_sqnorm=0.0,
        feature_names=names,
        subsample=None,
    )
    storage = Storage(sparse.issparse(X), X.dtype, counts.n_stored, int(rows.longest()))
    return sqnorms, labels, counts, storage


def _weights(labels):
    """The weights of all samples: ndarray of float64, shape (m,); None if no partition has weights."""
    if all(each.weight is None for each in labels):
        return None
    return np.concatenate(
        [np.ones(len(each.codes)) if each.weight is None else each.weight for each in labels]
    )
