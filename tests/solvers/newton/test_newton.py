"""Newton steps: their sums, their fits against other solvers, and the phases that continue them."""

import math
from itertools import product

import numpy as np
import oracles
import pytest
from algorithm_groups import quiet
from exact_optima import maximum_margin
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import clouds, integers
from properties import examples
from sample_problems import ALL_LAYOUTS, data_of
from scipy.optimize import minimize
from sklearn.base import clone

import margins
from margins._update import WeightVector
from margins.data._passes import combination, products
from margins.losses import Hinge, SquaredHinge
from margins.solvers.auto import Costs
from margins.solvers.base import Problem
from margins.solvers.driver import Run
from margins.solvers.newton import newton
from margins.solvers.newton._dense_hessian import DenseHessian
from margins.tuning import TUNING


def sides(classifier, X, y, C, loss, index=0):
    """(primal, dual, alpha, w, sum alpha y) by hand: nothing but the fitted attributes and the data."""
    # In long double: what the sums of double lose must not look like a lie.
    rho = float(classifier.intercept_scaling) if classifier.fit_intercept else 0.0
    which = classifier.classes_[index if len(classifier.classes_) > 2 else 1]
    Y = oracles.data_of(X, np.where(np.asarray(y) == which, 1, -1), rho).astype(np.longdouble)
    w = classifier.coef_[index]
    if rho:
        w = np.append(w, classifier.intercept_[index] / rho)
    w, C = w.astype(np.longdouble), np.broadcast_to(C, len(Y)).astype(np.longdouble)
    alpha = classifier.dual_coef_[index].astype(np.longdouble)
    slack = np.maximum(1 - Y @ w, 0)
    a = alpha @ Y
    primal, dual = w @ w / 2, alpha.sum() - a @ a / 2
    if loss == "hinge":
        primal += (C * slack).sum()
    else:
        primal += (C * slack**2).sum()
        dual -= (alpha[C > 0] ** 2 / (4 * C[C > 0])).sum()
    return primal, dual, alpha, w, a


def optimum(X, y, C, loss, rho):
    """The least objective by SciPy's solvers: of the primal, or of the maximum margin."""
    Y = oracles.data_of(X, y, rho)
    m, n = Y.shape
    if loss == "hinge":
        unit = C.sum()
        constraints = np.hstack([Y, np.eye(m)])  # of the weights and the slacks
        found = minimize(
            lambda z: (0.5 * z[:n] @ z[:n] + C @ z[n:]) / unit,
            np.append(np.zeros(n), np.ones(m)),
            jac=lambda z: np.append(z[:n], C) / unit,
            method="SLSQP",
            bounds=[(None, None)] * n + [(0, None)] * m,
            constraints={
                "type": "ineq",
                "fun": lambda z: constraints @ z - 1,
                "jac": lambda z: constraints,
            },
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        w = found.x[:n]
        return w @ w / 2 + C @ np.maximum(1 - Y @ w, 0)
    return 0.5 / maximum_margin(oracles.data_of(X, y, rho, 1 / (2 * C))) ** 2


def fit(X, y, **params):
    return margins.MarginClassifier(**{"random_state": 0, "eps": 1e-6, **params}).fit(X, y)


Auto = margins.MarginClassifier
LOSSES = ("squared_hinge", "hinge")
each_loss = pytest.mark.parametrize("loss", LOSSES)


@pytest.mark.parametrize("layout", ALL_LAYOUTS)
@pytest.mark.parametrize("d", [5, 20])  # the second: in dense blocks
def test_sums_over_samples_equal_sums_over_materialised_samples(d, layout):
    for rho, ones in ((0.0, False), (2.0, False), (2.0, True)):
        X, y = integers(ones=ones, d=d)
        Y = oracles.data_of(X, y, rho)
        data = data_of(ALL_LAYOUTS[layout](X), y, rho)
        for chosen in ([], [2], [0, 2, 3, 7, 11], range(12)):
            assert_sums_are_exact(data, Y, np.array(chosen, dtype=np.int32))


def assert_sums_are_exact(data, Y, members):
    """Of the samples `members` of the materialised samples Y."""
    some, n = Y[members], Y.shape[1]
    vector = np.arange(1.0, n + 1)
    assert_array_equal(products(data, members, vector), some @ vector)
    dual = (members % 3).astype(float)
    assert_array_equal(combination(data, members, dual), dual @ some)
    C = (np.arange(12) % 3 + 1.0) ** 2  # whose roots are exact
    in_blocks = Costs(Problem(data, SquaredHinge(1.0))).adds_in_blocks
    hessian = DenseHessian(data, C, in_blocks)
    hessian.py_update(members, np.ones(len(members), dtype=np.int8))
    matrix = (some.T * C[members]) @ some
    assert_array_equal(hessian.matrix, np.tril(matrix))
    for every in (3, 2, 1):  # first a third leaves, then most, so that the sum is recomputed, then all
        free = np.arange(len(members)) % every != 0
        hessian.py_update(members, free.astype(np.int8))
        matrix = (some[free].T * C[members[free]]) @ some[free]
        assert_array_equal(hessian.matrix, np.tril(matrix))


def test_steps_do_not_start_at_a_negligible_scale():
    # Columns of very different scale: no multiple of what accesses find is better than w = 0.
    for seed in (2, 3, 4, 11, 13, 16):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(150, 20))) * 10.0 ** rng.integers(-4, 5, 20)
        y = rng.choice([-1, 1], 150)
        classifier = Auto(loss="hinge", C=1e3, eps=0.01, random_state=0, max_iter=40)
        assert classifier.fit(X, y).converged_, seed


