"""A third party's loss in one file: fitted and certified like those of the library."""

import functools

import numpy as np
import oracles
import pytest
from modified_huber import ModifiedHuber
from numpy.testing import assert_allclose
from problems import noisy
from scipy.optimize import minimize

import margins
from margins.losses import Hinge, SquaredHinge

Auto = margins.MarginClassifier


def fit(X, y, C=1.0, weight=None, **params):
    params = {"eps": 1e-6, "random_state": 0, **params}
    return Auto(loss=ModifiedHuber, C=C, **params).fit(X, y, weight)


def objective(w, Y, C):
    """The primal objective and its gradient, by the definition of the loss."""
    p = Y @ w
    losses = np.where(p >= 1, 0, np.where(p >= -1, (1 - p) ** 2, -4 * p))
    slopes = np.where(p >= 1, 0, np.where(p >= -1, -2 * (1 - p), -4.0))
    return w @ w / 2 + C @ losses, w + (C * slopes) @ Y


@functools.cache
def optimum(seed, C, weighted=False):
    """The least objective by L-BFGS on the primal."""
    X, y = noisy(seed=seed, noise=3.0)
    Y, C = oracles.data_of(X, y), C * weights(weighted)
    scale = C.sum()
    found = minimize(
        lambda w: tuple(np.divide(part, scale) for part in objective(w, Y, C)),
        np.zeros(Y.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-13, "maxiter": 10_000, "maxfun": 100_000},
    )
    return objective(found.x, Y, C)[0]


def weights(weighted):
    return np.random.default_rng(1).integers(1, 4, 300) / 2 if weighted else np.ones(300)


def test_a_loss_is_defined_by_two_numbers_and_its_value():
    loss = ModifiedHuber(np.array([0.5, 2.0]))
    assert_allclose(loss.diag, [1.0, 0.25])
    assert_allclose(loss.upper, [2.0, 8.0])
    assert loss.is_smooth and loss.has_upper_bounds and loss.is_finite
    assert loss.required_gap(0.01) == 0.01
    # h is the largest of alpha (1 - p) - D alpha^2 / 2 over 0 <= alpha <= U: its value is theirs.
    for p in (-7.0, -1.0, -0.5, 0.9, 1.0, 3.0):
        alpha = np.linspace(0, 1, 100_001)[:, np.newaxis] * loss.upper
        largest = (alpha * (1 - p) - loss.diag * alpha**2 / 2).max(axis=0).sum()
        assert loss.value(np.full(2, p)) == pytest.approx(largest, rel=1e-8)


@pytest.mark.parametrize(
    ("seed", "C", "weighted"), [(0, 1e-3, True), (1, 1.0, False), (2, 1.0, True), (3, 100.0, False)]
)
@pytest.mark.parametrize("solver", ["auto", "newton", "dcd", "unlearning"])
def test_certificates_enclose_the_optimum_of_an_independent_solver(solver, seed, C, weighted):
    X, y = noisy(seed=seed, noise=3.0)
    in_turn = solver in ("dcd", "unlearning")  # one sample after the other
    params = {"eps": 1e-3, "max_iter": 5000} if in_turn else {}
    classifier = fit(X, y, C, weights(weighted) if weighted else None, solver=solver, **params)
    assert classifier.converged_
    assert classifier.solver_ == (solver if in_turn else "newton")
    (certificate,) = classifier.certificates_
    best = optimum(seed, C, weighted)
    assert certificate.dual <= best * (1 + 1e-9)
    assert best <= certificate.primal * (1 + 1e-9)
    assert certificate.gap <= classifier.eps
    # Both objectives by hand, from coef_ and dual_coef_ alone.
    Y, penalty = oracles.data_of(X, y), C * weights(weighted)
    w = np.append(classifier.coef_[0], classifier.intercept_[0])
    assert objective(w, Y, penalty)[0] == pytest.approx(certificate.primal, rel=1e-9)
    alpha = classifier.dual_coef_[0]
    assert (alpha >= 0).all() and (alpha <= 4 * penalty * (1 + 1e-12)).all()
    a = alpha @ Y
    dual = alpha.sum() - a @ a / 2 - (alpha**2 / (4 * penalty)).sum()
    assert dual <= certificate.dual * (1 + 1e-9)
    assert dual >= certificate.primal * (1 - 2 * classifier.eps)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"diag": -1.0}, r"diag and upper of Wrong must be .* Got -1\.0 and "),
        ({"diag": np.inf}, "diag and upper of Wrong must be"),
        ({"diag": np.ones(3)}, r"diag and upper of Wrong must be .* Got \[1\.0, 1\.0, 1\.0\] and "),
        ({"upper": 0.0}, "diag and upper of Wrong must be"),
        ({"diag": 0.0, "upper": np.inf}, "diag and upper of Wrong must be"),
        ({"upper": 1e6}, r"value of Wrong must be a number of at least .* p = -9.*\. Got "),
        ({"value": lambda margins: np.nan}, r"value of Wrong must be .* Got nan\."),
        ({"value": lambda margins: margins}, r"value of Wrong must be .* Got array"),
        ({"value": lambda margins: -1.0 if margins[0] > 1 else 1e9}, r"at least 0 .* p = 2,.* Got -1"),
    ],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_loss_that_its_dual_values_do_not_bound_is_an_error(kernel, wrong, message):
    class Wrong(ModifiedHuber):
        def __init__(self, C):
            super().__init__(C)
            vars(self).update(wrong)

    with pytest.raises(ValueError, match=message):
        Auto(loss=Wrong, kernel=kernel).fit(*noisy(noise=3.0))


