"""The theorems' bounds against the oracles, and the oracles against what theory says of them.

A bound that random data do not approach is also compared with the slowest growth of the weight
vector that its proof allows, where a wrong constant shows.
"""

import inspect
import itertools
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
import oracles
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from margins import bounds

SLACK = 1e-9  # relative; gamma_d itself is known to about 1e-12 only


def examples(count):
    return settings(derandomize=True, deadline=None, max_examples=count)


# ----------------------------------------------------------------------------------------- problems


@dataclass
class Problem:
    data: np.ndarray
    R: float
    gamma: float
    seed: int

    def orders(self, epochs=10_000):
        rng = np.random.default_rng(self.seed)
        return (rng.permutation(len(self.data)) for _ in range(epochs))


# Hypothesis chooses the sizes, a seeded generator the numbers: left to itself, Hypothesis prefers
# matrices of zeros and ones, on which nothing takes more than a few updates.


@st.composite
def samples(draw):
    """Draw X (m, d), labels, rho and a seed; all but the seed small integers."""
    m, d, seed = draw(st.integers(4, 10)), draw(st.integers(2, 4)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (m, d)).astype(float)
    return X, rng.choice([-1, 1], m), draw(st.sampled_from([0, 1, 2])), seed


@st.composite
def separable(draw):
    """Draw samples of small integers, labelled by a hyperplane or with slack terms."""
    X, y, rho, seed = draw(samples())
    delta = draw(st.sampled_from([0, 0, 1, 2, 3]))
    if not delta:
        hidden = np.random.default_rng(seed).integers(-3, 4, X.shape[1] + 1)
        scores = X @ hidden[:-1] + rho * hidden[-1]
        X, y = X[scores != 0], np.sign(scores[scores != 0])
        assume(len(X))
    data = oracles.data_of(X, y, rho, delta**2)
    R = float(np.linalg.norm(data, axis=1).max())
    gamma = min(oracles.maximum_margin(data), R)
    assume(16 * gamma > R)  # or runs take long
    return Problem(data, R, gamma, seed)


@st.composite
def noisy(draw):
    """Draw samples of small integers that usually no hyperplane separates."""
    X, y, rho, seed = draw(samples())
    data = oracles.data_of(X, y, rho)
    data = data[np.any(data != 0, axis=1)]
    assume(len(data))
    return Problem(data, float(np.linalg.norm(data, axis=1).max()), 0.0, seed)


@st.composite
def unit_vectors(draw, length):
    elements = st.lists(st.integers(-3, 3), min_size=length, max_size=length)
    vector = np.array(draw(elements), dtype=float)
    assume(vector.any())
    return vector / np.linalg.norm(vector)


PDM_LEVELS = tuple(
    oracles.Level(passes, oracles.below(factor)) for passes, factor in [(9, 2.2), (12, 1.1), (12, 1)]
)
MPU_LEVELS = (
    oracles.Level(3, oracles.below_or_supporting(1.01)),
    oracles.Level(10, oracles.changed_and_supporting),
)
schedules = st.fixed_dictionaries(
    {
        "multiple": st.booleans(),
        "levels": st.sampled_from([(), PDM_LEVELS, MPU_LEVELS]),
        "first_pass_single": st.booleans(),
    }
)


# ------------------------------------------------------------------ runs stay within their theorems


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
@examples(200)
@given(problem=separable(), schedule=schedules, data=st.data())
def test_run_converges_within_the_bound_to_the_guaranteed_fraction(algorithm, problem, schedule, data):
    rule, updates, fraction = algorithm(problem, data.draw)
    trace = oracles.run(problem.data, rule, problem.orders(), **schedule)
    assert trace.converged
    assert trace.n_updates <= updates * (1 + SLACK)
    reached = oracles.margin(trace.a, problem.data)
    assert reached > 0
    assert reached >= fraction * problem.gamma * (1 - SLACK)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@examples(50)
@given(problem=separable(), schedule=schedules, data=st.data())
def test_every_weight_vector_bounds_the_maximum_margin(algorithm, problem, schedule, data):
    def check(trace):
        assert np.all(trace.alpha >= 0)
        assert np.allclose(trace.a, trace.alpha @ problem.data, rtol=1e-12)
        length = np.linalg.norm(trace.a)
        assert length >= problem.gamma * trace.alpha.sum() * (1 - SLACK)

    rule, _, _ = algorithm(problem, data.draw)
    oracles.run(problem.data, rule, problem.orders(3), observe=check, **schedule)


@examples(100)
@given(problem=separable(), schedule=schedules, data=st.data())
def test_unlearned_and_net_updates_stay_within_their_bounds(problem, schedule, data):
    rule, _, _ = unlearning(problem, data.draw)
    trace = oracles.run(problem.data, rule, problem.orders(), **schedule)
    unlearned = -sum(multiplicity for _, multiplicity in trace.updates if multiplicity < 0)
    most = bounds.unlearned_updates(problem.R, problem.gamma, rule.b, rule.delta_b)
    assert unlearned <= most * (1 + SLACK)
    most = bounds.margin_perceptron_updates(problem.R, problem.gamma, rule.b)
    assert trace.n_updates - 2 * unlearned <= most * (1 + SLACK)