@each_loss
@pytest.mark.parametrize(
    ("C", "intercept", "weighted", "n_classes"),
    [
        (1e-3, False, True, 2),
        (1e-3, True, False, 3),
        (1.0, True, True, 3),
        (100.0, False, False, 3),
        (100.0, True, True, 2),
        (1e4, True, False, 2),
        (1e4, False, True, 3),
    ],
)
def test_fits_reach_the_optimum_and_prove_it(C, intercept, weighted, n_classes, loss):
    X, y = clouds(seed=n_classes, n_classes=n_classes)
    weight, class_weight, scaling = np.ones(len(y)), None, 2.0
    if weighted:
        weight = np.random.default_rng(0).integers(0, 4, len(y)) / 2
        class_weight = {0: 3.0}
    eps = 1e-5
    classifier = Auto(
        C=C, loss=loss, eps=eps, fit_intercept=intercept, intercept_scaling=scaling,
        class_weight=class_weight, random_state=0,
    ).fit(X, y, weight)  # fmt: skip
    penalty = C * weight * np.where((y == 0) & weighted, 3.0, 1.0)
    kept = penalty > 0
    assert classifier.converged_
    for index, certificate in enumerate(classifier.certificates_):
        primal, dual, alpha, w, a = sides(classifier, X, y, penalty, loss, index)
        positive = classifier.classes_[index if n_classes > 2 else 1]
        signs = np.where(y == positive, 1, -1)
        best = optimum(X[kept], signs[kept], penalty[kept], loss, scaling if intercept else 0.0)
        assert certificate.primal == pytest.approx(float(primal), rel=1e-9)
        assert dual <= certificate.dual * (1 + 1e-9)
        assert certificate.dual <= best * (1 + 1e-8)
        assert best * (1 - 1e-8) <= primal <= best * (1 + 3 * eps)
        assert (alpha >= 0).all()
        assert (alpha[~kept] == 0).all()
        if loss == "hinge":
            assert (alpha <= penalty * (1 + 1e-15)).all()
        # Strong convexity: true of any w and any feasible alpha, hence of the scaled ones.
        assert ((w - a) ** 2).sum() / 2 <= (primal - dual) * (1 + 1e-9) + 1e-13 * primal


