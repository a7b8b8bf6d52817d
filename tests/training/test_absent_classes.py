"""Classes whose samples all have weight 0 stay classes, and no prediction is one of them."""

import numpy as np
import pytest
from algorithm_groups import quiet
from numpy.testing import assert_allclose, assert_array_equal
from problems import make
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier

import margins
from margins.data.chunks import Chunks
from margins.model_selection import parameter_search

X, Y = load_iris(return_X_y=True)
X = X / X.max(axis=0)
EVERYWHERE = 10 * np.random.default_rng(0).normal(size=(500, 4)) * X[0]


def without(*labels):
    """Weights of 0 for these classes, else 1."""
    return (~np.isin(Y, labels)).astype(float)


@quiet
@pytest.mark.parametrize("label", [0, 2])
@pytest.mark.parametrize("name", margins.available())
def test_no_algorithm_predicts_a_class_of_weight_0(name, label):
    classifier = make(name, C=10.0, random_state=0, max_iter=100).fit(X, Y, without(label))
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert classifier.decision_function(EVERYWHERE).shape == (500, 3)
    assert label not in classifier.predict(EVERYWHERE)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"penalize_intercept": False},
        {"penalize_intercept": False, "C": np.inf},
        {"fit_intercept": False},
        {"kernel": "rbf", "penalize_intercept": False, "loss": "hinge"},
    ],
    ids=str,
)
def test_the_other_classes_are_trained_as_without_it(multi_class, params):
    params = {"multi_class": multi_class, "random_state": 0, "eps": 1e-6, **params}
    corners = np.array([[3, 0, 0, 0], [0, 3, 0, 0], [0, 0, 3, 0], [-3, -3, -3, 3]])
    y = np.arange(80) % 4
    samples = corners[y] + np.random.default_rng(1).uniform(-1, 1, (80, 4))
    classifier = margins.MarginClassifier(**params).fit(samples, y, (y != 1).astype(float))
    others = margins.MarginClassifier(**params).fit(samples[y != 1], y[y != 1])
    assert_array_equal(classifier.predict(EVERYWHERE), others.predict(EVERYWHERE))
    assert classifier.converged_
    if multi_class == "ovr":
        scores = classifier.decision_function(EVERYWHERE)
        kept = scores[:, [0, 2, 3]]
        assert_allclose(kept, others.decision_function(EVERYWHERE), rtol=1e-3, atol=1e-3)
        assert_allclose(scores[:, 1], kept.mean(axis=1) - 1)
    else:
        pairs = [tuple(pair) for pair in classifier.pairs_.tolist()]
        intercepts = dict(zip(pairs, classifier.intercept_, strict=True))
        assert (intercepts[0, 1], intercepts[1, 2], intercepts[1, 3]) == (1, -1, -1)


def test_the_only_pair_left_keeps_its_dual_variables_beside_their_samples():
    order = np.random.default_rng(0).permutation(150)
    samples, y, is_other = X[order], Y[order], Y[order] != 2
    params = {"multi_class": "ovo", "eps": 1e-6, "random_state": 0}
    linear = margins.MarginClassifier(**params).fit(samples, y, is_other.astype(float))
    signs = np.where(y == 0, 1, -1)
    assert_allclose((signs * linear.dual_coef_[0]) @ samples, linear.coef_[0], atol=1e-3)
    curved = margins.MarginClassifier(kernel="rbf", **params).fit(samples, y, is_other.astype(float))
    assert_array_equal(np.sign(curved.dual_coef_[0]), signs[curved.support_])
    assert_array_equal(curved.predict(samples[is_other]), y[is_other])


def test_a_fit_continues_from_one_without_a_class():
    for params in ({"penalize_intercept": False}, {"kernel": "rbf"}, {"multi_class": "ovo"}):
        classifier = margins.MarginClassifier(warm_start=True, random_state=0, **params)
        for weight in (without(1), np.ones(150), without(0)):
            assert classifier.fit(X, Y, weight).converged_


