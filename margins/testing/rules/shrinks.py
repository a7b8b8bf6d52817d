"""Checks of shrinks: factors, and several updates at once."""

import math

from margins.rules import ShrunkThreshold
from margins.testing.reports import require
from margins.testing.rules.conditions import MOST, require_repetitions
from margins.testing.rules.runs import SLACK, at_state, check, require_pure, states


@check
def check_factors(shrink):
    """Factors are numbers from 0 to 1, and 1 if the shrink is the identity."""
    require(isinstance(shrink.is_identity, bool), f"is_identity = {shrink.is_identity!r}", "a bool")
    require(isinstance(shrink.decays, bool), f"decays = {shrink.decays!r}", "True or False")
    for state in states():
        factor = shrink.py_factor(state)
        require(0 <= factor <= 1, f"a factor of {factor} {at_state(state)}", "a number from 0 to 1")
        if state:
            require(factor > 0, f"a factor of 0 {at_state(state)}", "more, or all would be forgotten")
        if shrink.is_identity:
            require(factor == 1, f"a factor of {factor} {at_state(state)}", "1, since `is_identity`")
    require_pure(shrink.py_factor, "a factor of")


@check
def check_repeat(shrink):
    """Several updates in one step equal as many single updates a <- s a + y."""
    for state in states():
        product, total, t = 1.0, 0.0, state.get("t", 0.0)
        for count in range(1, MOST + 1):
            factor = shrink.py_factor({**state, "t": t})
            product, total, t = product * factor, total * factor + 1, t + 1
            if count not in (1, 2, 3, 7, 64, MOST):
                continue
            shrunk, added = shrink.py_repeat(count, state)
            description = f"for {count} updates at once {at_state(state)}"
            require(
                math.isclose(added, total, rel_tol=SLACK),
                f"a sample added {added} times {description}",
                f"{total}, as by single updates",
            )
            # At the start there is nothing to shrink, so any factor is correct.
            require(
                not state or math.isclose(shrunk, product, rel_tol=SLACK, abs_tol=1e-300),
                f"a factor of {shrunk} {description}",
                f"{product}, as by single updates",
            )


@check
def check_repetitions_of_shrink(shrink):
    """The number of updates that `ShrunkThreshold` computes equals the number of single updates."""
    for b in (0.0, 2.0, 40.0):
        require_repetitions(ShrunkThreshold(b, shrink), shrink)
