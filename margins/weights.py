"""The weight of every pattern: by what its C is multiplied."""

import numpy as np
from sklearn.utils.validation import _check_sample_weight


def pattern_weights(name, X, codes, classes, sample_weight, class_weight):
    """Sample weights times class weights.

    Parameters
    ----------
    name : str
        The estimator's, for errors.
    X : ndarray or CSR matrix, shape (m, d)
    codes : ndarray of int, shape (m,)
        Index of every pattern's class in `classes`.
    classes : ndarray, shape (n_classes,)
    sample_weight : array-like of float, shape (m,), or None
    class_weight : mapping of labels to weights, "balanced" or None
        Classes that a mapping leaves out weigh 1. "balanced" makes the patterns of all classes weigh
        the same together, sample weights counted.

    Returns
    -------
    ndarray of float64, shape (m,), or 1.0 if no weight differs from 1

    Raises
    ------
    ValueError
        If a weight is not in [0, inf), or a mapping names a class that y does not hold.
    """
    weight = np.ones(X.shape[0])
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
        worst = int(np.argmin(weight))
        if weight[worst] < 0:
            raise ValueError(
                f"sample_weight of {name}.fit must be in [0, inf). "
                f"Got {weight[worst]} for sample {worst}."
            )
    if class_weight is not None:
        if isinstance(class_weight, str):  # "balanced"
            totals = np.bincount(codes, weights=weight, minlength=len(classes))
            by_class = np.divide(
                totals.sum(), len(classes) * totals, out=np.zeros(len(classes)), where=totals > 0
            )
        else:
            by_class = _weights_by_label(name, classes, class_weight)
        weight *= by_class[codes]
    return 1.0 if np.all(weight == 1) else weight


def _weights_by_label(name, classes, class_weight):
    labels = classes.tolist()
    by_class = np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
    for label, value in zip(labels, by_class, strict=True):
        if not 0 <= value < np.inf:
            raise ValueError(
                f"class_weight of {name} must be in [0, inf). Got {value} for class {label!r}."
            )
    unknown = [label for label in class_weight if label not in labels]
    # A mapping that covers all classes of y may name more: y may be a part of the data.
    if unknown and not all(label in class_weight for label in labels):
        raise ValueError(f"class_weight of {name} must name classes of y, {labels}. Got {unknown[0]!r}.")
    return by_class
