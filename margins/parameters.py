"""Constructor parameters as data: allowed values and descriptions.

The constructor, the docstring, the check before a fit and its error message come from one declaration:
``eps: float = parameter(Interval(0, 1, "right"), "Accuracy ...", default=0.01)``.
"""

import dataclasses
import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, Protocol, TypeVar

import numpy as np

T = TypeVar("T")


class Constraint(Protocol):
    """The allowed values of a parameter: a test of values and, through ``str``, their description.

    `Interval`, `OneOf`, `InstanceOf` and `AnyOf` are constraints; any class with this method is one.
    """

    def contains(self, value: Any, /) -> bool:
        """Return True if the value is allowed."""


@dataclasses.dataclass(frozen=True)
class Interval:
    """Numbers between two ends; `closed` names the ends that are included: both, left, right, neither.

    >>> str(Interval(0, 1, "right")), Interval(0, 1, "right").contains(0)
    ('in (0, 1]', False)
    """

    low: float
    high: float
    closed: str = "both"
    integer: bool = False

    def contains(self, value: Any) -> bool:
        # Most values have this type, and checks of abstract base classes are slower.
        if type(value) is not (int if self.integer else float) and (
            isinstance(value, bool) or not isinstance(value, Integral if self.integer else Real)
        ):
            return False
        if not self.integer:
            try:
                value = float(value)  # a comparison with a float32 would round the ends
            except OverflowError:  # an int larger than any double
                return False
        if self.low < value < self.high:
            return True
        at_low = value == self.low and self.closed in ("both", "left")
        return bool(at_low or (value == self.high and self.closed in ("both", "right")))

    def __str__(self) -> str:
        left = "[" if self.closed in ("both", "left") else "("
        right = "]" if self.closed in ("both", "right") else ")"
        kind = "an integer in " if self.integer else "in "
        return f"{kind}{left}{self.low:g}, {self.high:g}{right}"


