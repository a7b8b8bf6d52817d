"""Names of estimators in messages."""

from typing import Any

from margins.registry import name_of


def display_name(estimator: object, method: str | None = None) -> str:
    """The name of an estimator in errors and warnings: its registered name and its class.

    Parameters
    ----------
    estimator : estimator instance
    method : str, optional
        The method that the message is about.

    Examples
    --------
    >>> import margins
    >>> display_name(margins.get("pdm")(), "fit")
    'pdm (DynamicMarginPerceptron.fit)'
    """
    kind = type(estimator)
    name, text = name_of(kind), kind.__name__ + (f".{method}" if method else "")
    return f"{name} ({text})" if name else text


class Caller:
    """A method of an estimator, which a message names: looked up only then, for small fits are faster.

    Parameters
    ----------
    estimator : instance of a subclass of Declared
    method : str
    """

    def __init__(self, estimator: Any, method: str) -> None:
        self._estimator, self._method = estimator, method

    def __str__(self) -> str:
        return str(self._estimator._display_name(self._method))
