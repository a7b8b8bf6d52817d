"""Samples in chunks that can be read repeatedly, for data larger than memory.

A fit reads all chunks several times, one or a few at a time, and keeps none of them.
"""

import mmap
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from margins.optional import require
from margins.readers.files import files_of

# Size of a chunk of a memory map, in bytes.
CHUNK_BYTES = 1 << 25


class Chunks(Sequence[Any]):
    """Samples in chunks that can be read repeatedly, for `fit` of `margins.MarginClassifier`.

    A fit reads every chunk once to check it, and then once for each pass over the samples. Chunks may
    have any length; memory must hold one chunk for each thread, and a few numbers per sample.

    Parameters
    ----------
    parts : sequence
        Any object with a length and with items by index. Each item is a chunk, or a function without
        arguments that reads and returns a chunk. A chunk is a tuple ``(X, y)`` or
        ``(X, y, sample_weight)`` of an array-like or sparse matrix, shape (m, n_features), and
        array-likes, shape (m,). It must be the same each time it is read.

    Raises
    ------
    TypeError
        If `parts` has no length or no items by index.
    ValueError
        If there are no chunks.

    See Also
    --------
    margins.MarginClassifier : Can be fitted to chunks, as can most linear rule-based algorithms.

    Examples
    --------
    >>> import margins
    >>> from margins.data.chunks import Chunks
    >>> from sklearn.datasets import make_classification
    >>> def reader(seed):
    ...     return lambda: make_classification(500, random_state=7, shift=0.01 * seed)
    >>> chunks = Chunks([reader(seed) for seed in range(4)])
    >>> len(chunks), chunks[0][0].shape
    (4, (500, 20))
    >>> classifier = margins.MarginClassifier(eps=1e-3).fit(chunks)
    >>> classifier.converged_
    True

    `of_rows` divides arrays in memory or in files:

    >>> X, y = make_classification(1000, random_state=0)
    >>> Chunks.of_rows(X, y, n_rows=300)
    <Chunks: 4 chunks, 1000 rows, 20 columns>
    """

    def __init__(self, parts: Any) -> None:
        if not (hasattr(parts, "__len__") and hasattr(parts, "__getitem__")):
            raise TypeError(
                "parts of Chunks must have a length and items by index, so that they can be read "
                f"repeatedly. Got {type(parts).__name__}. Pass, for example, a list of functions."
            )
        if len(parts) == 0:
            raise ValueError("parts of Chunks must hold at least one chunk. Got none.")
        self.parts = parts

    @classmethod
    def of_rows(
        cls, X: Any, y: Any, sample_weight: Any = None, *, n_rows: int | None = None
    ) -> "Chunks":
        """Divide arrays, such as memory maps, into chunks of consecutive rows.

        Parameters
        ----------
        X : array-like, CSR matrix (or of anndata, on disk) or data frame, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
        n_rows : int, optional
            Number of rows in a chunk, at least 1; None: about 32 megabytes.

        Raises
        ------
        ValueError
            If an argument is not allowed, or if lengths differ.
        """
        is_size = isinstance(n_rows, Integral) and not isinstance(n_rows, bool) and n_rows >= 1
        if n_rows is not None and not is_size:
            raise ValueError(
                f"n_rows of Chunks.of_rows must be None or an integer in [1, inf). Got {n_rows!r}."
            )
        is_sparse = hasattr(X, "format") and hasattr(X, "dtype")  # anndata's on disk, too
        is_frame = hasattr(X, "columns") and hasattr(X, "shape")
        X = X if is_sparse or is_frame or isinstance(X, np.ndarray) else np.asarray(X)
        if len(X.shape) != 2 or (is_sparse and X.format != "csr"):
            got = f"a sparse matrix of format {X.format!r}" if is_sparse else f"shape {X.shape}"
            raise ValueError(
                f"X of Chunks.of_rows must be an array-like or CSR matrix of 2 dimensions. Got {got}."
            )
        y = y if isinstance(y, np.ndarray) else np.asarray(y)
        weight = None if sample_weight is None else np.asanyarray(sample_weight)
        for name, array in (("y", y), ("sample_weight", weight)):
            if array is not None and array.shape[:1] != X.shape[:1]:
                raise ValueError(
                    f"{name} of Chunks.of_rows must have a number for each of the {X.shape[0]} rows "
                    f"of X. Got shape {array.shape}."
                )
        itemsize = 8 if is_frame else X.dtype.itemsize
        size = int(n_rows or 0) or max(CHUNK_BYTES // max(X.shape[1] * itemsize, 1), 1)
        return cls([RowsReader(X, y, weight, i, i + size) for i in range(0, X.shape[0], size)])

    @classmethod
    def from_parquet(
        cls,
        paths: Any,
        target: str,
        *,
        columns: Sequence[str] | None = None,
        categories: Mapping[str, Sequence[Any]] | Sequence[str] | None = None,
        sample_weight: str | None = None,
    ) -> "Chunks":
        """Read Parquet files, one row group at a time.

        Parameters
        ----------
        paths : str, path, or sequence of str and paths
            Files, in this order. A str may be a pattern, such as ``"big/*.parquet"``, whose files are
            sorted. A folder, as Spark and dask write it, stands for its files, in the order of their
            numbers, without those that are empty or start with "_" or ".".
        target : str
            Column of the labels.
        columns : sequence of str, optional
            Columns of X; None: all other columns.
        categories : mapping of str to sequence, or list of str, optional
            Columns of categories, each with a list of all its values; a list of columns: the values
            are found now, in all files, and sorted as texts. Each value becomes a column of 0 and 1, in
            this order, named ``column=value``. Numbers and booleans are compared by value (1 and 1.0
            are equal), other values as text without surrounding blanks; a missing value is "". Models
            predict data frames with the original columns, and a dict for one row.
            All other columns must hold finite numbers or booleans, or vectors of numbers: each element
            of a vector becomes a column, ``column[0]``, ``column[1]``, ...
        sample_weight : str, optional
            Column of the weights.

        Returns
        -------
        Chunks
            Chunks of data frames, so that models know the names of the columns.

        Raises
        ------
        ImportError
            If pyarrow or pandas is not installed.
        ValueError
            If a file or a column is missing; when a row group is read, if a value is not allowed.
        """
        require("Chunks.from_parquet", "pyarrow", "pandas")
        from margins.readers.tables import parquet_parts

        files = files_of(paths, "Chunks.from_parquet")
        return cls(parquet_parts(files, target, columns, categories, sample_weight))

    @classmethod
    def from_csv(
        cls,
        paths: Any,
        target: str,
        *,
        columns: Sequence[str] | None = None,
        categories: Mapping[str, Sequence[Any]] | Sequence[str] | None = None,
        sample_weight: str | None = None,
        delimiter: str = ",",
    ) -> "Chunks":
        """Read uncompressed CSV files with a header, about 32 megabytes of lines at a time.

        Parameters
        ----------
        paths, target, columns, categories, sample_weight
            As in `from_parquet`. The first 32 megabytes, which are read at once, decide whether labels
            are whole numbers, booleans or text. A label of another kind raises an error with its place.
        delimiter : str
            Character between columns, such as ``";"`` or ``"\\t"``: one of ASCII, no letter or digit.

        Raises
        ------
        ImportError
            If pyarrow or pandas is not installed.
        ValueError
            As in `from_parquet`.

        Warns
        -----
        UserWarning
            If the first column has no name, such as pandas' index, and `columns` does not ask for it.
        """
        require("Chunks.from_csv", "pyarrow", "pandas")
        from margins.readers.tables import csv_parts

        files = files_of(paths, "Chunks.from_csv")
        return cls(csv_parts(files, target, columns, categories, sample_weight, delimiter=delimiter))

    @classmethod
    def from_svmlight(
        cls, paths: Any, *, n_features: int | None = None, zero_based: bool = False
    ) -> "Chunks":
        """Read uncompressed files in svmlight's format, about 32 megabytes of lines at a time.

        Parameters
        ----------
        paths
            As in `from_parquet`.
        n_features : int, optional
            Number of features. None: the largest index, for which all files are read once.
        zero_based : bool
            True: indices start at 0, otherwise at 1.

        Returns
        -------
        Chunks
            Chunks of CSR matrices.

        Raises
        ------
        ValueError
            If a file is missing or an argument is not allowed; when lines are read, if a line is
            malformed (the error states the place).

        Warns
        -----
        UserWarning
            Once for each file with ``qid:``, ``sid:`` or ``cost:``, which are skipped.
        """
        from margins.readers.svmlight import svmlight_parts

        return cls(svmlight_parts(files_of(paths, "Chunks.from_svmlight"), n_features, zero_based))

    def map(self, transform: Callable[[Any], Any]) -> "Chunks":
        """Return the same samples, with each X transformed when it is read.

        Parameters
        ----------
        transform : callable
            ``transform(X)`` returns the same number of rows: for example, the `transform` of a scaler
            that was fitted by `partial_fit`.

        Raises
        ------
        TypeError
            If `transform` cannot be called.

        Examples
        --------
        >>> import numpy as np
        >>> from margins.data.chunks import Chunks
        >>> from sklearn.preprocessing import StandardScaler
        >>> chunks = Chunks.of_rows(np.arange(20.0).reshape(10, 2), np.arange(10) % 2, n_rows=4)
        >>> scaler = StandardScaler()
        >>> for X, y in chunks:
        ...     _ = scaler.partial_fit(X)
        >>> scaled = chunks.map(scaler.transform)
        >>> float(round(np.vstack([X for X, y in scaled]).std(), 6))
        1.0
        """
        if not callable(transform):
            raise TypeError(f"transform of Chunks.map must be a function of X. Got {transform!r}.")
        return Chunks([Transformed(self, index, transform) for index in range(len(self))])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Chunks cannot become an array: their samples are never all in memory at once. Fit a "
            "transformer by its partial_fit, chunk by chunk, and pass chunks.map(transformer.transform)."
        )

    def __repr__(self) -> str:
        # Items of other sequences may be read from a file whenever they are looked up.
        parts = self.parts if isinstance(self.parts, list | tuple) else [None] * len(self)
        paths, rows, columns = zip(*(getattr(part, "facts", (None,) * 3) for part in parts), strict=True)
        n_files = len({path for path in paths if path is not None})
        counts = [f"{len(self)} chunk{'s' * (len(self) > 1)}"]
        counts[0] += f" of {n_files} file{'s' * (n_files > 1)}" if n_files else ""
        counts += [f"{sum(rows)} rows" if None not in rows else "rows not counted"]
        counts += [f"{columns[0]} columns"] if columns[0] is not None else []
        return f"<Chunks: {', '.join(counts)}>"

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: Any) -> Any:
        part = self.parts[index]
        return part() if callable(part) else part

    def release(self, index: int) -> None:
        """Free the memory of a chunk that has been read if it is part of a memory map."""
        part = self.parts[index]
        if isinstance(part, RowsReader | Transformed):
            part.release()


