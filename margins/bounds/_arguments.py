"""Shared by all bounds: argument ranges as data, and the ratio (R**2 + 2 b) / gamma**2."""

import functools
import inspect
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeVar

Bound = TypeVar("Bound", bound=Callable[..., Any])


def requires(**ranges: str) -> Callable[[Bound], Bound]:
    """Check arguments at each call against ranges such as "[0, inf)", "(0, R]" or "(R**2, inf]".

    The annotation of an argument decides whether it is a float or an int. A range may name arguments
    that are checked before it. By the attribute `ranges`, one test checks all ranges and docstrings.
    """

    def decorate(bound: Bound) -> Bound:
        signature = inspect.signature(bound)

        @functools.wraps(bound)
        def checked(*args: Any, **kwargs: Any) -> Any:
            arguments = signature.bind(*args, **kwargs).arguments
            for name, interval in ranges.items():
                kind = signature.parameters[name].annotation
                if not isinstance(arguments[name], Integral if kind is int else Real):
                    raise TypeError(message(bound, name, f"of type {kind.__name__}", arguments[name]))
                # Python's own numbers, because NumPy's give a warning where a bound is infinite.
                arguments[name] = kind(arguments[name])
                if not _inside(arguments[name], interval, arguments):
                    raise ValueError(message(bound, name, f"in {interval}", arguments[name]))
            return bound(**arguments)

        checked.ranges = ranges  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return decorate


def _inside(value: float, interval: str, arguments: dict[str, Any]) -> bool:
    def end(text: str) -> float:
        if text == "R**2":
            return float(arguments["R"]) * float(arguments["R"])
        return float(arguments.get(text, text))

    low, high = map(end, interval[1:-1].split(", "))
    return (low <= value if interval[0] == "[" else low < value) and (
        value <= high if interval[-1] == "]" else value < high
    )


def message(bound: Callable[..., Any], name: str, allowed: str, value: object) -> str:
    return f"{name} of {bound.__name__} must be {allowed}. Got {value!r}."


def squared_ratio(R: float, gamma: float, b: float) -> float:
    """Return (R**2 + 2 b) / gamma**2, which may be finite where gamma**2 underflows."""
    r = R / gamma
    return r * r + 2 * b / gamma / gamma
