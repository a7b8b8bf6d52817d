"""Intercepts of linear data that are not penalised: optimal, proven, and indifferent to shifts."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from problems import tumours
from properties import examples
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.data.chunks import Chunks
from margins.solvers.balance import balanced

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
each_loss = pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])


def make(**params):
    return margins.MarginClassifier(
        **({"penalize_intercept": False, "random_state": 0, "eps": 1e-6} | params)
    )


def few_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 300)) + 2 * rng.normal(size=300)
    return X, (X[:, 0] + rng.normal(size=40) > np.median(X[:, 0])).astype(int)


def objective(classifier, X, y, C, loss):
    """The objective without a penalty of the intercept, by the definition."""
    slacks = np.maximum(1 - np.where(y == 1, 1, -1) * classifier.decision_function(X), 0)
    power = 2 if loss == "squared_hinge" else 1
    return 0.5 * float(np.sum(classifier.coef_**2)) + float(np.sum(C * slacks**power))


@each_loss
@pytest.mark.parametrize("solver", ["auto", "newton", "conjugate"])
@pytest.mark.parametrize("samples", [tumours, few_samples])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_equals_that_of_the_kernel_solver(loss, solver, samples, C):
    X, y = samples()
    if solver == "newton" and X.shape[1] == 300:
        if C > 0.01:
            pytest.skip("of few samples, products with the Hessian do not prove this")
        X = sparse.csr_array(np.where(np.abs(X) > 2, X, 0))  # not dense enough for a Gram matrix
    classifier = make(C=C, loss=loss, solver=solver).fit(X, y)
    (certificate,) = classifier.certificates_
    assert classifier.converged_
    assert certificate.primal == pytest.approx(objective(classifier, X, y, C, loss), rel=1e-8)
    # The kernel x.z has had such an intercept for long, by another solver.
    gram = (X @ X.T).toarray() if sparse.issparse(X) else X @ X.T
    other = make(C=C, loss=loss, kernel="precomputed").fit(gram, y).certificates_[0]
    assert certificate.dual <= other.primal * (1 + 1e-9)
    assert other.dual <= certificate.primal * (1 + 1e-9)
    # Dual variables are feasible: they balance.
    dual = classifier.dual_coef_[0]
    assert (dual >= 0).all()
    assert abs(math.fsum(np.where(y == 1, 1, -1) * dual)) <= 1e-12 * dual.sum()
    assert loss == "squared_hinge" or (dual <= C).all()


@each_loss
def test_storage_partitions_and_warm_starts_give_the_same_optimum(loss):
    X, y = tumours()
    parts = np.array_split(np.arange(len(y)), 4)
    fits = {
        "dense": make(loss=loss).fit(X, y),
        "single precision": make(loss=loss).fit(X.astype(np.float32), y),
        "sparse": make(loss=loss).fit(sparse.csr_array(X), y),
        "chunks": make(loss=loss).fit(Chunks([(X[part], y[part]) for part in parts])),
    }
    warm = make(loss=loss, C=0.5, warm_start=True).fit(X, y)
    fits["warm"] = warm.set_params(C=1.0).fit(X, y)
    path = margins.svm_path(
        X, y, [0.01, 0.1, 1.0], loss=loss, eps=1e-6, penalize_intercept=False, random_state=0
    )
    fits["path"] = path.classifiers[-1]
    for name, one in fits.items():
        assert one.converged_, name
        assert one.certificates_[0].primal == pytest.approx(
            fits["dense"].certificates_[0].primal, rel=2e-6
        ), name


@each_loss
def test_integer_weights_equal_repeated_samples(loss):
    X, y = tumours()
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    one = make(loss=loss).fit(X, y, sample_weight=weight).certificates_[0]
    other = make(loss=loss).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).certificates_[0]
    assert one.dual <= other.primal * (1 + 1e-9) and other.dual <= one.primal * (1 + 1e-9)


@quiet
@pytest.mark.parametrize("params", [{"max_iter": 1}, {"max_iter": 2}, {"max_time": 1e-6}])
@pytest.mark.parametrize("solver", ["auto", "conjugate"])
def test_a_fit_that_is_ended_early_has_dual_variables_that_balance(solver, params):
    X, y = tumours()
    for loss in ("hinge", "squared_hinge"):
        classifier = make(loss=loss, eps=1e-12, solver=solver, **params).fit(X, y)
        dual = classifier.dual_coef_[0]
        assert abs(math.fsum(np.where(y == 1, 1, -1) * dual)) <= 1e-12 * dual.sum()
        assert classifier.certificates_[0].primal == pytest.approx(
            objective(classifier, X, y, 1.0, loss), rel=1e-8
        )


@examples(50)
@given(st.integers(0, 10**6))
def test_balancing_gives_both_classes_the_same_sum_within_bounds(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    signs = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)
    upper = rng.uniform(0.5, 2, n) if rng.random() < 0.5 else np.full(n, np.inf)
    dual = np.minimum(upper, rng.exponential(size=n) * (rng.random(n) < 0.8))
    result = balanced(dual, upper, signs)
    assert (result >= 0).all() and (result <= upper).all()
    assert abs(math.fsum(signs * result)) <= 1e-15 * result.sum()
    # The smaller class stays as it is, but for the last rounding.
    smaller = signs == (1 if dual[signs > 0].sum() <= dual[signs < 0].sum() else -1)
    assert_allclose(result[smaller], dual[smaller], rtol=1e-13, atol=1e-15)


def hard(X, y, **params):
    """A fit with a hard margin, and the warning if there was one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        classifier = make(C=math.inf, **({"eps": 0.01} | params)).fit(X, y)
    return classifier, str(caught[0].message) if caught else None


