"""Names that are going to disappear: they still work, and say what to use and until when.

A name stays for at least one minor version after the first that warns of it. Warnings are
FutureWarnings, as scikit-learn's, which are shown by default.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def deprecated(instead: str, *, since: str, until: str) -> Callable[[F], F]:
    """A decorator of functions and methods that are going to disappear.

    Parameters
    ----------
    instead : str
        What to use.
    since, until : str
        The first version that warns, and the first without the function.

    Examples
    --------
    >>> @deprecated("`new`", since="0.2.0", until="0.3.0")
    ... def old():
    ...     return 1
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     old()
    1
    >>> print(caught[0].message)
    old is deprecated since 0.2.0 and will be removed in 0.3.0: use `new`.
    """

    def decorate(function: F) -> F:
        text = _text(function.__qualname__, instead, since, until)

        @functools.wraps(function)
        def warning(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(text, FutureWarning, stacklevel=2)
            return function(*args, **kwargs)

        note = f".. deprecated:: {since}\n    Use {instead}; removed in {until}."
        warning.__doc__ = f"{function.__doc__ or ''}\n\n{note}".strip()
        return warning  # type: ignore[return-value]

    return decorate


def renamed(module: str, names: Mapping[str, str], *, since: str, until: str) -> Callable[[str], Any]:
    """The function `__getattr__` of a module, for names of it that have changed.

    Parameters
    ----------
    module : str
        Its ``__name__``.
    names : mapping of str to str
        From the old names to the present ones, of the same module.
    since, until : str
        The first version that warns, and the first without the old names.

    Returns
    -------
    callable
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        text = _text(f"{module}.{name}", f"{module}.{names[name]}", since, until)
        warnings.warn(text, FutureWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return find


def _text(name: str, instead: str, since: str, until: str) -> str:
    return f"{name} is deprecated since {since} and will be removed in {until}: use {instead}."
