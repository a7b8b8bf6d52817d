"""Reports of failed checks: class, check, got, expected."""

import functools
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning


class Violation(Exception):
    """A failed check."""

    def __init__(self, got: object, expected: object) -> None:
        super().__init__(f"got {got}, expected {expected}")


def require(holds: object, got: object, expected: object) -> None:
    """Raise Violation unless a condition holds."""
    if not holds:
        raise Violation(got, expected)


def error_as_text(error: Exception) -> str:
    """Return the type and the message of an exception, or its line if it has no message."""
    if str(error):
        return f"{type(error).__name__}: {error}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {frame.line}, line {frame.lineno} of {Path(frame.filename).name}"


def check_of(name_of: Callable[[Any], str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator for checks: every exception becomes an AssertionError with class and check."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def check(subject: Any, *arguments: Any) -> None:
            where = f"{name_of(subject)} fails {function.__name__}: "
            with warnings.catch_warnings():
                # Fits are short; separate checks test whether the accuracy is proven.
                warnings.simplefilter("ignore", ConvergenceWarning)
                try:
                    function(subject, *arguments)
                except Violation as violation:
                    raise AssertionError(f"{where}{violation}.") from None
                except Exception as error:
                    raise AssertionError(
                        f"{where}got {error_as_text(error)!r}, expected no error."
                    ) from error

        return check

    return decorate
