"""What the checks of algorithms share: how an instance is made, and how two fits are compared."""

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
    """{name: default} of the constructor."""
    signature = inspect.signature(algorithm.__init__)
    return {
        name: parameter.default
        for name, parameter in list(signature.parameters.items())[1:]
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def make(algorithm, params, **needed):
    """An instance with the author's parameters, and those of a check that the algorithm has."""
    declared = parameters_of(algorithm)
    return algorithm(**{**params, **{key: needed[key] for key in needed if key in declared}})


def state_of(classifier):
    """All attributes that a fit has set, those included that the class computes."""
    names = {*vars(classifier), *dir(type(classifier))}
    found = sorted(name for name in names if name.endswith("_") and not name.startswith("_"))
    return {name: getattr(classifier, name) for name in found if hasattr(classifier, name)}


def difference(one, other):
    """Where two values differ, bit by bit: str or None."""
    if type(one) is not type(other):
        return f"{type(one).__name__} and {type(other).__name__}"
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return f"{sorted(map(str, one))} and {sorted(map(str, other))}"
        parts = [(f"{key}: ", one[key], other[key]) for key in one]
    elif isinstance(one, list | tuple):
        if len(one) != len(other):
            return f"lengths {len(one)} and {len(other)}"
        parts = [("", *pair) for pair in zip(one, other, strict=True)]
    elif isinstance(one, np.ndarray):
        numeric = one.dtype.kind in "fc"
        if one.dtype == other.dtype and np.array_equal(one, other, equal_nan=numeric):
            return None
        return f"{one!r} and {other!r}"
    elif sparse.issparse(one):
        parts = [("", one.toarray(), other.toarray())]
    else:
        try:
            return None if one is other or bool(one == other) else f"{one!r} and {other!r}"
        except (TypeError, ValueError):
            return None  # objects without equality are not compared
    for label, left, right in parts:
        found = difference(left, right)
        if found:
            return f"{label}{found}"
    return None


def require_same_fit(one, other, when):
    found = difference(state_of(one), state_of(other))
    require(not found, f"{when}: {found}", "two fits that are equal bit by bit")


def scores_of(classifier, X):
    if hasattr(classifier, "decision_function"):
        return classifier.decision_function(X)
    return classifier.predict(X)
