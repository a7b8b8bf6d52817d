"""Makes the samples of binary problems from X and y, without copying X.

A matrix becomes `Rows` (its arrays, accessed by rows) and the squared norms of its rows, once for all
classes. A binary problem adds labels -1/+1, the constant feature of the intercept, and the diagonal D_k.
"""

import functools
import sys

import numpy as np

from margins._sparse import Rows
from margins.data._binary_data import LARGEST_SQNORM, SMALLEST_SQNORM, BinaryData
from margins.data._structure import all_ones, stores_twice
from margins.readers.svmlight import CsrArrays

MAX_SAMPLES = 2**31 - 1  # orders and active sets hold int32

# Labels of the negative and the positive class.
LABELS = np.array([-1, 1], dtype=np.int8)
# Least number of columns, and largest mean number of elements in each, to look for columns without any.
MIN_PACKED = 1 << 16
MAX_FILLED = 8


def is_sparse(X):
    """Return whether X is sparse, of SciPy or CsrArrays; before SciPy is imported, it has made none."""
    scipy_sparse = sys.modules.get("scipy.sparse")
    return (scipy_sparse is not None and scipy_sparse.issparse(X)) or isinstance(X, CsrArrays)


def rows_of(X):
    """Return the rows of a validated matrix (Rows)."""
    m, d = X.shape
    if is_sparse(X):
        # Any order of columns is allowed, but duplicates would falsify the squared norms.
        data, columns, starts = csr_arrays(without_duplicates(X))
        return Rows(None if all_ones(data) else data, m, d, columns, starts)
    if X.flags.c_contiguous and X.flags.aligned:
        return Rows(X.reshape(-1), m, d, row_step=d)
    in_steps = not any(stride % X.itemsize for stride in X.strides)
    if min(X.strides) < 0 or not in_steps or not X.flags.aligned:
        X = np.require(X, requirements="CA")
    row_step, column_step = (stride // X.itemsize for stride in X.strides)
    extent = (m - 1) * row_step + (d - 1) * column_step + 1
    flat = np.lib.stride_tricks.as_strided(X, (extent,), (X.itemsize,), writeable=False)
    return Rows(flat, m, d, row_step=row_step, column_step=column_step)


def packed(X):
    """Return a wide X without empty columns, and the others' numbers; X, None if that saves little."""
    d = X.shape[1]
    if X.nnz > MAX_FILLED * d:
        return X, None
    data, indices, starts = csr_arrays(X)
    data, indices = data[: X.nnz], indices[: X.nnz]  # SciPy allows longer arrays
    occurs = np.zeros(d, dtype=bool)
    occurs[indices] = True
    columns = np.flatnonzero(occurs)
    if not 0 < 2 * len(columns) <= d:
        return X, None
    places = np.empty(d, dtype=indices.dtype)
    places[columns] = np.arange(len(columns))
    shape = X.shape[0], len(columns)
    if isinstance(X, CsrArrays):
        return X._replace(values=data, columns=places[indices], shape=shape), columns
    of_columns = type(X)((data, places[indices], starts), shape=shape)
    of_columns.has_canonical_format = X.has_canonical_format
    return of_columns, columns


def without_duplicates(X):
    """Return X, or a copy in which duplicate elements are added, as CSR without duplicates."""
    if not X.has_canonical_format:
        _, columns, starts = csr_arrays(X)
        if stores_twice(columns, starts, X.shape[1]):
            X = X.copy()
            X.sum_duplicates()
    return X


def csr_arrays(X):
    """Return data, indices and indptr of a CSR matrix, contiguous, the last two of the same type."""
    columns, starts = X.indices, X.indptr
    if columns.dtype != starts.dtype:
        dtype = columns.dtype if starts[-1] <= np.iinfo(columns.dtype).max else starts.dtype
        columns, starts = columns.astype(dtype, copy=False), starts.astype(dtype, copy=False)
    return tuple(map(_contiguous, (X.data, columns, starts)))


def _contiguous(array):
    """Return an array unchanged, or a contiguous and aligned copy of it."""
    flags = array.flags  # np.require takes as long as accessing a thousand samples
    return array if flags.c_contiguous and flags.aligned else np.require(array, requirements="CA")


def augmented_sqnorms(sqnorms, sq_intercept_scaling, hard_margin, zero_rows=False):
    """Return |x_k|^2 + rho^2 for every row, given |x_k|^2 (ndarray of float64, shape (m,))."""
    if len(sqnorms) > MAX_SAMPLES:
        raise ValueError(f"X must have at most {MAX_SAMPLES} samples. Got {len(sqnorms)}.")
    largest = check_lengths(sqnorms)
    if hard_margin and 0 < largest < SMALLEST_SQNORM:
        raise too_small(largest)
    sqnorms = sqnorms + sq_intercept_scaling
    if hard_margin and not zero_rows and not sqnorms.min() >= SMALLEST_SQNORM:
        shortest = np.argmin(sqnorms)
        raise ValueError(
            f"Row {shortest} of X is zero (squared norm {sqnorms[shortest]:g}), so no hyperplane "
            "through the origin classifies it. With C=inf, set fit_intercept=True or a finite C, or "
            "remove zero rows."
        )
    return sqnorms


def require_zeros(X):
    """Raise a ValueError if X is not 0 but the squared norms of all rows have underflowed to 0."""
    if np.any(X.data if is_sparse(X) else X):
        raise too_small(0.0)


def too_small(largest):
    """Return the ValueError for rows too short for a hard margin, given the largest squared norm."""
    return ValueError(
        "X is too small: with C=inf the largest squared norm of a row must be at least "
        f"{SMALLEST_SQNORM:g}, or X must be 0. Got {largest:g}. Scale the features."
    )


def check_lengths(sqnorms):
    """Return the largest |x_k|^2; raise a ValueError if a row is too long for double arithmetic."""
    largest = np.maximum.reduce(sqnorms)
    if not largest <= LARGEST_SQNORM:
        raise ValueError(
            f"Row {np.argmax(sqnorms)} of X is too long: its squared norm must be at most "
            f"{LARGEST_SQNORM:g}. Got {largest:g}. Scale the features."
        )
    return largest


def make_binary_data(
    rows, sqnorms, positive, sq_intercept_scaling, diag, upper, has_free_intercept=False, weight=None
):
    """Return the samples of one binary problem (BinaryData)."""
    return BinaryData(
        rows,
        LABELS.take(positive),
        sqnorms,
        sq_intercept_scaling,
        of_each(diag, rows.n_rows),
        of_each(upper, rows.n_rows),
        has_free_intercept=has_free_intercept,
        weight=weight,
    )


def sum_of_each(value, m):
    """Return the sum over m samples of a common value, or of one value for each (float)."""
    is_array = isinstance(value, np.ndarray) and value.ndim == 1
    return float(np.sum(value)) if is_array else float(value) * m


def sums_of_classes(value, signs):
    """Return the sums over the positive and over the negative samples (float, float)."""
    is_positive, m = signs > 0, len(signs)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return float(value[is_positive].sum()), float(value[~is_positive].sum())
    n_positive = int(np.count_nonzero(is_positive))
    return float(value) * n_positive, float(value) * (m - n_positive)


def of_each(value, m):
    """Return a common value, with stride 0, or one for each sample, as float64, shape (m,)."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value
    return _same_for_all(float(value), m)


def array_of_each(value, m):
    """Return the array of `of_each` in contiguous memory, copied only if necessary."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return np.ascontiguousarray(value)
    array = np.empty(m)
    array.fill(value)
    return array


@functools.lru_cache
def _same_for_all(value, m):
    # np.broadcast_to is slower, which shows in small fits. The buffer is immutable bytes.
    return np.ndarray((m,), buffer=np.float64(value).tobytes(), strides=(0,))


def stack_rows(*matrices):
    """Return the rows of matrices, as CSR if one of them is sparse."""
    if any(map(is_sparse, matrices)):
        from scipy import sparse

        return sparse.vstack(matrices, format="csr")
    return np.vstack(matrices)
