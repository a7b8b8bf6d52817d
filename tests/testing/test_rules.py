"""Checks of rules: the built-in ones pass, and broken ones fail with a message that says why."""

import inspect
import math
import re

import numpy as np
import pytest

import margins
import margins.rules
from margins.rules import (
    Additive,
    Average,
    BallStep,
    ConstantDecay,
    ConstantShrink,
    CoordinateStep,
    DynamicMargin,
    FallingMargin,
    FixedMargin,
    FixedThreshold,
    HarmonicDecay,
    LengthPower,
    LongestSurvivor,
    MarginError,
    Mistake,
    MistakeHistory,
    NormalisedStep,
    NoShrink,
    PassiveAggressive,
    Pocket,
    Python,
    RelaxedMargin,
    Shifting,
    ShrunkThreshold,
    SubgradientStep,
    SuffixAverage,
    UnevenThreshold,
    UnitMargin,
    Unlearning,
    UpdatePower,
    VariableShrink,
)
from margins.testing import check_rule, rule_checks

RULES = [
    Mistake(),
    FixedThreshold(3),
    UnevenThreshold(1, -2),
    FixedMargin(0),
    FixedMargin(0.5),
    DynamicMargin(0.1),
    DynamicMargin(1),
    Unlearning(3, 60),
    ShrunkThreshold(3, ConstantShrink(0.01)),
    ShrunkThreshold(3, VariableShrink(1)),
    ShrunkThreshold(5, VariableShrink(3)),
    NoShrink(),
    ConstantShrink(0.01),
    VariableShrink(0),
    VariableShrink(1),
    VariableShrink(12),
    Additive(),
    Additive(eta=0.5, most=7),
    Additive(most=1),
    UnitMargin(),
    MarginError(),
    MarginError(-0.5),
    FallingMargin(2, 0.5),
    LengthPower(2, 0.5),
    LengthPower(2, 0),
    LengthPower(2, 1.5),
    UpdatePower(3, 0.5),
    UpdatePower(3, 0),
    UpdatePower(3, 1),
    ConstantDecay(0.01),
    HarmonicDecay(),
    NormalisedStep(0.5),
    NormalisedStep(0.5, 0.7),
    RelaxedMargin(),
    Shifting(1),
    Shifting(2.5),
    BallStep(0.5),
    CoordinateStep(),
    CoordinateStep(eta=0.01),
    PassiveAggressive(),
    PassiveAggressive(most=0.5),
    PassiveAggressive(slack=2),
    SubgradientStep(0.1),
    SubgradientStep(0.1, project=True),
    Python(lambda sqnorm, t, dual_sum, label: 0.5 * sqnorm / t if t else 0.0),
    Python(lambda: 0.9, "shrink"),
    Python(lambda: 1.0, "update"),
]
NO_BOUNDS = {"check_dual_variables_keep_their_bounds": "Its algorithm gives no upper bounds."}
EXPECTED_OF_RULES = {
    BallStep: NO_BOUNDS,
    SubgradientStep: NO_BOUNDS,
    RelaxedMargin: {
        "check_dual_variables_keep_their_bounds": "Made for products below 1; the check's go up to 40."
    },
}
AVERAGINGS = {
    "longest": LongestSurvivor,
    "pocket": Pocket,
    "average": Average,
    "average of accesses": lambda weights: Average(weights, "accesses"),
    "average of late ones": lambda weights: SuffixAverage(weights, 3, 2.5),
    "journal": lambda weights: MistakeHistory(),
}
BASE_CLASSES = ("margins.rules._base", "margins.rules._averaging", "margins.rules.errors")


