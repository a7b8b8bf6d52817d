"""Tasks: independent units of work for one thread, process or machine."""

import sys
import time
import traceback
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _safe_split

from margins.data.structure import sealed
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.messages import noted, worst_of
from margins.model_selection import lockstep, study_paths
from margins.model_selection.folds import part_of, select_rows

# Minimum number of tasks of a search, if it has as many fits: enough to balance the load of many
# threads. It does not depend on the number of threads, because the cache must not. Batched training is
# more efficient with more models, so it is divided less.
MIN_TASKS = 256
MIN_TASKS_IN_LOCKSTEP = 16


class Task(NamedTuple):
    """Settings to train on the training set, and to score on the test set, of one split."""

    split: int
    settings: list
    route: str  # "alone": separate fits, "lockstep": one pass, "path": each from the next smaller C


class Outcome(NamedTuple):
    """The results of a task, in the order of its settings: scores, seconds, and unproven fits."""

    scores: dict  # metric -> list of float
    fit_times: list
    score_times: list
    unproven: list  # items are Unproven or None; from a cache, lists of its fields


class LastStep(NamedTuple):
    """The part of an estimator that every setting trains; the other steps are fitted once per split."""

    classifier: Any  # the estimator, or the last step of a pipeline
    prefix: str = ""  # prefix of its parameters in a setting; "" without a pipeline
    preparation: Any = None  # Pipeline or None: the steps before the classifier

    def without_prefix(self, settings):
        """Return the settings with the classifier's parameter names: list of dict."""
        n = len(self.prefix)
        return [{name[n:]: value for name, value in setting.items()} for setting in settings]

    def prepared(self, X_train, y_train, X_test):
        """Return X_train and X_test as the classifier gets them."""
        if self.preparation is None:
            return X_train, X_test
        preparation = clone(self.preparation)
        return preparation.fit_transform(X_train, y_train), preparation.transform(X_test)


def last_step(estimator, settings):
    """Return the LastStep that varies in the settings: the classifier, or the whole pipeline."""
    if type(estimator) is Pipeline and len(estimator.steps) > 1 and estimator.memory is None:
        name, classifier = estimator.steps[-1]
        prefix = f"{name}__"
        if all(key.startswith(prefix) for setting in settings for key in setting):
            return LastStep(classifier, prefix, estimator[:-1])
    return LastStep(estimator)


class Failure(NamedTuple):
    """The error of a task: setting, message and traceback."""

    setting: dict | None
    error: str
    trace: str


class FitFailed(RuntimeError):
    """A fit, or a score, of a study raised an exception.

    The message names the setting and the error, the note has the traceback.

    See Also
    --------
    parameter_search, double_cross_validation : Raise it.

    Examples
    --------
    >>> raise FitFailed("pam with {'tau': -1} failed")
    Traceback (most recent call last):
    margins.model_selection.tasks.FitFailed: pam with {'tau': -1} failed
    """


class Shared:
    """The data of all tasks of a study, sent only once to each process or machine."""

    def __init__(self, estimator, X, y, sample_weight, splits, scoring):
        self.estimator, self.scoring = estimator, scoring  # the estimator: seeded, with one thread
        self.X, self.y, self.sample_weight, self.splits = X, y, sample_weight, splits
        self.config = get_config()  # scikit-learn's configuration is local to a thread

    def __sizeof__(self):
        """Return the size in bytes; joblib's dask backend sends large objects only once."""
        X = self.X
        if sparse.issparse(X):
            size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        else:
            size = X.nbytes if isinstance(X, np.ndarray) else sys.getsizeof(X)
        return int(size) + self.y.nbytes + self.splits.nbytes

    def outcome_of(self, task, current):
        """Return the Outcome of a task; the item of `current` becomes the setting that is trained."""
        return ROUTES[task.route](self, task, current)