@examples(100)
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


@examples(25)
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
    optimum, _ = oracles.l1_svm_optimum(data, C)
    return objective / optimum - 1


@examples(100)
@given(problem=separable(), schedule=schedules, data=st.data())
def test_variable_shrinking_takes_more_than_the_least_updates(problem, schedule, data):
    rule, _, _ = variable_shrinking(problem, data.draw)
    trace = oracles.run(problem.data, rule, problem.orders(), **schedule)
    least = bounds.variable_shrinking_least_updates(problem.R, problem.gamma, rule.b, rule.n)
    assert trace.n_updates > least * (1 - SLACK)


@examples(100)
@given(problem=separable(), schedule=schedules, eps=st.sampled_from([0.2, 0.3, 0.45]))
def test_dynamic_margin_bound_holds_from_every_weight_vector_on(problem, schedule, eps):
    stages = []

    def observe(trace):
        stages.append((trace.n_updates, float(np.linalg.norm(trace.a))))

    trace = oracles.run(problem.data, oracles.PDM(eps), problem.orders(), observe=observe, **schedule)
    for n_updates, norm in stages:
        most = bounds.dynamic_margin_updates_after(problem.R, problem.gamma, eps, n_updates, norm)
        assert trace.n_updates <= most * (1 + SLACK)


@examples(100)
@given(problem=separable(), schedule=schedules, eta=st.sampled_from([1.5, 2.5]))
def test_successive_runs_stay_within_the_bound_from_the_run_before(problem, schedule, eta):
    R, gamma, eps = problem.R, problem.gamma, 0.5
    trace = oracles.run(problem.data, oracles.PDM(eps), problem.orders(), **schedule)
    for _ in range(2 if eta == 1.5 else 1):
        previous_eps, eps, previous = eps, eps / eta, trace.n_updates
        trace = oracles.run(problem.data, oracles.PDM(eps), problem.orders(), start=trace, **schedule)
        assert trace.converged
        assert oracles.margin(trace.a, problem.data) >= (1 - eps) * gamma * (1 - SLACK)
        most = bounds.successive_dynamic_margin_updates(R, gamma, eps, previous_eps, previous)
        assert trace.n_updates <= most * (1 + SLACK)


@examples(100)
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


@examples(100)
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


# ---------------------------------------------------------------- the slowest growth a proof allows


def longest_run(lengths_and_sums, patience=100):
    """Return the last t at which |a_t| >= gamma S_t, gamma = 1, is still possible."""
    last = 0
    for t, (length, total) in enumerate(lengths_and_sums, start=1):
        if length >= total * (1 - 1e-12):
            last = t
        elif t > 2 * last + patience:
            return last


RATIOS = [1.0, 1.01, 1.2, 2.0, 5.0, 10.0]


@pytest.mark.parametrize("r", RATIOS)
@pytest.mark.parametrize("eps", [0.3, 0.4, 0.49, 0.5, 0.51, 0.6, 0.75, 0.9, 1.0])
def test_dynamic_margin_bound_covers_the_fastest_growth(eps, r):
    def growth():
        A = r * r
        for t in itertools.count(1):
            yield math.sqrt(A), t
            A += 2 * (1 - eps) * A / t + r * r

    assert longest_run(growth()) <= bounds.dynamic_margin_updates(r, 1.0, eps) * (1 + SLACK)


@pytest.mark.parametrize("r", RATIOS)
@pytest.mark.parametrize("eps", [0.05, 0.3, 0.5, 0.75, 1.0])
def test_fixed_margin_bounds_cover_the_fastest_growth(eps, r):
    def growth():
        A = r * r
        for t in itertools.count(1):
            yield math.sqrt(A), t
            A += 2 * (1 - eps) * math.sqrt(A) + r * r

    longest = longest_run(growth())
    assert longest <= bounds.fixed_margin_updates(r, 1.0, eps) * (1 + SLACK)
    assert longest <= bounds.dynamic_margin_updates(r, 1.0, eps) * (1 + SLACK)
    assert longest <= bounds.lecture_updates(r, 1.0, eps) + 1


@pytest.mark.parametrize("r", RATIOS)
@pytest.mark.parametrize("kappa", [0.05, 0.5, 0.9, 0.99])
def test_constant_shrinking_bound_is_the_fastest_growth_itself(kappa, r):
    b = r * r
    lam = bounds.constant_shrinking_lambda(r, 1.0, b, kappa)

    def growth():
        square, total = 0.0, 0.0
        while True:
            square = (1 - lam) ** 2 * square + r * r + 2 * b
            total = (1 - lam) * total + 1
            yield math.sqrt(square), total

    bound = bounds.constant_shrinking_updates(r, 1.0, b, lam)
    assert bound * (1 - SLACK) - 1 <= longest_run(growth()) <= bound * (1 + SLACK)
    looser = bounds.margin_perceptron_updates(r, 1.0, b) * math.atanh(kappa) / kappa
    assert bound <= looser * (1 + SLACK)


