"""Checks of rules: the built-in ones pass, and broken ones fail with a message that says why."""

import inspect
import math
import re

import numpy as np
import pytest

from margins import rules
from margins.testing import check_rule, rule_checks

RULES = [
    rules.Mistake(),
    rules.FixedThreshold(3),
    rules.UnevenThreshold(1, -2),
    rules.FixedMargin(0),
    rules.FixedMargin(0.5),
    rules.DynamicMargin(0.1),
    rules.DynamicMargin(1),
    rules.Unlearning(3, 60),
    rules.ShrunkThreshold(3, rules.ConstantShrink(0.01)),
    rules.ShrunkThreshold(3, rules.VariableShrink(1)),
    rules.ShrunkThreshold(5, rules.VariableShrink(3)),
    rules.NoShrink(),
    rules.ConstantShrink(0.01),
    rules.VariableShrink(0),
    rules.VariableShrink(1),
    rules.VariableShrink(12),
    rules.Additive(),
    rules.Additive(eta=0.5, most=7),
    rules.Additive(most=1),
    rules.UnitMargin(),
    rules.MarginError(),
    rules.MarginError(-0.5),
    rules.FallingMargin(2, 0.5),
    rules.LengthPower(2, 0.5),
    rules.LengthPower(2, 0),
    rules.LengthPower(2, 1.5),
    rules.UpdatePower(3, 0.5),
    rules.UpdatePower(3, 0),
    rules.UpdatePower(3, 1),
    rules.ConstantDecay(0.01),
    rules.HarmonicDecay(),
    rules.NormalisedStep(0.5),
    rules.NormalisedStep(0.5, 0.7),
    rules.RelaxedMargin(),
    rules.Shifting(1),
    rules.Shifting(2.5),
    rules.BallStep(0.5),
    rules.CoordinateStep(),
    rules.CoordinateStep(eta=0.01),
    rules.PassiveAggressive(),
    rules.PassiveAggressive(most=0.5),
    rules.PassiveAggressive(slack=2),
    rules.SubgradientStep(0.1),
    rules.SubgradientStep(0.1, project=True),
    rules.Python(lambda sqnorm, t, dual_sum, label: 0.5 * sqnorm / t if t else 0.0),
    rules.Python(lambda: 0.9, "shrink"),
    rules.Python(lambda: 1.0, "update"),
]
NO_BOUNDS = {"check_dual_variables_keep_their_bounds": "Its algorithm gives no upper bounds."}
EXPECTED_OF_RULES = {
    rules.BallStep: NO_BOUNDS,
    rules.SubgradientStep: NO_BOUNDS,
    rules.RelaxedMargin: {
        "check_dual_variables_keep_their_bounds": "Made for products below 1; the check's go up to 40."
    },
}
AVERAGINGS = {
    "longest": rules.LongestSurvivor,
    "pocket": rules.Pocket,
    "average": rules.Average,
    "average of accesses": lambda weights: rules.Average(weights, "accesses"),
    "average of late ones": lambda weights: rules.SuffixAverage(weights, 3, 2.5),
    "journal": lambda weights: rules.MistakeHistory(),
}
BASE_CLASSES = ("margins.rules._base", "margins.rules._averaging", "margins.rules.errors")


def test_every_rule_of_ours_is_checked():
    averagings = {
        rules.LongestSurvivor,
        rules.Pocket,
        rules.Average,
        rules.SuffixAverage,
        rules.MistakeHistory,
    }
    kinds = {type(rule) for rule in RULES} | averagings
    ours = {
        rule
        for rule in vars(rules).values()
        if inspect.isclass(rule) and rule.__module__ not in BASE_CLASSES
    }
    assert not {rule.__name__ for rule in ours - kinds}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: re.sub(r" at 0x\w+", "", repr(rule)))
def test_rule_passes_its_checks(rule):
    check_rule(rule, EXPECTED_OF_RULES.get(type(rule)))


@pytest.mark.parametrize("rule", EXPECTED_OF_RULES, ids=lambda rule: rule.__name__)
def test_check_of_a_rule_fails_where_it_is_said_to(rule):
    example = next(one for one in RULES if type(one) is rule)
    for check, arguments in rule_checks(example):
        if check.__name__ in EXPECTED_OF_RULES[rule]:
            with pytest.raises(AssertionError, match=check.__name__):
                check(*arguments)


@pytest.mark.parametrize("make", AVERAGINGS.values(), ids=AVERAGINGS)
def test_averaging_passes_its_checks(make):
    check_rule(make)


# ------------------------------------------------------------------------------------------ broken rules


class Wordless(rules.FixedThreshold):
    __repr__ = object.__repr__


class CountsItsCalls(rules.FixedThreshold):
    n_calls = 0

    def py_threshold(self, state=None, positive=True):
        type(self).n_calls += 1
        return float(self.n_calls)


class DependsOnTheScale(rules.FixedThreshold):
    def py_threshold(self, state=None, positive=True):
        return (state or {}).get("scale", 1.0)


class LowCeiling(rules.Unlearning):
    def py_ceiling(self, state=None, positive=True):
        return self.b - 1


class SecretCeiling(rules.FixedThreshold):
    def py_ceiling(self, state=None, positive=True):
        return 1e6


class WrongClosedForm(rules.ShrunkThreshold):
    """Repeats as if the weight vector shrank, which it does not."""

    shrink = rules.NoShrink()

    def repeats_with(self, shrink):
        return True


