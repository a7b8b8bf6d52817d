"""A study's classifiers again, random search, tables for papers, intervals within 0 and 1."""

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score
from sklearn.model_selection import ParameterSampler

import margins
from margins.model_selection import Stages, Study, double_cross_validation, parameter_search, t_interval
from margins.model_selection.intervals import ConfidenceInterval, within_range

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:150] / X.max(axis=0), y[:150]
PAM = margins.get("pam")(max_iter=3)


@pytest.fixture(scope="module")
def study():
    grid = {"tau": [0, 0.5, 1]}
    return double_cross_validation(PAM, grid, X, y, outer=4, inner=3, random_state=0)


def test_predictions_of_the_folds_have_the_scores_of_the_study(study):
    predictions = study.predictions(PAM, X, y)
    for fold, predicted in zip(study.folds, predictions, strict=True):
        assert accuracy_score(y[fold.test], predicted) == fold.scores["accuracy"]


def test_the_best_estimator_is_trained_on_all_samples(study):
    best = study.best_estimator(PAM, X, y)
    assert best.tau == study.best_params["tau"]
    expected = margins.get("pam")(max_iter=3, random_state=study.seed, **study.best_params).fit(X, y)
    np.testing.assert_array_equal(best.coef_, expected.coef_)
    again = Study.from_json(study.to_json()).best_estimator(PAM, X, y)
    np.testing.assert_array_equal(again.coef_, best.coef_)


def test_data_frames_and_weights_are_trained_on_again():
    pandas = pytest.importorskip("pandas")
    table, weight = pandas.DataFrame(X).rename(columns=str), np.linspace(0.5, 2, len(y))
    found = parameter_search(
        margins.MarginClassifier(), {"C": [0.1, 1]}, table, y, cv=3, sample_weight=weight, random_state=0
    )
    predictions = found.predictions(margins.MarginClassifier(), table, y, weight)
    for fold, predicted in zip(found.folds, predictions, strict=True):
        assert accuracy_score(y[fold.test], predicted) == fold.scores["accuracy"]


def test_refits_need_the_groups_of_the_study():
    groups = np.arange(len(y)) // 5
    found = parameter_search(PAM, {"tau": [0, 1]}, X, y, cv=3, groups=groups, random_state=0)
    predictions = found.predictions(PAM, X, y, groups=groups)
    for fold, predicted in zip(found.folds, predictions, strict=True):
        assert accuracy_score(y[fold.test], predicted) == fold.scores["accuracy"]
    best = found.best_estimator(PAM, X, y, groups=groups)
    expected = clone(PAM).set_params(random_state=0, **found.best_params).fit(X, y)
    np.testing.assert_array_equal(best.coef_, expected.coef_)
    for others in (None, groups + 1):
        with pytest.raises(ValueError, match="sample_weight and groups of Study must be the data"):
            found.best_estimator(PAM, X, y, groups=others)


def test_other_data_and_other_estimators_are_errors(study):
    with pytest.raises(
        ValueError, match="X, y, sample_weight and groups of Study must be the data of the study"
    ):
        study.best_estimator(PAM, X + 1, y)
    with pytest.raises(ValueError, match="estimator of Study must be the estimator of the study"):
        study.predictions(margins.get("pam")(max_iter=4), X, y)


@pytest.mark.parametrize("wrap", [lambda sampler: sampler, Stages])
def test_a_sampler_of_scikit_learn_makes_a_random_search(wrap):
    sampler = ParameterSampler({"C": loguniform(1e-2, 1e2)}, n_iter=5, random_state=1)
    found = parameter_search(margins.MarginClassifier(), wrap(sampler), X, y, cv=3, random_state=0)
    assert found.tables[0].settings == [dict(each) for each in sampler]
    assert found.best_params in found.tables[0].settings


def test_intervals_of_shares_are_within_0_and_1(study):
    wide = ConfidenceInterval(-0.2, 1.0025)
    assert within_range(wide, "accuracy") == (0, 1) and within_range(wide, "f1_macro") == (0, 1)
    assert within_range(wide, "accuracy", -1.0) == (-0.2, 1)
    assert within_range(wide, "neg_log_loss") == wide
    assert np.isnan(within_range(ConfidenceInterval(np.nan, np.nan), "accuracy")).all()
    scores = study.scores().tolist()
    assert t_interval(scores, 0.999).high > 1
    for interval in (study.interval(confidence=0.999), study.corrected_interval(confidence=0.999)):
        assert interval.high == 1 and interval.low > 0
