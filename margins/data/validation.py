"""Validation of X and y, by scikit-learn, and the weights of samples.

If data need no conversion, as in the fits of a study, this validation takes longer than a small fit: a
few checks of types, of shapes and that X is finite are enough. In addition, this module checks what
scikit-learn does not check but compiled loops rely on: valid sparse indices and aligned arrays.
"""

import datetime
import math
import os
from collections.abc import Mapping
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from margins.data._structure import all_ones
from margins.data.binary_data import is_sparse, rows_of
from margins.data.chunks import check_in_memory
from margins.data.structure import checked
from margins.linalg.threads import blocks_of, current_team

DTYPES = (np.float64, np.float32)
PLAIN_SPARSE = ("csr_matrix", "csr_array")
# Types of labels for which NumPy has arrays.
LABELS = (str, int, float, complex, np.bool_, np.number, np.datetime64, np.timedelta64)


class ValidSamples(NamedTuple):
    """Validated samples, on which a classifier can be trained."""

    X: Any  # ndarray or CSR matrix of float64 or float32, shape (m, d)
    y: np.ndarray  # shape (m,)
    codes: np.ndarray  # int, shape (m,): ``classes[codes]`` is y
    classes: np.ndarray  # shape (n_classes,)
    feature_names: np.ndarray | None  # str, shape (d,), or None
    lengths: tuple = (None, None)  # X and |x_k|^2, if the check of X has computed them


def is_plain(X):
    """Return whether X is an array or CSR matrix, but not of a subclass such as a memory map."""
    return type(X) is np.ndarray or _is_plain_csr(X)


def _is_plain_csr(X):
    return is_sparse(X) and type(X).__name__ in PLAIN_SPARSE and type(X).__module__.startswith("scipy.")


def validate_samples(estimator, X, y, name):
    """Validate X, shape (m, d), and y, shape (m,), and encode the labels; errors say ``str(name)``."""
    owner = type(estimator).__name__
    X = _checked(X, f"X of {owner}")
    feature_names, is_array = None, type(y) is np.ndarray and y.dtype.kind in "biuU"
    lengths = _lengths(X)
    is_ready = (lengths[0] is X or _is_ready(X)) and is_array and y.shape == X.shape[:1]
    if not is_ready:
        from sklearn.utils.validation import validate_data

        y = checked_labels(y, f"y of {owner}.fit")
        original, blank = X, _blank(estimator)
        X, y = validate_data(blank, X, y, accept_sparse="csr", dtype=DTYPES)
        X = _converted(X, original, f"X of {owner}")
        _check_targets(y)
        feature_names = vars(blank).get("feature_names_in_")
    classes, codes = _classes(y)
    if is_ready and 2 * len(classes) > len(y):
        _check_targets(y)  # warns that there are unusually many classes
    check_several(name, classes)
    return ValidSamples(X, y, codes, classes, feature_names, lengths)


def check_several(name, classes):
    """Raise a ValueError if there is only one class."""
    if len(classes) < 2:
        raise ValueError(
            f"y of {name} must hold at least 2 classes. Got 1 class: {classes.tolist()[0]!r}."
        )


def _check_targets(y):
    """Raise scikit-learn's error, or show its warning, if labels look like numbers to be predicted."""
    from sklearn.utils.multiclass import check_classification_targets

    check_classification_targets(y)


def _blank(estimator):
    """Return a copy of an estimator, on which functions of scikit-learn may set attributes."""
    blank = object.__new__(type(estimator))
    vars(blank).update(vars(estimator))
    return blank


def _classes(y):
    """Return the distinct labels, sorted, and the index of each label."""
    if y.dtype.kind in "biuf":
        # Testing for exactly two labels is much faster than the general case.
        first = y[0]
        is_second = y != first
        second = y[is_second.argmax()]
        if second != first and np.count_nonzero(y == second) == np.count_nonzero(is_second):
            if second > first:
                return np.array([first, second]), is_second.astype(np.intp)
            return np.array([second, first]), np.logical_not(is_second).astype(np.intp)
    classes = np.unique(y)
    return classes, np.searchsorted(classes, y)  # np.unique with indices would sort y


