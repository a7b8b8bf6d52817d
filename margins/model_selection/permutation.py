"""Permutation tests: whether the score of a classifier may be chance."""

import copy
import os
import time
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from margins.data.types import Estimator, Folds, MatrixLike, Metric, RandomState
from margins.data.validation import validate_samples
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.messages import worst_of
from margins.estimators.names import MessageName, display_name
from margins.linalg.threads import NO_LIMIT, one_thread
from margins.model_selection.engine import Engine
from margins.model_selection.folds import codes_of_groups, folds_of, listed, splitter_of
from margins.model_selection.gram_folds import GramFolds, reason_against
from margins.model_selection.running import Bar
from margins.model_selection.tasks import Outcome, Shared, Task, one_by_one, shares

NAME = "permutation_test"
# Scores whose difference is at most this share of them are equal: sums of folds are rounded.
SAME = 1e-12
# Below this, the logarithms of factorials are accurate enough to round their number.
EXACT = 1e12


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """The cross-validated score of a classifier, and its scores with permuted labels.

    Attributes
    ----------
    score : float
        Mean over the folds.
    permuted_scores : ndarray of float64, shape (n_permutations,)
    metric : str
    n_labellings : float
        Number of different permutations of the labels, within groups if there are groups.
    not_shared : str or None
        Why fits did not share the inner products of the samples; None: they did.
    seed : int
        Seed of the folds and permutations.
    seconds : float
        Wall-clock time.

    See Also
    --------
    permutation_test : Computes it.
    margins.plotting.PermutationTestDisplay : Draws it.

    Examples
    --------
    >>> import numpy as np
    >>> PermutationTest(0.9, np.array([0.5, 0.9, 0.6]), "accuracy", 252.0, None, 0, 1.0).p_value
    0.5
    """

    score: float
    permuted_scores: NDArray[np.float64]
    metric: str
    n_labellings: float
    not_shared: str | None
    seed: int
    seconds: float

    @property
    def p_value(self) -> float:
        """(b + 1) / (m + 1), if b of the m permuted scores are at least `score`: float."""
        n_not_smaller = np.count_nonzero(self.permuted_scores >= self.score - SAME * abs(self.score))
        return float((n_not_smaller + 1) / (len(self.permuted_scores) + 1))

    def __repr__(self) -> str:
        return (
            f"PermutationTest({self.metric} {self.score:.4g}, p = {self.p_value:.3g}; "
            f"{len(self.permuted_scores)} permutations, {self.seconds:.2g} s)"
        )


