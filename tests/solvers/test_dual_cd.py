"""Dual coordinate descent and the kernel adatron, against LIBLINEAR and against plain NumPy."""

import math

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import integers, two_clouds
from properties import examples
from sample_problems import orders_of, seed_of
from scipy import sparse
from sklearn.svm import LinearSVC

import margins
from margins._update import WeightVector
from margins.data.binary_data import make_binary_data, rows_of
from margins.regularisers import L1, Bounded, ElasticNet, Prior, Weighted
from margins.rules import CoordinateStep, NoShrink, Rules, UnitMargin
from margins.solvers._dual_cd import PenalisedPasses, ShrinkingPasses
from margins.solvers.penalised import Penalty

Dcd, Adatron = margins.get("dcd"), margins.get("adatron")
LOSSES = ("squared_hinge", "hinge")
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SEEDS = st.integers(0, 10**6)


def descend(data, upper, orders, eta=None, diagonal=0.0, removes=None, tolerance=1e-12):
    """Algorithm 1 of Hsieh et al. (2008): (alpha, w, moves), moves being (k, alpha_k after)."""
    m = len(data)
    upper = np.broadcast_to(upper, m)
    N = np.array([y @ y for y in data]) + diagonal
    alpha, w, moves = np.zeros(m), np.zeros(data.shape[1]), []
    for order in orders:
        for k in order:
            gradient = w @ data[k] + diagonal * alpha[k] - 1
            if alpha[k] == 0:
                PG = min(gradient, 0)
            elif alpha[k] == upper[k]:
                PG = max(gradient, 0)
            else:
                PG = gradient
            if abs(PG) > tolerance:
                step = 1 / N[k] if eta is None else eta
                after = min(max(alpha[k] - gradient * step, 0), upper[k])
                if after != alpha[k]:
                    w = w + (after - alpha[k]) * data[k]
                    alpha[k] = after
                    moves.append((k, after))
    return alpha, w, moves


def orders_of_fit(m, n_epochs, seed):
    """As a fit that ends with a proof permutes: one order, mixed again and again."""
    order, generator = np.arange(m, dtype=np.int32), np.random.default_rng(seed)
    for _ in range(n_epochs):
        order = oracles.mixed(order, generator.bit_generator.random_raw())
        yield order


# ------------------------------------------------------------------------------------------ the oracle


@quiet
@pytest.mark.parametrize("name", ["dcd", "adatron", "adatron with a step"])
@examples(40)
@given(
    C=st.sampled_from([0.5, 4.0, math.inf]),
    loss=st.sampled_from(LOSSES),
    seed=SEEDS,
    n_epochs=st.integers(1, 6),
)
def test_fit_makes_the_oracles_updates(name, C, loss, seed, n_epochs):
    X, y = integers(seed, m=8, d=3)
    soft = loss == "squared_hinge" and not math.isinf(C)
    diagonal = 1 / (2 * C) if soft else 0.0
    data = oracles.data_of(X, y)
    sqradius = max(y @ y for y in data) + diagonal
    eta = 1.5 / sqradius if name == "adatron with a step" else None
    params = {"C": C, "loss": loss, "eps": 1e-15, "max_iter": n_epochs, "random_state": 3}
    if name == "dcd":
        classifier = Dcd(shrinking=False, **params).fit(X, y)
    else:
        classifier = Adatron(eta=eta, **params).fit(X, y)
    upper = C if loss == "hinge" else math.inf
    orders = orders_of_fit(len(y), classifier.n_iter_, seed_of(3))
    alpha, w, moves = descend(data, upper, orders, eta, diagonal)
    # Whether the last rounding counts as a move is not the point.
    assert abs(classifier.n_updates_ - len(moves)) <= sum(
        abs(after - before) < 1e-9 for before, after in consecutive(moves)
    )
    dual = classifier.dual_coef_[0]
    if alpha.any() and not math.isinf(np.linalg.norm(alpha)):
        assert_allclose(dual / dual.sum(), alpha / alpha.sum(), atol=1e-9)
        direction = np.append(classifier.coef_[0], classifier.intercept_[0])
        if np.linalg.norm(w) > 1e-6:
            scale = direction @ w / (w @ w)
            assert_allclose(direction, scale * w, atol=1e-7 * np.linalg.norm(direction))


def consecutive(moves):
    """Of every move the dual variable before and after."""
    last = {}
    for k, after in moves:
        yield last.get(k, 0.0), after
        last[k] = after


