"""Kernels that are not positive semidefinite: nothing is proven of them, and some are refused."""

import re
import warnings

import numpy as np
import pytest
from problems import make
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import KernelCenterer, StandardScaler
from sklearn.svm import SVC

import margins
from margins.kernels import RBF, Function, Linear, Polynomial, Precomputed, Sigmoid
from margins.kernels.semidefinite import MAX_SAMPLES, negative_eigenvalue, some_samples

NOT_SEMIDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


def fit(K, y, **params):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier = margins.MarginClassifier(kernel="precomputed", **params).fit(K, y)
    return classifier, [str(each.message) for each in caught]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_nothing_is_proven_of_two_samples_with_a_negative_minor(loss, C):
    classifier, messages = fit(NOT_SEMIDEFINITE, [1, -1], loss=loss, C=C, fit_intercept=False)
    assert not classifier.converged_
    certificate = classifier.certificates_[0]
    assert certificate.dual == 0 and certificate.gap == np.inf and certificate.fraction == 0
    assert len(messages) == 1 and messages[0].endswith(
        "The kernel is not positive semidefinite: |K(x, z)| of samples 0 and 1 exceeds the root of "
        "K(x, x) K(z, z). The objective then has no lower bound, and nothing can be proven."
    )


@pytest.mark.parametrize("name", sorted(set(margins.available()) - {"alma", "second-order-perceptron"}))
def test_no_algorithm_claims_a_bound(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = make(name, kernel="precomputed", max_iter=30, random_state=0)
        classifier.fit(NOT_SEMIDEFINITE, [1, -1])
    assert classifier.certificates_[0].dual == 0
    assert classifier.certificates_[0].upper_bound == np.inf


@pytest.mark.parametrize("seed", range(12))
def test_no_bound_is_claimed_of_matrices_with_a_negative_eigenvalue(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 40))
    A = rng.standard_normal((m, m))
    K = [(A + A.T) / 2, np.tanh(A @ A.T / m - 0.2), np.round(3 * (A + A.T))][seed % 3]
    K[np.diag_indices(m)] = abs(K.diagonal()) + 0.1
    if np.linalg.eigvalsh(K)[0] >= 0:
        K[0, 1] = K[1, 0] = 2 * np.sqrt(K[0, 0] * K[1, 1])
    y = np.arange(m) % 2
    for params in ({"loss": "hinge"}, {"C": np.inf}, {"C": 100.0, "penalize_intercept": False}):
        classifier, _ = fit(K, y, max_iter=100, random_state=0, **params)
        assert classifier.certificates_[0].dual == 0 and not classifier.converged_


