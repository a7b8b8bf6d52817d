"""Margitron, CRAMMA, MICRA, ROMMA, shifting perceptron and Ballseptron: rules, fits and streams."""

import math
from dataclasses import dataclass

import exact_optima
import numpy as np
import oracles
import pytest
import sample_problems
from algorithm_groups import quiet
from hypothesis import assume, given
from hypothesis import strategies as st
from problems import two_clouds
from properties import examples

import margins
from margins import bounds
from margins.rules import (
    Additive,
    BallStep,
    FallingMargin,
    FixedMargin,
    FixedThreshold,
    LengthPower,
    Mistake,
    NormalisedStep,
    NoShrink,
    RelaxedMargin,
    Rules,
    Shifting,
    UpdatePower,
)

SLACK = 1e-9
SETTINGS = examples(13)


# The oracles are plain NumPy over materialised samples, written from the published rules: with p = a.y,
# A = |a|^2, N = |y|^2 and t updates so far, a sample is misclassified iff p <= threshold(A, t); then
# a <- s a + c y.
@dataclass
class MargitronOracle(oracles.Rule):
    b: float
    exponent: float
    threshold_of: str

    def threshold(self, A, t):
        base = t if self.threshold_of == "t" else math.sqrt(A)
        if base == 0 and self.exponent != 1:
            return 0.0 if self.exponent < 1 else math.inf
        return self.b * math.pow(base, 1 - self.exponent)


@dataclass
class MicraOracle:
    beta: float
    exponent: float
    eta: float
    zeta: float = 0.0

    def threshold(self, A, t):
        return self.beta * t**-self.exponent if t else 0.0

    def step(self, p, A, N, t):
        if t == 0:
            return 0.0, 1 / math.sqrt(N)
        eta = self.eta * t**-self.zeta
        length = math.sqrt(1 + 2 * eta * p + eta**2 * N)
        return 1 / length, eta / length


@dataclass
class RommaOracle:
    bar: float  # 0, or 1 - delta

    def threshold(self, A, t):
        return self.bar

    def step(self, p, W, N, t):
        if t == 0 or p >= N * W:
            return 0.0, 1 / N
        return (N * W - p) / (N * W - p**2), W * (1 - p) / (N * W - p**2)


@dataclass
class ShiftingOracle:
    lam: float

    def threshold(self, A, t):
        return 0.0

    def step(self, p, A, N, t):
        lam_t = self.lam / (self.lam + t)
        return 1 - lam_t, lam_t


@dataclass
class BallOracle:
    radius: float

    def threshold(self, A, t):
        return self.radius * math.sqrt(A)

    def step(self, p, A, N, t):
        return (1.0 if p <= 0 else 1 - self.radius / math.sqrt(A)), 1.0


def replay(data, oracle, orders):
    """The updates as (sample, 1), a, alpha and whether the last epoch made no update."""
    a, alpha, updates, clean = np.zeros(data.shape[1]), np.zeros(len(data)), [], False
    for order in orders:
        clean = True
        for k in order:
            p, A = data[k] @ a, a @ a
            if p <= oracle.threshold(A, len(updates)):
                s, c = oracle.step(p, A, data[k] @ data[k], len(updates))
                a, alpha = s * a + c * data[k], s * alpha
                alpha[k] += c
                updates.append((int(k), 1))
                clean = False
        if clean:
            break
    return updates, a, alpha, clean


PAIRS = {
    "cramma": (
        MicraOracle(2.0, 0.5, 0.03),
        Rules(FallingMargin(2.0, 0.5), NormalisedStep(0.03), NoShrink()),
    ),
    "micra": (
        MicraOracle(3.0, 0.3, 0.2, 0.4),
        Rules(FallingMargin(3.0, 0.3), NormalisedStep(0.2, 0.4), NoShrink()),
    ),
    "romma": (RommaOracle(0.0), Rules(Mistake(), RelaxedMargin(), NoShrink())),
    "aggressive-romma": (RommaOracle(0.9), Rules(FixedThreshold(0.9), RelaxedMargin(), NoShrink())),
    "spa": (ShiftingOracle(1.7), Rules(Mistake(), Shifting(1.7), NoShrink())),
    "ballseptron": (BallOracle(0.4), Rules(FixedMargin(0.4), BallStep(0.4), NoShrink())),
}


