"""Features measured from a centre, for models whose intercept is free.

Moving all samples changes only a free intercept, and solvers that access one sample at a time need many
passes if features are far from 0 relative to their spread: every update then moves the intercept, too.
So they are measured from their mean; in sparse data only columns that are stored in half of the rows,
which at most doubles the elements. If half of all elements are stored, the result is dense.
"""

import numpy as np

from margins.data.binary_data import is_sparse
from margins.linalg.threads import on_one_thread

# Squared length of the mean, in multiples of the mean squared distance from it, that counts as far.
OFFSET = 3.0
# The mean of at most this many samples, spread evenly, is near enough.
MAX_SAMPLES = 8
# Columns of sparse data with a smaller share of stored elements are not moved.
FILLED = 0.5


@on_one_thread
def centre_of(X):
    """Return the centre from which features should be measured; None: they are near 0 already."""
    sample = X[:: -(-X.shape[0] // MAX_SAMPLES)]
    n = sample.shape[0]
    with np.errstate(over="ignore", invalid="ignore"):
        centre = np.asarray(sample.sum(axis=0, dtype=np.float64)).ravel() / n
        if is_sparse(X):
            counts = np.bincount(sample.indices, minlength=X.shape[1])
            centre[counts < FILLED * n] = 0.0
            values = sample.data.astype(np.float64)
        else:
            values = np.asarray(sample, dtype=np.float64).ravel()
        square = float(centre @ centre)
        spread = float(values @ values) / n - square
    return centre if spread * OFFSET < square < np.inf else None


def centred(X, centre):
    """Return X minus a centre (ndarray or CSR matrix of float64, shape (m, d))."""
    if not is_sparse(X):
        return np.subtract(X, centre, dtype=np.float64)
    if X.nnz >= FILLED * X.shape[0] * X.shape[1]:
        dense = X.toarray().astype(np.float64, copy=False)
        return np.subtract(dense, centre, out=dense)
    from scipy import sparse

    columns, m = np.flatnonzero(centre), X.shape[0]
    row_starts = np.arange(m + 1, dtype=X.indptr.dtype) * len(columns)
    moved = (np.tile(centre[columns], m), np.tile(columns.astype(X.indices.dtype), m), row_starts)
    return sparse.csr_matrix(X, dtype=np.float64) - sparse.csr_matrix(moved, X.shape)
