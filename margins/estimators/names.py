"""Names of estimators in messages."""

from typing import Any, NamedTuple

from margins.registry import name_of, name_of_path


def shown_name(name: str | None) -> str | None:
    """Return a registered name for messages; None for `auto`, whose class is the one that users call."""
    return None if name == "auto" else name


def display_name(estimator: object, method: str | None = None) -> str:
    """Return the name of an estimator in errors and warnings: its registered name and its class."""
    kind = type(estimator)
    name, text = shown_name(name_of(kind)), kind.__name__ + (f".{method}" if method else "")
    return f"{name} ({text})" if name else text


def display_name_of_path(path: str) -> str:
    """Return the same name of a class as `display_name`, from its module and name (str)."""
    name, kind = shown_name(name_of_path(path)), path.rpartition(".")[2]
    return f"{name} ({kind})" if name else kind


class MessageName(NamedTuple):
    """Method of an estimator in a message; its name is looked up only if the message is shown."""

    estimator: Any  # instance of a subclass of Declared
    method: str | None = None  # None: the message names only the estimator

    def __str__(self) -> str:
        return str(self.estimator._display_name(self.method))
