"""Common parts of the checks of algorithms: making instances and comparing fits."""

import inspect

import numpy as np
from scipy import sparse

from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.testing.reports import check_of, require

# Classifiers that prove an accuracy `eps`.
PROVING = (MarginClassifier, MaximumMarginClassifier)

check = check_of(lambda algorithm: getattr(algorithm, "__name__", repr(algorithm)))


def parameters_of(algorithm):
    """Return {name: default} of the constructor."""
    signature = inspect.signature(algorithm.__init__)
    return {
        name: parameter.default
        for name, parameter in list(signature.parameters.items())[1:]
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def make(algorithm, params, **needed):
    """Return an instance with the author's parameters, and a check's parameters if they exist."""
    declared = parameters_of(algorithm)
    return algorithm(**{**params, **{key: needed[key] for key in needed if key in declared}})


def state_of(classifier):
    """Return all fitted attributes, including attributes that the class computes."""
    names = {*vars(classifier), *dir(type(classifier))}
    fitted = sorted(name for name in names if name.endswith("_") and not name.startswith("_"))
    return {name: getattr(classifier, name) for name in fitted if hasattr(classifier, name)}


def difference(first, second):
    """Return a description of the first difference of two values, bit by bit, or None."""
    if type(first) is not type(second):
        return f"{type(first).__name__} and {type(second).__name__}"
    if isinstance(first, dict):
        if first.keys() != second.keys():
            return f"{sorted(map(str, first))} and {sorted(map(str, second))}"
        parts = [(f"{key}: ", first[key], second[key]) for key in first]
    elif isinstance(first, list | tuple):
        if len(first) != len(second):
            return f"lengths {len(first)} and {len(second)}"
        parts = [("", *pair) for pair in zip(first, second, strict=True)]
    elif isinstance(first, np.ndarray):
        numeric = first.dtype.kind in "fc"
        if first.dtype == second.dtype and np.array_equal(first, second, equal_nan=numeric):
            return None
        return f"{first!r} and {second!r}"
    elif sparse.issparse(first):
        parts = [("", first.toarray(), second.toarray())]
    else:
        try:
            return None if first is second or bool(first == second) else f"{first!r} and {second!r}"
        except (TypeError, ValueError):
            return None  # objects without equality are not compared
    for label, left, right in parts:
        text = difference(left, right)
        if text:
            return f"{label}{text}"
    return None


def require_same_fit(first, second, when):
    text = difference(state_of(first), state_of(second))
    require(not text, f"{when}: {text}", "two fits that are equal bit by bit")


def scores_of(classifier, X):
    if hasattr(classifier, "decision_function"):
        return classifier.decision_function(X)
    return classifier.predict(X)
