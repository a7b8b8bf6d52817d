"""Packages that only some functions need, and the error if one of them is not installed."""

from importlib import import_module
from typing import Any


class MissingPackage(ImportError):
    """An optional package that is not installed."""


def require(user: str, *names: str) -> Any:
    """Import optional packages, and return the first.

    Call it before any other work.
    """
    modules, missing = [], []
    for name in names:
        try:
            modules.append(import_module(name))
        except ModuleNotFoundError as error:  # the package, or one that it needs
            missing.append((error.name or name).partition(".")[0])
            cause = error
    if missing:
        names_text, verb = " and ".join(missing), "is" if len(missing) == 1 else "are"
        raise MissingPackage(
            f"{user} needs {names_text}, which {verb} not installed: pip install {' '.join(missing)}",
            name=missing[0],
        ) from cause
    return modules[0]
