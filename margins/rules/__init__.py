"""The vocabulary: conditions, updates, shrinks and readouts that algorithms are composed of."""

from margins._update import Condition, Readout, Rules, Shrink, Update
from margins.rules.adapters import Native, Python
from margins.rules.conditions import (
    DynamicMargin,
    FixedMargin,
    FixedThreshold,
    Mistake,
    ShrunkThreshold,
    UnevenThreshold,
    Unlearning,
)
from margins.rules.coordinates import CoordinateStep, UnitMargin
from margins.rules.readouts import Average, Journal, LongestSurvivor, Pocket
from margins.rules.shrinks import ConstantShrink, NoShrink, VariableShrink
from margins.rules.updates import Additive

__all__ = [
    "Additive",
    "Average",
    "Condition",
    "ConstantShrink",
    "CoordinateStep",
    "DynamicMargin",
    "FixedMargin",
    "FixedThreshold",
    "Journal",
    "LongestSurvivor",
    "Mistake",
    "Native",
    "NoShrink",
    "Pocket",
    "Python",
    "Readout",
    "Rules",
    "Shrink",
    "ShrunkThreshold",
    "UnevenThreshold",
    "UnitMargin",
    "Unlearning",
    "Update",
    "VariableShrink",
]