def validate_chunk(estimator, X, y, classes, *, is_first, name):
    """Validate X and y of `partial_fit`; `classes`: all classes, or None for those of earlier chunks."""
    from sklearn.utils.multiclass import _check_partial_fit_first_call
    from sklearn.utils.validation import validate_data

    owner = type(estimator).__name__
    X = _checked(X, f"X of {owner}")
    y = checked_labels(y, f"y of {owner}.partial_fit")
    original, blank = X, _blank(estimator)
    X, y = validate_data(blank, X, y, accept_sparse="csr", dtype=DTYPES, reset=is_first)
    _check_targets(y)
    X = _converted(X, original, f"X of {owner}")
    if classes is not None:
        classes = checked_labels(classes, f"classes of {name}")
    if is_first and classes is not None:
        vars(blank).pop("classes_", None)  # from a stream that an error of a rule has ended
    _check_partial_fit_first_call(blank, classes)
    names = vars(blank).get("feature_names_in_")
    return ValidSamples(X, y, codes_of(y, blank.classes_, name, "stream"), blank.classes_, names)


def codes_of(y, classes, name, owner):
    """Return the indices of labels in the classes of the owner, "stream" or "fit" (ndarray of int)."""
    if len(classes) < 2:
        raise ValueError(f"classes of {name} must hold at least 2 labels. Got {classes.tolist()}.")
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unknown = np.flatnonzero(classes[codes] != y)
    if len(unknown):
        raise ValueError(
            f"y of {name} must hold classes of the {owner}, {classes.tolist()}. "
            f"Got {y[unknown[0]].item()!r}."
        )
    return codes


def validate_points(estimator, X, samples=None):
    """Validate X, shape (n, d), for predictions, with the features of the estimator or of `samples`."""
    name, names = f"X of {type(estimator).__name__}", getattr(estimator, "feature_names_in_", None)
    is_row = isinstance(X, Mapping) and not is_sparse(X)  # as DOK matrices are
    if is_row or (names is not None and hasattr(X, "columns")):
        from margins.data.frames import of_model

        X = of_model(X, names, name)
    X = _checked(X, name)
    if samples is not None:
        estimator = _blank(estimator)
        estimator.n_features_in_ = samples.n_features
        vars(estimator).pop("feature_names_in_", None)
        if samples.feature_names is not None:
            estimator.feature_names_in_ = samples.feature_names
    has_names = hasattr(estimator, "feature_names_in_")
    if _is_ready(X) and X.shape[1] == estimator.n_features_in_ and not has_names:
        return X
    from sklearn.utils.validation import validate_data

    original = X
    try:
        X = validate_data(estimator, X, accept_sparse="csr", dtype=DTYPES, reset=False)
    except ValueError:
        _check_kernel_columns(estimator, original, name)
        raise
    return _converted(X, original, name)


def _check_kernel_columns(estimator, X, name):
    """Raise a ValueError if X is a kernel matrix without a column for each training sample."""
    from sklearn.utils import check_array, get_tags

    if not get_tags(estimator).input_tags.pairwise:
        return
    options = {"accept_sparse": "csr", "dtype": DTYPES, "estimator": estimator, "input_name": "X"}
    n_columns = check_array(X, **options).shape[1]
    if n_columns != estimator.n_features_in_:
        raise ValueError(
            f"{name} with kernel='precomputed' must hold K(x, training sample): a row for each x "
            f"and a column for each of the {estimator.n_features_in_} training samples. Got "
            f"{n_columns} columns."
        ) from None


def validate_matrix(X, name, is_finite=False):
    """Validate X, shape (m, d), without an estimator; `is_finite`: its numbers are known to be."""
    original = _checked(X, name)
    if not is_finite and _is_ready(original):
        return original
    from sklearn.utils import check_array

    options = {"accept_sparse": "csr", "dtype": DTYPES, "input_name": "X"}
    X = check_array(original, ensure_all_finite=not is_finite, **options)
    return _converted(X, original, name)


def check_labels(y, name):
    """Raise the errors of `checked_labels`, with the same parameters."""
    checked_labels(y, name)


