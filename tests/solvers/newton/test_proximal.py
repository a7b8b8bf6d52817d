"""Fits with other penalties: optima of other solvers, true proofs, and what must not change them."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import real_data
from scipy import sparse
from scipy.optimize import linprog, minimize, minimize_scalar
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import margins
from margins import persistence
from margins.losses import loss_of
from margins.regularisers import L1, L2, Bounded, ElasticNet, Prior, Regulariser, Weighted
from margins.solvers.penalised import Penalty
from margins.solvers.proof import Claim, PrimalPoint, Proof
from margins.solvers.specification import Specification
from margins.training.training_set import binary_problem

PENALTIES = {
    "l1": L1(),
    "elasticnet": ElasticNet(0.5),
    "signs": Bounded(lower=0),
    "bounded l1": Bounded(-0.5, 1, L1()),
    "prior": Prior(0.5, ElasticNet(0.25)),
    "away from 0": Bounded(lower=0.25),
    "prior out of bounds": Bounded(upper=0, penalty=Prior(0.5)),
}


def samples(seed, m=40, d=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) * rng.choice([0.1, 1, 10], d)
    y = np.where(X[:, :3] @ [1, -1, 0.1] + rng.standard_normal(m) > 0.3, 1, -1)
    return X, y


def objective(classifier, X, y, regulariser):
    """Return the objective of a fitted classifier, computed apart from it."""
    terms, slacks = regulariser.terms(X.shape[1]), 1 - y * classifier.decision_function(X)
    losses = np.maximum(slacks, 0) ** (1 if classifier.loss == "hinge" else 2)
    value = terms.value(classifier.coef_[0]) + classifier.C * losses.sum()
    if classifier.fit_intercept and classifier.penalize_intercept:
        b = classifier.intercept_[0] / classifier.intercept_scaling
        value += regulariser.ridge * b * b / 2 + regulariser.l1 * abs(b)
    return value


def best_value(X, y, C, regulariser, loss, penalised, seed):
    """Return the best objective that a general minimiser finds, over w = p - q and the slacks."""
    m, d = X.shape
    terms = regulariser.terms(d)
    n = d + 1  # with an intercept
    ridge, l1, centre, lower, upper = (
        np.append(values, end)
        for values, end in zip(
            terms, (regulariser.ridge, regulariser.l1, 0, -np.inf, np.inf), strict=True
        )
    )
    if not penalised:
        ridge[-1] = l1[-1] = 0
    samples = y[:, None] * np.hstack([X, np.ones((m, 1))])
    # w - centre = p - q with p, q >= 0, and slacks s >= 1 - w.y, s >= 0.
    matrix = np.hstack([samples, -samples, np.eye(m)])
    limits = 1 - samples @ centre
    low, high = lower - centre, upper - centre
    bounds = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
    bounds += [(max(-b, 0), max(-a, 0)) for a, b in zip(low, high, strict=True)]
    bounds += [(0, None)] * m
    linear = np.concatenate([l1, l1, np.full(m, C if loss == "hinge" else 0.0)])
    start = linprog(linear + 1e-3, A_ub=-matrix, b_ub=-limits, bounds=bounds)
    assert start.status == 0
    if loss == "hinge" and not ridge.any():
        return float(linear @ linprog(linear, A_ub=-matrix, b_ub=-limits, bounds=bounds).x)
    square = 2 * C if loss == "squared_hinge" else 0.0

    def value(v):
        w, s = v[:n] - v[n : 2 * n], v[2 * n :]
        gradient = np.concatenate([ridge * w, -ridge * w, square * s]) + linear
        return 0.5 * ridge @ (w * w) + 0.5 * square * s @ s + linear @ v, gradient

    constraint = {"type": "ineq", "fun": lambda v: matrix @ v - limits, "jac": lambda v: matrix}
    found = minimize(
        value, start.x, jac=True, bounds=bounds, constraints=constraint, method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-12},
    )  # fmt: skip
    return float(found.fun)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("penalised", [True, False])
@pytest.mark.parametrize("name", PENALTIES)
def test_optimum_of_a_general_minimiser(name, penalised, loss):
    regulariser = PENALTIES[name]
    for seed in (0, 1):
        X, y = samples(seed, m=14, d=4)
        C = (0.3, 3.0)[seed]
        params = {"C": C, "penalty": regulariser, "loss": loss, "penalize_intercept": penalised}
        classifier = margins.MarginClassifier(**params, eps=1e-6).fit(X, y)
        (certificate,) = classifier.certificates_
        assert classifier.converged_ and certificate.gap < 1e-5
        assert certificate.primal == pytest.approx(objective(classifier, X, y, regulariser), rel=1e-9)
        best = best_value(X, y, C, regulariser, loss, penalised, seed)
        assert certificate.dual <= best * (1 + 1e-7)
        assert best <= certificate.primal * (1 + 1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize(("rho", "free"), [(0.7, False), (1.0, True), (0.0, False)])
@pytest.mark.parametrize("name", PENALTIES)
def test_the_best_constant_classifier_is_that_of_a_general_minimiser(name, rho, free, loss):
    (X, y), regulariser, loss = samples(2, m=15, d=3), PENALTIES[name], loss_of(loss, 0.3)
    specification = Specification(C=0.3, sq_intercept_scaling=rho**2, has_free_intercept=free)
    data, penalty = binary_problem(X, y > 0, specification, loss).data, Penalty(regulariser, 3)
    ridge, l1 = (0, 0) if free or rho == 0 else (regulariser.ridge / rho**2, regulariser.l1 / rho)

    def objective(b):
        return 0.5 * ridge * b * b + l1 * abs(b) + loss.value(y * (X @ penalty.start + b))

    inside = minimize_scalar(objective, bounds=(-9, 9), method="bounded", options={"xatol": 1e-12}).x
    points = [0.0, inside, *(y - X @ penalty.start)] if rho > 0 else [0.0]
    best = regulariser.terms(3).value(penalty.start) + min(map(objective, points))
    assert penalty.constant_objective(loss, data) == pytest.approx(best, rel=1e-13)


def test_a_start_is_best_if_only_scaling_and_rounding_are_left():
    penalty = Penalty(L2(), 1)
    for left, a, is_best in (1e-9, 0, True), (1e-6, 0, False), (1e-9, 1e-12, False), (0, 1e-12, True):
        assert penalty.is_start_best(1.0, 1 - left, np.array([a]), 1e-9) == is_best


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_accurate_gap_is_the_difference_of_both_objectives(loss):
    (X, y), loss, w, alpha = samples(2, m=15, d=3), loss_of(loss, 0.3), np.full(4, 0.5), np.full(15, 0.2)
    data = binary_problem(X, y > 0, Specification(C=0.3, sq_intercept_scaling=1.0), loss).data
    point = PrimalPoint(w, y * (X @ w[:3] + w[3]), 1.0, None)
    claim = Claim(data, loss, point, SimpleNamespace(dual=alpha, n_updates=0), 0.0, None)
    proof = Penalty(L1(), 3).certified(Proof(constant=4.5), claim, None)
    difference = proof.certificate.primal - proof.certificate.dual
    assert proof.standing.accurate_gap == pytest.approx(difference, rel=1e-12) and proof.dual_scale < 0.9


@pytest.mark.parametrize("C", [0.01, 1, 100])
def test_l1_is_the_problem_of_linear_svc(C):
    X, y = load_breast_cancer(return_X_y=True)
    X = X / X.max(axis=0)
    signs = np.where(y == 1, 1, -1)
    ours = margins.MarginClassifier(C=C, penalty="l1", eps=1e-5, intercept_scaling=2.0).fit(X, y)
    theirs = LinearSVC(
        C=C, penalty="l1", dual=False, intercept_scaling=2.0, tol=1e-5, max_iter=20_000, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LIBLINEAR does not converge
        theirs.fit(X, y)
    theirs.loss, theirs.penalize_intercept = "squared_hinge", True
    (certificate,) = ours.certificates_
    assert certificate.gap < 2.1e-5
    assert objective(theirs, X, signs, L1()) >= certificate.dual
    assert objective(theirs, X, signs, L1()) <= (1.03 if C == 100 else 1.0001) * certificate.primal


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("name", ["l1", "elasticnet", "bounded l1"])
def test_storage_and_order_change_no_optimum(name, loss):
    X, y = samples(3, m=60, d=30)
    X[np.abs(X) < 0.3] = 0
    params = dict(penalty=PENALTIES[name], loss=loss, penalize_intercept=False, eps=1e-5)
    fits = [margins.MarginClassifier(**params).fit(Z, y) for Z in (X, sparse.csr_matrix(X), X[:, ::-1])]
    values = [fit.certificates_[0].primal for fit in fits]
    assert np.ptp(values) <= 3e-5 * values[0]
    single = margins.MarginClassifier(**params).fit(X.astype(np.float32), y)
    assert single.certificates_[0].primal == pytest.approx(values[0], rel=1e-4)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_classes_one_by_one_and_in_pairs(n_threads):
    X, y = load_iris(return_X_y=True)
    for multi_class in ("ovr", "ovo"):
        params = {"penalty": "l1", "multi_class": multi_class, "eps": 1e-4}
        fits = [margins.MarginClassifier(**params, n_jobs=n).fit(X, y) for n in (None, n_threads)]
        assert all(certificate.gap <= 2e-4 for certificate in fits[0].certificates_)
        np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


def test_an_l1_ratio_near_0_is_the_ridge():
    X, y = samples(5)
    near = margins.MarginClassifier(penalty="elasticnet", l1_ratio=1e-7, eps=1e-6).fit(X, y)
    ridge = margins.MarginClassifier(eps=1e-6).fit(X, y)
    np.testing.assert_allclose(near.coef_, ridge.coef_, rtol=1e-3, atol=1e-4)
    none = margins.MarginClassifier(penalty="elasticnet", l1_ratio=0, eps=1e-6).fit(X, y)
    np.testing.assert_array_equal(none.coef_, ridge.coef_)


def test_weights_follow_scaled_and_permuted_features():
    X, y = samples(6)
    factors, order = np.array([0.5, 1, 2, 4, 1, 1, 8, 1]), np.random.default_rng(0).permutation(8)
    fit = margins.MarginClassifier(penalty=L1(), eps=1e-7).fit(X, y)
    scaled = margins.MarginClassifier(penalty=Weighted(factors, L1()), eps=1e-7).fit(X * factors, y)
    np.testing.assert_allclose(scaled.coef_ * factors, fit.coef_, rtol=1e-3, atol=1e-5)
    permuted = margins.MarginClassifier(penalty=L1(), eps=1e-7).fit(X[:, order], y)
    np.testing.assert_allclose(permuted.coef_[0], fit.coef_[0, order], rtol=1e-3, atol=1e-5)


def test_constraints_that_are_inactive_change_nothing():
    X, y = samples(7)
    free = margins.MarginClassifier(eps=1e-7).fit(X, y)
    signs = np.sign(free.coef_[0])
    bounded = Bounded(np.where(signs > 0, 0, -np.inf), np.where(signs < 0, 0, np.inf))
    same = margins.MarginClassifier(penalty=bounded, eps=1e-7).fit(X, y)
    np.testing.assert_allclose(same.coef_, free.coef_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_distant_bounds_and_a_tiny_ridge_change_no_proof(loss):
    """r* is finite, but so large beyond l1 that it would prove nothing."""
    X = np.random.default_rng(0).standard_normal((1000, 20))
    y = np.where(X[:, :3].sum(axis=1) + X[:, 3] * X[:, 4] > 0, 1, -1)
    penalties = L1(), Bounded(-1e8, 1e8, L1()), Bounded(-0.01, 1e8, L1()), ElasticNet(1 - 1e-12)
    fits = [
        margins.MarginClassifier(penalty=penalty, loss=loss, C=10, eps=1e-4).fit(X, y)
        for penalty in penalties
    ]
    assert all(fit.converged_ for fit in fits)
    assert fits[1].n_accesses_ == fits[0].n_accesses_
    assert max(fit.n_accesses_ for fit in fits) < 1.5 * fits[0].n_accesses_


@pytest.mark.parametrize("penalty", [Bounded(lower=0), Prior(1.0, L2()), ElasticNet(1e-9)])
def test_the_improvement_is_proven_however_small_the_ridge_leaves_it(penalty):
    X, y = samples(8)
    fit = margins.MarginClassifier(penalty=penalty, eps=1e-2, fit_intercept=False).fit(1e-9 * X, y)
    (certificate,) = fit.certificates_
    assert certificate.gap < 1e-14 and certificate.improvement >= 0.9


def test_small_units_need_a_proof_of_the_improvement():
    X, y = samples(8)
    fit = margins.MarginClassifier(penalty=ElasticNet(0.5), C=1e-6, eps=1e-2).fit(X, y)
    (certificate,) = fit.certificates_
    assert certificate.improvement == 1 and not fit.coef_.any()  # the constant classifier is optimal
    tiny = margins.MarginClassifier(penalty=Bounded(lower=0), eps=1e-2).fit(1e-6 * X, y)
    assert tiny.certificates_[0].improvement >= 0.9 and tiny.coef_.any()


def test_the_share_that_a_length_proves_is_true():
    """Nine tenths of the step to the optimum win 99 % in units in which losses are nearly linear."""
    (X, y), loss = samples(8), loss_of("squared_hinge", 1.0)
    X, penalty = 1e-7 * X, Penalty(Prior(0.5, Weighted(4.0)), 8)
    data, alpha = binary_problem(X, y > 0, Specification(C=1.0), loss).data, 2 - y * X.sum(axis=1)
    w = 0.5 + 0.9 * X.T @ (alpha * y) / 4
    point, dual_side = PrimalPoint(w, y * (X @ w), 0.0, None), SimpleNamespace(dual=alpha, n_updates=0)
    proof = Proof(penalty.constant_objective(loss, data))
    proof = penalty.certified(proof, Claim(data, loss, point, dual_side, 0.0, None), None)
    assert 0.98 <= proof.certificate.improvement <= 0.99 + 1e-6


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_features_far_from_0_with_a_free_intercept(loss):
    X, y = samples(9, m=80)
    params = {"penalty": "l1", "loss": loss, "penalize_intercept": False, "eps": 1e-4}
    near, far = (margins.MarginClassifier(**params).fit(Z, y) for Z in (X, X + 1e4))
    assert far.certificates_[0].primal == pytest.approx(near.certificates_[0].primal, rel=3e-4)


def test_more_features_than_samples():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 400)), np.repeat([0, 1], 15)
    for parameters in ({}, {"loss": "hinge"}, {"penalize_intercept": False}):
        fit = margins.MarginClassifier(penalty="l1", C=10, eps=1e-4, **parameters).fit(X, y)
        assert fit.certificates_[0].gap < 3e-4
        assert np.count_nonzero(fit.coef_) <= 31


@pytest.mark.parametrize("penalised", [True, False])
@pytest.mark.parametrize("penalty", ["l1", "elasticnet", Bounded(lower=0)])
def test_a_large_c_of_the_hinge_loss_is_the_hard_margin(penalty, penalised):
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 300)), np.repeat([0, 1], 20)
    params = {"penalty": penalty, "loss": "hinge", "penalize_intercept": penalised, "eps": 1e-3}
    fits = [margins.MarginClassifier(**params, C=C).fit(X, y) for C in (1e2, 1e6)]
    first, second = (fit.certificates_[0].primal for fit in fits)
    assert first == pytest.approx(second, rel=2e-3)
    for fit in fits:
        assert np.min((2 * y - 1) * fit.decision_function(X)) > 1 - 1e-3


def test_a_rare_class_without_a_better_model_than_a_constant_one():
    """The last digits of the objective hide no improvement."""
    if "w8a" not in real_data.available():
        pytest.skip(f"{real_data.VARIABLE} does not lead to w8a: it is not part of the project")
    data = real_data.load("w8a")
    fit = margins.MarginClassifier(penalty="l1", loss="hinge", C=0.01).fit(data.X, data.y)
    assert fit.converged_ and fit.certificates_[0].improvement == 1 and not fit.coef_.round(6).any()


@pytest.mark.parametrize("penalised", [True, False])
def test_noise_is_proven_to_be_noise(penalised):
    """As far as can be computed nothing can be won: the last digits of dual variables do not matter."""
    for seed in (2, 7, 10, 17):
        X, y = np.random.default_rng(seed).standard_normal((30, 5)), np.arange(30) < 4
        fit = margins.MarginClassifier(
            penalty=Bounded(-1, 1), loss="hinge", C=0.1, penalize_intercept=penalised
        ).fit(X, y)
        assert fit.converged_ and fit.certificates_[0].improvement == 1 and not fit.coef_.round(5).any()


@pytest.mark.parametrize("seed", [0, 2, 10])
def test_a_model_that_is_better_than_a_constant_one_beside_a_feature_in_large_units(seed):
    """Its values cancel, and hide nothing of what the others can win."""
    rng, y = np.random.default_rng(seed), np.repeat([1, -1], 200)
    number, others = rng.standard_normal(200), rng.standard_normal((400, 2))
    others[:, 0] += 0.2 * y
    X = np.c_[np.r_[number, number] * 1e8, others]
    parameters = {"penalty": "elasticnet", "loss": "hinge", "C": 0.01, "penalize_intercept": False}
    (one,) = margins.MarginClassifier(**parameters).fit(X, y).certificates_
    (best,) = margins.MarginClassifier(**parameters, eps=1e-6).fit(others, y).certificates_
    constant = 0.01 * len(y)
    assert constant - one.primal >= (one.improvement - 1e-3) * (constant - best.primal)


@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.5), Bounded(lower=0)])
def test_a_large_c_of_the_squared_hinge_loss_with_few_samples(penalty):
    """Only a path along C tells which of them have a loss."""
    rng = np.random.default_rng(4)
    X = np.abs(rng.standard_normal((80, 200))) * 10.0 ** rng.uniform(0, 2, 200)
    y = (X / X.std(axis=0))[:, :9].sum(axis=1) + 3 * rng.standard_normal(80) > 7.2
    fit = margins.MarginClassifier(penalty=penalty, C=1e3, eps=1e-2, penalize_intercept=False).fit(X, y)
    assert fit.converged_ and fit.n_accesses_ < 600 * len(X)  # 5,000 to 30,000 without
    fit = margins.MarginClassifier(penalty=penalty, C=1e5, eps=1e-4, penalize_intercept=False).fit(X, y)
    assert fit.converged_ and fit.n_accesses_ < 1000 * len(X)


@pytest.mark.parametrize("penalty", [Prior(0.1), Weighted(2.0)])
def test_a_smooth_loss_is_smoothed_where_its_steps_are_hard(penalty):
    """A ridge alone, more weights than samples, features in different units: all samples matter."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((60, 300))) * 10.0 ** rng.uniform(0, 2, 300)
    y = (X / X.std(axis=0))[:, :9].sum(axis=1) + 30 * rng.standard_normal(60) > 7.2
    fit = margins.MarginClassifier(penalty=penalty, C=1e3, eps=1e-2).fit(X, y)
    assert fit.converged_ and fit.n_accesses_ < 400 * len(X)  # 1,400 and more in 5 s otherwise


