"""Both protocols find what nested scikit-learn, or a plain loop, finds on the same folds."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import margins
from margins.model_selection import Stages, Table, double_cross_validation, lockstep, parameter_search
from margins.model_selection.lockstep import Trained

X, y = load_breast_cancer(return_X_y=True)
X = X[:200] / X.max(axis=0)
y = y[:200]
GRID = {"tau": [0, 0.25, 1], "alpha_bound": [math.inf, 5]}
SEED = 3


def pam(**params):
    return margins.get("pam")(**({"max_iter": 5, "random_state": 1} | params))


def first_best(results):
    """GridSearchCV's refit: the first of the best means, rounded once."""
    names = sorted(name for name in results if name.startswith("split") and name.endswith("_test_score"))
    return int(np.argmax([math.fsum(scores) for scores in zip(*map(results.get, names), strict=True)]))


def shuffled(n_folds):
    return StratifiedKFold(n_folds, shuffle=True, random_state=SEED)


@pytest.mark.parametrize("estimator", [pam(), RidgeClassifier()], ids=["ours", "peer"])
def test_double_cross_validation_is_grid_search_within_cross_validation(estimator):
    grid = (
        GRID
        if hasattr(estimator, "tau")
        else {"alpha": [0.01, 1, 100.0], "fit_intercept": [True, False]}
    )
    study = double_cross_validation(estimator, grid, X, y, outer=4, inner=3, random_state=SEED)
    nested = GridSearchCV(estimator, grid, cv=shuffled(3), refit=first_best)
    expected = cross_validate(nested, X, y, cv=shuffled(4), return_estimator=True, return_indices=True)
    assert_array_equal(study.scores(), expected["test_score"])
    assert len({tuple(fold.best_params.values()) for fold in study.folds}) > 1  # or nothing was searched
    for number, search in enumerate(expected["estimator"]):
        fold, table = study.folds[number], study.tables[number]
        assert_array_equal(fold.train, expected["indices"]["train"][number])
        assert_array_equal(fold.test, expected["indices"]["test"][number])
        assert fold.best_params == table.best_params == search.best_params_
        assert table.settings == search.cv_results_["params"]
        assert (table.outer, table.stage) == (number, 0)
        for inner in range(3):
            assert_array_equal(
                table.scores["accuracy"][:, inner], search.cv_results_[f"split{inner}_test_score"]
            )
    assert study.seed == SEED


def test_parameter_search_is_grid_search():
    study = parameter_search(pam(), GRID, X, y, cv=4, random_state=SEED)
    search = GridSearchCV(pam(), GRID, cv=shuffled(4), refit=first_best).fit(X, y)
    (table,) = study.tables
    assert study.best_params == table.best_params == search.best_params_
    best = [search.cv_results_[f"split{fold}_test_score"][search.best_index_] for fold in range(4)]
    assert_array_equal(study.scores(), best)
    assert study.mean() == table.best_score == math.fsum(best) / 4
    assert table.outer is None


def test_several_metrics_by_name_and_callable():
    def own(estimator, X, y):
        return -len(X) + estimator.decision_function(X).sum()

    scoring = {"accuracy": "accuracy", "auc": "roc_auc", "own": own}
    study = double_cross_validation(
        pam(), GRID, X, y, outer=3, inner=3, scoring=scoring, refit="auc", random_state=SEED
    )

    def best_auc(results):
        parts = [results[f"split{fold}_test_auc"] for fold in range(3)]
        return int(np.argmax([math.fsum(scores) for scores in zip(*parts, strict=True)]))

    nested = GridSearchCV(pam(), GRID, cv=shuffled(3), scoring=scoring, refit=best_auc)
    expected = cross_validate(nested, X, y, cv=shuffled(3), scoring=scoring)
    for metric in scoring:
        assert_array_equal(study.scores(metric), expected[f"test_{metric}"])
    assert_array_equal(study.scores(), study.scores("auc"))