class WrongRepeat(rules.ConstantShrink):
    def py_repeat(self, repetitions, state=None):
        shrunk, added = super().py_repeat(repetitions, state)
        return shrunk, added * (1 + 1e-6 * (repetitions > 1))


class WrongShrinkOfRepeat(rules.ConstantShrink):
    def py_repeat(self, repetitions, state=None):
        shrunk, added = super().py_repeat(repetitions, state)
        return shrunk**2, added


class NoIdentity(rules.ConstantShrink):
    is_identity = True


def chance():
    generator = np.random.default_rng(0)
    return rules.Python(lambda: generator.random(), "update")


BROKEN_RULES = {
    "wordless": (lambda: Wordless(1), "check_repr: got the repr"),
    "NaN": (
        lambda: rules.Python(lambda: math.nan),
        "threshold of nan at the start, label -1, expected a finite",
    ),
    "minus infinity": (lambda: rules.Python(lambda: -math.inf), "got a threshold of -inf at the start"),
    "infinity": (lambda: rules.FixedThreshold(math.inf), "got a threshold of inf at t=1, "),
    "raises": (lambda: rules.Python(lambda: 1 / 0), "got a threshold of nan"),
    "counts its calls": (lambda: CountsItsCalls(1), "check_thresholds_are_pure: .*one value"),
    "depends on the scale": (lambda: DependsOnTheScale(1), "scale=0.5 .*the weight vector is the same"),
    "low ceiling": (
        lambda: LowCeiling(3, 60),
        "check_ceilings: got .* 2.0 .*more than .*threshold, 3.0",
    ),
    "secret ceiling": (lambda: SecretCeiling(3), "expected inf, since `unlearns` is False"),
    "wrong closed form": (
        lambda: WrongClosedForm(40, rules.ConstantShrink(0.2)),
        r"check_repetitions: got .* repetitions of an update .*expected \d+, as by single updates",
    ),
    "wrong additions": (
        lambda: WrongRepeat(0.1),
        "check_repeat: .* added 1.900001.* times for 2 updates",
    ),
    "wrong factor": (lambda: WrongShrinkOfRepeat(0.1), "check_repeat: .* factor of 0.81.* expected 0.9"),
    "grows": (
        lambda: rules.Python(lambda: 1.5, "shrink"),
        "check_factors: got .* 1.5 at .* from 0 to 1",
    ),
    "forgets all": (
        lambda: rules.Python(lambda: 0.0, "shrink"),
        "expected more, or all would be forgotten",
    ),
    "no identity": (lambda: NoIdentity(0.1), "got a factor of 0.9 .*expected 1, since `is_identity`"),
    "update by chance": (chance, "check_runs: got .* from two runs, expected the same"),
    "NaN shrink": (
        lambda: rules.Python(lambda: math.nan, "shrink"),
        "check_factors: .* of nan at the start",
    ),
    "NaN update": (
        lambda: rules.Python(lambda: math.nan, "update"),
        r"are_finite: got nan at .* Mistake\(\)",
    ),
    "late NaN update": (
        lambda: rules.Python(lambda t: math.nan if t == 20 else 1.0, "update"),
        r"check_updates_are_finite: got nan at sample \d+",
    ),
    "zero update": (
        lambda: rules.Python(lambda: 0.0, "update"),
        "check_updates_move: .* 30 of 30 samples",
    ),
    "infinite update": (
        lambda: rules.Python(lambda: math.inf, "update"),
        r"got inf at sample \d+ with Mistake",
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("make", "message"), BROKEN_RULES.values(), ids=BROKEN_RULES)
def test_broken_rule_fails_with_the_reason(make, message):
    rule = make()
    with pytest.raises(AssertionError, match=rf"(?s)^{type(rule).__name__} fails .*{message}"):
        check_rule(rule)


class SpoilsTheRun(rules.LongestSurvivor):
    def hypothesis(self, a, data):
        a.rescale(2)
        return a


class ChangesItsMind(rules.Average):
    def hypothesis(self, a, data):
        self.n_right += 1
        return super().hypothesis(a, data)


class LosesItsMemory(rules.LongestSurvivor):
    def __reduce__(self):
        return super().__reduce__()[:2]  # without its state


BROKEN_AVERAGINGS = {
    SpoilsTheRun: "SpoilsTheRun fails check_averaging_looks_only: ",
    ChangesItsMind: "ChangesItsMind fails check_averaging_looks_only: got the hypotheses .* read twice",
    LosesItsMemory: "LosesItsMemory fails check_averaging_is_pickled: got .* after pickling",
}


@pytest.mark.parametrize("make", BROKEN_AVERAGINGS, ids=lambda make: make.__name__)
def test_broken_averaging_fails_with_the_reason(make):
    with pytest.raises(AssertionError, match=f"(?s){BROKEN_AVERAGINGS[make]}"):
        check_rule(make)


def test_an_object_that_is_not_a_rule_is_rejected():
    with pytest.raises(TypeError, match="rule must be a Condition, an Update, a Shrink, or a callable"):
        check_rule(3)
    with pytest.raises(TypeError, match="a callable that returns an Averaging"):
        check_rule(rules.MistakeHistory())
    with pytest.raises(AssertionError, match="check_averaging_looks_only: got 3 from"):
        check_rule(lambda weights: 3)
