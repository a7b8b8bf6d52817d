"""Training by single updates on samples in partitions, of which one at a time is in memory.

The first reading, `scan`, keeps what a run needs of every sample at all times: class, weight and
|x_k|^2. `StreamedMatrix` then replaces X, and `StreamedRows` replaces the rows of X: code that reads all
rows reads one partition at a time. Rows of an active set are copied (`ActiveRows`).
"""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from scipy import sparse

from margins._sparse import Rows
from margins.data._structure import all_ones
from margins.data.binary_data import csr_arrays, rows_of
from margins.data.validation import n_rows_of
from margins.partitions._held_rows import HeldRows
from margins.partitions.fit import merged
from margins.partitions.samples import Counts, codes_among, first_reading, named, read_matrix
from margins.tuning import TUNING


class Part(NamedTuple):
    """The samples of one partition."""

    partition: int  # index of the partition
    n_rows: int  # number of rows in the partition
    begin: int  # range of its samples among all samples
    end: int
    row_indices: np.ndarray | None  # int, shape (end - begin,): rows in the partition; None: all


class Storage(NamedTuple):
    """The format of row copies, wide enough for the rows of every partition."""

    is_sparse: bool
    dtype: np.dtype
    n_stored: int  # numbers stored by all rows together
    longest: int  # numbers stored by the longest row


class StreamedSamples(NamedTuple):
    """The samples as the first reading leaves them."""

    X: "StreamedMatrix"
    codes: np.ndarray  # int, shape (m,): indices into the classes of `scanned`
    weight: np.ndarray | None  # float64, shape (m,), or None
    scanned: Counts


class StreamedMatrix:
    """A matrix X that is read one partition at a time; errors say `name`."""

    def __init__(self, executor, name, parts, sqnorms, n_features, storage):
        self._executor, self._name, self._sqnorms = executor, name, sqnorms
        self.parts, self.storage = parts, storage
        self.shape = len(sqnorms), n_features

    def __getitem__(self, numbers):
        """Return the StreamedMatrix of some samples, given by ascending numbers."""
        parts, begin = [], 0
        for part in self.parts:
            first, last = np.searchsorted(numbers, [part.begin, part.end])
            row_indices = numbers[first:last] - part.begin
            if len(row_indices) > 0:
                row_indices = row_indices if part.row_indices is None else part.row_indices[row_indices]
                end = begin + len(row_indices)
                parts.append(Part(part.partition, part.n_rows, begin, end, row_indices))
                begin = end
        sqnorms = self._sqnorms[numbers]
        return StreamedMatrix(self._executor, self._name, parts, sqnorms, self.shape[1], self.storage)

    def sqnorms(self):
        """Return |x_k|^2, as an ndarray of float64 of shape (m,)."""
        return self._sqnorms

    def rows(self):
        """Return StreamedRows of the matrix, for one thread."""
        return StreamedRows(self)

    def matrices(self):
        """Yield the matrix of each partition in turn, an ndarray or CSR matrix."""
        for part in self.parts:
            with self.read(part) as X:
                yield X

    @contextmanager
    def read(self, part):
        """Context whose value is the matrix of a partition."""
        name = f"X of chunk {part.partition} of {self._name}"
        X = self._executor.read(part.partition, self._name, rows_only=True)[0]
        try:
            X = read_matrix(X, name, self.shape[1])
            if X.shape[0] != part.n_rows:
                raise ValueError(
                    f"{name} must be the same every time it is read. Got {X.shape[0]} rows, and "
                    f"{part.n_rows} the first time."
                )
            yield X
        finally:
            del X
            self._executor.release(part.partition)


class StreamedRows(HeldRows):
    """The rows of samples in partitions, for one run: one partition or the `copies` are held."""

    def __init__(self, X):
        super().__init__(*X.shape, X.storage.n_stored)
        self.X, self.copies = X, ActiveRows(X)

    def sqnorms(self):
        return self.X.sqnorms()

    def longest(self):
        return self.X.storage.longest

    @contextmanager
    def reading(self, part):
        """Context that holds the rows of a partition; its value is their matrix."""
        with self.X.read(part) as matrix:
            try:
                self.hold(rows_of(matrix), slice(part.begin, part.end), part.row_indices)
                yield matrix
            finally:
                self.release()
                del matrix

    @contextmanager
    def holding_copies(self):
        try:
            self.hold(self.copies.rows(), self.copies.numbers())
            yield
        finally:
            self.release()

    def parts(self):
        for part in self.X.parts:
            with self.reading(part):
                yield part.begin, part.end


