"""scikit-learn's classifiers made of ours have the same scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import clouds
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

import margins
from margins.interchange import to_sklearn

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def labelled_clouds(n_classes=2):
    X, y = clouds(n_classes)
    return X, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["auto", "pdm", "pam", "pa-i", "dcd"])
def test_a_linear_model_is_a_linear_svc(name, n_classes):
    X, y = labelled_clouds(n_classes)
    classifier = margins.get(name)(random_state=0).fit(X, y)
    model = to_sklearn(classifier)
    assert type(model) is LinearSVC and min(classifier.C, 1e100) == model.C
    assert_array_equal(model.decision_function(X), classifier.decision_function(X))
    assert_array_equal(model.predict(X), classifier.predict(X))
    assert type(classifier.to_sklearn()) is LinearSVC


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "rbf"},
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"kernel": "sigmoid", "gamma": 0.01},
        {"kernel": "precomputed"},
    ],
)
def test_a_kernel_model_is_an_svc(kernel, make, n_classes):
    X, y = labelled_clouds(n_classes)
    X = X @ X.T if kernel["kernel"] == "precomputed" else make(X)
    classifier = margins.MarginClassifier(loss="hinge", random_state=0, **kernel).fit(X, y)
    model = to_sklearn(classifier)
    assert (type(model) is SVC) is (n_classes == 2)
    scores = classifier.decision_function(X)
    assert_allclose(model.decision_function(X), scores, rtol=1e-9, atol=1e-9)
    assert_array_equal(model.predict(X), classifier.predict(X))
    if n_classes == 2:
        assert model.n_support_.sum() == len(classifier.support_)


def test_it_can_be_calibrated_and_keeps_names_of_features():
    pandas = pytest.importorskip("pandas")
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    X, y = labelled_clouds()
    X = pandas.DataFrame(X, columns=list("pqrs"))
    model = to_sklearn(margins.MarginClassifier(kernel="rbf", random_state=0).fit(X, y))
    assert model.feature_names_in_.tolist() == list("pqrs")
    probabilities = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y).predict_proba(X)
    assert_allclose(probabilities.sum(axis=1), 1)


def test_what_scikit_learn_has_not_is_an_error():
    X, y = labelled_clouds()
    with pytest.raises(TypeError, match="classifier of to_sklearn must have a weight vector"):
        to_sklearn(margins.get("voted-perceptron")(random_state=0).fit(X, y))
    with pytest.raises(TypeError, match="kernel of to_sklearn must be 'linear' or one of 'rbf'"):
        to_sklearn(margins.get("pam")(kernel=lambda A, B: A @ B.T, random_state=0).fit(X, y))
    with pytest.raises(TypeError, match="must be a classifier of margins. Got an object of type Line"):
        to_sklearn(LinearSVC())
