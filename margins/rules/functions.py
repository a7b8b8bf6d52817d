"""The arguments of a Python function that is a rule: its parameter names say what they are."""

import functools
import inspect
import sys
from typing import Any

STATE = ("sqnorm", "t", "n_updates", "dual_sum")

# The parameter names that each kind allows, in the order in which the numbers are stored.
NAMES = {
    "condition": (*STATE, "label"),
    "shrink": STATE,
    "update": (
        *STATE,
        "label",
        "product",
        "threshold",
        "sample_sqnorm",
        "dual",
        "upper",
        "factor",
        "index",
        "weight",
    ),
}


def needs_of(function: Any, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names in `NAMES` that a function takes by position, and those by keyword."""
    if kind not in NAMES:
        raise ValueError(f"kind of Python must be one of {', '.join(map(repr, NAMES))}. Got {kind!r}.")
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"Python must be given a function. Got {function!r}.")
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise TypeError(
            f"{name_of(function)} does not tell its parameters, so it cannot be a {kind}."
        ) from None
    allowed, positional, keyword = NAMES[kind], [], []
    keeps_rest = False  # a positional parameter keeps its default, so later ones are passed by keyword
    for parameter in parameters:
        variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if variadic or (parameter.name not in allowed and parameter.default is parameter.empty):
            raise ValueError(
                f"Parameters of {name_of(function)}, {'an' if kind == 'update' else 'a'} {kind}, must "
                f"be among {', '.join(allowed)}, or have a default. "
                f"Got {str(parameter).partition(':')[0]}."
            )
        if parameter.name not in allowed:
            keeps_rest = True
        elif parameter.kind is parameter.KEYWORD_ONLY or (
            keeps_rest and parameter.kind is not parameter.POSITIONAL_ONLY
        ):
            keyword.append(parameter.name)
        elif keeps_rest:
            raise ValueError(
                f"Parameter {parameter.name} of {name_of(function)} must come before the "
                "parameters that keep their defaults, or be passed by keyword. Got a positional one."
            )
        else:
            positional.append(parameter.name)
    return tuple(positional), tuple(keyword)


def name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def path_of(rule: object, function: Any) -> tuple[str, str] | None:
    """Return (module, qualified name) of a decorated function's rule; None if it is not there."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    attribute: Any = sys.modules.get(module) if module is not None else None
    if attribute is None or module is None or name is None:
        return None
    for part in name.split("."):
        attribute = getattr(attribute, part, None)
    return (module, name) if attribute is rule else None
