"""Rules that are functions: any C function at native speed, or Python's for trying ideas."""

# Compiled modules look up the classes here, and pickles of decorated functions `_named`.
from margins.rules.c_functions import Native, NativeCondition, NativeShrink, NativeUpdate  # noqa: F401
from margins.rules.python_functions import (  # noqa: F401
    Function,
    Python,
    PythonCondition,
    PythonShrink,
    PythonUpdate,
    _named,
    condition,
    shrink,
    update,
)

__all__ = ["Native", "Python", "condition", "shrink", "update"]
