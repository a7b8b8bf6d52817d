"""Votes of many voted perceptrons on one test set, which share the inner products with it."""

from itertools import chain

import numpy as np

from margins.estimators.votes import count_in_blocks
from margins.kernels import LINEAR


def votes_of_all(fits, samples, X_test):
    """Return the votes of fits to the same samples: list of ndarray, shape (n_test, n_problems).

    They equal the votes that each estimator counts, except for the rounding of inner products of dense
    samples.
    """
    outcomes = list(chain.from_iterable(fits))
    if not outcomes:
        return []
    position_in_support = np.full(len(samples.codes), -1, dtype=np.int32)
    for outcome in outcomes:
        position_in_support[outcome.averaging.mistakes] = 0
    support = np.flatnonzero(position_in_support == 0)
    position_in_support[support] = np.arange(len(support))
    weight = outcomes[0].data.weights[support]
    labels = {id(data): data.signs[support] * weight for data in (end.data for end in outcomes)}
    lists = [[_list_of(end, position_in_support, labels) for end in problems] for problems in fits]
    return count_in_blocks(LINEAR, X_test, samples.X[support], support, lists)


def _list_of(outcome, position_in_support, labels):
    """Return the arguments of `count_votes` after the products."""
    data, averaging = outcome.data, outcome.averaging
    mistakes = position_in_support[averaging.mistakes]
    return mistakes, labels[id(data)], averaging.votes, outcome.theta, data.sq_intercept_scaling
