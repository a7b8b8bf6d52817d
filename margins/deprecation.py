"""Names that are going to disappear: they still work, and say what to use and until when.

A name stays for at least one minor version after the first that warns of it. Warnings are
FutureWarnings, as scikit-learn's, which are shown by default.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def renamed(module: str, names: Mapping[str, str], *, since: str, until: str) -> Callable[[str], Any]:
    """The function `__getattr__` of a module, for names of it that have changed: callable.

    Parameters
    ----------
    module : str
        Its ``__name__``.
    names : mapping of str to str
        From the old names to the present ones, of the same module.
    since, until : str
        The first version that warns, and the first without the old names.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        text = (
            f"{module}.{name} is deprecated since {since} and will be removed in {until}: "
            f"use {module}.{names[name]}."
        )
        warnings.warn(text, FutureWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return find
