"""Problems that many tests share, algorithms that are fitted to them, and comparisons of fits."""

import math

import numpy as np
from algorithm_groups import ALGORITHMS
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler


def clouds(n_classes=2, m=60, d=4, distance=1.0, seed=0):
    """Overlapping normal clouds: X and y, the codes 0 .. n_classes - 1."""
    rng = np.random.default_rng(seed)
    y = np.arange(m) % n_classes
    centres = distance * rng.normal(size=(n_classes, d))
    return centres[y] + rng.normal(size=(m, d)), y


def two_clouds(seed=0, m=60, d=3, distance=0.7):
    """Two normal clouds on both sides of the origin: X and labels -1 and 1."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 2, 1, -1)
    return rng.normal(size=(m, d)) + distance * np.outer(y, np.ones(d)), y


def noisy(m=300, d=5, seed=0, noise=1.0):
    """Normal samples with the labels -1 and 1 of a halfspace, some of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, np.where(X @ rng.normal(size=d) + noise * rng.normal(size=m) > 0, 1, -1)


def integers(seed=0, m=12, d=5, ones=False):
    """Small integers with empty rows, so that all sums are exact, and labels -1 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (m, d)) if ones else rng.integers(-2, 3, (m, d))
    X[[2, m - 1]] = 0
    y = np.where(rng.random(m) < 0.5, 1, -1)
    y[0], y[-1] = 1, -1
    return X.astype(float), y


def small(n_classes=2, n_features=3, distance=3.0, zeros=False):
    """24 samples in separable classes, without a zero row; elements near 0 may be 0."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % n_classes
    X = rng.normal(size=(24, n_features))
    X[np.arange(24), y % n_features] += distance
    if zeros:
        X[np.abs(X) < 0.4] = 0
    return X, y


def tumours():
    """The breast cancer data, features divided by their maxima."""
    X, y = load_breast_cancer(return_X_y=True)
    return X / X.max(axis=0), y


def few_tumours():
    """The first of them, with text as labels."""
    X, y = tumours()
    return X[:250], np.array(["benign", "malign"])[y[:250]]


def irises():
    X, y = load_iris(return_X_y=True)
    return X / X.max(axis=0), y


def scaled(load, n=None, seed=0):
    """Some samples of a data set of scikit-learn, all of whose features are standardized."""
    X, y = load(return_X_y=True)
    chosen = np.random.default_rng(seed).permutation(len(y))[:n]
    return StandardScaler().fit_transform(X)[chosen], y[chosen]


def make(name, **params):
    """The algorithm with a seed, and with a margin where it needs one."""
    if name == "pfm" and math.isinf(params.get("C", 1)):
        params.setdefault("gamma", 0.1)
    return ALGORITHMS[name](**{"random_state": 0, **params})


def by_rules(name):
    """The parameters that leave an estimator to rules alone."""
    return {"solver": "unlearning"} if name == "auto" else {}


def state(classifier):
    """All attributes that a fit has set."""
    names = {*vars(classifier), *dir(type(classifier))}
    found = sorted(name for name in names if name.endswith("_") and not name.startswith("_"))
    return {name: getattr(classifier, name) for name in found if hasattr(classifier, name)}


def assert_same_fit(one, other, *, besides=()):
    """Bit for bit, except for the attributes `besides`; a sparse matrix is its numbers."""
    assert state(one).keys() == state(other).keys(), type(one).__name__
    for key, value in state(one).items():
        if key not in besides:
            _assert_same(value, state(other)[key], f"{key} of {type(one).__name__}")


def _assert_same(one, other, key):
    if isinstance(one, list):
        assert len(one) == len(other), key
        for left, right in zip(one, other, strict=True):
            _assert_same(left, right, key)
    elif sparse.issparse(one) or sparse.issparse(other) or isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, key
        assert_array_equal(dense(one), dense(other), err_msg=key)
    else:
        assert one == other, key


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def assert_agree(one, other):
    """Two fits of one problem: no dual value of either exceeds a primal value of the other."""
    for left, right in ((one, other), (other, one)):
        for mine, theirs in zip(left.certificates_, right.certificates_, strict=True):
            assert mine.dual <= theirs.primal * (1 + 1e-9)
