"""Kernel fits whose intercept is not penalised: against SVC, and certificates that are true."""

import math

import numpy as np
import pytest
from algorithm_groups import quiet
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from properties import examples
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import SVC

import margins
from margins.losses import HardMargin, Hinge, SquaredHinge
from margins.solvers.balance import lower_label_sum
from margins.solvers.interior_point import InteriorPointSolver


def make(**params):
    return margins.MarginClassifier(
        **{"kernel": "rbf", "gamma": 0.5, "penalize_intercept": False} | params
    )


def digits(m=300):
    X, y = load_digits(return_X_y=True)
    return X[:m] / 16, y[:m] % 2


def random_problem(seed):
    """X, y, weights and C of a small problem, classes of unequal sizes."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 40))
    X = rng.normal(size=(m, 2)) * 10 ** rng.uniform(-1, 1)
    y = (rng.random(m) < rng.choice([0.1, 0.5])).astype(int)
    y[:2] = 0, 1
    if seed % 3 == 0:
        X[m // 2 :] = X[: m - m // 2]  # duplicates, some of contrary labels
    return X, y, 10 ** rng.uniform(-2, 2, m), float(10 ** rng.uniform(-2, 3))


def objectives(K, y, C, dual, intercept, loss):
    """Primal and dual objective of dual variables, by definition."""
    signs = np.where(y == 1, 1.0, -1.0)
    scores = K @ (signs * dual)
    sqnorm = (signs * dual) @ scores
    slacks = np.maximum(0, 1 - signs * (scores + intercept))
    if loss == "hinge":
        return 0.5 * sqnorm + C @ slacks, dual.sum() - 0.5 * sqnorm
    return 0.5 * sqnorm + C @ slacks**2, dual.sum() - 0.5 * sqnorm - dual @ (dual / (4 * C))


@quiet
@examples(30)
@given(st.integers(0, 10**6), st.sampled_from(["hinge", "squared_hinge"]), st.sampled_from([1, 30]))
def test_certificates_are_true(seed, loss, max_iter):
    X, y, weight, C = random_problem(seed)
    classifier = make(loss=loss, C=C, eps=1e-6, max_iter=max_iter).fit(X, y, sample_weight=weight)
    certificate = classifier.certificates_[0]
    K = np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=-1))
    dual = np.zeros(len(y))
    dual[classifier.support_] = np.abs(classifier.dual_coef_[0])
    primal = objectives(K, y, C * weight, dual, classifier.intercept_[0], loss)[0]
    assert_allclose(certificate.primal, primal, rtol=1e-9)
    # Another solver's dual objective is below it, and its primal one above the certificate's dual.
    diagonal = np.diag(0.5 / (C * weight)) if loss == "squared_hinge" else 0.0
    bound = 1e7 if loss == "squared_hinge" else C
    other = SVC(kernel="precomputed", C=bound, tol=1e-6, max_iter=100_000)
    other.fit(K + diagonal, y, sample_weight=weight if loss == "hinge" else None)
    theirs = np.zeros(len(y))
    theirs[other.support_] = np.abs(other.dual_coef_[0])
    above, below = objectives(K, y, C * weight, theirs, other.intercept_[0], loss)
    assert certificate.dual <= above * (1 + 1e-9)
    assert primal >= below * (1 - 1e-6)


def test_hard_margin():
    X, y = digits()
    classifier = make(C=math.inf, eps=1e-4).fit(X, y)
    assert classifier.certificates_[0].fraction >= 1 - 1e-4
    margins_of_both = classifier.decision_function(X) * np.where(y == 1, 1, -1)
    assert_allclose([margins_of_both[y == 0].min(), margins_of_both[y == 1].min()], 1, rtol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_shifted_kernel_changes_nothing(loss):
    X, y = digits()
    K = np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=-1))
    params = {"kernel": "precomputed", "loss": loss, "eps": 1e-6}
    plain, shifted = (make(**params).fit(each, y) for each in (K, K + 50))
    assert_allclose(plain.certificates_[0].primal, shifted.certificates_[0].primal, rtol=1e-5)


def test_classes_warm_starts_and_small_caches():
    X, y = load_iris(return_X_y=True)
    classifier = make(loss="hinge", eps=1e-4, warm_start=True, cache_size=0.01).fit(X, y)
    for params in ({"C": 0.1}, {"C": 10.0}, {"C": 1.0, "loss": "squared_hinge"}):
        cold = make(eps=1e-4, **{"loss": "hinge"} | params).fit(X, y)
        classifier.set_params(**params).fit(X, y)
        assert classifier.converged_
        for ours, theirs in zip(classifier.certificates_, cold.certificates_, strict=True):
            assert ours.dual <= theirs.primal
            assert theirs.dual <= ours.primal


def test_other_solvers_are_errors(monkeypatch):
    X, y = digits()
    with pytest.raises(ValueError, match="solver='dcd' is not applicable here: it penalises"):
        make(solver="dcd").fit(X, y)
    names = {each.solver for each in make().explain(X, y).candidates if each.why_not is None}
    assert names == {"decomposition", "interior-point"}
    monkeypatch.setattr(InteriorPointSolver, "why_not", lambda problem: "too many samples")
    with pytest.raises(
        ValueError, match="No solver is applicable here. .*'decomposition': .*single precision"
    ):
        make(kernel="precomputed").fit(1e40 * np.eye(len(y)), y)
    # Without an intercept there is none to penalise.
    without = make(fit_intercept=False).fit(X, y)
    assert without.intercept_ == 0
    assert (
        without.certificates_
        == make(fit_intercept=False, penalize_intercept=True).fit(X, y).certificates_
    )


@examples(50)
@given(st.integers(0, 10**6), st.sampled_from(["hinge", "squared_hinge", "hinge of equal C"]))
def test_the_best_intercept_of_a_loss(seed, kind):
    X, y, weight, C = random_problem(seed)
    signs, scores = np.where(y == 1, 1.0, -1.0), X[:, 0]
    loss = {"hinge": Hinge(C * weight), "squared_hinge": SquaredHinge(C * weight)}.get(kind, Hinge(C))
    best = loss.value(signs * (scores + loss.best_intercept(scores, signs)))
    points = signs - scores
    candidates = [loss.value(signs * (scores + point)) for point in points]
    between = minimize_scalar(
        lambda b: loss.value(signs * (scores + b)), bounds=(points.min(), points.max()), method="bounded"
    )
    assert best <= min(*candidates, between.fun) + 1e-9 * loss.value(signs * scores)
    assert loss.value(
        signs * (scores + super(type(loss), loss).best_intercept(scores, signs))
    ) >= best * (1 - 1e-9)


@pytest.mark.parametrize("penalty", [1 / 150, 1e-3, 0.7])
def test_a_range_of_best_intercepts_has_its_middle_for_any_weights(penalty):
    signs = np.repeat([-1.0, 1.0, 1.0], [50, 50, 1])
    scores = np.append(np.zeros(100), 0.4)  # the last sample has no weight
    loss = Hinge(np.append(np.full(100, penalty), 0.0))
    assert loss.best_intercept(scores, signs) == 0.0


def test_small_equal_weights_give_the_classifier_of_svc():
    X, y = load_iris(return_X_y=True)
    weights = np.full(150, 1 / 150)  # as AdaBoost passes them
    classifier = make(gamma="scale", loss="hinge", multi_class="ovo", random_state=0)
    scores = classifier.fit(X, y, sample_weight=weights).decision_function(X)
    expected = SVC().fit(X, y, sample_weight=weights).decision_function(X)
    assert_allclose(scores, expected, atol=1e-5)


def test_the_best_intercept_of_the_hard_margin():
    scores, signs = np.array([3.0, 5.0, 1.0, -4.0]), np.array([1.0, 1.0, -1.0, -1.0])
    assert HardMargin().best_intercept(scores, signs) == -2.0


@examples(50)
@given(st.integers(0, 10**6))
def test_balancing_keeps_bounds_and_ends_the_excess(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    upper = rng.uniform(0.5, 2, n)
    alpha = np.where(rng.random(n) < 0.3, 0, upper * rng.random(n))
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    before, excess = math.fsum(signs * alpha), float(rng.normal() * 0.1)
    room = np.where(signs * excess > 0, alpha, upper - alpha).sum()
    if room < abs(excess):
        return
    lower_label_sum(alpha, upper, signs, excess)
    assert (alpha >= 0).all()
    assert (alpha <= upper).all()
    assert_allclose(math.fsum(signs * alpha), before - excess, atol=1e-15 * n)


def test_a_cache_of_less_than_a_row_is_enough():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140, 3))
    y = X[:, 0] + rng.normal(size=140) > 0
    params = {"kernel": "rbf", "loss": "hinge", "penalize_intercept": False, "cache_size": 1e-4}
    classifier = margins.MarginClassifier(**params).fit(X, y)
    assert classifier.converged_ and classifier.certificates_[0].gap <= 0.01
