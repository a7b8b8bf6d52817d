"""The oracle of the noise-tolerant perceptrons is consistent, and has their known properties."""

import math

import numpy as np
import oracles
import oracles_noise_tolerant as noise_tolerant
import sample_problems
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

SETTINGS = examples(18)
OPTIONS = st.fixed_dictionaries(
    {
        "tau": st.sampled_from([0.0, 0.5, 2.0, {-1: 1.0, +1: 0.0}, {-1: 0.5, +1: 2.0}]),
        "lam": st.sampled_from([0.0, 1.0]),
        "alpha_bound": st.sampled_from([math.inf, 1, 3]),
        "eta": st.sampled_from([1.0, 2.0]),
        "theta_init": st.sampled_from([0.0, 2.0, 6.0]),
        "C": st.sampled_from([0.0, 1.0, 4.0]),
        "unit": st.sampled_from([None, 8.0]),
    }
)
N_EPOCHS = 9


def both(problem, seed, options):
    """The run in weight vectors and in dual variables, and the matrix of inner products."""
    X, y = problem
    orders = sample_problems.orders_of(len(X), N_EPOCHS, seed)
    primal = noise_tolerant.train(X, y, orders, **options)
    return primal, noise_tolerant.train_dual(X @ X.T, y, orders, **options)


def assert_same_hypothesis(primal, dual, X):
    np.testing.assert_array_equal(primal[0], dual[0] @ X)
    assert primal[1] == dual[1]


@SETTINGS
@given(problem=sample_problems.problems(), seed=st.integers(0, 99), options=OPTIONS)
def test_dual_and_primal_runs_agree(problem, seed, options):
    X, _ = problem
    primal, dual = both(problem, seed, options)
    for name in (
        "votes",
        "accesses",
        "mistakes",
        "mistakes_of_epoch",
        "updates_after_epoch",
    ):
        assert getattr(primal, name) == getattr(dual, name), name
    for one, other in zip(primal.hypotheses, dual.hypotheses, strict=True):
        assert_same_hypothesis(one, other, X)
    # The one decides while it runs, the other from the votes at the end.
    assert_same_hypothesis(primal.longest, dual.longest, X)
    assert_same_hypothesis(primal.pocket, dual.pocket, X)


@SETTINGS
@given(problem=sample_problems.problems(), seed=st.integers(0, 99), options=OPTIONS)
def test_votes_by_recursion_are_the_votes_of_explicit_hypotheses(problem, seed, options):
    X, y = problem
    primal, dual = both(problem, seed, options)
    rows = np.random.default_rng(seed).integers(-4, 5, (20, X.shape[1])).astype(float)
    votes = noise_tolerant.voted_scores(primal, rows)
    np.testing.assert_array_equal(noise_tolerant.voted_scores(dual, rows @ X.T), votes)
    recursion = noise_tolerant.voted_scores_by_recursion(
        primal, rows @ X.T, y, **{key: options[key] for key in ("eta", "theta_init", "C")}
    )
    np.testing.assert_array_equal(recursion, votes)


@SETTINGS
@given(problem=sample_problems.problems(), seed=st.integers(0, 99), options=OPTIONS)
def test_counts_add_up(problem, seed, options):
    X, y = problem
    trace, _ = both(problem, seed, options)
    k = len(trace.mistakes)
    assert len(trace.hypotheses) == len(trace.votes) == len(trace.accesses) == k + 1
    assert sum(trace.accesses) == N_EPOCHS * len(X)
    assert sum(trace.votes) + sum(trace.mistakes_of_epoch) == N_EPOCHS * len(X)
    assert trace.updates_after_epoch[-1] == k
    counts = np.bincount(trace.mistakes, minlength=len(X))
    assert counts.max() <= options["alpha_bound"]
    np.testing.assert_array_equal(trace.hypotheses[-1][0], options["eta"] * (counts * y) @ X)
    rejected = sum(trace.mistakes_of_epoch) - k
    if options["alpha_bound"] == math.inf:
        assert rejected == 0
        # Every hypothesis but the last ends with a mistake.
        assert trace.accesses[:-1] == [vote + 1 for vote in trace.votes[:-1]]
        assert trace.accesses[-1] == trace.votes[-1]


