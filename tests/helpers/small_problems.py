"""A small separable problem, and the algorithms that are fitted to it."""

import math
from numbers import Integral, Real

import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, LINEAR, NAMES, REPRESENTATIVES

from margins.parameters import AnyOf, InstanceOf, Interval, OneOf, SubclassOf

OF_KERNELS = ("degree", "gamma", "coef0", "cache_size")
each_algorithm = pytest.mark.parametrize("name", NAMES)
each_representative = pytest.mark.parametrize("name", REPRESENTATIVES)


def make(name, **params):
    """The algorithm, with a margin where it needs one."""
    algorithm = ALGORITHMS[name]
    if name == "pfm" and math.isinf(params.get("C", 1)):
        params.setdefault("gamma", 0.1)
    return algorithm(random_state=params.pop("random_state", 0), **params)


def small(n_classes=2, n_features=3, distance=3.0):
    """A small separable problem without a zero row."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % n_classes
    X = rng.normal(size=(24, n_features))
    X[np.arange(24), y % n_features] += distance
    return X, y


def own_name(name):
    return ALGORITHMS[name].__name__


def shown_name(name, method=None):
    """The name of an algorithm, or of a method of it, in errors."""
    text = own_name(name) + (f".{method}" if method else "")
    return text if name == "auto" else f"{name} ({text})"


def assert_finite(classifier, X):
    """The model is made of numbers, and so are its scores."""
    assert np.isfinite(classifier.decision_function(X)).all()
    for key in ("coef_", "intercept_", "dual_coef_"):
        assert np.isfinite(getattr(classifier, key, 0.0)).all(), key


def allows(constraint, value):
    """If a constraint allows a value, by a second implementation."""
    if isinstance(constraint, AnyOf):
        return any(allows(part, value) for part in constraint.constraints)
    if isinstance(constraint, InstanceOf):
        return isinstance(value, constraint.type)
    if isinstance(constraint, OneOf):
        return any(
            value is one or (isinstance(value, str) and value == one) for one in constraint.values
        )
    if isinstance(constraint, SubclassOf):
        return isinstance(value, type) and issubclass(value, constraint.base)
    assert isinstance(constraint, Interval)
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, Integral if constraint.integer else Real
    ):
        return False
    value = value if constraint.integer else float(value)  # not to the precision of a float32
    if isinstance(value, np.floating):
        value = float(value)  # or the ends would be compared in its own precision
    if value == constraint.low:
        return constraint.closed in ("left", "both")
    if value == constraint.high:
        return constraint.closed in ("right", "both")
    return constraint.low < value < constraint.high


def parts_of(constraint):
    if isinstance(constraint, AnyOf):
        for part in constraint.constraints:
            yield from parts_of(part)
    else:
        yield constraint


def beside(parameter, name):
    """What must be given for a parameter to mean something."""
    if parameter == "tau":
        return {"theta_init": 1.0}
    if parameter == "theta_init":
        return {"tau": 0.0}
    if parameter in OF_KERNELS and name not in ("pfm", *LINEAR):  # whose gamma is a margin
        return {"kernel": "rbf" if parameter == "gamma" else "poly"}
    if parameter == "penalize_intercept":
        return {"kernel": "rbf"}
    return {"averaging": "tail"} if parameter == "validation_fraction" else {}