@quiet
@examples(24)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(LOSSES),
    scale=st.sampled_from([-8, -3, 0, 3, 8]),
    C=st.sampled_from([-6, -2, 0, 2, 6]),
    intercept=st.booleans(),
    eps=st.sampled_from([0.5, 1e-2, 1e-6]),
)
@example(seed=0, loss="hinge", scale=0, C=0, intercept=True, eps=1.0)
def test_certificates_are_valid_bounds(seed, loss, scale, C, intercept, eps):
    X, y = integers(seed, m=24, d=3)
    X[4:8], X[:, 1] = X[8:12], X[:, 0]  # rows and columns twice
    X, C = X * 10.0**scale, 10.0**C
    classifier = Auto(C=C, loss=loss, eps=eps, fit_intercept=intercept, max_iter=60, random_state=0)
    classifier.fit(X, y)
    primal, dual, alpha, w, a = sides(classifier, X, y, C, loss)
    certificate = classifier.certificates_[0]
    assert certificate.primal == pytest.approx(float(primal), rel=1e-9)
    # Zero weights and another fit's, finer one, are no better than what is proven.
    tight = clone(classifier).set_params(eps=1e-9, random_state=1, solver="conjugate")
    other = sides(tight.fit(X, y), X, y, C, loss)[0]
    assert certificate.dual <= min(other, C * len(y)) * (1 + 1e-9)
    # Of long rows that cancel, double precision leaves in |a| this much.
    rho = 1.0 if intercept else 0.0
    lengths = np.linalg.norm(oracles.data_of(X, y, rho), axis=1)
    unit = (np.sqrt(len(y)) + 8) * float(np.finfo(float).eps) / 2
    rounding = 2 * unit * float(alpha @ lengths)
    assert dual <= certificate.dual * (1 + 1e-9) + rounding * (float(np.sqrt(a @ a)) + rounding)
    is_near = certificate.fraction >= 1 - eps if loss == "squared_hinge" else certificate.gap <= eps
    assert classifier.converged_ == (is_near and certificate.improvement >= 1 - np.sqrt(eps))


@each_loss
def test_newton_steps_continue_with_a_large_gap(loss):
    # Of the hinge loss with a large C some epochs in a row may gain nothing before the next one does.
    for seed, C in product((2, 4, 5), (1e4, 1e6)):
        X, y = clouds(seed=seed)
        assert fit(X, y, loss=loss, C=C, eps=1e-5, max_iter=60).converged_, (seed, C)


@each_loss
def test_an_optimum_before_the_first_step_is_proven_by_its_own_dual_variables(loss):
    # With one weight the certificate's line search ends at the optimum, possibly 0, while the dual
    # variables of the rules are not optimal.
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = np.round(rng.standard_normal((40, 1))), rng.integers(0, 2, 40)
        one = Auto(loss=loss, C=30.0, fit_intercept=False, eps=1e-7, random_state=0).fit(X, y)
        assert one.converged_ and one.n_iter_ < 10, seed


@each_loss
@pytest.mark.parametrize("solver", ["auto", "newton", "conjugate", "unlearning", "dcd"])
def test_rows_that_are_all_0_leave_weights_of_0_and_a_proof(solver, loss):
    one = Auto(loss=loss, solver=solver, fit_intercept=False).fit(np.zeros((6, 2)), [0, 1] * 3)
    assert one.converged_ and not one.coef_.any()
    assert_allclose(one.certificates_[0].dual, 6)


