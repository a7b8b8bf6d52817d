"""The fused loop of unlearning: bit for bit the generic loop, which calls the rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sample_problems import LAYOUTS, data_of, orders_of, problems

from margins._activeset import ActiveSets, Level
from margins._update import WeightVector
from margins.rules import Additive, Average, LongestSurvivor, NoShrink, Rules, SuffixAverage, Unlearning


def state_of(weights):
    names = ("label_sum", "sqnorm", "dual_sum", "t", "n_updates")
    return [*weights.weights, *weights.dual, *(getattr(weights, name) for name in names)]


ADDITIVE = Additive()


class AnyShrink(NoShrink):
    """A subclass, which the fused loop does not support."""


def follow(data, b, delta_b, orders, start=None, levels=(), averagings=(None, None), update=ADDITIVE):
    """Process the samples by both loops; the weight vectors and the counts must be the same."""
    both = [Rules(Unlearning(b, delta_b), update, shrink()) for shrink in (NoShrink, AnyShrink)]
    vectors = [WeightVector(data.rows.n_features, len(data)) for _ in both]
    sets = [ActiveSets(levels, len(data)) for _ in both]
    for weights in vectors:
        if start is not None:
            weights.assign(data, start)
    n_updates = 0
    for order in orders:
        counts = []
        for one, *rest, averaging in zip(sets, vectors, both, averagings, strict=True):
            changed = one.full_epoch(data, *rest, order, None, averaging)
            counts.append((changed, one.n_rejected, one.n_accesses))
        assert counts[0] == counts[1]
        assert_array_equal(state_of(vectors[0]), state_of(vectors[1]))
        n_updates += counts[0][0]
    return vectors[0], n_updates


LEVELS = {
    "none": (),
    "near": (Level(2, 2.0), Level(3, 1.0)),
    "supported": (Level(3, supported=True),),
    "updated": (Level(2, updated=True), Level(2, 1.5, supported=True, updated=True)),
}


@given(
    problem=problems(),
    layout=st.sampled_from(sorted(LAYOUTS)),
    rho=st.sampled_from([0.0, 1.0]),
    delta2=st.sampled_from([0.0, 0.5, 3.7]),
    upper=st.sampled_from([np.inf, 0.3, 1.0, 2.5, 40.0]),
    b=st.sampled_from([0.0, 0.01, 1.0, 3.3, 50.0, 1e4]),
    delta_b=st.sampled_from([0.1, 2.0, 30.0]),
    share=st.sampled_from([0.0, 0.2, 1.0]),
    levels=st.sampled_from(sorted(LEVELS)),
    update=st.sampled_from([ADDITIVE, ADDITIVE, Additive(2.0), Additive(most=1)]),
    seed=st.integers(0, 99),
)
def test_the_fused_loop_follows_the_rules(
    problem, layout, rho, delta2, upper, b, delta_b, share, levels, update, seed
):
    X, y = problem
    data = data_of(LAYOUTS[layout](X), y, rho, delta2, upper)
    start = share * np.random.default_rng(seed).uniform(0, min(upper, 10), len(y))
    follow(data, b, delta_b, orders_of(len(y), 4, seed), start, LEVELS[levels], update=update)


@pytest.mark.parametrize("upper", [np.inf, 0.25])
def test_the_fused_loop_handles_rows_longer_than_one_prefetch(upper):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 700))  # over 2 MB, so that every cache line is prefetched
    X[generator.random(X.shape) < 0.3] = 0
    y = np.where(X[:, 0] + 0.3 * generator.normal(size=600) > 0, 1, -1)
    lengths = []
    for layout in ("dense", "Fortran", "CSR", "CSR float32 int64"):
        data = data_of(LAYOUTS[layout](X), y, 1.0, 1.0, upper)
        weights, n_updates = follow(data, 100.0, 3 * data.max_sqnorm, orders_of(600, 5, 1))
        assert n_updates > 300
        lengths.append(weights.sqnorm)
    np.testing.assert_allclose(lengths, lengths[0], rtol=1e-3)


def test_the_fused_loop_unlearns_at_most_the_dual_variable():
    data = data_of(np.array([[2.0, 1], [-1, -2]]), np.array([1, -1]), 1.0)
    orders = [np.array([0, 1], dtype=np.int32)]
    weights, n_updates = follow(data, 1.0, 0.5, orders, start=np.array([40.0, 0.4]))
    assert n_updates == 2
    assert weights.dual[1] == 0


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("upper", [np.inf, 4.0])
@pytest.mark.parametrize(
    "averaging", [LongestSurvivor, Average, lambda start: SuffixAverage(start, 90, 7)]
)
def test_the_fused_loop_notifies_the_averaging_of_every_hypothesis(averaging, upper, levels):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 4))
    y = np.where(X[:, 0] + generator.normal(size=60) > 0, 1, -1)
    data = data_of(X, y, 1.0, 0.5, upper)
    both = [averaging(WeightVector(4, 60)) for _ in range(2)]
    weights, n_updates = follow(data, 50.0, 2 * data.max_sqnorm, orders_of(60, 3, 1), None, levels, both)
    assert n_updates > 30
    counts = [(each.n_accesses, each.n_right) for each in both]
    assert counts[0] == counts[1]
    one, other = (each.hypothesis(weights, data) for each in both)
    assert_array_equal(one.weights, other.weights)
    assert one.label_sum == other.label_sum
    assert np.abs(one.weights - weights.weights).max() > 0 or averaging is LongestSurvivor