def wide(seed):
    """More weights than samples, whose labels are mostly random."""
    rng = np.random.default_rng(seed)
    X = np.abs(rng.standard_normal((60, 150)))
    return X, (X / X.std(axis=0))[:, :9].sum(axis=1) + 10 * rng.standard_normal(60) > 12


def test_steps_on_a_loss_that_has_just_been_smoothed_may_lose_what_others_won():
    fit = margins.MarginClassifier(penalty="l1", C=1e7, eps=1e-3, penalize_intercept=False)
    assert fit.fit(*wide(9)).converged_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_ends_early_returns_its_best_weights():
    penalty = ElasticNet(0.7)
    fit = margins.MarginClassifier(penalty=penalty, C=1e7, max_iter=1, penalize_intercept=False)
    (certificate,) = fit.fit(*wide(0)).certificates_
    assert certificate.gap < 0.1  # 3,000 with the last weights


@pytest.mark.parametrize(("loss", "seed"), [("squared_hinge", 12), ("squared_hinge", 36), ("hinge", 11)])
def test_steps_whose_gain_is_below_the_rounding_of_objectives_are_taken(loss, seed):
    """The dual value, which needs |a| <= l1, is not as accurate as the objective yet."""
    rng = np.random.default_rng(seed)
    X, y = 50 * np.abs(rng.standard_normal((150, 1))), rng.random(150) < 0.5
    assert margins.MarginClassifier(penalty="l1", loss=loss, C=800, eps=1e-4).fit(X, y).converged_


