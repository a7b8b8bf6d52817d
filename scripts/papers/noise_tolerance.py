"""Every cell of a table of Khardon & Wachman for one draw: a permutation of a data set, or a random set.

The columns of a table search parts of one grid. So a draw is one study of all settings that its
columns need, which trains them together, and each column reads what it needs of the accuracies.
Table 6 is such a study of the data set and one of the training set of each outer fold. A choice is the
first of equal means, stage after stage.

As in the paper, theta_init = C = the mean of <x, x>, and the samples are permuted once, before the
folds are cut, and processed in that order. Figure 2 of the paper adds lambda |x|^2 to a score; its
tables fit eta lambda |x|^2 better (docs/papers.md), so `lam` is eta times the paper's value.

To multiply all features by a constant changes nothing: w.x, theta_init, C, the unit of tau and the
lambda-trick's offset all grow by its square. So mnist's pixels stay what they are, 0 to 255. A shift
does matter: the file of usps holds v, the original is 2 v - 1, from -1 to 1. Nor is the polynomial
kernel (gamma <x, z> + coef0)^4 free of scale: for it mnist is divided by 255.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import real_data
import runs
from scipy import sparse
from sklearn.model_selection import KFold

import margins
from margins.datasets.generators import make_noisy_halfspace
from margins.model_selection import parameter_search

OFF = {name: values[0] for name, values in runs.GRIDS.items()}
# The artificial data of Table 2: two sets for each number of features and margin, in the paper 30.
ALL_FEATURES, ALL_MARGINS, COPIES = (50, 200, 500), (0.05, 0.1, 0.25, 0.5, 0.75), 2
# Weights C of the 1-norm; squares Delta^2 = 1 / (2 C) of the 2-norm.
SVM_GRIDS = {
    "hinge": [10.0**power for power in range(-5, 5)],
    "squared_hinge": [1 / (2 * 10.0**power) for power in range(-4, 4)],
}
SVM_EPS, SVM_EPOCHS = 1e-3, 2000
SHARE = 0.2  # of the training set, held out to choose the parameters of Table 7


def part_of(name, part, kernel="linear"):
    """Return the training or test set of a data set that has both: X, y."""
    if name not in ("mnist", "usps"):
        return real_data.binary(runs.FILES.get(name, name), part)[1:3]
    X, y = real_data.load(name, part)[1:3]
    if name == "usps":
        return 2 * X.toarray() - 1, y
    return X if kernel == "linear" else X / 255, y


def joined(first, second):
    """Return the samples of two parts of a data set: X, y."""
    stack = sparse.vstack if sparse.issparse(first[0]) else np.vstack
    X = stack([first[0], second[0]])
    return X.tocsr() if sparse.issparse(X) else X, np.concatenate([first[1], second[1]])


def data(name):
    """Return all of a data set, training and test set joined for the digits: X, y."""
    train = part_of(name, "train")
    return joined(train, part_of(name, "test")) if name in ("mnist", "usps") else train


def artificial(noise, seed, n_features=runs.FEATURES, margin=runs.MARGIN):
    """Return a data set of Tables 2, 4 and 6, by default one of the latter two: X, y.

    Its 600 samples are counted before any are discarded (docs/papers.md).
    """
    return make_noisy_halfspace(
        n_features, margin=margin, noise=noise, replace_discarded=False, random_state=int(seed)
    )


def permuted(X, y, seed):
    """Return the samples in a random order: X, y."""
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def classifier(run, **parameters):
    """Return the perceptron, every option switched off that is not given."""
    return margins.get("pam")(**OFF | {"shuffle": "never"} | run | parameters)


@dataclass(frozen=True)
class Reading:
    """What the paper leaves open, as the tables are drawn unless a field says otherwise.

    `generate` maps (noise, seed[, number of features, margin]) to the X, y of an artificial data set,
    and `prepare` the X, y in the order of the draw to those that are learned. `shuffle` says when the
    samples are permuted again. With `lambda_of_eta`, lambda is in units of eta, as an update is, so that
    one of a sample counts as 1 + lambda of them in its own score; without, lambda |x|^2 is added to a
    score whose updates are of size eta. `run_of_adult` has eta and epochs of Table 5, `largest` the
    samples of the training sets of Table 7, at most.
    """

    generate: Callable = artificial
    prepare: Callable = lambda X, y: (X, y)
    shuffle: str = "never"
    folds: object = KFold(runs.FOLDS)
    lambda_of_eta: bool = True
    run_of_adult: dict = field(default_factory=lambda: runs.ADULT_RUN)
    largest: int | None = None


def settings_of(columns):
    """Return the settings that any of the columns may need, each once: list of dict."""
    settings = {}
    for column in columns:
        names = {name for stage in runs.COLUMNS[column] for name in stage}
        values = [runs.GRIDS[name] if name in names else runs.GRIDS[name][:1] for name in runs.GRIDS]
        settings |= dict.fromkeys(itertools.product(*values))
    return [dict(zip(runs.GRIDS, setting, strict=True)) for setting in settings]


def key_of(averaging, setting):
    """Return the key of the accuracies of a setting."""
    return (averaging, *(setting[name] for name in runs.GRIDS))


def chosen(accuracies, column, averaging, inactive):
    """Return the best setting of a column, stage after stage, the first of equals: dict."""
    best = OFF
    for names in runs.COLUMNS[column]:
        values = [runs.GRIDS[name] if inactive else runs.GRIDS[name][1:] for name in names]
        candidates = [
            best | dict(zip(names, choice, strict=True)) for choice in itertools.product(*values)
        ]
        # Rounded, for sums of equal terms in another order are equal.
        means = [
            round(float(accuracies[key_of(averaging, setting)].mean()), 9) for setting in candidates
        ]
        best = candidates[means.index(max(means))]
    return best


class Draws:
    """Draws of the tables: the values of their cells, by column and averaging.

    `cache` is a folder that keeps the finished parts of interrupted draws.
    """

    def __init__(self, n_jobs=None, cache=None, reading=Reading()):  # noqa: B008  # it is frozen
        self.reading = reading
        # The seed decides nothing here (folds and orders are those of the rows), but is part of keys.
        self._options = {"n_jobs": n_jobs, "cache": cache, "random_state": 0, "progress": False}

    def study(self, model, grid, X, y, folds):
        """Return the Study of a grid."""
        return parameter_search(model, grid, X, y, cv=folds, **self._options)

    def draw(self, table, name, seed, columns):
        """Return the cells of `columns` for a seed: dict of float, by "column, averaging"."""
        kinds = {2: self._counted, 3: self._searched, 4: self._searched, 5: self._by_size}
        kinds |= {6: self._doubly_validated, 7: self._optimized}
        drawn = self._svm if columns == runs.SVM_COLUMNS else kinds[table]
        return {key: float(value) for key, value in drawn(name, seed, columns).items()}

    def _accuracies(self, run, columns, X, y, folds):
        """Return the accuracies on the folds, in percent, by averaging and setting."""
        settings = settings_of(columns)
        unit = run["eta"] if self.reading.lambda_of_eta else 1.0
        grid = [
            {name: [value] for name, value in (setting | {"lam": unit * setting["lam"]}).items()}
            | {"averaging": list(runs.AVERAGINGS)}
            for setting in settings
        ]
        model = classifier(run, shuffle=self.reading.shuffle)
        scores = self.study(model, grid, X, y, folds).tables[0].scores["accuracy"]
        keys = [key_of(averaging, setting) for setting in settings for averaging in runs.AVERAGINGS]
        return dict(zip(keys, 100 * scores, strict=True))

    def _searched(self, name, seed, columns):
        """Draw Tables 3 and 4."""
        run = runs.SEARCH_RUNS.get(name, runs.DEFAULT_RUN)
        accuracies = self._accuracies(run, columns, *self._drawn(name, seed), self.reading.folds)
        return _means(accuracies, accuracies, columns, inactive=False)

    def _doubly_validated(self, name, seed, columns):
        """Draw Table 6."""
        (X, y), folds = self._drawn(name, seed), self.reading.folds
        outer = self._accuracies(runs.DEFAULT_RUN, columns, X, y, folds)
        scores = {pair: [] for pair in itertools.product(columns, runs.AVERAGINGS)}
        for number, (train, _) in enumerate(folds.split(X, y)):
            inner = self._accuracies(runs.DEFAULT_RUN, columns, X[train], y[train], folds)
            for (column, averaging), values in scores.items():
                setting = chosen(inner, column, averaging, inactive=True)
                values.append(outer[key_of(averaging, setting)][number])
        return {", ".join(pair): np.mean(values) for pair, values in scores.items()}

    def _svm(self, name, seed, columns):
        """Draw Table 6 for the SVM: accuracies, and half-widths of their T intervals."""
        name, order = name.split(", ")
        X, y = data(name) if order == runs.IN_FILE_ORDER else permuted(*data(name), seed)
        values, scaling = {}, float(np.sqrt(np.mean(np.sum(X**2, axis=1))))
        for column, (loss, weights) in zip(columns, SVM_GRIDS.items(), strict=True):
            model = margins.MarginClassifier(
                loss=loss, intercept_scaling=scaling, eps=SVM_EPS, max_iter=SVM_EPOCHS
            )
            study = self.study(model, {"C": weights}, X, y, KFold(runs.FOLDS))
            low, high = study.interval()
            values |= {column: 100 * study.mean(), f"{column}, +-": 50 * (high - low)}
        return values

    def _optimized(self, name, seed, columns):
        """Draw Table 7."""
        name, kernel = name.split(", ")
        X, y = (part[: self.reading.largest] for part in permuted(*part_of(name, "train", kernel), seed))
        run, n_train = runs.OPTIMIZATION_RUNS[name] | (runs.POLY if kernel == "poly" else {}), len(y)
        cut = round((1 - SHARE) * n_train)
        held_out = self._accuracies(run, columns, X, y, [(np.arange(cut), np.arange(cut, n_train))])
        X, y = joined((X, y), part_of(name, "test", kernel))
        split = [(np.arange(n_train), np.arange(n_train, len(y)))]
        tested = self._accuracies(run, columns, X, y, split)
        return _means(tested, held_out, columns, inactive=True)

    def _by_size(self, name, seed, columns):
        """Draw Table 5: sizes and tau instead of columns."""
        values, (X, y) = {}, self._drawn(name, seed)
        for size in sizes_of(y, runs.FOLDS):
            (table,) = self.margins(X, y, self.reading.run_of_adult, runs.FOLDS, size).tables
            for setting, scores in zip(table.settings, table.scores["accuracy"], strict=True):
                key = f"{size}, tau = {setting['tau']:g}, {setting['averaging']}"
                values[key] = 100 * scores.mean()
        return values

    def margins(self, X, y, run, n_folds, size=None):
        """Return the Study of every tau and averaging, for training sets of a size."""
        folds = list(KFold(n_folds).split(X))
        if size is not None:
            # Each fold draws its own rows: the first ones would be the same in nearly all of them.
            folds = [
                (first_of(np.random.default_rng(number).permutation(train), y, size), test)
                for number, (train, test) in enumerate(folds)
            ]
        grid = {"averaging": list(runs.AVERAGINGS), "tau": list(runs.GRIDS["tau"])}
        return self.study(classifier(run), grid, X, y, folds)

    def _counted(self, name, seed, columns):
        """Draw Table 2: in how many of 30 random sets a relation holds."""
        counts, noise = np.zeros(len(runs.RELATIONS), dtype=int), float(name.removeprefix(runs.NOISE))
        kinds = list(itertools.product(ALL_FEATURES, ALL_MARGINS, range(COPIES)))
        seeds = np.random.SeedSequence(seed).generate_state(len(kinds)).tolist()
        for (n_features, margin, _), own in zip(kinds, seeds, strict=True):
            X, y = permuted(*self.reading.generate(noise, own % 2**32, n_features, margin), seed)
            grid = {"averaging": list(runs.AVERAGINGS)}
            (table,) = self.study(classifier(runs.DEFAULT_RUN), grid, X, y, KFold(runs.FOLDS)).tables
            counts += relations(table.mean_scores().tolist())
        return dict(zip(runs.RELATIONS, counts, strict=True))

    def _drawn(self, name, seed):
        """Return a data set in the order of a seed, or the random one of a seed: X, y."""
        if name.startswith(runs.NOISE):
            samples = self.reading.generate(float(name.removeprefix(runs.NOISE)), seed)
        else:
            samples = data(name)
        return self.reading.prepare(*permuted(*samples, seed))


def first_of(rows, y, size):
    """Return the first rows; the first row of a class that they lack is the last."""
    first = rows[:size]
    for label in np.unique(y[rows]):
        if label not in y[first]:
            first = np.append(first[:-1], rows[y[rows] == label][0])
    return first


def sizes_of(y, n_folds):
    """Return those of runs.SIZES that the folds of a data set allow: list of int."""
    return [size for size in runs.SIZES if size <= len(y) - -(-len(y) // n_folds)]


def relations(means):
    """Return which of runs.RELATIONS hold for three accuracies: list of bool."""
    last, longest, voted = (round(mean, 9) for mean in means)  # means of folds: ties are exact
    return [
        *(voted > last, voted > longest, longest > last),
        *(longest > voted, last > longest, last > voted, voted == longest == last),
    ]


def _means(tested, searched, columns, inactive):
    """Return mean accuracies of the settings that a search has chosen, by column and averaging: dict."""
    return {
        f"{column}, {averaging}": tested[
            key_of(averaging, chosen(searched, column, averaging, inactive))
        ].mean()
        for column, averaging in itertools.product(columns, runs.AVERAGINGS)
    }