@st.composite
def clouds(draw, real=True):
    """X, labels, Delta^2 and a seed; real numbers have no ties, which rounding would decide."""
    seed, m, d = draw(st.integers(0, 10**6)), draw(st.integers(3, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (m, d)) + (rng.normal(size=(m, d)) if real else 0.0)
    delta2 = draw(st.sampled_from([0.0, 4.0]))
    scores = X @ rng.normal(size=d) + rng.normal()
    X, y = X[np.abs(scores) > 0.3], np.sign(scores[np.abs(scores) > 0.3])
    if delta2:
        y = rng.choice([-1.0, 1.0], len(X))
    assume(len(set(y)) == 2)
    return X, y, delta2, seed


@pytest.mark.parametrize("name", PAIRS)
@SETTINGS
@given(problem=clouds())
def test_every_access_follows_the_oracle(name, problem):
    X, y, delta2, seed = problem
    oracle, rules = PAIRS[name]
    orders = sample_problems.orders_of(len(X), 8, seed)
    updates, a, alpha, _ = replay(oracles.data_of(X, y, 1.0, delta2), oracle, orders)
    ours, weights = sample_problems.replay(sample_problems.data_of(X, y, 1.0, delta2), rules, orders)
    assert [(k, abs(n)) for k, n in ours] == updates  # (S may fall: nothing was unlearned)
    scale = np.linalg.norm(a)
    np.testing.assert_allclose(
        sample_problems.vector_of(weights, y, delta2), a, rtol=1e-7, atol=1e-7 * scale
    )
    np.testing.assert_allclose(weights.dual, alpha, rtol=1e-7, atol=1e-9 * alpha.sum())
    assert weights.dual_sum == pytest.approx(alpha.sum(), rel=1e-9)
    assert weights.sqnorm == pytest.approx(a @ a, rel=1e-6)


@pytest.mark.parametrize("of", ["t", "norm"])
@pytest.mark.parametrize("exponent", [0.3, 0.5, 1.0, 1.5])
@SETTINGS
@given(problem=clouds(real=False), multiple=st.booleans())
def test_margitron_follows_the_oracle_bit_for_bit(exponent, of, problem, multiple):
    X, y, delta2, seed = problem
    b = 1 + math.sqrt(2) / 8  # no tie with a product
    orders = sample_problems.orders_of(len(X), 8, seed)
    data = oracles.data_of(X, y, 1.0, delta2)
    trace = oracles.run(data, MargitronOracle(b, exponent, of), orders, multiple=multiple, cap=1000)
    condition = (UpdatePower if of == "t" else LengthPower)(b, exponent)
    rules = Rules(condition, Additive(most=1000 if multiple else 1), NoShrink())
    updates, weights = sample_problems.replay(sample_problems.data_of(X, y, 1.0, delta2), rules, orders)
    assert updates == trace.updates
    np.testing.assert_array_equal(sample_problems.vector_of(weights, y, delta2), trace.a)
    np.testing.assert_array_equal(weights.dual, trace.alpha)
    assert weights.dual_sum == trace.alpha.sum() == weights.t


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UpdatePower(-1, 1), r"b of UpdatePower must be in \[0, inf\]\. Got -1\.0\."),
        (lambda: LengthPower(1, 2), r"exponent of LengthPower must be in \[0, 2\)\. Got 2\.0\."),
        (lambda: FallingMargin(-1, 1), r"beta of FallingMargin must be in \[0, inf\)\. Got -1\.0\."),
        (lambda: FallingMargin(1, -1), r"exponent of FallingMargin must be in \[0, inf\)\. Got -1\.0"),
        (lambda: NormalisedStep(0), r"eta of NormalisedStep must be in \(0, inf\)\. Got 0\.0\."),
        (lambda: NormalisedStep(1, -1), r"exponent of NormalisedStep must be in \[0, inf\)\. Got"),
        (lambda: Shifting(0), r"lam of Shifting must be in \(0, inf\)\. Got 0\.0\."),
        (lambda: BallStep(-1), r"radius of BallStep must be in \[0, inf\)\. Got -1\.0\."),
    ],
)
def test_rules_reject_invalid_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def margitron(problem, draw):
    R, gamma = problem.R, problem.gamma
    exponent, share = draw(st.sampled_from([0.5, 0.8, 1.0])), draw(st.sampled_from([0.2, 1.0, 3.0]))
    b = share * gamma * R
    rules = Rules(UpdatePower(b, exponent), Additive(), NoShrink())
    updates = bounds.margitron_updates(R, gamma, b, exponent)
    return rules, updates, bounds.margitron_fraction(R, gamma, b, exponent)


