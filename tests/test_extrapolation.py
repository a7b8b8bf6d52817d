"""Extrapolated passes: what they compute, and that they never lose what passes have gained."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import LAYOUTS, patterns_of, problems
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import margins
import margins.extrapolation
from margins._extrapolation import Extrapolation, unsettled
from margins._update import WeightVector
from margins.callbacks import Fit
from margins.extrapolation import ExtrapolatedPasses
from margins.kernels import Kernel

Mpu = margins.get("mpu")
RHO = 1.0


def signed(X, y):
    """The augmented patterns as rows, labels reflected."""
    return y[:, np.newaxis] * np.column_stack([X, np.full(len(X), RHO)])


def dual_objective(X, y, alpha, delta2, target):
    """What a step is to increase, at a.y_k = target."""
    a = alpha @ signed(X, y)
    return target * alpha.sum() - 0.5 * (a @ a + delta2 * alpha @ alpha)


def weights_of(patterns, alpha):
    weights = WeightVector(patterns.rows.n_features, len(patterns))
    weights.assign(patterns, alpha)
    return weights


def passed(patterns, members, history, target, room=5):
    """The weight vector after passes that left these dual variables, and what has looked on."""
    weights = weights_of(patterns, history[0])
    extrapolation = Extrapolation(patterns, weights, members, room, target)
    for alpha in history[1:]:
        weights.assign(patterns, alpha)
        extrapolation.remember()
    return weights, extrapolation


def coordinate_passes(X, y, delta2, target, n_passes):
    """Dual variables before and after passes of coordinate ascent without bounds."""
    kernel = signed(X, y) @ signed(X, y).T + delta2 * np.eye(len(X))
    alpha = np.full(len(X), 10.0 * target)
    history = [alpha.copy()]
    for _ in range(n_passes):
        for k in range(len(X)):
            alpha[k] += (target - kernel[k] @ alpha) / kernel[k, k]
        history.append(alpha.copy())
    return history, kernel


def three():
    X = np.array([[3.0, 1, 0], [2, 2, 1], [3, 0, 1]])
    return X, np.array([1, 1, 1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_step_goes_to_the_fixed_point_of_the_passes(layout):
    X, y = three()
    history, kernel = coordinate_passes(X, y, 0.5, 10.0, 5)
    patterns = patterns_of(LAYOUTS[layout](X), y, RHO, 0.5)
    weights, extrapolation = passed(patterns, np.arange(3, dtype=np.int32), history, 10.0)
    solution = np.linalg.solve(kernel, np.full(3, 10.0))
    assert (solution > 0).all()
    assert np.abs(history[-1] - solution).max() > 1e-3
    extrapolation.step()
    assert_allclose(weights.dual, solution, rtol=1e-4)
    assert extrapolation.n_passes == 0


def test_step_over_a_kernel_is_that_over_the_patterns():
    X, y = three()
    history, _ = coordinate_passes(X, y, 0.5, 10.0, 5)
    duals = []
    for rows in (None, Kernel("precomputed").rows(X @ X.T, 200.0)):
        patterns = patterns_of(X, y, RHO, 0.5)
        if rows is not None:
            patterns = patterns.over(rows)
        weights = WeightVector(patterns.rows.n_features, 3)
        weights.assign(patterns, history[0])
        extrapolation = Extrapolation(patterns, weights, np.arange(3, dtype=np.int32), 5, 10.0)
        for alpha in history[1:]:
            weights.assign(patterns, alpha)
            extrapolation.remember()
        extrapolation.step()
        duals.append(weights.dual)
    assert_allclose(*duals, rtol=1e-10)


@given(data=st.data())
def test_step_stays_within_the_bounds_and_never_loses(data):
    X, y = data.draw(problems())
    m = len(X)
    delta2, upper = data.draw(st.sampled_from([(0.5, np.inf), (0.0, 2.0), (0.25, 3.0)]))
    numbers = st.integers(0, 8).map(lambda n: n / 4)
    n_passes = data.draw(st.integers(1, 5))
    history = np.array(
        data.draw(st.lists(st.lists(numbers, min_size=m, max_size=m), min_size=n_passes + 1, max_size=6))
    )[: n_passes + 1]
    members = np.array(
        data.draw(st.permutations(range(m)))[: data.draw(st.integers(0, m))], dtype=np.int32
    )
    others = np.setdiff1d(np.arange(m), members)
    history[:, others] = history[0, others]
    patterns = patterns_of(X, y, RHO, delta2, upper)
    weights, extrapolation = passed(patterns, members, history, 3.0)
    before = dual_objective(X, y, weights.dual, delta2, 3.0)
    extrapolation.step()
    alpha = weights.dual
    assert_array_equal(alpha[others], history[0, others])
    assert (alpha >= 0).all()
    assert (alpha <= upper).all()
    assert dual_objective(X, y, alpha, delta2, 3.0) >= before - 1e-9 * (1 + abs(before))
    # Everything else says the same as the dual variables.
    again = weights_of(patterns, alpha)
    assert_allclose(weights.weights, again.weights, atol=1e-9)
    for name in ("label_sum", "dual_sum", "sqnorm"):
        assert_allclose(getattr(weights, name), getattr(again, name), rtol=1e-9, atol=1e-9)


def test_gap_is_what_the_last_pass_found():
    X, y = three()
    sqnorms = (signed(X, y) ** 2).sum(axis=1)
    history = np.array([[1.0, 2, 0], [1.5, 1, 0], [1, 1, 0.5]])
    change = history[2] - history[1]
    members = np.array([2, 0], dtype=np.int32)
    _, extrapolation = passed(patterns_of(X, y, RHO, 0.5), members, history, 4.0)
    lack = (change * (sqnorms + 0.5))[members] / 4
    # C = 1 / (2 Delta^2) = 1: C lack^2.
    assert_allclose(extrapolation.gap(), (lack**2).sum())
    _, extrapolation = passed(patterns_of(X, y, RHO, 0.0, 3.0), members, history, 4.0)
    lack = change[members] * sqnorms[members] / 4
    room = np.where(lack > 0, 3 - history[2, members], -history[2, members]) / 4
    assert_allclose(extrapolation.gap(), lack @ room)


def test_unsettled_are_those_between_their_bounds_and_those_that_have_moved():
    X = np.ones((6, 1))
    patterns = patterns_of(X, [1, -1, 1, -1, 1, -1], RHO, 0.0, 2.0)
    weights = weights_of(patterns, np.array([0.0, 0, 1, 2, 2, 1]))
    before = np.array([0.0, 1, 1, 2, 1, 2])
    order = np.array([5, 4, 3, 2, 1, 0], dtype=np.int32)
    assert_array_equal(unsettled(patterns, weights, before, order), [5, 4, 2, 1])
    assert_array_equal(unsettled(patterns, weights, before, order[2:3]), [])


def test_without_a_pass_or_a_change_nothing_happens():
    X, y = three()
    patterns = patterns_of(X, y, RHO, 0.5)
    members = np.arange(3, dtype=np.int32)
    for history in ([np.ones(3)], [np.ones(3)] * 4):
        weights, extrapolation = passed(patterns, members, history, 4.0)
        extrapolation.step()
        assert_array_equal(weights.dual, 1)
        assert weights.t == len(history)


class Still(Extrapolation):
    """Looks on, and goes nowhere."""

    def step(self):
        pass


def test_extrapolation_settles_what_passes_alone_take_long_for(monkeypatch):
    # The private coordinate is short beside the patterns: two that are equal settle in many small steps.
    generator = np.random.default_rng(2)
    X = generator.integers(-3, 4, (12, 300)).astype(float)
    X[4] = X[5]
    y = np.arange(12) % 2
    visits = {}
    for kind in (Extrapolation, Still):
        monkeypatch.setattr(margins.extrapolation, "Extrapolation", kind)
        fit = Mpu(eps=1e-3, random_state=0).fit(X, y)
        assert fit.converged_
        visits[kind] = fit.n_visits_
    assert 10 * visits[Extrapolation] < visits[Still]


def noisy(seed):
    """Two overlapping clouds: with a large C far from separable, and slow."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(200, 6))
    return X, (X @ generator.normal(size=6) > 0) ^ (generator.random(200) < 0.1)


