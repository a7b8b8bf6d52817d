"""Vectors of which a partition knows few elements: sums over sparse samples of many features.

A partition stores a small share of the features, so its part of a sum is sent, and added, as columns and
values. The samples are stored with the numbers of these columns in place of those of the features.
"""

import numpy as np
from scipy import sparse


class Scattered:
    """A vector as a sum of columns and values.

    Parameters
    ----------
    n : int
        Its length.
    columns : ndarray of int
    values : ndarray of float64

    Examples
    --------
    >>> one = Scattered(4, np.array([0, 2]), np.array([1.0, 5.0]))
    >>> (one + Scattered(4, np.array([2]), np.array([0.5]))).dense().tolist()
    [1.0, 0.0, 5.5, 0.0]
    """

    def __init__(self, n, columns, values):
        self.n, self._columns, self._values = n, [columns], [values]

    def __add__(self, other):
        total = Scattered.__new__(Scattered)
        total.n = self.n
        total._columns, total._values = self._columns + other._columns, self._values + other._values
        if sum(map(len, total._columns)) > self.n:
            dense = total.dense()
            nonzero = np.flatnonzero(dense)
            total._columns, total._values = [nonzero], [dense[nonzero]]
        return total

    def dense(self):
        """All elements: ndarray of float64, shape (n,)."""
        columns, values = np.concatenate(self._columns), np.concatenate(self._values)
        return np.bincount(columns, weights=values, minlength=self.n)


class Columns:
    """The columns that a matrix stores, followed by that of the intercept if there is one.

    Parameters
    ----------
    columns : ndarray of int, ascending
    n_features : int
    has_intercept : bool
    """

    def __init__(self, columns, n_features, has_intercept):
        intercept = [n_features] if has_intercept else []
        self._columns = np.append(columns, intercept).astype(np.intp)
        self._n = n_features + has_intercept

    def gathered(self, vector):
        """The elements of a vector in these columns: ndarray."""
        return vector[self._columns]

    def scattered(self, values):
        """The vector with these values in these columns: Scattered."""
        return Scattered(self._n, self._columns, values)


class AllColumns:
    """All columns, for samples that store most of them."""

    def gathered(self, vector):
        """The vector itself."""
        return vector

    def scattered(self, values):
        """The values themselves."""
        return values


def compressed(X, has_intercept):
    """A CSR matrix over the columns that it stores: (CSR matrix, Columns)."""
    columns, indices = np.unique(X.indices[: X.indptr[-1]], return_inverse=True)
    data = X.data[: X.indptr[-1]]
    shape = X.shape[0], max(len(columns), 1)
    compact = sparse.csr_matrix((data, indices.astype(X.indptr.dtype), X.indptr), shape=shape)
    columns = columns if len(columns) else np.zeros(1, dtype=np.intp)
    return compact, Columns(columns, X.shape[1], has_intercept)


def finished(answer):
    """An answer with its vectors complete: ndarrays in place of Scattered, in nested tuples."""
    if isinstance(answer, Scattered):
        return answer.dense()
    if isinstance(answer, tuple):
        parts = [finished(part) for part in answer]
        return type(answer)(*parts) if hasattr(answer, "_fields") else tuple(parts)
    return answer
