"""Interior-point steps over a kernel matrix: optimal, proven, and indifferent to its condition."""

import math

import numpy as np
import pytest
from algorithm_groups import quiet
from covering import every_pair
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from properties import examples
from sklearn.datasets import load_wine, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import margins
from margins.solvers.interior_point import InteriorSteps

each_loss = pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
each_intercept = pytest.mark.parametrize("penalize_intercept", [True, False])


def make(**params):
    return margins.MarginClassifier(
        **{"kernel": "poly", "gamma": 1.0, "eps": 1e-3, "solver": "interior-point"} | params
    )


def solution(H, upper, signs=None, n=60):
    steps = InteriorSteps(np.array(H, dtype=float), np.array(upper, dtype=float), signs)
    for _ in range(n):
        if not steps.step():
            break
    return steps.at_bounds(1.0)


def test_steps_solve_problems_whose_solutions_are_known():
    inf = math.inf
    assert_allclose(solution([[2, 0], [0, 4]], [inf, inf]), [0.5, 0.25], rtol=1e-9)
    assert_allclose(solution([[2, 0], [0, 4]], [0.2, inf]), [0.2, 0.25], rtol=1e-9)
    # The second variable ends at 0, whose multiplier is positive there.
    assert_allclose(solution([[1, 2], [2, 5]], [inf, inf]), [1, 0], rtol=1e-9, atol=1e-9)
    # x_0 = x_1: the sum of both is 2 / (1 + 3).
    signs = np.array([1.0, -1.0])
    assert_allclose(solution([[1, 0], [0, 3]], [inf, inf], signs), [0.5, 0.5], rtol=1e-9)


