"""Newton steps: their sums against plain NumPy, their fits against solvers of other makes."""

import math
import pickle
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kernels import LAYOUTS, patterns_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import lsq_linear, minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

import margins
from margins import newton
from margins._implicit_curvature import ImplicitCurvature
from margins._newton import combination, movable, products
from margins._summed_curvature import SummedCurvature
from margins._update import WeightVector
from margins.certificate import HardMargin, Hinge, SquaredHinge
from margins.newton import are_few, has_small_hessian
from margins.newton_stages import NewtonClassifier, need_visits, presentations_worth
from margins.patterns import rows_of
from margins.threads import one_thread, set_n_threads
from margins.training import Run

Mpu = margins.get("mpu")
LOSSES = ("squared_hinge", "hinge")
OTHERS = ("pdm", "pdm-succ", "mpcs", "mpvs")
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
each_loss = pytest.mark.parametrize("loss", LOSSES)


def _unsorted(X):
    """CSR whose rows store their columns in descending order."""
    X = sparse.csr_array(X)
    for begin, end in zip(X.indptr, X.indptr[1:], strict=False):
        X.indices[begin:end] = X.indices[begin:end][::-1].copy()
        X.data[begin:end] = X.data[begin:end][::-1].copy()
    X.has_sorted_indices = False
    return X


def _with_zeros(X):
    """CSR that stores every element, zeros too."""
    m, d = X.shape
    return sparse.csr_array((X.ravel(), np.tile(np.arange(d), m), np.arange(0, m * d + 1, d)), (m, d))


ALL_LAYOUTS = LAYOUTS | {"unsorted CSR": _unsorted, "CSR with zeros": _with_zeros}


