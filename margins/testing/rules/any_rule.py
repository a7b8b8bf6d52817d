"""Checks that apply to conditions, updates and shrinks."""

import numpy as np

from margins.rules import FixedThreshold, Update
from margins.testing.reports import require
from margins.testing.rules.runs import SLACK, check, numbers_of, rules_of, run, samples


@check
def check_repr(rule):
    """The repr describes the rule, and is always the same."""
    require(
        repr(rule) != object.__repr__(rule), f"the repr {repr(rule)!r}", "one that describes the rule"
    )
    require(repr(rule) == repr(rule), "another repr each time", "the same")


@check
def check_binary_interface(rule):
    """`Rules` accepts the rule, so it was compiled against the interface of the installed margins."""
    rules_of(rule)


@check
def check_runs(rule):
    """A run with the rule is finite and always the same, with dual variables and without."""
    rules = rules_of(rule, FixedThreshold(7))
    first, second = (numbers_of(run(samples(), rules)[0]) for _ in range(2))
    require(np.isfinite(first).all(), f"weights, sums and counts {first}", "finite numbers")
    require(first == second, f"{first} and {second} from two runs", "the same")
    if isinstance(rule, Update) or rules.condition.unlearns:
        return  # these may need dual variables
    without = numbers_of(run(samples(), rules, keep_dual=False)[0])
    same = np.allclose(first, without, rtol=SLACK, atol=SLACK * np.abs(first).max())
    require(same, f"{without} without dual variables", f"{first}, as with them")
