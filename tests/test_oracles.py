"""The oracles themselves, against what the papers and theory say of them."""

import math

import exact_optima
import numpy as np
import oracles
import pytest
from bounded_problems import SLACK, noisy
from hypothesis import given
from hypothesis import strategies as st
from properties import examples


def test_samples_are_reflected_augmented_and_extended():
    data = oracles.data_of([[1, 2], [3, 4]], [1, -1], rho=5, delta2=[4, 9])
    assert data.tolist() == [[1, 2, 5, 2, 0], [-3, -4, -5, 0, -3]]
    assert oracles.data_of([[1, 2]], [-1], rho=None).tolist() == [[-1, -2]]


def test_thresholds_are_the_printed_conditions():
    assert oracles.MarginPerceptron(5).threshold(9.0, 3) == 5
    assert oracles.PFM(0.5).threshold(9.0, 3) == 1.5
    assert [oracles.PDM(0.25).threshold(6.0, t) for t in (0, 3)] == [0, 1.5]
    assert oracles.MPU(5, 7).threshold(9.0, 3) == 5
    assert oracles.MPCS(0.5, 5).threshold(9.0, 3) == 10
    assert [oracles.MPVS(2, 5).threshold(9.0, t) for t in (0, 1, 2)] == [math.inf, 20, 11.25]


def test_multiple_update_repeats_until_the_condition_is_violated():
    def updates(rule, data=((1.0,),), **options):
        trace = oracles.run(np.array(data), rule, [range(len(data))] * 9, **options)
        assert trace.converged
        return trace.updates

    assert updates(oracles.MarginPerceptron(3), multiple=True) == [(0, 4)]
    assert updates(oracles.MarginPerceptron(3), multiple=True, cap=3) == [(0, 3), (0, 1)]
    assert updates(oracles.MarginPerceptron(3)) == [(0, 1)] * 4
    assert updates(oracles.MPU(3, 2, upper=2), multiple=True) == [(0, 2)]
    # p = 0, 4, 6 against b / (1 - lam) = 4
    assert updates(oracles.MPCS(0.5, 2), [[2.0]], multiple=True) == [(0, 2)]
    # The sum of the squares up to mu must exceed 3 (mu + 1)**2.
    assert updates(oracles.MPVS(2, 3), multiple=True) == [(0, 10)]
    single_first = updates(oracles.MarginPerceptron(3), multiple=True, first_pass_single=True)
    assert single_first == [(0, 1), (0, 3)]


def test_unlearning_removes_superfluous_samples():
    def updates(data, rule):
        return oracles.run(np.array(data), rule, [(1, 0)] * 9, multiple=True).updates

    # Sample 1 is met at a = 4 with p = 8, exactly where unlearning begins, and left at p = 4.
    assert updates([[1.0], [2.0]], oracles.MPU(3, 5)) == [(1, 1), (0, 2), (1, -1), (0, 2)]
    # Here it is met at p = 21 and still has p = 13 when there is nothing left to unlearn.
    assert updates([[0.5], [2.0]], oracles.MPU(5, 5)) == [(1, 2), (0, 13), (1, -2), (0, 8)]


def test_active_sets_nest_as_specified():
    # Sample 0 is misclassified at 0, 1, .., 10; sample 1 at 0, 4, 8.
    data = np.array([[1.0, 0.0], [0.0, 2.0]])
    levels = [oracles.Level(4, oracles.below(1)), oracles.Level(1, oracles.below(0.5))]
    rule = oracles.MarginPerceptron(10)
    trace = oracles.run(data, rule, [(0, 1)], levels=levels)
    full, level_1, level_2 = [0, 1], [[0, 1], [0], [0], [0]], [[0, 1], [0], [0], []]
    expected = full + [k for pair in zip(level_1, level_2, strict=True) for k in sum(pair, [])]
    assert trace.updates == [(k, 1) for k in expected]
    assert trace.a.tolist() == [8, 6]
    assert not trace.converged
    assert oracles.run(data, rule, [(0, 1)] * 9, levels=levels).epochs == 3


def test_maximum_margin_of_known_samples():
    assert exact_optima.maximum_margin(np.array([[3.0, 4.0]])) == pytest.approx(5)
    assert exact_optima.maximum_margin(np.array([[1.0, 0.0], [0.0, 1.0]])) == pytest.approx(2**-0.5)
    assert exact_optima.maximum_margin(np.array([[1.0, 2.0], [-1.0, 2.0], [5.0, 2.0]])) == (
        pytest.approx(2)
    )
    # scipy.optimize.nnls 1.17 leaves this one at 3.48.
    data = np.array([[1.0, 1, 1, 2], [3, 0, 0, 2], [1, 2, 3, 2], [2, 0, 1, 2]])
    assert exact_optima.maximum_margin(data) == pytest.approx(math.sqrt(7))
    assert exact_optima.maximum_margin(np.array([[1.0, 0.0], [-2.0, 0.0]])) == 0
    assert exact_optima.maximum_margin(np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])) == 0


@examples(20)
@given(problem=noisy(), delta=st.integers(1, 3))
def test_the_optimum_of_a_soft_margin_meets_the_hard_margin_of_the_diagonal(problem, delta):
    extended = oracles.data_of(problem.data, np.ones(len(problem.data)), 0, delta**2)
    gamma = exact_optima.maximum_margin(extended)
    assert gamma >= delta / math.sqrt(len(extended)) * (1 - SLACK)
    least, alpha = exact_optima.l1_svm_optimum(extended, 2 / gamma**2)
    assert least == pytest.approx(1 / (2 * gamma**2), rel=1e-8)
    assert np.all(alpha >= 0)


def test_soft_margin_optimum_of_known_samples():
    # A sample and its opposite: w = 0 is best, both lose 1.
    least, alpha = exact_optima.l1_svm_optimum(np.array([[1.0], [-1.0]]), [3.0, 3.0])
    assert (least, alpha[0]) == (pytest.approx(6), pytest.approx(alpha[1]))
    # One sample of norm 2 and C = 1/10: alpha = C, w = 1/5, slack 3/5.
    least, alpha = exact_optima.l1_svm_optimum(np.array([[2.0]]), 0.1)
    assert (least, alpha[0]) == (pytest.approx(0.02 + 0.06), 0.1)