@pytest.mark.parametrize("penalised", [True, False])
def test_a_feature_that_is_held_hides_no_signal_in_small_units(penalised):
    """Noise is measured feature by feature: its spread is a million times that of the signal."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 20)
    held, signal = 40 - 5 * y + rng.standard_normal(40), 1 + y + 0.3 * rng.standard_normal(40)
    fit = margins.MarginClassifier(penalty=Bounded(lower=0), C=0.003, penalize_intercept=penalised)
    fit.fit(np.c_[held, 1e-5 * signal], y)
    assert fit.converged_ and fit.coef_[0, 0] == 0 and fit.coef_[0, 1] > 1e-7


@pytest.mark.parametrize("penalty", [Bounded(lower=0), Weighted(2.0), ElasticNet(0.05)])
def test_many_more_features_than_samples(penalty):
    """A Hessian of rank 20 beside a ridge."""
    X, y = np.random.default_rng(0).standard_normal((20, 3000)), np.arange(20) % 2
    fit = margins.MarginClassifier(penalty=penalty, C=10, eps=1e-3).fit(X, y)
    assert fit.n_iter_ == 1 and fit.certificates_[0].gap < 3e-3
    assert fit.n_accesses_ <= 50 * len(X)  # hundreds if coordinates are minimised one by one


@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("spread", [1e-2, 1e-4])
def test_nearly_equal_features(C, spread):
    """Along their difference the losses of few samples curve, and a step may be short by thousands."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(100), np.arange(100) % 2 * 2 - 1
    X = np.column_stack([x, x + spread * rng.standard_normal(100)])
    fit = margins.MarginClassifier(penalty="l1", loss="hinge", C=C, fit_intercept=False, eps=1e-4)
    fit.fit(X, y)
    products = y[:, None] * X
    A = np.hstack([-products, products, -np.eye(100)])
    optimum = linprog(np.r_[np.ones(4), np.full(100, C)], A_ub=A, b_ub=-np.ones(100)).fun
    assert fit.certificates_[0].primal <= (1 + 1e-4) * optimum and fit.n_iter_ <= 20


