"""Sparse vectors: a partition's part of a sum over sparse samples of many features.

A partition stores a small share of the features, so it sends its part of a sum as columns and values,
and parts are added in this form. Its samples are stored with the numbers of these columns, not of the
features.
"""

import numpy as np
from scipy import sparse


class Scattered:
    """A vector as a sum of columns and values."""

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
        """Return all elements, as an ndarray of float64 of shape (n,)."""
        columns, values = np.concatenate(self._columns), np.concatenate(self._values)
        return np.bincount(columns, weights=values, minlength=self.n)


class Columns:
    """The columns that a matrix stores, followed by the column of the intercept if there is one."""

    def __init__(self, columns, n_features, has_intercept):
        intercept = [n_features] if has_intercept else []
        self._columns = np.append(columns, intercept).astype(np.intp)
        self._n = n_features + has_intercept

    def gathered(self, vector):
        """Return the elements of a vector in these columns."""
        return vector[self._columns]

    def scattered(self, values):
        """Return the Scattered vector with these values in these columns."""
        return Scattered(self._n, self._columns, values)


class AllColumns:
    """All columns, for samples that store most of them."""

    def gathered(self, vector):
        return vector

    def scattered(self, values):
        return values


def compressed(X, has_intercept):
    """Return a CSR matrix over the columns that it stores, and these Columns."""
    columns, indices = np.unique(X.indices[: X.indptr[-1]], return_inverse=True)
    data = X.data[: X.indptr[-1]]
    shape = X.shape[0], max(len(columns), 1)
    compact = sparse.csr_matrix((data, indices.astype(X.indptr.dtype), X.indptr), shape=shape)
    columns = columns if len(columns) else np.zeros(1, dtype=np.intp)
    return compact, Columns(columns, X.shape[1], has_intercept)


def finished(answer):
    """Return an answer with ndarrays instead of Scattered vectors, in nested tuples."""
    if isinstance(answer, Scattered):
        return answer.dense()
    if isinstance(answer, tuple):
        parts = [finished(part) for part in answer]
        return type(answer)(*parts) if hasattr(answer, "_fields") else tuple(parts)
    return answer
