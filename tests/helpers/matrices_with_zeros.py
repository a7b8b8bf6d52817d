"""A small problem whose matrix has zeros, and the algorithms that are fitted to it."""

import numpy as np
from algorithm_groups import ALGORITHMS
from scipy import sparse

STORAGES = {
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "csc_matrix": sparse.csc_matrix,
}


def small():
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 4))
    X[np.arange(24), y] += 3
    X[np.abs(X) < 0.4] = 0
    return X, y


def make(name, **params):
    if name == "pfm":
        params.setdefault("gamma", 0.1)
    return ALGORITHMS[name](random_state=0, **params)
