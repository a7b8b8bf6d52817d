"""Deprecated names, which still work but warn what to use instead and when they will be removed.

A name stays for at least one minor version after the first version that warns. Warnings are
FutureWarnings, as in scikit-learn, which Python shows by default.
"""

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def renamed(module: str, names: Mapping[str, str], *, since: str, until: str) -> Callable[[str], Any]:
    """Return a function `__getattr__` for a module in which names have changed, or moved to another."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new_name = names[name].rpartition(".")
        home = home or module
        text = (
            f"{module}.{name} is deprecated since {since} and will be removed in {until}: "
            f"use {home}.{new_name}."
        )
        warnings.warn(text, FutureWarning, stacklevel=2)
        return getattr(importlib.import_module(home), new_name)

    return find
