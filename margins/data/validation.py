"""Validation of X and y, by scikit-learn.

For data that need no conversion, as in the fits of a study, its validation takes longer than a small
fit: then a few checks of types and shapes, and that X is finite, suffice.
"""

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from margins._sparse import all_ones

DTYPES = (np.float64, np.float32)


def validate_samples(estimator, X, y):
    """X and y, validated, and the labels as indices.

    Parameters
    ----------
    estimator : classifier
        Gets `classes_`, `n_features_in_` and, if X has string column names, `feature_names_in_`.
    X : array-like or sparse matrix, shape (m, d)
    y : array-like, shape (m,)

    Returns
    -------
    X : ndarray or CSR matrix of float64 or float32, shape (m, d)
    y : ndarray, shape (m,)
    codes : ndarray of int, shape (m,)
        ``classes_[codes]`` is y.

    Raises
    ------
    ValueError
        If X or y is not allowed, or if there is one class only.
    """
    is_ready = (
        _is_ready(X) and type(y) is np.ndarray and y.shape == X.shape[:1] and y.dtype.kind in "biuU"
    )
    if is_ready:
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
    else:
        X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=DTYPES)
        check_classification_targets(y)
    classes, codes = _classes(y)
    if is_ready and 2 * len(classes) > len(y):
        check_classification_targets(y)  # warns of them
    if len(classes) < 2:
        raise ValueError(
            f"y of {estimator._display_name('fit')} must hold at least 2 classes. "
            f"Got 1 class: {classes.tolist()[0]!r}."
        )
    estimator.classes_ = classes
    return X, y, codes


def _classes(y):
    """The distinct labels, sorted, and their index for each label."""
    if y.dtype.kind in "biuf":
        # Two labels are found much faster than any number of them.
        first = y[0]
        is_second = y != first
        second = y[is_second.argmax()]
        if second != first and np.count_nonzero(y == second) == np.count_nonzero(is_second):
            if second > first:
                return np.array([first, second]), is_second.astype(np.intp)
            return np.array([second, first]), np.logical_not(is_second).astype(np.intp)
    classes = np.unique(y)
    return classes, np.searchsorted(classes, y)  # np.unique with indices would sort y


def validate_points(estimator, X):
    """X, validated, for predictions of a fitted estimator.

    Parameters
    ----------
    estimator : classifier
    X : array-like or sparse matrix, shape (n, d)

    Returns
    -------
    ndarray or CSR matrix of float64 or float32, shape (n, d)

    Raises
    ------
    ValueError
        If X is not allowed, or has other features than the training set.
    """
    named = hasattr(estimator, "feature_names_in_")
    if _is_ready(X) and X.shape[1] == estimator.n_features_in_ and not named:
        return X
    return validate_data(estimator, X, accept_sparse="csr", dtype=DTYPES, reset=False)


def _is_ready(X):
    """True if X needs no conversion, is finite and not empty."""
    if type(X) is np.ndarray:
        values = X
    elif type(X) in (sparse.csr_matrix, sparse.csr_array):
        values = X.data
    else:
        return False
    if X.dtype not in DTYPES or X.ndim != 2 or 0 in X.shape:
        return False
    if values.ndim == 1 and values.flags.c_contiguous and all_ones(values):
        return True  # finite; of other data only the numbers before the first one that is not 1 are read
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()))  # an overflow only causes a full validation