@pytest.mark.parametrize(
    ("penalty", "C", "unit", "penalised"),
    [("l1", 1e6, 1, True), ("l1", 1, 1e4, False), (Weighted(2.0), 1, 1e4, False)],
)
def test_losses_far_above_the_penalty(penalty, C, unit, penalised):
    """The dual variables are feasible only where the smoothed problem is solved to many digits."""
    X, y = load_breast_cancer(return_X_y=True)
    X = unit * (X / X.max(axis=0) if unit == 1 else (X - X.mean(axis=0)) / X.std(axis=0))
    fit = margins.MarginClassifier(penalty=penalty, loss="hinge", C=C, penalize_intercept=penalised)
    assert fit.fit(X, y).certificates_[0].gap <= 0.01 and fit.n_iter_ <= 20


def test_paths_searches_and_warm_starts():
    X, y = samples(10, m=60)
    path = margins.svm_path(X, y, Cs=[0.03, 0.3, 3], penalty="l1", loss="hinge", eps=1e-3)
    for C, one in zip(path.Cs, path.classifiers, strict=True):
        alone = margins.MarginClassifier(C=C, penalty="l1", loss="hinge", eps=1e-3).fit(X, y)
        assert one.certificates_[0].primal == pytest.approx(alone.certificates_[0].primal, rel=2e-3)
    search = margins.MarginClassifierCV(Cs=3, cv=3, penalty="elasticnet", l1_ratio=0.9).fit(X, y)
    assert search.estimator_.certificates_[0].gap <= 0.021
    warm = margins.MarginClassifier(penalty="l1", warm_start=True, eps=1e-4).fit(X, y)
    assert warm.set_params(C=2).fit(X, y).certificates_[0].gap < 2.1e-4


