"""Checks of algorithms: classifier classes with declared parameters and certificates."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from margins.registry import get
from margins.testing.algorithms.certificates import check_certificates, check_termination
from margins.testing.algorithms.data import (
    check_data_are_left_alone,
    check_layouts,
    check_partial_fit,
    check_weights,
)
from margins.testing.algorithms.declarations import (
    check_constructor_keeps_what_it_is_given,
    check_defaults_are_allowed,
    check_docstring,
    check_errors_name_class_and_parameter,
    check_name,
    check_parameters_are_declared,
)
from margins.testing.algorithms.repeatability import (
    check_clone,
    check_n_jobs,
    check_pickle,
    check_random_state,
    check_refit_forgets,
)
from margins.testing.algorithms.scikit_learn import check_scikit_learn

CHECKS = (
    check_parameters_are_declared,
    check_defaults_are_allowed,
    check_docstring,
    check_constructor_keeps_what_it_is_given,
    check_errors_name_class_and_parameter,
    check_pickle,
    check_clone,
    check_random_state,
    check_n_jobs,
    check_layouts,
    check_weights,
    check_data_are_left_alone,
    check_refit_forgets,
    check_partial_fit,
    check_certificates,
    check_termination,
    check_scikit_learn,
)


def check_algorithm(
    algorithm: str | type[Any], expected_failures: Mapping[str, str] | None = None, **params: Any
) -> None:
    """Raise AssertionError unless an algorithm passes the checks of every algorithm."""
    for check, arguments in algorithm_checks(algorithm, expected_failures, **params):
        check(*arguments)


def algorithm_checks(
    algorithm: str | type[Any], expected_failures: Mapping[str, str] | None = None, **params: Any
) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """Return the checks of `check_algorithm`, to run them separately."""
    checks: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
    if isinstance(algorithm, str):
        name, algorithm = algorithm, get(algorithm)
        checks.append((check_name, (algorithm, name)))
    if not inspect.isclass(algorithm):
        raise TypeError(f"algorithm must be a class or a registered name. Got {algorithm!r}.")
    expected = dict(expected_failures or {})
    for check in CHECKS:
        if check.__name__ not in expected:
            extra = (expected,) if check is check_scikit_learn else ()
            checks.append((check, (algorithm, params, *extra)))
    return checks