@st.composite
def problems(draw):
    """Few samples, some of them copies of others with any label, and their weights."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    m, d = int(rng.integers(4, 40)), int(rng.integers(1, 5))
    X = rng.integers(-3, 4, (m, d)) * float(rng.choice([0.1, 1.0, 10.0]))
    X[m // 2 :] = X[rng.integers(0, m, m - m // 2)]
    y = rng.random(m) < 0.5
    y[:2] = True, False
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], m)
    weight[:2] = 1.0
    C = float(10.0 ** rng.integers(-3, 4))
    return X, y, weight, {"C": C, "degree": int(rng.integers(1, 4)), "coef0": 1.0}


@quiet
@each_loss
@each_intercept
@examples(5)
@given(problem=problems())
def test_bounds_agree_with_decomposition(loss, penalize_intercept, problem):
    X, y, weight, params = problem
    params = params | {"loss": loss, "penalize_intercept": penalize_intercept, "eps": 1e-5}
    fits = [
        make(solver=solver, **params).fit(X, y, weight) for solver in ("interior-point", "decomposition")
    ]
    (ours,), (others,) = (fitted.certificates_ for fitted in fits)
    assert ours.dual <= others.primal * (1 + 1e-9) and others.dual <= ours.primal * (1 + 1e-9)
    assert np.isfinite(fits[0].decision_function(X)).all()


@pytest.mark.parametrize(
    ("solver", "loss", "penalize_intercept"),
    every_pair(["auto", "interior-point"], ["squared_hinge", "hinge"], [True, False]),
)
def test_ill_conditioned_kernels_are_proven(loss, penalize_intercept, solver):
    X, y = (array[:80] for array in make_blobs(100, centers=10, random_state=0))
    params = {"loss": loss, "penalize_intercept": penalize_intercept, "solver": solver}
    fitted = make(**params).fit(X, y)
    assert fitted.converged_
    for phases in fitted.phases_:
        assert sum(phase.epochs for phase in phases) <= 100
    if solver == "auto":
        assert any(phases[-1].solver == "interior-point" for phases in fitted.phases_)
        # Others are solved before it would have cost less.
        assert any(phases[-1].solver == "decomposition" for phases in fitted.phases_)


@each_loss
@each_intercept
def test_contrary_duplicates_are_proven(loss, penalize_intercept):
    rng = np.random.default_rng(0)
    X = StandardScaler().fit_transform(np.eye(20)[rng.integers(0, 20, 200)])
    y = rng.random(200) < 0.4
    fitted = make(C=1e4, loss=loss, penalize_intercept=penalize_intercept, solver="auto").fit(X, y)
    assert fitted.converged_


@each_loss
def test_as_few_samples_are_support_vectors_as_by_decomposition(loss):
    X, y = make_moons(200, noise=0.2, random_state=0)
    params = {"kernel": "rbf", "loss": loss, "C": 10.0}
    ours, others = (
        make(solver=solver, **params).fit(X, y) for solver in ("interior-point", "decomposition")
    )
    assert ours.converged_
    assert len(ours.support_) <= 1.1 * len(others.support_)


@quiet
@each_loss
@each_intercept
@pytest.mark.parametrize(
    ("x", "labels", "C"),
    [
        ([83, 117, 105, 99, 94, 125, 104, 111, 96, 92], [1, 1, -1, -1, -1, -1, -1, 1, 1, -1], 1e4),
        ([80, 96, 109, 96, 124, 103], [1, 1, 1, 1, 1, -1], 100.0),
        (range(99, 111), [1, -1] * 6, 1e4),
    ],
)
def test_kernel_values_that_cancel_leave_a_finite_model(x, labels, C, loss, penalize_intercept):
    X = np.array(x, dtype=float)[:, None]
    params = {"C": C, "coef0": 1.0, "loss": loss, "penalize_intercept": penalize_intercept}
    fitted = make(solver="auto", **params).fit(X, labels)
    (certificate,) = fitted.certificates_
    assert np.isfinite(fitted.decision_function(X)).all()
    assert certificate.primal < math.inf and certificate.dual >= 0


@quiet
@each_loss
@each_intercept
def test_values_beyond_single_precision_use_the_interior_point(loss, penalize_intercept):
    rng = np.random.default_rng(0)
    X, y = 100 + 0.1 * rng.normal(size=(20, 5)), rng.random(20) < 0.5
    fitted = make(gamma="scale", loss=loss, penalize_intercept=penalize_intercept, solver="auto").fit(
        X, y
    )
    assert fitted.solver_ == "interior-point"
    assert fitted.certificates_[0].primal < math.inf


@each_intercept
def test_values_of_1e30_are_proven(penalize_intercept):
    # Many steps lead to where the products with multipliers begin to fall.
    X, y = load_wine(return_X_y=True)
    params = {"degree": 5, "coef0": 1.0, "C": 1e4, "loss": "hinge"}
    fitted = make(**params, penalize_intercept=penalize_intercept).fit(X, y == 1)
    assert fitted.converged_


@each_loss
def test_the_warning_says_that_double_precision_cannot_prove_it(loss):
    X, y = np.arange(99.0, 111)[:, None], [1, -1] * 6
    with pytest.warns(ConvergenceWarning) as caught:
        make(C=1e4, coef0=1.0, loss=loss, solver="auto").fit(X, y)
    message = str(caught[0].message)
    assert "Rounding of the kernel values in double precision" in message
    assert message.endswith("Standardize the columns of X, or lower C or degree.")
    assert make(C=1e4, coef0=1.0, loss=loss).fit(StandardScaler().fit_transform(X), y).converged_


@quiet
@pytest.mark.parametrize("solver", ["auto", "decomposition", "interior-point"])
def test_kernels_that_cannot_separate_leave_a_finite_model(solver):
    # Dual variables of a hard margin grow without end, beyond single and then double precision.
    hard = {"C": math.inf, "solver": solver, "kernel": "precomputed"}
    for n in (12, 30):
        x = np.random.default_rng(n).normal(size=n)
        fitted = make(**hard, fit_intercept=False).fit(1e-10 * np.outer(x, x), np.arange(n) % 2)
        assert np.isfinite(fitted.dual_coef_).all() and not fitted.converged_
    fitted = make(**hard, penalize_intercept=False).fit(np.full((2, 2), 10.0), [0, 1])
    assert not fitted.converged_ and not math.isnan(fitted.certificates_[0].gap)


@quiet
def test_no_advice_is_given_that_changes_nothing_of_a_kernel():
    # With gamma="scale" a common factor of the features changes no value of the kernel.
    X, y = make_moons(200, noise=0.5, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        make(kernel="rbf", gamma="scale", C=1e7, max_iter=1).fit(X, y)
    assert "divided by" not in str(caught[0].message)


def test_linear_data_and_many_samples_are_refused():
    X, y = make_moons(50, random_state=0)
    with pytest.raises(ValueError, match="'interior-point' is not applicable here: .* linear data"):
        make(kernel="linear").fit(X, y)
    many = np.zeros((2001, 1))
    many[0] = 1
    with pytest.raises(ValueError, match="the kernel matrix of at most 2000 samples"):
        make(kernel="rbf").fit(many, many[:, 0])
