"""What a Python function is called with as a rule: the names of its parameters say it."""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

STATE = ("sqnorm", "t", "n_updates", "dual_sum")

# The names that parameters of each kind may have, in the order in which the numbers are stored.
NAMES = {
    "condition": (*STATE, "label"),
    "shrink": STATE,
    "update": (
        *STATE,
        "label",
        "product",
        "threshold",
        "sample_sqnorm",
        "dual",
        "upper",
        "factor",
        "index",
        "weight",
    ),
}

# {function: {kind: numba's cfunc}}: compiling takes longer than many fits.
_compiled: WeakKeyDictionary[Callable[..., float], dict[str, Any]] = WeakKeyDictionary()


class Needs(NamedTuple):
    """What a function of a kind is called with."""

    # positional, keyword: names out of `NAMES`: of the parameters that are passed by position, and by
    # keyword
    positional: tuple[str, ...]
    keyword: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order of the call."""
        return self.positional + self.keyword


def needs_of(function: Any, kind: str) -> Needs:
    """What a function is to be called with, by the names of its parameters.

    Parameters
    ----------
    function : callable
        Parameters with a default may have any name, and keep the default if it is none of `NAMES`.
    kind : "condition", "update" or "shrink"

    Returns
    -------
    Needs

    Raises
    ------
    TypeError
        If it is no callable, or one whose parameters cannot be read.
    ValueError
        If a parameter has a name that is not known for this kind; the message lists those that are.
    """
    if kind not in NAMES:
        raise ValueError(f"kind of Python must be one of {', '.join(map(repr, NAMES))}. Got {kind!r}.")
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"Python must be given a function. Got {function!r}.")
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise TypeError(f"{name_of(function)} names no parameters, so it cannot be a {kind}.") from None
    known, positional, keyword = NAMES[kind], [], []
    keeps_rest = False  # a parameter by position that keeps its default: those behind it go by keyword
    for one in parameters:
        variadic = one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        if variadic or (one.name not in known and one.default is one.empty):
            raise ValueError(
                f"Parameters of {name_of(function)}, {'an' if kind == 'update' else 'a'} {kind}, must "
                f"be among {', '.join(known)}, or have a default. Got {str(one).partition(':')[0]}."
            )
        if one.name not in known:
            keeps_rest = True
        elif one.kind is one.KEYWORD_ONLY or (keeps_rest and one.kind is not one.POSITIONAL_ONLY):
            keyword.append(one.name)
        elif keeps_rest:
            raise ValueError(
                f"Parameter {one.name} of {name_of(function)} must come before those that keep their "
                "defaults, or be one that is passed by keyword. Got one that is passed by position."
            )
        else:
            positional.append(one.name)
    return Needs(tuple(positional), tuple(keyword))


def name_of(function: Any) -> str:
    """The name of a function: str."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def compiled(function: Any, kind: str, needs: Needs) -> Any:
    """A C function of an array of doubles, in the order of `NAMES`, by numba.

    Parameters
    ----------
    function : function
        In the subset of Python that numba compiles without the interpreter.
    kind : "condition", "update" or "shrink"
    needs : Needs

    Returns
    -------
    numba.core.ccallback.CFunc

    Raises
    ------
    ImportError
        If numba is not installed.
    ValueError
        If numba cannot compile the function.
    """
    try:
        numba = importlib.import_module("numba")
    except ImportError as error:
        raise ImportError(
            "compile='numba' of rules.Python needs numba, the extra 'numba', which is not installed."
        ) from error
    by_kind = _compiled.setdefault(function, {})
    if kind not in by_kind:
        by_kind[kind] = _compile(numba, function, kind, needs)
    return by_kind[kind]


def _compile(numba: Any, function: Any, kind: str, needs: Needs) -> Any:
    bound: Any = function
    constants: dict[str, Any] = {}
    if isinstance(function, functools.partial):
        bound, constants = function.func, function.keywords
        if function.args:
            raise ValueError(
                f"A partial of {name_of(function)} must bind its constants by keyword to be compiled. "
                f"Got {function.args!r} by position."
            )
    if not inspect.isfunction(getattr(bound, "py_func", bound)):
        raise ValueError(
            f"compile='numba' must be given a Python function. Got {name_of(function)!r}, "
            f"a {type(bound).__name__}."
        )
    # As in C, a division by 0 gives inf or NaN, at which the run ends; an exception would be lost.
    jitted = bound if hasattr(bound, "py_func") else numba.njit(error_model="numpy")(bound)
    where = NAMES[kind].index
    arguments = [f"values[{where(name)}]" for name in needs.positional]
    arguments += [f"{name}=values[{where(name)}]" for name in needs.keyword]
    arguments += [f"{name}={name}_" for name in constants if name not in needs.names]
    scope = {"function": jitted, **{f"{name}_": value for name, value in constants.items()}}
    # The arguments are names that Python has parsed.
    call = eval(f"lambda values: function({', '.join(arguments)})", scope)
    signature = numba.types.double(numba.types.CPointer(numba.types.double))
    try:
        return numba.cfunc(signature)(call)
    except numba.core.errors.NumbaError as error:
        raise ValueError(f"numba cannot compile {name_of(function)}: {error}") from error


def path_of(rule: object, function: Any) -> tuple[str, str] | None:
    """(module, qualified name) of a decorated function's rule; None if it is not found there."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    found: Any = sys.modules.get(module) if module is not None else None
    if found is None or module is None or name is None:
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is rule else None