def shrinking_oracle(data, upper, diagonal, order, generator, passes, alpha, w):
    """One full epoch by LIBLINEAR's rule: moves, and the counts of the full pass."""
    N = np.array([y @ y for y in data]) + diagonal
    upper = np.broadcast_to(upper, len(data))
    active, most, least = np.array(order), math.inf, -math.inf
    moves, accesses, changed_in_full_pass, settled = [], 0, None, False
    for number in range(passes + 1):
        if number:
            generator.shuffle(active)
        left, violations, n_changed = [], [], 0
        for k in active:
            accesses += 1
            gradient = w @ data[k] + diagonal * alpha[k] - 1
            if alpha[k] == 0:
                if gradient > most:
                    continue
                PG = min(gradient, 0)
            elif alpha[k] >= upper[k]:
                if gradient < least:
                    continue
                PG = max(gradient, 0)
            else:
                PG = gradient
                settled = settled or abs(PG) < 1e-10
            left.append(k)
            violations.append(PG)
            if abs(PG) > 1e-12:
                after = min(max(alpha[k] - gradient / N[k], 0), upper[k])
                if after != alpha[k]:
                    w += (after - alpha[k]) * data[k]
                    alpha[k] = after
                    moves.append(k)
                    n_changed += 1
        if changed_in_full_pass is None:
            changed_in_full_pass = n_changed
        active = np.array(left, dtype=np.int32)
        worst = [max(violations, default=0), min(violations, default=0)]
        # From here on signs of roundings would decide what is removed.
        settled = settled or worst[0] - worst[1] < 1e-8
        if len(active) == 0 or n_changed == 0:
            break
        most = max(violations) if max(violations) > 0 else math.inf
        least = min(violations) if min(violations) < 0 else -math.inf
    return moves, accesses, changed_in_full_pass, settled


@pytest.mark.parametrize(("upper", "delta2"), [(0.3, 0.0), (math.inf, 0.5), (1.0, 0.25)])
@pytest.mark.parametrize("passes", [0, 1, 4])
@examples(8)
@given(seed=SEEDS)
def test_shrinking_removes_the_samples_that_the_oracle_removes(passes, upper, delta2, seed):
    X, y = two_clouds(seed, m=15, d=3)
    rows = rows_of(X)
    materialised = oracles.data_of(X, y)
    data = make_binary_data(rows, rows.sqnorms() + 1, y > 0, 1.0, delta2, upper)
    weights = WeightVector(3, 15)
    schedule = ShrinkingPasses((seed, 1), passes)
    generator = np.random.default_rng((seed, 1))
    rules = Rules(UnitMargin(), CoordinateStep(), NoShrink())
    alpha, w, n_moves, n_accesses = np.zeros(15), np.zeros(4), 0, 0
    for order in orders_of(15, 4, seed):
        changed = schedule.full_epoch(data, weights, rules, order)
        moves, accesses, expected, settled = shrinking_oracle(
            materialised, upper, delta2, order, generator, passes, alpha, w
        )
        if settled:  # by now violations are roundings
            return
        n_moves, n_accesses = n_moves + len(moves), n_accesses + accesses
        assert changed == expected
        assert schedule.n_accesses == n_accesses
        assert weights.n_updates == n_moves
        assert_allclose(weights.dual, alpha, rtol=1e-9, atol=1e-9)
    assert passes == 0 or n_accesses > 4 * 15


def test_shrinking_processes_fewer_samples():
    X, y = two_clouds(m=400, distance=0.7)
    rows = rows_of(X)
    data = make_binary_data(rows, rows.sqnorms() + 1, y > 0, 1.0, 0.0, 1.0)
    weights, schedule = WeightVector(4, 400), ShrinkingPasses(0, 20)
    rules = Rules(UnitMargin(), CoordinateStep(), NoShrink())
    for order in orders_of(400, 10, 0):
        schedule.full_epoch(data, weights, rules, order)
    assert 10 * 400 < schedule.n_accesses < 10 * 21 * 400 / 2
    with pytest.raises(ValueError, match="need dual variables"):
        schedule.full_epoch(data, WeightVector(4), rules, order)


# ----------------------------------------------------------------------------------------- identities


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_objective_equals_that_of_LinearSVC(loss, shrinking, C):
    X, y = two_clouds(1)
    ours = Dcd(C=C, loss=loss, shrinking=shrinking, eps=1e-7, max_iter=100_000, random_state=0).fit(X, y)
    theirs = LinearSVC(C=C, loss=loss, dual=True, tol=1e-10, max_iter=10**6, random_state=0).fit(X, y)

    def objective(classifier):
        w = np.append(classifier.coef_[0], classifier.intercept_[0])
        slack = np.maximum(1 - oracles.data_of(X, y) @ w, 0)
        return 0.5 * w @ w + C * np.sum(slack if loss == "hinge" else slack**2)

    assert ours.converged_
    assert objective(ours) == pytest.approx(objective(theirs), rel=1e-6)
    assert ours.certificates_[0].dual <= objective(theirs) * (1 + 1e-12)


@quiet
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.5, math.inf])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_adatron_with_the_best_step_is_coordinate_descent_without_shrinking(kernel, C, loss):
    X, y = two_clouds(2)
    params = {"C": C, "loss": loss, "kernel": kernel, "eps": 1e-4, "max_iter": 50, "random_state": 1}
    one, other = Adatron(**params).fit(X, y), Dcd(shrinking=False, **params).fit(X, y)
    assert (one.solver_, other.solver_) == ("rules", "dcd")
    curves = [[epoch[:4] for epoch in fitted.learning_curve_[0]] for fitted in (one, other)]
    assert curves[0] == curves[1]
    assert_array_equal(one.dual_coef_, other.dual_coef_)
    assert_array_equal(one.intercept_, other.intercept_)


