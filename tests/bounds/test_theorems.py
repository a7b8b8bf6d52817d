"""Runs of the oracles stay within the theorems' bounds."""

import math

import exact_optima
import numpy as np
import oracles
import pytest
from bounded_problems import MPU_LEVELS, SLACK, noisy, samples, schedules, separable
from hypothesis import assume, given
from hypothesis import strategies as st
from properties import examples

from margins import bounds


@st.composite
def unit_vectors(draw, length):
    elements = st.lists(st.integers(-3, 3), min_size=length, max_size=length)
    vector = np.array(draw(elements), dtype=float)
    assume(vector.any())
    return vector / np.linalg.norm(vector)


# ----------------------------------------------------------------------- runs stay within their theorems


def perceptron(problem, draw):
    return oracles.Perceptron(), bounds.perceptron_updates(problem.R, problem.gamma), 0.0


def margin_perceptron(problem, draw):
    R, gamma = problem.R, problem.gamma
    b = R * R * draw(st.sampled_from([0.0, 0.25, 1.0, 4.0]))
    updates = bounds.margin_perceptron_updates(R, gamma, b)
    return oracles.MarginPerceptron(b), updates, bounds.margin_perceptron_fraction(R, b)


def fixed_margin(problem, draw):
    eps = draw(st.sampled_from([0.1, 0.25, 0.5, 0.9, 1.0]))
    updates = min(
        bounds.fixed_margin_updates(problem.R, problem.gamma, eps),
        bounds.dynamic_margin_updates(problem.R, problem.gamma, eps),
        bounds.lecture_updates(problem.R, problem.gamma, eps) + 1,  # it is given the first update
    )
    return oracles.PFM((1 - eps) * problem.gamma), updates, 1 - eps


def dynamic_margin(problem, draw):
    eps = draw(st.sampled_from([0.2, 0.3, 0.45, 0.5, 0.55, 0.75, 1.0]))
    updates = bounds.dynamic_margin_updates(problem.R, problem.gamma, eps)
    return oracles.PDM(eps), updates, 1 - eps


def unlearning(problem, draw):
    R = problem.R
    b = R * R * draw(st.sampled_from([0.25, 1.0, 4.0]))
    delta_b = R * R * draw(st.sampled_from([1.01, 1.5, 3.0, math.inf]))
    updates = bounds.unlearning_updates(R, problem.gamma, b, delta_b)
    return oracles.MPU(b, delta_b), updates, bounds.unlearning_fraction(R, b, delta_b)


def constant_shrinking(problem, draw):
    R, gamma = problem.R, problem.gamma
    b = R * R * draw(st.sampled_from([0.0, 0.25, 1.0, 4.0]))
    kappa = draw(st.sampled_from([0.0, 0.05, 0.5, 0.9, 0.99]))
    lam = bounds.constant_shrinking_lambda(R, gamma, b, kappa)
    updates = bounds.constant_shrinking_updates(R, gamma, b, lam)
    return oracles.MPCS(lam, b), updates, bounds.constant_shrinking_fraction(R, gamma, b, lam)


def variable_shrinking(problem, draw):
    R = problem.R
    b = R * R * draw(st.sampled_from([0.0, 0.25, 1.0, 4.0]))
    n = draw(st.integers(0, 3))
    updates = bounds.variable_shrinking_updates(R, problem.gamma, b, n)
    return oracles.MPVS(n, b), updates, bounds.variable_shrinking_fraction(R, b, n)


