"""Rows of a kernel matrix, by blocks and one by one: values, caches, sums, bounds on rounding."""

from threading import get_ident

import numpy as np
import pytest
from covering import every_pair
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import margins
from margins.data.binary_data import rows_of
from margins.kernels import RBF, Function, Polynomial, Precomputed
from margins.kernels._columns import inner_products
from margins.kernels.kernel import Kernel
from margins.kernels.row_blocks import UNIT, RowBlocks
from margins.kernels.shared_blocks import MatrixBlocks, SharedBlocks
from margins.linalg.threads import team_of

KERNELS = {
    "rbf": RBF(gamma=0.3),
    "poly": Polynomial(degree=3, gamma=0.2, coef0=1.0),
    "function": Function(lambda X, Z: np.tanh(np.asarray((X @ Z.T) * 0.1))),
}

FOUR_ROWS = 4 * 4 * 60 / 2**20  # megabytes


def points(m=60, d=7, seed=0):
    return np.random.default_rng(seed).normal(size=(m, d))


def blocks_of(kernel, X, cache_size=100.0, densely=False):
    sqnorms = rows_of(X).sqnorms() if kernel.uses_products else None
    return kernel.row_blocks(X, cache_size, sqnorms, densely)


def rounding_of(blocks, indices=slice(None)):
    """Return the bounds on the rounding of some rows in single precision."""
    of_values, of_sqnorms = blocks.rounding()
    return of_values + of_sqnorms * (blocks.sqnorms[indices, np.newaxis] + blocks.sqnorms)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("layout", ["dense", "float32", "csr", "csr, made dense"])
def test_rows_and_sums_equal_the_kernel_matrix(name, layout):
    kernel, X = KERNELS[name], points()
    if name == "function" and layout.startswith("csr"):
        pytest.skip("this function is of arrays")
    if layout == "float32":
        X = X.astype(np.float32)
    K = kernel(np.asarray(X, dtype=np.float64), np.asarray(X, dtype=np.float64))
    if layout.startswith("csr"):
        X = sparse.csr_array(X)
    blocks = blocks_of(kernel, X, densely=layout == "csr, made dense")
    indices = np.array([3, 59, 0, 17])
    slots = blocks.slots_of(indices, np.zeros(60, bool))
    error = np.abs(blocks.slots[slots] - K[indices])
    assert (error <= np.minimum(rounding_of(blocks, indices), 1e-4)).all()
    support, coefficients = np.array([1, 5, 40]), np.array([0.5, -2.0, 3.0])
    some = np.array([0, 1, 5, 33, 40])
    # A function of users computes in the precision of the data.
    rtol = 1e-5 if (name, layout) == ("function", "float32") else 1e-12
    expected = K[some][:, support] @ coefficients
    assert_allclose(blocks.sums(some, support, coefficients), expected, rtol=rtol)


@pytest.mark.parametrize("name", KERNELS)
def test_few_samples_have_their_whole_matrix(name):
    kernel, X = KERNELS[name], points()
    sqnorms = rows_of(X).sqnorms() if kernel.uses_products else None
    blocks = SharedBlocks(kernel, X, 100.0, sqnorms).make(densely=False, most_whole=60)
    K = kernel(X, X)
    assert isinstance(blocks, MatrixBlocks)
    error = np.abs(blocks.rows_of_all(60) - K)
    assert 0 < error.max() <= UNIT * np.abs(K).max()
    indices = np.array([3, 59, 0, 17])
    support, coefficients = np.array([1, 5, 40]), np.array([0.5, -2.0, 3.0])
    found = blocks.sums(indices, support, coefficients)
    assert_allclose(found, K[indices][:, support] @ coefficients, rtol=1e-12)


def test_a_whole_matrix_that_is_not_symmetric_is_refused():
    skewed = Function(lambda X, Z: (X @ Z.T) * (1 + 0.1 * X[:, :1]))
    with pytest.raises(ValueError, match=r"kernel .* must be symmetric. Got K\(x, z\) = .* samples"):
        SharedBlocks(skewed, points(), 100.0, None).make(densely=False, most_whole=60)


