"""Kernels with large values: rbf does not depend on a common factor, and errors name the column."""

import math

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import margins
from margins.kernels import RBF


def blobs(n=2001):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, 3))
    return A, A[:, 0] > 0


def make(**params):
    return margins.MarginClassifier(**{"loss": "hinge", "kernel": "rbf", "random_state": 0} | params)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("factor", [1e-8, 1e8, 1e12])
def test_rbf_does_not_depend_on_a_common_factor(free, factor):
    A, y = blobs()
    one = make(penalize_intercept=not free).fit(A, y)
    other = make(penalize_intercept=not free).fit(factor * A, y)
    assert other.solver_ == "decomposition" and other.converged_
    assert other.certificates_[0].primal == pytest.approx(one.certificates_[0].primal, rel=0.01)
    assert abs(len(other.support_) - len(one.support_)) <= 10
    assert (other.predict(factor * A) == one.predict(A)).mean() > 0.99


@pytest.mark.parametrize("storage", [np.asarray, "sparse"])
def test_one_value_of_a_billion_is_no_error(storage):
    from scipy import sparse

    A, y = blobs()
    A[5, 1] = 1e9
    X = sparse.csr_array(A) if storage == "sparse" else A
    fitted = make(penalize_intercept=False).fit(X, y)
    assert fitted.converged_ and fitted.solver_ == "decomposition"


def test_times_in_seconds_in_paths_folds_and_pairs():
    A, y = blobs(600)
    X = np.c_[1e3 * A, 1.7e9 + 3e7 * A[:, 0]]
    options = {"kernel": "rbf", "loss": "hinge", "penalize_intercept": False, "random_state": 0}
    selected = margins.MarginClassifierCV(Cs=[1.0, 10.0], cv=3, **options).fit(X, y)
    assert selected.score(X, y) > 0.9
    assert make(penalize_intercept=False).explain(X, y).solver.startswith("decomposition")
    X, y = make_blobs(900, centers=4, random_state=0)
    pairs = make(penalize_intercept=False, multi_class="ovo")
    assert pairs.fit(1e9 * X, y).score(1e9 * X, y) == pytest.approx(
        pairs.fit(X, y).score(X, y), abs=0.01
    )


def test_a_scaled_kernel_has_the_same_values():
    X = np.random.default_rng(0).normal(size=(5, 2))
    kernel = RBF(gamma=0.3)
    assert (kernel.scaled(0.25)(0.25 * X, 0.25 * X) == kernel(X, X)).all()


@pytest.mark.parametrize(
    ("power", "n", "loss", "free"),
    [
        (44, 300, "hinge", False),
        (44, 2001, "squared_hinge", True),
        (60, 300, "squared_hinge", True),
        (60, 2001, "hinge", False),
        (60, 300, "hinge", True),
    ],
)
def test_a_common_factor_of_kernel_values_is_a_factor_of_C(power, n, loss, free):
    A, y = blobs(n)
    K = A @ A.T
    unit = 2.0**power
    options = {"kernel": "precomputed", "loss": loss, "penalize_intercept": not free}
    rho = {} if free else {"intercept_scaling": math.sqrt(unit)}
    one = make(C=1.0, **options, solver="decomposition").fit(K, y)
    other = make(C=1 / unit, **options, **rho, solver="decomposition").fit(unit * K, y)
    assert one.converged_ and other.converged_
    primal, large = (fit.certificates_[0].primal for fit in (one, other))
    assert unit * large == pytest.approx(primal, rel=2 * one.eps)
    assert (other.predict(unit * K) == one.predict(K)).mean() > 0.99


def test_polynomials_of_large_integers_train():
    X = np.random.default_rng(1).integers(0, 65536, size=(2001, 4)).astype(float)
    y = X[:, 0] + X[:, 1] > 65536
    fitted = make(kernel="poly", gamma=1.0, C=1e-25, penalize_intercept=False, max_iter=200)
    fitted.fit(X, y)
    assert fitted.converged_ and fitted.solver_ == "decomposition"
    assert fitted.score(X, y) > 0.8


def test_values_beyond_single_precision_are_named():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 65536, size=(2001, 3)).astype(float)
    X[:, 1] *= 1e4
    y = X[:, 0] > 3e4
    with pytest.raises(ValueError, match=r"column 1 of X has values up to 6\.5\de\+08"):
        make(kernel="poly", gamma=1.0, penalize_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="divide the kernel matrix by a common factor"):
        make(kernel="precomputed", penalize_intercept=False).fit(1e20 * X @ X.T, y)
