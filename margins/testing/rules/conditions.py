"""Checks of conditions: thresholds, and the number of updates that lifts a sample above them."""

import itertools
import math

from margins.rules import Additive, Rules
from margins.testing.reports import require
from margins.testing.rules.runs import SLACK, at_state, check, require_pure, shrink_of, states

MOST = 300  # maximum number of single updates


@check
def check_thresholds(condition):
    """Thresholds are numbers, so a sample with product +inf is not misclassified after an update."""
    for state in states():
        for positive in (False, True):
            threshold = condition.py_threshold(state, positive)
            at_start = not state and threshold == math.inf  # at first, all samples are misclassified
            require(
                math.isfinite(threshold) or at_start,
                f"a threshold of {threshold} {at_state(state)}, label {'+1' if positive else '-1'}",
                "a finite number (or inf before the first update)",
            )


@check
def check_thresholds_are_pure(condition):
    """Thresholds depend only on the state, not on the representation of the weight vector."""
    for positive in (False, True):
        require_pure(lambda state, p=positive: condition.py_threshold(state, p), "a threshold of")
        require_pure(lambda state, p=positive: condition.py_ceiling(state, p), "a ceiling of")
        for state in states():
            threshold = condition.py_threshold(state, positive)
            rescaled = condition.py_threshold({**state, "scale": 0.5, "label_sum": 3.0}, positive)
            require(
                threshold == rescaled,
                f"a threshold of {rescaled} with scale=0.5 and label_sum=3 {at_state(state)}",
                f"{threshold}, as with scale=1: the weight vector is the same",
            )


@check
def check_ceilings(condition):
    """The unlearning threshold is above the learning threshold, or inf without unlearning."""
    require(isinstance(condition.unlearns, bool), f"unlearns = {condition.unlearns!r}", "True or False")
    for state in states():
        for positive in (False, True):
            learn = condition.py_threshold(state, positive)
            unlearn = condition.py_ceiling(state, positive)
            if condition.unlearns:
                require(
                    unlearn > learn,
                    f"an unlearning threshold of {unlearn} {at_state(state)}",
                    f"more than the learning threshold, {learn}",
                )
            else:
                require(
                    unlearn == math.inf,
                    f"an unlearning threshold of {unlearn} {at_state(state)}",
                    "inf, since `unlearns` is False",
                )


def _misclassified(count, walk):
    """Return whether the sample is certainly, and perhaps, misclassified after `count` updates."""
    product, threshold, size = walk[count]
    slack = SLACK * (size + abs(threshold)) if math.isfinite(threshold) else 0.0
    return product <= threshold - slack, product <= threshold + slack


@check
def check_repetitions(condition):
    """The number of updates computed at once equals the number of single updates."""
    require_repetitions(condition, shrink_of(condition))


def require_repetitions(condition, shrink):
    """Raise Violation unless repetitions equal single updates, for products of any sign."""
    rules = Rules(condition, Additive(), shrink)
    for state in states():
        # Rounding of t |y|^2 must leave the products their digits.
        if state.get("t", 0) > 1e4:
            continue
        A0 = state.get("sqnorm", 0.0)
        for N, cosine, positive in itertools.product(
            (1.0, 5.0, 16.0), (-1, -0.5, 0, 0.5), (False, True)
        ):
            p, A, t = cosine * math.sqrt(A0 * N), A0, state.get("t", 0.0)
            size = abs(p) + N
            walk = []
            where = f"{at_state(state)} with a.y = {p:g}, |y|**2 = {N:g}"
            for _ in range(MOST + 1):
                now = {**state, "sqnorm": A, "t": t, "dual_sum": t}
                walk.append((p, condition.py_threshold(now, positive), size))
                if len(walk) > 1 and not _misclassified(len(walk) - 1, walk)[1]:
                    break
                s = shrink.py_factor({"t": t}) if t else 1.0
                p, A, t = s * p + N, s * s * A + 2 * s * p + N, t + 1
                size = max(size, abs(p))
            if not _misclassified(0, walk)[0]:
                continue
            got = rules.py_repetitions(walk[0][0], N, state, most=MOST, positive=positive)
            require(1 <= got <= MOST and got == math.floor(got), f"{got} repetitions {where}", "a count")
            ends = got < len(walk) and (not _misclassified(int(got), walk)[0] or got == MOST)
            begins = got <= len(walk) and (got == 1 or _misclassified(int(got) - 1, walk)[1])
            first = next((n for n in range(1, len(walk)) if not _misclassified(n, walk)[0]), MOST)
            require(
                ends and begins,
                f"{got:g} repetitions of an update {where}",
                f"{first}, as by single updates" + (" (the most allowed)" if first == MOST else ""),
            )
