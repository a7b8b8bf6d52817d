"""Kernel functions: one formula for training and prediction."""

from dataclasses import dataclass

import numpy as np
import pytest
from kernel_machines import clouds
from kernel_of_one_file import RationalQuadratic
from numpy.testing import assert_allclose, assert_array_equal
from sample_problems import doubled
from scipy import sparse
from sklearn.gaussian_process import kernels as references
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

import margins
from margins.data.binary_data import rows_of
from margins.kernels import LINEAR, RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from margins.kernels._distances import squared_distances
from margins.kernels.row_blocks import FORMULA_VALUES, UNIT

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FORMULAS = {
    "linear": (Linear(), lambda X, Z: X @ Z.T),
    "poly": (Polynomial(3, 0.4, 0.5), lambda X, Z: polynomial_kernel(X, Z, 3, 0.4, 0.5)),
    "poly of degree 0": (Polynomial(0, 0.4, 0.5), lambda X, Z: np.ones((len(X), len(Z)))),
    "sigmoid": (Sigmoid(0.4, 0.5), lambda X, Z: sigmoid_kernel(X, Z, 0.4, 0.5)),
    "rbf": (RBF(0.7), lambda X, Z: rbf_kernel(X, Z, 0.7)),
    "rational quadratic": (RationalQuadratic(1.5, 0.8), references.RationalQuadratic(0.8, 1.5)),
}
LAYOUTS = {
    "C": np.asarray,
    "Fortran": np.asfortranarray,
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "float32": lambda X: X.astype(np.float32),
    "CSR": sparse.csr_array,
}
each_formula = pytest.mark.parametrize("which", FORMULAS)


def rows_as_array(rows):
    """The kernel matrix, as training adds its rows."""
    matrix = np.zeros((rows.n_rows, rows.n_rows))
    for k in range(rows.n_rows):
        rows.py_axpy(k, 1.0, matrix[k])
    return matrix


# ----------------------------------------------------------------------------------------- one formula