def shares(settings, n_splits, route):
    """Divide settings into parts, so that there are enough tasks: list of list. A path is one task."""
    if route == "path":
        return [settings]
    enough = MIN_TASKS_IN_LOCKSTEP if route == "lockstep" else MIN_TASKS
    n_shares = min(len(settings), -(-enough // n_splits))
    ends = [len(settings) * index // n_shares for index in range(n_shares + 1)]
    return [settings[begin:end] for begin, end in zip(ends, ends[1:], strict=False)]


def run(shared, number, task):
    """Run a task, and return its number and an Outcome or, so that others are not lost, a Failure."""
    current = [None]
    try:
        with config_context(**shared.config), parallel_config("sequential", n_jobs=1):
            return number, shared.outcome_of(task, current)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # even SystemExit, because a fit must not end the process
        return number, Failure(current[0], _text_of(error), traceback.format_exc())


def _text_of(error):
    try:
        return repr(error)
    except Exception as second:
        return f"{type(error).__name__}, whose text raises {type(second).__name__}"


def one_by_one(shared, task, current):
    """Return the Outcome of a task whose settings are trained separately."""
    train, test = shared.splits[task.split]
    weight = part_of(shared.sample_weight, train)
    weights = {} if weight is None else {"sample_weight": weight}
    parts = {}
    outcomes, fit_times, score_times, unproven = [], [], [], []
    for setting in task.settings:
        current[0] = setting
        classifier = clone(shared.estimator).set_params(**clone(setting, safe=False))
        pairwise = get_tags(classifier).input_tags.pairwise
        if pairwise not in parts:
            X_train, y_train = _safe_split(classifier, shared.X, shared.y, train)
            X_test, y_test = _safe_split(classifier, shared.X, shared.y, test, train)
            if isinstance(classifier, BaseMarginClassifier):  # others may alter X in place
                X_train, X_test = sealed(X_train, shared.X), sealed(X_test, shared.X)
            parts[pairwise] = X_train, y_train, X_test, y_test
        X_train, y_train, X_test, y_test = parts[pairwise]
        started = time.perf_counter()
        with noted() as unproven_of_fit:
            classifier.fit(X_train, y_train, **weights)
        fitted = time.perf_counter()
        outcomes.append(shared.scoring.of(classifier, X_test, y_test))
        fit_times.append(fitted - started)
        score_times.append(time.perf_counter() - fitted)
        unproven.append(worst_of(unproven_of_fit))
    return _outcome(outcomes, fit_times, score_times, unproven)


def _in_lockstep(shared, task, current):
    train, test = shared.splits[task.split]
    X, y = shared.X, shared.y
    weight = part_of(shared.sample_weight, train)
    X_train, X_test = (sealed(select_rows(X, rows), X) for rows in (train, test))
    started = time.perf_counter()
    last = last_step(shared.estimator, task.settings)
    X_train, X_test = last.prepared(X_train, y[train], X_test)
    settings, samples = last.without_prefix(task.settings), (X_train, y[train], X_test, weight)
    trained = lockstep.scores_in_lockstep(last.classifier, settings, *samples)
    return _scored(shared, trained, X_test, y[test], started)


def _along_c(shared, task, current):
    train, test = shared.splits[task.split]
    current[0] = task.settings[0]
    estimator = clone(shared.estimator).set_params(**clone(task.settings[0], safe=False))
    X_train, y_train = _safe_split(estimator, shared.X, shared.y, train)
    X_test, y_test = _safe_split(estimator, shared.X, shared.y, test, train)
    X_train, X_test = sealed(X_train, shared.X), sealed(X_test, shared.X)
    weight = part_of(shared.sample_weight, train)
    last = last_step(estimator, task.settings)
    classifier, Cs = last.classifier, [setting["C"] for setting in last.without_prefix(task.settings)]
    started = time.perf_counter()
    X_train, X_test = last.prepared(X_train, y_train, X_test)
    trained = study_paths.train_along_c(classifier, Cs, X_train, y_train, X_test, sample_weight=weight)
    return _scored(shared, trained, X_test, y_test, started)


# The functions that train the settings of a task.
ROUTES = {"alone": one_by_one, "lockstep": _in_lockstep, "path": _along_c}


def _scored(shared, trained, X_test, y_test, started):
    """Return the Outcome of settings that were trained together, from the time `started`."""
    fitted = time.perf_counter()
    outcomes = shared.scoring.of_all(trained, X_test, y_test)
    scored = time.perf_counter()
    # The settings were trained together, so each gets an equal share of the seconds.
    n_settings = len(trained)
    fit_time, score_time = (fitted - started) / n_settings, (scored - fitted) / n_settings
    unproven = [model.unproven for model in trained]
    return _outcome(outcomes, [fit_time] * n_settings, [score_time] * n_settings, unproven)


def _outcome(outcomes, fit_times, score_times, unproven):
    scores = {name: [outcome[name] for outcome in outcomes] for name in outcomes[0]}
    return Outcome(scores, fit_times, score_times, unproven)
