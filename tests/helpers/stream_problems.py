"""Streams of every algorithm: small data, chunks, and models to compare."""

import functools

import numpy as np
import problems
import pytest
from algorithm_groups import ALGORITHMS, ONLINE, RULES
from numpy.testing import assert_array_equal
from scipy import sparse

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
clouds = functools.partial(problems.clouds, m=90, d=5)


def make(name, **params):
    return ALGORITHMS[name](**{"random_state": 0, **WITH_PARAMETERS.get(name, {}), **params})


def in_chunks(classifier, X, y, size, weight=None):
    for begin in range(0, len(y), size):
        rows = slice(begin, begin + size)
        of_rows = None if weight is None else weight[rows]
        classifier.partial_fit(X[rows], y[rows], classes=np.unique(y), sample_weight=of_rows)
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
