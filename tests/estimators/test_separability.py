"""Whether a hyperplane separates two classes: the answer, and what proves it."""

import numpy as np
import pytest
from covering import every_pair
from scipy import sparse
from sklearn.datasets import load_iris, load_wine

import margins
from margins.data.chunks import Chunks


def means(found, X, y):
    """The weighted means of both classes that prove the upper bound."""
    of_second = np.asarray(y)[found.support] == found.classifier.classes_[1]
    parts = of_second, ~of_second
    assert all(found.weights[part].sum() == pytest.approx(1, rel=1e-12) for part in parts)
    return [found.weights[part] @ X[found.support[part]] for part in parts]


@pytest.mark.parametrize("label", [0, 1, 2])
def test_the_margin_of_separable_classes_is_half_the_distance_of_two_means(label):
    X, y = load_wine(return_X_y=True)
    found = margins.separability(X, y == label, eps=1e-4)
    assert found.is_separable is True
    assert found.classifier.score(X, y == label) == 1.0
    a, b = means(found, X, y == label)
    assert np.linalg.norm(a - b) / 2 == pytest.approx(found.upper_bound, rel=1e-6)
    assert found.margin >= (1 - 1e-4) * found.upper_bound
    coef = found.classifier.coef_[0]
    distances = np.where(y == label, 1, -1) * found.classifier.decision_function(X)
    assert found.margin == pytest.approx(distances.min() / np.linalg.norm(coef), rel=1e-6)
    assert str(found).startswith("separable: margin")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_means_that_coincide_prove_that_nothing_separates(container):
    X, y = load_iris(return_X_y=True)
    found = margins.separability(container(X), y == 1)
    assert found.is_separable is False
    a, b = means(found, X, y == 1)
    assert np.linalg.norm(a - b) / 2 <= found.upper_bound + 1e-12 < 1e-9
    assert str(found).startswith("not separable by a margin of more than")


def test_a_kernel_separates_in_its_feature_space():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    assert margins.separability(X, [0, 0, 1, 1]).is_separable is False
    found = margins.separability(X, [0, 0, 1, 1], kernel="poly", degree=2)
    assert found.is_separable is True and found.classifier.score(X, [0, 0, 1, 1]) == 1.0


def test_three_classes_a_given_C_and_chunks_are_errors():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"^y of separability must have two classes\. Got 3\."):
        margins.separability(X, y)
    with pytest.raises(ValueError, match=r"^C of separability cannot be set"):
        margins.separability(X, y == 0, C=1.0)
    with pytest.raises(ValueError, match=r"^X of separability must be in memory"):
        margins.separability(Chunks([(X, y == 0)]), None)


@pytest.mark.parametrize(
    ("offset", "kernel", "labels"),
    every_pair([0.0, 1e3, 1e6], ["poly", "precomputed"], [[0, 1, 1, 0], [0, 0, 1, 1]]),
)
def test_an_offset_does_not_change_separability_by_a_kernel(offset, kernel, labels):
    X = offset + np.array([[0.0], [1], [2], [3]])
    params = {"kernel": kernel} | ({"degree": 1, "gamma": 1} if kernel == "poly" else {})
    found = margins.separability(X if kernel == "poly" else X @ X.T, labels, eps=1e-3, **params)
    if labels == [0, 0, 1, 1]:
        assert found.is_separable is True and found.margin == pytest.approx(0.5, rel=1e-3)
        assert found.upper_bound == pytest.approx(0.5, rel=1e-2) and found.reason is None
    else:
        assert found.is_separable is (None if kernel == "poly" and offset > 1e3 else False)
        assert found.is_separable is None or (len(found.support) > 1 and found.upper_bound < 1e-4)


@pytest.mark.parametrize("eps", [0.1, 1e-3, 1e-6])
def test_nothing_is_said_about_margins_that_rounding_of_kernel_values_hides(eps):
    X = 1e8 + np.array([[0.0], [1], [2], [3]])
    found = margins.separability(X, [0, 1, 1, 0], kernel="poly", degree=2, gamma=1, eps=eps)
    assert found.is_separable is None
    assert found.reason.startswith("rounding hides margins of 3e+08, because kernel values of 1e+32")
    assert found.reason in str(found)


def test_a_fit_that_ends_early_says_so():
    X, y = load_iris(return_X_y=True)
    found = margins.separability(X, y == 1, max_iter=1, kernel="rbf")
    assert found.is_separable is None and found.reason == "the fit ended without a proof: max iter"