def romma(problem, draw):
    updates = bounds.aggressive_romma_updates(problem.R, problem.gamma, 1.0)
    return PAIRS["romma"][1], updates, 0.0


def aggressive_romma(problem, draw):
    eps = draw(st.sampled_from([1.0, 0.5, 0.2, 0.1]))
    rules = Rules(FixedThreshold(1 - eps), RelaxedMargin(), NoShrink())
    return rules, bounds.aggressive_romma_updates(problem.R, problem.gamma, eps), 1 - eps


def shifting(problem, draw):
    lam = draw(st.sampled_from([0.7, 1.0, 1.5, 2.0, 5.0]))
    updates = bounds.shifting_updates(problem.R, problem.gamma, lam)
    return Rules(Mistake(), Shifting(lam), NoShrink()), updates, 0.0


def ballseptron(problem, draw):
    share = draw(st.sampled_from([0.0, 0.3, 0.6, 0.8]))
    radius = share * problem.gamma
    rules = Rules(FixedMargin(radius), BallStep(radius), NoShrink())
    return rules, bounds.ballseptron_updates(problem.R, problem.gamma, radius), share


@dataclass
class Separable:
    data: np.ndarray
    R: float
    gamma: float


@pytest.mark.parametrize("algorithm", [margitron, romma, aggressive_romma, shifting, ballseptron])
@examples(25)
@given(problem=clouds(), draw=st.data())
def test_run_converges_within_the_bound_to_the_guaranteed_fraction(algorithm, problem, draw):
    X, y, delta2, seed = problem
    data = oracles.data_of(X, y, 1.0, delta2)
    R, gamma = float(np.linalg.norm(data, axis=1).max()), exact_optima.maximum_margin(data)
    assume(16 * gamma > 0 and 16 * gamma > R)
    rules, most, fraction = algorithm(Separable(data, R, gamma), draw.draw)
    weights, _, converged = sample_problems.run(
        sample_problems.data_of(X, y, 1.0, delta2),
        rules,
        sample_problems.each_order_of(len(X), 5000, seed),
    )
    assert converged
    assert weights.n_updates <= most * (1 + SLACK)
    reached = exact_optima.margin(sample_problems.vector_of(weights, y, delta2), data)
    assert reached > 0
    assert reached >= fraction * gamma * (1 - SLACK)
    assert math.sqrt(weights.sqnorm) >= weights.dual_sum * gamma * (1 - SLACK)
    if algorithm in (romma, aggressive_romma):  # S = |a|^2 <= 1 / gamma^2
        assert weights.dual_sum == pytest.approx(weights.sqnorm, rel=1e-6)
        assert weights.sqnorm <= (1 + 1e-6) / gamma**2


def test_margitron_bound_is_the_root_and_the_margin_perceptrons_at_exponent_one():
    R, gamma, b = 5.0, 1.0, 30.0
    assert bounds.margitron_updates(R, gamma, b, 1) == bounds.margin_perceptron_updates(R, gamma, b)
    assert bounds.margitron_fraction(R, gamma, b, 1) == (
        pytest.approx(bounds.margin_perceptron_fraction(R, b), rel=1e-12)
    )
    for exponent in (0.05, 0.3, 0.9):
        t = bounds.margitron_updates(R, gamma, b, exponent)
        right = R**2 + 2 * b * t ** (1 - exponent) / (2 - exponent)
        assert gamma**2 * t == pytest.approx(right, rel=1e-12)
        limit = bounds.margitron_fraction(R, gamma, 1e12, exponent)
        assert limit == pytest.approx(1 - exponent / 2, rel=1e-9)
    assert bounds.margitron_updates(R, gamma, 1e9, 0.001) == math.inf


