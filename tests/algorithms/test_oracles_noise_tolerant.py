"""The oracle of the noise-tolerant perceptrons, by hand."""

import numpy as np
import oracles_noise_tolerant as noise_tolerant


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
