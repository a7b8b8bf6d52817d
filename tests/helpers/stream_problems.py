"""Streams of every algorithm: small data, chunks, and models to compare."""

import functools

import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, ONLINE, RULES
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer

from margins.estimators.noise_tolerance import AveragingClassifier

# With the parameters that a stream or a hard margin needs.
WITH_PARAMETERS = {
    "ballseptron": {"radius": 0.01},
    "margitron": {"b": 1.0},
    "pegasos": {"lam": 0.01},
    "pfm": {"C": np.inf, "gamma": 0.01},
}
STREAMS = [*ONLINE, *(name for name in WITH_PARAMETERS if name not in ONLINE)]
# One of every class whose state between chunks is another: averages, votes, units, slack terms, caches,
# matrices, numbers of accesses.
KINDS = [
    "perceptron",
    "longest-survivor",
    "averaged-perceptron",
    "voted-perceptron",
    "lambda-trick",
    "paum",
    "servedio-average",
    "margin-perceptron",
    "pdm",
    "aggressive-romma",
    "pa-i",
    "norma",
    "pegasos",
    "ballseptron",
    "alma",
    "second-order-perceptron",
    "budget-perceptron",
    "random-budget-perceptron",
]
# Of those some whose loops or models are others, for what the same code does for all: it validates a
# chunk, and knows the classes.
FEW_KINDS = [
    "averaged-perceptron",
    "voted-perceptron",
    "servedio-average",
    "pdm",
    "alma",
    "budget-perceptron",
]
AVERAGING = [name for name in ONLINE if issubclass(ALGORITHMS[name], AveragingClassifier)]
VOTING = "voted-perceptron"
# A fit adds slack terms, or the offset of the lambda-trick, to products of samples that it has added.
DUAL_IN_SCORES = ("alma", "lambda-trick", "pdm")
# Every access changes the weight vector.
DECAYING = [name for name in STREAMS if name in RULES and RULES[name].shrink.decays]

each_stream = pytest.mark.parametrize("name", STREAMS)
each_kind = pytest.mark.parametrize("name", KINDS)


def make(name, **params):
    return ALGORITHMS[name](**{"random_state": 0, **WITH_PARAMETERS.get(name, {}), **params})


@functools.cache
def scaled():
    X, y = load_breast_cancer(return_X_y=True)
    return X / X.max(axis=0), y


def clouds(n_classes=2, n_samples=90, n_features=5, distance=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = distance * rng.normal(size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(n_samples, n_features)), y


def in_chunks(classifier, X, y, size):
    for begin in range(0, len(y), size):
        classifier.partial_fit(X[begin : begin + size], y[begin : begin + size], classes=np.unique(y))
    return classifier


def model(classifier):
    """The arrays by which a classifier predicts."""
    if hasattr(classifier, "votes_"):
        vectors = classifier.support_vectors_
        return [
            vectors.toarray() if sparse.issparse(vectors) else vectors,
            classifier.support_,
            *classifier.mistakes_,
            *classifier.votes_,
        ]
    return [classifier.coef_, classifier.intercept_]


def assert_same_model(one, other):
    for left, right in zip(model(one), model(other), strict=True):
        assert_array_equal(left, right, err_msg=type(one).__name__)
