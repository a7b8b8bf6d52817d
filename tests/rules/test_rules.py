"""Rules: thresholds, factors, and repetition as a number."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.data.binary_data import make_binary_data, rows_of
from margins.rules import (
    Additive,
    ConstantShrink,
    DynamicMargin,
    FixedMargin,
    FixedThreshold,
    Mistake,
    NoShrink,
    Rules,
    Shrink,
    ShrunkThreshold,
    SuffixAverage,
    Unlearning,
    VariableShrink,
)


def shrinking(b, shrink):
    return Rules(ShrunkThreshold(b, shrink), Additive(), shrink)


def test_only_unlearning_has_a_ceiling():
    assert Unlearning(3, 5).py_ceiling() == 8
    for condition in (Mistake(), FixedThreshold(1), FixedMargin(1), DynamicMargin(0.5)):
        assert condition.py_ceiling({"t": 3, "sqnorm": 2.0}) == math.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FixedThreshold(-1), r"b of FixedThreshold must be in \[0, inf\)\. Got -1\.0\."),
        (lambda: Unlearning(1, 0), r"delta_b of Unlearning must be in \(0, inf\]\. Got 0\.0\."),
        (lambda: FixedMargin(-0.5), r"beta of FixedMargin must be in \[0, inf\)\. Got -0\.5\."),
        (lambda: DynamicMargin(0), r"eps of DynamicMargin must be in \(0, 1\]\. Got 0\.0\."),
        (lambda: ShrunkThreshold(-2, NoShrink()), r"b of ShrunkThreshold must be in \[0, inf\)\. Got"),
        (lambda: ConstantShrink(1), r"lam of ConstantShrink must be in \[0, 1\)\. Got 1\.0\."),
        (lambda: VariableShrink(-1), r"n of VariableShrink must be an integer in \[0, inf\)\. Got -1\."),
        (lambda: Additive(eta=0), r"eta of Additive must be in \(0, inf\)\. Got 0\.0\."),
        (lambda: SuffixAverage(WeightVector(1), -1, 1), r"begin of SuffixAverage must be in \[0, inf\)"),
        (lambda: SuffixAverage(WeightVector(1), 0, math.nan), r"every of SuffixAverage must .* Got nan"),
        (lambda: Additive(most=0.5), r"most of Additive must be in \[1, inf\]\. Got 0\.5\."),
    ],
)
def test_rules_reject_invalid_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 9, 12, 40])
def test_variable_shrink_repeats_like_exact_fractions(n):
    for t, mu in product((0, 1, 7, 1000), (1, 2, 15, 17, 64, 65, 333, 2000)):
        shrink, add = VariableShrink(n).py_repeat(mu, {"t": t})
        exact = Fraction(sum((t + j) ** n for j in range(1, mu + 1)), (t + mu) ** n)
        factor = float(Fraction(t, t + mu) ** n) if t else 1
        assert add == pytest.approx(float(exact), rel=1e-13), (t, mu)
        assert shrink == pytest.approx(factor, rel=1e-12, abs=1e-300), (t, mu)


def test_variable_shrink_repeats_a_billion_updates_in_closed_form():
    shrink, add = VariableShrink(3).py_repeat(1e9, {"t": 1e9})
    assert shrink == pytest.approx(1 / 8)
    assert add == pytest.approx(2e9 * (1 - 1 / 16) / 4, rel=1e-8)


def test_a_shrink_without_closed_form_is_repeated_one_by_one():
    assert Shrink().py_repeat(5) == (1, 5)
    assert not Shrink().is_identity


def test_multiplicity_respects_its_cap():
    rules = Rules(FixedThreshold(1e6), Additive(), NoShrink())
    assert rules.py_repetitions(0, 1) == 1e6 + 1
    assert rules.py_repetitions(0, 1, most=37.5) == 37
    assert rules.py_repetitions(0, 1, most=1) == 1
    assert Rules(FixedThreshold(1e300), Additive(), NoShrink()).py_repetitions(0, 1) == 2.0**53


def test_a_margin_that_no_repetition_reaches_is_capped():
    rules = Rules(FixedMargin(3), Additive(), NoShrink())
    assert rules.py_repetitions(0, 4, {"t": 1, "sqnorm": 10.0}, most=99) == 99
    too_large = shrinking(100, ConstantShrink(0.5))
    assert too_large.py_repetitions(0, 1, {"t": 1, "sqnorm": 10.0}, most=99) == 99


def test_learning_rate_scales_what_repetition_adds():
    rules = Rules(FixedThreshold(10), Additive(), NoShrink())
    assert rules.py_repetitions(0, 4, eta=0.5) == 6
    assert rules.py_repetitions(0, 4) == 3


def test_rules_have_readable_representations():
    rules = shrinking(2, VariableShrink(1))
    assert repr(rules) == (
        "Rules(ShrunkThreshold(b=2, VariableShrink(n=1)), Additive(eta=1, most=inf), "
        "VariableShrink(n=1))"
    )
    assert NoShrink().is_identity and not rules.shrink.is_identity


@pytest.mark.parametrize("shrink", [NoShrink(), ConstantShrink(0.05), VariableShrink(2)], ids=repr)
@pytest.mark.parametrize(("begin", "every"), [(0, 1), (7, 2.5), (30, 11.0), (39, 1), (40, 1)])
def test_suffix_average_is_the_mean_of_current_hypotheses(shrink, begin, every):
    """At accesses begin + every, begin + 2 every ..., each rounded up, before their updates."""
    X = np.random.default_rng(1).normal(size=(10, 3))
    rows = rows_of(X)
    data = make_binary_data(rows, rows.sqnorms() + 4.0, X[:, 0] > 0.5, 4.0, 0.5, math.inf)
    order = np.random.default_rng(2).integers(10, size=40, dtype=np.int32)

    def present(averaging, n_at_a_time, weights):
        sets, hypotheses = ActiveSets((), 10), []
        for first in range(0, 40, n_at_a_time):
            hypotheses.append([*weights.weights, weights.label_sum])
            some = order[first : first + n_at_a_time]
            sets.full_epoch(data, weights, shrinking(6, shrink), some, None, averaging)
        return hypotheses

    in_force = present(None, 1, WeightVector(3, 10))
    due = [math.ceil(begin + i * every) for i in range(1, 41)]
    taken = [in_force[n - 1] for n in due if n <= 40]
    for chunk in (1, 3, 40):
        weights = WeightVector(3, 10)
        averaging = SuffixAverage(weights, begin, every)
        present(averaging, chunk, weights)
        mean = averaging.hypothesis(weights, data)
        expected = np.mean(taken, axis=0) if taken else [*weights.weights, weights.label_sum]
        found = [*mean.weights, mean.label_sum]
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"chunks of {chunk}")
        np.testing.assert_array_equal(mean.dual, weights.dual)
        assert (mean is weights) == (not taken)
