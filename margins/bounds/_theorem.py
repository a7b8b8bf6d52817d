"""Common parts of all bounds: checks of arguments, docstrings, and (R**2 + 2 b) / gamma**2."""

import functools
import inspect
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeVar

Bound = TypeVar("Bound", bound=Callable[..., Any])

LECTURE = "lecture on the perceptron and the margin perceptron"
MARGITRON = "Panagiotakopoulos & Tsampouka (2008), The Margitron"
UNLEARNING = "Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning"
DYNAMIC_MARGIN = "Panagiotakopoulos & Tsampouka (2011), The Perceptron with Dynamic Margin"
SHRINKING = (
    "Panagiotakopoulos & Tsampouka (2012), The Role of Weight Shrinking in Large Margin Perceptron"
)
SHRINKING += " Learning"
NOISE = "Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm"

# Ranges of the symbols that `margins.bounds` defines, unless a bound states another range.
RANGES = {
    "R": "(0, inf)",
    "gamma": "(0, R]",
    "b": "[0, inf)",
    "delta_b": "(R**2, inf]",
    "eps": "(0, 1]",
    "lam": "[0, 1)",
    "n": "[0, inf)",
    "C": "(0, inf)",
}


def theorem(source: str, **ranges: str) -> Callable[[Bound], Bound]:
    """State the source of a bound and the ranges of its arguments, which each call checks.

    A range such as "[0, inf)", "(0, R]" or "(R**2, inf]" may name arguments that are checked earlier:
    first the arguments with a range in `RANGES`, then `ranges` in their order. The annotation of an
    argument decides whether it is a float or an int. The docstring gets numpydoc's sections, and the
    bound gets an attribute `ranges`.
    """

    def decorate(bound: Bound) -> Bound:
        signature = inspect.signature(bound)
        usual = {name: RANGES[name] for name in signature.parameters if name not in ranges}
        checks = usual | ranges

        @functools.wraps(bound)
        def checked(*args: Any, **kwargs: Any) -> Any:
            arguments = signature.bind(*args, **kwargs).arguments
            for name, interval in checks.items():
                kind = signature.parameters[name].annotation
                if not isinstance(arguments[name], Integral if kind is int else Real):
                    raise TypeError(message(bound, name, f"of type {kind.__name__}", arguments[name]))
                # Python's numbers, because NumPy's give a warning if a bound is infinite.
                arguments[name] = kind(arguments[name])
                if not _inside(arguments[name], interval, arguments):
                    raise ValueError(message(bound, name, f"in {interval}", arguments[name]))
            return bound(**arguments)

        checked.ranges = checks  # type: ignore[attr-defined]
        text, separator, examples = inspect.cleandoc(bound.__doc__ or "").partition("\n\n>>> ")
        parameters = [
            f"{name} : {parameter.annotation.__name__} in {checks[name]}"
            for name, parameter in signature.parameters.items()
        ]
        returned = inspect.formatannotation(signature.return_annotation)
        checked.__doc__ = "\n".join(
            [text, "", "Parameters", "----------", *parameters, "", "Returns", "-------", returned]
            + ["", "Notes", "-----", "`margins.bounds` defines the symbols.", f"Source: {source}."]
            + (["", "Examples", "--------", f">>> {examples}"] if separator else [])
        )
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
    """Return (R**2 + 2 b) / gamma**2, which may be finite even if gamma**2 underflows."""
    r = R / gamma
    return r * r + 2 * b / gamma / gamma