@quiet
def test_direction_that_cancels_restarts():
    rules = Rules(FallingMargin(1.0, 0.0), NormalisedStep(0.2), NoShrink())
    data = sample_problems.data_of(np.array([[3.0, 4.0], [3.0, 4.0]]), [1, -1], rho=0.0)
    updates, weights = sample_problems.replay(data, rules, [[0, 1]])
    assert [k for k, _ in updates] == [0, 1]
    assert weights.sqnorm == weights.dual_sum == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            ("margitron", {"threshold": "t", "exponent": 1.0, "b": 2.0}),
            ("margin-perceptron", {"b": 2.0}),
        ),
        (
            ("margitron", {"threshold": "norm", "exponent": 1.0, "b": 2.0}),
            ("margin-perceptron", {"b": 2.0}),
        ),
        (
            ("margitron", {"threshold": "norm", "exponent": 0.0, "b": 0.5, "radius": 1.0}),
            ("pfm", {"gamma": 1.0, "eps": 0.5}),
        ),
        (("micra", {"zeta": 0.0}), ("cramma", {})),
        (("aggressive-romma", {"eps": 1.0}), ("romma", {})),
        (("ballseptron", {"radius": 0.0}), ("spa", {"lam": 1.0})),
    ],
)
def test_streams_of_two_names_are_one(one, other):
    X, y = two_clouds()
    models = [margins.get(name)(C=math.inf, **params) for name, params in (one, other)]
    for model in models:
        for _ in range(3):
            model.partial_fit(X, y, classes=[-1, 1])
    assert models[0].n_updates_ == models[1].n_updates_ > 2
    directions = [model.coef_ / np.linalg.norm(model.coef_) for model in models]
    np.testing.assert_allclose(*directions, rtol=1e-9)
    assert models[0].predict(X).tolist() == models[1].predict(X).tolist()


@pytest.mark.parametrize("name", ["margitron", "ballseptron"])
def test_parameters_from_a_pass_over_the_data_exclude_streams(name):
    assert not hasattr(margins.get(name)(), "partial_fit")


@pytest.mark.parametrize(("C", "stop"), [(1.0, "certificate"), (math.inf, "clean-pass")])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("margitron", {"threshold": "t"}),
        ("margitron", {"threshold": "norm"}),
        ("margitron", {"exponent": 0.005}),
        ("margitron", {"threshold": "norm", "exponent": 0.005}),
        ("margitron", {"b": 1e-9}),
        ("cramma", {"eta": 10.0}),
        ("cramma", {"beta": 0.0}),
        ("cramma", {"exponent": 0.3}),
        ("micra", {"zeta": 1.0}),
        ("aggressive-romma", {}),
    ],
)
def test_phases_increase_the_required_margin_until_eps_is_proven(name, params, stop, C):
    X, y = two_clouds(distance=4.0)
    model = margins.get(name)(C=C, eps=0.01, stop=stop, random_state=0, **params).fit(X, y)
    assert model.converged_
    assert model.certificates_[0].fraction >= 0.99


def test_margitron_with_an_exponent_beyond_eps_warns_with_its_certificate():
    X, y = two_clouds(distance=4.0)
    model = margins.get("margitron")(C=math.inf, eps=1e-6, exponent=1.0, max_iter=20, random_state=0)
    with pytest.warns(match="did not converge: max_iter=20 "):
        model.fit(X, y)
    assert 0.3 < model.certificates_[0].fraction < 1


@pytest.mark.parametrize("radius", [None, 0.05])
@pytest.mark.parametrize("C", [1.0, math.inf])
def test_ballseptron_keeps_its_balls_on_the_right_side(C, radius):
    X, y = two_clouds(distance=4.0)
    model = margins.get("ballseptron")(C=C, radius=radius, random_state=0).fit(X, y)
    assert model.converged_
    assert model.certificates_[0].margin > (radius or 0)
    if math.inf == C and radius is None:
        perceptron = margins.get("ballseptron")(C=C, radius=0.0, random_state=0).fit(X, y)
        assert model.certificates_[0].margin > 0.99 * perceptron.certificates_[0].margin


def test_ballseptron_with_too_large_a_radius_warns():
    X, y = two_clouds(distance=4.0)
    model = margins.get("ballseptron")(C=math.inf, radius=50.0, random_state=0)
    with pytest.warns(match="no margin exceeds .* give a smaller radius"):
        model.fit(X, y)


@quiet
@pytest.mark.parametrize("name", ["romma", "aggressive-romma"])
def test_romma_on_inseparable_samples_stays_within_doubles(name):
    X, y = two_clouds(distance=0.2)
    model = margins.get(name)(C=math.inf, max_iter=300, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert not model.converged_
    assert model.certificates_[0].upper_bound >= 0