class Transformed:
    """Reader of a chunk that transforms its X."""

    def __init__(self, chunks, index, transform):
        self._chunks, self._index, self._transform = chunks, index, transform

    @property
    def facts(self):
        """The path and the number of rows of the chunk; the columns depend on the transform."""
        return *getattr(self._chunks.parts[self._index], "facts", (None,) * 3)[:2], None

    def __call__(self):
        X, *others = self._chunks[self._index]
        return (self._transform(X), *others)

    def release(self):
        self._chunks.release(self._index)


class RowsReader:
    """Reader of the rows of arrays from `begin` to `end`; `weight` may be None."""

    def __init__(self, X, y, weight, begin, end):
        self._X, self._y, self._weight, self._rows = X, y, weight, slice(begin, end)

    @property
    def facts(self):
        """The path, None, and the numbers of rows and columns of X."""
        return None, len(range(self._X.shape[0])[self._rows]), self._X.shape[1]

    def __call__(self):
        X = self._X.iloc[self._rows] if hasattr(self._X, "iloc") else self._X[self._rows]
        y = self._y[self._rows]
        return (X, y) if self._weight is None else (X, y, self._weight[self._rows])

    def release(self):
        """Remove the pages of these rows from the memory of the process; the file keeps them."""
        X, rows = self._X, self._rows
        if not isinstance(X, np.memmap) or not hasattr(mmap, "MADV_DONTNEED"):
            return
        if X.mode not in ("r", "r+", "w+"):  # copies on write exist only in memory
            return
        part = X[rows]
        if not part.flags.c_contiguous:
            X._mmap.madvise(mmap.MADV_DONTNEED)
            return
        offset = part.ctypes.data - np.frombuffer(X._mmap, np.uint8).ctypes.data
        first = offset // mmap.PAGESIZE * mmap.PAGESIZE
        X._mmap.madvise(mmap.MADV_DONTNEED, first, offset + part.nbytes - first)