def integers(seed=0, m=12, d=5, ones=False):
    """Small integers with empty rows, so that all sums are exact, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (m, d)) if ones else rng.integers(-2, 3, (m, d))
    X[[2, m - 1]] = 0
    y = np.where(rng.random(m) < 0.5, 1, -1)
    y[0], y[-1] = 1, -1
    return X.astype(float), y


def clouds(seed=0, m=80, d=4, n_classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(m) % n_classes
    return rng.normal(size=(m, d)) + 0.8 * rng.normal(size=(n_classes, d))[y], y


# --------------------------------------------------------------------------------------------- the sums


def test_rows_that_store_elements_twice_behind_a_flag_that_denies_it_need_no_more_room_than_there_is():
    # 25 elements in each row of 20 features; the flag is what keeps `rows_of` from looking.
    X = sparse.csr_array(
        (np.ones(50), np.array([0, 1, 0, 1, 0] * 10), np.array([0, 25, 50])), shape=(2, 20)
    )
    X.has_canonical_format = True
    curvature = SummedCurvature(patterns_of(X, np.array([1, -1]), 0.0), np.ones(2))
    curvature.py_update(np.arange(2, dtype=np.int32), np.ones(2, dtype=np.int8))
    assert_array_equal(curvature.matrix[:2, :2], [[450, 0], [300, 200]])


@pytest.mark.parametrize("columns", [[3, 1, 0, 5], [4, 1, 4, 0], [0, 2, 2, 2]])
def test_elements_in_any_order_and_in_parts_add_up_in_the_hessian(columns):
    X = sparse.csr_array(
        (np.array([1.0, 2, 3, 5]), np.array(columns), np.array([0, 4, 4])), shape=(2, 40)
    )
    X.has_canonical_format = True  # as above
    curvature = SummedCurvature(patterns_of(X, np.array([1, -1]), 2.0), np.array([3.0, 1]))
    curvature.py_update(np.arange(2, dtype=np.int32), np.ones(2, dtype=np.int8))
    rows = np.zeros((2, 41))
    np.add.at(rows[0], columns, [1.0, 2, 3, 5])
    rows[0, 40], rows[1, 40] = 2, -2
    assert_array_equal(curvature.matrix, np.tril((rows.T * [3, 1]) @ rows))


@pytest.mark.parametrize("layout", ALL_LAYOUTS)
@pytest.mark.parametrize("rho", [0.0, 2.0])
@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("chosen", [[], [2], [0, 2, 3, 7, 11], range(12)])
@pytest.mark.parametrize("d", [5, 20])  # the second: in dense blocks
def test_sums_over_patterns_are_those_of_the_materialised_ones(layout, rho, ones, chosen, d):
    X, y = integers(ones=ones, d=d)
    Y = oracles.patterns_of(X, y, rho)
    patterns = patterns_of(ALL_LAYOUTS[layout](X), y, rho)
    members = np.array(chosen, dtype=np.int32)
    some, n = Y[members], Y.shape[1]
    vector = np.arange(1.0, n + 1)
    assert_array_equal(products(patterns, members, vector), some @ vector)
    dual = (members % 3).astype(float)
    assert_array_equal(combination(patterns, members, dual), dual @ some)
    C = (np.arange(12) % 3 + 1.0) ** 2  # whose roots are exact
    curvature = SummedCurvature(patterns, C)
    curvature.py_update(members, np.ones(len(members), dtype=np.int8))
    hessian = (some.T * C[members]) @ some
    assert_array_equal(curvature.matrix, np.tril(hessian))
    for every in (3, 2, 1):  # a third leaves, then most, the sum of the others afresh, then all
        free = np.arange(len(members)) % every != 0
        curvature.py_update(members, free.astype(np.int8))
        hessian = (some[free].T * C[members[free]]) @ some[free]
        assert_array_equal(curvature.matrix, np.tril(hessian))


def test_patterns_at_the_band_and_at_their_bounds_count_as_movable():
    # w.y: below, at and above the band of 1/2 around 1; dual variables 0, between, and exactly C.
    p = np.repeat([0.25, 0.5, 1.0, 1.5, 1.75], 3)
    C = np.full(15, 0.1)
    dual = np.tile([0.0, 0.05, 0.1], 5)
    nobody = np.zeros(15, dtype=np.int8)
    settled = (p > 1.5) & (dual == 0)
    assert_array_equal(movable(p, dual, C, False, nobody, 0.5), np.flatnonzero(~settled))
    at_most = (p < 0.5) & (dual == C)
    moves = movable(p, dual, C, True, nobody, 0.5)
    assert_array_equal(moves, np.flatnonzero(~(settled | at_most)))
    assert moves.dtype == np.int32
    assert_array_equal(movable(p, dual, C, True, nobody, math.inf), np.arange(15))
    assert_array_equal(movable(p, dual, C, True, nobody + 1, 0.5), np.arange(15))
    dual[2] = np.nextafter(0.1, 0)  # just short of C: it may still grow
    assert 2 in movable(p, dual, C, True, nobody, 0.5)


@pytest.mark.parametrize("rho", [0.0, 3.0])
@pytest.mark.parametrize("d", [5, 20, 40])  # one row of 40 holds few numbers that are not 0
def test_curvature_follows_the_free_patterns(d, rho):
    X, y = integers(m=600, d=d)
    X[:, 20 if d == 20 else 5 :] = 0
    Y, C = oracles.patterns_of(X, y, rho), np.arange(600) % 4 + 1.0
    curvature = SummedCurvature(patterns_of(X, y, rho), C)
    rng = np.random.default_rng(0)
    vector = rng.normal(size=Y.shape[1])
    free = np.zeros(600, dtype=np.int8)
    for share in (0.6, 0.6, 0.2, 0.6):  # the third time most leave
        members = np.flatnonzero((rng.random(600) < 0.7) | (free == 1)).astype(np.int32)
        free[members] = rng.random(len(members)) < share
        curvature.py_update(members, free[members])
        assert_array_equal(curvature.held, free)
        hessian = np.eye(len(vector)) + 0.5 * (Y.T * (C * free)) @ Y
        x = vector.copy()
        assert curvature.py_solve(0.5, x)
        rtol = 1e-9 if curvature.is_double else 1e-5
        assert_allclose(x, np.linalg.solve(hessian, vector), rtol=rtol, atol=1e-3 * rtol)
    assert curvature.is_double == (d != 20)  # blocks: where features are not few, and few of them 0
    assert not curvature.py_solve(math.nan, x)
    assert not curvature.py_solve(0.5, np.full(len(vector), math.inf))


@pytest.mark.parametrize("trouble", ["same features", "large", "none"])
def test_curvature_is_summed_in_double_precision_where_single_does_not_tell(trouble):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 20)), rng.choice([-1, 1], 3000)
    if trouble == "same features":
        X[:, 7] = X[:, 3]
    elif trouble == "large":
        X *= 1e25
    Y, C = oracles.patterns_of(X, y, 0.0), rng.random(3000)
    curvature = SummedCurvature(patterns_of(X, y, 0.0), C)
    free = rng.random(3000) < 0.8
    everyone = np.arange(3000, dtype=np.int32)
    for _ in range(2):  # the second time some join and some leave
        curvature.py_update(everyone, free.astype(np.int8))
        vector = rng.normal(size=20)
        hessian = np.eye(20) + 1e3 * (Y.T * (C * free)) @ Y
        x = vector.copy()
        assert curvature.py_solve(1e3, x)
        error = np.abs(x - np.linalg.solve(hessian, vector)).max() / np.abs(x).max()
        assert error <= (1e-5 if trouble == "none" else 1e-8)
        assert curvature.is_double == (trouble != "none")
        free ^= rng.random(3000) < 0.2


@pytest.mark.parametrize("seed", [2, 3, 4, 11, 13, 16])
def test_steps_do_not_start_at_nothing(seed):
    # Columns of very different scale: no multiple of what visits find is better than w = 0.
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(150, 20))) * 10.0 ** rng.integers(-4, 5, 20)
    y = rng.choice([-1, 1], 150)
    assert Mpu(loss="hinge", C=1e3, eps=0.01, random_state=0, max_iter=40).fit(X, y).converged_


def test_visits_come_before_steps_unless_they_cost_more():
    rng = np.random.default_rng(0)
    for m, d, squared, bounded in [
        (2500, 8, False, False),  # 20,000 elements
        (2501, 8, True, True),
        (2000, 10, False, True),  # 20,000 elements
        (2001, 10, True, True),
        (100, 9, False, True),
    ]:
        patterns = patterns_of(rng.normal(size=(m, d)), np.where(np.arange(m) % 2, 1, -1))
        assert need_visits(patterns, SquaredHinge(1.0)) is squared
        assert need_visits(patterns, Hinge(1.0)) is bounded


@pytest.mark.parametrize("layout", ALL_LAYOUTS)
@pytest.mark.parametrize("rho", [0.0, 2.0])
@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
def test_implicit_curvature_solves_with_the_hessian_of_the_free_patterns(layout, rho, factor):
    rng = np.random.default_rng(0)
    X, y = integers(seed=1, m=40, d=9)
    patterns = patterns_of(ALL_LAYOUTS[layout](X), y, rho)
    Y = oracles.patterns_of(X, y, rho)
    steepness = rng.uniform(0.5, 2.0, 40)
    curvature = ImplicitCurvature(patterns, steepness, 10**6)
    for _ in range(3):  # another set each time
        members = np.flatnonzero(rng.random(40) < 0.7).astype(np.int32)
        free = (rng.random(len(members)) < 0.7).astype(np.int8)
        curvature.py_update(members, free)
        chosen = members[free == 1]
        hessian = np.eye(Y.shape[1]) + factor * (Y[chosen].T * steepness[chosen]) @ Y[chosen]
        vector = rng.normal(size=Y.shape[1])
        solution = vector.copy()
        assert curvature.py_solve(factor, solution)
        assert np.linalg.norm(hessian @ solution - vector) <= 0.1001 * np.linalg.norm(vector)
        assert vector @ solution > 0  # along it the objective falls
        assert not curvature.held.any()


def test_implicit_curvature_says_where_rounding_does_not_allow_a_solution():
    patterns = patterns_of(np.eye(3) * 1e50, [1, -1, 1], 0.0)
    curvature = ImplicitCurvature(patterns, np.ones(3), 100)
    curvature.py_update(np.arange(3, dtype=np.int32), np.ones(3, dtype=np.int8))
    assert not curvature.py_solve(1e250, np.ones(3))
    assert not curvature.py_solve(1.0, np.zeros(3))


def test_products_with_the_hessian_read_no_more_patterns_than_they_may():
    X, y = integers(m=30, d=9)
    curvature = ImplicitCurvature(patterns_of(X, y, 0.0), np.ones(30), 20)
    curvature.py_update(np.arange(30, dtype=np.int32), np.arange(30, dtype=np.int8) % 2)
    solution = np.random.default_rng(0).normal(size=9)
    assert curvature.py_solve(1e6, solution)  # as far as it has come
    assert curvature.n_read == 30  # two products, of 15 patterns each
    assert not curvature.py_solve(1e6, solution)
    assert curvature.n_read == 30


@each_loss
def test_steps_that_take_long_are_given_up_without_a_hessian(loss):
    rng = np.random.default_rng(0)
    X = sparse.csr_array((np.ones(8000), rng.integers(0, 300, 8000), np.arange(0, 8001, 8)), (1000, 300))
    X.sum_duplicates()
    y = np.where(X @ rng.normal(size=300) > 0, 1, -1)  # separable
    fit = Mpu(loss=loss, C=1e4, eps=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert fit.n_visits_ < 1000 * (2000 if loss == "hinge" else 700)


@pytest.mark.parametrize(
    ("name", "loss"),
    [("mpu", "hinge")] + [(name, "squared_hinge") for name in ("mpu", "pdm", "mpcs", "mpvs")],
)
def test_many_patterns_of_many_features_are_settled_without_a_hessian(name, loss, monkeypatch):
    kinds = []
    monkeypatch.setattr(
        newton, "ImplicitCurvature", lambda *given: kinds.append(given) or ImplicitCurvature(*given)
    )
    rng = np.random.default_rng(0)
    X = sparse.random(2000, 300, 0.02, format="csr", random_state=0)
    y = np.where(X @ rng.normal(size=300) + 0.5 * rng.normal(size=2000) > 0, 1, -1)
    parameters = {"loss": loss} if name == "mpu" else {}
    fit = margins.get(name)(C=1e3, eps=1e-3, random_state=0, **parameters).fit(X, y)
    assert fit.converged_
    assert kinds
    assert fit.n_visits_ < 2000 * (2000 if loss == "hinge" else 200)
    # The certificate, from coef_ and dual_coef_ alone.
    Y = oracles.patterns_of(X.toarray(), y, 1.0)
    w = np.append(fit.coef_[0], fit.intercept_)
    slacks = np.maximum(1 - Y @ w, 0)
    primal = w @ w / 2 + 1e3 * (slacks.sum() if loss == "hinge" else slacks @ slacks)
    assert primal == pytest.approx(fit.certificates_[0].primal, rel=1e-9)
    slow = margins.get("mpu")(C=1e3, eps=1e-2, random_state=1, newton=False, max_iter=10_000, loss=loss)
    slow.fit(X, y)
    assert slow.certificates_[0].dual <= primal * (1 + 1e-9)
    assert fit.certificates_[0].dual <= slow.certificates_[0].primal * (1 + 1e-9)


def test_steps_are_worth_more_visits_the_more_features_there_are():
    rng = np.random.default_rng(0)
    worth, few = {}, {}
    for m, d in [(3000, 10), (3000, 100), (3000, 1000), (3001, 1000), (1100, 1000)]:
        patterns = patterns_of(rng.normal(size=(m, d)), np.where(np.arange(m) % 2, 1, -1), 1.0)
        worth[m, d], few[m, d] = presentations_worth(patterns, SquaredHinge(1.0)), are_few(patterns)
    assert (
        3
        < worth[3000, 10]
        < worth[3000, 100]
        < worth[3001, 1000]
        < worth[3000, 1000]
        < worth[1100, 1000]
    )
    # Of 1000 features, 3000 x 1000^2 / 130 nanoseconds and more are some ten times 3000 x 1000 x 0.7.
    assert 10 < worth[3001, 1000] < 60
    assert list(few.values()) == [False, False, True, False, True]
    # A sparse pattern's outer product is one of its elements only.
    y = np.where(np.arange(20_000) % 2, 1, -1)
    X = sparse.random(20_000, 200, 0.02, format="csr", random_state=0)
    dense = patterns_of(X.toarray(), y)
    assert presentations_worth(patterns_of(X, y), SquaredHinge(1.0)) < 5
    assert presentations_worth(dense, SquaredHinge(1.0)) > 5
    # Without a small Hessian, steps make passes, those of the hinge loss more of them.
    X = patterns_of(sparse.random(20_000, 1000, 0.005, format="csr", random_state=0), y)
    assert 20 < presentations_worth(X, SquaredHinge(1.0)) < presentations_worth(X, Hinge(1.0))


def _with_steps_counted(monkeypatch):
    """Epochs of Newton steps, appended as they are played."""
    played, play = [], newton.NewtonEpochs.__call__

    def counted(self, run):
        played.append(run.n_epochs)
        return play(self, run)

    monkeypatch.setattr(newton.NewtonEpochs, "__call__", counted)
    return played


@quiet
@each_loss
@pytest.mark.parametrize(
    ("rank", "C", "steps"),
    [
        (350, 1.0, False),  # separable, as 360 random patterns of 350 features are
        (350, 100.0, False),
        (5, 1e-4, False),  # what visits find left is little
        (5, 1e3, True),  # not separable: patterns of five dimensions, labelled at random
    ],
)
def test_few_patterns_are_left_to_visits_unless_these_are_outpaced(loss, rank, C, steps, monkeypatch):
    played = _with_steps_counted(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 350))
    X = X if rank == 350 else X[:, :rank] @ X[:rank] / math.sqrt(rank)
    y = rng.choice([-1, 1], 360)
    fit = Mpu(loss=loss, C=C, eps=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert bool(played) is steps
    if steps:
        slow = Mpu(loss=loss, C=C, eps=1e-3, random_state=0, newton=False, max_iter=100).fit(X, y)
        assert fit.n_visits_ < slow.n_visits_ / 3


@pytest.mark.parametrize(("C", "steps"), [(1e-4, False), (1.0, True)])
def test_what_visits_have_nearly_settled_is_left_to_them(C, steps, monkeypatch):
    played = _with_steps_counted(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 200))
    y = np.where(X[:, 0] + rng.normal(size=3000) > 0, 1, -1)
    fit = Mpu(C=C, eps=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert bool(played) is steps


def test_the_hessian_is_small_where_it_is_no_larger_than_the_patterns():
    X = np.zeros((20, 4))
    y = np.where(np.arange(20) % 2, 1, -1)
    X.ravel()[:25] = 1.0  # 25 non-zeros: as many as 5 x 5, intercept counted
    for layout in ALL_LAYOUTS.values():
        assert has_small_hessian(patterns_of(layout(X), y, 1.0))
    X[0, 0] = 0.0
    for layout in ALL_LAYOUTS.values():
        assert not has_small_hessian(patterns_of(layout(X), y, 1.0))
        assert has_small_hessian(patterns_of(layout(X), y, 0.0))  # 24 >= 4 x 4


@pytest.mark.parametrize("shape", [(360, 350), (3000, 200)])
def test_a_threshold_of_zero_is_none_for_passes(shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), rng.choice([-1, 1], shape[0])
    assert Mpu(C=1e-3, eps=1e-3, before_run=1.0, random_state=0).fit(X, y).converged_


def test_newton_steps_serve_where_the_hessian_is_small_or_patterns_are_many():
    X, y = np.ones((20, 4)), np.where(np.arange(20) % 2, 1, -1)
    few = np.eye(12, 4)  # 3 times the features
    for loss in (SquaredHinge(1.0), Hinge(1.0)):
        assert newton.serves(patterns_of(X, y, 1.0), loss)
        assert (
            newton.serves(patterns_of(X[:6], y[:6], 1.0), loss) is False
        )  # 24 elements of few patterns
        assert newton.serves(patterns_of(few, y[:12], 1.0), loss) is False
        assert newton.serves(patterns_of(np.eye(13, 4), y[:13], 1.0), loss) is True  # of 4 elements
    assert not newton.serves(patterns_of(X, y, 1.0), HardMargin())
    kernel = SimpleNamespace(rows=SimpleNamespace(is_kernel=True))
    assert not newton.serves(kernel, SquaredHinge(1.0))


@pytest.mark.parametrize("layout", ALL_LAYOUTS)
def test_non_zeros_are_counted_whatever_is_stored(layout):
    for X, _ in (integers(), integers(ones=True)):
        rows, count = rows_of(ALL_LAYOUTS[layout](X)), np.count_nonzero(X)
        # What has been counted is kept from one question to the next.
        for least in (1, count // 2, count, count + 1, count, 0):
            assert rows.has_nonzeros(least) == (least <= count)


# --------------------------------------------------------------------------------------------- the fits


def sides(classifier, X, y, C, loss, index=0):
    """(primal, dual, alpha, w, sum alpha y) by hand: nothing but the fitted attributes and the data."""
    # In long double: what the sums of double lose must not look like a lie.
    rho = float(classifier.intercept_scaling) if classifier.fit_intercept else 0.0
    which = classifier.classes_[index if len(classifier.classes_) > 2 else 1]
    Y = oracles.patterns_of(X, np.where(np.asarray(y) == which, 1, -1), rho).astype(np.longdouble)
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
    """The least objective by SciPy's solvers: of the primal, or of its dual as least squares."""
    Y = oracles.patterns_of(X, y, rho)
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
    # The extended patterns' shortest sum with multiplicities of sum 1, but for the factor.
    A = np.vstack([Y.T, np.diag(1 / np.sqrt(2 * C)), np.ones(m)])
    beta = lsq_linear(A, np.append(np.zeros(len(A) - 1), 1), (0, math.inf), method="bvls", tol=1e-15).x
    return beta.sum() ** 2 / (2 * ((A[:-1] @ beta) ** 2).sum())


