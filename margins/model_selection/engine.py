"""Execution of a study: it determines all splits and settings, then runs the rounds in turn."""

import platform
import sys
import warnings
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from margins._version import __version__
from margins.estimators.names import display_name
from margins.model_selection import lockstep, study_paths
from margins.model_selection.cache import Cache
from margins.model_selection.checks import Data, check_estimator, seed_of
from margins.model_selection.folds import Splits, folds_of, listed, splitter_of
from margins.model_selection.grids import check_settings, seeded_estimator, seeded_settings, stages_of
from margins.model_selection.keys import code_of, digest
from margins.model_selection.records import decoded, encoded
from margins.model_selection.rounds import rounds_of
from margins.model_selection.running import Bar, run_all
from margins.model_selection.scoring import Scoring
from margins.model_selection.study import Fold, Study, Table
from margins.model_selection.tasks import LastStep, Shared, Task, last_step, shares

FORMAT = 5  # version of the cached content and of the keys; part of every key


class Engine:
    """Runs a parameter search or, with an outer and an inner one of `cvs`, a double cross-validation."""

    def __init__(self, caller, estimator, param_grid, X, y, cvs, options):
        scoring, refit, groups, sample_weight, n_jobs, cache, cache_key, random_state, progress = options
        self.caller, self.n_jobs, self.progress = caller, n_jobs, progress
        cvs = {name: listed(cv) for name, cv in cvs.items()}
        check_estimator(estimator, n_jobs, progress, caller)
        self.data = data = Data(X, y, sample_weight, groups, caller)
        self.scoring = Scoring(scoring, refit, caller)
        self.stages = stages_of(param_grid, caller)
        check_settings(estimator, self.stages, caller)
        if not hasattr(estimator, "predict_proba"):
            self.scoring.check(estimator, data.y, caller)
        if not (cache_key is None or (isinstance(cache_key, str) and cache_key)):
            raise TypeError(f"cache_key of {caller} must be None or a str. Got {cache_key!r}.")
        self.cache = None if cache is None else Cache(cache, caller)
        self._cache_key = cache_key
        self.seed = self._seed(random_state, estimator, cvs)
        self.original_estimator = estimator
        self.estimator = seeded_estimator(estimator, self.seed)
        searches = self._searches(cvs)
        self.rounds = rounds_of(param_grid, self.stages, searches, data.y, self.seed)
        self.splits = self.rounds.splits + self.outer
        # The reason why some fit was not in lockstep, or not along C; None: every fit was.
        self.lockstep_reason = self.path_reason = None
        self._unproven = []  # (gap, text) of the fits that did not converge
        splits = Splits(self.splits)
        self.shared = Shared(self.estimator, data.X, data.y, data.sample_weight, splits, self.scoring)
        if self.cache:
            metrics = self.scoring.metrics
            code = code_of(cache_key)
            study = self._key(FORMAT, data.digest, self.estimator, metrics, self.versions(), code)
            self._key(clone(self.stages, safe=False))  # raises an error before any work
            self._keys = [digest(study, train, test) for train, test in self.splits]

    def _key(self, *values):
        """Return the hash of values that decide a result."""
        try:
            return digest(*values, without_files=self._cache_key is not None)
        except TypeError as error:
            raise TypeError(f"cache of {self.caller} must be None: {error}.") from error

    def _seed(self, random_state, estimator, cvs):
        """Return the seed of all random numbers of the study."""
        seed = seed_of(random_state, self.caller)
        if self.cache is None or random_state is not None:
            return seed
        # A resumed study must have the seed of the interrupted study.
        clones = clone(estimator), clone(self.stages, safe=False)  # a fitted estimator has the same key
        key = self._key("seed", self.caller, self.data.digest, *clones, cvs, self.scoring.metrics)
        return self.cache.agree(key, seed)

    def _searches(self, cvs):
        """Return the folds of each search, and set `outer`: list of list of (train, test)."""
        data = self.data
        (name, splitter), *inner = (
            (name, splitter_of(cv, data.groups, self.seed, name, self.caller))
            for name, cv in cvs.items()
        )
        folds = folds_of(splitter, data.X, data.y, data.groups, name, self.caller)
        self.outer = folds if inner else []
        if not inner:
            return [folds]
        [(name, splitter)] = inner
        searches = []
        for rows, _ in folds:
            inner_folds = folds_of(splitter, *data.part(rows), name, self.caller)
            searches.append([(rows[train], rows[test]) for train, test in inner_folds])
        return searches

    def _route(self, searches):
        """Return the `route` of `Task` on which the settings of all searches are trained."""
        settings = [setting for settings in searches for setting in settings]
        reason = self.scoring.reason_against_lockstep
        last = LastStep(self.estimator)
        if self.data.sample_weight is None:  # a Pipeline does not pass weights on
            last = last_step(self.estimator, settings)
        against_lockstep = reason or lockstep.reason_against(
            last.classifier, last.without_prefix(settings)
        )
        against_path = reason or study_paths.reason_against(
            last.classifier, [last.without_prefix(settings) for settings in searches]
        )
        self.lockstep_reason = self.lockstep_reason or against_lockstep
        self.path_reason = self.path_reason or against_path
        if against_lockstep is None:
            return "lockstep"
        return "path" if against_path is None else "alone"

    def versions(self):
        """Return the versions of all packages that results depend on: dict of str."""
        package = type(self.estimator).__module__.partition(".")[0]
        own = str(getattr(sys.modules.get(package), "__version__", ""))  # empty if it has none
        modules = {"numpy": np, "scipy": scipy, "scikit-learn": sklearn, "joblib": joblib}
        versions = {name: module.__version__ for name, module in modules.items()}
        versions |= {"python": platform.python_version(), "margins": __version__}
        return {package: own} | versions

    def study(self) -> Study:
        _, searches = self.rounds.searches(0)
        n_settings = self.rounds.n_settings  # in each round
        n_fits = sum(n_settings) * sum(map(len, searches)) + len(self.outer)
        tables: list[Any] = []
        tables_of_round: list[Any] = [None for _ in searches]
        with Bar(n_fits, self.progress) as bar:
            for number in range(len(n_settings)):
                tables_of_round = self._search(number, tables_of_round, bar)
                tables += tables_of_round
            chosen = [table.best_params for table in tables_of_round]
            folds = self._outer_folds(chosen, bar) if self.outer else _folds_of_table(tables[-1])
        self.warn_of_unproven(n_fits)
        if self.outer:
            tables.sort(key=lambda table: (table.outer, table.stage))
        kind = type(self.original_estimator)
        return Study(
            protocol="double cross-validation" if self.outer else "parameter search",
            estimator=f"{kind.__module__}.{kind.__qualname__}",
            # As `from_json` returns them: a study is a record without live objects.
            params=decoded(encoded(self.original_estimator.get_params(deep=False))),
            folds=folds,
            tables=tables,
            refit=self.scoring.refit,
            seed=self.seed,
            lockstep_reason=self.lockstep_reason,
            path_reason=self.path_reason,
            data=self.data.digest,
            versions=self.versions(),
        )

    def warn_of_unproven(self, n_fits, what="fits"):
        """Warn the caller of the function that calls a method of the engine if fits did not converge."""
        if self._unproven:
            _, text = max(self._unproven)
            message = f"{len(self._unproven)} of {n_fits} {what} of {self.caller} did not converge."
            text = f"{message} The fit with the largest gap is {text}"
            warnings.warn(text, ConvergenceWarning, stacklevel=4)

    def _search(self, number, previous, bar):
        """Run one round of all searches, given their tables of the previous round: list of Table."""
        first, searches = self.rounds.searches(number)
        settings = [self.rounds.settings(number, table) for table in previous]
        seeded = [seeded_settings(part, self.seed) for part in settings]
        grids = [seeded_settings(self.rounds.grid(number, table), self.seed) for table in previous]
        route = self._route(grids)
        n_splits = sum(map(len, searches))
        tasks, split = [], first
        for search, settings_of_search in zip(searches, seeded, strict=True):
            parts = shares(settings_of_search, n_splits, route)
            for _ in search:
                tasks += [Task(split, part, route) for part in parts]
                split += 1
        outcomes = self._run(tasks, bar)
        n_parts = len(outcomes) // n_splits
        tables = []
        for outer, search in enumerate(searches):
            search_outcomes = outcomes[: n_parts * len(search)]
            outcomes = outcomes[n_parts * len(search) :]
            tables.append(self._table(outer, number, settings[outer], search, search_outcomes))
        return tables

    def _table(self, number, stage, settings, splits, outcomes):
        def joined(parts):
            by_split = np.concatenate(parts).reshape(len(splits), -1)
            return np.ascontiguousarray(by_split.T, dtype=np.float64)

        scores = [outcome.scores for outcome in outcomes]
        table = Table(
            outer=number if self.outer else None,
            stage=stage,
            settings=settings,
            splits=splits,
            scores={name: joined([part[name] for part in scores]) for name in self.scoring.names},
            fit_times=joined([outcome.fit_times for outcome in outcomes]),
            score_times=joined([outcome.score_times for outcome in outcomes]),
            refit=self.scoring.refit,
        )
        if np.all(np.isnan(table.mean_scores())):
            raise ValueError(
                f"scoring of {self.caller} must give numbers. Got nan for every setting of {table!r}."
            )
        return table

    def _outer_folds(self, chosen, bar):
        """Train on whole outer training sets with the settings that the searches chose: list of Fold."""
        first = len(self.splits) - len(self.outer)
        route = "lockstep" if self.lockstep_reason is None else "alone"  # one C is not a path
        tasks = [
            Task(first + number, seeded_settings([setting], self.seed), route)
            for number, setting in enumerate(chosen)
        ]
        folds = []
        for split, setting, outcome in zip(self.outer, chosen, self._run(tasks, bar), strict=True):
            scores = {name: scores[0] for name, scores in outcome.scores.items()}
            folds.append(_fold(split, setting, scores, outcome.fit_times[0], outcome.score_times[0]))
        return folds

    def _run(self, tasks, bar):
        keys = None
        if self.cache:
            # Keys are computed from clones, because fits get clones of the values of a setting.
            keys = [
                self._key(self._keys[task.split], clone(task.settings, safe=False)) for task in tasks
            ]
        options = {"n_jobs": self.n_jobs, "bar": bar, "name_of": self._name}
        outcomes = run_all(tasks, self.shared, cache=self.cache, keys=keys, **options)
        for task, outcome in zip(tasks, outcomes, strict=True):
            for setting, unproven in zip(task.settings, outcome.unproven, strict=True):
                if unproven is not None:
                    gap, text = unproven
                    self._unproven.append((gap, f"{self._name(task)} with {setting!r}: {text}"))
        return outcomes

    def _name(self, task):
        """Return the position of a task in the study, for messages."""
        study = f"{display_name(self.original_estimator)} of {self.caller}"
        _, searches = self.rounds.searches(0)
        outer = task.split - len(self.rounds.splits)
        if outer >= 0:
            return f"{study}, outer fold {outer},"
        places = [(search, fold) for search, folds in enumerate(searches) for fold in range(len(folds))]
        search, fold = places[task.split % len(places)]
        if self.outer:
            return f"{study}, outer fold {search}, inner fold {fold},"
        return f"{study}, fold {fold},"


def _folds_of_table(table):
    """Return the folds of a search with its best setting: list of Fold."""
    best, folds = table.best_index, []
    for number, split in enumerate(table.splits):
        scores = {name: float(scores[best, number]) for name, scores in table.scores.items()}
        times = float(table.fit_times[best, number]), float(table.score_times[best, number])
        folds.append(_fold(split, table.settings[best], scores, *times))
    return folds


def _fold(split, setting, scores, fit_time, score_time):
    (train, test), times = split, {"fit_time": fit_time, "score_time": score_time}
    return Fold(train=train, test=test, best_params=setting, scores=scores, **times)