@pytest.mark.parametrize("r", RATIOS)
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_variable_shrinking_bound_covers_the_fastest_growth(n, r):
    b = r * r

    def growth():
        square, total = 0.0, 0.0
        for t in itertools.count(1):
            shrink = ((t - 1) / t) ** n
            square = shrink**2 * square + r * r + 2 * b
            total = shrink * total + 1
            yield math.sqrt(square), total

    bound = bounds.variable_shrinking_updates(r, 1.0, b, n)
    assert 0.9 * bound - 2 <= longest_run(growth()) <= bound * (1 + SLACK)


# ---------------------------------------------------------------- what the papers say of the bounds


def test_lecture_bound_at_one_half_is_the_one_stated():
    assert bounds.lecture_updates(6.0, 2.0, 0.5) == 8 * 9 + 4 * 3


def test_mistake_bounds_without_deviation_are_the_perceptron_bound():
    assert bounds.mistakes_total_deviation(6.0, 2.0, 0.0) == 9
    assert bounds.mistakes_square_deviation(6.0, 2.0, 0.0) == 9
    assert bounds.mistakes_learned_threshold(6.0, 2.0, 0.0) == 4 * 9


@examples(50)
@given(R=st.floats(0.1, 10), gamma=st.floats(0.1, 10), total=st.floats(0, 100))
def test_total_deviation_bound_is_the_root_and_below_the_sum(R, gamma, total):
    most = bounds.mistakes_total_deviation(R, gamma, total)
    assert gamma * most - total == pytest.approx(R * math.sqrt(most), abs=1e-9 * (R + total))
    assert most <= ((R / gamma) ** 2 + 2 * total / gamma) * (1 + SLACK)


def test_dynamic_margin_bound_at_one_is_the_perceptron_bound():
    assert bounds.dynamic_margin_updates(7.0, 2.0, 1.0) == bounds.perceptron_updates(7.0, 2.0)


def test_dynamic_margin_bound_at_one_half_has_its_own_form():
    expected = (1 + 1 / math.e) * 9 * math.log((1 + math.e) * 9)
    assert bounds.dynamic_margin_updates(6.0, 2.0, 0.5) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("r", [1.0, 1.5, 3.0, 100.0])
@pytest.mark.parametrize(
    "eps", [0.01, 0.1, 0.25, 0.4, 0.499999, 0.5 - 2**-40, 0.5 + 2**-40, 0.51, 0.75, 0.99]
)
def test_dynamic_margin_bound_agrees_with_its_formula_in_many_digits(eps, r):
    with localcontext() as context:
        context.prec = 80
        e, x = Decimal(eps), Decimal(r)
        if eps < 0.5:
            whole = Decimal(math.floor(1 / eps))
            half_power = 1 / (2 * e)
            t0 = whole * x ** (1 / e) * (1 + 1 / (whole * (1 - 2 * e))) ** half_power
            expected = t0 * (1 - x * x / ((1 - 2 * e) * t0)) ** half_power
        else:
            t0 = e * (3 - 2 * e) / (2 * e - 1) * x * x
            expected = t0 * (1 - 2 * (1 - e) * t0 ** (1 - 2 * e))
        assert bounds.dynamic_margin_updates(r, 1.0, eps) == pytest.approx(float(expected), rel=1e-11)


def test_dynamic_margin_bound_is_infinite_only_beyond_doubles():
    assert 1e307 < bounds.dynamic_margin_updates(10.0, 1.0, 1 / 305) < math.inf
    assert bounds.dynamic_margin_updates(10.0, 1.0, 1 / 310) == math.inf
    assert bounds.dynamic_margin_updates(10.0, 1.0, 1e-300) == math.inf
    assert bounds.dynamic_margin_updates(1.0, 1.0, 1e-3) < 3e3


@pytest.mark.parametrize("eps", [0.1, 0.3, 0.45])
def test_dynamic_margin_bound_after_updates_uses_norms_between_their_limits(eps):
    def after(norm):
        return bounds.dynamic_margin_updates_after(5.0, 1.0, eps, 10, norm)

    assert after(1e-3) == after(10.0) < after(20.0) < after(50.0) == after(1e3)
    n_updates = math.floor(1 / eps)
    assert bounds.dynamic_margin_updates_after(5.0, 1.0, eps, n_updates, 5.0 * n_updates) == (
        pytest.approx(bounds.dynamic_margin_updates(5.0, 1.0, eps), rel=1e-13)
    )