def test_the_whole_matrix_is_of_few_samples_and_within_the_cache():
    shared = [SharedBlocks(KERNELS["rbf"], points(), size, np.ones(60)) for size in (100.0, 0.04)]
    blocks = [shared[0].make(densely=False, most_whole=59), shared[1].make(densely=False, most_whole=60)]
    assert not any(isinstance(each, MatrixBlocks) for each in blocks)


def test_rows_computed_in_any_order_form_the_whole_matrix():
    K, blocks = KERNELS["rbf"](points(), points()), blocks_of(KERNELS["rbf"], points())
    blocks.slots_of(np.array([7, 3]), np.zeros(60, bool))
    assert (np.abs(blocks.rows_of_all(60) - K) <= rounding_of(blocks)).all()
    assert blocks.rows_of_all(59) is None


def test_rows_of_a_precomputed_matrix_are_copied():
    K = points(20, 20)
    K = K + K.T
    blocks = blocks_of(Precomputed(), K)
    slots = blocks.slots_of(np.arange(20), np.zeros(20, bool))
    assert_array_equal(blocks.slots[slots], K.astype(np.float32))
    assert_allclose(blocks.sums(np.arange(20), np.arange(3), np.ones(3)), K[:, :3].sum(axis=1))


def test_symmetric_sums_in_several_blocks(monkeypatch):
    monkeypatch.setattr("margins.kernels.row_blocks.BLOCK_VALUES", 100)
    X, kernel = points(), KERNELS["rbf"]
    support = np.flatnonzero(np.arange(60) % 3)
    coefficients = np.random.default_rng(1).normal(size=len(support))
    found = blocks_of(kernel, X).sums(np.arange(60), support, coefficients)
    assert_allclose(found, kernel(X, X[support]) @ coefficients, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_values_of_many_sums_are_computed_once_if_they_fit(layout, fits, monkeypatch):
    monkeypatch.setattr("margins.kernels.row_blocks.TILE", 16)
    X, kernel, rng = points(), KERNELS["rbf"], np.random.default_rng(1)
    given = sparse.csr_array(X) if layout == "csr" else X
    n_bytes = 4 * X.size + (4 + 8) * len(X) ** 2  # the copy of X, and both matrices
    blocks = blocks_of(kernel, given, (n_bytes - (not fits)) / 2**20)
    n_values, block = [], type(blocks)._block

    def counted(self, rows, columns, *parts):
        n_values.append(len(rows) * len(columns))
        return block(self, rows, columns, *parts)

    monkeypatch.setattr(type(blocks), "_block", counted)
    every, support = np.arange(60), np.flatnonzero(rng.random(60) < 0.8)
    others = np.setdiff1d(every, support)
    for indices in (every, every, others, every, support, others[:0], every, every):
        coefficients = rng.normal(size=len(support))
        expected = kernel(X, X)[np.ix_(indices, support)] @ coefficients
        assert_allclose(blocks.sums(indices, support, coefficients), expected, rtol=1e-10, atol=1e-12)
    assert (sum(n_values) < 2 * 60 * 60) == fits


def test_the_least_recently_used_row_is_evicted_and_rows_to_keep_are_not(monkeypatch):
    monkeypatch.setattr("margins.kernels.row_blocks.MIN_ROWS", 2)
    X = points()
    blocks = blocks_of(KERNELS["rbf"], X, cache_size=2 * FOUR_ROWS)  # half of it, with the copy of X
    assert len(blocks.slots) == 4
    kept = np.zeros(60, bool)
    kept[0] = True
    for k in (0, 1, 2, 3):
        blocks.slots_of(np.array([k]), kept)
    blocks.slots_of(np.array([1]), kept)  # used again: 2 is the oldest that need not be kept
    blocks.slots_of(np.array([4]), kept)
    assert blocks.n_computed == 5
    blocks.slots_of(np.array([0, 1, 3, 4]), kept)
    assert blocks.n_computed == 5
    slots = blocks.slots_of(np.array([2, 7]), kept)
    assert blocks.n_computed == 7
    assert_allclose(blocks.slots[slots], KERNELS["rbf"](X[[2, 7]], X), atol=1e-5)


@pytest.mark.parametrize("layout", ["float64", "float32", "csr", "csr, made dense"])
def test_the_copy_of_X_is_part_of_the_cache(layout):
    X = points(200, 30).astype(np.float32 if layout == "float32" else np.float64)
    X[:, ::2] = 0
    n_bytes = {"float64": 4 * X.size, "float32": 0, "csr": 2 * X.size, "csr, made dense": 4 * X.size}
    given = sparse.csr_array(X) if layout.startswith("csr") else X
    for n_rows in (40, 100):
        cache_size = (4 * 200 * n_rows + n_bytes[layout]) / 2**20
        blocks = blocks_of(KERNELS["poly"], given, cache_size, densely="dense" in layout)
        assert len(blocks.slots) == n_rows
    # At most half of it.
    blocks = blocks_of(KERNELS["poly"], given, 4 * 200 * 40 / 2**20, densely="dense" in layout)
    assert len(blocks.slots) == max(20, 40 - n_bytes[layout] // 800)


def test_rows_needed_together_do_not_evict_each_other(monkeypatch):
    monkeypatch.setattr("margins.kernels.row_blocks.MIN_ROWS", 2)
    X = points()
    blocks = blocks_of(KERNELS["rbf"], X, cache_size=2 * FOUR_ROWS)
    kept = np.ones(60, bool)
    for indices in ([0, 1, 2, 3], [2, 3, 4, 5], [0, 5, 9, 11]):
        slots = blocks.slots_of(np.array(indices), kept)
        assert len(set(slots.tolist())) == 4
        assert_allclose(blocks.slots[slots], KERNELS["rbf"](X[indices], X), atol=1e-5)


@pytest.mark.parametrize("layout", [np.asarray, np.float32, sparse.csr_array])
def test_kernels_of_differences_subtract_the_mean_without_rounding(layout):
    X = np.round(points(100, 30) * 64) / 64 + 1000  # exact in single precision
    blocks = blocks_of(KERNELS["rbf"], layout(X), densely=True)
    slots = blocks.slots_of(np.arange(100), np.zeros(100, bool))
    error = np.abs(blocks.slots[slots] - KERNELS["rbf"](X, X))
    assert (error <= rounding_of(blocks)).all()
    assert rounding_of(blocks).max() < 1e-3


def test_a_mean_that_makes_products_less_exact_is_not_subtracted():
    X = sparse.random(100, 500, density=0.01, random_state=np.random.default_rng(0), format="csr")
    X.data[:] = 1
    blocks = blocks_of(KERNELS["rbf"], X, densely=True)
    assert rounding_of(blocks).max() < 20 * 2.0**-24 * 2 * 0.3 * 20
    slots = blocks.slots_of(np.arange(100), np.zeros(100, bool))
    assert (np.abs(blocks.slots[slots] - KERNELS["rbf"](X, X)) <= rounding_of(blocks)).all()


def hard_points(case):
    """Points whose products or distances round more than those of usual data."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 600 if case == "many features" else 9))
    if case == "duplicates":
        X[40:] = X[:40]
    elif case == "far from 0":
        X += 300
    elif case == "one long":
        X[0] *= 1e4
    elif case == "thirds":
        X = np.full((80, 600), 1 / 3) * rng.choice([1, 1 + 2.0**-12], size=(80, 1))
    return X * {"tiny": 1e-12, "huge": 1e9}.get(case, 1.0)


HARD = ["many features", "duplicates", "far from 0", "one long", "thirds", "tiny", "huge"]
LAYOUTS = ["dense", "csr", "csr, made dense"]


@pytest.mark.parametrize(("case", "layout", "gamma"), every_pair(HARD, LAYOUTS, [1e-3, 0.5, 1e3]))
def test_rounding_is_within_its_bounds(case, layout, gamma):
    X, gamma = hard_points(case), gamma / np.square(hard_points(case)).sum(axis=1).mean()
    given = sparse.csr_array(X) if layout.startswith("csr") else X
    exact = X.astype(np.longdouble)
    sqdistances = np.square(exact[:, np.newaxis] - exact).sum(axis=2)
    polynomial = (np.longdouble(gamma) * (exact @ exact.T) + 1) ** 3
    kernels = {RBF(gamma): np.exp(-np.longdouble(gamma) * sqdistances)}
    for kernel, K in {**kernels, Polynomial(3, gamma=gamma, coef0=1.0): polynomial}.items():
        blocks = blocks_of(kernel, given, densely="dense" in layout)
        slots = blocks.slots_of(np.arange(80), np.zeros(80, bool))
        assert (np.abs(blocks.slots[slots] - K) <= rounding_of(blocks)).all()
        coefficients = np.random.default_rng(6).normal(size=80)
        sums = blocks.sums(np.arange(80), np.arange(80), coefficients)
        longest = np.square(X).sum(axis=1).max()
        in_double = (700 * 2.0**-52) * kernel.slope(blocks.sqnorms.max()) * longest
        most = in_double * np.abs(coefficients).sum() + 1e-14 * np.abs(K) @ np.abs(coefficients)
        assert (np.abs(sums - K @ coefficients) <= most).all()


def test_sums_of_sums_round_less():
    X = np.random.default_rng(0).normal(size=(20, 2560))
    _, of_sqnorms = blocks_of(Polynomial(1, gamma=1.0), X).rounding()
    assert of_sqnorms < 300 * 2.0**-24 / 2


def test_without_a_slope_no_bound_is_known():
    assert RowBlocks(KERNELS["function"], points(), 1.0).rounding() == (np.inf, 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_threads_share_rows_and_sums_and_change_no_bit(monkeypatch, layout):
    monkeypatch.setattr("margins.kernels.row_blocks.COLUMNS", 100)
    X = points(900)
    X = sparse.csr_array(X) if layout.startswith("csr") else X
    indices, support = np.arange(0, 900, 7), np.flatnonzero(np.arange(900) % 3)
    coefficients = np.random.default_rng(2).normal(size=len(support))
    found = []
    for n_threads in (1, 3):
        blocks = blocks_of(KERNELS["rbf"], X, densely=layout == "csr, made dense")
        threads = set()
        monkeypatch.setattr(
            blocks, "_block", lambda *args, f=blocks._block, t=threads: (t.add(get_ident()), f(*args))[1]
        )
        with team_of(n_threads):
            rows = blocks.slots[blocks.slots_of(indices, np.zeros(900, bool))]
            found.append((rows, blocks.sums(np.arange(900), support, coefficients)))
        assert len(threads) <= n_threads
    for one, other in zip(*found, strict=True):
        assert_array_equal(one, other)


def test_a_part_of_the_columns_is_transformed_in_place():
    values, sqnorms = np.zeros((3, 10), np.float32), np.arange(10.0)
    RBF(gamma=1.0).compiled().single(values[:, 4:6], sqnorms[:3], sqnorms[4:6])
    assert_allclose(values[:, 4:6], np.exp(-(sqnorms[:3, None] + sqnorms[4:6])), rtol=1e-6)
    assert not values[:, :4].any() and not values[:, 6:].any()
    with pytest.raises(ValueError, match="side by side"):
        RBF(gamma=1.0).compiled().single(values[:, ::2], sqnorms[:3], sqnorms[:5])


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
def test_rows_of_an_array_equal_rows_of_its_nonzeros(share):
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