@pytest.mark.parametrize(
    ("others", "what"),
    [(0.001, r"\|a\|\^2 is -"), (10.0, "the matrix of 512 samples, .* has the eigenvalue -0.8[.]")],
    ids=["squared norm", "support vectors"],
)
def test_support_vectors_show_what_the_samples_looked_at_first_do_not(others, what):
    """Three samples beyond those that are looked at first spoil the matrix, though no two of them do."""
    m = MAX_SAMPLES + 100
    left_out = np.setdiff1d(np.arange(m), some_samples(m))[:3]
    K = others * np.eye(m)
    K[np.ix_(left_out, left_out)] = 1.9 * np.eye(3) - 0.9
    y = np.arange(m) % 2
    y[left_out] = 1
    classifier, messages = fit(K, y, loss="hinge", fit_intercept=False, max_iter=30)
    assert classifier.certificates_[0].dual == 0
    assert re.search(f"not positive semidefinite: {what}", messages[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(5))
def test_products_of_few_features_are_semidefinite_up_to_rounding(dtype, seed):
    X = (
        np.random.default_rng(seed).standard_normal((300, 3)).astype(dtype)
        * np.logspace(0, 3, 300)[:, None]
    )
    K = (X.astype(dtype) @ X.astype(dtype).T).astype(np.float64)
    assert negative_eigenvalue(0.5 * (K + K.T)) is None


@pytest.mark.parametrize("seed", range(5))
def test_matrices_of_single_precision_may_be_scaled_and_centred_in_double(seed):
    X = 10 + np.random.default_rng(seed).standard_normal((200, 2))
    single = (X.astype(np.float32) @ X.astype(np.float32).T).astype(np.float64)
    single = 0.5 * (single + single.T)
    lengths = np.sqrt(single.diagonal())
    for K in (
        0.3 * single,
        single / lengths / lengths[:, None],
        KernelCenterer().fit_transform(X @ X.T),
    ):
        assert negative_eigenvalue(0.5 * (K + K.T)) is None


def test_asymmetric_kernels_are_refused_before_training():
    K = np.array([[1.0, 0.9], [-0.9, 1.0]])
    sentence = (
        r"The kernel 'precomputed' must be symmetric. Got K\(x, z\) = 0.9 of samples 0 and 1, and "
    )
    for estimator in (margins.MarginClassifier(), margins.get("perceptron")()):
        with pytest.raises(ValueError, match=sentence):
            estimator.set_params(kernel="precomputed").fit(K, [1, -1])
    X = np.random.default_rng(0).standard_normal((MAX_SAMPLES + 50, 2))
    with pytest.raises(ValueError, match="must be symmetric"):
        margins.get("perceptron")(kernel=lambda A, B: A @ (B + [0, 1]).T + 100).fit(X, X[:, 0] > 0)


def test_a_large_precomputed_matrix_is_compared_in_full():
    m = MAX_SAMPLES + 100
    i, j = np.setdiff1d(np.arange(m), some_samples(m))[:2]
    K = np.eye(m)
    K[i, j] = 0.5
    with pytest.raises(ValueError, match=f"Got K.* = 0.5 of samples {i} and {j}, and .* = 0"):
        margins.MarginClassifier(kernel="precomputed").fit(K, np.arange(m) % 2)


def test_kernels_know_whether_they_are_semidefinite():
    semidefinite = [Linear(), RBF(), Polynomial(), Polynomial(coef0=1.0)]
    assert all(kernel.is_semidefinite for kernel in semidefinite)
    others = [Polynomial(coef0=-1.0), Sigmoid(), Precomputed(), Function(np.dot)]
    assert not any(kernel.is_semidefinite for kernel in others)
    X = np.random.default_rng(0).standard_normal((50, 2))
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        margins.MarginClassifier(kernel="poly", degree=2, gamma=0.1, coef0=-1.0).fit(X, X[:, 0] > 0)


def test_the_sigmoid_kernel_is_proven_where_its_matrix_is_semidefinite():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    classifier = margins.MarginClassifier(kernel="sigmoid", gamma=1.0, eps=1e-6).fit(X, [0, 0, 1, 1])
    assert classifier.converged_ and classifier.certificates_[0].gap < 1e-5


def test_a_negative_diagonal_is_refused():
    X = np.array([[0.1, 0.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"'sigmoid' must have K\(x, x\) in \[0, .* Got -0.7"):
        margins.MarginClassifier(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, [0, 1])


@pytest.mark.parametrize(
    ("loss", "penalized", "gamma", "C"),
    [
        ("hinge", True, "scale", 0.1),
        ("hinge", False, 0.01, 100.0),
        ("hinge", True, 0.3, np.inf),
        ("hinge", False, 0.3, 1.0),
        ("squared_hinge", False, "scale", 100.0),
        ("squared_hinge", True, 0.01, 1.0),
        ("squared_hinge", False, 0.01, np.inf),
        ("squared_hinge", True, 0.3, 0.1),
    ],
)
def test_models_without_a_proof_are_about_as_good_as_svc(loss, penalized, gamma, C):
    X, y = (each[::2] for each in load_breast_cancer(return_X_y=True))
    X = StandardScaler().fit_transform(X)
    classifier = margins.MarginClassifier(
        kernel="sigmoid", gamma=gamma, C=C, loss=loss, penalize_intercept=penalized, max_iter=100
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(X, y)
    assert [each.category for each in caught] == [ConvergenceWarning]  # no overflow in single precision
    certificate = classifier.certificates_[0]
    assert certificate.dual == 0 and not classifier.converged_
    svc = SVC(kernel="sigmoid", gamma=gamma, C=min(C, 1000.0)).fit(X, y)
    assert classifier.score(X, y) > svc.score(X, y) - 0.06
    losses = np.maximum(0, 1 - (2 * y - 1) * classifier.decision_function(X))
    if np.isfinite(C):
        sum_of_losses = C * float(np.sum(losses if loss == "hinge" else losses**2))
        assert sum_of_losses < C * len(y)  # of the model that is zero
        assert certificate.primal > (1 - 1e-6) * sum_of_losses


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_every_pair_of_a_precomputed_matrix_is_checked(storage):
    K = np.eye(1500)
    i, j = np.setdiff1d(np.arange(1500), some_samples(1500))[[7, 300]]
    K[i, j] = K[j, i] = 3.0
    classifier, messages = fit(storage(K), np.arange(1500) % 2, loss="hinge", fit_intercept=False)
    assert classifier.certificates_[0].dual == 0 and not classifier.converged_
    assert f"samples {i} and {j} exceeds the root" in messages[0]


def with_one_pair(i, j):
    """A function that is 1 for equal samples and 3 for one pair of samples, else 0."""

    def function(X, Z):
        x, z = X[:, :1], Z[:, 0]
        return np.where(((x == i) & (z == j)) | ((x == j) & (z == i)), 3.0, x == z)

    return function


@pytest.mark.parametrize(
    "estimator",
    [
        margins.MarginClassifier(),
        margins.MarginClassifier(loss="hinge", fit_intercept=False, cache_size=0.2),
        margins.get("pdm")(C=1.0, random_state=0),
    ],
    ids=["all rows cached", "few rows cached", "rows in double precision"],
)
def test_rows_that_training_computes_show_a_pair_of_a_large_matrix(estimator):
    m = 1500
    i, j = map(int, np.setdiff1d(np.arange(m), some_samples(m))[[7, 300]])
    with pytest.warns(ConvergenceWarning, match=f"samples {i} and {j} exceeds the root of K"):
        estimator.set_params(kernel=with_one_pair(i, j)).fit(np.arange(m)[:, None], np.arange(m) % 2)
    assert estimator.certificates_[0].dual == 0 and not estimator.converged_


@pytest.mark.parametrize("name", ["auto", "pdm"])
def test_rows_of_a_formula_show_a_pair_of_a_large_matrix(name):
    m = MAX_SAMPLES + 100
    i = int(np.setdiff1d(np.arange(m), some_samples(m))[7])
    X = 10 * np.eye(m)
    X[i, i] = 1  # K(x, x) is 0, and K(x, z) is 1
    params = dict(kernel="poly", degree=2, gamma=1.0, coef0=-1.0, C=1.0, random_state=0)
    estimator = make(name, **params)
    with pytest.warns(ConvergenceWarning, match=f"samples .*\\b{i}\\b.* exceeds the root"):
        estimator.fit(X, np.arange(m) % 2)
    assert estimator.certificates_[0].dual == 0 and not estimator.converged_


def test_a_pair_that_only_single_precision_rounds_beyond_its_bound_shows_nothing():
    X = np.random.default_rng(0).standard_normal((MAX_SAMPLES + 100, 2))
    rows = Function(lambda X, Z: X @ Z.T).rows(X, 100.0)
    rows.watch(np.array([5]), np.full((1, len(X)), 1e3, np.float32))
    assert rows.blocks.indefinite is None
