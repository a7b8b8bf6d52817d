"""Leave-one-out of samples far from 0, nearly 0, or of very different lengths."""

import numpy as np
import pytest
from problems import scaled
from sklearn.datasets import load_breast_cancer

import margins

each_loss = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


@each_loss
@pytest.mark.parametrize("convert", [np.asarray, np.float32], ids=["double", "single"])
def test_features_far_from_0_are_proven_if_the_intercept_is_free(loss, convert):
    # They took minutes of refits, which proved nothing.
    X, y = scaled(load_breast_cancer, 100)
    X = np.round(X, 3)
    classifier = margins.MarginClassifier(loss=loss, penalize_intercept=False)
    shift = 2.0**20 if convert is np.asarray else 2.0**6
    near, far = (margins.leave_one_out(classifier, convert(Z), y) for Z in (X, X + shift))
    assert far.is_proven.all() and far.n_refits == 0
    np.testing.assert_array_equal(far.predictions, near.predictions)
    np.testing.assert_allclose(far.scores, near.scores, atol=1e-6 if convert is np.asarray else 1e-2)


def test_samples_of_weight_0_far_away_change_nothing():
    X, y = scaled(load_breast_cancer, 100)
    Z, labels, weight = np.vstack([X + 2.0**20, X]), np.tile(y, 2), np.repeat([1.0, 0.0], len(y))
    classifier = margins.MarginClassifier(penalize_intercept=False)
    far = margins.leave_one_out(classifier, Z, labels, sample_weight=weight)
    expected = margins.leave_one_out(classifier, X, y)
    assert far.is_proven.all() and far.n_refits == 0
    np.testing.assert_array_equal(far.predictions[: len(y)], expected.predictions)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_intercept_that_is_hardly_penalised_does_not_blur_the_samples(kernel):
    X, y = scaled(load_breast_cancer, 100)
    classifier = margins.MarginClassifier(kernel=kernel, intercept_scaling=1e5)
    assert margins.leave_one_out(classifier, X, y).is_proven.all()


@each_loss
@pytest.mark.parametrize(
    ("shift", "short", "far", "most"),
    [(0, 0.0, 0.0, 10), (0, 1e-20, 1e6, 10), (0, 1e-9, 1e6, 10), (2.0**20, 1.0, 999_999, 50)],
)
def test_rows_nearly_zero_or_far_away_cost_the_others_no_proof(loss, shift, short, far, most):
    # The last: a missing value that is coded as 999999.
    X, y = scaled(load_breast_cancer, 100)
    X[:60] *= short
    X += shift
    X[-1] += far
    result = margins.leave_one_out(margins.MarginClassifier(loss=loss, penalize_intercept=False), X, y)
    assert result.is_proven.all() and result.n_refits < most


@each_loss
@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_without_features_each_sample_is_given_the_label_of_most_others(loss, penalize_intercept):
    # The bound of the only free support vector was a quotient of zeros, which counted as a proof.
    y = np.arange(8) % 2
    classifier = margins.MarginClassifier(loss=loss, penalize_intercept=penalize_intercept)
    result = margins.leave_one_out(classifier, np.zeros((8, 2)), y)
    assert result.is_proven.all() and np.isfinite(result.scores).all()
    np.testing.assert_array_equal(result.predictions, 1 - y)


def test_refits_that_only_rounding_keeps_from_a_proof_end():
    # The margin was doubled until it overflowed.
    X, y = 2.0**29 + np.random.default_rng(0).integers(0, 3, size=(13, 6)), np.arange(13) % 2
    classifier = margins.MarginClassifier(C=0.0016, loss="hinge", fit_intercept=False)
    assert np.isfinite(margins.leave_one_out(classifier, X, y).scores).all()


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e3, 1e5, 1e6])
def test_scores_of_equal_samples_are_exact_in_any_unit(kernel, unit):
    # With C |x|^2 = 1e12 the ridge of the solutions outweighed the loss: -0.34 for -0.2.
    X, signs = np.full((6, 1), unit), np.array([-1, -1, -1, -1, 1, 1])
    classifier = margins.MarginClassifier(fit_intercept=False, kernel=kernel)
    result = margins.leave_one_out(classifier, X if kernel == "linear" else X @ X.T, signs, exact=True)
    others = signs.sum() - signs
    # f minimises f^2 / (2 unit^2) + sum_k (1 - l_k f)^2
    expected = others * unit**2 / (0.5 + 5 * unit**2)
    # A kernel matrix in double precision holds the ridge, 0.5, beside 1e12 to four digits.
    rtol = 1e-6 if kernel == "linear" else max(1e-6, 1e-15 * unit**2)
    np.testing.assert_allclose(result.scores, expected, rtol=rtol)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_path_that_loses_digits_is_followed_by_a_refit(unit):
    # Without the third sample the classes are separated, and dual variables are 1e-8 of what they were.
    X = unit * np.array([[-2.0, -2], [-2, 1], [4, 3], [3, 3], [2, -2]])
    classifier = margins.MarginClassifier(C=2.6e7 / unit**2, intercept_scaling=5 * unit)
    result = margins.leave_one_out(classifier, X, [1, 1, 1, 0, 0], exact=True)
    assert result.scores[2] == pytest.approx(-2.0, abs=1e-6)
    assert np.ptp(result.bounds[:, 2]) < 1e-6
