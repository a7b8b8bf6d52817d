"""Inner products instead of features, for few samples of many features.

The m x m matrix of all inner products is then cheap to compute and small relative to X. Over its rows,
an inspection reads one number and an update adds m numbers. At the end, the weights are summed from the
dual variables (`margins.solvers.driver.Run.leave_gram`), and certified.
"""

import threading

import numpy as np

from margins.data.binary_data import check_lengths, csr_arrays, is_sparse, rows_of
from margins.kernels._columns import inner_products
from margins.kernels._gram import GramRows, fill_columns
from margins.linalg.threads import one_thread

# Number of column blocks in which X is read.
BLOCKS = 8

# Products may be rounded to single precision if norms are between these limits ...
SHORTEST, LONGEST = 1e-15, 1e15
# ... and rows are distinct: for the median row, this share of the squared norm must be orthogonal to the
# rows before it. Otherwise rounding decides the differences between rows.
DISTINCT = 0.02
# Added to the diagonal for this test, relative to the squared norms: rows may be linearly dependent, up
# to rounding.
RIDGE = 1e-4


def gram_rows(X, coarse=False):
    """Return the rows of the Gram matrix of X, in double precision or, if that is safe, in single."""
    gram = inner_products_of(X, np.float32 if coarse else np.float64)
    sqnorms = gram.diagonal().copy()
    if coarse and not _is_distinct(gram, sqnorms):
        return gram_rows(X)
    check_lengths(sqnorms)
    return GramRows(rows_of(gram), sqnorms)


def _is_distinct(gram, sqnorms):
    """Return whether products in single precision distinguish the rows."""
    if not SHORTEST**2 <= sqnorms.min() <= sqnorms.max() <= LONGEST**2:
        return False
    with one_thread():
        residuals = np.linalg.cholesky(gram + np.diag(RIDGE * sqnorms)).diagonal() ** 2
    return np.median(residuals / sqnorms) >= DISTINCT


def inner_products_of(X, dtype):
    """Return the inner products of all rows (ndarray of float64, shape (m, m))."""
    gram = np.zeros((X.shape[0], X.shape[0]))
    # Ignore overflows: they mean that a row is too long, which its squared norm shows.
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        if not _add_products(X, dtype, gram):
            from scipy import sparse

            gram[:] = 0
            # The flag of X may be wrong: permuting columns by writing to `indices` does not reset it.
            X = sparse.csr_array((X.data, X.indices, X.indptr), X.shape)
            _add_products(X.sorted_indices(), dtype, gram)
    return gram


def _add_products(X, dtype, gram):
    """Add all inner products of rows, by blocks of columns; return False if columns are not sorted."""
    m, d = X.shape
    width = -(-d // BLOCKS)
    has_columns = is_sparse(X)
    arrays, n_read = csr_arrays(X) if has_columns else None, np.zeros(m, dtype=np.int64)
    for begin in range(0, d, width):
        if has_columns:
            block = np.zeros((m, min(width, d - begin)), dtype)
            if not fill_columns(*arrays, n_read, begin, block):
                return False
        else:
            block = X[:, begin : begin + width].astype(dtype, copy=False)
        gram += block @ block.T
    return True


class WholeGram:
    """Inner products of all or some samples of linear data, computed when they are first read.

    is_shared: whether several problems read them.
    """

    def __init__(self, X, indices=None):
        self.is_shared, indices = indices is None, slice(None) if indices is None else indices
        self._source, self._X, self._gram, self._lock = (X, indices), None, None, threading.Lock()

    def _rows(self):
        """Return the samples (ndarray or CSR matrix of float64, shape (m, d))."""
        if self._X is None:
            X, indices = self._source
            self._X = X[indices].astype(np.float64, copy=False)
        return self._X

    def rows_of_all(self, most=None):
        """Return the Gram matrix (ndarray of float32, shape (m, m)); `most` is as in `MatrixBlocks`."""
        with self._lock:  # threads of several problems wait for one
            if self._gram is None:
                self._gram = self._products()
        return self._gram

    def _products(self):
        X = self._rows()
        if is_sparse(X):
            return inner_products(rows_of(X), rows_of(X)).astype(np.float32)
        with one_thread(), np.errstate(over="ignore", invalid="ignore"):
            X = X.astype(np.float32)
            return X @ X.T

    def sums(self, indices, support, coefficients):
        """Return the same as `MatrixBlocks.sums`, by products with a weight vector."""
        X = self._rows()
        dual = np.zeros(X.shape[0])
        dual[support] = coefficients
        with one_thread():
            return (X @ (X.T @ dual))[indices]