@each_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fits_reach_the_optimum_and_prove_it(n_classes, weighted, intercept, C, loss):
    X, y = clouds(seed=n_classes, n_classes=n_classes)
    weight, class_weight, scaling = np.ones(len(y)), None, 2.0
    if weighted:
        weight = np.random.default_rng(0).integers(0, 4, len(y)) / 2
        class_weight = {0: 3.0}
    eps = 1e-5
    classifier = Mpu(
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


def fit(X, y, **params):
    return Mpu(**{"random_state": 0, "eps": 1e-6, **params}).fit(X, y)


@each_loss
def test_fits_do_not_depend_on_the_layout(loss):
    X, y = integers(5, m=60)
    expected = fit(X, y, loss=loss, C=0.3)
    for layout in ALL_LAYOUTS.values():
        got = fit(layout(X), y, loss=loss, C=0.3)
        assert got.n_iter_ == expected.n_iter_
        assert_allclose(got.coef_, expected.coef_, rtol=1e-6, atol=1e-8)
        assert_allclose(got.dual_coef_, expected.dual_coef_, rtol=1e-6, atol=1e-8)


@each_loss
def test_classes_in_threads_are_bit_identical(loss):
    X, y = clouds(m=300, d=12, n_classes=4)
    one, two = (fit(X, y, loss=loss, n_jobs=n) for n in (1, 2))
    for name in ("coef_", "intercept_", "dual_coef_"):
        assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.certificates_ == two.certificates_


@quiet
@pytest.mark.parametrize(
    "params",
    [{"newton": False}, {"stop": "clean-pass"}, {"C": math.inf}, {"kernel": "rbf"}, {"kernel": "poly"}],
)
def test_papers_algorithm_visits_only(params, monkeypatch):
    def refuse(run):
        raise AssertionError("Newton steps")

    monkeypatch.setattr("margins.newton_stages.NewtonEpochs", refuse)
    X, y = clouds()
    with pytest.raises(AssertionError, match="Newton steps"):
        fit(X, y)
    fit(X, y, max_iter=5, eps=0.1, **params)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(LOSSES),
    scale=st.sampled_from([-8, -3, 0, 3, 8]),
    C=st.sampled_from([-6, -2, 0, 2, 6]),
    intercept=st.booleans(),
    eps=st.sampled_from([0.5, 1e-2, 1e-6]),
)
@example(seed=0, loss="hinge", scale=0, C=0, intercept=True, eps=1.0)
def test_certificates_never_lie(seed, loss, scale, C, intercept, eps):
    X, y = integers(seed, m=24, d=3)
    X[4:8], X[:, 1] = X[8:12], X[:, 0]  # rows and columns twice
    X, C = X * 10.0**scale, 10.0**C
    classifier = Mpu(C=C, loss=loss, eps=eps, fit_intercept=intercept, max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(X, y)
    primal, dual, alpha, w, a = sides(classifier, X, y, C, loss)
    certificate = classifier.certificates_[0]
    assert certificate.primal == pytest.approx(float(primal), rel=1e-9)
    # Zero weights and another fit's, finer one, are no better than what is proven.
    tight = Mpu(
        C=C, loss=loss, eps=1e-9, fit_intercept=intercept, max_iter=60, random_state=1, newton=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other = sides(tight.fit(X, y), X, y, C, loss)[0]
    assert certificate.dual <= min(other, C * len(y)) * (1 + 1e-9)
    assert dual <= certificate.dual * (1 + 1e-9)
    assert classifier.converged_ == certificate.proves(eps, loss)


@quiet
@each_loss
@pytest.mark.parametrize(
    ("visits", "max_iter"), [(True, 1), (True, 2), (True, 3), (False, 1), (False, 2)]
)
def test_fits_that_are_cut_short_say_so_and_prove_what_they_say(
    visits, max_iter, loss, capsys, monkeypatch
):
    monkeypatch.setattr(newton, "MOST_STEPS", 1)
    monkeypatch.setattr("margins.newton_stages.need_visits", lambda *_: visits)
    X, y = clouds()
    with pytest.warns(ConvergenceWarning, match=f"max_iter={max_iter} full epochs came first"):
        short = fit(X, y, loss=loss, eps=1e-9, max_iter=max_iter, verbose=1)
    assert capsys.readouterr().out.count("epoch ") == max_iter == short.n_iter_
    primal, dual, *_ = sides(short, X, y, 1.0, loss)
    certificate = short.certificates_[0]
    assert certificate.primal == pytest.approx(float(primal), rel=1e-9)
    best = optimum(X, np.where(y == 1, 1, -1), np.ones(len(y)), loss, 1.0)
    assert dual * (1 - 1e-12) <= certificate.dual <= best * (1 + 1e-8)
    longer = fit(X, y, loss=loss, eps=1e-9, max_iter=max_iter + 1)
    assert longer.n_visits_ >= short.n_visits_ + len(y)
    assert longer.n_iter_ == max_iter + 1 == len(longer.learning_curve_[0])


@each_loss
def test_fitted_classifiers_are_pickled_and_cloned(loss):
    X, y = clouds(n_classes=3)
    classifier = fit(X, y, loss=loss)
    again = clone(classifier).fit(X, y)
    assert_array_equal(again.coef_, classifier.coef_)
    copy = pickle.loads(pickle.dumps(classifier))
    assert_array_equal(copy.decision_function(X), classifier.decision_function(X))
    assert copy.certificates_ == classifier.certificates_


def tire(monkeypatch, n_steps):
    """From the next Newton step but `n_steps` on there are none; visits begin, as on larger data."""
    monkeypatch.setattr("margins.newton_stages.need_visits", lambda *_: True)
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
def test_visits_finish_what_newton_steps_do_not(n_steps, loss, monkeypatch):
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


# ------------------------------------------------------------------------------- the other algorithms


def test_who_takes_newton_steps():
    takers = {n for n in margins.available() if issubclass(margins.get(n), NewtonClassifier)}
    assert {"mpu", *OTHERS} <= takers
    assert all(margins.get(name).newton for name in takers)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("visits", [True, False])
@pytest.mark.parametrize(("n_classes", "weighted"), [(2, True), (3, False)])
def test_other_algorithms_prove_by_newton_steps_what_they_prove_by_visits(
    name, visits, n_classes, weighted, monkeypatch
):
    monkeypatch.setattr("margins.newton_stages.need_visits", lambda *_: visits)
    X, y = clouds(m=200, n_classes=n_classes)
    C = np.random.default_rng(0).integers(1, 4, len(y)) * 0.7 if weighted else np.ones(len(y))
    by = {}
    for steps in (True, False):
        by[steps] = margins.get(name)(newton=steps, random_state=0).fit(X, y, C)
        assert by[steps].converged_
        for i, certificate in enumerate(by[steps].certificates_):
            primal, dual, *_ = sides(by[steps], X, y, C, "squared_hinge", i)
            assert certificate.primal == pytest.approx(float(primal), rel=1e-9)
            best = optimum(X, np.where(y == (i if n_classes > 2 else 1), 1, -1), C, "squared_hinge", 1.0)
            assert dual * (1 - 1e-9) <= certificate.dual <= best * (1 + 1e-8)
            assert certificate.fraction >= 0.99
    assert by[True].n_visits_ < by[False].n_visits_
    assert by[True].n_iter_ <= 3


@pytest.mark.parametrize("name", OTHERS)
def test_paper_runs_take_no_newton_steps(name):
    X, y = clouds(m=200)
    for params in ({"stop": "clean-pass"}, {"C": math.inf, "max_iter": 20}):
        both = [
            margins.get(name)(newton=steps, eps=0.125, random_state=0, **params)
            for steps in (True, False)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            one, other = (classifier.fit(X, y) for classifier in both)
        assert one.n_updates_ == other.n_updates_
        assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("visits", [True, False])
def test_other_algorithms_begin_anew_if_newton_steps_do_not_finish(name, visits, monkeypatch):
    tire(monkeypatch, 0)
    monkeypatch.setattr("margins.newton_stages.need_visits", lambda *_: visits)
    X, y = clouds(m=200)
    seen = []

    class Watched(margins.get(name)):
        def stages(self, run):
            for stage in super().stages(run):
                state = run.weights
                seen.append((stage.joint is not None, state.dual_sum, state.t, abs(state.weights).max()))
                before = state.n_updates
                yield stage
                assert run.weights.n_updates >= before

    classifier = Watched(random_state=0).fit(X, y)
    joint = [i for i, (is_joint, *_) in enumerate(seen) if is_joint]
    assert joint == ([1] if visits else [0, 2])
    for i in joint:
        assert seen[i + 1] == (False, 0, 0, 0)
    assert classifier.converged_
    primal, dual, *_ = sides(classifier, X, y, 1.0, "squared_hinge")
    (certificate,) = classifier.certificates_
    assert certificate.primal == pytest.approx(float(primal), rel=1e-9)
    assert dual * (1 - 1e-9) <= certificate.dual <= primal * (1 + 1e-9)


@each_loss
@pytest.mark.parametrize("n_steps", [0, 2])
def test_what_goes_on_is_the_sum_of_its_dual_variables_at_the_scale_of_visits(
    n_steps, loss, monkeypatch
):
    tire(monkeypatch, n_steps)
    X, y = clouds(m=100)
    Y = oracles.patterns_of(X, np.where(y == 1, 1, -1))
    seen, bounds, bound_dual = [], [math.inf], Run.bound_dual

    def note(run, upper):
        bounds.append(upper)
        bound_dual(run, upper)

    monkeypatch.setattr(Run, "bound_dual", note)

    class Watched(Mpu):
        def stages(self, run):
            for stage in super().stages(run):
                a = np.append(run.weights.weights, run.weights.label_sum)
                assert_allclose(a, run.weights.dual @ Y, rtol=1e-12, atol=1e-12 * abs(a).max())
                assert run.weights.dual.max() <= bounds[-1] * (1 + 1e-12)
                seen.append((stage.joint is not None, run.weights.dual.max(), run.sqradius))
                yield stage

    Watched(loss=loss, eps=1e-6, random_state=0).fit(X, y)
    (index,) = (i for i, (joint, *_) in enumerate(seen) if joint)
    # Newton steps are at the scale of the problem, visits at that of b, 1e6 and more times R**2.
    (_, before, sqradius), (_, after, _) = seen[index : index + 2]
    assert before < 100
    assert 1e5 * sqradius * 1e-3 < after < 1e10 * sqradius


def test_hinge_certificate_of_another_weight_vector_does_not_depend_on_the_scale_of_the_duals():
    # A loss whose best scale a search from far away does not find.
    X, y = clouds(m=300)
    Y = oracles.patterns_of(X, np.where(y == 1, 1, -1))
    best = fit(X, y, loss="hinge", eps=1e-3)
    w = np.append(best.coef_[0], best.intercept_[0])
    alpha, problem = best.dual_coef_[0] * 0.9, Hinge(1.0)
    patterns = patterns_of(X, np.where(y == 1, 1, -1))
    weights = WeightVector(X.shape[1], len(y))
    weights.assign(patterns, alpha)
    found = []
    for factor in (1e-9, 1.0, 1e9):
        other = weights.copy()
        other.rescale(factor)
        found.append(problem.bounds(Y @ w, float(w @ w), other).primal)
    assert found[0] == pytest.approx(best.certificates_[0].primal, rel=0.05)
    assert_allclose(found, found[0], rtol=0.01)
    # Nor does the length of w raise: 1e-160 is the root of a number that is not normal any more.
    assert problem.bounds(1e-160 * (Y @ w), float(1e-320 * (w @ w)), weights).primal <= len(y)


def test_threads_of_linear_algebra_are_as_they_were_after_classes_in_threads():
    libraries = ThreadpoolController().select(user_api="blas")
    X, y = clouds(m=600, d=15, n_classes=6)
    with libraries.limit(limits=2):
        before = [library["num_threads"] for library in libraries.info()]
        for seed in range(5):
            fit(X, y, loss="hinge", eps=1e-3, n_jobs=3, random_state=seed)
            assert [library["num_threads"] for library in libraries.info()] == before


def test_newton_epochs_that_overlap_share_one_limit():
    libraries = ThreadpoolController().select(user_api="blas")
    with libraries.limit(limits=2):
        before = [library["num_threads"] for library in libraries.info()]
        with one_thread:
            with one_thread:
                pass
            assert all(library["num_threads"] == 1 for library in libraries.info())
        assert [library["num_threads"] for library in libraries.info()] == before


def test_whoever_comes_limits_linear_algebra_to_one_thread():
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.get_num_threads() for library in libraries]
    within = []

    def come():
        with one_thread:
            within.extend(library.get_num_threads() for library in libraries)

    try:
        for n_threads in (2, 3):
            for library in libraries:
                set_n_threads(library, n_threads)
            come()  # a thread that lives on, and one after the other beside it
            for _ in range(2):
                other = threading.Thread(target=come)
                other.start()
                other.join()
            assert [library.get_num_threads() for library in libraries] == [n_threads] * len(libraries)
    finally:
        for library, n_threads in zip(libraries, before, strict=True):
            set_n_threads(library, n_threads)
    assert within == [1] * 6 * len(libraries)


@each_loss
@pytest.mark.parametrize("seed", [2, 4, 5])
def test_newton_steps_are_not_given_up_far_from_the_optimum(seed, loss):
    # Of the hinge loss with a large C some epochs in a row may gain nothing before the next one does.
    X, y = clouds(seed)
    for C in (1e4, 1e6):
        assert fit(X, y, loss=loss, C=C, eps=1e-5, max_iter=60).converged_


@each_loss
@pytest.mark.parametrize("seed", range(8))
def test_an_optimum_before_the_first_step_is_proven_by_its_own_dual_variables(seed, loss):
    rng = np.random.default_rng(seed)
    X, y = np.round(rng.standard_normal((40, 1))), rng.integers(0, 2, 40)
    # With one weight the certificate's line search is at the optimum, be it 0, where visits have left
    # the dual variables far from theirs.
    one = Mpu(loss=loss, C=30.0, fit_intercept=False, eps=1e-7, random_state=0).fit(X, y)
    assert one.converged_ and one.n_iter_ < 10


@each_loss
@pytest.mark.parametrize("newton", [False, True])
def test_rows_that_are_all_0_leave_weights_of_0_and_a_proof(newton, loss):
    one = Mpu(loss=loss, newton=newton, fit_intercept=False).fit(np.zeros((6, 2)), [0, 1] * 3)
    assert one.converged_ and not one.coef_.any()
    assert_allclose(one.certificates_[0].dual, 6)


def weighted_clouds(seed):
    """Penalties that spread over 20 powers of 10."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    y = np.where(X @ rng.normal(size=4) + 0.5 * rng.normal(size=80) > 0, 1, -1)
    return X, y, 10.0 ** rng.uniform(-10, 10, 80)


@quiet
@pytest.mark.parametrize("C", [1e4, 1e10])
@pytest.mark.parametrize("seed", range(6))
def test_no_epoch_proves_what_its_dual_variables_do_not(seed, C, monkeypatch):
    # Dual variables that are large for a while leave their rounding in any sum that is only updated.
    X, y, weight = weighted_clouds(seed)
    Y, certify, n_checked = oracles.patterns_of(X, y).astype(np.longdouble), Run.certify, [0]

    def check(run):
        certify(run)
        alpha = run.dual_scale * run.weights.dual.astype(np.longdouble)
        a = alpha @ Y
        claimed = run.dual_scale * (run.weights.dual_sum - run.dual_scale * run.weights.sqnorm / 2)
        assert claimed <= (alpha.sum() - a @ a / 2) * (1 + 1e-9)
        n_checked[0] += 1

    monkeypatch.setattr(Run, "certify", check)
    classifier = Mpu(C=C, loss="hinge", eps=1e-8, max_iter=60, random_state=0).fit(X, y, weight)
    certificates = [epoch.certificate for epoch in classifier.learning_curve_[0]]
    assert n_checked[0] >= sum(certificate is not None for certificate in certificates) > 0


def test_what_overflows_is_no_number_of_a_certificate():
    X, y = integers()
    patterns, weights = patterns_of(X, y), WeightVector(X.shape[1], len(y))
    weights.assign(patterns, np.full(len(y), 1e200))
    for sqnorm in (1.0, math.inf):
        bounds = Hinge(np.full(len(y), 2.0)).bounds(np.full(len(y), 1e200), sqnorm, weights)
        assert (bounds.primal, bounds.dual) == (2 * len(y), 0)


@quiet
@pytest.mark.parametrize("loss", LOSSES)
def test_visits_go_on_from_the_best_dual_variables(loss, monkeypatch):
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


@pytest.mark.parametrize(
    ("name", "parameters", "most"),
    [
        ("mpu", {"loss": "squared_hinge"}, 2500),
        ("mpu", {"loss": "hinge"}, 20_000),
        ("pdm", {}, 2500),
        ("mpcs", {}, 2500),
        ("mpvs", {}, 2500),
    ],
)
def test_of_the_squared_hinge_loss_a_part_is_visited_before_steps(name, parameters, most):
    X, y = integers(m=20_000, d=20)
    fit = margins.get(name)(eps=1e-6, random_state=0, **parameters).fit(X, y)
    assert fit.converged_
    assert most / 4 < fit.learning_curve_[0][0].mistakes <= most
    # A run of one epoch presents them all.
    with pytest.warns(ConvergenceWarning):
        short = margins.get(name)(eps=1e-6, max_iter=1, random_state=0, **parameters).fit(X, y)
    assert short.n_visits_ == 20_000


@pytest.mark.parametrize("seed", range(10))
def test_long_rows_among_short_ones_leave_no_rounding_behind(seed):
    # From w = 0 the Hessian is that of all patterns; of the long ones, once they are classified, it
    # keeps the rounding, which is more than all short ones together.
    rng, m = np.random.default_rng(seed), 200
    X = rng.normal(size=(2 * m, 1))
    y = X[:, 0] > 0
    X[:m] *= 1e5
    X[m:] *= 1e-3
    y[m:] ^= rng.random(m) < 0.3
    classifier = fit(X, y, C=1e6, eps=1e-6, fit_intercept=False)
    assert classifier.converged_ and classifier.n_iter_ <= 4


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
