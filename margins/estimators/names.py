"""Names of estimators in messages."""

from typing import Any, NamedTuple

from margins.registry import name_of, name_of_path


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


def display_name_of_path(path: str) -> str:
    """The name of a class, by its module and name, as `display_name` has it: str.

    Examples
    --------
    >>> display_name_of_path("margins.algorithms.mpu.UnlearningMarginPerceptron")
    'mpu (UnlearningMarginPerceptron)'
    >>> display_name_of_path("sklearn.svm._classes.LinearSVC")
    'LinearSVC'
    """
    name, kind = name_of_path(path), path.rpartition(".")[2]
    return f"{name} ({kind})" if name else kind


class Caller(NamedTuple):
    """A method of an estimator, which a message names: looked up only if there is a message.

    Attributes
    ----------
    estimator : instance of a subclass of Declared
    method : str or None
        None: the estimator itself.
    """

    estimator: Any
    method: str | None = None

    def __str__(self) -> str:
        return str(self.estimator._display_name(self.method))