@pytest.mark.parametrize(("eps", "previous_eps"), [(0.0625, 0.5), (0.01, 0.0625), (0.3, 0.6)])
def test_successive_bound_is_the_printed_relation_with_the_last_factor(eps, previous_eps):
    r, n_updates = 3.0, 100
    relation = n_updates * (1 / (1 - previous_eps)) ** (1 / eps)
    growth = 1 + (1 - previous_eps) ** 2 / (1 - 2 * eps) * r * r / n_updates
    relation *= growth ** (1 / (2 * eps))
    expected = relation * (1 - r * r / ((1 - 2 * eps) * relation)) ** (1 / (2 * eps))
    bound = bounds.successive_dynamic_margin_updates(r, 1.0, eps, previous_eps, n_updates)
    assert bound == pytest.approx(expected, rel=1e-11)


def test_unlearning_without_unlearning_has_the_margin_perceptron_bounds():
    R, gamma, b = 5.0, 1.0, 30.0
    assert bounds.unlearned_updates(R, gamma, b, math.inf) == 0
    assert bounds.unlearning_updates(R, gamma, b, math.inf) == (
        bounds.margin_perceptron_updates(R, gamma, b)
    )
    assert bounds.unlearning_fraction(R, b, math.inf) == bounds.margin_perceptron_fraction(R, b)


def test_unlearning_bounds_are_the_printed_formulas():
    R, gamma, b, delta_b = 2.0, 0.5, 10.0, 12.0
    most = (4 + 20) / 0.25 * (1 + (4 + 20) / (4 * (12 - 4)))
    assert bounds.unlearning_updates(R, gamma, b, delta_b) == pytest.approx(most, rel=1e-14)
    assert bounds.unlearning_fraction(R, b, delta_b) == pytest.approx(1 / (1 + 12 / 10), rel=1e-14)
    most = 7 * (2 * 10 + 12) / (12 - 4)
    assert bounds.soft_unlearning_updates(R, b, delta_b, 7) == pytest.approx(most, rel=1e-14)
    gap = 2 * (12 / 20) / (1 - 12 / 20)
    assert bounds.soft_unlearning_gap(20.0, delta_b) == pytest.approx(gap, rel=1e-14)


@examples(50)
@given(eps=st.floats(0.001, 0.999), factor=st.floats(1.01, 10))
def test_unlearning_threshold_attains_the_accuracy(eps, factor):
    b = bounds.unlearning_threshold(factor, eps)
    assert bounds.unlearning_fraction(1.0, b, factor) >= (1 - eps) * (1 - 1e-14)


@pytest.mark.parametrize("lam", [0.0, 5e-324, 1e-320, 1e-12])
def test_constant_shrinking_without_shrinking_has_the_margin_perceptron_bounds(lam):
    R, gamma, b = 5.0, 1.0, 30.0
    updates = bounds.constant_shrinking_updates(R, gamma, b, lam)
    fraction = bounds.constant_shrinking_fraction(R, gamma, b, lam)
    assert updates == pytest.approx(bounds.margin_perceptron_updates(R, gamma, b), rel=1e-3)
    assert fraction == pytest.approx(bounds.margin_perceptron_fraction(R, b), rel=1e-3)


def test_constant_shrinking_fraction_is_the_printed_formula():
    R, gamma, b, lam = 2.0, 1.0, 6.0, 0.1
    kappa = lam * (4 + 12) / (1.9 * 1)
    assert bounds.constant_shrinking_kappa(R, gamma, b, lam) == pytest.approx(kappa, rel=1e-14)
    fraction = (1 + kappa) * 6 / 16 * 1.9 / 1.8
    assert bounds.constant_shrinking_fraction(R, gamma, b, lam) == (pytest.approx(fraction, rel=1e-14))


@examples(50)
@given(kappa=st.floats(0, 1), b=st.floats(0, 100), gamma=st.floats(0.1, 2))
def test_constant_shrinking_lambda_inverts_kappa(kappa, b, gamma):
    lam = bounds.constant_shrinking_lambda(2.0, gamma, b, kappa)
    assume(lam < 1)
    assert bounds.constant_shrinking_kappa(2.0, gamma, b, lam) == (
        pytest.approx(kappa, rel=1e-12, abs=1e-300)
    )


def test_constant_shrinking_restarted_from_its_margin_improves_as_guaranteed():
    fraction, climbed = 0.0, []
    for _ in range(3):
        b = 1e12
        lam = bounds.constant_shrinking_lambda(1.0, fraction * 1.0, b, 1.0) if fraction else 0.0
        fraction = bounds.constant_shrinking_fraction(1.0, 1.0, b, lam)
        climbed.append(fraction)
    assert climbed == pytest.approx([1 / 2, 5 / 8, 0.6953125], rel=1e-6)


