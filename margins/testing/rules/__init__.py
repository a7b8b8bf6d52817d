"""Checks of rules: conditions, updates, shrinks and averagings."""

from collections.abc import Callable, Mapping
from typing import Any

from margins._update import WeightVector
from margins.rules import Averaging, Condition, Shrink, Update
from margins.testing.rules.any_rule import check_binary_interface, check_repr, check_runs
from margins.testing.rules.averagings import check_averaging_is_pickled, check_averaging_looks_only
from margins.testing.rules.conditions import (
    check_ceilings,
    check_repetitions,
    check_thresholds,
    check_thresholds_are_pure,
)
from margins.testing.rules.shrinks import check_factors, check_repeat, check_repetitions_of_shrink
from margins.testing.rules.updates import (
    check_counts,
    check_dual_variables_keep_their_bounds,
    check_sums_are_kept,
    check_updates_are_finite,
    check_updates_move,
)

CHECKS = {
    Condition: (
        check_repr,
        check_binary_interface,
        check_thresholds,
        check_thresholds_are_pure,
        check_ceilings,
        check_repetitions,
        check_runs,
    ),
    Shrink: (
        check_repr,
        check_binary_interface,
        check_factors,
        check_repeat,
        check_repetitions_of_shrink,
        check_runs,
    ),
    Update: (
        check_repr,
        check_binary_interface,
        check_updates_are_finite,
        check_updates_move,
        check_dual_variables_keep_their_bounds,
        check_sums_are_kept,
        check_counts,
        check_runs,
    ),
}
AVERAGING_CHECKS = (check_averaging_looks_only, check_averaging_is_pickled)


def check_rule(
    rule: Condition | Update | Shrink | Callable[[WeightVector], Averaging],
    expected_failures: Mapping[str, str] | None = None,
) -> None:
    """Raise AssertionError unless a rule meets the requirements of the training loop for its kind."""
    for check, arguments in rule_checks(rule, expected_failures):
        check(*arguments)


def rule_checks(
    rule: Condition | Update | Shrink | Callable[[WeightVector], Averaging],
    expected_failures: Mapping[str, str] | None = None,
) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """Return the checks of `check_rule`, to run them separately."""
    expected = expected_failures or {}
    for kind, checks in CHECKS.items():
        if isinstance(rule, kind):
            return [(check, (rule,)) for check in checks if check.__name__ not in expected]
    if isinstance(rule, Averaging) or not callable(rule):
        raise TypeError(
            "rule must be a Condition, an Update, a Shrink, or a callable that returns an Averaging for "
            f"the weight vector before any update. Got {rule!r}."
        )
    return [(check, (rule,)) for check in AVERAGING_CHECKS if check.__name__ not in expected]
