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
_Compile = Literal["numba"] | None

KINDS = {"condition": PythonCondition, "shrink": PythonShrink, "update": PythonUpdate}


@overload
def Python(
    function: _Function, kind: Literal["condition"] = "condition", compile: _Compile = None
) -> PythonCondition: ...
@overload
def Python(function: _Function, kind: Literal["shrink"], compile: _Compile = None) -> PythonShrink: ...
@overload
def Python(function: _Function, kind: Literal["update"], compile: _Compile = None) -> PythonUpdate: ...
def Python(function: _Function, kind: str = "condition", compile: _Compile = None) -> Any:
    """Make a rule from a Python function, for trying ideas: a condition, an update or a shrink.

    The names of its parameters say which numbers it is called with; each is a float. Every update needs
    the GIL for the call, unless the function is compiled. The decorators `condition`, `update` and
    `shrink` do the same, and `Rules` wraps a plain function that is passed as a rule.
    """
    needs_of(function, kind)
    if compile not in (None, "numba"):
        raise ValueError(f"compile of Python must be 'numba' or None. Got {compile!r}.")
    return KINDS[kind](function, compile)


@overload
def condition(function: _Function, *, compile: _Compile = None) -> PythonCondition: ...
@overload
def condition(
    function: None = None, *, compile: _Compile = None
) -> Callable[[_Function], PythonCondition]: ...
def condition(function: _Function | None = None, *, compile: _Compile = None) -> Any:
    """Turn a Python function into a condition; a decorator, see `Python`."""
    return _decorated(function, "condition", compile)


@overload
def update(function: _Function, *, compile: _Compile = None) -> PythonUpdate: ...
@overload
def update(
    function: None = None, *, compile: _Compile = None
) -> Callable[[_Function], PythonUpdate]: ...
def update(function: _Function | None = None, *, compile: _Compile = None) -> Any:
    """Turn a Python function into an update; a decorator, see `Python`."""
    return _decorated(function, "update", compile)


@overload
def shrink(function: _Function, *, compile: _Compile = None) -> PythonShrink: ...
@overload
def shrink(
    function: None = None, *, compile: _Compile = None
) -> Callable[[_Function], PythonShrink]: ...
def shrink(function: _Function | None = None, *, compile: _Compile = None) -> Any:
    """Turn a Python function into a shrink; a decorator, see `Python`."""
    return _decorated(function, "shrink", compile)


def _decorated(function: _Function | None, kind: Any, compile: _Compile) -> Any:
    if function is None:  # @condition(compile=...)
        return lambda function: Python(function, kind, compile)
    return Python(function, kind, compile)