@examples(50)
@given(eps=st.floats(0.01, 1), r=st.floats(1, 100))
def test_constant_shrinking_parameters_attain_the_accuracy_within_the_bound_on_updates(eps, r):
    lam, b = bounds.constant_shrinking_parameters(r, 1.0, eps)
    assert bounds.constant_shrinking_kappa(r, 1.0, b, lam) == pytest.approx(1 - eps, abs=1e-12)
    fraction = bounds.constant_shrinking_fraction(r, 1.0, b, lam)
    assert fraction >= (1 - eps / 2) ** 2 * (1 - 1e-14)
    updates = bounds.constant_shrinking_updates(r, 1.0, b, lam)
    assume(eps < 1)
    assert updates <= r * r * math.log((2 - eps) / eps) / (eps * (1 - eps)) * (1 + SLACK)


def test_variable_shrinking_without_shrinking_has_the_margin_perceptron_bounds():
    R, gamma, b = 5.0, 1.0, 30.0
    assert bounds.variable_shrinking_updates(R, gamma, b, 0) == (
        bounds.margin_perceptron_updates(R, gamma, b)
    )
    assert bounds.variable_shrinking_fraction(R, b, 0) == bounds.margin_perceptron_fraction(R, b)


def test_variable_shrinking_bounds_are_the_printed_formulas():
    R, gamma, b, n = 2.0, 0.5, 6.0, 2
    assert bounds.variable_shrinking_updates(R, gamma, b, n) == pytest.approx(9 / 5 * 16 / 0.25)
    assert bounds.variable_shrinking_fraction(R, b, n) == pytest.approx(5 / 3 * 6 / 16)
    assert bounds.variable_shrinking_least_updates(R, gamma, b, n) == (
        pytest.approx(5 * 36 / (16 * 0.25))
    )


@pytest.mark.parametrize("n", [0, 1, 2, 4, 9, 49])
def test_variable_shrinking_fraction_tends_to_its_limit_with_the_threshold(n):
    limit = 1 - 1 / (2 * (n + 1))
    assert bounds.variable_shrinking_fraction(1.0, 1e12, n) == pytest.approx(limit, rel=1e-9)


@pytest.mark.parametrize("n", [0, 1, 4, 9])
def test_variable_shrinking_least_and_most_updates_approach_each_other(n):
    most = bounds.variable_shrinking_updates(1.0, 1.0, 1e12, n)
    least = bounds.variable_shrinking_least_updates(1.0, 1.0, 1e12, n)
    assert least / most == pytest.approx((1 - 1 / (2 * (n + 1))) ** 2, rel=1e-9)


@examples(50)
@given(eps=st.floats(0.001, 1), R=st.floats(0.1, 10))
def test_variable_shrinking_parameters_attain_the_accuracy(eps, R):
    n, b = bounds.variable_shrinking_parameters(R, eps)
    fraction = bounds.variable_shrinking_fraction(R, b, n)
    assert fraction >= (1 - eps / 2) ** 2 * (1 - 1e-14)


# ------------------------------------------------------------------------------ all functions alike

BOUNDS = [getattr(bounds, name) for name in bounds.__all__]
VALID = {
    "R": 2.0,
    "gamma": 1.0,
    "b": 12.0,
    "delta_b": 8.0,
    "eps": 0.25,
    "previous_eps": 0.5,
    "lam": 0.01,
    "kappa": 0.5,
    "n": 2,
    "n_updates": 10,
    "previous_updates": 10,
    "norm": 15.0,
    "total_deviation": 3.0,
    "square_deviation": 3.0,
    "total_upper": 30.0,
    "C": 0.5,
    "exponent": 0.5,
    "radius": 0.25,
    "shift": 2.0,
}
# Powers of length in which arguments and results are measured; 0 unless listed.
DIMENSIONS = {
    "R": 1,
    "gamma": 1,
    "norm": 1,
    "radius": 1,
    "total_deviation": 1,
    "square_deviation": 1,
    "b": 2,
    "delta_b": 2,
    "C": -2,
    "unlearning_threshold": 2,
    "soft_unlearning_parameters": (0, 2),
    "constant_shrinking_parameters": (0, 2),
    "variable_shrinking_parameters": (0, 2),
}


def valid_arguments(bound):
    return {name: VALID[name] for name in bound.ranges}


def parameters():
    return [
        pytest.param(bound, name, id=f"{bound.__name__}-{name}")
        for bound in BOUNDS
        for name in bound.ranges
    ]


def ends(bound, name):
    """Return the range of an argument as numbers and whether they belong to it."""
    interval = bound.ranges[name]
    values = {**VALID, "R**2": VALID["R"] ** 2}
    low, high = (
        float(values.get(text, text) if text in values else text) for text in interval[1:-1].split(", ")
    )
    return low, high, interval[0] == "[", interval[-1] == "]"


