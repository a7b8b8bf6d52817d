"""Rules made from functions: C functions, at native speed, or Python functions, for trying ideas."""

from collections.abc import Callable
from typing import Any, Literal, overload

# Compiled modules look up these classes here; pickles of decorated functions look up `_named`.
from margins.rules.c_functions import Native, NativeCondition, NativeShrink, NativeUpdate  # noqa: F401
from margins.rules.functions import needs_of
from margins.rules.python_functions import (  # noqa: F401
    Function,
    PythonCondition,
    PythonShrink,
    PythonUpdate,
    _named,
)

__all__ = ["Native", "Python", "condition", "shrink", "update"]

_Function = Callable[..., float]
_Compile = Literal["numba"] | None

KINDS = {"condition": PythonCondition, "shrink": PythonShrink, "update": PythonUpdate}


@overload
def Python(
    function: _Function, kind: Literal["condition"] = "condition", compile: _Compile = None
) -> PythonCondition: ...
@overload
def Python(function: _Function, kind: Literal["shrink"], compile: _Compile = None) -> PythonShrink: ...
@overload
def Python(function: _Function, kind: Literal["update"], compile: _Compile = None) -> PythonUpdate: ...
def Python(function: _Function, kind: str = "condition", compile: _Compile = None) -> Any:
    """Make a rule from a Python function, for trying ideas: a condition, an update or a shrink.

    The names of its parameters say which numbers it is called with; each is a float. Every update needs
    the GIL for the call, unless the function is compiled. The decorators `condition`, `update` and
    `shrink` do the same, and `Rules` wraps a plain function that is passed as a rule.

    Parameters
    ----------
    function : callable
        A condition returns the threshold: a sample is misclassified if ``product <= threshold``. An
        update returns how much of the sample is added, within the bounds of its dual variable. A shrink
        returns the factor that multiplies the weight vector before that. All three kinds may have, in
        any order, the parameters

        - ``sqnorm``: the squared length of the weight vector, including bias and slacks;
        - ``t``: the number of updates, counting multiplicities;
        - ``n_updates``: the number of all updates, including unlearning;
        - ``dual_sum``: the sum of the dual variables. ``sqrt(sqnorm) / dual_sum`` bounds the maximum
          margin from above;

        conditions and updates also

        - ``label``: -1 or 1;

        and updates also

        - ``product``: the signed score, ``label * (w.x + b)``, including the slack;
        - ``threshold``: the value that the condition returned, to save computing it again;
        - ``sample_sqnorm``: the squared length of the sample, including bias feature and slack;
        - ``dual``, ``upper``: the sample's dual variable, and its upper bound (inf: unbounded);
        - ``factor``: the value that the shrink of the same rules returns;
        - ``index``: the number of the sample among the samples of positive weight;
        - ``weight``: the weight of the sample if weights multiply updates, otherwise 1.

        A parameter with any other name must have a default, which it keeps.
    kind : "condition", "update" or "shrink"
    compile : "numba", optional
        Compile the function with numba's ``cfunc``, so that it runs without the GIL. A division by 0
        then gives inf or NaN.

    Returns
    -------
    Condition, Update or Shrink
        A rule that can also be called like the function.

    Raises
    ------
    TypeError
        If `function` is not a function.
    ValueError
        If a parameter has a name that this kind does not have, or numba cannot compile the function.
    ImportError
        If `compile` is "numba" and numba is not installed.

    Examples
    --------
    >>> rule = Python(lambda sqnorm, t: 0.5 * sqnorm / t if t else 0.0)
    >>> rule(sqnorm=4.0, t=2.0)
    1.0
    >>> Python(lambda squared: 0.5 * squared)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: Parameters of <lambda>, a condition, must be among sqnorm, t, ... Got squared.
    """
    needs_of(function, kind)
    if compile not in (None, "numba"):
        raise ValueError(f"compile of Python must be 'numba' or None. Got {compile!r}.")
    return KINDS[kind](function, compile)


@overload
def condition(function: _Function, *, compile: _Compile = None) -> PythonCondition: ...
@overload
def condition(
    function: None = None, *, compile: _Compile = None
) -> Callable[[_Function], PythonCondition]: ...
def condition(function: _Function | None = None, *, compile: _Compile = None) -> Any:
    """Turn a Python function into a condition; a decorator, see `Python`.

    Parameters
    ----------
    function : callable
        Returns the threshold. Parameters: ``sqnorm``, ``t``, ``n_updates``, ``dual_sum``, ``label``.
    compile : "numba", optional

    Returns
    -------
    Condition

    Examples
    --------
    >>> @condition
    ... def half_of_the_best(sqnorm, t):
    ...     return 0.5 * sqnorm / t if t else 0.0
    >>> half_of_the_best
    Python(half_of_the_best, 'condition')
    """
    return _decorated(function, "condition", compile)


@overload
def update(function: _Function, *, compile: _Compile = None) -> PythonUpdate: ...
@overload
def update(
    function: None = None, *, compile: _Compile = None
) -> Callable[[_Function], PythonUpdate]: ...
def update(function: _Function | None = None, *, compile: _Compile = None) -> Any:
    """Turn a Python function into an update; a decorator, see `Python`.

    Parameters
    ----------
    function : callable
        Returns how much of a misclassified sample is added; finite and not 0. Parameters: as for a
        condition, and ``product``, ``threshold``, ``sample_sqnorm``, ``dual``, ``upper``, ``factor``,
        ``index``, ``weight``.
    compile : "numba", optional

    Returns
    -------
    Update

    Examples
    --------
    >>> @update
    ... def to_the_threshold(product, threshold, sample_sqnorm):
    ...     return (threshold - product) / sample_sqnorm + 1e-6
    >>> to_the_threshold(product=-1.0, threshold=1.0, sample_sqnorm=4.0)
    0.500001
    """
    return _decorated(function, "update", compile)


@overload
def shrink(function: _Function, *, compile: _Compile = None) -> PythonShrink: ...
@overload
def shrink(
    function: None = None, *, compile: _Compile = None
) -> Callable[[_Function], PythonShrink]: ...
def shrink(function: _Function | None = None, *, compile: _Compile = None) -> Any:
    """Turn a Python function into a shrink; a decorator, see `Python`.

    Parameters
    ----------
    function : callable
        Returns a factor in (0, 1]. Parameters: ``sqnorm``, ``t``, ``n_updates``, ``dual_sum``. Within an
        update with a multiplicity, only ``t`` advances.
    compile : "numba", optional

    Returns
    -------
    Shrink

    Examples
    --------
    >>> @shrink
    ... def forgetful(t):
    ...     return t / (t + 1) if t else 1.0
    >>> forgetful(3.0)
    0.75
    """
    return _decorated(function, "shrink", compile)


def _decorated(function: _Function | None, kind: Any, compile: _Compile) -> Any:
    if function is None:  # @condition(compile=...)
        return lambda function: Python(function, kind, compile)
    return Python(function, kind, compile)