def checked_labels(y, name):
    """Return labels unchanged, or as NumPy numbers if NumPy or scikit-learn would round or mix them."""
    check_unmasked(y, name)
    y = _as_numpy(y)
    dtype = getattr(y, "dtype", None)
    kind = getattr(dtype, "kind", "O")
    if kind in "biufU":
        return y
    labels = np.asarray(y, dtype=object).ravel().tolist()
    types = set(map(type, labels))
    if len(labels) > 1 and not types <= {str, int, bool}:  # y may be None, which raises another error
        missing = next((k for k, label in enumerate(labels) if _is_missing(label)), None)
        if missing is not None:
            raise ValueError(
                f"{name} must hold numbers or str, and no missing label. Got {labels[missing]!r} for "
                f"sample {missing}."
            )
    if any(issubclass(t, bytes) for t in types):
        label = next(label for label in labels if isinstance(label, bytes))
        raise ValueError(f"{name} must hold numbers or str. Got bytes, {label!r}: decode them.")
    if any(issubclass(t, str) for t in types) and any(issubclass(t, Number) for t in types):
        number = next(label for label in labels if isinstance(label, Number))
        text = next(label for label in labels if isinstance(label, str))
        raise ValueError(f"{name} must hold either numbers or str. Got both, {number!r} and {text!r}.")
    if isinstance(dtype, np.dtype) and kind in "mMc":  # scikit-learn has an error for complex numbers
        return y
    if len(labels) > 1 and not all(issubclass(t, LABELS) for t in types):
        label = next(label for label in labels if not isinstance(label, LABELS))
        raise ValueError(
            f"{name} must hold numbers or str. Got {type(label).__name__}, {label!r}: convert these "
            "labels to str, or to numbers."
        )
    # Convert numbers only if they have one type: NumPy would round integers among floats.
    is_number = len(types) == 1 and not issubclass(*types, str)
    is_object_array = isinstance(dtype, np.dtype) and np.ndim(y) == 1
    return np.array(labels) if is_number and is_object_array else y


def _is_missing(label):
    """Return whether a label is None, NaN, NaT or the NA of pandas, which has no truth value."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, Number) and bool(label != label)


def check_unmasked(values, name):
    """Raise a ValueError for masked values of NumPy's masked arrays: nothing reads a mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        masked = np.ma.getmaskarray(values)
        place = ", ".join(str(index) for index in np.argwhere(masked)[0].tolist())
        raise ValueError(
            f"{name} must have no masked values. Got {masked.sum()}, the first at [{place}]. "
            "Leave these samples out, or fill the values."
        )


def _as_numpy(y):
    """Return integers and booleans of pandas as NumPy types; others, and with gaps, unchanged."""
    if getattr(y, "ndim", 1) == 2 and hasattr(y, "iloc") and y.shape[1] == 1:
        column = _as_numpy(y.iloc[:, 0])
        return column[:, np.newaxis] if type(column) is np.ndarray else y
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, np.dtype) or getattr(dtype, "kind", "O") not in "biu" or y.isna().any():
        return y
    return y.to_numpy(bool if dtype.kind == "b" else f"{dtype.kind}8")


def check_no_times(X, name):
    """Raise a ValueError for dates and durations, whose numbers would depend on their unit."""
    columns = getattr(X, "dtypes", None)
    if hasattr(columns, "items"):  # a data frame
        types = {f" in column {column!r}": dtype for column, dtype in columns.items()}
    elif getattr(getattr(X, "dtype", None), "kind", "O") == "O" and isinstance(X, list | np.ndarray):
        first = X[0] if len(X) and np.ndim(X[0]) == 1 else ()
        dtypes = [getattr(value, "dtype", type(value)) for value in first]
        types = {f" in column {k}": dtype for k, dtype in enumerate(dtypes)}
    else:
        types = {"": getattr(X, "dtype", None)}
    for where, dtype in types.items():
        is_time = isinstance(dtype, type) and issubclass(dtype, datetime.date | datetime.timedelta)
        if is_time or getattr(dtype, "kind", "") in ("m", "M"):
            got = dtype.__name__ if is_time else dtype
            raise ValueError(
                f"{name} must hold numbers. Got {got}{where}: convert it to numbers of a unit, such as "
                "days since a date."
            )