def permutation_test(
    estimator: Estimator,
    X: MatrixLike,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    cv: Folds = 5,
    n_permutations: int = 1000,
    scoring: Metric = "accuracy",
    n_jobs: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_key: str | None = None,
    random_state: RandomState = None,
    progress: bool | None = None,
) -> PermutationTest:
    """Test whether a cross-validated score may be chance: compare it with scores for permuted labels.

    Parameters
    ----------
    estimator : classifier
        Any classifier with scikit-learn's interface. It is cloned, never changed.
    X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
    y : array-like, shape (n_samples,)
    groups : array-like, shape (n_samples,), optional
        Labels are permuted only within groups, such as subjects. Samples of one group stay in one fold;
        a splitter that ignores groups raises an error.
    cv : int, splitter, or iterable of (train, test), default=5
        An integer: `StratifiedKFold`, with groups `StratifiedGroupKFold`, shuffled by `random_state`;
        each label keeps its fold. A splitter splits the permuted labels. Folds that are passed stay.
    n_permutations : int >= 1, default=1000
    scoring : str or callable (estimator, X, y) -> float, default="accuracy"
        A metric of which more is better.
    n_jobs, cache, cache_key, progress
        As in `parameter_search`. A task is a few permutations. The result does not depend on them.
    random_state : int, RandomState or None, default=None
        Seed of the permutations, and as in `parameter_search`.

    Returns
    -------
    PermutationTest
        Its `p_value` is about the hypothesis that labels and samples are independent, within groups.

    Raises
    ------
    TypeError, ValueError
        If an argument is not allowed, before any work; ValueError, too, if a score is nan.
    FitFailed
        If a fit or a score raises an exception, which the message names.

    Warns
    -----
    ConvergenceWarning
        If fits end before their accuracy is proven.

    Notes
    -----
    **The p-value** (b + 1) / (m + 1) counts the labels as passed as one more permutation. So it is never
    0, and valid: under the hypothesis, P(p <= alpha) <= alpha for any alpha, data and classifier. It is
    exact, with equality for multiples of 1 / (m + 1), if all scores differ. Ties count against the
    classifier: an accuracy has few values, and permutations are drawn independently, so of few
    (`n_labellings`) some are drawn twice, or are the labels as passed. Then p is conservative; without
    other ties, by at most about 0.5 / `n_labellings` (Phipson & Smyth, section 4).

    **What fits share.** Fits of a linear MarginClassifier with finite C share the inner products of all
    samples if X stores n_samples^2 elements, as with more features than samples. Each fit then solves a
    problem on a part of that matrix, and is proven to the classifier's `eps`, so it equals a fit to the
    permuted labels up to `eps`; `max_iter` is not used. Fits that this does not prove are made alone,
    and so are all others: pipelines, kernels, more samples than features, metrics that need more than
    scores, other solvers, and `max_time`, `verbose` or callbacks. `not_shared` tells the reason.

    **Source**: Phipson & Smyth (2010), Permutation p-values should never be zero; Ojala & Garriga
    (2010), Permutation tests for studying classifier performance, test 1.

    Examples
    --------
    >>> import margins
    >>> import numpy as np
    >>> from margins.model_selection import permutation_test
    >>> y, rng = np.repeat([0, 1], 20), np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 500)) + y[:, None] * (np.arange(500) < 100)
    >>> test = permutation_test(margins.MarginClassifier(), X, y, n_permutations=99, random_state=0)
    >>> test.p_value
    0.01
    """
    started = time.perf_counter()
    if not (isinstance(scoring, str) or callable(scoring)):
        raise TypeError(f"scoring of {NAME} must be a name or a callable. Got {scoring!r}.")
    is_integer = isinstance(n_permutations, Integral) and not isinstance(n_permutations, bool)
    if not is_integer or n_permutations < 1:
        raise ValueError(f"n_permutations of {NAME} must be an integer >= 1. Got {n_permutations!r}.")
    if isinstance(estimator, BaseMarginClassifier):
        estimator.check_parameters()
    cv = listed(cv)
    options = scoring, None, groups, None, n_jobs, cache, cache_key, random_state, progress
    engine = _PermutationEngine(NAME, estimator, {}, X, y, {"cv": cv}, options)
    n_labellings = _n_labellings(engine.data)
    scores = engine.scores(cv, int(n_permutations))
    return PermutationTest(
        score=float(scores[0]),
        permuted_scores=scores[1:],
        metric=engine.scoring.refit,
        n_labellings=n_labellings,
        not_shared=engine.shared.not_shared,
        seed=engine.seed,
        seconds=time.perf_counter() - started,
    )


def _n_labellings(data: Any) -> float:
    """Return the number of different permutations of the labels; raise ValueError if it is 1."""
    y = np.unique(data.y, return_inverse=True)[1]
    groups = np.zeros_like(y) if data.groups is None else np.unique(data.groups, return_inverse=True)[1]
    table = np.zeros((groups.max() + 1, y.max() + 1))
    np.add.at(table, (groups, y), 1)
    if np.count_nonzero(table) == len(table):
        raise ValueError(
            f"groups of {NAME} must contain a group with different labels, because labels are permuted "
            "within groups. Got one label in each group."
        )
    with np.errstate(over="ignore"):
        number = float(np.exp(gammaln(table.sum(axis=1) + 1).sum() - gammaln(table + 1).sum()))
    return float(round(number)) if number < EXACT else number