@pytest.mark.parametrize("params", [{"C": 1e4, "eps": 0.5}, {"C": 1e3, "eps": 0.2}])
def test_proofs_that_are_there_are_found_soon(params, monkeypatch):
    # What is left to gain is up to a thousand times the gap, which another scale of the weights closes.
    visits = {}
    for share in (math.inf, margins.extrapolation.FAR):
        monkeypatch.setattr(margins.extrapolation, "FAR", share)
        fits = [Mpu(**params, newton=False, random_state=seed).fit(*noisy(seed)) for seed in range(10)]
        assert all(fit.converged_ for fit in fits)
        visits[share] = sum(fit.n_visits_ for fit in fits)
    assert visits[margins.extrapolation.FAR] < 2 * visits[math.inf]


def test_proofs_are_looked_for_where_they_are_near():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 600)) * (generator.random((300, 600)) < 0.05)
    fit = Mpu(eps=1e-4, random_state=0).fit(X, X @ generator.normal(size=600) > 0)
    certificates = [epoch.certificate for epoch in fit.learning_curve_[0]]
    assert fit.converged_
    assert certificates[0] is not None
    assert certificates[-1] == fit.certificates_[0]
    assert 0 < certificates.count(None) < len(certificates) - 1


@pytest.mark.parametrize("eps", [1e-9, 0.9])
def test_who_stops_a_run_where_no_proof_was_looked_for_gets_one(eps, monkeypatch):
    # The first epoch is taken for far from the proof, whatever it has proven.
    monkeypatch.setattr(ExtrapolatedPasses, "_is_near", lambda passes, weights: False)

    class Impatient:
        def begin_epoch(self, number):
            pass

        def end_epoch(self, run):
            return run.n_epochs == 2

        def end(self):
            pass

    X, y = noisy(0)
    monkeypatch.setattr(Fit, "watch", lambda fit, index: Impatient())
    classifier = Mpu(C=0.1, eps=eps, newton=False, random_state=0)
    with nullcontext() if eps > 0.5 else pytest.warns(ConvergenceWarning, match="a callback stopped it"):
        classifier.fit(X, y)
    first, last = classifier.learning_curve_[0]
    assert first.certificate is None
    assert last.certificate == classifier.certificates_[0]
    assert classifier.converged_ == last.certificate.proves(eps, "squared_hinge") == (eps > 0.5)