@SETTINGS
@given(problem=sample_problems.problems(), seed=st.integers(0, 99), rho=st.sampled_from([0.0, 1.0, 3.0]))
def test_plain_options_are_the_augmented_perceptron(problem, seed, rho):
    X, y = problem
    orders = sample_problems.orders_of(len(X), N_EPOCHS, seed)
    trace = noise_tolerant.train(X, y, orders, C=rho**2)
    reference = oracles.run(oracles.data_of(X, y, rho), oracles.Perceptron(), orders)
    assert trace.mistakes == [k for k, _ in reference.updates]
    w, theta = noise_tolerant.last(trace)
    np.testing.assert_array_equal(np.append(w, -theta) if rho else w, scaled_bias(reference.a, rho))


def scaled_bias(a, rho):
    return np.append(a[:-1], rho * a[-1]) if rho else a


@SETTINGS
@given(problem=sample_problems.problems(), seed=st.integers(0, 99), b=st.sampled_from([0.0, 3.0, 8.0]))
def test_fixed_tau_is_the_margin_perceptron(problem, seed, b):
    X, y = problem
    orders = sample_problems.orders_of(len(X), N_EPOCHS, seed)
    trace = noise_tolerant.train(X, y, orders, tau=1.0, unit=b)
    reference = oracles.run(oracles.data_of(X, y), oracles.MarginPerceptron(b), orders)
    assert trace.mistakes == [k for k, _ in reference.updates]


def test_a_run_by_hand():
    X, y = np.array([[2.0], [-1.0]]), np.array([1, -1])
    # theta = 1 and C = 1: 2 is on the wrong side of 0 <= 1, then w = 2, theta = 0 is right twice.
    trace = noise_tolerant.train(X, y, [[0, 1], [1, 0]], theta_init=1.0)
    assert trace.mistakes == [0]
    assert trace.votes == [0, 3] and trace.accesses == [1, 3]
    assert trace.mistakes_of_epoch == [1, 0] and trace.updates_after_epoch == [1, 1]
    assert [(w.tolist(), theta) for w, theta in trace.hypotheses] == [([0.0], 1.0), ([2.0], 0.0)]
    assert noise_tolerant.averaged(trace, "votes") == ([2.0], 0.0)
    assert noise_tolerant.averaged(trace, "accesses") == ([1.5], 0.25)
    # The other order: the first hypothesis is right about -1 and keeps that vote.
    trace = noise_tolerant.train(X, y, [[1, 0]], theta_init=1.0)
    assert trace.votes == [1, 0]
    assert noise_tolerant.longest(trace) == noise_tolerant.pocket(trace) == ([0.0], 1.0)
    assert noise_tolerant.voted_scores(trace, [[5.0]]) == [-1.0]
    assert noise_tolerant.tail_start(trace, [[5.0]], [-1]) == 0


def test_a_rejected_mistake_is_neither_vote_nor_update():
    X, y = np.array([[0.0], [0.0]]), np.array([1, -1])  # 0 = theta: always wrong
    trace = noise_tolerant.train(X, y, [[0, 1]] * 5, alpha_bound=2, C=0.0)
    assert trace.mistakes == [0, 1, 0, 1]
    assert trace.votes == [0, 0, 0, 0, 0] and trace.accesses == [1, 1, 1, 1, 6]
    assert trace.mistakes_of_epoch == [2] * 5
    assert noise_tolerant.averaged(trace, "votes") == noise_tolerant.last(trace)


def test_the_offset_comes_once_and_only_after_an_update():
    X, y = np.array([[1.0]]), np.array([1])
    orders = [[0]] * 6
    assert len(noise_tolerant.train(X, y, orders, tau=1.0, unit=3.0, C=0.0).mistakes) == 4
    assert len(noise_tolerant.train(X, y, orders, tau=1.0, unit=3.0, C=0.0, lam=2.0).mistakes) == 2
    assert len(noise_tolerant.train(X, y, orders, tau=1.0, unit=3.0, C=0.0, lam=9.0).mistakes) == 1
