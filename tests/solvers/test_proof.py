"""Objectives of rounded coefficients, against rational arithmetic, where slacks cancel."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_optima import rational_objective
from problems import integers
from sample_problems import ALL_LAYOUTS

import margins
from margins.data.binary_data import rows_of
from margins.losses import HardMargin, Hinge, SquaredHinge
from margins.losses._accurate import kernel_scores, scores
from margins.solvers.proof import NEGLIGIBLE

LOSSES = (SquaredHinge(3.0), Hinge(np.full(12, 3.0)), HardMargin())


def heavy_and_light(weight):
    """Twelve heavy samples, which a hyperplane separates, and 48 light ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 7))
    y = np.where(X @ rng.normal(size=7) > 0, 1, -1)
    return X, y, np.where(np.arange(60) < 12, weight, 1 / weight)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("weight", "scale"), [(1e20, 1e15), (1e40, 1.0), (1e80, 1.0), (1e80, 1e15)])
@pytest.mark.parametrize("name", ["auto", "dcd", "mpu", "pdm"])
def test_the_primal_value_holds_for_the_coefficients_with_extreme_weights(name, weight, scale):
    X, y, weights = heavy_and_light(weight)
    classifier = margins.get(name)(C=1, random_state=0, max_iter=30).fit(X * scale, y, weights)
    coefficients = classifier.coef_[0], classifier.intercept_[0]
    exact = rational_objective(*coefficients, X * scale, y, weights, "squared_hinge")
    assert classifier.certificates_[0].primal == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("name", ["dcd", "pdm"])
def test_slacks_that_rounding_made_do_not_hinder_the_proof(name):
    X, y, weights = heavy_and_light(1e40)
    classifier = margins.get(name)(C=1, eps=0.1, random_state=0).fit(X * 1e15, y, weights)
    assert classifier.converged_
    assert classifier.certificates_[0].fraction >= 0.9


@pytest.mark.parametrize("layout", ALL_LAYOUTS)
def test_scores_have_twice_the_working_precision(layout):
    X, _ = integers(m=30, d=9)
    X = np.ldexp(X, np.arange(30)[:, np.newaxis] % 7)
    rng = np.random.default_rng(1)
    w = rng.normal(size=9)
    exact_w = [Fraction(v) for v in w.tolist()]
    # The first row's score is 1 but for the last digits of the bias.
    bias = 1 - float(X[0] @ w)
    high, low = scores(rows_of(ALL_LAYOUTS[layout](X)), w, bias)
    for x, large, small in zip(X.tolist(), high.tolist(), low.tolist(), strict=True):
        f = sum(Fraction(v) * weight for v, weight in zip(x, exact_w, strict=True)) + Fraction(bias)
        assert large == float(f)
        assert abs(Fraction(large) + Fraction(small) - f) <= Fraction(2) ** -95


@pytest.mark.parametrize("is_in_memory", [False, True])
def test_scores_and_length_of_a_kernel_have_twice_the_working_precision(is_in_memory):
    X, _ = integers(m=12, d=5)
    K = X @ X.T
    kernel = margins.kernels.selection.kernel_of(margins.get("pdm")(kernel="precomputed"), K)
    c = np.random.default_rng(2).normal(size=12)
    c[3] = 0.0
    bias = 1 - float(K[0] @ c)
    high, low, sqnorm = kernel_scores(kernel.rows(K, 1.0), c, bias, K if is_in_memory else None)
    exact_c = [Fraction(v) for v in c.tolist()]
    products = [sum(Fraction(v) * w for v, w in zip(row, exact_c, strict=True)) for row in K.tolist()]
    for product, large, small in zip(products, high.tolist(), low.tolist(), strict=True):
        f = product + Fraction(bias)
        assert large == float(f)
        assert abs(Fraction(large) + Fraction(small) - f) <= Fraction(2) ** -95
    assert sqnorm == pytest.approx(
        float(sum(p * w for p, w in zip(products, exact_c, strict=True))), rel=1e-15
    )
    with pytest.raises(ValueError, match=r"matrix must have shape \(12, 12\). Got \(3, 12\)."):
        kernel_scores(kernel.rows(K, 1.0), c, bias, K[:3])


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("error", [1e-14, 1e-9, 1e-4])
def test_the_quick_bound_of_the_sensitivity_is_a_bound(loss, error):
    rng = np.random.default_rng(3)
    margins_ = rng.normal(loc=1.0, size=12)
    if not loss.is_finite:
        margins_ /= margins_.min() if margins_.min() > 0 else -margins_.min()
        margins_ = np.abs(margins_)
        margins_ /= margins_.min()
    primal = 0.5 + (loss.value(margins_) if loss.is_finite else 0.0)
    sensitivity = loss.sensitivity(margins_, np.full(12, error), primal)
    assert 0 < sensitivity <= loss.max_sensitivity(12, error, primal) * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize("loss", LOSSES[:2], ids=lambda loss: type(loss).__name__)
def test_objective_of_slacks_equals_the_objective_of_margins(loss):
    margins_ = np.random.default_rng(4).integers(-4, 5, 12) / 4
    primal, margin, multiple = loss.objective(1 - margins_, 2.0)
    assert primal == 1 + loss.value(margins_) == 1 + loss.value_of_slacks(1 - margins_)
    assert margin is None and multiple == 1


def test_objective_of_the_hard_margin_is_taken_at_the_best_multiple():
    assert HardMargin().objective(1 - np.array([2.0, 3.0]), 16.0) == (2.0, 0.5, 0.5)
    assert HardMargin().objective(1 - np.array([-2.0, 3.0]), 16.0) == (math.inf, -0.5, 1.0)


@pytest.mark.parametrize("name", ["auto", "pdm"])
def test_ordinary_fits_need_no_exact_sums(monkeypatch, name):
    monkeypatch.setattr("margins.solvers.proof._point", None)  # what would round differently
    X, y = integers(m=40, d=5)
    assert margins.get(name)(C=1.0, eps=0.1, random_state=0).fit(X, y).converged_
    assert 0 < NEGLIGIBLE < 1e-9


@pytest.mark.parametrize("arrange", [np.asfortranarray, lambda K: np.repeat(K, 2, axis=1)[:, ::2]])
@pytest.mark.parametrize("n_left_out", [0, 20])
def test_exact_certificates_read_matrices_in_any_layout(arrange, n_left_out):
    X, y = integers(m=60, d=3)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=-1))
    weight = (np.arange(60) >= n_left_out).astype(float)
    fits = [
        margins.MarginClassifier(kernel="precomputed", loss="hinge", C=1e7, eps=1e-6).fit(M, y, weight)
        for M in (K, arrange(K))
    ]
    assert fits[0].certificates_ == fits[1].certificates_
