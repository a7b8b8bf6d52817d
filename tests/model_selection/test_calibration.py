"""Probabilities of MarginClassifierCV: those of CalibratedClassifierCV, without its fits."""

import pickle
from itertools import islice

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scikit_learn_checks import VERSION
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.preprocessing import StandardScaler

import margins
from margins.model_selection.calibration import calibrated

METHODS = ("sigmoid", "isotonic", "temperature") if VERSION >= (1, 8) else ("sigmoid", "isotonic")


def sets():
    for load in (load_breast_cancer, load_iris, load_wine, load_digits):
        X, y = load(return_X_y=True)
        yield StandardScaler().fit_transform(X), y
    for seed in range(6):
        yield make_classification(
            400, 8, n_informative=4, n_classes=2 + seed % 3, flip_y=0.1, random_state=seed
        )


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("method", METHODS)
def test_probabilities_are_those_of_calibrated_classifier_cv(method, number):
    X, y = next(islice(sets(), number, None))
    names = np.array(["c", "a", "d", "b", "e", "f", "g", "h", "i", "j"])
    y = names[y]
    train = np.arange(len(y)) % 3 > 0
    folds = StratifiedKFold(4)
    params = {"eps": 1e-4, "random_state": 0}
    ours = margins.MarginClassifierCV(Cs=[0.1, 1.0], cv=folds, calibration=method, **params)
    ours.fit(X[train], y[train])
    single = margins.MarginClassifier(C=ours.C_, **params)
    theirs = CalibratedClassifierCV(single, method=method, cv=folds, ensemble=False)
    theirs.fit(X[train], y[train])
    found, expected = (each.predict_proba(X[~train]) for each in (ours, theirs))
    assert found.shape == (np.count_nonzero(~train), len(ours.classes_))
    assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    # Isotonic probabilities may be 0, of which one sample decides the log loss.
    smoothed = [(each + 1e-3) / (1 + 1e-3 * each.shape[1]) for each in (found, expected)]
    losses = [log_loss(y[~train], each, labels=ours.classes_) for each in smoothed]
    if method != "isotonic":
        assert_allclose(found, expected, atol=0.01)
    if method == "temperature":
        assert_array_equal(ours.classes_[found.argmax(axis=1)], ours.predict(X[~train]))
    assert abs(losses[0] - losses[1]) < 0.01
    assert_allclose(np.exp(ours.predict_log_proba(X[~train])), found, atol=1e-15)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_fit_is_made_for_probabilities(kernel, monkeypatch):
    X, y = load_iris(return_X_y=True)
    fits = []
    fit = margins.MarginClassifier.fit
    monkeypatch.setattr(
        margins.MarginClassifier, "fit", lambda self, *args: (fits.append(self), fit(self, *args))[1]
    )
    classifier = margins.MarginClassifierCV(Cs=3, kernel=kernel, calibration="sigmoid").fit(X, y)
    plain = margins.MarginClassifierCV(Cs=3, kernel=kernel).fit(X, y)
    assert len(fits) == 2  # to all samples, once each
    assert_array_equal(classifier.decision_function(X), plain.decision_function(X))
    assert_array_equal(classifier.scores_, plain.scores_)


def test_weights_of_samples_are_those_of_the_calibration():
    X, y = make_classification(300, 5, flip_y=0.2, random_state=0)
    weight = np.where(y == 1, 5.0, 1.0)
    classifier = margins.MarginClassifierCV(Cs=[1.0], calibration="sigmoid")
    plain = classifier.fit(X, y).predict_proba(X)[:, 1].mean()
    weighted = classifier.fit(X, y, weight).predict_proba(X)[:, 1].mean()
    assert plain == pytest.approx(0.5, abs=0.02)
    assert weighted > 0.7


def test_without_calibration_there_are_no_probabilities():
    X, y = load_iris(return_X_y=True)
    classifier = margins.MarginClassifierCV(Cs=[1.0]).fit(X, y)
    assert not hasattr(classifier, "predict_proba")
    assert not hasattr(classifier, "predict_log_proba")
    again = clone(classifier).set_params(calibration="isotonic").fit(X, y)
    copied = pickle.loads(pickle.dumps(again))
    assert_array_equal(copied.predict_proba(X), again.predict_proba(X))
    with pytest.raises(ValueError, match="calibration of .* must be .*'isotonic'"):
        margins.MarginClassifierCV(calibration="platt").fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_probabilities_do_not_depend_on_the_unit_of_the_scores(method):
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(300, 1))
    y = (generator.random(300) < 1 / (1 + np.exp(-2 * scores[:, 0]))).astype(int)
    expected = calibrated(method, scores, y, np.array([0, 1]), None).predict_proba(scores)
    assert np.ptp(expected[:, 1]) > 0.8
    for unit in (2.0**-60, 2.0**-30, 2.0**20, 2.0**60):  # scikit-learn's own are 0.5, or 0 and 1
        found = calibrated(method, scores * unit, y, np.array([0, 1]), None)
        assert_array_equal(found.predict_proba(scores * unit), expected)


def test_a_temperature_needs_scikit_learn_1_8(monkeypatch):
    monkeypatch.setattr(sklearn, "__version__", "1.7.2")
    with pytest.raises(
        ValueError, match="calibration='temperature' of .* needs scikit-learn 1.8 or newer"
    ):
        margins.MarginClassifierCV(calibration="temperature").fit([[0.0], [1.0]], [0, 1])


def test_probabilities_say_which_fit_they_need():
    X, y = load_iris(return_X_y=True)
    classifier = margins.MarginClassifierCV(Cs=[1.0], calibration="sigmoid", refit=False)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        classifier.predict_proba(X)
    classifier.fit(X, y)
    with pytest.raises(NotFittedError, match="needs a fit with refit=True"):
        classifier.predict_proba(X)
    later = margins.MarginClassifierCV(Cs=[1.0]).fit(X, y).set_params(calibration="sigmoid")
    with pytest.raises(NotFittedError, match="needs a fit with calibration"):
        later.predict_proba(X)


def test_every_sample_must_be_in_one_test_set_whose_fold_has_all_classes():
    X, y = load_iris(return_X_y=True)
    trained = []
    for cv, match in (
        (ShuffleSplit(3, random_state=0), "every sample is in exactly one test set. Got sample"),
        (KFold(3), "training sets have all 3 classes. Got a training set with fewer"),
    ):
        classifier = margins.MarginClassifierCV(Cs=[1.0], cv=cv, calibration="sigmoid")
        with pytest.raises(ValueError, match=match):
            classifier.fit(X, y)
        trained.append(hasattr(classifier, "C_"))
    assert trained[0] is False