def test_every_rule_of_ours_is_checked():
    averagings = {LongestSurvivor, Pocket, Average, SuffixAverage, MistakeHistory}
    kinds = {type(rule) for rule in RULES} | averagings
    ours = {
        rule
        for rule in vars(margins.rules).values()
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


class Wordless(FixedThreshold):
    __repr__ = object.__repr__


class CountsItsCalls(FixedThreshold):
    n_calls = 0

    def py_threshold(self, state=None, positive=True):
        type(self).n_calls += 1
        return float(self.n_calls)


class DependsOnTheScale(FixedThreshold):
    def py_threshold(self, state=None, positive=True):
        return (state or {}).get("scale", 1.0)


class LowCeiling(Unlearning):
    def py_ceiling(self, state=None, positive=True):
        return self.b - 1


class SecretCeiling(FixedThreshold):
    def py_ceiling(self, state=None, positive=True):
        return 1e6


class WrongClosedForm(ShrunkThreshold):
    """Repeats as if the weight vector shrank, which it does not."""

    shrink = NoShrink()

    def repeats_with(self, shrink):
        return True


class WrongRepeat(ConstantShrink):
    def py_repeat(self, repetitions, state=None):
        shrunk, added = super().py_repeat(repetitions, state)
        return shrunk, added * (1 + 1e-6 * (repetitions > 1))


class WrongShrinkOfRepeat(ConstantShrink):
    def py_repeat(self, repetitions, state=None):
        shrunk, added = super().py_repeat(repetitions, state)
        return shrunk**2, added


class NoIdentity(ConstantShrink):
    is_identity = True


def chance():
    generator = np.random.default_rng(0)
    return Python(lambda: generator.random(), "update")


BROKEN_RULES = {
    "wordless": (lambda: Wordless(1), "check_repr: got the repr"),
    "NaN": (
        lambda: Python(lambda: math.nan),
        "threshold of nan at the start, label -1, expected a finite",
    ),
    "minus infinity": (lambda: Python(lambda: -math.inf), "got a threshold of -inf at the start"),
    "infinity": (lambda: FixedThreshold(math.inf), "got a threshold of inf at t=1, "),
    "raises": (lambda: Python(lambda: 1 / 0), "got a threshold of nan"),
    "counts its calls": (lambda: CountsItsCalls(1), "check_thresholds_are_pure: .*one value"),
    "depends on the scale": (lambda: DependsOnTheScale(1), "scale=0.5 .*the weight vector is the same"),
    "low ceiling": (
        lambda: LowCeiling(3, 60),
        "check_ceilings: got .* 2.0 .*more than .*threshold, 3.0",
    ),
    "secret ceiling": (lambda: SecretCeiling(3), "expected inf, since `unlearns` is False"),
    "wrong closed form": (
        lambda: WrongClosedForm(40, ConstantShrink(0.2)),
        r"check_repetitions: got .* repetitions of an update .*expected \d+, as by single updates",
    ),
    "wrong additions": (
        lambda: WrongRepeat(0.1),
        "check_repeat: .* added 1.900001.* times for 2 updates",
    ),
    "wrong factor": (lambda: WrongShrinkOfRepeat(0.1), "check_repeat: .* factor of 0.81.* expected 0.9"),
    "grows": (lambda: Python(lambda: 1.5, "shrink"), "check_factors: got .* 1.5 at .* from 0 to 1"),
    "forgets all": (lambda: Python(lambda: 0.0, "shrink"), "expected more, or all would be forgotten"),
    "no identity": (lambda: NoIdentity(0.1), "got a factor of 0.9 .*expected 1, since `is_identity`"),
    "update by chance": (chance, "check_runs: got .* from two runs, expected the same"),
    "NaN shrink": (lambda: Python(lambda: math.nan, "shrink"), "check_factors: .* of nan at the start"),
    "NaN update": (lambda: Python(lambda: math.nan, "update"), r"are_finite: got nan at .* Mistake\(\)"),
    "late NaN update": (
        lambda: Python(lambda t: math.nan if t == 20 else 1.0, "update"),
        r"check_updates_are_finite: got nan at sample \d+",
    ),
    "zero update": (lambda: Python(lambda: 0.0, "update"), "check_updates_move: .* 30 of 30 samples"),
    "infinite update": (
        lambda: Python(lambda: math.inf, "update"),
        r"got inf at sample \d+ with Mistake",
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("make", "message"), BROKEN_RULES.values(), ids=BROKEN_RULES)
def test_broken_rule_fails_with_the_reason(make, message):
    rule = make()
    with pytest.raises(AssertionError, match=rf"(?s)^{type(rule).__name__} fails .*{message}"):
        check_rule(rule)


class SpoilsTheRun(LongestSurvivor):
    def hypothesis(self, a, data):
        a.rescale(2)
        return a


class ChangesItsMind(Average):
    def hypothesis(self, a, data):
        self.n_right += 1
        return super().hypothesis(a, data)


class LosesItsMemory(LongestSurvivor):
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
        check_rule(MistakeHistory())
    with pytest.raises(AssertionError, match="check_averaging_looks_only: got 3 from"):
        check_rule(lambda weights: 3)