# --------------------------------------------------------------------------------- what is not allowed


@pytest.mark.parametrize("name", ["dcd", "adatron"])
@pytest.mark.parametrize("shrinking", [True, False])
def test_zero_row_of_the_hinge_loss_has_its_bound(name, shrinking):
    X, y = two_clouds(4, m=12)
    X[3] = 0
    params = {"shrinking": shrinking} if name == "dcd" else {}
    fit = margins.get(name)(loss="hinge", C=2.0, fit_intercept=False, random_state=0, **params).fit(X, y)
    assert fit.converged_
    assert fit.dual_coef_[0, 3] == pytest.approx(2.0)


def test_step_too_long_is_rejected_with_a_message():
    X, y = two_clouds()
    sqradius = np.max((X**2).sum(axis=1)) + 1 + 0.5
    name = r"adatron \(KernelAdatron\)"
    with pytest.raises(ValueError, match=rf"^eta of {name} must be below 2 / R.* Got 1\.0\."):
        Adatron(eta=1.0).fit(X, y)
    assert Adatron(eta=1.99 / sqradius, max_iter=20_000, eps=0.1).fit(X, y).converged_
    for eta in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=r"^eta of CoordinateStep must be in \[0, inf\)\. Got"):
            CoordinateStep(eta)
    for tolerance in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match=r"^tolerance of UnitMargin must be in \(0, 1\)\. Got"):
            UnitMargin(tolerance)


@pytest.mark.parametrize("scaling", [0.0, 1.5])
@pytest.mark.parametrize(("diagonal", "upper"), [(0.0, 0.2), (2.0, math.inf)])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array, np.asfortranarray])
def test_passes_with_a_regulariser_climb_to_its_optimum(form, diagonal, upper, scaling):
    rng = np.random.default_rng(4)
    X = np.float64(np.float32(rng.standard_normal((40, 6)) * (rng.random((40, 6)) < 0.7)))
    positive, rows = rng.random(40) < 0.6, rows_of(form(X))
    data = make_binary_data(rows, rows.sqnorms() + scaling, positive, scaling, diagonal, upper)
    bounded = Bounded(-0.1, 0.2, Prior(0.05, ElasticNet(0.3)))
    terms = Penalty(Weighted([0.5, 1, 2, 1, 1, 1], bounded), 6).terms_of(data)
    dual, total, values = np.zeros(40), np.zeros(6 + (scaling > 0)), []
    passes = PenalisedPasses(data, terms, dual, total)
    for order in orders_of_fit(40, 200, 0):
        passes.full_epoch(data, None, None, order)
        values.append(dual.sum() - 0.5 * diagonal * dual @ dual - terms.conjugate(total))
    assert np.diff(values).min() > -1e-13
    y = np.where(positive, 1, -1)
    augmented = np.column_stack([X, np.full(40, scaling**0.5)])[:, : len(total)]
    assert_allclose(total, augmented.T @ (y * dual), atol=1e-13)
    assert_array_equal(passes.primal, terms.weights(total))
    slacks = 1 - y * (X @ passes.primal[:6] + scaling**0.5 * passes.primal[6:].sum())
    slacks = np.maximum(slacks, 0)
    losses = upper * slacks if diagonal == 0 else slacks**2 / (2 * diagonal)
    assert terms.value(passes.primal) + losses.sum() - values[-1] < 1e-6


def test_the_hinge_loss_with_a_ridge_and_a_small_c_needs_passes_alone():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 20))
    y = np.where(X[:, 0] + rng.standard_normal(200) > 0, 1, -1)
    ridge = ElasticNet(0.1)
    for penalty, C, solver in [(ridge, 0.01, "dcd"), (ridge, 10.0, "newton"), (L1(), 0.01, "newton")]:
        fit = margins.MarginClassifier(loss="hinge", penalty=penalty, C=C, eps=1e-3).fit(X, y)
        assert (fit.solver_, fit.converged_) == (solver, True)
    closer = margins.MarginClassifier(loss="hinge", penalty=ridge, C=0.05, eps=1e-9).fit(X, y)
    assert (closer.solver_, closer.converged_) == ("dcd + newton", True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_only_epoch_of_a_fit_with_a_regulariser_has_all_passes():
    X, y = two_clouds(m=200, d=20, distance=0.1)
    params = {"loss": "hinge", "penalty": ElasticNet(0.1), "C": 0.05, "eps": 1e-9}
    first, second = (margins.MarginClassifier(**params, max_iter=n).fit(X, y) for n in (1, 2))
    assert (first.solver_, second.solver_) == ("dcd", "dcd + newton")
    assert first.n_accesses_ == 10 * 200 and first.certificates_[0].gap < 0.01 and second.converged_