@pytest.mark.parametrize("layout", LAYOUTS)
@each_formula
def test_block_has_the_values_of_the_reference(which, layout):
    kernel, reference = FORMULAS[which]
    X, _, Z = clouds()
    X[np.abs(X) < 0.3] = 0
    X, Z = X.astype(np.float32).astype(float), Z.astype(np.float32).astype(float)
    values = kernel.block(LAYOUTS[layout](X), LAYOUTS[layout](Z))
    assert values.dtype == np.float64 and values.flags.c_contiguous
    assert_allclose(values, reference(X, Z), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
@each_formula
def test_training_and_prediction_have_one_formula(which, layout):
    # Of integers inner products are exact in any order: only the formula could make a difference.
    kernel, _ = FORMULAS[which]
    X = np.random.default_rng(0).integers(-4, 5, (50, 3)).astype(float)
    given = LAYOUTS[layout](X)
    rows = Kernel.rows(kernel, given, 200.0)  # of the linear kernel too
    matrix = rows_as_array(rows)
    assert_array_equal(matrix, kernel.block(given, given))
    assert_array_equal(matrix, matrix.T)
    assert_array_equal(rows.sqnorms(), matrix.diagonal())
    indices = np.array([4, 0, 17])
    assert_array_equal(kernel.training_block(given, indices), matrix[indices])
    assert_array_equal(
        kernel.training_block(given, indices, np.einsum("kj,kj->k", X, X)), matrix[indices]
    )


@pytest.mark.parametrize("density", [0.01, 0.3])
@pytest.mark.parametrize("shape", [(300, 127), (129, 300), (128, 128)])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_blocks_of_sparse_and_dense_rows_are_equal(monkeypatch, convert, shape, density):
    monkeypatch.setattr("margins.kernels.kernel.BLOCK_BYTES", 8 * 20 * 150)  # tiles of 150 rows
    rng = np.random.default_rng(0)
    X, Z = (rng.integers(-3, 4, size=(n, 20)) * (rng.random((n, 20)) < density) for n in shape)
    kernel = Polynomial(2, 1.0, 1.0)
    values = kernel.block(sparse.csr_array(X.astype(float)), convert(Z.astype(float)))
    assert_array_equal(values, (X @ Z.T + 1.0) ** 2)


def test_rows_of_the_linear_kernel_are_rows_of_X():
    X, _, _ = clouds()
    assert not LINEAR.rows(X, 1.0).is_kernel
    assert LINEAR.rows(X, 1.0).n_features == X.shape[1]


def test_squared_distances_that_rounding_makes_negative_are_zero():
    X = np.random.default_rng(0).normal(size=(200, 7)) * 1e8
    sqnorms = np.einsum("kj,kj->k", X, X)
    assert (sqnorms[:, np.newaxis] + sqnorms - 2 * X @ X.T).min() < -1
    products = X @ X.T
    RBF(1.0).compiled()(products, sqnorms, sqnorms)
    assert products.max() == 1


@pytest.mark.parametrize("shapes", [(1, 1, 1), (9, 70, 5), (3, 40, 2000), (600, 7, 33)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_squared_distances_are_the_same_in_both_directions(layout, shapes):
    n_rows, n_points, d = shapes  # a block of dense points has 16 of 2000 features, 496 of 33
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n_rows, d)) + 1e6, rng.normal(size=(n_points, d)) + 1e6
    X[0, 0] = Z[-1, -1] = 0
    if layout == "float32":
        X, Z = X.astype(np.float32).astype(float), Z.astype(np.float32).astype(float)
    rows, points = rows_of(LAYOUTS[layout](X)), rows_of(LAYOUTS[layout](Z))
    distances = squared_distances(rows, points)
    expected = [((x.astype(np.longdouble) - Z) ** 2).sum(axis=1) for x in X]
    assert_allclose(distances, np.array(expected, float), rtol=1e-12)
    if layout != "CSR":  # the sum of sparse rows begins with the columns of the second
        assert_array_equal(distances, squared_distances(points, rows).T)


# ----------------------------------------------------------------------- long rows, small distances


@dataclass(frozen=True)
class Laplacian(Kernel):
    """exp(-|x - z|); its `slope` is not known."""

    uses_differences = True

    def transform(self, products, x_sqnorms, z_sqnorms):
        return np.exp(-np.sqrt(np.maximum(x_sqnorms + z_sqnorms - 2 * products, 0)))


def by_differences(kernel, X, Z):
    """The kernel matrix, from distances in extended precision."""
    X, Z = X.astype(np.longdouble), Z.astype(np.longdouble)
    sqdistances = ((X[:, np.newaxis] - Z) ** 2).sum(axis=2)
    return np.exp(-np.sqrt(sqdistances)) if isinstance(kernel, Laplacian) else np.exp(-0.7 * sqdistances)


@pytest.mark.parametrize("shift", [0.0, 30.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", [RBF(0.7), Laplacian()], ids=["rbf", "Laplacian"])
def test_distances_of_long_rows_are_not_lost(kernel, layout, shift):
    X, _, Z = clouds()
    X[:20], X[20:40, 1], Z[:5], Z[5:10, 2] = X[:20] + shift, 0, Z[:5] + shift, 0
    if layout == "float32":
        X, Z = X.astype(np.float32).astype(float), Z.astype(np.float32).astype(float)
    given = LAYOUTS[layout](X)
    expected = by_differences(kernel, X, X)
    assert_allclose(kernel.block(given, LAYOUTS[layout](Z)), by_differences(kernel, X, Z), atol=3e-12)
    assert_allclose(rows_as_array(kernel.rows(given, 200.0)), expected, atol=3e-12)
    blocks = kernel.rows(given, 200.0).blocks.make(True)
    assert_allclose(
        blocks.sums(np.arange(60), np.arange(60), np.ones(60)), expected.sum(axis=1), rtol=1e-11
    )
    slots = blocks.slots_of(np.arange(60), np.zeros(60, bool))
    error = np.abs(blocks.slots[slots] - expected)
    # Of float32 arrays and of CSR not all centring is done; the bound on rounding says so.
    of_values, of_sqnorms = blocks.rounding()
    bound = of_values + of_sqnorms * (blocks.sqnorms[:, np.newaxis] + blocks.sqnorms)
    assert (error <= np.clip(bound, 1e-7, 1e-3)).all()


@pytest.mark.parametrize("solver", ["decomposition", "conjugate", "unlearning"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_a_certificate_of_long_rows_holds_for_the_model(solver, layout):
    X, y, Z = clouds(200, seed=3)
    X, Z = X + 1e6, Z + 1e6
    classifier = margins.MarginClassifier(kernel="rbf", gamma=0.7, C=10, loss="hinge", solver=solver)
    classifier.fit(layout(X), y)
    weights = np.zeros(200)
    weights[classifier.support_] = classifier.dual_coef_[0]
    K = by_differences(classifier.kernel_, X, X)
    (bias,) = classifier.intercept_
    slacks = np.maximum(0, 1 - (2 * y - 1) * (K @ weights + bias))
    objective = float((weights @ K @ weights + bias**2) / 2 + 10 * slacks.sum())
    (certificate,) = classifier.certificates_
    assert certificate.primal == pytest.approx(objective, rel=1e-9)
    assert certificate.dual <= objective * (1 + 1e-9)
    scores = classifier.decision_function(layout(Z))
    single = [classifier.decision_function(layout(Z[k : k + 1]))[0] for k in range(len(Z))]
    assert_allclose(single, scores, atol=1e-10)


def test_scale_does_not_depend_on_the_origin():
    X, _, _ = clouds()
    expected = RBF("scale").resolve(X).gamma
    for given in (X + 1e6, sparse.csr_array(X + 1e6)):
        assert RBF("scale").resolve(given).gamma == pytest.approx(expected, rel=1e-8)


def test_gamma_scale_counts_elements_and_not_stored_values():
    X, _, _ = clouds()
    spacious = sparse.csr_array(X)
    spacious.data = np.append(spacious.data, [9.0] * 5)
    spacious.indices = np.append(spacious.indices, np.zeros(5, spacious.indices.dtype))
    for given in (doubled(X), spacious):
        stored = given.data.copy()
        assert RBF("scale").resolve(given).gamma == pytest.approx(RBF("scale").resolve(X).gamma)
        assert_array_equal(given.data, stored)


@pytest.mark.parametrize("gamma", [1e-6, 0.3, 7.0, 1e38])
def test_the_exponential_in_single_precision_is_within_its_bound(gamma):
    exponents = np.concatenate([np.linspace(0, 100, 100_001), np.logspace(-30, 3, 10_001)])
    products = (-0.5 * exponents / gamma).astype(np.float32)[np.newaxis]
    expected = np.exp(2.0 * gamma * products.astype(np.float64))
    RBF(gamma).compiled().single(products, np.zeros(1), np.zeros(len(exponents)))
    assert np.abs(products - expected).max() <= FORMULA_VALUES * UNIT


@pytest.mark.parametrize("gamma, distant", [(1e300, 0.0), (1e-300, 1.0)])
def test_a_gamma_beyond_single_precision_leaves_no_nan(gamma, distant):
    values = np.array([[0.0, 1.0, -1.0]], np.float32)  # squared distances 2, 0 and 4
    RBF(gamma).compiled().single(values, np.ones(1), np.ones(3))
    assert_array_equal(values[0], [distant, 1, distant])


def test_a_nan_stays_a_nan_in_single_precision():
    values = np.array([[np.nan]], np.float32)
    RBF(1.0).compiled().single(values, np.ones(1), np.ones(1))
    assert np.isnan(values).all()


def test_precomputed_blocks_are_parts_of_the_matrix():
    gram = np.arange(25.0).reshape(5, 5)
    for given in (gram, sparse.csr_array(gram), gram.astype(np.float32)):
        assert_array_equal(Precomputed().training_block(given, np.array([3, 1])), gram[[3, 1]])
        blocks = list(Precomputed().blocks(given, None, np.array([0, 4])))
        assert_array_equal(np.hstack([block for _, block in blocks]), gram[:, [0, 4]].T)
        (batch, empty), *_ = Precomputed().blocks(given, None, np.array([], dtype=int))
        assert batch == slice(0, 5) and empty.shape == (0, 5)
    with pytest.raises(ValueError, match="'precomputed' has no formula.*Got matrices of shapes"):
        Precomputed().block(gram, gram)


@each_formula
def test_prediction_blocks_are_the_whole_in_slices(which, monkeypatch):
    kernel, _ = FORMULAS[which]
    X, _, _ = clouds()
    monkeypatch.setattr(margins.kernels.kernel, "BLOCK_BYTES", 8 * 10 * 7)
    support = np.arange(10)
    blocks = list(kernel.blocks(X, X[support], support))
    assert [batch.stop - batch.start for batch, _ in blocks] == [7] * 8 + [4]
    for batch, block in blocks:
        assert block.flags.c_contiguous
        assert_allclose(block, kernel.block(X[support], X[batch]), rtol=1e-13, atol=1e-13)


def test_shape_of_squared_norms_is_checked():
    transform = RBF(1.0).compiled()
    for lengths in ((2, 2), (3, 3)):
        with pytest.raises(ValueError, match=r"shape \(3, 2\) must have lengths 3 and 2\. Got"):
            transform(np.ones((3, 2)), *map(np.ones, lengths))
    transform(np.ones((0, 2)), np.ones(0), np.ones(2))
