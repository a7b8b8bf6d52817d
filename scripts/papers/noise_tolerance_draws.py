"""Every cell of a table of Khardon & Wachman for one draw: a permutation of a data set, or a random set.

The columns of a table search parts of one grid. So a draw is one study of all settings that its
columns need, which trains them together, and each column reads what it needs of the accuracies.
Table 6 is such a study of the data set and one of the training set of each outer fold. The choices
are those of `noise_tolerance_studies`: the first of equal means, stage after stage.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from noise_tolerance_data import NOISE, all_artificial, artificial, data, joined, part_of, permuted
from noise_tolerance_kernels import accuracies as kernel_accuracies
from noise_tolerance_studies import AVERAGINGS, OFF, SVM_C, SVM_SQUARES, Studies, classifier, sizes_of
from noise_tolerance_tables import (
    ADULT_RUN,
    COLUMNS,
    DEFAULT_RUN,
    FOLDS,
    GRIDS,
    OPTIMIZATION_RUNS,
    POLY,
    RELATIONS,
    SEARCH_RUNS,
)
from sklearn.model_selection import KFold

import margins
from margins.model_selection import parameter_search


@dataclass(frozen=True)
class Reading:
    """What the paper leaves open, as the tables are drawn unless a field says otherwise.

    Attributes
    ----------
    generate : callable
        (noise, seed[, number of features, margin]) to the X, y of an artificial data set.
    prepare : callable
        (X, y) in the order of the draw to what is learned.
    shuffle : str
        When the samples are permuted again: see `shuffle` of the classifier.
    folds : splitter
    lambda_of_eta : bool
        True: lambda is in units of eta, as an update is, so that one of a sample counts as 1 + lambda
        of them in its own score. False: lambda |x|^2 is added to a score whose updates are of size eta.
    run_of_adult : dict
        eta and epochs of Table 5.
    largest : int or None
        Samples of the training sets of Table 7, at most.
    """

    generate: Callable = artificial
    prepare: Callable = lambda X, y: (X, y)
    shuffle: str = "never"
    folds: object = KFold(FOLDS)
    lambda_of_eta: bool = True
    run_of_adult: dict = field(default_factory=lambda: ADULT_RUN)
    largest: int | None = None


READING = Reading()
SVM_COLUMNS = ("svm-l1", "svm-l2")
IN_FILE_ORDER = "in the order of the file"
SVM_GRIDS = {"hinge": SVM_C, "squared_hinge": tuple(1 / (2 * square) for square in SVM_SQUARES)}
SVM_EPS, SVM_EPOCHS = 1e-3, 2000
CACHE = {"cache_size": 1000}  # megabytes: the whole kernel matrix of usps
SHARE = 0.2  # of the training set, held out to choose the parameters of Table 7


def settings_of(columns):
    """Those that any of the columns may need, each once: list of dict."""
    found = {}
    for column in columns:
        names = {name for stage in COLUMNS[column] for name in stage}
        values = [GRIDS[name] if name in names else GRIDS[name][:1] for name in GRIDS]
        found |= dict.fromkeys(itertools.product(*values))
    return [dict(zip(GRIDS, setting, strict=True)) for setting in found]


class Accuracies:
    """Accuracy, in percent, of every setting and averaging on every fold.

    Parameters
    ----------
    settings : list of dict
    scores : iterable of ndarray of float64
        Of the first setting by every averaging, of the second, ...
    """

    def __init__(self, settings, scores):
        pairs = itertools.product(settings, AVERAGINGS)
        self._scores = {
            self._key(averaging, setting): values
            for (setting, averaging), values in zip(pairs, scores, strict=True)
        }

    @staticmethod
    def _key(averaging, setting):
        return (averaging, *(setting[name] for name in GRIDS))

    def of(self, averaging, setting):
        """Of every fold: ndarray of float64."""
        return self._scores[self._key(averaging, setting)]

    def chosen(self, column, averaging, inactive):
        """The best setting of a column, stage after stage, the first of equals: dict."""
        best = OFF
        for names in COLUMNS[column]:
            values = [GRIDS[name] if inactive else GRIDS[name][1:] for name in names]
            candidates = [
                best | dict(zip(names, each, strict=True)) for each in itertools.product(*values)
            ]
            # Rounded, for sums of equal terms in another order are equal.
            best = max(
                candidates, key=lambda setting: round(float(self.of(averaging, setting).mean()), 9)
            )
        return best


class Draws:
    """Draws of the tables: the values of their cells, by column and averaging.

    Parameters
    ----------
    n_jobs : int or None
        Threads.
    cache : path-like or None
        Where finished parts of interrupted draws are kept.
    reading : Reading
        What the paper leaves open; for Table 2 its data alone.
    """

    def __init__(self, n_jobs=None, cache=None, reading=READING):
        self._studies, self._reading = Studies(FOLDS, n_jobs, cache), reading

    def draw(self, table, name, seed, columns):
        """The cells of `columns` for a seed: dict of float, by "column, averaging"."""
        kinds = {2: self._counted, 3: self._searched, 4: self._searched, 5: self._by_size}
        kinds |= {6: self._doubly_validated, 7: self._optimized}
        drawn = self._svm if columns == SVM_COLUMNS else kinds[table]
        return {key: float(value) for key, value in drawn(name, seed, columns).items()}

    def _accuracies(self, run, columns, X, y, folds):
        settings, run = settings_of(columns), run | {"shuffle": self._reading.shuffle}
        unit = run["eta"] if self._reading.lambda_of_eta else 1.0
        scaled = [setting | {"lam": unit * setting["lam"]} for setting in settings]
        if "kernel" in run:
            found = [kernel_accuracies(run, setting, X, y, folds) for setting in scaled]
            return Accuracies(settings, itertools.chain.from_iterable(each.values() for each in found))
        grid = [
            {"averaging": list(AVERAGINGS)} | {key: [value] for key, value in setting.items()}
            for setting in scaled
        ]
        model = classifier("last", run)
        study = parameter_search(model, grid, X, y, cv=folds, **self._studies.common)
        return Accuracies(settings, 100 * study.tables[0].scores["accuracy"])

    def _searched(self, name, seed, columns):
        """Tables 3 and 4."""
        run = SEARCH_RUNS.get(name, DEFAULT_RUN)
        found = self._accuracies(run, columns, *self._drawn(name, seed), self._reading.folds)
        return _means(found, found, columns, inactive=False)

    def _doubly_validated(self, name, seed, columns):
        """Table 6."""
        (X, y), folds = self._drawn(name, seed), self._reading.folds
        outer = self._accuracies(DEFAULT_RUN, columns, X, y, folds)
        scores = {pair: [] for pair in itertools.product(columns, AVERAGINGS)}
        for number, (train, _) in enumerate(folds.split(X, y)):
            inner = self._accuracies(DEFAULT_RUN, columns, X[train], y[train], folds)
            for (column, averaging), values in scores.items():
                setting = inner.chosen(column, averaging, inactive=True)
                values.append(outer.of(averaging, setting)[number])
        return {", ".join(pair): np.mean(values) for pair, values in scores.items()}

    def _svm(self, name, seed, columns):
        """Table 6, the SVM: accuracies, and half-widths of their T intervals."""
        name, order = name.split(", ")
        X, y = data(name) if order == IN_FILE_ORDER else permuted(*data(name), seed)
        scaling = float(np.sqrt(np.mean(np.sum(X**2, axis=1))))
        found = {}
        for column, (loss, weights) in zip(columns, SVM_GRIDS.items(), strict=True):
            model = margins.MarginClassifier(
                loss=loss, intercept_scaling=scaling, eps=SVM_EPS, max_iter=SVM_EPOCHS
            )
            study = parameter_search(
                model, {"C": list(weights)}, X, y, cv=self._studies.folds, **self._studies.common
            )
            low, high = study.interval()
            found |= {column: 100 * study.mean(), f"{column}, +-": 50 * (high - low)}
        return found

    def _optimized(self, name, seed, columns):
        """Table 7."""
        name, kernel = name.split(", ")
        X, y = (
            part[: self._reading.largest] for part in permuted(*part_of(name, "train", kernel), seed)
        )
        X_test, y_test = part_of(name, "test", kernel)
        run, n_train = OPTIMIZATION_RUNS[name] | (POLY | CACHE if kernel == "poly" else {}), len(y)
        cut = round((1 - SHARE) * n_train)
        held_out = self._accuracies(run, columns, X, y, [(np.arange(cut), np.arange(cut, n_train))])
        split = [(np.arange(n_train), np.arange(n_train, n_train + len(y_test)))]
        joint = joined(X, X_test), np.concatenate([y, y_test])
        tested = self._accuracies(run, columns, *joint, split)
        return _means(tested, held_out, columns, inactive=True)

    def _by_size(self, name, seed, columns):
        """Table 5: of sizes and tau instead of columns."""
        data = self._drawn(name, seed)
        found = {}
        for size in sizes_of(data, FOLDS):
            (table,) = self._studies.margins(data, self._reading.run_of_adult, size).tables
            for setting, scores in zip(table.settings, table.scores["accuracy"], strict=True):
                key = f"{size}, tau = {setting['tau']:g}, {setting['averaging']}"
                found[key] = 100 * scores.mean()
        return found

    def _counted(self, name, seed, columns):
        """Table 2: in how many of 30 random sets a relation holds."""
        counts = np.zeros(len(RELATIONS), dtype=int)
        noise, generate = float(name.removeprefix(NOISE)), self._reading.generate
        for X, y in all_artificial(noise, seed, generate=generate):
            (table,) = self._studies.averagings(permuted(X, y, seed), DEFAULT_RUN).tables
            counts += relations(table.mean_scores().tolist())
        return dict(zip(RELATIONS, counts, strict=True))

    def _drawn(self, name, seed):
        """A data set in the order of a seed, or the random one of a seed: X, y."""
        if name.startswith(NOISE):
            X, y = self._reading.generate(float(name.removeprefix(NOISE)), seed)
        else:
            X, y = data(name)
        X, y = permuted(X, y, seed)
        return self._reading.prepare(X, y)


def relations(means):
    """For accuracies (last, longest, voted) of a data set: which of RELATIONS hold, list of bool."""
    last, longest, voted = (round(mean, 9) for mean in means)  # means of folds: ties are exact
    return [
        *(voted > last, voted > longest, longest > last),
        *(longest > voted, last > longest, last > voted, voted == longest == last),
    ]


def _means(tested, searched, columns, inactive):
    """Mean accuracies of the settings that a search has chosen, by column and averaging: dict."""
    return {
        f"{column}, {averaging}": tested.of(
            averaging, searched.chosen(column, averaging, inactive=inactive)
        ).mean()
        for column, averaging in itertools.product(columns, AVERAGINGS)
    }
