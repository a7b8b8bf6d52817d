"""The dual of few samples, in one loop: against the working sets, and by exact sums."""

import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits

import margins
from margins.kernels import RBF
from margins.kernels.gram import WholeGram
from margins.solvers import auto
from margins.solvers.decomposition._whole import minimise_whole
from margins.tuning import TUNING


def problem(seed, m=40):
    """A kernel matrix and labels, both of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    signs = np.where(rng.random(m) < 0.5, -1.0, 1.0)
    signs[:2] = -1, 1
    return RBF(gamma=0.5)(X, X), signs


LOSSES = {"hinge": (2.0, 0.0), "squared_hinge": (math.inf, 0.25), "hard_margin": (math.inf, 0.0)}


def solve(K, signs, loss, has_free_intercept, required_gap, *limits):
    """K, b, u and what `minimise_whole` returns, from zero."""
    m = len(signs)
    upper, diag = (np.full(m, value) for value in LOSSES[loss])
    K, rho2 = K.astype(np.float32), float(not has_free_intercept)
    b, u = np.zeros(m), np.zeros(m)
    limits = required_gap, 1e-2, *(limits or (100_000,))
    result = minimise_whole(K, rho2, signs, b, u, upper, diag, has_free_intercept, *limits)
    return K, b, u, *result


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("has_free_intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_returned_gap_is_the_gap_of_the_dual_variables(loss, has_free_intercept, seed):
    K, signs = problem(seed)
    upper, diagonal = LOSSES[loss]
    K, b, u, n_pairs, gap = solve(K, signs, loss, has_free_intercept, 1e-4)
    assert n_pairs > 0 and gap <= 1e-4
    alpha = signs * b
    assert (alpha >= 0).all() and (alpha <= upper).all()
    rho2 = not has_free_intercept
    assert_allclose(u, (K.astype(np.float64) + rho2) @ b + diagonal * b, atol=1e-6 * alpha.sum())
    scores = u - diagonal * b
    sqnorm = b @ scores
    dual = alpha.sum() - 0.5 * sqnorm - 0.5 * diagonal * (b @ b)
    intercepts = [0.0]
    if has_free_intercept:
        assert abs(b.sum()) <= 1e-5 * alpha.sum()
        points = signs - scores  # where margins are 1
        middle = -0.5 * (scores[signs > 0].min() + scores[signs < 0].max())
        intercepts = np.append(np.linspace(points.min(), points.max(), 20_001), middle)
    primals = []
    for intercept in intercepts:
        margins_ = signs * (scores + intercept)
        slacks = np.maximum(1 - margins_, 0)
        if loss == "hard_margin":
            primals.append(0.5 * sqnorm / margins_.min() ** 2 if margins_.min() > 0 else math.inf)
        else:
            value = upper * slacks if loss == "hinge" else slacks**2 / (2 * diagonal)
            primals.append(0.5 * sqnorm + value.sum())
    assert min(primals) / dual - 1 <= 1.5e-4


def test_an_end_of_pairs_comes_before_the_gap():
    K, signs = problem(0)
    *_, n_pairs, gap = solve(K, signs, "hinge", True, 1e-9, 3)
    assert n_pairs == 3 and gap > 1e-9


def test_rounds_in_one_call_are_those_of_a_call_each():
    K, signs = problem(0)
    _, whole, *_ = solve(K, signs, "hinge", True, 1e-9, 50)
    _, b, _, n_pairs, _ = solve(K, signs, "hinge", True, 1e-9, 50, 20)
    K, expected, u, *_ = solve(K, signs, "hinge", True, 1e-9, 20)
    upper, diag = np.full(len(signs), 2.0), np.zeros(len(signs))
    for n in (20, 10):
        minimise_whole(K, 0.0, signs, expected, u, upper, diag, True, 1e-9, 1e-2, n)
    assert n_pairs == 50
    assert_array_equal(b, expected)
    assert not np.array_equal(b, whole)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_kernel_values_much_smaller_than_the_penalty_of_the_intercept_count(loss):
    # K + 1 is 1 in single precision.
    K, signs = problem(2)
    fit = margins.MarginClassifier(kernel="precomputed", loss=loss, C=1e9, eps=1e-3).fit(1e-9 * K, signs)
    assert fit.converged_ and fit.solver_ == "decomposition"  # not interior-point steps, too


@pytest.mark.parametrize("penalize_intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_pairs_of_classes_agree_with_working_sets(monkeypatch, kernel, loss, penalize_intercept):
    X, y = load_digits(n_class=4, return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    classifier = margins.MarginClassifier(
        kernel=kernel,
        coef0=1.0,
        loss=loss,
        multi_class="ovo",
        eps=1e-4,
        penalize_intercept=penalize_intercept,
    )
    whole = classifier.fit(X, y)
    scores, certificates = whole.decision_function(X), whole.certificates_
    few = dataclasses.replace(
        TUNING,
        decomposition=dataclasses.replace(TUNING.decomposition, working_set=64, whole=0, shared_whole=0),
    )
    monkeypatch.setattr(auto.plan, "__kwdefaults__", auto.plan.__kwdefaults__ | {"tuning": few})
    classifier.fit(X, y)
    assert classifier.converged_ and classifier.solver_ == "decomposition"
    assert_array_equal(classifier.decision_function(X).argmax(axis=1), scores.argmax(axis=1))
    for one, other in zip(certificates, classifier.certificates_, strict=True):
        assert one.dual <= other.primal * (1 + 1e-9) and other.dual <= one.primal * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_certificates_of_pairs_equal_exact_sums(loss):
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y, C = X[:200] / 16, y[:200], 3.0
    fit = margins.MarginClassifier(
        kernel="rbf", gamma=0.1, C=C, loss=loss, multi_class="ovo", eps=1e-3, penalize_intercept=False
    ).fit(X, y)
    for index, (first, second) in enumerate(fit.pairs_):
        chosen = (y == first) | (y == second)
        signs = np.where(y[chosen] == first, 1.0, -1.0)
        rows = np.where(y[fit.support_] == first, second - 1, first)
        is_in_pair = np.isin(y[fit.support_], (first, second))
        coefficients = np.where(is_in_pair, fit.dual_coef_[rows % 2, np.arange(len(rows))], 0.0)
        K = RBF(gamma=0.1)(X[chosen], X[fit.support_])
        scores = K @ coefficients
        sqnorm = coefficients @ RBF(gamma=0.1)(X[fit.support_], X[fit.support_]) @ coefficients
        slacks = np.maximum(1 - signs * (scores + fit.intercept_[index]), 0)
        value = C * (slacks.sum() if loss == "hinge" else (slacks**2).sum())
        certificate = fit.certificates_[index]
        assert_allclose(certificate.primal, 0.5 * sqnorm + value, rtol=1e-9)
        assert certificate.gap <= (1e-3 if loss == "hinge" else 1 / (1 - 1e-3) ** 2 - 1)


def test_pairs_of_classes_share_blocks_of_the_kernel_matrix(monkeypatch):
    X, y = load_digits(n_class=4, return_X_y=True)
    computed, compute = [], RBF.block

    def count(kernel, X, *args):
        computed.append(X.shape[0])
        return compute(kernel, X, *args)

    monkeypatch.setattr(RBF, "block", count)
    classifier = margins.MarginClassifier(kernel="rbf", multi_class="ovo", solver="decomposition")
    classifier.fit(X[:200], y[:200])
    assert len(computed) == 4 + 6


@pytest.mark.parametrize("convert", [np.asarray, np.float32, sparse.csr_array])
def test_the_gram_matrix_and_sums_of_linear_samples_are_exact_for_integers(convert):
    rng = np.random.default_rng(0)
    X, indices = rng.integers(-3, 4, size=(9, 5)).astype(float), np.array([7, 2, 0, 5])
    gram, some = WholeGram(convert(X), indices), X[indices]
    assert gram.rows_of_all().dtype == np.float32
    assert_array_equal(gram.rows_of_all(), some @ some.T)
    sums = gram.sums(np.array([3, 1]), np.array([0, 2]), np.array([2.0, -1.0]))
    assert sums.dtype == np.float64
    assert_array_equal(sums, some[[3, 1]] @ (2 * some[0] - some[2]))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_moves_of_linear_pairs_and_newton_steps_prove_one_optimum(loss):
    X, y = load_digits(n_class=4, return_X_y=True)
    classifier = margins.MarginClassifier(loss=loss, multi_class="ovo", eps=1e-4)
    moved = classifier.fit(X, y).certificates_
    assert classifier.solver_ == "decomposition"
    stepped = classifier.set_params(solver="newton").fit(X, y).certificates_
    for one, other in zip(moved, stepped, strict=True):
        assert one.dual <= other.primal * (1 + 1e-9) and other.dual <= one.primal * (1 + 1e-9)


@pytest.mark.parametrize(("factor", "C"), [(1e10, 1.0), (1.0, 1e-20)])
def test_linear_pairs_beyond_single_precision_use_other_solvers(factor, C):
    X, y = load_digits(n_class=3, return_X_y=True)
    classifier = margins.MarginClassifier(loss="hinge", multi_class="ovo", C=C)
    classifier.fit(factor * X[:90], y[:90])
    assert classifier.converged_ and "decomposition" not in classifier.solver_


def test_newton_steps_start_from_zero_if_decomposition_does_not_finish():
    rng = np.random.default_rng(0)
    X = np.round(10.0 ** rng.integers(-1, 3, size=5) * rng.normal(size=(180, 5)))
    classifier = margins.MarginClassifier(loss="hinge", C=100, multi_class="ovo", eps=1e-3)
    classifier.fit(X, np.arange(3).repeat(60))
    assert classifier.solver_ == "newton"
    # From where moves have ended, up to four epochs of steps follow.
    tried, ran = zip(*classifier.phases_, strict=True)
    assert {(phase.solver, phase.epochs) for phase in tried} == {("decomposition", 0)}
    assert {(phase.solver, phase.epochs) for phase in ran} == {("newton", 1)}
