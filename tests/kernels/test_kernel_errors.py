"""Every algorithm with kernels that fail, are no kernels or give what has the wrong shape."""

import math
from itertools import product

import numpy as np
import pytest
from kernel_machines import each_algorithm, integers, linear, make
from scipy import sparse

# Most of these problems are not about whether a fit proves its accuracy.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class KernelFailure(Exception):
    pass


class FailingKernel:
    """The linear kernel, until it has been called so many times."""

    def __init__(self, n_calls_left):
        self.n_calls_left = n_calls_left

    def __call__(self, A, B):
        if self.n_calls_left == 0:
            raise KernelFailure(f"no kernel of {A.shape} and {B.shape}")
        self.n_calls_left -= 1
        return A @ B.T


@each_algorithm
def test_error_of_the_kernel_is_the_error_of_the_fit(name):
    X, y, _ = integers(3)
    for n_calls_left, n_jobs in ((0, 1), (1, 2), (2, 1), (5, 1), (5, 2)):
        # Without a cache nearly every update computes a row.
        kernel = FailingKernel(n_calls_left)
        classifier = make(name, kernel=kernel, cache_size=1e-6, C=1.0, n_jobs=n_jobs)
        with pytest.raises(KernelFailure, match="no kernel of"):
            classifier.fit(X, y)
        assert not hasattr(classifier, "dual_coef_") and not hasattr(classifier, "votes_")
    classifier.set_params(kernel="linear").fit(X, y).predict(X)


@pytest.mark.parametrize("name", ["auto", "mpu", "perceptron", "voted-perceptron", "pfm"])
def test_error_of_the_kernel_is_the_error_of_the_prediction(name):
    X, y, Z = integers()
    classifier = make(name, kernel=FailingKernel(10**6), C=1.0).fit(X, y)
    classifier.kernel_.function.n_calls_left = 0
    for method in (classifier.predict, classifier.decision_function):
        with pytest.raises(KernelFailure, match="no kernel of"):
            method(Z)


WRONG = {
    "transposed": lambda A, B: B @ A.T,
    "one column short": lambda A, B: (A @ B.T)[:, 1:],
    "flat": lambda A, B: (A @ B.T).ravel(),
    "number": lambda A, B: 1.0,
    "NaN": lambda A, B: np.full((len(A), len(B)), np.nan),
    "infinite": lambda A, B: np.full((len(A), len(B)), np.inf),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_result_of_a_function_is_an_error(wrong):
    X, y, Z = integers(m=80)
    for name in ("mpu", "perceptron", "voted-perceptron"):
        with pytest.raises(ValueError, match=r"^The kernel .* must return a finite array of shape \("):
            make(name, kernel=WRONG[wrong], C=1.0).fit(X, y)
        classifier = make(name, kernel=linear, C=1.0).fit(X, y)
        object.__setattr__(classifier.kernel_, "function", WRONG[wrong])
        with pytest.raises(ValueError, match=r"^The kernel .* must return a finite array of shape \("):
            classifier.decision_function(Z)


def test_wrong_shape_during_a_fit_is_an_error():
    X, y, _ = integers(m=80)

    def until_rows(A, B):
        return A @ B.T if len(B) < 80 else A @ B[1:].T

    for name in ("mpu", "perceptron"):
        with pytest.raises(ValueError, match=r"must return a finite array of shape \(\d+, 80\)"):
            make(name, kernel=until_rows, C=1.0).fit(X, y)


@pytest.mark.parametrize("name", ["auto", "mpu", "perceptron", "voted-perceptron", "pfm"])
def test_matrix_that_is_not_square_is_rejected(name):
    X, y, Z = integers()
    for given in (X, linear(X, X)[:, 1:], sparse.csr_array(X)):
        sentence = rf"must be a square matrix\. Got shape 40 x {given.shape[1]}\.$"
        with pytest.raises(ValueError, match=sentence):
            make(name, kernel="precomputed", C=1.0).fit(given, y)
    classifier = make(name, kernel="precomputed", C=1.0).fit(linear(X, X), y)
    sentence = r"K\(x, training sample\): .* column for each of the 40 training samples. Got {} columns"
    for new in (Z, linear(Z, X)[:, 1:], linear(X, Z), linear(Z, Z).tolist(), sparse.csr_array(Z)):
        with pytest.raises(ValueError, match=sentence.format(np.shape(new)[1])):
            classifier.decision_function(new)


@pytest.mark.parametrize("name", ["auto", "mpu", "perceptron", "voted-perceptron", "pfm"])
def test_negative_squared_length_is_rejected(name):
    X, y, _ = integers()
    gram = linear(X, X)
    gram[7, 7] = -3.0
    with pytest.raises(ValueError, match=r"'precomputed' must have K\(x, x\) .* Got -3 for sample 7"):
        make(name, kernel="precomputed", C=1.0).fit(gram, y)
    with pytest.raises(ValueError, match=r"must have K\(x, x\) in \[0, .* Got -"):
        make(name, kernel=lambda A, B: -linear(A, B), C=1.0).fit(X + 10, y)


@each_algorithm
def test_indefinite_matrix_does_not_crash(name):
    # As in SVC negative eigenvalues are not looked for; with them |a|^2 may vanish.
    for C, seed in product([1.0, math.inf], range(6)):
        rng = np.random.default_rng(seed)
        gram = rng.integers(0, 5, (20, 20)).astype(float)
        gram += gram.T
        y = np.arange(20) % 2
        classifier = make(name, kernel="precomputed", C=C, max_iter=5)
        try:
            classifier.fit(gram, y)
        except ValueError as refusal:
            assert "kernel" in str(refusal)
        else:
            assert np.isfinite(classifier.decision_function(gram)).all()


@pytest.mark.parametrize("name", ["auto", "mpu", "perceptron", "voted-perceptron"])
def test_points_that_are_all_one_have_a_kernel_of_finite_width(name):
    X, y = np.full((6, 2), 3.0), np.arange(6) % 2
    classifier = make(name, kernel="rbf", C=1.0).fit(X, y)
    assert np.isfinite(classifier.decision_function([[3.0, 3.0], [0.0, 1.0]])).all()
