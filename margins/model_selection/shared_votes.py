"""The votes of many voted perceptrons on one test set, which is multiplied once for all of them."""

from itertools import chain

import numpy as np

from margins.estimators.votes import count_in_blocks
from margins.kernels import LINEAR


def votes_of_all(fits, samples, X_test):
    """Votes of several fits to the same samples: list of ndarray of float64, shape (n_test, n_problems).

    Those of each fit are what its estimator counts, but for the rounding of inner products, which does
    not differ if samples are sparse.

    Parameters
    ----------
    fits : list of list
        For each fit its binary problems, with the attributes of `margins.solvers.driver.Run`.
    samples : margins.data.samples.Samples
        The training set.
    X_test : ndarray or CSR matrix of float64, shape (n_test, n_features)
    """
    runs = list(chain.from_iterable(fits))
    if not runs:
        return []
    places = np.full(len(samples.codes), -1, dtype=np.int32)  # of the samples in `support`
    for run in runs:
        places[run.averaging.mistakes] = 0
    support = np.flatnonzero(places == 0)
    places[support] = np.arange(len(support))
    weight = runs[0].data.weights[support]
    labels = {
        code: np.where(samples.codes[support] == code, weight, -weight)
        for code in {run.model.parameters.code for run in runs}
    }
    lists = [[_list_of(run, places, labels) for run in problems] for problems in fits]
    return count_in_blocks(LINEAR, X_test, samples.X[support], support, lists)


def _list_of(run, places, labels):
    """The arguments of `count_votes` after the products."""
    parameters, averaging = run.model.parameters, run.averaging
    mistakes = places[averaging.mistakes]
    return mistakes, labels[parameters.code], averaging.votes, parameters.theta, parameters.sqrho
