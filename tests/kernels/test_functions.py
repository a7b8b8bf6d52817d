"""Kernel functions: one formula for training and prediction, one file for a kernel."""

import importlib
import inspect
import math
import pickle
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from kernel_of_one_file import RationalQuadratic
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process import kernels as references
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import margins
from margins.estimators.base import BaseMarginClassifier
from margins.kernels import KERNELS, LINEAR, RBF, Function, Kernel, Linear, Polynomial, Precomputed
from margins.kernels.functions import find_kernels
from margins.kernels.row_blocks import FORMULA_VALUES, UNIT
from margins.kernels.selection import kernel_choice, kernel_of, kernel_parameter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FORMULAS = {
    "linear": (Linear(), lambda X, Z: X @ Z.T),
    "poly": (Polynomial(3, 0.4, 0.5), lambda X, Z: polynomial_kernel(X, Z, 3, 0.4, 0.5)),
    "poly of degree 0": (Polynomial(0, 0.4, 0.5), lambda X, Z: np.ones((len(X), len(Z)))),
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


def clouds(m=60, d=4, n_classes=2, seed=0):
    """X, y and new points Z: overlapping normal clouds."""
    rng = np.random.default_rng(seed)
    y = np.arange(m) % n_classes
    return rng.normal(size=(n_classes, d))[y] + rng.normal(size=(m, d)), y, rng.normal(size=(15, d))


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


@each_formula
def test_given_squared_norms_are_those_computed(which):
    kernel, _ = FORMULAS[which]
    X, _, Z = clouds()
    norms = np.einsum("kj,kj->k", X, X), np.einsum("kj,kj->k", Z, Z)
    assert_allclose(kernel.block(X, Z, *norms), kernel.block(X, Z), rtol=1e-12)


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


def test_rows_of_the_linear_kernel_are_those_of_X():
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
    error = np.abs(blocks.slots[slots] - expected).max()
    # Of float32 arrays and of CSR not all centring is done; the bound on rounding says so.
    assert error <= max(min(blocks.rounding(), 1e-3), 1e-7)


@pytest.mark.parametrize("solver", ["decomposition", "conjugate", "unlearning"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_a_certificate_of_long_rows_is_that_of_the_model(solver, layout):
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


def test_radial_kernel_of_a_nan_distance_is_nan():
    values = np.array([[np.inf]])
    RBF(1.0).compiled()(values, np.array([np.inf]), np.array([np.inf]))
    assert np.isnan(values).all()  # inf - inf


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


def test_a_nan_is_a_nan_in_single_precision_too():
    values = np.array([[np.nan]], np.float32)
    RBF(1.0).compiled().single(values, np.ones(1), np.ones(1))
    assert np.isnan(values).all()


def test_precomputed_blocks_are_those_of_the_matrix():
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


# --------------------------------------------------------------------------------- a kernel in one file


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["mpu", "pdm", "perceptron", "voted-perceptron", "pfm", "pegasos"])
def test_kernel_of_one_file_trains_and_predicts(name, n_classes, container):
    X, y, Z = clouds(n_classes=n_classes)
    kernel = RationalQuadratic(alpha=1.5, length_scale=0.8)
    params = {"max_iter": 20, "random_state": 0} | ({"gamma": 0.1} if name == "pfm" else {})
    own = margins.get(name)(kernel=kernel, **params).fit(container(X), y)
    gram = margins.get(name)(kernel="precomputed", **params).fit(kernel.block(X, X), y)
    assert own.kernel_ == kernel
    assert own.n_updates_ == gram.n_updates_ > 0
    assert own.n_iter_ == gram.n_iter_ and own.converged_ == gram.converged_
    assert_array_equal(own.support_, gram.support_)
    scores = own.decision_function(container(Z))
    assert_allclose(scores, gram.decision_function(kernel.block(Z, X)), rtol=1e-9, atol=1e-9)
    assert_array_equal(own.predict(container(Z)), gram.predict(kernel.block(Z, X)))
    if container is np.asarray:
        function = margins.get(name)(kernel=lambda A, B: kernel(A, B), **params).fit(X, y)
        assert function.n_updates_ == own.n_updates_
        assert_allclose(function.decision_function(Z), scores, rtol=1e-9, atol=1e-9)


def test_file_of_the_kernel_is_short():
    assert len(inspect.getsource(importlib.import_module("kernel_of_one_file")).splitlines()) <= 60


@pytest.fixture
def registered(monkeypatch, tmp_path):
    """The kernels, with one more file in the package of kernel functions."""
    package = tmp_path / "more_functions"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(Path(inspect.getfile(RationalQuadratic)), package)
    monkeypatch.syspath_prepend(tmp_path)
    found = find_kernels(importlib.import_module("more_functions"))
    for name, kernel in found.items():
        monkeypatch.setitem(KERNELS, name, kernel)
    yield found
    for module in ("more_functions", "more_functions.kernel_of_one_file"):
        importlib.sys.modules.pop(module, None)


def test_kernel_of_one_file_has_a_name_and_reads_the_estimators_parameters(registered):
    assert list(registered) == ["rational-quadratic"]

    class WithAlpha(margins.get("pdm")):
        kernel: object = kernel_choice()
        alpha: float = kernel_parameter("alpha")

    X, y, Z = clouds()
    named = WithAlpha(kernel="rational-quadratic", alpha=1.5, random_state=0).fit(X, y)
    assert (named.kernel_.alpha, named.kernel_.length_scale) == (1.5, 1.0)
    given = margins.get("pdm")(kernel=RationalQuadratic(1.5), random_state=0).fit(X, y)
    assert_array_equal(named.dual_coef_, given.dual_coef_)
    assert_array_equal(named.decision_function(Z), given.decision_function(Z))
    assert "'rational-quadratic' is (1 + |x - z|**2" in " ".join(WithAlpha.__doc__.split())
    with pytest.raises(ValueError, match=r"^alpha of WithAlpha must be in \(0, inf\)\. Got -1"):
        WithAlpha(kernel="rational-quadratic", alpha=-1.0).fit(X, y)


def test_two_kernels_of_one_name_are_an_error(registered):
    more = importlib.import_module("more_functions")
    source = Path(more.__path__[0], "kernel_of_one_file.py")
    shutil.copy(source, source.with_name("another.py"))
    importlib.invalidate_caches()
    with pytest.raises(ValueError, match="must be unique. Got 'rational-quadratic' in more_functions."):
        find_kernels(more)
    importlib.sys.modules.pop("more_functions.another")


@pytest.mark.parametrize("cache_size", [1e-6, 0.01, 200.0])
def test_cache_of_a_kernel_of_one_file_does_not_change_results(cache_size):
    X, y, _ = clouds(90)
    params = {"kernel": RationalQuadratic(), "C": 10.0, "max_iter": 5, "random_state": 0}
    plain = margins.get("mpu")(**params).fit(X, y)
    other = margins.get("mpu")(cache_size=cache_size, **params).fit(X, y)
    assert_array_equal(other.dual_coef_, plain.dual_coef_)


def test_kernel_objects_are_values():
    kernel = RationalQuadratic(2.0)
    assert kernel == RationalQuadratic(2.0) != RationalQuadratic(3.0)
    for each in (kernel, RBF(0.5), Polynomial(2), Linear(), Precomputed()):
        assert pickle.loads(pickle.dumps(each)) == each
    X, y, Z = clouds()
    classifier = margins.get("pdm")(kernel=kernel, random_state=0)
    assert clone(classifier).kernel == kernel
    search = GridSearchCV(classifier, {"kernel": [kernel, RBF(10.0)]}, cv=2).fit(X, y)
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(copy.decision_function(Z), search.decision_function(Z))


@pytest.mark.parametrize("kernel", [RationalQuadratic(), RBF(), RBF("auto"), Polynomial(2, coef0=1.0)])
def test_kernel_objects_are_callables_of_scikit_learn(kernel):
    X, y, Z = clouds()
    theirs = SVC(kernel=kernel).fit(X, y)
    resolved = kernel.resolve(X)
    gram = SVC(kernel="precomputed").fit(resolved.block(X, X), y)
    assert_allclose(theirs.decision_function(Z), gram.decision_function(resolved.block(Z, X)), rtol=1e-6)
    assert_allclose(kernel(Z.tolist(), X.tolist()), resolved.block(Z, X))


# ------------------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize("named, given", [("rbf", RBF()), ("rbf", RBF(2.0)), ("poly", Polynomial(2))])
def test_object_is_its_name(named, given):
    X, y, Z = clouds()
    params = {field: getattr(given, field) for field in vars(given)}
    by_name = margins.get("pdm")(kernel=named, random_state=0, **params).fit(X, y)
    by_object = margins.get("pdm")(kernel=given, random_state=0).fit(X, y)
    assert by_object.kernel_ == by_name.kernel_
    assert by_object.kernel_.gamma > 0
    assert_array_equal(by_object.decision_function(Z), by_name.decision_function(Z))


def test_every_kernel_is_accepted_by_its_name():
    assert sorted(KERNELS) == ["linear", "poly", "precomputed", "rbf"]
    X, y, _ = clouds()
    for name, kernel in KERNELS.items():
        given = X @ X.T if name == "precomputed" else X
        classifier = margins.get("pdm")(kernel=name).fit(given, y)
        assert type(classifier.kernel_) is kernel
        assert f"{name!r} is {kernel.formula}" in " ".join(type(classifier).__doc__.split())


def test_function_becomes_a_kernel():
    def inner(X, Z):
        return X @ Z.T

    assert kernel_of(margins.get("pdm")(kernel=inner), np.ones((2, 2))) == Function(inner)


def test_names_of_pfm_are_those_without_a_gamma():
    X, y, Z = clouds()
    pfm = margins.get("pfm")
    for name, kernel in KERNELS.items():
        has_gamma = hasattr(kernel(), "gamma")
        assert pfm.__dataclass_fields__["kernel"].metadata["allowed"].contains(name) == (not has_gamma)
    given = pfm(kernel=RBF(2.0), gamma=0.1, random_state=0).fit(X, y)
    gram = pfm(kernel="precomputed", gamma=0.1, random_state=0).fit(RBF(2.0).block(X, X), y)
    assert_allclose(given.decision_function(Z), gram.decision_function(RBF(2.0).block(Z, X)), rtol=1e-9)


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: RBF(gamma=0.0),
            r"^gamma of RBF must be one of 'scale', 'auto' or .* Got 0",
        ),
        (lambda: RBF(gamma="wide"), r"^gamma of RBF must be .* Got 'wide'"),
        (lambda: Polynomial(degree=-1), r"^degree of Polynomial must be an integer in .* Got -1"),
        (lambda: Polynomial(degree=1.5), r"^degree of Polynomial must be an integer in .* Got 1\.5"),
        (lambda: Polynomial(coef0=math.inf), r"^coef0 of Polynomial must be .* Got inf"),
        (lambda: RationalQuadratic(-1.0), r"^alpha of RationalQuadratic must be in \(0, inf\)\. Got -1"),
        (lambda: kernel_parameter("width"), r"of a kernel in \['linear', .*\]\. Got 'width'"),
    ],
)
def test_wrong_parameter_is_rejected(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -------------------------------------------------------------------------------------------- errors


def test_unknown_kernel_is_an_error_that_lists_the_known_ones():
    X, y, _ = clouds()
    kinds = "'linear', 'poly', 'precomputed', 'rbf'"
    message = rf"^kernel of \S+ \(\w+\) must be one of {kinds} or a callable\. Got"
    for kernel in ("sigmoid", "RBF", None, 3):
        with pytest.raises(ValueError, match=message):
            margins.get("pdm")(kernel=kernel).fit(X, y)


@dataclass(frozen=True)
class Wrong(Kernel):
    """A kernel with a formula that fails in the phase `fails`."""

    result: object = None

    def transform(self, products, x_sqnorms, z_sqnorms):
        if products.ndim == 1:  # the diagonal
            return np.ones_like(products)
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@pytest.mark.parametrize("result", [None, np.ones(3), 2.0, "number"])
def test_formula_that_returns_no_block_is_an_error_of_fit(result):
    X, y, _ = clouds()
    if result is None:
        result = np.full((1, 60), np.nan)
    with pytest.raises(ValueError, match=r"must return a finite array of shape|could not convert"):
        margins.get("pdm")(kernel=Wrong(result), cache_size=1e-6, random_state=0).fit(X, y)


def test_error_of_the_formula_is_the_error_of_fit_and_prediction():
    class Odd(Exception):
        pass

    X, y, _ = clouds()
    with pytest.raises(Odd, match="no value"):
        margins.get("pdm")(kernel=Wrong(Odd("no value")), random_state=0).fit(X, y)
    with pytest.raises(Odd, match="no value"):
        Wrong(Odd("no value")).block(X, X)


def test_kernel_without_a_formula_is_an_error_that_names_the_missing_method():
    X, y, _ = clouds()
    with pytest.raises(NotImplementedError, match=r"Kernel must define transform\(products, "):
        margins.get("pdm")(kernel=Kernel()).fit(X, y)


def test_rows_too_long_for_distances_are_rejected():
    X, y, _ = clouds()
    X[7, 0] = 1e70
    for kernel in (RBF(1.0), RationalQuadratic()):
        with pytest.raises(ValueError, match="Row 7 of X is too long"):
            margins.get("pdm")(kernel=kernel).fit(X, y)
    with pytest.raises(ValueError, match=r"kernel 'poly' must have K\(x, x\) in .* for sample 7"):
        margins.get("pdm")(kernel=Polynomial(gamma=1.0)).fit(X, y)


def test_estimators_declare_no_kernel_by_hand():
    for name in ("kernel", "degree", "gamma", "coef0"):
        field = BaseMarginClassifier.__dataclass_fields__[name]
        if name != "kernel":
            assert field.default == getattr(Polynomial(), name)
            assert field.metadata["allowed"] == Polynomial.__dataclass_fields__[name].metadata["allowed"]
