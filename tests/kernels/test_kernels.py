"""Every algorithm with every kernel: training, fitted attributes, caches and threads."""

import dataclasses
import math
from itertools import cycle, product

import exact_optima
import numpy as np
import oracles
import problems
import pytest
from algorithm_groups import ALGORITHMS
from kernel_machines import (
    BY_POINTS,
    NAMES,
    NOISE_TOLERANT,
    clouds,
    each_algorithm,
    integers,
    linear,
    make,
)
from numpy.testing import assert_allclose, assert_array_equal
from problems import assert_same_fit, dense
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

import margins
from margins.estimators.maximum_margin import MaximumMarginClassifier

PROVING = [name for name in NAMES if issubclass(ALGORITHMS[name], MaximumMarginClassifier)]
VOTING = ["voted-perceptron"]  # the model is a list of mistakes, not coefficients
# Single samples are added, and their sum is neither scaled nor projected.
SUMS = [name for name in NOISE_TOLERANT if name != "averaged-perceptron"] + ["servedio-average"]

# Most of these problems are not about whether a fit proves its accuracy.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# One that proves, one that adds, one that votes.
FEW = ["auto", "perceptron", "voted-perceptron"]
CONTAINERS = [np.asarray, sparse.csr_array]


def few_with_all(values):
    """Pairs (algorithm, value): all values for the few, one of them for each of the others."""
    values = list(values)
    others = [name for name in BY_POINTS if name not in FEW]
    return [*product(FEW, values), *zip(others, cycle(values), strict=False)]


def square(A, B):
    """A kernel of whole numbers, if the points are."""
    return (linear(A, B) + 1) ** 2


def counts(classifier):
    """All whole numbers that a fit leaves."""
    curves = [[epoch[:3] for epoch in curve] for curve in classifier.learning_curve_]
    return curves, classifier.n_updates_, classifier.n_iter_, classifier.converged_


def assert_same_certificates(one, other, rel=1e-9):
    for left, right in zip(one.certificates_, other.certificates_, strict=True):
        for field in dataclasses.fields(left):
            expected = getattr(right, field.name)
            assert getattr(left, field.name) == pytest.approx(expected, rel=rel, abs=1e-9)


# ------------------------------------------------------------------------- one algorithm, two notations


@pytest.mark.parametrize(
    ("C", "n_classes", "weighted"), [(math.inf, 2, False), (0.5, 3, True), (0.5, 3, False)]
)
@each_algorithm
def test_matrix_of_inner_products_gives_the_fit_of_the_linear_kernel(name, C, n_classes, weighted):
    X, y, Z = integers(n_classes)
    # Their mean is 1, so that weights relative to it are exact.
    weight = np.where(np.arange(len(y)) % 2, 0.5, 1.5) if weighted else None
    primal = make(name, C=C).fit(X, y, weight)
    dual = make(name, C=C, kernel="precomputed").fit(X @ X.T, y, weight)
    assert not hasattr(dual, "coef_")
    assert counts(dual) == counts(primal)
    assert_same_certificates(dual, primal)
    scores, expected = dual.decision_function(Z @ X.T), primal.decision_function(Z)
    if name in SUMS:
        assert_array_equal(scores, expected)
    else:  # the scale of the coefficients is the certificate's
        assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(dual.predict(Z @ X.T), primal.predict(Z))
    if name not in VOTING:
        assert_allclose(dual.intercept_, primal.intercept_, rtol=1e-9)


@pytest.mark.parametrize(("n_classes", "fit_intercept"), [(3, True), (2, False)])
@each_algorithm
def test_a_function_gives_the_fit_of_its_matrix(name, n_classes, fit_intercept):
    X, y, Z = integers(n_classes)
    params = {"C": 0.5, "fit_intercept": fit_intercept}
    gram = make(name, kernel="precomputed", **params).fit(square(X, X), y)
    for container in (np.asarray, sparse.csr_array, np.float32):
        function = make(name, kernel=square, **params).fit(container(X), y)
        assert_same_fit(function, gram, besides=["support_vectors_", "kernel_", "n_features_in_"])
        assert_array_equal(dense(function.support_vectors_), X[function.support_])
        scores = function.decision_function(container(Z))
        assert_array_equal(scores, gram.decision_function(square(Z, X)))
    if not fit_intercept and name not in VOTING:
        assert_array_equal(gram.intercept_, np.zeros(len(gram.certificates_)))