def _checked(X, name):
    if type(X) is np.ndarray and X.dtype.kind in "mMO":
        check_no_times(X, name)
    if not is_plain(X):
        check_in_memory(X, name)
        if isinstance(X, str | os.PathLike):
            raise ValueError(
                f"{name} must hold numbers. Got the {type(X).__name__} {os.fspath(X)!r}. To read "
                "files, pass Chunks of margins.data.chunks: from_parquet, from_csv or from_svmlight."
            )
        if hasattr(X, "format") and hasattr(X, "to_memory"):  # anndata's sparse matrix on disk
            raise ValueError(
                f"{name} must be in memory. Got {X!r}. Pass X.to_memory(), or "
                "Chunks.of_rows(X, y) of margins.data.chunks to fit."
            )
        if hasattr(X, "columns"):
            from margins.data.frames import flattened

            X = flattened(X, name)
        check_unmasked(X, name)
        check_no_times(X, name)
    return checked(X, name) if is_sparse(X) else X


def _converted(X, original, name):
    """Return X, which scikit-learn has made from `original`, aligned and with a valid structure."""
    if is_sparse(X):
        return X if X is original else checked(X, name)
    return np.require(X, requirements="A")


def _lengths(X):
    """Return X and |x_k|^2, if X is a dense array that they show to be finite, or None twice."""
    is_dense = type(X) is np.ndarray and X.dtype in DTYPES and X.ndim == 2 and X.size > 0
    if is_dense and X.flags.c_contiguous and X.flags.aligned:
        sqnorms = rows_of(X).sqnorms()
        if math.isfinite(np.maximum.reduce(sqnorms)):
            return X, sqnorms
    return None, None


def _is_ready(X):
    """Return whether X needs no conversion, and is finite, aligned and not empty."""
    if type(X) is np.ndarray:
        if not X.flags.aligned:
            return False
        values = X
    elif _is_plain_csr(X):
        values = X.data
    else:
        return False
    if X.dtype not in DTYPES or X.ndim != 2 or 0 in X.shape:
        return False
    if values.ndim == 1 and values.flags.c_contiguous and all_ones(values):
        return True  # all values are 1, so finite; all_ones stops at the first value that is not
    blocks = blocks_of(len(values), values.size)
    with np.errstate(all="ignore"):  # an overflow only causes a full validation
        return bool(np.isfinite(current_team().map(lambda block: values[block].sum(), blocks)).all())


class Samples(NamedTuple):
    """Samples of positive weight, with facts about all samples."""

    X: Any  # ndarray or CSR matrix, shape (m, d)
    codes: np.ndarray  # int, shape (m,): indices in `classes`
    classes: np.ndarray  # shape (n_classes,)
    weight: Any  # float64, shape (m,), or 1.0
    kept: np.ndarray  # int, shape (m,): their indices among all samples
    n_samples: int  # number of all samples
    n_features: int  # of the original X: a precomputed X loses columns if samples are left out
    feature_names: np.ndarray | None = None  # str, shape (n_features,), or None
    absent: tuple = ()  # int: the classes whose samples all have weight 0
    lengths: tuple = (None, None)  # a matrix and |x_k|^2 of its rows; X may be another matrix


def weighted_samples(name, valid, sample_weight, class_weight, *, pairwise=False, all_classes=True):
    """Weight validated samples as in `sample_weights`, and remove the samples of weight 0 (Samples)."""
    X, codes, classes = valid.X, valid.codes, valid.classes
    n_samples, n_features = X.shape
    weight = sample_weights(name, X, codes, classes, sample_weight, class_weight)
    kept, absent = np.arange(n_samples), ()
    if isinstance(weight, np.ndarray) and not weight.all():
        kept = np.flatnonzero(weight)
        X, codes, weight = X[kept], codes[kept], weight[kept]
        if pairwise:
            X = X[:, kept]
        if all_classes:
            absent = classes_without(name, np.bincount(codes, minlength=len(classes)), classes)
        if (weight == 1).all():
            weight = 1.0
    names = valid.feature_names
    return Samples(X, codes, classes, weight, kept, n_samples, n_features, names, absent, valid.lengths)


def classes_without(name, totals, classes):
    """Return the codes of classes whose total is 0; raise a ValueError if fewer than two are present."""
    present = np.flatnonzero(totals)
    if len(present) < 2:
        labels = classes[present].tolist()
        got = f"1: {labels[0]!r}" if labels else "none: all weights are zero"
        raise ValueError(
            f"At least 2 classes of {name} must have samples of positive weight. Got {got}."
        )
    return tuple(np.flatnonzero(totals == 0).tolist())


