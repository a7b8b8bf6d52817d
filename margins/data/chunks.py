"""Samples in chunks that can be read again: for data larger than memory.

A fit reads all chunks several times, one or a few at a time, and keeps none of them.
"""

import mmap
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from margins.data.files import files_of

# Bytes of the rows of a memory map that are read at a time.
CHUNK_BYTES = 1 << 25


class Chunks(Sequence[Any]):
    """Samples in chunks that can be read again, for `fit` of `margins.MarginClassifier`.

    A fit reads every chunk once to check it, and then once for each pass over the samples. Chunks may
    be of any length; memory has to hold one of them for each thread, and some numbers per sample.

    Parameters
    ----------
    parts : sequence
        Anything with a length and with items by index: each a function without arguments that reads and
        returns a chunk, or the chunk itself. A chunk is a tuple ``(X, y)`` or ``(X, y, sample_weight)``
        of an array-like or sparse matrix, shape (m, n_features), and array-likes, shape (m,); it must be
        the same whenever it is read.

    Raises
    ------
    ValueError
        If there is no chunk.

    See Also
    --------
    margins.MarginClassifier : Is fitted to chunks; most linear algorithms of rules are, too.

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

    Arrays in memory, or in files, are divided by `of_rows`:

    >>> X, y = make_classification(1000, random_state=0)
    >>> len(Chunks.of_rows(X, y, n_rows=300))
    4
    """

    def __init__(self, parts: Any) -> None:
        if not (hasattr(parts, "__len__") and hasattr(parts, "__getitem__")):
            raise TypeError(
                "parts of Chunks must have a length and items by index, so that they can be read again. "
                f"Got {type(parts).__name__}. Allowed: a list of functions, for example."
            )
        if len(parts) == 0:
            raise ValueError("parts of Chunks must hold at least one chunk. Got none.")
        self.parts = parts

    @classmethod
    def of_rows(
        cls, X: Any, y: Any, sample_weight: Any = None, *, n_rows: int | None = None
    ) -> "Chunks":
        """Consecutive rows of arrays, such as memory maps.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
        n_rows : int, optional
            Rows of a chunk, at least 1; None: as many as make about 32 megabytes.

        Returns
        -------
        Chunks

        Raises
        ------
        ValueError
            If an argument is not allowed, or lengths differ.
        """
        if n_rows is not None and (
            not isinstance(n_rows, Integral) or isinstance(n_rows, bool) or n_rows < 1
        ):
            raise ValueError(
                f"n_rows of Chunks.of_rows must be None or an integer in [1, inf). Got {n_rows!r}."
            )
        is_sparse = hasattr(X, "format") and hasattr(X, "nnz")
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
        begins = range(0, X.shape[0], size)
        return cls([RowsReader(X, y, weight, begin, begin + size) for begin in begins])

    @classmethod
    def from_parquet(
        cls,
        paths: Any,
        target: str,
        *,
        columns: Sequence[str] | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        sample_weight: str | None = None,
    ) -> "Chunks":
        """Files of Parquet, one row group at a time.

        Parameters
        ----------
        paths : str, path, or sequence of them
            In this order. A str may be a pattern, such as ``"big/*.parquet"``; its files are sorted.
        target : str
            The column of the labels.
        columns : sequence of str, optional
            The columns of X; None: all others.
        categories : mapping of str to sequence, optional
            The columns of categories, each with all its values: for each of them a column of 0 and 1, in
            this order, named ``column=value``. Values are compared as numbers or booleans if they are
            any (1, 1.0), else as text without blanks around it; a missing value is "". All other columns
            must be finite numbers or booleans.
        sample_weight : str, optional
            The column of weights.

        Returns
        -------
        Chunks
            Of data frames, so that models know the names of columns.

        Raises
        ------
        ImportError
            Without pyarrow and pandas: ``pip install 'scikit-margins[parquet]'``.
        ValueError
            If there is no file, or not the columns; when a row group is read, if a value is not allowed.
        """
        from margins.data.chunk_tables import parquet_parts

        files = files_of(paths, "Chunks.from_parquet")
        return cls(parquet_parts(files, target, columns, categories, sample_weight))

    @classmethod
    def from_csv(
        cls,
        paths: Any,
        target: str,
        *,
        columns: Sequence[str] | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        sample_weight: str | None = None,
    ) -> "Chunks":
        """Files of CSV with a header, not compressed, about 32 megabytes of lines at a time.

        Parameters
        ----------
        paths, target, columns, categories, sample_weight
            As for `from_parquet`. Labels are whole numbers, booleans or text, as all of the first 32
            megabytes are: those are read at once, and others are an error with its place.

        Returns
        -------
        Chunks

        Raises
        ------
        ImportError
            Without pandas: ``pip install 'scikit-margins[frame]'``.
        ValueError
            As for `from_parquet`.
        """
        from margins.data.chunk_tables import csv_parts

        files = files_of(paths, "Chunks.from_csv")
        return cls(csv_parts(files, target, columns, categories, sample_weight))

    @classmethod
    def from_svmlight(
        cls, paths: Any, *, n_features: int | None = None, zero_based: bool = False
    ) -> "Chunks":
        """Files in the format of svmlight, not compressed, about 32 megabytes of lines at a time.

        Parameters
        ----------
        paths
            As for `from_parquet`.
        n_features : int, optional
            None: the largest index of all files, which are read for it.
        zero_based : bool
            True: indices begin at 0, else at 1.

        Returns
        -------
        Chunks
            Of CSR matrices.

        Raises
        ------
        ValueError
            If there is no file, or an argument is not allowed; when lines are read, if one is malformed,
            with its place.

        Warns
        -----
        UserWarning
            If a file has ``qid:``, ``sid:`` or ``cost:``, which are skipped; once for each file.
        """
        from margins.data.chunk_svmlight import svmlight_parts

        return cls(svmlight_parts(files_of(paths, "Chunks.from_svmlight"), n_features, zero_based))

    def map(self, transform: Callable[[Any], Any]) -> "Chunks":
        """The same samples, each X transformed whenever it is read.

        Parameters
        ----------
        transform : callable
            ``transform(X)`` returns as many rows, such as the `transform` of a scaler fitted by its
            `partial_fit`.

        Returns
        -------
        Chunks

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
            "Chunks are no array: their samples are not in memory together. Fit a transformer by its "
            "partial_fit, chunk by chunk, and give chunks.map(transformer.transform)."
        )

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: Any) -> Any:
        part = self.parts[index]
        return part() if callable(part) else part

    def release(self, index: int) -> None:
        """Free the memory of a chunk that has been read, if it is part of a memory map."""
        part = self.parts[index]
        if isinstance(part, RowsReader | Transformed):
            part.release()


class Transformed:
    """Reads a chunk and transforms its X.

    Parameters
    ----------
    chunks : Chunks
    index : int
    transform : callable
    """

    def __init__(self, chunks, index, transform):
        self._chunks, self._index, self._transform = chunks, index, transform

    def __call__(self):
        X, *others = self._chunks[self._index]
        return (self._transform(X), *others)

    def release(self):
        """See `Chunks.release`."""
        self._chunks.release(self._index)


class RowsReader:
    """Reads consecutive rows of arrays.

    Parameters
    ----------
    X, y, weight : arrays
        `weight` may be None.
    begin, end : int
        Which rows.
    """

    def __init__(self, X, y, weight, begin, end):
        self._X, self._y, self._weight, self._rows = X, y, weight, slice(begin, end)

    def __call__(self):
        X = self._X.iloc[self._rows] if hasattr(self._X, "iloc") else self._X[self._rows]
        y = self._y[self._rows]
        return (X, y) if self._weight is None else (X, y, self._weight[self._rows])

    def release(self):
        """Remove the pages of these rows from the memory of the process; the file keeps them."""
        X, rows = self._X, self._rows
        if not isinstance(X, np.memmap) or not hasattr(mmap, "MADV_DONTNEED"):
            return
        if X.mode not in ("r", "r+", "w+"):  # copies on write exist in memory alone
            return
        part = X[rows]
        if not part.flags.c_contiguous:
            X._mmap.madvise(mmap.MADV_DONTNEED)
            return
        begin = part.ctypes.data - np.frombuffer(X._mmap, np.uint8).ctypes.data
        first = begin // mmap.PAGESIZE * mmap.PAGESIZE
        X._mmap.madvise(mmap.MADV_DONTNEED, first, begin + part.nbytes - first)


def read_chunk(chunks, index, name):
    """Read a chunk for a method called `name`: (X, y, weight), of which the last may be None.

    ValueError if it is no tuple of them; errors of the function that reads it get a note that names it.
    """
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
    """True if X is an array or data frame of dask, which is not imported."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def is_in_parts(X):
    """True if X is one of the kinds of samples that are never in memory as a whole."""
    return isinstance(X, Chunks) or is_dask(X)


def check_in_memory(X, name):
    """Raise ValueError if X is in parts, where a method needs all samples in memory.

    Parameters
    ----------
    X : object
    name : str
        What the error calls it, such as "X of Perceptron".
    """
    if is_in_parts(X):
        kind = "Chunks" if isinstance(X, Chunks) else f"a {type(X).__name__} of dask"
        raise ValueError(
            f"{name} must be in memory here. Got {kind}. Allowed: fit of margins.MarginClassifier "
            "and of most linear algorithms of rules, partial_fit of the algorithms that have one, "
            "chunk by chunk, or an array, such as X.compute() of dask."
        )
