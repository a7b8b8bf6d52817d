"""Few patterns of many features: their inner products in place of the features.

What an algorithm learns of a pattern are inner products with others. Where patterns are few and each
has many features, as in microarrays, the m x m matrix of all of them is soon computed and small beside
X. Over its rows an inspection reads one number and an update adds m, however many features there are;
the weights are summed up at the end, from the dual variables
(`margins.solvers.driver.Run.leave_gram`), and what is proven is proven of them.
"""

import numpy as np
from scipy import sparse

from margins.data.binary_problem import check_lengths, csr_arrays, rows_of
from margins.kernels._kernel import GramRows, fill_columns
from margins.linalg.threads import one_thread

# X is read so many columns at a time.
BLOCKS = 8

# Such accuracies are proven by products in single precision, which take 0.6 of the time (fits of six
# microarrays with either loss, eps from 1e-2 to 1e-4, C from 0.01 to 1e5: mostly 0.75 to 0.95 of the
# time, and as many visits), unless a row is longer or shorter than that, or rows share too much: of the
# squared norm of a row in the middle, the rows before it must leave such a part, or rounding is all that
# tells them from each other. (Parts: microarrays 0.19 to 0.70; features of variance 1 around 10, 30 and
# 300: 1e-2, 1e-3, 1e-5. With 1e-5 fits took twice the visits, with 1e-8 they did not end.)
SHORTEST, LONGEST = 1e-15, 1e15
DISTINCT = 0.02
# Added to the squared norms for that: rows may depend on each other, and rounding hide it.
RIDGE = 1e-4


def gram_rows(X, coarse=False):
    """The rows of the matrix of inner products of the rows of X, as a kernel's.

    Parameters
    ----------
    X : ndarray or CSR matrix of float64 or float32, shape (m, d)
    coarse : bool
        True: products may be rounded to single precision.

    Returns
    -------
    margins.kernels._kernel.GramRows

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
    """True if products in single precision tell the rows from each other."""
    if not SHORTEST**2 <= sqnorms.min() <= sqnorms.max() <= LONGEST**2:
        return False
    with one_thread:
        left = np.linalg.cholesky(gram + np.diag(RIDGE * sqnorms)).diagonal() ** 2
    return np.median(left / sqnorms) >= DISTINCT


def _products(X, dtype):
    """The inner products of all rows: ndarray of float64, shape (m, m)."""
    gram = np.zeros((X.shape[0], X.shape[0]))
    # A sum that overflows is of a row that is too long, which its own square tells.
    with one_thread, np.errstate(over="ignore", invalid="ignore"):
        if not _add_products(X, dtype, gram):
            gram[:] = 0
            # The flag of X may deny it: who permutes columns by writing to `indices` leaves it alone.
            X = sparse.csr_array((X.data, X.indices, X.indptr), X.shape)
            _add_products(X.sorted_indices(), dtype, gram)
    return gram


def _add_products(X, dtype, gram):
    """Add all inner products of rows, some columns after the other; False if columns are not sorted."""
    m, d = X.shape
    width = -(-d // BLOCKS)
    is_sparse = sparse.issparse(X)
    arrays, read = csr_arrays(X) if is_sparse else None, np.zeros(m, dtype=np.int64)
    for begin in range(0, d, width):
        if is_sparse:
            block = np.zeros((m, min(width, d - begin)), dtype)
            if not fill_columns(*arrays, read, begin, block):
                return False
        else:
            block = X[:, begin : begin + width].astype(dtype, copy=False)
        gram += block @ block.T
    return True
