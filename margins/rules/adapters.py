"""Rules made from functions: C functions, at native speed, or Python functions, for trying ideas."""

from collections.abc import Callable
from typing import Any, Literal, overload

# Compiled modules look up these classes here; pickles of decorated functions look up `_named`.
from margins.rules.c_functions import Native, NativeCondition, NativeShrink, NativeUpdate  # noqa: F401
from margins.rules.functions import needs_of
from margins.rules.python_functions import (  # noqa: F401
    Function,
    PythonCondition,
    PythonShrink,
    PythonUpdate,
    _named,
)

__all__ = ["Native", "Python", "condition", "shrink", "update"]

_Function = Callable[..., float]

KINDS = {"condition": PythonCondition, "shrink": PythonShrink, "update": PythonUpdate}


@overload
def Python(
    function: _Function, kind: Literal["condition"] = "condition", compile: None = None
) -> PythonCondition: ...
@overload
def Python(function: _Function, kind: Literal["shrink"], compile: None = None) -> PythonShrink: ...
@overload
def Python(function: _Function, kind: Literal["update"], compile: None = None) -> PythonUpdate: ...
def Python(function: _Function, kind: str = "condition", compile: None = None) -> Any:
    """Make a rule from a Python function, for trying ideas: a condition, an update or a shrink.

    The names of its parameters say which numbers it is called with; each is a float. Every update needs
    the GIL for the call; `Native` takes compiled functions. The decorators `condition`, `update` and
    `shrink` do the same, and `Rules` wraps a plain function that is passed as a rule. `compile` must be
    None.
    """
    if compile is not None:
        raise TypeError(
            f"compile must be None. Got {compile!r}. Pass what numba.cfunc compiles to rules.Native, "
            "by scipy.LowLevelCallable(function.ctypes)."
        )
    needs_of(function, kind)
    return KINDS[kind](function)


@overload
def condition(function: _Function, *, compile: None = None) -> PythonCondition: ...
@overload
def condition(
    function: None = None, *, compile: None = None
) -> Callable[[_Function], PythonCondition]: ...
def condition(function: _Function | None = None, *, compile: None = None) -> Any:
    """Turn a Python function into a condition; a decorator, see `Python`."""
    return _decorated(function, "condition", compile)


@overload
def update(function: _Function, *, compile: None = None) -> PythonUpdate: ...
@overload
def update(function: None = None, *, compile: None = None) -> Callable[[_Function], PythonUpdate]: ...
def update(function: _Function | None = None, *, compile: None = None) -> Any:
    """Turn a Python function into an update; a decorator, see `Python`."""
    return _decorated(function, "update", compile)


@overload
def shrink(function: _Function, *, compile: None = None) -> PythonShrink: ...
@overload
def shrink(function: None = None, *, compile: None = None) -> Callable[[_Function], PythonShrink]: ...
def shrink(function: _Function | None = None, *, compile: None = None) -> Any:
    """Turn a Python function into a shrink; a decorator, see `Python`."""
    return _decorated(function, "shrink", compile)


def _decorated(function: _Function | None, kind: Any, compile: None) -> Any:
    if function is None:
        return lambda function: Python(function, kind, compile)
    return Python(function, kind, compile)