def weighted_clouds(seed):
    """Penalties that spread over 20 powers of 10."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    y = np.where(X @ rng.normal(size=4) + 0.5 * rng.normal(size=80) > 0, 1, -1)
    return X, y, 10.0 ** rng.uniform(-10, 10, 80)


@quiet
@pytest.mark.parametrize(("seed", "C"), [(0, 1e4), (1, 1e10), (2, 1e4), (3, 1e10)])
def test_no_epoch_proves_more_than_its_dual_variables(seed, C, monkeypatch):
    # Dual variables that are large for a while leave their rounding in any sum that is only updated.
    X, y, weight = weighted_clouds(seed)
    Y, certify, n_checked = oracles.data_of(X, y).astype(np.longdouble), Run.certify, [0]

    def check(run):
        certify(run)
        alpha = run.dual_scale * run.weights.dual.astype(np.longdouble)
        a = alpha @ Y
        claimed = run.dual_scale * (run.weights.dual_sum - run.dual_scale * run.weights.sqnorm / 2)
        assert claimed <= (alpha.sum() - a @ a / 2) * (1 + 1e-9)
        n_checked[0] += 1

    monkeypatch.setattr(Run, "certify", check)
    classifier = Auto(C=C, loss="hinge", eps=1e-8, max_iter=60, random_state=0).fit(X, y, weight)
    certificates = [epoch.certificate for epoch in classifier.learning_curve_[0]]
    assert n_checked[0] >= sum(certificate is not None for certificate in certificates) > 0


def test_certificates_hold_no_number_that_overflows():
    X, y = integers()
    data, weights = data_of(X, y), WeightVector(X.shape[1], len(y))
    weights.assign(data, np.full(len(y), 1e200))
    for sqnorm in (1.0, math.inf):
        bounds = Hinge(np.full(len(y), 2.0)).bounds(np.full(len(y), 1e200), sqnorm, weights)
        assert (bounds.primal, bounds.dual) == (2 * len(y), 0)


def test_long_rows_among_short_rows_leave_no_rounding_errors():
    # From w = 0 the Hessian is that of all samples; of the long ones, once they are classified, it
    # keeps the rounding, which is more than all short ones together.
    for seed in range(10):
        rng, m = np.random.default_rng(seed), 200
        X = rng.normal(size=(2 * m, 1))
        y = X[:, 0] > 0
        X[:m] *= 1e5
        X[m:] *= 1e-3
        y[m:] ^= rng.random(m) < 0.3
        classifier = fit(X, y, C=1e6, eps=1e-6, fit_intercept=False)
        assert classifier.converged_ and classifier.n_iter_ <= 4, seed


@pytest.mark.parametrize("seed", [38, 130, 206, 218, 350, 550, 578, 580])
def test_outlying_rows_do_not_keep_steps_from_the_optimum(seed):
    # Three rows in ten are up to a thousand times as long as the others, and C is 9e4 or more.
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(4, 60)), int(rng.integers(2, 12))
    X = rng.normal(size=(m, d))
    X *= 10 ** (rng.uniform(0, 3, size=(m, 1)) * (rng.random((m, 1)) < 0.3))
    direction = X[:, 0] / np.linalg.norm(X, axis=1)
    y = rng.normal(size=m) + direction * rng.choice([0, 2, 20]) > 0
    params = {"C": 10 ** rng.uniform(0, 8), "eps": 10 ** rng.uniform(-4, -2)}
    assert params["C"] > 9e4 - 1
    classifier = fit(X, y, loss="hinge", fit_intercept=bool(rng.integers(2)), max_iter=20, **params)
    assert classifier.converged_


@pytest.mark.parametrize("seed", [0, 2, 7, 13])
@pytest.mark.parametrize("free", [False, True])
def test_steps_prove_the_optimum_of_few_samples_at_a_large_cost(seed, free):
    # Each step changes which of a few slacks, weighted by C, are 0: line searches decide.
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(3, 12)), int(rng.integers(1, 12)))
    X, y = np.round(3 * rng.normal(size=shape)), rng.permutation(np.arange(shape[0]) % 2)
    options = {"loss": "hinge", "C": 1e4, "eps": 1e-3, "penalize_intercept": not free, "random_state": 0}
    steps = Auto(solver="newton", **options).fit(X, y)
    other = Auto(kernel="precomputed", **options).fit(X @ X.T, y)
    assert steps.converged_ and steps.n_iter_ <= 20
    (one,), (another,) = steps.certificates_, other.certificates_
    assert one.dual <= another.primal * (1 + 1e-9) and another.dual <= one.primal * (1 + 1e-9)


@quiet
def test_a_working_set_that_misleads_is_followed_by_steps_over_all_samples(tuned):
    # At a large C, the samples that it leaves out would come to cost most of the objective.
    rng = np.random.default_rng(32)
    X = rng.normal(size=(300, 60))
    y = X[:, 0] + 0.1 * rng.normal(size=300) > 0
    epochs = []
    for ratio in (math.inf, TUNING.newton.max_objective_ratio):
        tuned(newton={"max_objective_ratio": ratio})
        fit = Auto(loss="hinge", C=1e6, eps=1e-5, solver="newton", random_state=0).fit(X, y)
        epochs.append(fit.n_iter_)
    assert fit.converged_ and epochs[1] < epochs[0]


def tire(monkeypatch, n_steps):
    """From the next Newton step but `n_steps` on there are none; accesses begin, as on larger data."""
    monkeypatch.setattr(Costs, "needs_passes", True)
    left = [n_steps]

    class Tired(newton.Objective):
        def minimise(self, share, enough, most_steps):
            made = super().minimise(share, enough, min(most_steps, left[0]))
            left[0] -= made
            return made

    monkeypatch.setattr(newton, "Objective", Tired)
    return left


@quiet
@each_loss
@pytest.mark.parametrize("n_steps", [0, 1, 2, 5])
def test_rules_finish_what_newton_steps_do_not(n_steps, loss, monkeypatch):
    left = tire(monkeypatch, n_steps)
    X, y = clouds(m=200)
    for max_iter in (1, 2, 3, 4, 1000):
        left[0] = n_steps
        classifier = fit(X, y, loss=loss, max_iter=max_iter)
        primal, dual, alpha, *_ = sides(classifier, X, y, 1.0, loss)
        assert classifier.certificates_[0].primal == pytest.approx(float(primal), rel=1e-9)
        # The certificate's dual value is the best of all epochs, the dual variables are of the last.
        certificates = [epoch.certificate for epoch in classifier.learning_curve_[0]]
        duals = [certificate.dual for certificate in certificates if certificate is not None]
        assert 0.1 * duals[0] <= dual <= duals[-1] * (1 + 1e-12)
    assert classifier.converged_
    assert classifier.n_iter_ < 60
    assert dual == pytest.approx(duals[-1], rel=1e-12)


@quiet
@pytest.mark.parametrize("loss", LOSSES)
def test_rules_continue_from_the_best_dual_variables(loss, monkeypatch):
    # The first step has spoilt them.
    X, y = clouds(m=200)
    left = tire(monkeypatch, 1)
    for max_iter in (3, 4, 5):
        left[0] = 1
        short = fit(X, y, loss=loss, max_iter=max_iter)
        _, given_up = [epoch.mistakes == 0 for epoch in short.learning_curve_[0]][-2:]
        if given_up:
            break
    assert given_up
    dual = sides(short, X, y, 1.0, loss)[1]
    assert dual == pytest.approx(short.certificates_[0].dual, rel=1e-9)


@quiet
def test_an_epoch_may_have_no_working_set():
    for seed in (6, 7, 9):  # 24 to 77 epochs of each
        X = 1e8 * np.random.default_rng(seed).standard_normal((15, 5))
        params = {"loss": "hinge", "C": 100, "multi_class": "ovo", "penalize_intercept": False}
        classifier = margins.MarginClassifier(**params, random_state=0).fit(X, np.arange(15) % 3)
        assert all(certificate.primal < math.inf for certificate in classifier.certificates_)