class Grown(Regulariser):
    """A plug-in: the ridge of each feature grows."""

    ridge = 1.0

    def terms(self, n_features):
        return super().terms(n_features)._replace(ridge=1.0 + np.arange(n_features))


@pytest.mark.parametrize(("loss", "most"), [("hinge", 20), ("squared_hinge", 5)])
def test_a_warm_start_is_the_last_optimum_with_its_intercept(loss, most):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10))
    y = X[:, 0] + 2 + rng.standard_normal(200) > 0
    fit = margins.MarginClassifier(loss=loss, penalty=ElasticNet(0.5), eps=1e-6, warm_start=True)
    n_cold = fit.fit(X, y).n_accesses_
    assert fit.fit(X, y).n_accesses_ <= most * len(X) <= n_cold / 4


def test_a_plug_in_is_a_weighted_ridge():
    X, y = samples(11)
    weights = np.sqrt(1.0 + np.arange(8))
    plug_in = margins.MarginClassifier(penalty=Grown(), eps=1e-6).fit(X, y)
    plain = margins.MarginClassifier(eps=1e-6).fit(X / weights, y)
    np.testing.assert_allclose(plug_in.coef_[0] * weights, plain.coef_[0], rtol=1e-3, atol=1e-5)


def test_a_plug_in_with_wrong_numbers_is_an_error():
    class Nothing(Regulariser):
        pass

    class Short(Grown):
        def terms(self, n_features):
            return super().terms(n_features - 1)

    class Five(Grown):
        def terms(self, n_features):
            return [1, 0, 0, -1, 1]

    with pytest.raises(TypeError, match=r"terms of Five\(\) must return Terms. Got \[1, 0, 0, -1, 1\]"):
        margins.MarginClassifier(penalty=Five()).fit(*samples(0))

    class Without(Grown):  # a number that a weight may have
        def __init__(self, bound):
            self.bound = bound

        def terms(self, n_features):
            bound = np.full(n_features, self.bound)
            return super().terms(n_features)._replace(**{"lower" if self.bound > 0 else "upper": bound})

    class Alone(Grown):  # terms of features, but no ridge of an intercept
        ridge = 0

    for penalty, message in (
        (Nothing(), "Got ridge=0, l1=0, centre=0"),
        (Short(), r"Got \[7\]"),
        (Without(np.inf), r"terms of Without\(bound=inf\) must have .* lower=inf, upper=inf for"),
        (Without(-np.inf), "lower=-inf, upper=-inf for feature 0"),
        (Alone(), "for a penalised intercept: its ridge and l1 are those of the class"),
    ):
        with pytest.raises(ValueError, match=message):
            margins.MarginClassifier(penalty=penalty).fit(*samples(0))


