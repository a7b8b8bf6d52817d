"""The studies behind Khardon & Wachman's tables: estimator, grid and folds of every column.

As in the paper, theta_init = C = the mean of <x, x>, and the samples are permuted once, before the
folds are cut, and processed in that order. A column names the parameters that are chosen; the others
are switched off. Figure 2 of the paper adds lambda |x|^2 to a score; its tables fit eta lambda |x|^2
better (docs/papers.md), so `lam` is eta times the paper's value.
"""

import numpy as np
from noise_tolerance_data import joined
from noise_tolerance_tables import COLUMNS, DEFAULT_RUN, GRIDS, SIZES
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

import margins
from margins.model_selection import Stages, double_cross_validation, parameter_search

AVERAGINGS = ("last", "longest", "voted")
OFF = {name: values[0] for name, values in GRIDS.items()}

# The grids of the SVM: weights C of the 1-norm, squares Delta^2 = 1 / (2 C) of the 2-norm.
SVM_C = tuple(10.0**power for power in range(-5, 5))
SVM_SQUARES = tuple(10.0**power for power in range(-4, 4))
SVM_ITERATIONS = 10_000


def classifier(averaging, run):
    """The perceptron with an averaging, every option switched off."""
    return margins.get("pam")(**OFF, **({"shuffle": "never"} | run), averaging=averaging)


def grid_of(column, inactive, eta=1.0):
    """What a column searches: dict, or Stages. Without `inactive`, only values that have an effect.

    The paper's lambda is in units of eta, our `lam` is not: see docs/papers.md.
    """
    units = dict.fromkeys(GRIDS, 1) | {"lam": eta}
    stages = [
        {name: [value * units[name] for value in GRIDS[name][0 if inactive else 1 :]] for name in names}
        for names in COLUMNS[column]
    ]
    return Stages(*stages) if len(stages) > 1 else (stages or [{}])[0]


def eta_of(run):
    """The eta of a run: float."""
    return run.get("eta", DEFAULT_RUN["eta"])


class HoldOut:
    """A splitter: the last rows, a share of all, are held out."""

    def __init__(self, share):
        self.share = share

    def get_n_splits(self, X=None, y=None, groups=None):
        return 1

    def split(self, X, y=None, groups=None):
        n_samples = X.shape[0]
        cut = min(max(1, round((1 - self.share) * n_samples)), n_samples - 1)
        yield np.arange(cut), np.arange(cut, n_samples)


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

    def search(self, data, column, averaging, run):
        """Tables 3 and 4: the best of the active values, selected on the test folds: Study."""
        grid = grid_of(column, inactive=False, eta=eta_of(run))
        return parameter_search(classifier(averaging, run), grid, *data, cv=self.folds, **self.common)

    def double(self, data, column, averaging, run):
        """Table 6, double cross-validation: Study."""
        grid = grid_of(column, inactive=True, eta=eta_of(run))
        return double_cross_validation(
            classifier(averaging, run), grid, *data, outer=self.folds, inner=self.folds, **self.common
        )

    def optimization(self, train, test, column, averaging, run, share):
        """Table 7: chosen on a share held out of the training set, or, without it, on the test set."""
        n_train, n_test = len(train[1]), len(test[1])
        data = joined(train[0], test[0]), np.concatenate([train[1], test[1]])
        split = [(np.arange(n_train), np.arange(n_train, n_train + n_test))]
        model = classifier(averaging, run)
        grid = grid_of(column, inactive=True, eta=eta_of(run))
        if share is None:
            return parameter_search(model, grid, *data, cv=split, **self.common)
        return double_cross_validation(
            model, grid, *data, outer=split, inner=HoldOut(share), **self.common
        )

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

    def svm(self, data, loss, iterations=SVM_ITERATIONS):
        """Table 6, the SVM, the best of its grid, selected on the test folds: Study."""
        X, y = data
        values = SVM_C if loss == "hinge" else tuple(1 / (2 * square) for square in SVM_SQUARES)
        scaling = float(np.sqrt(np.mean(np.sum(X**2, axis=1))))
        model = LinearSVC(loss=loss, intercept_scaling=scaling, max_iter=iterations, random_state=0)
        return parameter_search(model, {"C": list(values)}, X, y, cv=self.folds, **self.common)


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