def geometric_margin(classifier, X, y):
    distances = classifier.decision_function(X) / np.linalg.norm(classifier.coef_)
    return float(np.min(np.where(y == 1, 1, -1) * distances))


def test_the_margin_of_iris_is_known():
    X, y = load_iris(return_X_y=True)
    classifier, message = hard(X, (y == 0).astype(int), eps=1e-4)
    (certificate,) = classifier.certificates_
    assert message is None and certificate.margin == pytest.approx(0.8176, abs=1e-4)
    assert certificate.margin == pytest.approx(geometric_margin(classifier, X, y == 0), rel=1e-9)


@pytest.mark.parametrize("penalized", [True, False])
def test_raw_tumours_is_separated_between_a_small_C_and_a_large_one(penalized):
    # Of columns up to 4254 and down to 0.03, with a margin of 4e-5. A C of the sequence leaves slacks,
    # the next one rounds.
    X, y = load_breast_cancer(return_X_y=True)
    classifier, message = hard(X, y, penalize_intercept=penalized)
    (certificate,) = classifier.certificates_
    assert message is None and classifier.score(X, y) == 1.0
    assert 0.99 * 4.137e-5 <= certificate.margin <= 4.138e-5 <= 1.001 * certificate.upper_bound


@pytest.mark.parametrize("shift", [0.0, 10.0, 100.0, 1e4])
@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_small_margins_are_found_at_any_offset(shift, gap):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    X /= np.linalg.norm(X, axis=1).max()
    w = rng.normal(size=5)
    w /= np.linalg.norm(w)
    signs = np.sign(X @ w - 0.1)
    X += np.outer(signs * gap, w) + shift
    classifier, message = hard(X, (signs > 0).astype(int))
    assert message is None
    (certificate,) = classifier.certificates_
    assert gap <= certificate.upper_bound and certificate.fraction >= 0.99
    assert certificate.margin == pytest.approx(geometric_margin(classifier, X, signs > 0), rel=1e-4)


@pytest.mark.parametrize("params", [{}, {"penalize_intercept": True}, {"kernel": "rbf", "gamma": 0.1}])
def test_inseparable_classes_are_proven_to_be_inseparable(params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[30:] = X[:30]  # samples of contrary labels: no function separates them
    y = np.arange(60) // 30
    classifier, message = hard(X, y, **params)
    assert not classifier.converged_
    assert "no hyperplane separates the classes by a margin of more than" in message
    assert classifier.certificates_[0].upper_bound < 1e-5
    # What proves it: convex combinations of both classes that nearly coincide.
    if not params:
        dual = classifier.dual_coef_[0]
        centres = [dual[y == code] @ X[y == code] / dual[y == code].sum() for code in (0, 1)]
        distance = np.linalg.norm(centres[0] - centres[1])
        assert 0.5 * distance <= classifier.certificates_[0].upper_bound + 1e-12


def test_few_samples_of_many_features_are_separated():
    X, y = few_samples()
    for params in ({}, {"penalize_intercept": True}):
        classifier, message = hard(X, y, **params)
        assert message is None and classifier.score(X, y) == 1.0


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@examples(30)
@given(seed=st.integers(0, 10**6), exponent=st.integers(-3, 8))
def test_few_samples_of_few_values_are_proven(loss, seed, exponent):
    # Intercepts of equal objective, classes of one sample, dual variables at their bounds.
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (rng.integers(2, 25), rng.integers(1, 6))).astype(float)
    y = np.arange(len(X)) < 1
    y |= X @ rng.normal(size=X.shape[1]) > 0.1
    y[-1] = False
    classifier = make(C=10.0**exponent, loss=loss, eps=1e-3).fit(X, y)
    assert classifier.converged_, classifier.certificates_