ALGORITHMS = [
    perceptron,
    margin_perceptron,
    fixed_margin,
    dynamic_margin,
    unlearning,
    constant_shrinking,
    variable_shrinking,
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@examples(15)
@given(problem=separable(), schedule=schedules, data=st.data())
def test_run_converges_within_the_bound_to_the_guaranteed_fraction(algorithm, problem, schedule, data):
    rule, updates, fraction = algorithm(problem, data.draw)
    trace = oracles.run(problem.data, rule, problem.orders(), **schedule)
    assert trace.converged
    assert trace.n_updates <= updates * (1 + SLACK)
    reached = exact_optima.margin(trace.a, problem.data)
    assert reached > 0
    assert reached >= fraction * problem.gamma * (1 - SLACK)


@examples(15)
@given(problem=separable(), schedule=schedules, data=st.data())
def test_unlearned_and_net_updates_stay_within_their_bounds(problem, schedule, data):
    rule, _, _ = unlearning(problem, data.draw)
    trace = oracles.run(problem.data, rule, problem.orders(), **schedule)
    unlearned = -sum(multiplicity for _, multiplicity in trace.updates if multiplicity < 0)
    most = bounds.unlearned_updates(problem.R, problem.gamma, rule.b, rule.delta_b)
    assert unlearned <= most * (1 + SLACK)
    most = bounds.margin_perceptron_updates(problem.R, problem.gamma, rule.b)
    assert trace.n_updates - 2 * unlearned <= most * (1 + SLACK)


@examples(15)
@given(problem=noisy(), schedule=schedules, data=st.data())
def test_soft_unlearning_stays_within_its_updates_and_its_gap(problem, schedule, data):
    R2 = problem.R**2
    delta_b = R2 * data.draw(st.sampled_from([1.01, 1.5, 3.0]))
    b = delta_b * data.draw(st.sampled_from([1.5, 4.0]))
    upper = np.random.default_rng(problem.seed).integers(1, 7, len(problem.data)).astype(float)
    rule = oracles.MPU(b, delta_b, upper)
    trace = oracles.run(problem.data, rule, problem.orders(), **schedule)
    assert trace.converged
    assert np.all(trace.alpha >= 0) and np.all(trace.alpha <= upper)
    most = bounds.soft_unlearning_updates(problem.R, b, delta_b, upper.sum())
    assert trace.n_updates <= most * (1 + SLACK)
    assert _gap(problem.data, trace.a / b, upper / b) <= bounds.soft_unlearning_gap(b, delta_b)


@examples(13)
@given(problem=noisy(), C=st.sampled_from([0.01, 0.05]), eps=st.sampled_from([0.3, 1.0]))
def test_soft_unlearning_parameters_reach_the_required_gap(problem, C, eps):
    delta_b = 1.5 * problem.R**2
    upper, b = bounds.soft_unlearning_parameters(C, delta_b, eps)
    assert upper / b == pytest.approx(C, rel=1e-15)
    assert bounds.soft_unlearning_gap(b, delta_b) < eps
    rule = oracles.MPU(b, delta_b, upper)
    trace = oracles.run(problem.data, rule, problem.orders(), multiple=True, levels=MPU_LEVELS)
    assert trace.converged
    assert _gap(problem.data, trace.a / b, C) < eps


def _gap(data, w, C):
    """Return the relative gap of the L1-SVM's objective at w."""
    C = np.broadcast_to(C, len(data))
    objective = w @ w / 2 + C @ np.maximum(0, 1 - data @ w)
    optimum, _ = exact_optima.l1_svm_optimum(data, C)
    return objective / optimum - 1


@examples(15)
@given(problem=separable(), schedule=schedules, data=st.data())
def test_variable_shrinking_takes_more_than_the_least_updates(problem, schedule, data):
    rule, _, _ = variable_shrinking(problem, data.draw)
    trace = oracles.run(problem.data, rule, problem.orders(), **schedule)
    least = bounds.variable_shrinking_least_updates(problem.R, problem.gamma, rule.b, rule.n)
    assert trace.n_updates > least * (1 - SLACK)


@examples(15)
@given(problem=separable(), schedule=schedules, eps=st.sampled_from([0.2, 0.3, 0.45]))
def test_dynamic_margin_bound_holds_from_every_weight_vector_on(problem, schedule, eps):
    stages = []

    def observe(trace):
        stages.append((trace.n_updates, float(np.linalg.norm(trace.a))))

    trace = oracles.run(problem.data, oracles.PDM(eps), problem.orders(), observe=observe, **schedule)
    for n_updates, norm in stages:
        most = bounds.dynamic_margin_updates_after(problem.R, problem.gamma, eps, n_updates, norm)
        assert trace.n_updates <= most * (1 + SLACK)


@examples(15)
@given(problem=separable(), schedule=schedules, eta=st.sampled_from([1.5, 2.5]))
def test_successive_runs_stay_within_the_bound_from_the_run_before(problem, schedule, eta):
    R, gamma, eps = problem.R, problem.gamma, 0.5
    trace = oracles.run(problem.data, oracles.PDM(eps), problem.orders(), **schedule)
    for _ in range(2 if eta == 1.5 else 1):
        previous_eps, eps, previous = eps, eps / eta, trace.n_updates
        trace = oracles.run(problem.data, oracles.PDM(eps), problem.orders(), start=trace, **schedule)
        assert trace.converged
        assert exact_optima.margin(trace.a, problem.data) >= (1 - eps) * gamma * (1 - SLACK)
        most = bounds.successive_dynamic_margin_updates(R, gamma, eps, previous_eps, previous)
        assert trace.n_updates <= most * (1 + SLACK)


@examples(15)
@given(problem=noisy(), passes=st.integers(1, 4), data=st.data())
def test_mistakes_on_noisy_sequences_stay_within_the_deviation_bounds(problem, passes, data):
    u = data.draw(unit_vectors(problem.data.shape[1]))
    gamma = data.draw(st.sampled_from([0.1, 0.5, 1.0, 2.0, 10.0]))
    trace = oracles.run(problem.data, oracles.Perceptron(), problem.orders(passes))
    deviations = np.maximum(0, gamma - problem.data @ u)
    total = trace.epochs * deviations.sum()
    root = math.sqrt(trace.epochs * np.sum(deviations**2))
    assert trace.n_updates <= bounds.mistakes_total_deviation(problem.R, gamma, total) * (1 + SLACK)
    assert trace.n_updates <= bounds.mistakes_square_deviation(problem.R, gamma, root) * (1 + SLACK)


@examples(15)
@given(drawn=samples(), gamma=st.sampled_from([0.1, 0.5, 1.0, 2.0]), data=st.data())
def test_mistakes_with_a_learned_threshold_stay_within_the_deviation_bound(drawn, gamma, data):
    X, y, _, _ = drawn
    assume(X.any())
    u = data.draw(unit_vectors(X.shape[1]))
    R = float(np.linalg.norm(X, axis=1).max())
    theta = R * data.draw(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]))
    data = oracles.data_of(X, y, rho=R)
    trace = oracles.run(data, oracles.Perceptron(), [range(len(X))])
    D = float(np.linalg.norm(np.maximum(0, gamma - y * (X @ u - theta))))
    assert trace.n_updates <= bounds.mistakes_learned_threshold(R, gamma, D) * (1 + SLACK)
