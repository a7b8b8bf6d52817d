"""Samples in chunks that can be read again: for data larger than memory.

A fit reads all chunks several times, one or a few at a time, and keeps none of them.
"""

import mmap
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

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
        X : array-like or CSR matrix, shape (n_samples, n_features)
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
        X = X if is_sparse or isinstance(X, np.ndarray) else np.asarray(X)
        if X.ndim != 2 or (is_sparse and X.format != "csr"):
            got = f"a sparse matrix of format {X.format!r}" if is_sparse else f"shape {X.shape}"
            raise ValueError(
                f"X of Chunks.of_rows must be an array-like or CSR matrix of 2 dimensions. Got {got}."
            )
        y = y if isinstance(y, np.ndarray) else np.asarray(y)
        weight = None if sample_weight is None else np.asarray(sample_weight)
        for name, array in (("y", y), ("sample_weight", weight)):
            if array is not None and array.shape[:1] != X.shape[:1]:
                raise ValueError(
                    f"{name} of Chunks.of_rows must have a number for each of the {X.shape[0]} rows "
                    f"of X. Got shape {array.shape}."
                )
        size = int(n_rows or 0) or max(CHUNK_BYTES // max(X.shape[1] * X.dtype.itemsize, 1), 1)
        begins = range(0, X.shape[0], size)
        return cls([RowsReader(X, y, weight, begin, begin + size) for begin in begins])

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: Any) -> Any:
        part = self.parts[index]
        return part() if callable(part) else part

    def release(self, index: int) -> None:
        """Free the memory of a chunk that has been read, if it is part of a memory map."""
        part = self.parts[index]
        if isinstance(part, RowsReader):
            part.release()


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
        X, y = self._X[self._rows], self._y[self._rows]
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
