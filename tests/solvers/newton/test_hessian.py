"""Hessians and single Newton steps, against plain NumPy."""

import math

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import integers
from sample_problems import ALL_LAYOUTS, data_of, rows_of
from scipy import sparse

from margins.data._passes import products
from margins.data.binary_data import augmented_sqnorms, make_binary_data
from margins.losses import SquaredHinge
from margins.losses._smoothed import SmoothLoss
from margins.solvers.auto import Costs
from margins.solvers.base import Problem
from margins.solvers.newton._dense_hessian import DenseHessian
from margins.solvers.newton._hessian_vector import HessianVectorProduct
from margins.solvers.newton._objective import Objective


def dense_hessian(data, curvature):
    """As the planner has it: in blocks where features are not few, and few elements 0."""
    in_blocks = Costs(Problem(data, SquaredHinge(1.0))).adds_in_blocks
    return DenseHessian(data, curvature, in_blocks)


def test_rows_with_duplicates_and_a_wrong_flag_stay_within_the_buffers():
    # 25 elements in each row of 20 features; the flag is what keeps `rows_of` from looking.
    X = sparse.csr_array(
        (np.ones(50), np.array([0, 1, 0, 1, 0] * 10), np.array([0, 25, 50])), shape=(2, 20)
    )
    X.has_canonical_format = True
    hessian = dense_hessian(data_of(X, np.array([1, -1]), 0.0), np.ones(2))
    hessian.py_update(np.arange(2, dtype=np.int32), np.ones(2, dtype=np.int8))
    assert_array_equal(hessian.matrix[:2, :2], [[450, 0], [300, 200]])


@pytest.mark.parametrize("columns", [[3, 1, 0, 5], [4, 1, 4, 0], [0, 2, 2, 2]])
def test_elements_in_any_order_and_in_parts_add_up_in_the_hessian(columns):
    X = sparse.csr_array(
        (np.array([1.0, 2, 3, 5]), np.array(columns), np.array([0, 4, 4])), shape=(2, 40)
    )
    X.has_canonical_format = True  # as above
    hessian = dense_hessian(data_of(X, np.array([1, -1]), 2.0), np.array([3.0, 1]))
    hessian.py_update(np.arange(2, dtype=np.int32), np.ones(2, dtype=np.int8))
    rows = np.zeros((2, 41))
    np.add.at(rows[0], columns, [1.0, 2, 3, 5])
    rows[0, 40], rows[1, 40] = 2, -2
    assert_array_equal(hessian.matrix, np.tril((rows.T * [3, 1]) @ rows))


@pytest.mark.parametrize("rho", [0.0, 3.0])
@pytest.mark.parametrize("d", [5, 20, 40])  # one row of 40 holds few numbers that are not 0
def test_hessian_follows_the_free_samples(d, rho):
    X, y = integers(m=600, d=d)
    X[:, 20 if d == 20 else 5 :] = 0
    Y, C = oracles.data_of(X, y, rho), np.arange(600) % 4 + 1.0
    hessian = dense_hessian(data_of(X, y, rho), C)
    rng = np.random.default_rng(0)
    vector = rng.normal(size=Y.shape[1])
    free = np.zeros(600, dtype=np.int8)
    for share in (0.6, 0.6, 0.2, 0.6):  # the third time most leave
        members = np.flatnonzero((rng.random(600) < 0.7) | (free == 1)).astype(np.int32)
        free[members] = rng.random(len(members)) < share
        hessian.py_update(members, free[members])
        assert_array_equal(hessian.included, free)
        matrix = np.eye(len(vector)) + 0.5 * (Y.T * (C * free)) @ Y
        x = vector.copy()
        assert hessian.py_solve(0.5, x)
        rtol = 1e-9 if hessian.is_double else 1e-5
        assert_allclose(x, np.linalg.solve(matrix, vector), rtol=rtol, atol=1e-3 * rtol)
    assert hessian.is_double == (d != 20)  # blocks: where features are not few, and few of them 0
    assert not hessian.py_solve(math.nan, x)
    assert not hessian.py_solve(0.5, np.full(len(vector), math.inf))


@pytest.mark.parametrize("message", ["same features", "large", "none"])
def test_hessian_is_summed_in_double_precision_if_single_is_too_inaccurate(message):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 20)), rng.choice([-1, 1], 3000)
    if message == "same features":
        X[:, 7] = X[:, 3]
    elif message == "large":
        X *= 1e25
    Y, C = oracles.data_of(X, y, 0.0), rng.random(3000)
    hessian = dense_hessian(data_of(X, y, 0.0), C)
    free = rng.random(3000) < 0.8
    all_samples = np.arange(3000, dtype=np.int32)
    for _ in range(2):  # the second time some join and some leave
        hessian.py_update(all_samples, free.astype(np.int8))
        vector = rng.normal(size=20)
        matrix = np.eye(20) + 1e3 * (Y.T * (C * free)) @ Y
        x = vector.copy()
        assert hessian.py_solve(1e3, x)
        error = np.abs(x - np.linalg.solve(matrix, vector)).max() / np.abs(x).max()
        assert error <= (1e-5 if message == "none" else 1e-8)
        assert hessian.is_double == (message != "none")
        free ^= rng.random(3000) < 0.2


