"""Loops over samples: nested active sets, the opening epoch, Ctrl-C, counts, errors of rules."""

import math
import sys

import numpy as np
import oracles
import pytest
import sample_problems
from hypothesis import given
from hypothesis import strategies as st
from problems import clouds
from properties import examples
from sample_problems import data_of

from margins._activeset import ActiveSets, Level
from margins._update import WeightVector
from margins.rules import (
    Additive,
    CoordinateStep,
    DynamicMargin,
    HarmonicDecay,
    MarginError,
    Mistake,
    NoShrink,
    Python,
    Rules,
    SubgradientStep,
    UnitMargin,
    Unlearning,
)
from margins.solvers._dual_cd import ShrinkingPasses
from margins.solvers._mini_batch import MiniBatches
from margins.solvers.custom._budget import Cache

SETTINGS = examples(20)
THRESHOLD_LEVELS = ((3, 2.25), (2, 1.125), (4, 1.0))


def assert_same(run, y, trace, delta2):
    weights, n_epochs, converged = run
    np.testing.assert_array_equal(sample_problems.vector_of(weights, y, delta2), trace.a)
    np.testing.assert_array_equal(weights.dual, trace.alpha)
    assert (weights.n_updates, n_epochs, converged) == (trace.n_updates, trace.epochs, trace.converged)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@SETTINGS
@given(problem=sample_problems.problems(), seed=st.integers(0, 99))
def test_threshold_levels_of_any_depth_follow_the_oracle(depth, problem, seed):
    X, y = problem
    chosen = THRESHOLD_LEVELS[:depth]
    orders = sample_problems.orders_of(len(X), 6, seed)
    trace = oracles.run(
        oracles.data_of(X, y, 1.0, 4.0),
        oracles.PDM(0.25),
        orders,
        multiple=True,
        levels=[oracles.Level(passes, oracles.below(factor)) for passes, factor in chosen],
    )
    rules = Rules(DynamicMargin(0.25), Additive(), NoShrink())
    levels = [Level(passes, factor) for passes, factor in chosen]
    assert_same(
        sample_problems.run(sample_problems.data_of(X, y, 1.0, 4.0), rules, orders, levels),
        y,
        trace,
        4.0,
    )


@SETTINGS
@given(
    problem=sample_problems.problems(), seed=st.integers(0, 99), upper=st.sampled_from([3.0, math.inf])
)
def test_unlearning_levels_follow_the_oracle(problem, seed, upper):
    X, y = problem
    orders = sample_problems.orders_of(len(X), 6, seed)
    trace = oracles.run(
        oracles.data_of(X, y, 1.0, 4.0),
        oracles.MPU(40.0, 200.0, upper),
        orders,
        multiple=True,
        levels=[
            oracles.Level(3, oracles.below_or_supporting(1.25)),
            oracles.Level(4, oracles.changed_and_supporting),
        ],
    )
    rules = Rules(Unlearning(40, 200), Additive(), NoShrink())
    levels = [Level(3, 1.25, supported=True), Level(4, updated=True)]
    data = sample_problems.data_of(X, y, 1.0, 4.0, upper)
    assert_same(sample_problems.run(data, rules, orders, levels), y, trace, 4.0)


@SETTINGS
@given(problem=sample_problems.problems(), seed=st.integers(0, 99))
def test_the_first_epoch_has_its_own_rules_and_levels(problem, seed):
    X, y = problem
    orders = sample_problems.orders_of(len(X), 6, seed)
    oracle_levels = [oracles.Level(passes, oracles.below(factor)) for passes, factor in THRESHOLD_LEVELS]
    opening = [oracles.Level(3, oracles.below(1.125)), *oracle_levels[1:]]
    trace = oracles.run(
        oracles.data_of(X, y, 1.0, 4.0),
        oracles.PDM(0.25),
        orders,
        multiple=True,
        levels=oracle_levels,
        first_levels=opening,
        first_pass_single=True,
    )
    condition = DynamicMargin(0.25)
    levels = [Level(passes, factor) for passes, factor in THRESHOLD_LEVELS]
    run = sample_problems.run(
        sample_problems.data_of(X, y, 1.0, 4.0),
        Rules(condition, Additive(), NoShrink()),
        orders,
        levels,
        opening=(Rules(condition, Additive(most=1), NoShrink()), [Level(3, 1.125), *levels[1:]]),
    )
    assert_same(run, y, trace, 4.0)


