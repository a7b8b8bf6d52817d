"""Cached rows of a kernel matrix: order of sums, storages, rows that are computed in advance."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import margins
from margins.data.binary_data import rows_of
from margins.kernels import Polynomial
from margins.kernels._columns import inner_products
from margins.kernels.kernel import Kernel


@pytest.mark.parametrize("n_points", [1, 7, 8, 9, 31, 32, 33, 75])
def test_an_inner_product_is_the_sum_in_the_order_of_the_elements(n_points):
    rng = np.random.default_rng(n_points)
    X = sparse.random(5, 40, density=0.5, random_state=rng, format="csr")
    Z = rng.normal(size=(n_points, 40))
    found = inner_products(rows_of(X), rows_of(Z))
    for i in range(5):
        expected = np.zeros(n_points)
        for k in range(X.indptr[i], X.indptr[i + 1]):
            expected += X.data[k] * Z[:, X.indices[k]]
        assert_array_equal(found[i], expected)


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_rows_of_an_array_are_those_of_its_elements_that_are_not_zero(share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 30)) * (rng.random((50, 30)) < share)
    kernel = Polynomial(degree=3, gamma=0.2, coef0=1.0)
    dense, compressed = (kernel.rows(each, 100.0) for each in (X, sparse.csr_array(X)))
    for k in (3, 49, 0):
        assert_array_equal(dense.py_row(k), compressed.py_row(k))


def test_the_row_that_leaves_a_full_cache_is_the_one_not_read_for_longest():
    rng = np.random.default_rng(0)
    X, n_slots = rng.normal(size=(12, 3)), 4
    kernel = Polynomial(degree=2, gamma=0.5, coef0=1.0)
    rows = kernel.rows(X, n_slots * 12 * 8 / 2**20)
    cached, n_computed = [], 0
    for k in rng.integers(0, 12, 2000):
        is_cached = k in cached
        cached = [*(each for each in cached if each != k), k][-n_slots:]
        n_computed += not is_cached
        assert rows.py_row(k)[k] == pytest.approx((0.5 * X[k] @ X[k] + 1) ** 2)
        assert rows.n_computed == n_computed


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_of_near_samples_fill_a_batch(monkeypatch):
    made = []
    original = Kernel.rows
    monkeypatch.setattr(
        Kernel, "rows", lambda self, *args: (made.append(original(self, *args)), made[-1])[1]
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + 0.3 * rng.normal(size=400) > 0
    found = margins.get("perceptron")(kernel="rbf", random_state=0, max_iter=1).fit(X, y)
    assert len(found.support_) < made[0].n_computed <= 400