def test_paths_folds_and_studies_go_on_without_a_class():
    path = margins.svm_path(X, Y, [0.1, 10.0], sample_weight=without(2), penalize_intercept=False)
    assert path.converged.all()
    assert all(2 not in classifier.predict(EVERYWHERE) for classifier in path.classifiers)
    selected = margins.MarginClassifierCV(Cs=[0.1, 10.0]).fit(X, Y, without(2))
    assert selected.classes_.tolist() == [0, 1, 2] and 2 not in selected.predict(EVERYWHERE)
    only_one = without(2)
    only_one[120] = 1  # of the class 2 one sample is left, so that a fold lacks it
    assert margins.MarginClassifierCV(Cs=[0.1, 10.0]).fit(X, Y, only_one).scores_.shape == (5, 2)
    for route in ({"C": [0.1, 1.0]}, {"loss": ["hinge", "squared_hinge"]}):
        study = parameter_search(
            margins.MarginClassifier(), route, X, Y, sample_weight=without(2), random_state=0
        )
        assert study.tables[0].mean_scores() == pytest.approx(2 / 3)


@quiet
@pytest.mark.parametrize(
    "estimator", [margins.MarginClassifier(), margins.get("perceptron")()], ids=repr
)
def test_bootstraps_of_a_rare_class_fit(estimator):
    bagged = BaggingClassifier(estimator, random_state=0).fit(X[:103], Y[:103])
    assert bagged.score(X[:103], Y[:103]) > 0.95
    assert bagged.decision_function(X[:5]).shape == (5, 3)


def test_a_class_without_samples_has_a_trivial_certificate():
    classifier = margins.MarginClassifier(penalize_intercept=False).fit(X, Y, without(2))
    certificate = classifier.certificates_[2]
    assert (certificate.primal, certificate.dual, certificate.gap, certificate.fraction) == (0, 0, 0, 1)
    assert classifier.learning_curve_[2] == [] and "newton" in classifier.solver_
    assert classifier.explain(X, Y, without(0)).solver


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"penalize_intercept": False},
        {"penalize_intercept": False, "loss": "hinge"},
        {"fit_intercept": False},
        {"class_weight": {0: 0}},
        {"class_weight": "balanced", "penalize_intercept": False},
    ],
    ids=str,
)
def test_chunks_without_a_class_give_the_model_of_samples_in_memory(params):
    samples, y = 10 * X[:, :3], Y.copy()
    y[::5] = 3
    weight = (y != 2).astype(float)
    classifier = margins.MarginClassifier(eps=1e-7, random_state=0, **params)
    expected = clone(classifier).fit(samples, y, weight)
    classifier.fit(Chunks.of_rows(samples, y, weight, n_rows=40))
    assert classifier.converged_ and classifier.classes_.tolist() == [0, 1, 2, 3]
    assert_allclose(classifier.coef_, expected.coef_, atol=2e-3)
    assert_allclose(classifier.intercept_, expected.intercept_, atol=2e-3)
    if not classifier.penalize_intercept:
        assert classifier.certificates_[2] == expected.certificates_[2]  # nothing to separate
    assert 2 not in classifier.predict(np.vstack([-EVERYWHERE, EVERYWHERE])[:, :3])


@quiet
def test_rules_paths_and_folds_of_chunks_go_on_without_a_class():
    chunks = Chunks.of_rows(X, Y, without(1), n_rows=40)
    fitted = [
        margins.get(name)(random_state=0, max_iter=50).fit(chunks) for name in ("pdm", "perceptron")
    ]
    for params in ({}, {"penalize_intercept": False}):
        fitted += margins.svm_path(chunks, None, [0.1, 10.0], **params).classifiers
        fitted.append(margins.MarginClassifierCV(Cs=[0.1, 10.0], cv=3, **params).fit(chunks))
        assert np.isfinite(fitted[-1].scores_).all()
    for classifier in fitted:
        assert classifier.classes_.tolist() == [0, 1, 2] and 1 not in classifier.predict(EVERYWHERE)