def test_unlearning_without_dual_variables_is_rejected():
    X, y = np.array([[1.0], [-1.0]]), np.array([1, -1])
    order = np.arange(2, dtype=np.int32)
    supported, updated = [Level(1, supported=True)], [Level(1, updated=True)]
    for condition, levels in ((Unlearning(1, 5), ()), (Mistake(), supported), (Mistake(), updated)):
        rules = Rules(condition, Additive(), NoShrink())
        with pytest.raises(ValueError, match="need dual variables"):
            ActiveSets(levels, 2).full_epoch(
                sample_problems.data_of(X, y), WeightVector(1), rules, order
            )


def test_an_epoch_in_two_parts_is_the_same_epoch():
    X, y = clouds(m=80)
    data = sample_problems.data_of(X, np.where(y > 0, 1, -1), 1.0, 4.0)
    rules = Rules(DynamicMargin(0.25), Additive(), NoShrink())
    order = np.random.default_rng(0).permutation(80).astype(np.int32)
    whole, parts, given = (WeightVector(4, 80) for _ in range(3))
    levels = [Level(*level) for level in THRESHOLD_LEVELS]
    sets = [ActiveSets(levels, 80) for _ in range(3)]
    for _ in range(5):
        n_changed = sets[0].full_epoch(data, whole, rules, order)
        assert sets[1].full_pass(data, parts, rules, order) == n_changed
        if n_changed:
            sets[1].nested_passes(data, parts, rules)
        # A full pass over two halves of the order; the members of both are given.
        members = []
        for half in np.split(order, 2):
            sets[2].full_pass(data, given, rules, half)
            members.append(sets[2].kept)
        assert np.concatenate(members).tolist() == sets[1].kept.tolist()
        if n_changed:
            sets[2].nested_passes(data, given, rules, members=np.concatenate(members))
        assert (whole.dual == parts.dual).all() and (whole.dual == given.dual).all()
    assert sets[0].n_accesses == sets[1].n_accesses == sets[2].n_accesses > 5 * 80
    plain = ActiveSets((), 80)
    plain.full_pass(data, whole, rules, order)
    before = whole.dual
    plain.nested_passes(data, whole, rules, members=order)
    assert len(plain.kept) == 0 and (whole.dual == before).all()


N_SAMPLES = 40
LOOPS = {
    "active sets": (
        lambda: ActiveSets([Level(2, 2.0)], N_SAMPLES),
        Rules(MarginError(), Additive(), NoShrink()),
    ),
    "dual coordinate descent": (
        lambda: ShrinkingPasses(0, 3),
        Rules(UnitMargin(), CoordinateStep(), NoShrink()),
    ),
    "mini-batches": (
        lambda: MiniBatches(10),
        Rules(MarginError(), SubgradientStep(0.1), HarmonicDecay()),
    ),
    "cache": (lambda: Cache(5), Rules(MarginError(), Additive(most=1), NoShrink())),
}


@pytest.fixture
def problem():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N_SAMPLES, 3))
    y = np.where(X[:, 0] + generator.normal(size=N_SAMPLES) > 0, 1, -1)
    return data_of(X, y, 1.0, 0.5), WeightVector(3, N_SAMPLES)


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_counts_its_samples_and_keeps_nothing_of_the_problem(name, problem):
    make, rules = LOOPS[name]
    data, weights = problem
    loop = make()
    counts = [sys.getrefcount(each) for each in (data, weights, rules)]
    n_changed = loop.full_epoch(data, weights, rules, np.arange(N_SAMPLES, dtype=np.int32))
    assert 0 < n_changed <= N_SAMPLES <= loop.n_accesses
    assert 0 <= loop.n_rejected <= N_SAMPLES - n_changed
    assert [sys.getrefcount(each) for each in (data, weights, rules)] == counts


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_raises_the_error_of_a_rule(name, problem):
    def fail(sqnorm):
        raise ArithmeticError("no threshold")

    make, rules = LOOPS[name]
    data, weights = problem
    rules = Rules(Python(fail), rules.update, rules.shrink)
    count = sys.getrefcount(weights)
    with pytest.raises(ArithmeticError, match="no threshold"):
        make().full_epoch(data, weights, rules, np.arange(N_SAMPLES, dtype=np.int32))
    assert sys.getrefcount(weights) == count