@pytest.mark.parametrize("layout", ALL_LAYOUTS)
def test_products_solve_with_the_hessian_of_the_free_samples(layout):
    rng = np.random.default_rng(0)
    X, y = integers(seed=1, m=40, d=9)
    curvature = rng.uniform(0.5, 2.0, 40)
    for rho, factor in ((0.0, 1e-3), (0.0, 1e4), (2.0, 1.0), (2.0, 1e4)):
        data = data_of(ALL_LAYOUTS[layout](X), y, rho)
        hessian = HessianVectorProduct(data, curvature, 10**6)
        assert_solves(hessian, oracles.data_of(X, y, rho), curvature, factor, rng)


def assert_solves(hessian, Y, curvature, factor, rng):
    """With the Hessian of random sets of free samples, of the materialised samples Y."""
    for _ in range(3):  # another set each time
        members = np.flatnonzero(rng.random(40) < 0.7).astype(np.int32)
        free = (rng.random(len(members)) < 0.7).astype(np.int8)
        hessian.py_update(members, free)
        chosen = members[free == 1]
        matrix = np.eye(Y.shape[1]) + factor * (Y[chosen].T * curvature[chosen]) @ Y[chosen]
        vector = rng.normal(size=Y.shape[1])
        solution = vector.copy()
        assert hessian.py_solve(factor, solution)
        assert np.linalg.norm(matrix @ solution - vector) <= 0.1001 * np.linalg.norm(vector)
        assert vector @ solution > 0  # along it the objective falls
        assert not hessian.included.any()


def test_products_report_that_rounding_does_not_allow_a_solution():
    data = data_of(np.eye(3) * 1e50, [1, -1, 1], 0.0)
    hessian = HessianVectorProduct(data, np.ones(3), 100)
    hessian.py_update(np.arange(3, dtype=np.int32), np.ones(3, dtype=np.int8))
    assert not hessian.py_solve(1e250, np.ones(3))
    assert not hessian.py_solve(1.0, np.zeros(3))


def test_products_with_the_hessian_read_no_more_samples_than_allowed():
    X, y = integers(m=30, d=9)
    hessian = HessianVectorProduct(data_of(X, y, 0.0), np.ones(30), 20)
    hessian.py_update(np.arange(30, dtype=np.int32), np.arange(30, dtype=np.int8) % 2)
    solution = np.random.default_rng(0).normal(size=9)
    assert hessian.py_solve(1e6, solution)  # as far as it has come
    assert hessian.n_read == 30  # two products, of 15 samples each
    assert not hessian.py_solve(1e6, solution)
    assert hessian.n_read == 30


def test_steps_with_a_free_intercept_count_the_samples_that_a_working_set_leaves_out():
    # No sample is free, and those outside the working set pull at the intercept.
    rng, n_steps = np.random.default_rng(0), 0
    for _ in range(300):
        m, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        X, y = rng.normal(size=(m, d)), np.where(np.arange(m) % 2, 1, -1)
        rows, costs = rows_of(X), 10 ** rng.uniform(-1, 1, m)
        sqnorms = augmented_sqnorms(rows.sqnorms(), 1.0, hard_margin=False)
        data = make_binary_data(rows, sqnorms, y > 0, 1.0, 0.0, math.inf, has_free_intercept=True)
        Y, members = oracles.data_of(X, y, 1.0), np.arange(m // 2, dtype=np.int32)
        others = rng.integers(0, 2, m - m // 2) * costs[m // 2 :]
        fixed, C = others @ Y[m // 2 :], costs[members]
        loss = SmoothLoss(np.zeros(len(C)), C, 1e3 * C, 1.0, True)
        w = 3 * rng.normal(size=d + 1)
        objective = Objective(
            *(data, members, fixed, others.sum(), w, products(data, members, w), loss),
            DenseHessian(data, np.ones(m), False),
        )

        def value(w, some=Y[members], C=C, fixed=fixed):
            slopes = np.clip(1e3 * C * (1 - some @ w), 0, C)
            losses = slopes * (1 - some @ w) - slopes**2 / (2e3 * C)
            return 0.5 * w[:-1] @ w[:-1] - fixed @ w + losses.sum()

        start = np.array(objective.w)
        slopes = 1e3 * C * (1 - Y[members] @ start)
        before = value(start)
        if ((slopes > 0) & (slopes < C)).any() or objective.minimise(0.0, 0.0, 1) == 0:
            continue
        n_steps += 1
        assert value(np.array(objective.w)) <= before + 1e-12 * abs(before)
    assert n_steps > 140