class ActiveRows:
    """Copies of the rows of an active set, up to a limit in bytes; later rows are left out."""

    def __init__(self, X, max_bytes=TUNING.partitions.active_bytes):
        storage, d = X.storage, X.shape[1]
        itemsize = storage.dtype.itemsize
        self._n_features, self._is_sparse = d, storage.is_sparse
        self.clear()
        # Only pages that are written are allocated, so a large array of few rows is cheap.
        if self._is_sparse:
            columns = np.int32 if d <= np.iinfo(np.int32).max else np.int64
            n = max_bytes // (itemsize + np.dtype(columns).itemsize)
            n = min(n, storage.n_stored, np.iinfo(np.int32).max)
            self._values, self._columns = np.empty(n, storage.dtype), np.empty(n, columns)
        else:
            self._values = np.empty((min(max_bytes // (itemsize * d), X.shape[0]), d), storage.dtype)

    def clear(self):
        """Remove all copies, but keep the memory, which takes longer to allocate again than to fill."""
        self._numbers, self._left_out, self._starts = [], [], [np.zeros(1, np.int32)]
        self._n = self._n_stored = 0

    def __len__(self):
        return self._n

    def numbers(self):
        """Return the numbers of the copied rows among all rows, in the order of the copies."""
        return np.concatenate(self._numbers) if self._numbers else np.zeros(0, np.int32)

    def left_out(self):
        """Return the numbers of the rows beyond the limit, as an ndarray of int32."""
        return np.concatenate(self._left_out) if self._left_out else np.zeros(0, np.int32)

    def add(self, matrix, part, numbers):
        """Copy rows of a partition, given by their numbers among all rows, up to the limit."""
        row_indices = numbers - part.begin
        row_indices = row_indices if part.row_indices is None else part.row_indices[row_indices]
        add = self._add_sparse if self._is_sparse else self._add_dense
        n = add(matrix, row_indices)
        self._numbers.append(numbers[:n])
        self._left_out.append(numbers[n:])
        self._n += n

    def _add_dense(self, matrix, row_indices):
        free = self._values[self._n :][: len(row_indices)]
        row_indices = row_indices[: len(free)]
        if matrix.dtype == free.dtype:
            # mode="raise" would copy the rows twice
            np.take(matrix, row_indices, axis=0, out=free, mode="clip")
        else:
            free[:] = matrix[row_indices]
        return len(free)

    def _add_sparse(self, matrix, row_indices):
        copied = matrix[row_indices]
        values, columns, starts = csr_arrays(sparse.csr_matrix(copied))
        begin = self._n_stored
        n = int(np.searchsorted(starts, len(self._values) - begin, side="right")) - 1
        end = begin + int(starts[n])
        self._values[begin:end], self._columns[begin:end] = values[: starts[n]], columns[: starts[n]]
        self._starts.append(begin + starts[1 : n + 1])
        self._n_stored = end
        return n

    def rows(self):
        """Return the copies as Rows, in the order in which they were added."""
        d, n = self._n_features, self._n
        if not self._is_sparse:
            return Rows(self._values[:n].reshape(-1), n, d, row_step=d)
        values, columns = self._values[: self._n_stored], self._columns[: self._n_stored]
        starts = np.concatenate(self._starts).astype(columns.dtype, copy=False)
        return Rows(None if all_ones(values) else values, n, d, columns, starts)


def scan(executor, name):
    """Read and check all partitions, and return StreamedSamples."""
    parts, sqnorms, labels, counts, kinds, begin = [], [], [], [], [], 0
    for index in range(executor.n_partitions):
        X, y, weight = executor.read(index, name)
        try:
            chunk = f"chunk {index} of {name}"
            with named(chunk):
                read = first_reading(X, y, weight, chunk, f"X of {chunk}") if n_rows_of(X) > 0 else None
            if read is not None:
                n_rows, n_stored = len(read.sqnorms), read.counts.n_stored
                kinds.append(
                    Storage(sparse.issparse(read.X), read.X.dtype, n_stored, read.rows.longest())
                )
                sqnorms.append(read.sqnorms)
                labels.append(read.labels)
                counts.append(read.counts)
                parts.append(Part(index, n_rows, begin, begin + n_rows, None))
                begin += n_rows
        finally:
            X = y = weight = read = None
            executor.release(index)
    scanned = merged(counts, name)
    is_sparse, longest = any(kind.is_sparse for kind in kinds), max(kind.longest for kind in kinds)
    dtype = np.result_type(*(kind.dtype for kind in kinds))
    storage = Storage(is_sparse, dtype, scanned.n_stored, longest)
    X = StreamedMatrix(executor, name, parts, np.concatenate(sqnorms), scanned.n_features, storage)
    codes = [codes_among(scanned.classes, part.classes)[part.codes] for part in labels]
    codes = [part.astype(np.min_scalar_type(len(scanned.classes))) for part in codes]
    return StreamedSamples(X, np.concatenate(codes), _weights(labels), scanned)


def _weights(labels):
    """Return all sample weights, as float64 of shape (m,); None if no partition has weights."""
    if all(part.weight is None for part in labels):
        return None
    return np.concatenate(
        [np.ones(len(part.codes)) if part.weight is None else part.weight for part in labels]
    )