class _PermutationEngine(Engine):
    """Runs a permutation test: number 0 of the permutations leaves the labels as they are."""

    def scores(self, cv: Any, n_permutations: int) -> NDArray[np.float64]:
        """Return the score for each permutation."""
        splitter = splitter_of(cv, self.data.groups, self.seed, "cv", self.caller)
        self.shared = _PermutedData(self, None if isinstance(cv, Integral) else splitter)
        if self.cache:
            self._keys = [self._key(self._keys, self.seed, cv)]
        settings = [{"permutation": number} for number in range(n_permutations + 1)]
        tasks = [Task(0, part, "permuted") for part in shares(settings, 1, "permuted")]
        with Bar(len(settings), self.progress) as bar:
            outcomes = self._run(tasks, bar)
        self.warn_of_unproven(len(settings), "permutations")
        scores = np.concatenate([outcome.scores[self.scoring.refit] for outcome in outcomes])
        if np.isnan(scores).any():
            first = int(np.isnan(scores).argmax())
            raise ValueError(f"scoring of {NAME} must give numbers. Got nan for permutation {first}.")
        return scores

    def _name(self, task: Task) -> str:
        return f"{display_name(self.original_estimator)} of {self.caller}"


class _PermutedData(Shared):
    """The data of all tasks: the labels and folds of a permutation follow from its number."""

    def __init__(self, engine: _PermutationEngine, splitter: Any) -> None:
        vars(self).update(vars(engine.shared))
        data, self._seed, self._splitter = engine.data, engine.seed, splitter
        self._groups, self._gram = data.groups, None
        self._codes: Any = None  # of the groups
        if data.groups is not None:
            self._codes = codes_of_groups(data.groups, len(data.y), NAME)
        self.not_shared = reason_against(self.estimator, self.scoring)
        if self.not_shared is None:
            name = MessageName(self.estimator, "fit")
            gram = GramFolds(self.estimator, validate_samples(self.estimator, self.X, self.y, name))
            self.not_shared = gram.reason
            self._gram = gram if gram.reason is None else None

    def outcome_of(self, task: Task, current: list[Any]) -> Outcome:
        """Return the mean score over all folds for each permutation of a task."""
        outcome = Outcome({self.scoring.refit: []}, [], [], [])
        with NO_LIMIT if self._gram is None else one_thread():
            for setting in task.settings:
                current[0], started = setting, time.perf_counter()
                order, folds = self._permuted(setting["permutation"])
                part = Shared(self.estimator, self.X, self.y[order], None, folds, self.scoring)
                results = [self._score(part, order, fold) for fold in range(len(folds))]
                scores, unproven = zip(*results, strict=True)
                outcome.scores[self.scoring.refit].append(float(np.mean(scores)))
                outcome.fit_times.append(time.perf_counter() - started)
                outcome.score_times.append(0.0)  # in `fit_times`
                outcome.unproven.append(worst_of(unproven))
        return outcome

    def _permuted(self, number: int) -> tuple[NDArray[np.intp], list[Any]]:
        """Return the order of the labels of a permutation, and its folds."""
        order, rng = np.arange(len(self.y)), np.random.default_rng((self._seed, number))
        if number > 0 and self._codes is None:
            order = rng.permutation(order)
        elif number > 0:
            by_group = np.argsort(self._codes, kind="stable")
            order[by_group] = np.lexsort((rng.random(len(order)), self._codes))
        if self._splitter is not None:  # each permutation has the same random state
            splitter = copy.deepcopy(self._splitter)
            return order, folds_of(splitter, self.X, self.y[order], self._groups, "cv", NAME)
        places = np.argsort(order)  # the sample that has each label
        folds = (self.splits[fold] for fold in range(len(self.splits)))
        return order, [(places[train], places[test]) for train, test in folds]

    def _score(self, part: Shared, order: NDArray[np.intp], fold: int) -> tuple[float, Any]:
        """Return the score of a fold, and its Unproven or None."""
        if self._gram is not None:
            train, test = part.splits[fold]
            model = self._gram.model(train, test, self._gram.codes[order[train]])
            if model is not None:
                return self.scoring.of(model, None, part.y[test])[self.scoring.refit], None
        outcome = one_by_one(part, Task(fold, [{}], "alone"), [None])
        return outcome.scores[self.scoring.refit][0], outcome.unproven[0]