class Stop(Exception):
    """What a kernel raises."""


def test_what_a_kernel_raises_is_never_lost():
    # Few rows fit into the cache, so that extrapolating asks for rows, and may be the last to do so.
    generator = np.random.default_rng(2)
    X = generator.normal(size=(20, 4))
    y = X[:, 0] + generator.normal(size=20) > 0
    calls = 0

    def fit(last):
        def kernel(A, B):
            nonlocal calls
            calls += 1
            if calls == last:
                raise Stop
            return (A @ B.T + 1) ** 2

        Mpu(kernel=kernel, cache_size=1e-4, loss="hinge", eps=0.1, random_state=0).fit(X, y)

    fit(last=None)
    n_calls = calls
    assert n_calls > 50
    for last in range(1, n_calls + 1):
        calls = 0
        with pytest.raises(Stop):
            fit(last)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("params", [{"eps": 1.0}, {"before_run": 1.0}])
def test_thresholds_of_zero_are_a_beginning(params, kernel):
    X, y = three()
    fit = Mpu(newton=False, kernel=kernel, random_state=0, **params).fit(X, [0, 1, 1])
    assert fit.converged_


@pytest.mark.parametrize("seed", [12, 26, 35])
def test_dual_variables_that_have_shrunk_leave_no_rounding_behind(seed):
    # They begin at a bound of 5e7, and end where the margin is hard: 1,000 epochs were not enough.
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(3, 17)) * 10.0 ** generator.integers(-2, 3, size=17)
    fit = Mpu(loss="hinge", C=5e7, eps=1e-6, newton=False, random_state=0).fit(X, [0, 1, 0])
    assert fit.converged_
    assert fit.n_iter_ < 200