def test_the_numbers_of_a_plug_in_must_have_an_optimum():
    for numbers in (
        {"ridge": -1, "l1": 1}, {"l1": -1}, {"ridge": np.inf}, {"l1": np.inf}, {"centre": np.inf},
        {"lower": 1, "upper": 0}, {"ridge": 0, "lower": 0}, {"ridge": 0, "upper": 0},
    ):  # fmt: skip
        penalty, arrays = Grown(), {name: np.full(8, float(x)) for name, x in numbers.items()}
        penalty.terms = lambda n, arrays=arrays: Grown().terms(n)._replace(**arrays)
        with pytest.raises(ValueError, match="ridge >= 0 and l1 >= 0, one of them > 0 or two finite bo"):
            Penalty(penalty, 8)


@pytest.mark.parametrize("intercept", [{}, {"penalize_intercept": False}])
def test_a_plug_in_may_return_columns_of_numbers(intercept):
    class Column(Grown):
        shape = (8, 1)

        def terms(self, n_features):
            terms = super().terms(n_features)
            return type(terms)(*(values.reshape(self.shape) for values in terms))

    column, grown = (
        margins.MarginClassifier(penalty=penalty, **intercept).fit(*samples(0))
        for penalty in (Column(), Grown())
    )
    np.testing.assert_array_equal(column.coef_, grown.coef_)
    Column.shape = (2, 4)
    with pytest.raises(ValueError, match=r"8 numbers, one for each feature. Got \[\(2, 4\)\]"):
        margins.MarginClassifier(penalty=Column(), **intercept).fit(*samples(0))


