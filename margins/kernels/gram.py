"""Few samples of many features: their inner products in place of the features.

What training reads of a sample are its inner products with others. Where samples are few and each has
many features, the m x m matrix of all of them is cheap to compute and small beside X. Over its rows an
inspection reads one number and an update adds m numbers, however many features there are. The weights
are summed at the end, from the dual variables (`margins.solvers.driver.Run.leave_gram`), and the
certificate is that of these weights.
"""

import numpy as np
from scipy import sparse

from margins.data.binary_data import check_lengths, csr_arrays, rows_of
from margins.kernels._columns import inner_products
from margins.kernels._gram import GramRows, fill_columns
from margins.linalg.threads import one_thread

# X is read in so many blocks of columns.
BLOCKS = 8

# Products may be rounded to single precision if norms are between these ...
SHORTEST, LONGEST = 1e-15, 1e15
# ... and rows are distinct: of the squared norm of the median row, this share must be orthogonal to the
# rows before it, or rounding decides the differences between rows.
DISTINCT = 0.02
# Relative to the squared norms, what is added to the diagonal for that test: the rows may be linearly
# dependent, up to rounding.
RIDGE = 1e-4


def gram_rows(X, coarse=False):
    """The rows of the Gram matrix of X, in double precision or, if that is safe, in single.

    Parameters
    ----------
    X : ndarray or CSR matrix of float64 or float32, shape (m, d)
    coarse : bool
        True: products may be rounded to single precision, unless norms or similar rows forbid it.

    Returns
    -------
    margins.kernels._gram.GramRows

    Raises
    ------
    ValueError
        If a row is too long for double arithmetic.
    """
    gram = _products(X, np.float32 if coarse else np.float64)
    sqnorms = gram.diagonal().copy()
    if coarse and not _is_distinct(gram, sqnorms):
        return gram_rows(X)
    check_lengths(sqnorms)
    return GramRows(rows_of(gram), sqnorms)


def _is_distinct(gram, sqnorms):
    """True if products in single precision distinguish the rows."""
    if not SHORTEST**2 <= sqnorms.min() <= sqnorms.max() <= LONGEST**2:
        return False
    with one_thread():
        residuals = np.linalg.cholesky(gram + np.diag(RIDGE * sqnorms)).diagonal() ** 2
    return np.median(residuals / sqnorms) >= DISTINCT


def _products(X, dtype):
    """The inner products of all rows: ndarray of float64, shape (m, m)."""
    gram = np.zeros((X.shape[0], X.shape[0]))
    # Where a sum overflows a row is too long, which its squared norm shows.
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        if not _add_products(X, dtype, gram):
            gram[:] = 0
            # The flag of X may be wrong: permuting columns by writing to `indices` does not reset it.
            X = sparse.csr_array((X.data, X.indices, X.indptr), X.shape)
            _add_products(X.sorted_indices(), dtype, gram)
    return gram


def _add_products(X, dtype, gram):
    """Add all inner products of rows, block by block of columns; False if columns are not sorted."""
    m, d = X.shape
    width = -(-d // BLOCKS)
    is_sparse = sparse.issparse(X)
    arrays, n_read = csr_arrays(X) if is_sparse else None, np.zeros(m, dtype=np.int64)
    for begin in range(0, d, width):
        if is_sparse:
            block = np.zeros((m, min(width, d - begin)), dtype)
            if not fill_columns(*arrays, n_read, begin, block):
                return False
        else:
            block = X[:, begin : begin + width].astype(dtype, copy=False)
        gram += block @ block.T
    return True


class WholeGram:
    """All inner products of some samples of linear data, as a decomposition solver reads them.

    Parameters
    ----------
    X : ndarray or CSR matrix of float64 or float32, shape (n, d)
    indices : ndarray of int, shape (m,)
        Of the samples. Their rows are copied when they are first read.
    """

    def __init__(self, X, indices):
        self._source, self._X = (X, indices), None

    def _rows(self):
        """The samples: ndarray or CSR matrix of float64, shape (m, d)."""
        if self._X is None:
            X, indices = self._source
            self._X = X[indices].astype(np.float64, copy=False)
        return self._X

    def rows_of_all(self, most=None):
        """The Gram matrix: ndarray of float32, shape (m, m). `most` is that of `MatrixBlocks`."""
        X = self._rows()
        if sparse.issparse(X):
            return inner_products(rows_of(X), rows_of(X)).astype(np.float32)
        with one_thread(), np.errstate(over="ignore", invalid="ignore"):
            X = X.astype(np.float32)
            return X @ X.T

    def sums(self, indices, support, coefficients):
        """The sums of `MatrixBlocks.sums`: products with the sum of the samples, a weight vector."""
        X = self._rows()
        of_all = np.zeros(X.shape[0])
        of_all[support] = coefficients
        with one_thread():
            return (X @ (X.T @ of_all))[indices]
