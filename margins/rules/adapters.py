"""Rules that are functions: any C function at native speed, or Python's for trying ideas."""

from margins.rules.c_functions import Native
from margins.rules.python_functions import (
    Python,
    _named,  # noqa: F401 - pickles name it here
    condition,
    shrink,
    update,
)

__all__ = ["Native", "Python", "condition", "shrink", "update"]