POINT_KERNELS = {
    "rbf": ({"kernel": "rbf"}, lambda A, B, scale: rbf_kernel(A, B, gamma=scale)),
    "rbf, auto": ({"kernel": "rbf", "gamma": "auto"}, lambda A, B, scale: rbf_kernel(A, B)),
    "rbf, 2.5": ({"kernel": "rbf", "gamma": 2.5}, lambda A, B, scale: rbf_kernel(A, B, gamma=2.5)),
    "poly": ({"kernel": "poly"}, lambda A, B, scale: polynomial_kernel(A, B, gamma=scale, coef0=0)),
    "poly of degree 5": (
        {"kernel": "poly", "degree": 5, "gamma": 0.3, "coef0": 1.5},
        lambda A, B, scale: polynomial_kernel(A, B, degree=5, gamma=0.3, coef0=1.5),
    ),
    "poly of degree 0": (
        {"kernel": "poly", "degree": 0},
        lambda A, B, scale: np.ones((A.shape[0], B.shape[0])),
    ),
}


@pytest.mark.parametrize(("name", "case"), few_with_all(product(POINT_KERNELS, CONTAINERS)))
def test_named_kernels_equal_those_of_scikit_learn(name, case):
    kernel, container = case
    X, y, Z = clouds(50, 3, n_classes=3)
    X[np.abs(X) < 0.3] = 0
    named, function = POINT_KERNELS[kernel]
    scale = 1 / (X.shape[1] * X.var())  # gamma="scale", the zeros of a sparse matrix included
    params = {"C": 10.0, "max_iter": 10}
    by_name = make(name, **named, **params).fit(container(X), y)
    by_gram = make(name, kernel="precomputed", **params).fit(function(X, X, scale), y)
    assert counts(by_name) == counts(by_gram)
    assert_array_equal(by_name.support_, by_gram.support_)
    scores = by_name.decision_function(container(Z))
    assert_allclose(scores, by_gram.decision_function(function(Z, X, scale)), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", PROVING)
@pytest.mark.parametrize("C", [1.0, math.inf])
def test_certificates_hold_in_the_feature_space_of_the_kernel(name, C):
    X, y, Z = clouds(m=20, d=2)
    gram = rbf_kernel(X, X, gamma=2.0)
    features = np.linalg.cholesky(gram)  # its rows have these inner products
    labels = np.where(y == 1, 1, -1)
    truth = exact_optima.maximum_margin(oracles.data_of(features, labels, 1.0, 0.5 / C))
    given = {"kernel": "precomputed"} if name == "pfm" else {"kernel": "rbf", "gamma": 2.0}
    for max_iter in (1, 3, 5000):
        classifier = make(name, C=C, max_iter=max_iter, **given).fit(X, y)
        (certificate,) = classifier.certificates_
        assert certificate.margin <= truth * (1 + 1e-9)
        assert certificate.upper_bound >= truth * (1 - 1e-9)
    assert classifier.converged_
    assert certificate.margin >= (1 - classifier.eps) * truth
    # The primal objective is that of the coefficients as returned: |w|^2 = sum_jk a_j a_k K(j, k).
    a, b = classifier.dual_coef_[0], classifier.intercept_[0]
    support = classifier.support_
    slack = np.maximum(1 - labels * classifier.decision_function(X), 0)
    objective = 0.5 * (a @ gram[np.ix_(support, support)] @ a + b**2)
    if math.isinf(C):
        assert slack.max() <= 1e-9
    else:
        objective += C * slack @ slack
    assert certificate.primal == pytest.approx(objective, rel=1e-9)


# -------------------------------------------------------------------------------------- what is fitted


@pytest.mark.parametrize(
    ("n_classes", "container"), [(2, np.asarray), (2, sparse.csr_array), (3, np.asarray)]
)
@pytest.mark.parametrize("name", FEW)
def test_model_has_the_attributes_of_support_vector_machines(name, n_classes, container):
    X, y, Z = clouds(50, 3, n_classes)
    classifier = make(name, kernel="rbf", gamma=0.5, C=10.0).fit(container(X), y)
    n_problems = 1 if n_classes == 2 else n_classes
    support, n_support = classifier.support_, len(classifier.support_)
    assert support.dtype.kind == "i" and support.ndim == 1
    assert n_support and len(np.unique(support)) == n_support and support.max() < len(X)
    assert sparse.issparse(classifier.support_vectors_) == (container is sparse.csr_array)
    assert_array_equal(dense(classifier.support_vectors_), X[support])
    gram = rbf_kernel(Z, dense(classifier.support_vectors_), gamma=0.5)
    scores = classifier.decision_function(container(Z))
    assert scores.shape == ((len(Z),) if n_classes == 2 else (len(Z), n_classes))
    if name in VOTING:  # the votes are compared with the oracle in test_noise_tolerant.py
        assert not hasattr(classifier, "dual_coef_") and not hasattr(classifier, "intercept_")
        return
    assert classifier.dual_coef_.shape == (n_problems, n_support)
    assert classifier.intercept_.shape == (n_problems,)
    assert classifier.dual_coef_.dtype == classifier.intercept_.dtype == np.float64
    assert classifier.dual_coef_.any(axis=0).all()
    for index, row in enumerate(classifier.dual_coef_):
        signs = np.where(y == (1 if n_classes == 2 else index), 1, -1)[support]
        assert (row * signs >= 0).all()
    rebuilt = gram @ classifier.dual_coef_.T + classifier.intercept_
    assert_allclose(scores, rebuilt.ravel() if n_classes == 2 else rebuilt, rtol=1e-9, atol=1e-9)
    if n_classes == 2:
        theirs = SVC(kernel="rbf", gamma=0.5).fit(container(X), y)
        for key in ("support_", "support_vectors_", "dual_coef_", "intercept_"):
            assert getattr(classifier, key).ndim == getattr(theirs, key).ndim
            assert sparse.issparse(theirs.support_vectors_) == (container is not np.asarray)


@each_algorithm
def test_row_of_weight_zero_leaves_out_a_row_and_a_column(name):
    X, y, Z = integers(3)
    weight = np.where(np.arange(len(y)) % 5 == 2, 0.0, 1.0)
    kept = np.flatnonzero(weight)
    params = {"kernel": "precomputed", "C": 0.5}
    gram, new = square(X, X), square(Z, X)
    zero = make(name, **params).fit(gram, y, weight)
    left_out = make(name, **params).fit(gram[np.ix_(kept, kept)], y[kept])
    assert_same_fit(zero, left_out, besides=["support_", "cache_", "n_features_in_"])
    assert_array_equal(zero.support_, kept[left_out.support_])
    assert zero.n_features_in_ == len(y)
    assert_array_equal(zero.decision_function(new), left_out.decision_function(new[:, kept]))


MATRICES = {
    "float32": lambda K: K.astype(np.float32),
    "CSR": sparse.csr_array,
    "CSR float32": lambda K: sparse.csr_matrix(K.astype(np.float32)),
    "Fortran": np.asfortranarray,
    "reversed": lambda K: K[::-1, ::-1].copy()[::-1, ::-1],
}


@pytest.mark.parametrize(("name", "layout"), few_with_all(MATRICES))
def test_layout_of_the_matrix_changes_nothing(name, layout):
    X, y, Z = integers(3)
    plain = make(name, kernel="precomputed", C=0.5).fit(linear(X, X), y)
    given, new = MATRICES[layout](linear(X, X)), linear(Z, X)
    other = make(name, kernel="precomputed", C=0.5).fit(given, y)
    assert_array_equal(dense(given), linear(X, X))
    assert_same_fit(other, plain, besides=["support_vectors_"])
    scores = other.decision_function(MATRICES[layout](new))
    assert_array_equal(scores, plain.decision_function(new))


# ------------------------------------------------------------------------------------ memory, threads


@pytest.mark.parametrize(("name", "kernel"), few_with_all(["rbf", "poly", square]))
def test_size_of_the_cache_changes_not_one_bit(name, kernel):
    X, y, Z = clouds(m=90, d=5)
    for given in (X, sparse.csr_array(X)) if isinstance(kernel, str) else (X,):
        params = {"kernel": kernel, "C": 10.0, "max_iter": 5}
        large = make(name, **params).fit(given, y)
        for cache_size in (1e-6, 0.01):  # two rows, fourteen of the ninety
            small = make(name, cache_size=cache_size, **params).fit(given, y)
            if kernel is square:  # one row or more at a time, as the library multiplies matrices
                assert counts(small) == counts(large)
                # Rounding of products may make one update more of one of millions.
                scores = large.decision_function(Z)
                assert_allclose(small.decision_function(Z), scores, rtol=1e-6, atol=1e-6)
            else:
                assert_same_fit(small, large)
                assert_array_equal(small.decision_function(Z), large.decision_function(Z))


@pytest.mark.parametrize(("name", "kernel"), few_with_all(["rbf", "poly", square, "precomputed"]))
def test_number_of_jobs_changes_not_one_bit(name, kernel):
    X, y, Z = integers(4, m=60)
    X, Z = (square(X, X), square(Z, X)) if kernel == "precomputed" else (X, Z)
    params = {"kernel": kernel, "C": 1.0, "max_iter": 10, "cache_size": 0.005}
    alone = make(name, n_jobs=1, **params).fit(X, y)
    together = make(name, n_jobs=2, **params).fit(X, y)
    assert_same_fit(together, alone)
    assert_array_equal(together.decision_function(Z), alone.decision_function(Z))


def test_support_vectors_are_ordered_by_class_as_in_svc():
    X, y, _ = integers(3)
    y = np.array(["c", "a", "b"])[y]
    weight = np.where(np.arange(len(y)) % 7, 1.0, 0.0)
    classifier = problems.make("auto", kernel="rbf", loss="hinge").fit(X, y, weight)
    support, n_support = classifier.support_, classifier.n_support_
    assert n_support.dtype == np.int32 and n_support.sum() == len(support)
    ends = np.cumsum(n_support)
    for label, part in zip(classifier.classes_, np.split(support, ends[:-1]), strict=True):
        assert (y[part] == label).all() and (np.diff(part) > 0).all()
    assert_array_equal(classifier.support_vectors_, X[support])


def test_support_vectors_of_two_classes_equal_those_of_svc():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=120) > 0
    for kernel in ("rbf", "linear"):
        params = {"kernel": kernel, "C": 2.0}
        ours = margins.MarginClassifier(loss="hinge", penalize_intercept=False, eps=1e-9, **params)
        svc = SVC(tol=1e-8, **params).fit(X, y)
        ours.fit(X, y)
        assert_array_equal(np.sort(ours.support_), np.sort(svc.support_))
        if kernel == "rbf":
            assert_array_equal(ours.support_, svc.support_)
            assert_array_equal(ours.n_support_, svc.n_support_)
            assert_allclose(ours.dual_coef_, svc.dual_coef_, rtol=1e-3, atol=1e-4)


def test_a_linear_fit_without_dual_variables_has_no_support():
    X, y, _ = integers(2)
    assert not hasattr(problems.make("pdm", C=math.inf).fit(X, y), "support_")
    assert not hasattr(problems.make("perceptron").fit(X, y), "support_")
    classifier = problems.make("pdm", C=1.0).fit(X, y)
    assert_array_equal(classifier.support_, np.flatnonzero(classifier.dual_coef_[0]))
