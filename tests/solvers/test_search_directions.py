"""Conjugate steps, by themselves: those of the oracle, and never a loss of the objective."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sample_problems import data_of, problems

import margins
import margins.solvers.conjugate
from margins._update import WeightVector
from margins.kernels import Precomputed
from margins.solvers._conjugate import ConjugateSteps, estimated_gap
from margins.solvers.rounding import Rounding

Auto = margins.MarginClassifier
RHO = 1.0


def signed(X, y):
    """The augmented samples as rows, labels reflected."""
    return y[:, np.newaxis] * np.column_stack([X, np.full(len(X), RHO)])


def dual_objective(X, y, alpha, delta2, target):
    """What a step is to increase, at a.y_k = target."""
    a = alpha @ signed(X, y)
    return target * alpha.sum() - 0.5 * (a @ a + delta2 * alpha @ alpha)


def weights_of(data, alpha):
    weights = WeightVector(data.rows.n_features, len(data))
    weights.assign(data, alpha)
    return weights


class Oracle:
    """The steps, over all of the kernel matrix."""

    def __init__(self, X, y, delta2, upper, target):
        self.kernel = signed(X, y) @ signed(X, y).T + delta2 * np.eye(len(X))
        self.upper, self.target = upper, target
        self.directions = []  # the last two, the latest first, each with a length that is rounding

    def objective_along(self, alpha, direction):
        """By how much the objective grows at first, and how its slope falls."""
        slope = self.target * direction.sum() - alpha @ self.kernel @ direction
        return slope, direction @ self.kernel @ direction

    def step(self, before, now):
        """The dual variables after a step, a pass having made them `now`."""
        free = (now > 0) & (now < self.upper)
        d = np.where(free, now - before, 0.0)
        directions = [d]
        self.directions = [
            (np.where(free, direction, 0.0), rounding) for direction, rounding in self.directions
        ]
        for direction, rounding in self.directions:
            square = direction @ self.kernel @ direction
            if square > rounding and self.left(directions, direction) > 1e-10 * square:
                directions.append(direction)
        change = np.zeros(len(now))
        if d @ self.kernel @ d > 0:
            gram = np.array([[u @ self.kernel @ v for v in directions] for u in directions])
            slopes = np.array([self.objective_along(now, u)[0] for u in directions])
            wanted = now + np.linalg.solve(gram, slopes) @ directions
            within = np.where(free, np.clip(wanted, 0, self.upper), now) - now
            slope, fall = self.objective_along(now, within)
            if slope > 0 and fall > 0:
                change = min(slope / fall, 1) * within
        rounding = 1e-12 * (d @ self.kernel @ d + change @ self.kernel @ change)
        self.directions = [(d + change, rounding), *self.directions[:1]]
        return now + change

    def left(self, directions, direction):
        """The squared length of what a direction has that others, independent, have not."""
        gram = np.array([[u @ self.kernel @ v for v in directions] for u in directions])
        inner = np.array([u @ self.kernel @ direction for u in directions])
        if not gram[0, 0] > 0:
            return 0.0
        return direction @ self.kernel @ direction - inner @ np.linalg.solve(gram, inner)


def follow(data, X, y, history, delta2, upper, target, over_all=(), restarting=()):
    """The weight vector after steps, which the oracle replays, passes having added these changes.

    What would leave the bounds stays at them. The first pass is over all samples, and so is the one
    after each whose number is in `over_all`; of the others' changes only those of the working_set count.
    Those whose number is in `restarting`, too, are followed by no step, and restart the directions.
    """
    weights = weights_of(data, np.array(history[0], dtype=float))
    steps = ConjugateSteps(data, weights, target)
    oracle = Oracle(X, y, delta2, upper, target)
    steps.begin(False)
    before, working_set, is_first = weights.dual, None, False
    for number, change in enumerate(history[1:], start=1):
        now = np.clip(before + change, 0, upper)
        if working_set is not None:
            now = np.where(np.isin(np.arange(len(now)), working_set), now, before)
        weights.assign(data, now)
        if working_set is None:
            working_set = steps.working_set()
        steps.gap()
        goes_on = not is_first
        is_first = False
        if number in over_all:
            working_set = None
            is_first = number in restarting
            steps.begin(is_first)  # takes the step
            if is_first:
                goes_on, oracle.directions = False, []
        else:
            steps.step()
        before = oracle.step(before, now) if goes_on else now
        assert_allclose(weights.dual, before, rtol=1e-6, atol=1e-6)
        before = weights.dual
    return weights


def begun(data, alpha, target):
    """Steps after a first pass over all samples, which has made the dual variables these."""
    weights = weights_of(data, np.zeros(len(alpha)))
    steps = ConjugateSteps(data, weights, target)
    steps.begin(False)
    weights.assign(data, np.asarray(alpha, dtype=float))
    steps.working_set()
    return weights, steps


@pytest.mark.parametrize("delta2", [0.0, 0.5])
def test_estimated_gap_follows_from_the_violations(delta2):
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(20, 4)), np.where(generator.random(20) < 0.5, 1, -1)
    upper, target = 1e9 if delta2 else 3.0, 10.0
    data = data_of(X, y, RHO, delta2, upper)
    before, now = generator.integers(0, 4, size=(2, 20)).astype(float)
    weights = weights_of(data, before)
    steps = ConjugateSteps(data, weights, target)
    steps.begin(False)
    weights.assign(data, now)
    steps.working_set()
    lacked = (now - before) * ((signed(X, y) ** 2).sum(axis=1) + delta2)
    # The primal value less the dual one where each alpha_k is as it is and a.y_k lacks so much.
    linear = upper * np.maximum(lacked, 0) - lacked * now
    gaps = lacked**2 / (2 * delta2) if delta2 else linear
    assert estimated_gap(data, weights, before, target) == pytest.approx(gaps.sum() / target**2)
    assert steps.gap() == pytest.approx(estimated_gap(data, weights, before, target), rel=1e-14)


def test_steps_over_a_kernel_equal_steps_over_the_samples():
    X, y = np.array([[3.0, 1, 0], [2, 2, 1], [3, 0, 1]]), np.ones(3, dtype=int)
    history = np.array([[10.0, 10, 10], [-5, 1, -2], [-3, -7, 2], [1, 1, -4]])
    of_features = data_of(X, y, RHO, 0.5)
    of_kernel = of_features.over(Precomputed().rows(X @ X.T, 200.0))
    duals = [
        follow(data, X, y, history, 0.5, np.inf, 10.0, over_all=[1]).dual
        for data in (of_features, of_kernel)
    ]
    assert_allclose(*duals, rtol=1e-10)


@given(data=st.data())
def test_steps_equal_the_steps_of_the_oracle(data):
    X, y = data.draw(problems())
    m = len(X)
    delta2, upper = data.draw(st.sampled_from([(0.5, np.inf), (0.25, 3.0)]))
    numbers = st.integers(-8, 8).map(lambda n: n / 4)
    n_passes = data.draw(st.integers(1, 4))
    history = np.array(
        data.draw(st.lists(st.lists(numbers, min_size=m, max_size=m), min_size=n_passes + 1, max_size=6))
    )[: n_passes + 1]
    history[0] = np.abs(history[0])
    over_all, restarting = data.draw(st.sets(st.integers(1, 6))), data.draw(st.sets(st.integers(1, 6)))
    history[0] = np.minimum(history[0], upper)
    data = data_of(X, y, RHO, delta2, upper)
    weights = follow(data, X, y, history, delta2, upper, 3.0, over_all, restarting)
    alpha = weights.dual
    assert (alpha >= 0).all()
    assert (alpha <= upper).all()
    # All else agrees with the dual variables.
    again = weights_of(data, alpha)
    assert_allclose(weights.weights, again.weights, atol=1e-9)
    for name in ("label_sum", "dual_sum", "sqnorm"):
        assert_allclose(getattr(weights, name), getattr(again, name), rtol=1e-9, atol=1e-9)


def test_a_step_never_loses():
    generator = np.random.default_rng(0)
    n_steps = 0
    for upper in (np.inf, 2.0):
        delta2 = 0.5 if np.isinf(upper) else 0.0
        for _ in range(200):
            X, y = generator.normal(size=(6, 3)), generator.choice([-1, 1], 6)
            data = data_of(X, y, RHO, delta2, upper)
            weights, steps = begun(data, np.clip(generator.normal(size=6), 0, upper), 3.0)
            for _ in range(3):
                passed = np.clip(weights.dual + generator.normal(size=6), 0, upper)
                steps.begin(False)
                weights.assign(data, passed)
                steps.working_set()
                steps.gap()
                steps.step()
                gained = dual_objective(X, y, weights.dual, delta2, 3.0)
                gained -= dual_objective(X, y, passed, delta2, 3.0)
                assert gained >= -1e-9
                n_steps += gained > 1e-3
    assert n_steps > 600  # of 1200: the others were at their best, or at bounds


def test_the_working_set_is_those_between_their_bounds_and_those_that_have_changed():
    X = np.ones((6, 1))
    data = data_of(X, [1, -1, 1, -1, 1, -1], RHO, 0.0, 2.0)
    weights = weights_of(data, np.array([0.0, 1, 1, 2, 1, 2]))
    steps = ConjugateSteps(data, weights, 4.0)
    steps.begin(False)
    weights.assign(data, np.array([0.0, 0, 1, 2, 2, 1]))
    assert_array_equal(steps.working_set(), [1, 2, 4, 5])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(("seed", "C"), [(0, 0.1), (1, 1e3), (2, 1e6), (3, 1e3), (4, 1e6)])
def test_updates_round_off_no_more_than_is_said(seed, C, loss, monkeypatch):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(40, 60)) * 10.0 ** generator.integers(-2, 3, size=(40, 1))
    y = np.where(generator.random(40) < 0.5, 1, -1)
    signed_rows = (y[:, np.newaxis] * X).astype(np.longdouble)
    plain, seen = Rounding.correct, []

    def look(rounding, run):
        run.weights.recompute(run.data)
        lost = run.weights.weights - run.weights.dual.astype(np.longdouble) @ signed_rows
        seen.append((float(np.linalg.norm(lost)), rounding.bound(run) * math.sqrt(run.weights.sqnorm)))
        plain(rounding, run)

    monkeypatch.setattr(Rounding, "correct", look)
    monkeypatch.setattr("margins.solvers.auto.gram_pays", lambda X: False)
    eps = 1e-4 if loss == "hinge" else 1e-2
    Auto(solver="conjugate", C=C, loss=loss, eps=eps, random_state=0, fit_intercept=False).fit(X, y)
    assert seen and all(lost <= said for lost, said in seen)
