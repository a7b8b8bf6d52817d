"""The samples of positive weight, and the factors of their C."""

import math
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from margins.data.validation import check_unmasked


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


def weighted_samples(name, valid, sample_weight, class_weight, *, pairwise=False, all_classes=True):
    """Weight validated samples (ValidSamples), and remove the samples of weight 0 (Samples).

    See `sample_weights` for the weights. `pairwise`: the columns of X are samples, too. `all_classes`:
    at least two classes must have samples of positive weight.
    """
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
            absent = absent_classes(name, codes, classes)
        if (weight == 1).all():
            weight = 1.0
    names = valid.feature_names
    return Samples(X, codes, classes, weight, kept, n_samples, n_features, names, absent)


def absent_classes(name, codes, classes):
    """Return the codes of classes without samples; raise a ValueError if fewer than two have samples."""
    return classes_without(name, np.bincount(codes, minlength=len(classes)), classes)


def classes_without(name, totals, classes):
    """Return the same from the number or the weight of the samples of each class."""
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
    """Return a copy of the weights of m samples (ndarray of float64, shape (m,)).

    Parameters and errors are the same as in `sample_weights`.
    """
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
    # scikit-learn's _check_sample_weight rejects weights that are all 0, but a chunk may have them.
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, copy=True, input_name="sample_weight"
    )
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
        return np.divide(
            totals.sum(), len(classes) * totals, out=np.zeros(len(classes)), where=totals > 0
        )
    return _weights_by_label(name, classes, class_weight)


def _weights_by_label(name, classes, class_weight):
    labels = classes.tolist()
    by_class = np.ones(len(labels))
    for k, label in enumerate(labels):
        value = class_weight.get(label, 1.0)
        try:
            by_class[k] = math.nan if isinstance(value, str) else float(value)
        except (TypeError, ValueError):
            by_class[k] = math.nan
        if not 0 <= by_class[k] < math.inf:
            got = repr(value) if math.isnan(by_class[k]) else by_class[k]
            raise ValueError(
                f"class_weight of {name} must be in [0, inf). Got {got} for class {label!r}."
            )
    unknown = [label for label in class_weight if label not in labels]
    # A mapping that covers all classes of y may name more classes: y may be part of the data.
    if unknown and not all(label in class_weight for label in labels):
        raise ValueError(f"class_weight of {name} must name classes of y, {labels}. Got {unknown[0]!r}.")
    return by_class
