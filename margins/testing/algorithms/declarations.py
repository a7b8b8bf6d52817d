"""Checks of the declarations of a class: name, parameters, docstring and errors about parameters."""

import dataclasses
import inspect
import math
import re

import numpy as np

from margins.registry import get
from margins.testing.algorithms.fits import check, make, parameters_of
from margins.testing.reports import Violation, require

NAME = re.compile(r"([\w.-]+:)?[a-z][a-z0-9]*(-[a-z0-9]+)*")
IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, type, np.generic)


@check
def check_name(algorithm, name):
    """The name is short and in lower case, and `margins.get` always returns the class."""
    require(NAME.fullmatch(name), f"the name {name!r}", "words in lower case, joined by '-'")
    again = get(name)
    require(again is algorithm, f"another class, {again!r}, from a second call of get", "the same class")


@check
def check_parameters_are_declared(algorithm, params):
    """Every parameter of the constructor is a dataclass field with a constraint and a description."""
    require(dataclasses.is_dataclass(algorithm), "no dataclass", "parameters declared as fields")
    fields = {field.name: field for field in dataclasses.fields(algorithm)}
    constructor = parameters_of(algorithm)
    require(
        constructor.keys() == fields.keys(),
        f"constructor parameters {sorted(constructor)}",
        f"those declared, {sorted(fields)}",
    )
    for name, field in fields.items():
        require(
            constructor[name] is not inspect.Parameter.empty,
            f"no default of {name}",
            "a default of every parameter",
        )
        factory = field.default_factory is not dataclasses.MISSING
        require(
            not factory and (isinstance(field.default, IMMUTABLE) or callable(field.default)),
            f"a mutable default of {name}, {'default_factory' if factory else repr(field.default)}",
            "an immutable default: instances would share it, or have different defaults",
        )
        allowed = field.metadata.get("allowed")
        require(
            callable(getattr(allowed, "contains", None)) and type(allowed).__str__ is not object.__str__,
            f"{allowed!r} as the constraint of {name}",
            "a constraint of margins.parameters in metadata['allowed']",
        )
        description = field.metadata.get("description")
        require(
            isinstance(description, str) and description.strip(),
            f"{description!r} as the description of {name}",
            "a sentence in metadata['description']",
        )


@check
def check_defaults_are_allowed(algorithm, params):
    """Every default is within its range."""
    for field in dataclasses.fields(algorithm):
        allowed = field.metadata["allowed"]
        require(
            allowed.contains(field.default), f"the default {field.name}={field.default!r}", f"{allowed}"
        )


@check
def check_docstring(algorithm, params):
    """The class has a docstring, which names its source and every parameter."""
    text = inspect.cleandoc(vars(algorithm).get("__doc__") or "")
    require(text, "no docstring", "one")
    require("**Source**" in text, "a docstring without **Source**", "the paper and its equation")
    for name in parameters_of(algorithm):
        require(f"\n{name} : " in text, f"no {name} in the docstring", "every parameter")


@check
def check_constructor_keeps_what_it_is_given(algorithm, params):
    """The constructor takes only keywords, and does not validate, convert or copy values."""
    objects = {name: object() for name in parameters_of(algorithm)}
    for method, classifier in (
        ("constructor", algorithm(**objects)),
        ("set_params", algorithm().set_params(**objects)),
    ):
        for name, value in classifier.get_params(deep=False).items():
            require(value is objects[name], f"{name}={value!r} after {method}", "the object given")
    try:
        algorithm(1.0)
    except TypeError:
        return
    raise Violation("a positional parameter accepted", "keywords only")


class _Untouchable:
    """Data that raise an error when read."""

    def __getattr__(self, name):
        raise Violation(f"an access to the data ({name})", "an error about the parameter before")


def _wrong_values(allowed):
    """Return values that a constraint does not allow, starting with values next to its bounds."""
    candidates = []
    constraints = [allowed]
    while constraints:
        constraint = constraints.pop()
        constraints += getattr(constraint, "constraints", ())
        if hasattr(constraint, "low"):
            low, high = constraint.low, constraint.high
            candidates += [low, high, np.nextafter(low, -math.inf), np.nextafter(high, math.inf)]
            candidates += [float(low) - 1, float(high) + 1]
    candidates += [math.nan, -1, "no such value", [0.5], object()]
    return [value for value in candidates if not allowed.contains(value)][:4]


@check
def check_errors_name_class_and_parameter(algorithm, params):
    """A value that is not allowed raises a ValueError that names it, before any work."""
    methods = ["fit"] + ["partial_fit"] * hasattr(make(algorithm, params), "partial_fit")
    for field in dataclasses.fields(algorithm):
        for value in _wrong_values(field.metadata["allowed"]):
            for method in methods:
                classifier = algorithm(**{**params, field.name: value})
                attempt = f"{method} with {field.name}={value!r}"
                call = getattr(classifier, method, None)
                if call is None:
                    continue  # not available with such a parameter
                try:
                    call(_Untouchable(), _Untouchable())
                except (ValueError, TypeError) as error:
                    message = str(error)
                    require(
                        isinstance(error, ValueError)
                        and field.name in message
                        and algorithm.__name__ in message,
                        f"{type(error).__name__} {message!r} from {attempt}",
                        f"a ValueError that names {field.name} and {algorithm.__name__}",
                    )
                except Violation as violation:
                    raise Violation(f"{attempt}: {violation}", "the error about the parameter") from None
                else:
                    raise Violation(f"no error from {attempt}", "a ValueError")
