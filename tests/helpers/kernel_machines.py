"""The algorithms that take kernels, with few epochs, and problems to fit them to."""

import dataclasses

import numpy as np
import problems
import pytest
from algorithm_groups import ALGORITHMS
from scipy import sparse

from margins.estimators.noise_tolerance import AveragingClassifier

NAMES = [
    name
    for name, algorithm in ALGORITHMS.items()
    for field in dataclasses.fields(algorithm)
    if field.name == "kernel" and field.metadata["allowed"].contains("rbf")
]
NOISE_TOLERANT = [name for name in NAMES if issubclass(ALGORITHMS[name], AveragingClassifier)]
BY_POINTS = [name for name in NAMES if name != "pfm"]  # its gamma is a margin, not a kernel's
each_algorithm = pytest.mark.parametrize("name", NAMES)


def make(name, **params):
    """The algorithm with few epochs; integer parameters keep sums of integer samples exact."""
    declared = {field.name for field in dataclasses.fields(ALGORITHMS[name])}
    usual = {"max_iter": 20, "random_state": 0, "eps": 0.125, "solver": "unlearning"}
    if name in NOISE_TOLERANT:
        usual |= {"eta": 1.0, "theta_init": 4.0, "intercept_scaling": 2.0}
    if name == "pfm":
        usual["gamma"] = 0.1
    if name == "dcd":
        usual["shrinking"] = False  # what it removes is decided by ties, and those by rounding
    usual = {key: value for key, value in usual.items() if key in declared}
    return ALGORITHMS[name](**(usual | params))


def integers(n_classes=2, m=40, d=4, seed=0):
    """X, y and new points Z, of small integers; the classes overlap a little."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (m, d)).astype(float)
    scores = X @ rng.integers(-3, 4, (d, n_classes)) + 2 * rng.normal(size=(m, n_classes))
    return X, scores.argmax(axis=1), rng.integers(-5, 6, (15, d)).astype(float)


def clouds(m=60, d=4, n_classes=2, seed=0):
    """X, y and new points Z: overlapping normal clouds."""
    rng = np.random.default_rng((seed, 1))
    return *problems.clouds(n_classes, m, d, seed=seed), rng.normal(size=(15, d))


def linear(A, B):
    return (A @ B.T).toarray() if sparse.issparse(A) else A @ B.T
