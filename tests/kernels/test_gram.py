"""Few samples of many features: training over the Gram matrix gives what training over X gives."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sample_problems import ALL_LAYOUTS, doubled
from scipy import sparse

import margins
from margins.estimators import algorithm
from margins.kernels import gram
from margins.solvers import auto
from margins.solvers.auto import gram_pays

ALGORITHMS = {name: margins.get(name) for name in margins.available()}
SOLVERS = ("auto", "conjugate", "unlearning", "dcd")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LAYOUTS = {
    **ALL_LAYOUTS,
    "CSR, unsorted, but flagged": lambda X: flagged(ALL_LAYOUTS["unsorted CSR"](X)),
    "CSR, elements stored twice": doubled,
}


def flagged(X):
    X.has_sorted_indices = X.has_canonical_format = True  # which may be wrong
    return X


def few(n_classes=2, m=12, d=300):
    rng = np.random.default_rng(n_classes)
    X = rng.integers(-3, 4, (m, d)) * (rng.random((m, d)) < 0.7).astype(float)
    X[3] = 0
    X[4] = X[5]
    return X, np.arange(m) % n_classes


@pytest.fixture
def without(monkeypatch):
    """Fits without a Gram matrix, whatever X is."""

    def fit(classifier, *data):
        with monkeypatch.context() as patch:
            patch.setattr(auto, "gram_pays", lambda X: False)
            return classifier.fit(*data)

    return fit


def make(name, **params):
    known = ALGORITHMS[name]().get_params()
    params = {"eps": 0.05, "max_iter": 60, "random_state": 0, **params}
    return ALGORITHMS[name](**{key: value for key, value in params.items() if key in known})


def assert_same(one, other, rtol=1e-7):
    assert one.n_accesses_ == other.n_accesses_
    assert one.n_updates_ == other.n_updates_
    assert one.converged_ == other.converged_
    assert hasattr(one, "dual_coef_") == hasattr(other, "dual_coef_")
    for key in ("coef_", "intercept_", "dual_coef_"):
        if hasattr(one, key):
            ours, theirs = getattr(one, key), getattr(other, key)
            assert ours.dtype == np.float64 and ours.flags.c_contiguous
            assert_allclose(ours, theirs, rtol=rtol, atol=rtol * np.abs(theirs).max(), err_msg=key)
    for ours, theirs in zip(one.certificates_, other.certificates_, strict=True):
        assert_allclose(ours.fraction, theirs.fraction, rtol=1e-9)
        assert_allclose(ours.dual, theirs.dual, rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("loss", "C", "n_classes"),
    [
        ("hinge", math.inf, 2),
        ("hinge", 0.5, 3),
        ("squared_hinge", math.inf, 3),
        ("squared_hinge", 0.5, 2),
    ],
)
def test_every_solver_learns_the_same(solver, loss, C, n_classes, without):
    X, y = few(n_classes)
    params = {"C": C, "loss": loss, "solver": solver}
    if solver == "conjugate" and math.isinf(C):
        with pytest.raises(ValueError, match="hard margin"):
            make("auto", **params).fit(X, y)
        return
    assert gram_pays(X)
    assert make("auto", **params).explain(X, y).rows == "Gram matrix"
    with_gram, with_features = make("auto", **params).fit(X, y), without(make("auto", **params), X, y)
    if solver == "auto" and math.isinf(
        C
    ):  # of inseparable classes bounds fall as far as rounding lets them
        for one, other in zip(with_gram.certificates_, with_features.certificates_, strict=True):
            is_separated = one.margin > 0
            assert (other.margin > 0) == is_separated
            for each in (one, other):
                assert each.fraction >= 0.95 if is_separated else each.upper_bound < 1e-6
        return
    assert_same(with_gram, with_features)


def test_newton_steps_read_the_samples_themselves(monkeypatch):
    X, y = few()
    monkeypatch.setattr(algorithm, "gram_rows", lambda X, coarse: pytest.fail("made"))
    fitted = make("auto", solver="newton").fit(X, y)
    assert fitted.solver_ == "newton"
    assert make("auto", solver="newton").explain(X, y).rows == "X"
    with pytest.raises(pytest.fail.Exception, match="made"):
        make("auto").fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_fit(layout, loss, without):
    X, y = few()
    given = LAYOUTS[layout](X)
    assert gram_pays(given)
    one = make("auto", loss=loss, eps=1e-3, max_iter=1000).fit(given, y)
    assert_same(one, without(make("auto", loss=loss, eps=1e-3, max_iter=1000), X, y))
    assert one.converged_
    assert_allclose(np.asarray(one.coef_ @ X.T).ravel() + one.intercept_, one.decision_function(given))


@pytest.mark.parametrize("offset", [1e2, 1e6])
@pytest.mark.parametrize(
    ("solver", "C"),
    [("auto", math.inf), ("auto", 1.0), ("unlearning", 2e7), ("dcd", 1.0), ("dcd", math.inf)],
)
def test_certificate_holds_for_the_weights_if_rows_are_long_relative_to_the_margin(solver, C, offset):
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((6, 100)), np.arange(6) % 2
    X[:, :30] += offset  # products with a weight vector: small sums of large inner products
    assert gram_pays(X)
    one = make("auto", solver=solver, C=C).fit(X, y)
    weights, bias = one.coef_[0].astype(np.longdouble), np.longdouble(one.intercept_[0])
    margins_ = (2 * y - 1) * (X.astype(np.longdouble) @ weights + bias)
    sqnorm = weights @ weights + bias**2
    certificate = one.certificates_[0]
    if math.isinf(C):
        assert_allclose(certificate.margin, float(margins_.min() / np.sqrt(sqnorm)), rtol=1e-6)
    else:
        objective = sqnorm / 2 + C * np.sum(np.maximum(1 - margins_, 0) ** 2)
        assert_allclose(certificate.primal, float(objective), rtol=1e-6)


def test_a_callback_gets_the_weights_of_the_features():
    pytest.importorskip("sklearn.callback")
    X, y = few()
    seen = []

    class Recorder:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, context, estimator, **_): ...
        def on_fit_task_end(self, context, estimator, *, fitted_estimator):
            seen.append(fitted_estimator)

    last = make("auto", eps=0.001).set_callbacks(Recorder()).fit(X, y)
    assert len(seen) > 2
    for one in seen:
        assert one.coef_.shape == (1, 300)
        assert_allclose(one.coef_ @ X.T + one.intercept_, [one.decision_function(X)])
    assert_array_equal(seen[-1].coef_, last.coef_)
    assert last.certificates_ == make("auto", eps=0.001).fit(X, y).certificates_


def test_samples_of_weight_0_are_left_out(without):
    X, y = few()
    weight = np.where(np.arange(12) % 4 == 1, 0.0, 2.0)
    one = make("auto").fit(X, y, weight)
    assert_same(one, without(make("auto"), X, y, weight))
    assert (one.dual_coef_[0, weight == 0] == 0).all()


@pytest.mark.parametrize("scale", [1e-59, 1e-20, 1e20, 1e55])
def test_a_common_factor_of_the_features_changes_no_fit(scale):
    X, y = few()
    one = make("auto", C=math.inf, fit_intercept=False).fit(X[5:] * scale, y[5:])
    other = make("auto", C=math.inf, fit_intercept=False).fit(X[5:], y[5:])
    assert one.converged_
    assert_allclose(one.coef_ * scale, other.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_too_long_a_row_is_rejected_without_warnings(container):
    X, y = few()
    X[7, 0] = 1e200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="Row 7 of X is too long"):
            make("auto").fit(container(X), y)


def matrix_of(X, coarse=False):
    rows = gram.gram_rows(X, coarse)
    assert rows.is_kernel and rows.n_rows == rows.n_features == X.shape[0]
    products = np.zeros((rows.n_rows, rows.n_rows))
    for k in range(rows.n_rows):
        rows.py_axpy(k, 1.0, products[k])
    assert_array_equal(rows.sqnorms(), np.diag(products))
    return products


def test_matrix_holds_inner_products():
    X, _ = few(m=9, d=1001)
    for given in (X, sparse.csr_array(X), ALL_LAYOUTS["unsorted CSR"](X), X.astype(np.float32)):
        assert_array_equal(matrix_of(given), X @ X.T)  # of integers: exact


def test_coarse_matrix_is_rounded_to_single_precision():
    X = np.random.default_rng(0).normal(size=(9, 1001))
    exact = X @ X.T
    for given in (X, sparse.csr_array(X), ALL_LAYOUTS["unsorted CSR"](X), np.asfortranarray(X)):
        assert_allclose(matrix_of(given), exact, rtol=1e-12, atol=1e-11)
        error = np.abs(matrix_of(given, coarse=True) - exact).max()
        assert 1e-8 * exact.max() < error < 1e-6 * exact.max()


@pytest.mark.parametrize("factor", [1e20, 1e-20, 0.0])
@pytest.mark.parametrize("which", [slice(None), slice(4, 5)])
def test_matrix_is_not_rounded_beyond_single_precision(which, factor):
    X = np.random.default_rng(0).normal(size=(9, 1001))
    X[which] *= factor
    assert_array_equal(matrix_of(X, coarse=True), matrix_of(X))


@pytest.mark.parametrize(("offset", "is_rounded"), [(0, True), (30, False), (1e4, False)])
def test_matrix_of_rows_with_too_much_in_common_is_not_rounded(offset, is_rounded):
    X = np.random.default_rng(0).normal(size=(20, 500))
    X -= X.mean(axis=0)  # linear dependence alone is no reason
    X += offset
    assert (matrix_of(X, coarse=True) != matrix_of(X)).any() == is_rounded


@pytest.mark.parametrize(
    "params, expected",
    [
        ({"eps": 0.0001}, True),
        ({"eps": 0.05, "C": math.inf}, True),
        ({"eps": 0.00009}, False),
        ({"eps": 0.05, "loss": "hinge"}, True),
    ],
)
def test_accuracy_chooses_the_precision(monkeypatch, params, expected):
    made = []
    real = gram.gram_rows
    monkeypatch.setattr(algorithm, "gram_rows", lambda X, coarse: made.append(coarse) or real(X, coarse))
    X, y = few()
    make("auto", **params).fit(X[5:], y[5:])  # no row of 0
    assert made == [expected]


@pytest.mark.parametrize(
    ("loss", "solver", "C", "eps", "contradicting"),
    [
        *(("squared_hinge", solver, 0.01, eps, False) for solver in SOLVERS for eps in (1e-2, 1e-4)),
        *(("hinge", "auto", C, 1e-4, C == 1.0) for C in (0.01, 1.0, 1e4)),
        ("hinge", "auto", 1.0, 1e-4, False),
    ],
)
def test_coarse_matrix_proves_what_is_true(loss, solver, C, eps, contradicting):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 400)) + 0.1
    y = rng.choice([-1, 1], 20)
    if contradicting:
        X[1], y[1] = X[0], -y[0]
    params = {"solver": solver, "loss": loss, "C": C, "eps": eps, "max_iter": 1000}
    one = make("auto", fit_intercept=False, **params).fit(X, y)
    (certificate,), dual = one.certificates_, one.dual_coef_[0]
    assert one.converged_
    slacks = np.maximum(1 - y * one.decision_function(X), 0)
    losses = C * (slacks.sum() if loss == "hinge" else slacks @ slacks)
    assert_allclose(certificate.primal, 0.5 * np.sum(one.coef_**2) + losses, rtol=1e-11)
    w = X.T @ (dual * y)
    diagonal = 0 if loss == "hinge" else dual @ dual / (4 * C)
    assert dual.min() >= 0 and (loss != "hinge" or dual.max() <= C)
    assert certificate.dual <= (dual.sum() - 0.5 * w @ w - diagonal) * (1 + 1e-11)
