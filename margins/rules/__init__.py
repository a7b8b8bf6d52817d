"""Conditions, updates, shrinks and averagings: the rules that algorithms are composed of."""

from margins.rules._averaging import Averaging
from margins.rules._base import Condition, Rules, Shrink, Update
from margins.rules.adapters import Native, Python, condition, shrink, update
from margins.rules.averaging import Average, LongestSurvivor, MistakeHistory, Pocket, SuffixAverage
from margins.rules.conditions import (
    DynamicMargin,
    FallingMargin,
    FixedMargin,
    FixedThreshold,
    LengthPower,
    Mistake,
    ShrunkThreshold,
    UnevenThreshold,
    UpdatePower,
)
from margins.rules.coordinates import CoordinateStep, UnitMargin
from margins.rules.errors import RuleError
from margins.rules.hinge import MarginError, PassiveAggressive, SubgradientStep
from margins.rules.shrinks import (
    ConstantDecay,
    ConstantShrink,
    HarmonicDecay,
    NoShrink,
    VariableShrink,
)
from margins.rules.unlearning import Unlearning
from margins.rules.updates import Additive, BallStep, NormalisedStep, RelaxedMargin, Shifting

__all__ = [
    "Additive",
    "Average",
    "BallStep",
    "Condition",
    "ConstantDecay",
    "ConstantShrink",
    "CoordinateStep",
    "DynamicMargin",
    "FallingMargin",
    "FixedMargin",
    "FixedThreshold",
    "HarmonicDecay",
    "MistakeHistory",
    "LengthPower",
    "LongestSurvivor",
    "MarginError",
    "Mistake",
    "Native",
    "NoShrink",
    "NormalisedStep",
    "PassiveAggressive",
    "Pocket",
    "Python",
    "Averaging",
    "RelaxedMargin",
    "RuleError",
    "Rules",
    "Shifting",
    "Shrink",
    "ShrunkThreshold",
    "SubgradientStep",
    "SuffixAverage",
    "UnevenThreshold",
    "UnitMargin",
    "Unlearning",
    "Update",
    "UpdatePower",
    "VariableShrink",
    "condition",
    "shrink",
    "update",
]
