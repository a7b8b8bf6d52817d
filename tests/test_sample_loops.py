"""The protocol of the loops over samples: counts, errors of rules, no object kept alive."""

import sys

import numpy as np
import pytest
from sample_problems import data_of

from margins._activeset import ActiveSets, Level
from margins._update import WeightVector
from margins.rules import (
    Additive,
    CoordinateStep,
    HarmonicDecay,
    MarginError,
    NoShrink,
    Python,
    Rules,
    SubgradientStep,
    UnitMargin,
)
from margins.solvers._dual_cd import ShrinkingPasses
from margins.solvers._mini_batch import MiniBatches
from margins.solvers.custom._budget import Cache

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