def test_some_dual_variables_are_at_their_bounds():
    X, y = noisy(noise=3.0)
    alpha = fit(X, y).dual_coef_[0]
    assert (alpha == 4).any() and (alpha == 0).any() and ((alpha > 0) & (alpha < 4)).any()


@pytest.mark.parametrize("max_iter", [1, 2])
def test_fits_without_convergence_have_valid_certificates(max_iter, tuned):
    tuned(newton={"max_steps": 1})
    X, y = noisy(noise=3.0)
    with pytest.warns(match="relative duality gap reached"):
        short = fit(X, y, 100.0, eps=1e-12, max_iter=max_iter)
    (certificate,) = short.certificates_
    assert certificate.dual <= optimum(0, 100.0) * (1 + 1e-9)
    w = np.append(short.coef_[0], short.intercept_[0])
    primal = objective(w, oracles.data_of(X, y), np.full(300, 100.0))[0]
    assert primal == pytest.approx(certificate.primal, rel=1e-9)


def test_a_solver_that_is_not_applicable_is_an_error_with_the_reason():
    X, y = noisy(noise=3.0)
    expected = (
        r"solver='conjugate' is not applicable here: .*either upper bounds or a diagonal.*"
        r"'modified_huber' has both\. Allowed here: 'auto', 'newton', 'unlearning', 'dcd'\."
    )
    for call in ("fit", "explain"):
        with pytest.raises(ValueError, match=expected):
            getattr(Auto(loss=ModifiedHuber, solver="conjugate"), call)(X, y)


def test_the_gap_of_samples_at_the_optimum_is_not_below_zero():
    slacks = np.random.default_rng(0).random((100, 50))
    assert all(ModifiedHuber(1.0).gap_of_samples(each, 2 * each) > 0 for each in slacks)


def test_the_plan_is_explained():
    explanation = Auto(loss=ModifiedHuber).explain(*noisy(noise=3.0))
    assert explanation.loss == "modified_huber"
    assert explanation.solver == "newton"
    assert "modified_huber" in repr(explanation)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("solver", ["auto", "dcd"])
def test_over_a_kernel_it_is_proven_by_decomposition_and_by_dual_coordinate_descent(kernel, solver):
    X, y = noisy(80, noise=3.0)
    classifier = fit(X, y, kernel=kernel, eps=1e-2, max_iter=5000, solver=solver)
    assert classifier.converged_
    assert classifier.solver_ == {"auto": "decomposition", "dcd": "dcd"}[solver]


def test_with_infinite_C_it_becomes_the_hard_margin():
    X, y = noisy(40, 60, noise=3.0)
    one, other = (
        Auto(loss=loss, C=np.inf, random_state=0).fit(X, y) for loss in (ModifiedHuber, "hinge")
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_losses_are_given_as_classes():
    X, y = noisy(noise=3.0)
    for name, loss in (("hinge", Hinge), ("squared_hinge", SquaredHinge)):
        by_name, by_class = (Auto(loss=given, random_state=0).fit(X, y) for given in (name, loss))
        np.testing.assert_array_equal(by_name.coef_, by_class.coef_)
    with pytest.raises(ValueError, match="loss"):
        Auto(loss=dict).fit(X, y)