def test_later_stages_use_the_best_setting_of_earlier_ones():
    stages = Stages({"tau": [0, 0.25, 1]}, [{"alpha_bound": [math.inf, 5]}, {"lam": [0.5]}])
    study = double_cross_validation(pam(lam=0.25), stages, X, y, outer=3, inner=3, random_state=SEED)
    outer = list(shuffled(3).split(X, y))
    for number, (train, _) in enumerate(outer):
        fixed = {}
        for stage, grid in enumerate(stages.grids):
            estimator = clone(pam(lam=0.25)).set_params(**fixed)
            search = GridSearchCV(estimator, grid, cv=shuffled(3), refit=first_best)
            search.fit(X[train], y[train])
            fixed |= search.best_params_
            table = study.tables[2 * number + stage]
            assert (table.outer, table.stage) == (number, stage)
            assert_array_equal(table.mean_scores().argmax(), search.best_index_)
        assert study.folds[number].best_params == fixed


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts one class for any value of its parameter."""

    def __init__(self, useless=0, random_state=None, n_jobs=None):
        self.useless = useless
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None):
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_ = np.unique(y)
        self.says_ = self.classes_[np.argmax([weights[y == each].sum() for each in self.classes_])]
        return self

    def predict(self, X):
        return np.full(len(X), self.says_)


def test_ties_go_to_the_first_in_the_order_of_the_grid():
    study = double_cross_validation(
        Constant(), {"useless": [3, 1, 2]}, X, y, outer=3, inner=3, random_state=0
    )
    assert study.selection_frequencies == [({"useless": 3}, 1.0)]


def test_equal_means_tie_for_any_order_of_their_terms():
    scores = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    assert len(set(np.add.accumulate(scores, axis=1)[:, -1])) == 2  # the naive sums differ
    table = Table(
        outer=None, stage=0, settings=[{}, {}], splits=[], scores={"a": scores[::-1]},
        fit_times=scores, score_times=scores, refit="a",
    )  # fmt: skip
    assert table.best_index == 0
    table.scores["a"] = scores
    assert table.best_index == 0


def test_means_of_nan_are_the_worst():
    def sometimes(estimator, X, y):
        return math.nan if estimator.useless == 0 else estimator.useless

    study = parameter_search(Constant(), {"useless": [0, -5, -3]}, X, y, cv=2, scoring=sometimes)
    assert study.best_params == {"useless": -3}
    with pytest.raises(ValueError, match="must give numbers. Got nan for every setting"):
        parameter_search(Constant(), {"useless": [0]}, X, y, cv=2, scoring=sometimes)


def test_sample_weights_reach_the_fits():
    weight = np.where(y == 1, 10.0, 1.0)
    weighted = parameter_search(Constant(), {}, X, y, cv=2, sample_weight=weight, random_state=0)
    plain = parameter_search(Constant(), {}, X, y, cv=2, random_state=0)
    assert weighted.mean() == np.mean(y == 1) != plain.mean()


def test_groups_stay_together():
    groups = np.arange(len(y)) // 4
    for cv in (3, GroupKFold(3)):
        study = double_cross_validation(
            pam(), {"tau": [0, 1]}, X, y, outer=cv, inner=cv, groups=groups, random_state=0
        )
        for train, test in [split for table in study.tables for split in table.splits]:
            assert not set(groups[train]) & set(groups[test])
        for fold in study.folds:
            assert not set(groups[fold.train]) & set(groups[fold.test])


def test_cv_may_be_a_splitter_or_an_iterable():
    splitter = KFold(3, shuffle=True)  # without a seed it gets the study's
    study = parameter_search(pam(), GRID, X, y, cv=splitter, random_state=SEED)
    seeded = KFold(3, shuffle=True, random_state=SEED)
    assert splitter.random_state is None
    pairs = iter(list(seeded.split(X)))
    assert study == parameter_search(pam(), GRID, X, y, cv=pairs, random_state=SEED)
    masks = [(np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1)]
    one = double_cross_validation(
        pam(), {"tau": [0, 1]}, X, y, outer=masks, inner=PredefinedSplit([-1, 0] * 50), random_state=0
    )
    assert_array_equal(one.folds[0].test, np.arange(1, 200, 2))
    assert_array_equal(one.tables[0].splits[0][1], np.arange(2, 200, 4))


def test_one_seed_determines_the_study():
    def of(seed, own=None):
        return parameter_search(pam(random_state=own), GRID, X, y, cv=3, random_state=seed)

    assert of(1) == of(1) != of(2)
    assert of(None).seed != of(None).seed
    assert of(np.random.RandomState(5)) == of(np.random.RandomState(5))
    assert_array_equal(of(1).scores(), of(1, own=1).scores())


def test_seeds_and_threads_of_nested_estimators_are_set_too():
    seen = []

    class Spy(Constant):
        def fit(self, X, y):
            seen.append((self.random_state, self.n_jobs))
            return super().fit(X, y)

    given = make_pipeline(StandardScaler(), Spy(n_jobs=4))
    parameter_search(given, {"spy": [Spy(), Spy(n_jobs=2)]}, X, y, cv=2, random_state=7)
    parameter_search(given, {"spy__random_state": [5, None]}, X, y, cv=2, random_state=7)
    # None: one thread too, where a task runs.
    assert [seed for seed, _ in seen[:4]] == [7] * 4
    assert {n_jobs for _, n_jobs in seen[:4]} == {None, 1}
    assert sorted(seen[4:]) == [(5, 1)] * 2 + [(7, 1)] * 2
    assert given["spy"].n_jobs == 4 and given["spy"].random_state is None


def test_data_of_all_kinds():
    pandas = pytest.importorskip("pandas")
    labels = np.array(["benign", "malignant"])[y]
    expected = parameter_search(pam(), GRID, X, labels, cv=3, random_state=0)
    targets = labels, labels.tolist(), pandas.Series(labels), labels
    matrices = sparse.coo_array(X), sparse.csr_matrix(X), X.tolist(), pandas.DataFrame(X)
    for matrix, target in zip(matrices, targets, strict=True):
        study = parameter_search(pam(), GRID, matrix, target, cv=3, random_state=0)
        assert_array_equal(study.scores(), expected.scores())
    texts = np.array(["good film", "bad film", "good book", "bad book"] * 5)
    words = make_pipeline(CountVectorizer(), pam())
    assert parameter_search(words, {}, texts, [0, 1, 0, 1] * 5, cv=2, random_state=0).mean() == 1


@pytest.mark.parametrize("estimator", [SVC(), pam()], ids=["peer", "ours"])
def test_precomputed_kernels_are_cut_both_ways(estimator):
    gamma = 2.0
    direct = clone(estimator).set_params(kernel="rbf", gamma=gamma)
    given = clone(estimator).set_params(kernel="precomputed")
    expected = parameter_search(direct, {"C": [1.0, 10.0]}, X, y, cv=3, random_state=0)
    study = parameter_search(
        given, {"C": [1.0, 10.0]}, rbf_kernel(X, gamma=gamma), y, cv=3, random_state=0
    )
    assert_array_equal(study.scores(), expected.scores())


def one_by_one(estimator, settings, X_train, y_train, X_test, sample_weight=None):
    fits = [clone(estimator).set_params(**setting).fit(X_train, y_train) for setting in settings]
    return [Trained(fit.decision_function(X_test), fit.classes_, 1, 1) for fit in fits]


@pytest.mark.parametrize(
    ("data", "scoring"),
    [
        ("two classes", ["balanced_accuracy", "accuracy"]),
        ("two classes", "roc_auc"),
        ("three classes", "accuracy"),
        ("three classes", "f1_macro"),
    ],
    ids=str,
)
def test_lockstep_changes_only_the_record_of_it(data, scoring, monkeypatch):
    samples = (X, y) if data == "two classes" else load_iris(return_X_y=True)
    options = {"cv": 3, "scoring": scoring, "random_state": 0}
    options["refit"] = "accuracy" if isinstance(scoring, list) else None
    monkeypatch.setattr(lockstep, "reason_against", lambda estimator, settings: "forbidden")
    apart = parameter_search(pam(), GRID, *samples, **options)
    calls = []
    monkeypatch.setattr(lockstep, "reason_against", lambda estimator, settings: None)
    recorded = lambda *args, **kw: calls.append(1) or one_by_one(*args, **kw)  # noqa: E731
    monkeypatch.setattr(lockstep, "scores_in_lockstep", recorded)
    together = parameter_search(pam(), GRID, *samples, **options)
    assert apart.lockstep_reason == "forbidden" and together.lockstep is True and calls
    for metric in apart.metrics:
        assert_array_equal(apart.tables[0].scores[metric], together.tables[0].scores[metric])


def test_lockstep_excludes_metrics_that_read_the_estimator(monkeypatch):
    monkeypatch.setattr(lockstep, "reason_against", lambda estimator, settings: None)

    def size(estimator, X, y):
        return np.abs(estimator.coef_).sum()

    study = parameter_search(pam(), GRID, X, y, cv=2, scoring=size)
    assert study.lockstep_reason == "the metric 'size' may need more than the scores of a classifier"