def read_chunk(chunks, index, name):
    """Return (X, y, weight) of a chunk; errors, with a note, name it and the method `name`."""
    try:
        chunk = chunks[index]
    except Exception as error:
        error.add_note(f"The function that reads chunk {index} of {name} raised it.")
        raise
    if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
        got = f"{len(chunk)} items" if isinstance(chunk, tuple) else type(chunk).__name__
        raise ValueError(
            f"chunk {index} of {name} must be a tuple (X, y) or (X, y, sample_weight). Got {got}."
        )
    return (*chunk, None)[:3]


def is_dask(X):
    """Return whether X is a dask array or data frame, without importing dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def is_in_parts(X):
    """Return whether X is of a type whose samples are never all in memory at once."""
    return isinstance(X, Chunks) or is_dask(X)


def check_in_memory(X, name):
    """Raise a ValueError if X is in parts, for a method that needs all samples in memory."""
    if is_in_parts(X):
        kind = "Chunks" if isinstance(X, Chunks) else f"a {type(X).__name__} of dask"
        raise ValueError(
            f"{name} must be in memory here. Got {kind}. Use fit of margins.MarginClassifier or of "
            "most linear rule-based algorithms, use partial_fit for one chunk at a time, or pass an "
            "array, such as X.compute() of dask."
        )
