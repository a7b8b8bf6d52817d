"""C selected by leave-one-out: the curve of proven errors, ties, probabilities, and what is refused."""

import numpy as np
import pytest
from problems import scaled
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut

import margins


@pytest.mark.parametrize(
    ("load", "parameters"),
    [
        (load_breast_cancer, {}),
        (load_breast_cancer, {"loss": "hinge", "kernel": "rbf", "gamma": 0.05}),
        (load_iris, {"multi_class": "ovo", "penalize_intercept": False}),
    ],
)
def test_the_curve_of_errors_matches_folds_of_one_sample(load, parameters):
    X, y = scaled(load, 60)
    Cs = [1.0, 0.01, 100.0]
    proven = margins.MarginClassifierCV(Cs=Cs, cv="loo", random_state=0, **parameters).fit(X, y)
    folds = margins.MarginClassifierCV(Cs=Cs, cv=LeaveOneOut(), eps=1e-6, random_state=0, **parameters)
    folds.fit(X, y)
    assert proven.scores_.shape == (1, 3)
    np.testing.assert_allclose(proven.scores_[0], folds.scores_.mean(axis=0), atol=1e-12)
    assert proven.C_ == folds.C_
    assert all(result.is_proven.all() for result in proven.leave_one_out_)
    np.testing.assert_array_equal(proven.predict(X), folds.predict(X))
    alone = margins.leave_one_out(margins.MarginClassifier(C=Cs[2], **parameters), X, y)
    np.testing.assert_array_equal(proven.leave_one_out_[2].predictions, alone.predictions)


def test_groups_are_left_out_together():
    X, y = scaled(load_breast_cancer, 80)
    groups = np.random.default_rng(0).integers(0, 12, 80)
    proven = margins.MarginClassifierCV(Cs=[0.1, 10.0], cv="loo").fit(X, y, groups=groups)
    folds = margins.MarginClassifierCV(Cs=[0.1, 10.0], cv=LeaveOneGroupOut(), eps=1e-6)
    folds.fit(X, y, groups=groups)
    sizes = np.bincount(groups)
    weighted = folds.scores_.T @ sizes[sizes > 0] / 80
    np.testing.assert_allclose(proven.scores_[0], weighted, atol=1e-12)


@pytest.mark.parametrize(("cv", "selected"), [("loo", 1.0), (5, 100.0)])
def test_ties_select_the_smallest_C_for_loo_and_the_first_C_for_folds(cv, selected):
    X = np.array([[-2.0], [-1.5], [-1.0], [-3.0], [-2.5], [2.0], [1.5], [1.0], [3.0], [2.5]])
    y = np.repeat([0, 1], 5)
    classifier = margins.MarginClassifierCV(Cs=[100.0, 1.0, 10.0], cv=cv).fit(X, y)
    assert (classifier.scores_ == 1).all()
    assert selected == classifier.C_


def test_probabilities_are_calibrated_on_scores_of_samples_left_out():
    X, y = scaled(load_breast_cancer, 120)
    loo = margins.MarginClassifierCV(Cs=[0.1], cv="loo", calibration="sigmoid", eps=1e-6).fit(X, y)
    folds = margins.MarginClassifierCV(Cs=[0.1], cv=LeaveOneOut(), calibration="sigmoid", eps=1e-6)
    folds.fit(X, y)
    np.testing.assert_allclose(loo.predict_proba(X), folds.predict_proba(X), atol=1e-3)


def test_a_fit_by_folds_forgets_the_results_of_leave_one_out():
    X, y = scaled(load_breast_cancer, 40)
    classifier = margins.MarginClassifierCV(Cs=[1.0], cv="loo").fit(X, y)
    assert len(classifier.leave_one_out_) == 1 and classifier.fold_fits_ == []
    assert not hasattr(classifier.set_params(cv=3).fit(X, y), "leave_one_out_")


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"cv": "loocv"}, "cv of MarginClassifierCV must be None, an integer >= 2, 'loo'"),
        ({"cv": "loo", "scoring": "roc_auc"}, "scoring of .* must be None or 'accuracy' with cv='loo'"),
        ({"cv": "loo", "loss": margins.losses.SquaredHinge}, "loss of .* must be 'squared_hinge'"),
    ],
)  # fmt: skip
def test_bad_parameters_are_errors(parameters, text):
    X, y = scaled(load_breast_cancer, 30)
    with pytest.raises(ValueError, match=text):
        margins.MarginClassifierCV(Cs=[1.0], **parameters).fit(X, y)


@pytest.mark.parametrize("n_weights", [1, 3])
def test_calibration_needs_two_samples_of_each_class(n_weights):
    X, y = scaled(load_breast_cancer, 30)
    y = np.repeat([1, 0], [n_weights, 30 - n_weights])
    weight = np.where(np.arange(30) < n_weights - 1, 0.0, 1.0)
    text = "calibration of .* needs at least 2 samples of positive weight, or groups with such"
    with pytest.raises(ValueError, match=text):
        margins.MarginClassifierCV(Cs=[1.0], cv="loo", calibration="sigmoid").fit(X, y, weight)


def test_chunks_are_refused():
    X, y = scaled(load_breast_cancer, 40)
    chunks = margins.data.chunks.Chunks.of_rows(X, y, n_rows=10)
    with pytest.raises(ValueError, match="cv of .* must be None or an integer >= 2"):
        margins.MarginClassifierCV(Cs=[1.0], cv="loo").fit(chunks)
