"""Khardon & Wachman's noise-tolerant perceptrons with kernels."""

import numpy as np
import pytest
import sample_problems
from hypothesis import given
from hypothesis import strategies as st
from noise_tolerant_replay import (
    AVERAGINGS,
    OPTIONS,
    SEEDS,
    SETTINGS,
    WHOLE,
    assert_replays,
    assert_same_fit,
    clouds,
    perceptron,
    plain,
    problems_of_three,
    queries_of,
    replay,
    some,
)
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

# Whether a run ends with an epoch without updates is not tested here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def linear(A, B):
    return A @ B.T


def shifted_square(A, B):
    return (A @ B.T + 1) ** 2


@some(AVERAGINGS)
@examples(8)
@given(
    problem=sample_problems.problems(),
    seed=SEEDS,
    options=st.sampled_from([OPTIONS[0], OPTIONS[8], OPTIONS[-1]]),
)
def test_linear_kernel_is_the_primal_run(averaging, problem, seed, options):
    X, y = problem
    queries = queries_of(X, seed)
    params = {**WHOLE, **options, **averaging, "max_iter": 7, "random_state": seed}
    primal = perceptron(**params).fit(X, y)
    by_call = perceptron(kernel=linear, **params).fit(X, y)
    by_gram = perceptron(kernel="precomputed", **params).fit(X @ X.T, y)
    problems = replay(primal, X, y, gram=X @ X.T)
    rows = queries @ X.T
    assert_replays(by_call, problems, queries, rows)
    assert_replays(by_gram, problems, rows)
    for dual, points in ((by_call, queries), (by_gram, rows)):
        assert not hasattr(dual, "coef_")
        assert dual.n_updates_ == primal.n_updates_
        scores = primal.decision_function(queries)
        if averaging["averaging"] == "averaged":
            assert_allclose(dual.decision_function(points), scores, rtol=1e-12, atol=1e-11)
        else:
            assert_array_equal(dual.decision_function(points), scores)
        if hasattr(primal, "votes_"):
            assert_array_equal(dual.votes_[0], primal.votes_[0])
            assert_array_equal(dual.mistakes_[0], primal.mistakes_[0])
            assert_array_equal(dual.support_, primal.support_)


@some(AVERAGINGS)
@examples(10)
@given(
    problem=sample_problems.problems(),
    seed=SEEDS,
    layout=st.sampled_from(["dense", "dense float32", "Fortran", "CSR", "CSR int64"]),
)
def test_polynomial_kernel_replays_the_oracle(averaging, problem, seed, layout):
    X, y = problem
    queries = queries_of(X, seed)
    make = sample_problems.LAYOUTS[layout]
    params = {**WHOLE, **averaging, "tau": 0.5, "lam": 1.0, "max_iter": 7, "random_state": seed}
    classifier = perceptron(kernel="poly", degree=2, gamma=1.0, coef0=1.0, **params).fit(make(X), y)
    problems = replay(classifier, X, y, gram=shifted_square(X, X))
    assert_replays(classifier, problems, make(queries), shifted_square(queries, X))
    assert_array_equal(plain(classifier.support_vectors_), X[classifier.support_])


@some(AVERAGINGS)
@SETTINGS
@given(problem=problems_of_three(), seed=SEEDS)
def test_kernel_problems_of_three_classes_share_their_support(averaging, problem, seed):
    X, y = problem
    queries = queries_of(X, seed)
    classifier = perceptron(
        **WHOLE, **averaging, kernel=shifted_square, max_iter=7, random_state=seed
    ).fit(X, y)
    problems = replay(classifier, X, y, gram=shifted_square(X, X))
    assert_replays(classifier, problems, queries, shifted_square(queries, X))


KERNELS = {
    "rbf": ({"kernel": "rbf", "gamma": 0.3}, lambda A, B: rbf_kernel(A, B, gamma=0.3)),
    "rbf, scale": (
        {"kernel": "rbf"},
        lambda A, B: rbf_kernel(A, B, gamma=1 / (B.shape[1] * B.var())),
    ),
    "rbf, auto": (
        {"kernel": "rbf", "gamma": "auto"},
        lambda A, B: rbf_kernel(A, B, gamma=1 / B.shape[1]),
    ),
    "poly": (
        {"kernel": "poly", "gamma": 0.5, "coef0": 0.7},
        lambda A, B: polynomial_kernel(A, B, degree=3, gamma=0.5, coef0=0.7),
    ),
}


AVERAGED, VOTED = AVERAGINGS["averaged"], AVERAGINGS["voted"]


@pytest.mark.parametrize(
    ("averaging", "name"),
    [
        *((AVERAGED, name) for name in KERNELS),
        *((VOTED, name) for name in KERNELS),
        *((averaging, "rbf") for averaging in AVERAGINGS.values() if averaging not in (AVERAGED, VOTED)),
    ],
)
def test_kernels_are_those_of_support_vector_machines(averaging, name):
    X, y = clouds(n_classes=3)
    named, kernel = KERNELS[name]
    params = {**averaging, "eta": 0.1, "theta_init": 1.1, "max_iter": 10, "random_state": 0}
    classifier = perceptron(**named, **params).fit(X, y)
    gram = perceptron(kernel="precomputed", **params).fit(kernel(X, X), y)
    assert classifier.n_updates_ == gram.n_updates_ > 0
    queries = np.random.default_rng(1).normal(size=(50, 4))
    assert_allclose(
        classifier.decision_function(queries),
        gram.decision_function(kernel(queries, X)),
        rtol=1e-8,
        atol=1e-8,
    )
    assert_array_equal(classifier.support_, gram.support_)


@some(AVERAGINGS)
def test_size_of_the_cache_changes_nothing(averaging):
    X, y = clouds(n_samples=500, distance=0.5)  # a Gram matrix of 2 MB
    params = {
        **averaging,
        "kernel": "rbf",
        "eta": 0.1,
        "theta_init": 1.1,
        "max_iter": 5,
        "random_state": 0,
    }
    small, large = (perceptron(cache_size=size, **params).fit(X, y) for size in (1, 200))
    assert_same_fit(small, large)
    assert_array_equal(small.decision_function(X), large.decision_function(X))


def test_precomputed_kernel_must_be_square():
    X, y = clouds()
    with pytest.raises(ValueError):
        perceptron(kernel="precomputed").fit(X, y)
    classifier = perceptron(kernel="precomputed", max_iter=5).fit(X @ X.T, y)
    with pytest.raises(ValueError):
        classifier.decision_function(X)