@pytest.mark.parametrize(
    "labels", [[0, 0, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
)
def test_four_corners_are_separated(labels):
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    classifier, message = hard(X, labels)
    assert message is None
    expected = 0.5 if labels == [0, 1, 0, 1] else math.sqrt(0.125)
    assert classifier.certificates_[0].margin == pytest.approx(expected, rel=0.01)
    assert classifier.certificates_[0].upper_bound >= expected * (1 - 1e-9)


@each_loss
@pytest.mark.parametrize("C", [1e-5, 1e-3])
def test_few_samples_far_from_the_origin_are_proven(loss, C):
    # All dual variables may be at their bounds, and products with a Gram matrix round.
    X, y = few_samples()
    y = np.arange(len(y)) % 2
    classifier = make(C=C, loss=loss, eps=0.01).fit(X + 1e3 * X.std(), y)
    assert classifier.converged_, classifier.certificates_
    near = make(C=C, loss=loss).fit(X, y).certificates_[0]
    assert classifier.certificates_[0].dual <= near.primal * (1 + 1e-9)
    assert classifier.certificates_[0].primal >= near.dual * (1 - 1e-9)


@quiet
@pytest.mark.parametrize("solver", ["auto", "newton", "conjugate"])
@examples(40)
@given(seed=st.integers(0, 10**6))
def test_dual_variables_keep_their_bounds_before_anything_is_proven(solver, seed):
    # The last rounding of a sum of equal bounds may exceed one of them.
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (rng.integers(6, 13), rng.integers(1, 6))) / 7
    y = rng.permutation(np.arange(len(X)) < rng.integers(1, len(X)))
    C = rng.choice([1e-6, 1e-3, 1.0])
    params = {
        "C": C,
        "loss": "hinge",
        "solver": solver,
        "eps": 1e-3,
        "max_iter": int(rng.integers(1, 6)),
    }
    dual = make(**params).fit(X, y).dual_coef_[0]
    assert (dual >= 0).all() and (dual <= C * (1 + 4e-16)).all()


@quiet
@each_loss
@pytest.mark.parametrize("shift", [1e4, 1e6])
def test_an_accuracy_beyond_rounding_keeps_the_model_and_ends_soon(loss, shift):
    # The passes in reserve left a gap of 4 where Newton steps had left 1e-7, after a thousand epochs.
    X, y = tumours()
    fit = make(loss=loss, eps=1e-12).fit(X + shift, y)
    assert not fit.converged_ and fit.solver_.endswith("conjugate")
    assert fit.certificates_[0].gap <= 1e-6 and fit.n_iter_ < 100
    assert fit.n_updates_ == sum(phase.updates for phase in fit.phases_[0])
    assert fit.learning_curve_[0][-1].certificate == fit.certificates_[0]
    slacks = np.maximum(1 - np.where(y, 1, -1) * fit.decision_function(X + shift), 0)
    value = slacks.sum() if loss == "hinge" else slacks @ slacks
    assert_allclose(0.5 * fit.coef_[0] @ fit.coef_[0] + value, fit.certificates_[0].primal, rtol=1e-8)
    alpha, signs = fit.dual_coef_[0], np.where(y, 1.0, -1.0)
    assert alpha.min() >= 0 and (loss == "squared_hinge" or alpha.max() <= 1)
    w = (alpha * signs) @ X  # the shift cancels, as the dual variables balance
    dual = alpha.sum() - 0.5 * w @ w - (0.25 * alpha @ alpha if loss == "squared_hinge" else 0)
    assert_allclose(dual, fit.certificates_[0].dual, rtol=1e-5)


@quiet
@each_loss
@pytest.mark.parametrize("max_iter", range(1, 12))
def test_dual_variables_belong_to_the_certificate_for_every_max_iter(loss, max_iter):
    X, y = tumours()
    fit = make(loss=loss, eps=1e-12, max_iter=max_iter).fit(X + 1e6, y)
    dual = fit.dual_coef_[0]
    assert dual.min() >= 0 and (loss == "squared_hinge" or dual.max() <= 1)
    if fit.certificates_[0].gap < 1e-3:
        assert dual.sum() == pytest.approx(2 * fit.certificates_[0].dual, rel=0.5)  # no other scale


@quiet
def test_a_leave_one_out_of_constant_features_is_proven():
    y = np.arange(30) % 3 == 0
    result = margins.leave_one_out(make(loss="hinge"), np.ones((30, 3)), y)
    assert result.is_proven.all()