@pytest.mark.parametrize("intercept", [{}, {"penalize_intercept": False}, {"fit_intercept": False}])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_an_optimum_of_0_is_proven(loss, intercept):
    fit = margins.MarginClassifier(penalty=Prior([2]), loss=loss, **intercept).fit([[1], [-1]], [1, 0])
    assert fit.converged_ and fit.coef_ == 2
    assert str(fit.certificates_[0]) == "objective 0, at most 0 % above the optimum"


@pytest.mark.parametrize("intercept", [{}, {"penalize_intercept": False}, {"fit_intercept": False}])
@pytest.mark.parametrize("penalty", [Bounded(-0.8, -0.8), Bounded(0.25, 0.25, L1()), Prior(3, L1())])
def test_the_hinge_loss_where_weights_stay(penalty, intercept):
    X, y = samples(1, d=4)
    fit = margins.MarginClassifier(penalty=penalty, loss="hinge", C=1e-3, eps=1e-6, **intercept)
    (certificate,) = fit.fit(X, y).certificates_
    assert fit.converged_ and np.ptp(fit.coef_) == 0
    assert certificate.gap < 1e-6 and certificate.improvement == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_objectives_beyond_the_range_of_numbers_end_the_fit():
    with pytest.warns(ConvergenceWarning):
        fit = margins.MarginClassifier(penalty=Prior(1e200)).fit(*samples(0))
    assert fit.certificates_[0].primal == np.inf


@pytest.mark.parametrize("penalty", [Prior(0.5), Bounded(0.25, 2, L1())])
def test_features_without_elements_have_a_weight(penalty):
    X = sparse.csr_array((np.array([1.0, -1, 2, -2]), ([0, 1, 2, 3], [0, 0, 7, 7])), (4, 100_000))
    fit = margins.MarginClassifier(penalty=penalty).fit(X, [1, 0, 1, 0])
    assert fit.coef_[0, 1] == penalty.terms(1).weights(np.zeros(1))[0] > 0
    (certificate,) = margins.certify(fit, X, [1, 0, 1, 0]).certificates
    assert certificate.primal == pytest.approx(fit.certificates_[0].primal)
    signs = np.array([1, -1, 1, -1])
    assert certificate.primal == pytest.approx(objective(fit, X, signs, penalty), rel=1e-9)