@pytest.mark.parametrize("bound", BOUNDS)
def test_ranges_name_every_argument_and_the_docstring_repeats_them(bound):
    signature = inspect.signature(bound)
    assert set(bound.ranges) == set(signature.parameters)
    for name, interval in bound.ranges.items():
        kind = signature.parameters[name].annotation.__name__
        assert f"{name} : {kind} in {interval}\n" in inspect.getdoc(bound)
    assert "Source: " in bound.__doc__


@pytest.mark.parametrize(("bound", "name"), parameters())
def test_arguments_outside_of_their_range_are_rejected(bound, name):
    low, high, with_low, with_high = ends(bound, name)
    kind = inspect.signature(bound).parameters[name].annotation
    for value in (low - 1 if with_low else low, high + 1 if with_high else high):
        if value == math.inf and (with_high or kind is int):
            continue  # nothing is beyond, or no int is there
        with pytest.raises(ValueError) as refusal:
            bound(**{**valid_arguments(bound), name: kind(value)})
        assert str(refusal.value) == (
            f"{name} of {bound.__name__} must be in {bound.ranges[name]}. Got {kind(value)!r}."
        )


@pytest.mark.parametrize(("bound", "name"), parameters())
def test_arguments_at_the_included_ends_of_their_range_are_accepted(bound, name):
    low, high, with_low, with_high = ends(bound, name)
    kind = inspect.signature(bound).parameters[name].annotation
    for value in [low] * with_low + [high] * with_high:
        result = bound(**{**valid_arguments(bound), name: value if value == math.inf else kind(value)})
        assert np.all(np.isfinite(result))


@pytest.mark.parametrize(("bound", "name"), parameters())
@pytest.mark.parametrize("value", ["3", None, [3.0], 1j])
def test_arguments_that_are_no_numbers_are_rejected(bound, name, value):
    kind = inspect.signature(bound).parameters[name].annotation.__name__
    with pytest.raises(TypeError) as refusal:
        bound(**{**valid_arguments(bound), name: value})
    expected = f"{name} of {bound.__name__} must be of type {kind}. Got {value!r}."
    assert str(refusal.value) == expected


@pytest.mark.parametrize(("bound", "name"), parameters())
def test_nan_is_rejected(bound, name):
    with pytest.raises((ValueError, TypeError), match=f"^{name} of {bound.__name__} must be"):
        bound(**{**valid_arguments(bound), name: math.nan})


def test_error_names_argument_function_range_and_value():
    with pytest.raises(ValueError) as refusal:
        bounds.fixed_margin_updates(2.0, 3, 0.5)
    assert str(refusal.value) == "gamma of fixed_margin_updates must be in (0, R]. Got 3.0."
    with pytest.raises(TypeError) as refusal:
        bounds.variable_shrinking_updates(2.0, 1.0, 1.0, 1.5)
    assert str(refusal.value) == "n of variable_shrinking_updates must be of type int. Got 1.5."


@pytest.mark.parametrize(
    "bound", [bounds.constant_shrinking_updates, bounds.constant_shrinking_fraction]
)
def test_shrinking_too_strong_to_converge_is_rejected(bound):
    with pytest.raises(ValueError) as refusal:
        bound(2.0, 1.0, 1.5, 0.25)  # 2 gamma**2 / (R**2 + 2 b + gamma**2) is 1/4, too
    assert str(refusal.value) == f"lam of {bound.__name__} must be in [0, 0.25). Got 0.25."


@pytest.mark.parametrize("bound", BOUNDS)
def test_numpy_scalars_are_numbers(bound):
    arguments = valid_arguments(bound)
    scalars = {
        name: np.int64(value) if isinstance(value, int) else np.float32(value)
        for name, value in arguments.items()
    }
    result = bound(**scalars)
    assert result == pytest.approx(bound(**arguments), rel=1e-5)
    assert all(type(number) in (int, float) for number in np.atleast_1d(result).tolist())


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("z", [2.0**-60, 0.5, 2.0**60])
def test_bounds_do_not_depend_on_the_unit_of_length(bound, z):
    arguments = valid_arguments(bound)
    scaled = {
        name: value * z ** DIMENSIONS[name] if name in DIMENSIONS else value
        for name, value in arguments.items()
    }
    power = DIMENSIONS.get(bound.__name__, 0)
    expected = np.multiply(bound(**arguments), np.power(z, power))
    assert bound(**scaled) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    "bound",
    [
        bound
        for bound in BOUNDS
        if "gamma" in bound.ranges
        and bound.__name__.endswith("updates")
        and bound is not bounds.variable_shrinking_least_updates
    ],
)
@pytest.mark.parametrize("eps", [0.1, 0.25, 0.45, 0.5, 0.6, 0.9])
def test_update_bounds_fall_with_the_margin(bound, eps):
    arguments = valid_arguments(bound)
    if "eps" in arguments:
        arguments["eps"] = min(eps, 0.49) if ends(bound, "eps")[1] == 0.5 else eps
    values = [bound(**{**arguments, "gamma": gamma}) for gamma in np.linspace(0.7, 2, 27)]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("R", [1e-200, 1e200])