def sample_weights(name, X, codes, classes, sample_weight, class_weight):
    """Return sample weights times class weights."""
    if sample_weight is None and class_weight is None:
        return 1.0
    m = X.shape[0]
    weight = np.ones(m) if sample_weight is None else weights_given(name, m, sample_weight)
    if class_weight is not None:
        totals = np.bincount(codes, weights=weight, minlength=len(classes))
        weight *= class_weights_of(name, classes, class_weight, totals)[codes]
    return 1.0 if np.all(weight == 1) else weight


def weights_given(name, m, sample_weight):
    """Return a copy of the weights of m samples (ndarray of float64, shape (m,))."""
    check_unmasked(sample_weight, f"sample_weight of {name}")
    values = np.asarray(sample_weight).ravel()
    texts = values if values.dtype.kind in "OUS" else ()  # NumPy makes numbers of texts
    text = next((each for each in texts if isinstance(each, str | bytes)), None)
    if text is not None:
        raise ValueError(
            f"sample_weight of {name} must be a number, or hold a number for each of the {m} samples. "
            f"Got {str(text)!r}. Weights of classes are `class_weight`."
        )
    if isinstance(sample_weight, Number):
        sample_weight = np.full(m, sample_weight)
    from sklearn.utils import check_array

    # scikit-learn's _check_sample_weight rejects weights that are all 0, but a chunk may have them.
    options = {"ensure_2d": False, "dtype": np.float64, "copy": True, "input_name": "sample_weight"}
    weight = check_array(sample_weight, **options)
    if weight.shape != (m,):
        raise ValueError(
            f"sample_weight of {name} must be a number, or have a number for each of the {m} samples. "
            f"Got shape {weight.shape}."
        )
    worst = int(np.argmin(weight))
    if weight[worst] < 0:
        raise ValueError(
            f"sample_weight of {name} must be in [0, inf). Got {weight[worst]} for sample {worst}."
        )
    return weight


def class_weights_of(name, classes, class_weight, totals):
    """Return the weight of each class (ndarray of float64, shape (n_classes,), or None)."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):  # "balanced"
        n_classes = len(classes)
        return np.divide(totals.sum(), n_classes * totals, out=np.zeros(n_classes), where=totals > 0)
    labels = classes.tolist()
    by_class = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    unknown = [label for label in class_weight if label not in labels]
    # A mapping that covers all classes of y may name more classes: y may be part of the data.
    if unknown and not all(label in class_weight for label in labels):
        raise ValueError(f"class_weight of {name} must name classes of y, {labels}. Got {unknown[0]!r}.")
    return by_class


class Labels(NamedTuple):
    """The labels and weights of some samples."""

    classes: np.ndarray  # the distinct labels, sorted
    codes: np.ndarray  # int, shape (m,): ``classes[codes]`` are the labels
    weight: np.ndarray | None  # float64, shape (m,), or None


def n_rows_of(X):
    """Return the number of rows of an array-like or sparse matrix."""
    if hasattr(X, "shape") and X.shape:
        return X.shape[0]
    from sklearn.utils.validation import _num_samples

    return _num_samples(X)


def read_labels(n_rows, y, weight, name):
    """Return the checked Labels of `n_rows` samples."""
    if y is None:
        raise ValueError(f"y of {name} must hold a label for each row. Got None.")
    from sklearn.utils import column_or_1d

    y = column_or_1d(checked_labels(y, f"y of {name}"), warn=True)
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError(f"y of {name} must be finite. Got {y[~np.isfinite(y)][0]}.")
        _check_targets(y)
    if len(y) != n_rows:
        raise ValueError(f"y of {name} must have {n_rows} labels, one for each row. Got {len(y)}.")
    classes, codes = np.unique(y, return_inverse=True)
    if weight is not None:
        check_unmasked(weight, f"sample_weight of {name}")
        weight = np.asarray(weight, dtype=np.float64).ravel()
        if len(weight) != n_rows:
            raise ValueError(
                f"sample_weight of {name} must have {n_rows} numbers, one for each row. "
                f"Got {len(weight)}."
            )
        wrong = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))  # ~ because NaN compares false
        if len(wrong):
            row = wrong[0]
            raise ValueError(
                f"sample_weight of {name} must be in [0, inf). Got {weight[row]} for row {row}."
            )
    return Labels(classes, codes.astype(np.min_scalar_type(max(len(classes) - 1, 1))), weight)
