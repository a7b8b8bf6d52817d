"""The vocabulary: conditions, updates and shrinks that algorithms are composed of."""

from margins._update import Condition, Rules, Shrink, Update
from margins.rules.conditions import (
    DynamicMargin,
    FixedMargin,
    FixedThreshold,
    Mistake,
    ShrunkThreshold,
    Unlearning,
)
from margins.rules.shrinks import ConstantShrink, NoShrink, VariableShrink
from margins.rules.updates import Additive

__all__ = [
    "Additive",
    "Condition",
    "ConstantShrink",
    "DynamicMargin",
    "FixedMargin",
    "FixedThreshold",
    "Mistake",
    "NoShrink",
    "Rules",
    "Shrink",
    "ShrunkThreshold",
    "Unlearning",
    "Update",
    "VariableShrink",
]
