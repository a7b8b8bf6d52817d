"""Weights of three classes: they are weights of samples, in every binary problem."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC

import margins

X, Y = load_iris(return_X_y=True)
X = X / X.max(axis=0)
WEIGHTS = {0: 2, 1: 1, 2: 3}
OF_SAMPLES = np.array([2.0, 1.0, 3.0])[Y]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", [{}, {"multi_class": "ovo"}, {"kernel": "rbf"}])
def test_class_weights_equal_sample_weights_for_every_loss_scheme_and_kernel(loss, kind):
    params = {"loss": loss, "random_state": 0, **kind}
    by_class = margins.MarginClassifier(class_weight=WEIGHTS, **params).fit(X, Y)
    by_sample = margins.MarginClassifier(**params).fit(X, Y, OF_SAMPLES)
    assert_array_equal(by_class.decision_function(X), by_sample.decision_function(X))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_svc_weighs_only_the_positive_class(loss):
    """docs/coming_from.md says so, and how to fit the same problem."""
    theirs = LinearSVC(loss=loss, tol=1e-8, max_iter=10**6, random_state=0)
    with_sample_weight = theirs.fit(X, Y, OF_SAMPLES).coef_
    by_class = theirs.set_params(class_weight=WEIGHTS).fit(X, Y).coef_
    ours = margins.MarginClassifier(loss=loss, eps=1e-9, class_weight=WEIGHTS).fit(X, Y)
    assert_allclose(ours.coef_, with_sample_weight, atol=1e-5)
    assert np.abs(ours.coef_ - by_class).max() > 0.1
    for code, coef in enumerate(by_class):
        binary = margins.MarginClassifier(loss=loss, eps=1e-9, class_weight={True: WEIGHTS[code]})
        assert_allclose(binary.fit(X, code == Y).coef_[0], coef, atol=1e-5)