@dataclasses.dataclass(frozen=True)
class OneOf:
    """One of several values.

    >>> str(OneOf("hinge", "squared_hinge"))
    "one of 'hinge', 'squared_hinge'"
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)

    def contains(self, value: Any) -> bool:
        # The type counts too: 1 is not True, but a NumPy string is a string.
        return any(isinstance(value, type(allowed)) and value == allowed for allowed in self.values)

    def __str__(self) -> str:
        if len(self.values) == 1:
            return repr(self.values[0])
        return "one of " + ", ".join(repr(value) for value in self.values)


@dataclasses.dataclass(frozen=True)
class InstanceOf:
    """An instance of a type or of one of several types, called `name` in errors and docstrings.

    >>> str(InstanceOf((bool,), "True or False")), InstanceOf((bool,), "True or False").contains(1)
    ('True or False', False)
    """

    type: type[Any] | tuple[type[Any], ...]
    name: str

    def contains(self, value: Any) -> bool:
        return isinstance(value, self.type)

    def __str__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True)
class SubclassOf:
    """A subclass of a type, or the type itself, called `name` in errors and docstrings.

    >>> SubclassOf(Exception).contains(ValueError)
    True
    """

    base: type
    name: str = ""

    def contains(self, value: object) -> bool:
        return isinstance(value, type) and issubclass(value, self.base)

    def __str__(self) -> str:
        return self.name or f"a subclass of {self.base.__module__}.{self.base.__name__}"


@dataclasses.dataclass(frozen=True)
class AnyOf:
    """The values that at least one of several constraints allows.

    >>> AnyOf(OneOf(None), Interval(0, 1)).contains(None)
    True
    """

    constraints: tuple[Constraint, ...]

    def __init__(self, *constraints: Constraint) -> None:
        object.__setattr__(self, "constraints", constraints)

    def contains(self, value: Any) -> bool:
        return any(constraint.contains(value) for constraint in self.constraints)

    def __str__(self) -> str:
        return " or ".join(str(constraint) for constraint in self.constraints)


@dataclasses.dataclass(frozen=True)
class MappingTo:
    """A mapping whose values another constraint allows.

    >>> str(MappingTo(Interval(0, 1))), MappingTo(Interval(0, 1)).contains({"a": 2})
    ('a mapping to numbers in [0, 1]', False)
    """

    values: Interval

    def contains(self, value: Any) -> bool:
        return isinstance(value, Mapping) and all(map(self.values.contains, value.values()))

    def __str__(self) -> str:
        return f"a mapping to numbers {self.values}"


def optional(constraint: Constraint) -> AnyOf:
    """Return a constraint that also allows None."""
    return AnyOf(OneOf(None), constraint)


POSITIVE = Interval(0, math.inf, "neither")
NON_NEGATIVE = Interval(0, math.inf, "left")
COUNT = Interval(1, math.inf, "left", integer=True)
BOOLEAN = InstanceOf((bool, np.bool_), "True or False")
CALLABLE = InstanceOf(Callable, "a callable")  # type: ignore[arg-type]  # a special form to mypy


def parameter(allowed: Constraint, description: str, *, default: T) -> T:
    """Declare a constructor parameter of an algorithm: allowed values, description and default.

    It is a field specifier (PEP 681): type checkers derive the constructor's signature from the
    annotation and from `default`.
    """
    metadata = {"allowed": allowed, "description": description}
    return dataclasses.field(default=default, metadata=metadata)


class WrongParameter(ValueError):
    """The error for a parameter that is not allowed, whatever the samples are."""


class Named(Protocol):
    """An estimator with a name for messages."""

    def _display_name(self) -> str: ...


def with_advice(init: Callable[..., None], advice: Mapping[str, str]) -> Callable[..., None]:
    """Return a constructor that raises a TypeError with advice for parameters that it does not have."""

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in advice.keys() & kwargs.keys():
            raise TypeError(f"{type(self).__name__} has no parameter {name!r}: {advice[name]}.")
        init(self, *args, **kwargs)

    return __init__


def check_parameters(estimator: Named) -> None:
    """Raise WrongParameter for the first parameter of `estimator` that is not allowed."""
    values = vars(estimator)
    cls: type[Any] = type(estimator)
    # mypy considers a class unhashable.
    for name, default, allowed in _declarations(cls):  # type: ignore[arg-type]
        if name not in values:
            raise TypeError(
                f"{cls.__name__} has an __init__ that does not set the parameter {name!r}. Leave it "
                "out: the parameters that a class declares by `parameter` make its constructor."
            )
        # Defaults are allowed; skipping their check shortens small fits.
        if values[name] is not default and not allowed.contains(values[name]):
            # Look up the name only for an error, because that takes longer than small fits.
            check(name, estimator._display_name(), values[name], allowed)


def check(name: str, owner: str, value: Any, allowed: Constraint) -> None:
    """Raise WrongParameter unless `allowed` contains the value; it has its name and its owner."""
    if not allowed.contains(value):
        raise WrongParameter(f"{name} of {owner} must be {allowed}. Got {value!r}.")


@functools.cache
def _declarations(cls: type[Any]) -> tuple[tuple[str, Any, Constraint], ...]:
    """Return (name, default, constraint) of every declared parameter of a class."""
    return tuple((field.name, field.default, field.metadata["allowed"]) for field in _fields(cls))


def defaults_of(cls: type[Any]) -> list[tuple[str, Any]]:
    """Return (name, default) of every declared parameter of a class."""
    return [(name, default) for name, default, _ in _declarations(cls)]  # type: ignore[arg-type]


def _fields(cls: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of a class; raise TypeError if one is not declared by `parameter`."""
    fields = dataclasses.fields(cls)
    for field in fields:
        if "allowed" not in field.metadata:
            raise TypeError(
                f"{field.name} of {cls.__name__} must be declared as {field.name}: TYPE = "
                "parameter(ALLOWED, DESCRIPTION, default=...). Got an annotation without `parameter`. "
                "If it is not a parameter, annotate it as ClassVar."
            )
    return fields


def describe_parameters(cls: type[Any]) -> str:
    """Return the numpydoc section "Parameters" of a class, made from its declarations."""
    lines = ["Parameters", "----------"]
    for field in _fields(cls):
        lines.append(f"{field.name} : {field.metadata['allowed']}, default={field.default!r}")
        description = inspect.cleandoc(field.metadata["description"])
        lines += [f"    {line}" for line in textwrap.wrap(description, 90, break_on_hyphens=False)]
    return "\n".join(lines)
