"""Overlapping normal clouds, and comparisons of classifiers that are fitted to them."""

import math

import numpy as np
from algorithm_groups import ALGORITHMS
from numpy.testing import assert_array_equal


def make(name, **params):
    """The algorithm, with a margin where it needs one."""
    algorithm = ALGORITHMS[name]
    if name == "pfm" and math.isinf(params.get("C", 1)):
        params.setdefault("gamma", 0.1)
    return algorithm(**params)


def by_rules(name):
    """The parameters that leave an estimator to rules alone."""
    return {"solver": "unlearning"} if name == "auto" else {}


def clouds(n_classes=2, n_samples=60, n_features=4, distance=1.5, seed=0):
    """Overlapping normal clouds: X and y, the codes 0 .. n_classes - 1."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = distance * rng.normal(size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(n_samples, n_features)), y


def state(classifier):
    """All attributes that a fit has set."""
    names = {*vars(classifier), *dir(type(classifier))}
    found = sorted(name for name in names if name.endswith("_") and not name.startswith("_"))
    return {name: getattr(classifier, name) for name in found if hasattr(classifier, name)}


def assert_same_fit(one, other):
    """Bit for bit."""
    assert state(one).keys() == state(other).keys(), type(one).__name__
    for key, value in state(one).items():
        assert_same(value, state(other)[key], f"{key} of {type(one).__name__}")


def assert_same(one, other, key):
    if isinstance(one, list):
        assert len(one) == len(other), key
        for left, right in zip(one, other, strict=True):
            assert_same(left, right, key)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, key
        assert_array_equal(one, other, err_msg=key)
    else:
        assert one == other, key
