"""Successive halving, against a loop of scikit-learn's parts, and against exhaustive searches."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import HalvingGridSearchCV, ParameterGrid, ParameterSampler, StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils import resample

import margins
from margins.model_selection import (
    Halving,
    Stages,
    Study,
    double_cross_validation,
    parameter_search,
    running,
)
from margins.model_selection.rounds import MIN_ROWS, best_settings
from margins.plotting import LandscapeDisplay

X, y = load_breast_cancer(return_X_y=True)
X = X / X.max(axis=0)
NAMES = np.array(["malignant", "benign"])[y]
SEED = 5
PAM = margins.get("pam")(max_iter=3, random_state=1)
GRID = {"tau": [0, 0.25, 1, 4], "alpha_bound": [math.inf, 20, 5]}
RIDGE = {"alpha": np.geomspace(1e-4, 1e3, 10).tolist()}


def recomputed(estimator, grid, X, y, splits, factor, n_rounds):
    """Rounds as (settings, rows of training sets, scores), by a plain loop."""
    settings, rounds = list(ParameterGrid(grid)), []
    for power in reversed(range(n_rounds)):
        trains, scores = [], []
        for train, test in splits:
            if power:
                size = math.ceil(len(train) / factor**power)
                train = np.sort(
                    resample(train, replace=False, n_samples=size, stratify=y[train], random_state=SEED)
                )
            trains.append(train)
            scores.append(
                [
                    clone(estimator).set_params(**each).fit(X[train], y[train]).score(X[test], y[test])
                    for each in settings
                ]
            )
        scores = np.array(scores).T
        rounds.append((settings, trains, scores))
        means = [math.fsum(row) / len(row) for row in scores]
        best = sorted(range(len(settings)), key=lambda index: -means[index])  # stable
        settings = [settings[index] for index in sorted(best[: math.ceil(len(settings) / factor)])]
    return rounds


def assert_rounds(tables, rounds):
    assert [table.stage for table in tables] == list(range(len(rounds)))
    for table, (settings, trains, scores) in zip(tables, rounds, strict=True):
        assert table.settings == settings
        for (train, _), expected in zip(table.splits, trains, strict=True):
            assert_array_equal(train, expected)
        assert_array_equal(table.scores["accuracy"], scores)


@pytest.mark.parametrize(
    "estimator, grid, route",
    [(PAM, GRID, "lockstep"), (RidgeClassifier(), RIDGE, "alone")],
    ids=["pam", "ridge"],
)
@pytest.mark.parametrize("factor, n_rounds", [(2, 4), (3, 3)])
def test_rounds_match_a_plain_loop(estimator, grid, route, factor, n_rounds):
    study = parameter_search(estimator, Halving(grid, factor), X, NAMES, cv=3, random_state=SEED)
    splits = list(StratifiedKFold(3, shuffle=True, random_state=SEED).split(X, NAMES))
    rounds = recomputed(estimator, grid, X, NAMES, splits, factor, n_rounds)
    assert_rounds(study.tables, rounds)
    assert study.best_params == study.tables[-1].best_params
    assert study.lockstep == (route == "lockstep")
    for fold, (train, test) in zip(study.folds, splits, strict=True):
        assert_array_equal(fold.train, train)
        assert_array_equal(fold.test, test)


def test_each_outer_fold_of_a_double_cross_validation_is_halved_alone():
    study = double_cross_validation(PAM, Halving(GRID), X, y, outer=3, inner=3, random_state=SEED)
    split = StratifiedKFold(3, shuffle=True, random_state=SEED).split
    for number, (rows, _) in enumerate(split(X, y)):
        splits = [(rows[train], rows[test]) for train, test in split(X[rows], y[rows])]
        tables = [table for table in study.tables if table.outer == number]
        assert_rounds(tables, recomputed(PAM, GRID, X, y, splits, 3, 3))
        assert study.folds[number].best_params == tables[-1].best_params
        assert len(study.folds[number].train) == len(rows)
    assert len({str(table.settings) for table in study.tables if table.stage == 1}) > 1
    assert Study.from_json(study.to_json()) == study


def test_the_numbers_of_settings_are_scikit_learns():
    grid = {"alpha": np.geomspace(1e-4, 1e3, 14).tolist()}
    rows = X[:, :3]
    for factor in (2, 3):
        found = parameter_search(RidgeClassifier(), Halving(grid, factor), rows, y, cv=2, random_state=0)
        theirs = HalvingGridSearchCV(RidgeClassifier(), grid, factor=factor, cv=2).fit(rows, y)
        assert [len(table.settings) for table in found.tables] == theirs.n_candidates_


def test_a_single_round_is_the_exhaustive_search():
    halving = double_cross_validation(PAM, Halving(GRID, 13), X, y, outer=3, inner=3, random_state=0)
    exhaustive = double_cross_validation(PAM, GRID, X, y, outer=3, inner=3, random_state=0)
    assert halving == exhaustive and len(halving.tables) == 3


def test_the_first_round_has_enough_samples_of_each_class():
    few = np.r_[np.flatnonzero(y == 0)[:60], np.flatnonzero(y == 1)]
    study = parameter_search(RidgeClassifier(), Halving(RIDGE, 2), X[few], y[few], cv=3, random_state=0)
    sizes = [np.bincount(y[few][table.splits[0][0]]).min() for table in study.tables]
    assert sizes == [10, 20, 40] and sizes[0] >= MIN_ROWS  # four rounds would begin with 5
    study = parameter_search(RidgeClassifier(), Halving(RIDGE, 2), X[:30], y[:30], cv=3, random_state=0)
    assert len(study.tables) == 1


@pytest.fixture
def computed(monkeypatch):
    """The tasks that are computed, not found; after `limit` of them the study is interrupted."""
    run = running.run

    class Computed(list):
        limit = math.inf

        def run(self, shared, number, task):
            if len(self) >= self.limit:
                raise KeyboardInterrupt
            self.append(task)
            return run(shared, number, task)

    made = Computed()
    monkeypatch.setattr(running, "run", made.run)
    return made


def test_the_number_of_fits(computed, monkeypatch):
    totals = []

    def silent(self, total, shown):
        self._bar = None
        totals.append(total)

    monkeypatch.setattr(running.Bar, "__init__", silent)
    parameter_search(RidgeClassifier(), Halving(RIDGE), X, y, cv=4, random_state=0)
    assert totals == [sum(len(task.settings) for task in computed)] == [4 * (10 + 4 + 2)]
    computed.clear()
    double_cross_validation(RidgeClassifier(), Halving(RIDGE), X, y, outer=2, inner=3, random_state=0)
    assert totals[1:] == [sum(len(task.settings) for task in computed)] == [2 * 3 * (10 + 4) + 2]


def test_an_interrupted_halving_is_resumed(computed, tmp_path):
    def run(**options):
        return parameter_search(RidgeClassifier(), Halving(RIDGE), X, y, cv=4, random_state=0, **options)

    undisturbed = run()
    assert len(computed) == 64
    computed.clear()
    for computed.limit in (10, 50, 60):  # in each round
        with pytest.raises(KeyboardInterrupt):
            run(cache=tmp_path)
    computed.limit = math.inf
    study = run(cache=tmp_path)
    assert study == undisturbed and len(computed) == 64
    assert run(cache=tmp_path).to_json() == study.to_json() and len(computed) == 64


def test_a_grid_of_C_goes_along_the_path_in_every_round():
    halving = Halving({"C": np.geomspace(1e-2, 1e2, 9).tolist()})
    svm = margins.MarginClassifier(eps=1e-4, random_state=0)
    study = parameter_search(svm, halving, X, y, cv=3, random_state=SEED)
    assert study.path is True and [len(table.settings) for table in study.tables] == [9, 3, 1]
    alone = svm.set_params(**study.best_params)
    for fold in study.folds:
        score = clone(alone).fit(X[fold.train], y[fold.train]).score(X[fold.test], y[fold.test])
        assert fold.scores["accuracy"] == pytest.approx(score, abs=0.011)  # two samples of a test set


def test_weights_and_kernel_matrices_follow_the_rows():
    kernel, weight = rbf_kernel(X), np.linspace(0.5, 2, len(y))
    halving = Halving({"C": [0.1, 1, 10]})
    study = parameter_search(
        SVC(kernel="precomputed"), halving, kernel, y, cv=3, sample_weight=weight, random_state=0
    )
    for table in study.tables:
        for number, (train, test) in enumerate(table.splits):
            for index, setting in enumerate(table.settings):
                svc = SVC(kernel="precomputed", **setting)
                svc.fit(kernel[np.ix_(train, train)], y[train], sample_weight=weight[train])
                score = svc.score(kernel[np.ix_(test, train)], y[test])
                assert table.scores["accuracy"][index, number] == score


def test_samplers_are_halved_and_several_classes_are_drawn_in_proportion():
    iris, species = load_iris(return_X_y=True)
    sampler = ParameterSampler(RIDGE, n_iter=6, random_state=1)
    study = parameter_search(RidgeClassifier(), Halving(sampler), iris, species, cv=3, random_state=0)
    assert [len(table.settings) for table in study.tables] == [6, 2]
    for train, _ in study.tables[0].splits:
        assert np.ptp(np.bincount(species[train])) <= 1 and len(train) == 34


def test_of_equal_means_the_first_settings_stay_and_nan_is_the_worst():
    table = margins.model_selection.Table(
        outer=None, stage=0, settings=[{"a": each} for each in range(5)], splits=[],
        scores={"s": np.array([[0.5], [np.nan], [0.9], [0.5], [0.5]])},
        fit_times=np.zeros((5, 1)), score_times=np.zeros((5, 1)), refit="s",
    )  # fmt: skip
    assert best_settings(table, 3) == [{"a": 0}, {"a": 2}, {"a": 3}]
    assert best_settings(table, 5)[1] == {"a": 1}


def test_means_are_equal_in_spite_of_rounded_scores():
    X, y, folds = np.arange(30.0)[:, None], np.arange(30) % 2, np.arange(30) // 10
    cv = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(3)]
    scores = {1: [0.3, 0.2, 0.1], 2: [0.1, 0.1, 0.4]}
    assert np.mean(scores[1]) < np.mean(scores[2])

    def scoring(classifier, X, y):
        return scores[classifier.C][int(X[0, 0]) // 10]

    grid = {"C": list(scores)}
    selected = margins.MarginClassifierCV(Cs=grid["C"], cv=cv, scoring=scoring, max_iter=3000).fit(X, y)
    study = parameter_search(margins.MarginClassifier(max_iter=3000), grid, X, y, cv=cv, scoring=scoring)
    assert selected.C_ == study.best_params["C"] == 1
    assert best_settings(study.tables[0], 1) == [{"C": 1}]


def test_plots_show_the_first_round_unless_another_is_named():
    study = parameter_search(RidgeClassifier(), Halving(RIDGE, 2), X, y, cv=3, random_state=0)
    display = LandscapeDisplay.from_study(study)
    assert_array_equal(display.scores[0], study.tables[0].mean_scores())
    assert display.x.values[display.best[1]] == study.best_params["alpha"]
    assert LandscapeDisplay.from_study(study, stage=1).scores.shape == (1, 5)
    double = double_cross_validation(PAM, Halving(GRID), X, y, outer=3, inner=3, random_state=SEED)
    LandscapeDisplay.from_study(double)
    with pytest.raises(ValueError, match=r"the same settings in every outer fold, such as 0\. Got 1"):
        LandscapeDisplay.from_study(double, stage=1)


def test_a_failure_names_the_fold_of_any_round(monkeypatch):
    run = running.run

    def fails(shared, number, task):
        if len(shared.splits[task.split][0]) > 200:  # the second round
            return number, running.Failure(task.settings[0], "ValueError('no')", "")
        return run(shared, number, task)

    monkeypatch.setattr(running, "run", fails)
    with pytest.raises(margins.model_selection.FitFailed, match="parameter_search, fold 0, with"):
        parameter_search(RidgeClassifier(), Halving(RIDGE, 4), X, y, cv=3, random_state=0)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Halving(RIDGE, 1), r"factor of Halving must be an integer in \[2, inf\)\. Got 1"),
        (lambda: Halving(RIDGE, 2.5), "factor of Halving must be an integer"),
        (lambda: run_of(Halving({"beta": [1]})), "must hold parameters of RidgeClassifier"),
        (lambda: run_of(Halving([])), "must hold at least 1 setting"),
        (lambda: run_of(Halving(Stages(RIDGE))), "param_grid of parameter_search must be a dict of"),
        (lambda: run_of(Stages(Halving(RIDGE))), "param_grid of parameter_search must be a dict of"),
    ],
)
def test_errors_come_before_any_work(make, message, computed):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
    assert not computed


def run_of(grid):
    return parameter_search(RidgeClassifier(), grid, X, y, cv=3, random_state=0)


def test_a_grid_of_one_setting_has_one_round():
    assert len(run_of(Halving({})).tables) == 1