def test_extreme_units_neither_overflow_nor_vanish(R):
    assert bounds.perceptron_updates(R, R / 4) == 16
    for bound in (bounds.lecture_updates, bounds.fixed_margin_updates):
        assert bound(R, R / 4, 0.5) == pytest.approx(bound(4.0, 1.0, 0.5))
    for eps in (0.4, 0.5, 0.6):
        usual = bounds.dynamic_margin_updates(4.0, 1.0, eps)
        assert bounds.dynamic_margin_updates(R, R / 4, eps) == pytest.approx(usual)


# --------------------------------------------------------------------------------- the oracles' own


def check_same_runs(problem, rules, schedule):
    # Few epochs: with active sets and inseparable samples one of them takes a thousand passes.
    traces = [oracles.run(problem.data, rule, problem.orders(2), **schedule) for rule in rules]
    for trace in traces[1:]:
        assert trace.updates == traces[0].updates
        assert trace.n_updates == traces[0].n_updates
        assert trace.epochs == traces[0].epochs
        assert np.array_equal(trace.a, traces[0].a)
        assert np.array_equal(trace.alpha, traces[0].alpha)


@examples(40)
@given(problem=separable(), schedule=schedules, b=st.integers(0, 40))
def test_margin_perceptron_is_its_generalisations_without_their_feature(problem, schedule, b):
    check_same_runs(
        problem,
        [
            oracles.MarginPerceptron(b),
            oracles.MPU(b),
            oracles.MPU(b, math.inf, np.full(len(problem.data), math.inf)),
            oracles.MPCS(0.0, b),
            oracles.MPVS(0, b),
        ],
        schedule,
    )


@examples(40)
@given(problem=noisy(), schedule=schedules)
def test_perceptron_is_every_margin_rule_without_margin(problem, schedule):
    rules = [
        oracles.Perceptron(),
        oracles.MarginPerceptron(0),
        oracles.PFM(0.0),
        oracles.PDM(1.0),
        oracles.MPCS(0.0, 0),
        oracles.MPVS(0, 0),
    ]
    check_same_runs(problem, rules, schedule)


@examples(40)
@given(problem=separable(), schedule=schedules, z=st.sampled_from([0.25, 2.0]))
def test_updates_do_not_depend_on_the_unit_of_length(problem, schedule, z):
    R2 = problem.R**2
    pairs = [
        (oracles.PDM(0.3), oracles.PDM(0.3)),
        (oracles.PFM(0.5 * problem.gamma), oracles.PFM(0.5 * problem.gamma * z)),
        (oracles.MPU(R2, 1.5 * R2, 9), oracles.MPU(R2 * z**2, 1.5 * R2 * z**2, 9)),
        (oracles.MPCS(0.01, R2), oracles.MPCS(0.01, R2 * z**2)),
        (oracles.MPVS(2, R2), oracles.MPVS(2, R2 * z**2)),
    ]
    for rule, scaled in pairs:
        trace = oracles.run(problem.data, rule, problem.orders(5), **schedule)
        other = oracles.run(z * problem.data, scaled, problem.orders(5), **schedule)
        assert trace.updates == other.updates


def test_samples_are_reflected_and_augmented_with_bias_and_slack_terms():
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


def test_unlearning_removes_samples_that_others_made_superfluous():
    def updates(data, rule):
        return oracles.run(np.array(data), rule, [(1, 0)] * 9, multiple=True).updates

    # Sample 1 is met at a = 4 with p = 8, exactly where unlearning begins, and left at p = 4.
    assert updates([[1.0], [2.0]], oracles.MPU(3, 5)) == [(1, 1), (0, 2), (1, -1), (0, 2)]
    # Here it is met at p = 21 and still has p = 13 when there is nothing left to unlearn.
    assert updates([[0.5], [2.0]], oracles.MPU(5, 5)) == [(1, 2), (0, 13), (1, -2), (0, 8)]


def test_shrinking_oracles_follow_their_formulas():
    data = np.array([[1.0, 0.0], [0.0, 1.0]])
    order = [(0, 1)]
    constant = oracles.run(data, oracles.MPCS(0.5, 1.0), order * 2)
    assert constant.a.tolist() == [0.25 * 0.5 + 0.5, 0.25 + 1]
    variable = oracles.run(data, oracles.MPVS(2, 1.0), order * 2)
    assert variable.a == pytest.approx([(1 + 9) / 16, (4 + 16) / 16], rel=1e-15)


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


def test_first_epoch_may_have_its_own_active_sets():
    data = np.array([[1.0, 0.0], [0.0, 2.0]])
    levels = [oracles.Level(4, oracles.below(1))]
    rule = oracles.MarginPerceptron(10)
    trace = oracles.run(data, rule, [(0, 1)] * 2, levels=levels, first_levels=())
    assert [k for k, _ in trace.updates] == [0, 1, 0, 1, 0, 1, 0, 0, 0]