def test_files_hold_penalties(tmp_path):
    pytest.importorskip("skops")
    penalty = Bounded([0] * 8, 1, Prior(np.arange(8) / 8, Weighted(2, ElasticNet(0.25))))
    fit = margins.MarginClassifier(penalty=penalty).fit(*samples(0))
    persistence.dump(fit, tmp_path / "model.skops")
    assert persistence.load(tmp_path / "model.skops").penalty == penalty


def test_numbers_of_features_by_their_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = samples(0)
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    penalty = Bounded({"b": 0.5}, penalty=Prior({"a": 1}, L1()))
    same = Bounded(np.where(np.arange(8) == 1, 0.5, -np.inf), penalty=Prior(np.eye(8)[0], L1()))
    fit = margins.MarginClassifier(penalty=penalty, eps=1e-4).fit(frame, y)
    array_fit = margins.MarginClassifier(penalty=same, eps=1e-4).fit(X, y)
    np.testing.assert_allclose(fit.coef_, array_fit.coef_, rtol=1e-9)
    assert margins.certify(fit, frame, y).certificates[0].gap < 3e-4
    search = margins.MarginClassifierCV(penalty=penalty, Cs=[1.0], cv=2, eps=1e-4).fit(frame, y)
    np.testing.assert_allclose(search.coef_, fit.coef_, rtol=1e-9)
    assert fit.penalty == search.penalty == penalty
    empty = sparse.csr_array(X * (np.arange(8) > 1))
    frame = pandas.DataFrame.sparse.from_spmatrix(empty, columns=list("abcdefgh"))
    assert margins.MarginClassifier(penalty=penalty).fit(frame, y).coef_[0, :2].tolist() == [1, 0.5]
    with pytest.raises(ValueError, match="coef of Prior has names of features, so X must have them"):
        margins.MarginClassifier(penalty=penalty).fit(X, y)
    crossed = Bounded(lower={"c": 1}, upper={"c": 0})
    with pytest.raises(ValueError, match=r"at most upper. Got 1.0 and 0.0 for feature 'c'"):
        margins.MarginClassifier(penalty=crossed).fit(frame, y)
    pytest.importorskip("skops")
    persistence.dump(fit, tmp_path / "model.skops")
    assert persistence.load(tmp_path / "model.skops").penalty == penalty


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rbf", "penalty": "l1"}, "kernel of MarginClassifier must be 'linear' with"),
        ({"C": np.inf, "penalty": "l1"}, "C of MarginClassifier must be finite with"),
        ({"solver": "dcd", "penalty": "l1"}, "solver of MarginClassifier must be 'auto' or"),
        ({"l1_ratio": 0.5}, "l1_ratio of MarginClassifier must be None unless penalty='elasticnet'"),
        ({"penalty": "lasso"}, "'elasticnet' or a margins.regularisers.Regulariser. Got 'lasso'."),
        ({"penalty": Bounded([0, 0])}, "lower of Bounded must have one number for each of"),
    ],
)
def test_wrong_parameters_are_errors(parameters, message):
    with pytest.raises(ValueError) as error:
        margins.MarginClassifier(**parameters).fit(*samples(0))
    assert message in str(error.value)


def test_what_takes_only_the_ridge_says_so():
    X, y = samples(0)
    with pytest.raises(ValueError, match=r"penalty of .* must be 'l2'. Got 'l1'"):
        margins.leave_one_out(margins.MarginClassifier(penalty="l1"), X, y)


def test_explanation_names_the_penalty():
    X, y = samples(0)
    text = str(margins.MarginClassifier(penalty=L2()).explain(X, y))
    assert "L2" not in text
    assert "minimise L1()" in str(margins.MarginClassifier(penalty="l1").explain(X, y))
    elastic = margins.MarginClassifier(penalty="elasticnet", loss="hinge", C=1e-3).explain(X, y)
    assert elastic.solver.startswith("dcd") and "begin with it for a small C" in str(elastic)


def test_features_in_use_are_those_of_any_class():
    X, y = load_iris(return_X_y=True)
    fit = margins.MarginClassifier(penalty="l1", C=0.01).fit(X, y)
    expected = int((fit.coef_ != 0).any(axis=0).sum())
    search = margins.MarginClassifierCV(penalty="l1", Cs=[0.01], cv=2).fit(X, y)
    assert fit.n_features_ == search.n_features_ == fit.sparsify().n_features_ == expected < 4
    with pytest.raises(AttributeError, match="needs a linear classifier"):
        margins.MarginClassifier(kernel="rbf").fit(X, y).n_features_  # noqa: B018
