"""The studies behind Khardon & Wachman's tables: estimator, grid and folds of every column.

As in the paper, theta_init = C = the mean of <x, x>, and the samples are permuted once, before the
folds are cut, and processed in that order. A column names the parameters that are chosen; the others
are switched off. Figure 2 of the paper adds lambda |x|^2 to a score; its tables fit eta lambda |x|^2
better (docs/papers.md), so `lam` is eta times the paper's value.
"""

import numpy as np
from noise_tolerance_tables import GRIDS, SIZES
from sklearn.model_selection import KFold

import margins
from margins.model_selection import parameter_search

AVERAGINGS = ("last", "longest", "voted")
OFF = {name: values[0] for name, values in GRIDS.items()}

# The grids of the SVM: weights C of the 1-norm, squares Delta^2 = 1 / (2 C) of the 2-norm.
SVM_C = tuple(10.0**power for power in range(-5, 5))
SVM_SQUARES = tuple(10.0**power for power in range(-4, 4))


def classifier(averaging, run):
    """The perceptron with an averaging, every option switched off."""
    return margins.get("pam")(**OFF, **({"shuffle": "never"} | run), averaging=averaging)


class Studies:
    """How studies are run: folds, seed, threads, cache.

    Parameters
    ----------
    folds : int
    n_jobs : int or None
    cache : path-like or None
    """

    def __init__(self, folds, n_jobs=None, cache=None):
        self.folds = KFold(folds)
        # The seed decides nothing here (folds and orders are those of the rows), but is part of keys.
        # Progress is that of the tables.
        self.common = {"n_jobs": n_jobs, "cache": cache, "random_state": 0, "progress": False}

    def averagings(self, data, run):
        """Table 2: the plain perceptron in one study, a setting for each averaging: Study."""
        grid = {"averaging": list(AVERAGINGS)}
        return parameter_search(classifier("last", run), grid, *data, cv=self.folds, **self.common)

    def margins(self, data, run, size=None):
        """Table 5 and the figures: every tau and averaging, all to train on or a random part: Study."""
        folds = list(self.folds.split(data[0]))
        if size is not None:
            # Each fold draws its own rows: the first ones would be the same in nearly all of them.
            draws = [
                np.random.default_rng(number).permutation(train)
                for number, (train, _) in enumerate(folds)
            ]
            folds = [
                (first_of(draw, data[1], size), test)
                for draw, (_, test) in zip(draws, folds, strict=True)
            ]
        grid = {"averaging": list(AVERAGINGS), "tau": list(GRIDS["tau"])}
        return parameter_search(classifier("last", run), grid, *data, cv=folds, **self.common)


def first_of(rows, y, size):
    """The first rows, and one of each class: if it is missing, the first of its rows is the last."""
    first = rows[:size]
    for label in np.unique(y[rows]):
        if label not in y[first]:
            first = np.append(first[:-1], rows[y[rows] == label][0])
    return first


def sizes_of(data, folds):
    """Those of SIZES that the folds of a data set allow: list of int."""
    n_samples = len(data[1])
    return [size for size in SIZES if size <= n_samples - -(-n_samples // folds)]
