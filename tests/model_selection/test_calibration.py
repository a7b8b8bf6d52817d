"""Probabilities of MarginClassifierCV: those of CalibratedClassifierCV, without its fits."""

import pickle
from itertools import islice

import numpy as np
import pytest
import sklearn
from covering import every_pair
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
from margins.data.chunks import Chunks
from margins.model_selection.calibration import calibrated

METHODS = ("sigmoid", "isotonic", "temperature") if VERSION >= (1, 8) else ("sigmoid", "isotonic")


def sets():
    for load in (load_breast_cancer, load_iris, load_wine, load_digits):
        X, y = load(return_X_y=True)
        step = max(1, len(y) // 500)
        yield StandardScaler().fit_transform(X[::step]), y[::step]
    for seed in range(3):
        yield make_classification(
            400, 8, n_informative=4, n_classes=2 + seed % 3, flip_y=0.1, random_state=seed
        )


# Each set; each method with two classes and with several.
@pytest.mark.parametrize(
    ("number", "method"),
    [(number, METHODS[number % len(METHODS)]) for number in range(7)]
    + [(number, method) for number in (0, 1) for method in METHODS if METHODS.index(method) != number],
)
def test_probabilities_match_calibrated_classifier_cv(method, number):
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
    assert_array_equal(ours.classes_[found.argmax(axis=1)], ours.predict(X[~train]))
    if method == "temperature":
        assert_array_equal(ours.predict(X[~train]), ours.estimator_.predict(X[~train]))
    assert abs(losses[0] - losses[1]) < 0.01
    assert_allclose(np.exp(ours.predict_log_proba(X[~train])), found, atol=1e-15)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_fit_is_made_for_probabilities(kernel, monkeypatch):
    X, y = load_iris(return_X_y=True)
    fits, fit = [], margins.MarginClassifier.fit
    monkeypatch.setattr(
        margins.MarginClassifier, "fit", lambda self, *args: (fits.append(self), fit(self, *args))[1]
    )
    classifier = margins.MarginClassifierCV(Cs=3, kernel=kernel, calibration="sigmoid").fit(X, y)
    plain = margins.MarginClassifierCV(Cs=3, kernel=kernel).fit(X, y)
    assert len(fits) == 2  # to all samples, once each
    assert_array_equal(classifier.decision_function(X), plain.decision_function(X))
    assert_array_equal(classifier.scores_, plain.scores_)


def test_calibration_uses_sample_weights():
    X, y = make_classification(300, 5, flip_y=0.2, random_state=0)
    weight = np.where(y == 1, 5.0, 1.0)
    classifier = margins.MarginClassifierCV(Cs=[1.0], calibration="sigmoid")
    plain = classifier.fit(X, y).predict_proba(X)[:, 1].mean()
    weighted = classifier.fit(X, y, weight).predict_proba(X)[:, 1].mean()
    assert plain == pytest.approx(0.5, abs=0.02)
    assert weighted > 0.7


def noise(seed=0, n_classes=2):
    X = np.random.default_rng(seed).normal(size=(20 * n_classes, 200))
    return X, np.repeat(np.arange(n_classes), 20)


@pytest.mark.parametrize(
    ("method", "n_classes", "multi_class"), every_pair(METHODS, [2, 3], ["ovr", "ovo"])
)
@pytest.mark.filterwarnings("ignore:calibration of:UserWarning")
def test_predictions_have_the_largest_probability(method, n_classes, multi_class):
    da = pytest.importorskip("dask.array")
    differ = 0
    for X, y in (
        noise(0, n_classes),
        make_classification(300, 8, n_informative=4, n_classes=n_classes, flip_y=0.3, random_state=0),
    ):
        classifier = margins.MarginClassifierCV(
            Cs=[0.1, 1.0], calibration=method, multi_class=multi_class, class_weight="balanced"
        ).fit(X, y)
        expected = classifier.classes_[classifier.predict_proba(X).argmax(axis=1)]
        assert_array_equal(classifier.predict(X), expected)
        assert classifier.score(X, y) == np.mean(expected == y)
        chunks = Chunks([(X[index::3], y[index::3]) for index in range(3)])
        rows = np.concatenate([np.arange(len(y))[index::3] for index in range(3)])
        assert_array_equal(classifier.predict(chunks), expected[rows])
        assert_allclose(classifier.predict_proba(chunks), classifier.predict_proba(X)[rows], rtol=1e-9)
        assert classifier.score(chunks) == pytest.approx(classifier.score(X, y))
        lazy = da.from_array(X, chunks=(100, -1))
        assert_array_equal(classifier.predict(lazy).compute(), expected)
        assert classifier.score(lazy, da.from_array(y, chunks=100)) == classifier.score(X, y)
        differ += np.count_nonzero(expected != classifier.estimator_.predict(X))
    assert differ > 0 or method == "temperature"


def test_scores_that_rank_the_classes_in_reverse_are_reported():
    X, y = noise()
    classifier = margins.MarginClassifierCV(calibration="sigmoid", random_state=0)
    with pytest.warns(UserWarning, match="CV.fit: scores .* rank the classes in reverse: .* class 1 "):
        classifier.fit(X, y)
    p = classifier.predict_proba(X)[:, 1]
    scores = classifier.decision_function(X)
    assert np.corrcoef(p, scores)[0, 1] < -0.9
    with pytest.warns(UserWarning, match="rank the classes in reverse: .* class "):
        classifier.fit(*noise(0, 3))
    constant = np.zeros((40, 1))
    with pytest.warns(UserWarning, match="do not tell the classes apart: .* class 1 does not rise"):
        classifier.set_params(calibration="isotonic").fit(constant, y)
    if "temperature" in METHODS:
        classifier.set_params(calibration="temperature")
        with pytest.warns(UserWarning, match="do not tell the classes apart"):
            classifier.fit(X, y)


def test_probabilities_need_calibration():
    X, y = load_iris(return_X_y=True)
    classifier = margins.MarginClassifierCV(Cs=[1.0]).fit(X, y)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(classifier, name)
        with pytest.raises(AttributeError, match=f"{name} of MarginClassifierCV needs calibration='sig"):
            getattr(classifier, name)
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
    for cv, match in (
        (ShuffleSplit(3, random_state=0), "every sample is in exactly one test set. Got sample"),
        (KFold(3), r"of all 3 classes in every training set. Got none of \[0\] in that of fold 0"),
    ):
        with pytest.raises(ValueError, match=match):
            margins.MarginClassifierCV(Cs=[1.0], cv=cv, calibration="sigmoid").fit(X, y)


def test_a_class_without_weight_is_named():
    X, y = load_iris(return_X_y=True)
    selection = margins.MarginClassifierCV(Cs=[1.0], calibration="sigmoid")
    for class_weight, sample_weight, got in (
        (None, np.where(y == 1, 0.0, 1.0), r"\[1\]"),
        ({1: 0}, None, "some class"),
    ):
        with pytest.raises(ValueError, match=f"positive weight of all 3 classes .* none of {got}"):
            selection.set_params(class_weight=class_weight).fit(X, y, sample_weight)