@examples(40)
@given(problem=separable(), counts=st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_active_sets_of_all_samples_repeat_the_order(problem, counts):
    levels = [oracles.Level(count, lambda access: True) for count in counts]
    rule = oracles.PDM(0.4)
    nested = oracles.run(problem.data, rule, problem.orders(4), levels=levels)
    repetitions = 1 + counts[0] * (1 + counts[1])
    repeated = [order for order in problem.orders(4) for _ in range(repetitions)]
    flat = oracles.run(problem.data, rule, repeated)
    assert nested.updates == flat.updates


def test_memberships_depend_on_the_access():
    def access(p=3.0, before=0.0, after=0.0, multiplicity=0):
        return oracles.Access(0, p, 2.0, before, after, multiplicity)

    assert oracles.below(1.5)(access()) and not oracles.below(1.4)(access())
    member = oracles.below_or_supporting(1.4)
    assert member(access(before=1.0)) and not member(access(after=1.0, multiplicity=1))
    member = oracles.changed_and_supporting
    assert member(access(after=1.0, multiplicity=-1))
    assert not member(access(after=1.0)) and not member(access(before=1.0, multiplicity=-1))


@examples(20)
@given(problem=separable(), split=st.integers(1, 4))
def test_continued_run_is_one_run(problem, split):
    orders = list(problem.orders(8))
    rule = oracles.PDM(0.3)
    whole = oracles.run(problem.data, rule, orders)
    start = oracles.run(problem.data, rule, orders[:split])
    before = start.n_updates
    assume(not start.converged)
    rest = oracles.run(problem.data, rule, orders[split:], start=start)
    assert (rest.updates, rest.epochs) == (whole.updates, whole.epochs)
    assert start.n_updates == before


def test_runs_without_convergence_end_at_the_limit(monkeypatch):
    monkeypatch.setattr(oracles, "PATIENCE", 100)
    with pytest.raises(RuntimeError, match="without an end in sight"):
        oracles.run(np.zeros((1, 1)), oracles.Perceptron(), [[0]], multiple=True)


def test_maximum_margin_of_known_samples():
    assert oracles.maximum_margin(np.array([[3.0, 4.0]])) == pytest.approx(5)
    assert oracles.maximum_margin(np.array([[1.0, 0.0], [0.0, 1.0]])) == pytest.approx(2**-0.5)
    assert oracles.maximum_margin(np.array([[1.0, 2.0], [-1.0, 2.0], [5.0, 2.0]])) == (pytest.approx(2))
    # scipy.optimize.nnls 1.17 leaves this one at 3.48.
    data = np.array([[1.0, 1, 1, 2], [3, 0, 0, 2], [1, 2, 3, 2], [2, 0, 1, 2]])
    assert oracles.maximum_margin(data) == pytest.approx(math.sqrt(7))
    assert oracles.maximum_margin(np.array([[1.0, 0.0], [-2.0, 0.0]])) == 0
    assert oracles.maximum_margin(np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])) == 0


@examples(40)
@given(problem=noisy(), delta=st.integers(1, 3))
def test_optima_of_both_soft_margins_meet_the_hard_margin_of_the_diagonal(problem, delta):
    extended = oracles.data_of(problem.data, np.ones(len(problem.data)), 0, delta**2)
    gamma = oracles.maximum_margin(extended)
    assert gamma >= delta / math.sqrt(len(extended)) * (1 - SLACK)
    least, alpha = oracles.l2_svm_optimum(problem.data, 1 / (2 * delta**2))
    assert least == pytest.approx(1 / (2 * gamma**2), rel=1e-8)
    assert alpha.sum() == pytest.approx(1 / gamma**2, rel=1e-4)
    least, alpha = oracles.l1_svm_optimum(extended, 2 / gamma**2)
    assert least == pytest.approx(1 / (2 * gamma**2), rel=1e-8)
    assert np.all(alpha >= 0)


def test_soft_margin_optimum_of_known_samples():
    # A sample and its opposite: w = 0 is best, both lose 1.
    least, alpha = oracles.l1_svm_optimum(np.array([[1.0], [-1.0]]), [3.0, 3.0])
    assert (least, alpha[0]) == (pytest.approx(6), pytest.approx(alpha[1]))
    # One sample of norm 2 and C = 1/10: alpha = C, w = 1/5, slack 3/5.
    least, alpha = oracles.l1_svm_optimum(np.array([[2.0]]), 0.1)
    assert (least, alpha[0]) == (pytest.approx(0.02 + 0.06), 0.1)
    # The same with squared slack: w minimises w**2 / 2 + (1 - 2 w)**2 / 10.
    least, _ = oracles.l2_svm_optimum(np.array([[2.0]]), 0.1)
    w = 0.4 / 1.8
    assert least == pytest.approx(w**2 / 2 + (1 - 2 * w) ** 2 / 10)
