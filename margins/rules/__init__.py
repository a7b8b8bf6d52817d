"""The vocabulary: conditions, updates, shrinks and readouts that algorithms are composed of."""

from margins._update import Condition, Readout, Rules, Shrink, Update
from margins.rules.conditions import (
    DynamicMargin,
    FixedMargin,
    FixedThreshold,
    Mistake,
    ShrunkThreshold,
    UnevenThreshold,
    Unlearning,
)
from margins.rules.decays import ConstantDecay, HarmonicDecay
from margins.rules.hinge import MarginError, PassiveAggressive, SubgradientStep
from margins.rules.readouts import Average, Journal, LongestSurvivor, Pocket
from margins.rules.shrinks import ConstantShrink, NoShrink, VariableShrink
from margins.rules.updates import Additive

__all__ = [
    "Additive",
    "Average",
    "Condition",
    "ConstantDecay",
    "ConstantShrink",
    "DynamicMargin",
    "FixedMargin",
    "FixedThreshold",
    "HarmonicDecay",
    "Journal",
    "LongestSurvivor",
    "MarginError",
    "Mistake",
    "NoShrink",
    "PassiveAggressive",
    "Pocket",
    "Readout",
    "Rules",
    "Shrink",
    "ShrunkThreshold",
    "SubgradientStep",
    "UnevenThreshold",
    "Unlearning",
    "Update",
    "VariableShrink",
]
