"""Validation of X and y, by scikit-learn.

For data that need no conversion, as in the fits of a study, its validation takes longer than a small
fit: then a few checks of types and shapes, and that X is finite, suffice. What scikit-learn does not
check, kernels rely on: valid indices of sparse matrices, and aligned arrays.
"""

from numbers import Number

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from margins._sparse import all_ones
from margins.data.chunks import check_in_memory
from margins.data.structure import checked

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
    owner = type(estimator).__name__
    X = _checked(X, f"X of {owner}")
    is_ready = (
        _is_ready(X) and type(y) is np.ndarray and y.shape == X.shape[:1] and y.dtype.kind in "biuU"
    )
    if is_ready:
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
    else:
        check_labels(y, f"y of {owner}.fit")
        given = X
        X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=DTYPES)
        X = _converted(X, given, f"X of {owner}")
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


def validate_chunk(estimator, X, y, *, is_first):
    """X and y of `partial_fit`, validated.

    Parameters
    ----------
    estimator : classifier
    X : array-like or sparse matrix, shape (m, d)
    y : array-like, shape (m,)
    is_first : bool
        True: sets `n_features_in_` and, if X has string column names, `feature_names_in_`. False: X must
        agree with them.

    Returns
    -------
    X : ndarray or CSR matrix of float64 or float32, shape (m, d)
    y : ndarray, shape (m,)

    Raises
    ------
    ValueError
        If X or y is not allowed.
    """
    owner = type(estimator).__name__
    X = _checked(X, f"X of {owner}")
    check_labels(y, f"y of {owner}.partial_fit")
    given = X
    X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=DTYPES, reset=is_first)
    check_classification_targets(y)
    return _converted(X, given, f"X of {owner}"), y


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
    name = f"X of {type(estimator).__name__}"
    X = _checked(X, name)
    named = hasattr(estimator, "feature_names_in_")
    if _is_ready(X) and X.shape[1] == estimator.n_features_in_ and not named:
        return X
    given = X
    X = validate_data(estimator, X, accept_sparse="csr", dtype=DTYPES, reset=False)
    return _converted(X, given, name)


def validate_matrix(X, name, is_finite=False):
    """X, validated, of no estimator.

    Parameters
    ----------
    X : array-like or sparse matrix, shape (m, d)
    name : str
        What errors about its structure call it.
    is_finite : bool
        True: its numbers are known to be finite.

    Returns
    -------
    ndarray or CSR matrix of float64 or float32, shape (m, d)

    Raises
    ------
    ValueError
        If X is not allowed.
    """
    given = _checked(X, name)
    X = check_array(given, accept_sparse="csr", dtype=DTYPES, ensure_all_finite=not is_finite)
    return _converted(X, given, name)


def check_labels(y, name):
    """Raise ValueError if labels are bytes or None, or some are numbers and some are str.

    NumPy would make str of the numbers in a list, and bytes and None have no order among str.

    Parameters
    ----------
    y : array-like
    name : str
        What the error calls it.
    """
    if getattr(getattr(y, "dtype", None), "kind", "O") in "biufU":
        return
    labels = np.asarray(y, dtype=object).ravel().tolist()
    types = set(map(type, labels))
    if type(None) in types and len(labels) > 1:  # y itself may be None, which is another error
        raise ValueError(f"{name} must hold numbers or str. Got None for sample {labels.index(None)}.")
    if any(issubclass(each, bytes) for each in types):
        label = next(label for label in labels if isinstance(label, bytes))
        raise ValueError(f"{name} must hold numbers or str. Got bytes, {label!r}: decode them.")
    if any(issubclass(each, str) for each in types) and any(issubclass(each, Number) for each in types):
        number = next(label for label in labels if isinstance(label, Number))
        text = next(label for label in labels if isinstance(label, str))
        raise ValueError(f"{name} must hold either numbers or str. Got both, {number!r} and {text!r}.")


def _checked(X, name):
    check_in_memory(X, name)
    return checked(X, name) if sparse.issparse(X) else X


def _converted(X, given, name):
    """X as scikit-learn has made it of what was given: aligned, and of valid structure."""
    if sparse.issparse(X):
        return X if X is given else checked(X, name)
    return np.require(X, requirements="A")


def _is_ready(X):
    """True if X needs no conversion, is finite, aligned and not empty."""
    if type(X) is np.ndarray:
        if not X.flags.aligned:
            return False
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
