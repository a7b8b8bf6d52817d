"""Visits in one piece: number by number what the loop over rules does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import LAYOUTS, orders_of, patterns_of, problems
from numpy.testing import assert_array_equal

from margins._activeset import ActiveSets
from margins._unlearning import UnlearningVisits
from margins._update import Readout, WeightVector
from margins.kernels import Kernel
from margins.rules import Additive, NoShrink, Rules, Unlearning


def state_of(weights):
    return [
        *weights.weights,
        *weights.dual,
        weights.label_sum,
        weights.sqnorm,
        weights.dual_sum,
        weights.t,
        weights.n_updates,
    ]


def follow(patterns, b, delta_b, orders, start=None):
    """Present the patterns both ways; the weight vectors and the counts must be the same ones."""
    rules = Rules(Unlearning(b, delta_b), Additive(), NoShrink())
    both = UnlearningVisits(b, delta_b), ActiveSets((), len(patterns))
    vectors = [WeightVector(patterns.rows.n_features, len(patterns)) for _ in both]
    for weights in vectors:
        if start is not None:
            weights.assign(patterns, start)
    n_updates = 0
    for order in orders:
        counts = [
            (visits.full_epoch(patterns, weights, rules, order), visits.n_refused, visits.n_visits)
            for visits, weights in zip(both, vectors, strict=True)
        ]
        assert counts[0] == counts[1]
        assert_array_equal(state_of(vectors[0]), state_of(vectors[1]))
        n_updates += counts[0][0]
    return vectors[0], n_updates


@given(
    problem=problems(),
    layout=st.sampled_from(sorted(LAYOUTS)),
    rho=st.sampled_from([0.0, 1.0]),
    delta2=st.sampled_from([0.0, 0.5, 3.7]),
    upper=st.sampled_from([np.inf, 0.3, 1.0, 2.5, 40.0]),
    b=st.sampled_from([0.01, 1.0, 3.3, 50.0, 1e4]),
    delta_b=st.sampled_from([0.1, 2.0, 30.0]),
    share=st.sampled_from([0.0, 0.2, 1.0]),
    seed=st.integers(0, 99),
)
def test_they_do_what_the_rules_say(problem, layout, rho, delta2, upper, b, delta_b, share, seed):
    X, y = problem
    patterns = patterns_of(LAYOUTS[layout](X), y, rho, delta2, upper)
    start = share * np.random.default_rng(seed).uniform(0, min(upper, 10), len(y))
    follow(patterns, b, delta_b, orders_of(len(y), 4, seed), start)


@pytest.mark.parametrize("upper", [np.inf, 0.25])
def test_they_do_it_on_rows_longer_than_what_is_asked_for_at_once(upper):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 700))  # over 2 MB, so that every cache line is asked for
    X[generator.random(X.shape) < 0.3] = 0
    y = np.where(X[:, 0] + 0.3 * generator.normal(size=600) > 0, 1, -1)
    lengths = []
    for layout in ("dense", "Fortran", "CSR", "CSR float32 int64"):
        patterns = patterns_of(LAYOUTS[layout](X), y, 1.0, 1.0, upper)
        weights, n_updates = follow(patterns, 100.0, 3 * patterns.max_sqnorm, orders_of(600, 5, 1))
        assert n_updates > 300
        lengths.append(weights.sqnorm)
    np.testing.assert_allclose(lengths, lengths[0], rtol=1e-3)


def test_they_unlearn_all_of_a_pattern_but_no_more():
    patterns = patterns_of(np.array([[2.0, 1], [-1, -2]]), np.array([1, -1]), 1.0)
    weights, n_updates = follow(
        patterns, 1.0, 0.5, [np.array([0, 1], dtype=np.int32)], start=np.array([40.0, 0.4])
    )
    assert n_updates == 2
    assert weights.dual[1] == 0


def test_only_what_they_can_present_is_taken():
    with pytest.raises(ValueError, match="must be > 0. Got 0.0 and 2.0"):
        UnlearningVisits(0.0, 2.0)
    visits = UnlearningVisits(1.0, 2.0)
    X, y = np.array([[1.0, 2], [3, 4]]), np.array([1, -1])
    patterns, order = patterns_of(X, y), np.arange(2, dtype=np.int32)
    for weights in (WeightVector(3, 2), WeightVector(2, 3)):
        with pytest.raises(ValueError, match="must be one of 2 features"):
            visits.full_epoch(patterns, weights, None, order)
    with pytest.raises(ValueError, match="need dual variables"):
        visits.full_epoch(patterns, WeightVector(2), None, order)
    with pytest.raises(ValueError, match="and no bonus"):
        visits.full_epoch(patterns.with_limits(bonus=np.zeros(2)), WeightVector(2, 2), None, order)
    with pytest.raises(ValueError, match="nor a readout"):
        visits.full_epoch(patterns, WeightVector(2, 2), None, order, None, Readout())
    rows = Kernel("rbf", 3, 1.0, 0.0).rows(X, 1.0)
    kernel = patterns.over(rows)
    with pytest.raises(ValueError, match="need dual variables, no kernel"):
        visits.full_epoch(kernel, WeightVector(rows.n_features, 2), None, order)
