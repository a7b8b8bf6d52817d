"""Checks of conditions, updates and shrinks alike."""

import numpy as np

from margins.rules import FixedThreshold, Update
from margins.testing.reports import require
from margins.testing.rules.runs import SLACK, check, numbers_of, rules_of, run, samples


@check
def check_repr(rule):
    """The repr is the rule's own, and always the same."""
    require(
        repr(rule) != object.__repr__(rule), f"the repr {repr(rule)!r}", "one that describes the rule"
    )
    require(repr(rule) == repr(rule), "another repr each time", "the same")


@check
def check_binary_interface(rule):
    """`Rules` takes it: it was compiled against the interface of the margins installed."""
    rules_of(rule)


@check
def check_runs(rule):
    """A run by the rule is finite and the same every time; with dual variables and without."""
    rules = rules_of(rule, FixedThreshold(7))
    one, other = (numbers_of(run(samples(), rules)[0]) for _ in range(2))
    require(np.isfinite(one).all(), f"weights, sums and counts {one}", "finite numbers")
    require(one == other, f"{one} and {other} from two runs", "the same")
    if isinstance(rule, Update) or rules.condition.unlearns:
        return  # these may need dual variables
    without = numbers_of(run(samples(), rules, keep_dual=False)[0])
    same = np.allclose(one, without, rtol=SLACK, atol=SLACK * np.abs(one).max())
    require(same, f"{without} without dual variables", f"{one}, as with them")
