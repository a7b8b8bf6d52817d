"""The geometric margin of linear fits, and its bound by the certificate of a penalised intercept."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import margins


def test_geometric_margin_is_the_distance_of_the_closest_sample():
    X, y = [[3.0, 0.0], [-1.0, 5.0], [5.0, -2.0]], ["b", "a", "b"]
    classifier = margins.MarginClassifier().fit(X, y)
    classifier.coef_, classifier.intercept_ = np.array([[2.0, 0.0]]), np.array([-2.0])
    assert classifier.geometric_margin(X, y).tolist() == [2.0]
    assert classifier.geometric_margin(X, ["b", "b", "b"]).tolist() == [-2.0]


def test_every_class_has_a_geometric_margin():
    X, y = load_iris(return_X_y=True)
    classifier = margins.MarginClassifier(C=10.0).fit(X, y)
    scores = classifier.decision_function(X)
    expected = [
        np.where(y == label, scores[:, label], -scores[:, label]).min()
        / np.linalg.norm(classifier.coef_[label])
        for label in range(3)
    ]
    np.testing.assert_allclose(classifier.geometric_margin(X, y), expected, rtol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), offset=st.floats(0.0, 30.0), scaling=st.floats(0.1, 100.0))
@examples(15)
def test_an_upper_bound_of_a_penalised_intercept_bounds_every_geometric_margin(seed, offset, scaling):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4))
    y = X @ rng.normal(size=4) > 0
    if len(np.unique(y)) == 1:
        return
    X += offset
    hard = {"C": math.inf, "eps": 1e-3}
    free = margins.MarginClassifier(**hard, penalize_intercept=False).fit(X, y)
    (distance,) = free.geometric_margin(X, y)
    assert free.certificates_[0].margin == pytest.approx(distance, rel=1e-6)
    penalised = margins.get("mpu")(**hard, intercept_scaling=scaling, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        penalised.fit(X, y)
    longest = math.sqrt(np.square(X).sum(axis=1).max())
    factor = math.sqrt(1 + (longest / scaling) ** 2)
    assert distance <= factor * penalised.certificates_[0].upper_bound * (1 + 1e-9)


def test_kernels_and_unknown_labels_have_no_geometric_margin():
    X, y = load_iris(return_X_y=True)
    kernel = margins.MarginClassifier(kernel="rbf").fit(X, y == 0)
    with pytest.raises(AttributeError, match=r"geometric_margin needs a linear classifier"):
        kernel.geometric_margin(X, y == 0)
    linear = margins.MarginClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"must hold classes of the fit, \[0, 1, 2\]\. Got 7"):
        linear.geometric_margin(X, np.full(len(X), 7))


def test_a_scaling_of_a_free_intercept_is_refused():
    X, y = load_iris(return_X_y=True)
    classifier = margins.MarginClassifier(penalize_intercept=False, intercept_scaling=5.0)
    with pytest.raises(ValueError, match="intercept_scaling of MarginClassifier must be 1"):
        classifier.fit(X, y)
