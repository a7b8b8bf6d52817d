"""What constraints of parameters allow, and what must be given for a parameter to mean something."""

from numbers import Integral, Real

import numpy as np
from algorithm_groups import LINEAR

from margins.parameters import AnyOf, InstanceOf, Interval, MappingTo, OneOf, SubclassOf

OF_KERNELS = ("degree", "gamma", "coef0", "cache_size")


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
    if isinstance(constraint, MappingTo):
        return isinstance(value, dict) and all(allows(constraint.values, one) for one in value.values())
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
    if parameter == "l1_ratio":
        return {"penalty": "elasticnet"}
    if parameter == "penalize_intercept":
        return {"kernel": "rbf"}
    return {"averaging": "tail"} if parameter == "validation_fraction" else {}
