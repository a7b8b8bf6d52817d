"""Digests: a short name for data, parameters and settings, the same in every process.

The bytes of a pickle depend on which parts objects share, so values are decomposed into numbers, strings
and the bytes of arrays.
"""

import functools
import hashlib
import importlib.metadata
import sys
import types

import numpy as np
from scipy import sparse

# Members of a class that have no influence on results.
UNRELATED = ("__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__annotations__")
PRIMITIVE = (type(None), bool, int, float, complex, str, bytes)


def digest(*values):
    """A hexadecimal name for some values.

    Parameters
    ----------
    *values : object
        Numbers, strings, containers, arrays, sparse matrices, data frames, estimators, functions,
        and what pickle can decompose into such.

    Returns
    -------
    str, of 40 digits

    Raises
    ------
    TypeError
        If a value cannot be decomposed.

    Examples
    --------
    >>> digest({"tau": 0.5, "C": 1}) == digest({"C": 1, "tau": 0.5})
    True
    >>> digest(1) == digest(1.0) or digest("1") == digest(1)
    False
    """
    try:
        return _digest(values).hex()
    except RecursionError:
        raise TypeError(f"A value must not contain itself to be digested. Got {values!r}.") from None


def _digest(value):
    parts = hashlib.blake2b(digest_size=20)
    for part in _decomposed(value):
        # Lengths keep parts apart: digests have one length, and bytes are preceded by theirs.
        if isinstance(part, bytes | memoryview):
            parts.update(b"%d:" % len(part))
            parts.update(part)
        else:
            parts.update(_digest(part))
    return parts.digest()


def _decomposed(value):
    """The parts that identify a value: bytes, or values to be decomposed in turn."""
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}".encode()
    if kind in PRIMITIVE:
        yield value if kind is bytes else repr(value).encode(errors="surrogatepass")
    elif kind in (list, tuple):
        yield from value
    elif kind is dict:
        yield b"".join(sorted(_digest(item) for item in value.items()))
    elif kind in (set, frozenset):
        yield b"".join(sorted(map(_digest, value)))
    elif isinstance(value, np.ndarray):
        yield from _of_array(value)
    elif sparse.issparse(value):
        rows = value.tocsr()
        yield from (value.format, value.shape, rows.data, rows.indices, rows.indptr)
    elif hasattr(value, "columns") and hasattr(value, "dtypes"):  # a data frame
        yield from ([str(name) for name in value.columns], [str(each) for each in value.dtypes])
        yield from (np.asarray(value[name]) for name in value.columns)
    elif isinstance(value, types.FunctionType):
        yield from (value.__module__, value.__qualname__)
        version = "" if "<" in value.__qualname__ else _version_of_package(value.__module__)
        yield from [version] if version else _of_code(value)
    elif isinstance(value, types.CodeType):
        yield from (value.co_code, value.co_names, value.co_consts)
    elif isinstance(value, type):
        yield from (value.__module__, value.__qualname__, version_of(value))
    elif isinstance(value, types.ModuleType | types.BuiltinFunctionType | np.ufunc | np.dtype):
        yield str(value).encode() if isinstance(value, np.dtype) else value.__name__.encode()
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif hasattr(value, "get_params"):
        yield from (version_of(kind), value.get_params(deep=False))
    else:
        yield from _by_pickle(value)


def _of_array(array):
    yield from (array.dtype.str, array.shape)
    if array.dtype.hasobject:
        yield array.tolist()
        return
    # Sums in another order may end in another last bit.
    yield array.flags.f_contiguous
    yield memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def _of_code(function):
    yield from (function.__code__, function.__defaults__, function.__kwdefaults__)
    yield [cell.cell_contents for cell in function.__closure__ or ()]
    # The values of its global names, if they are the user's own too; a function may call itself.
    names = sorted(set(function.__code__.co_names) & function.__globals__.keys())
    for name in names:
        value = function.__globals__[name]
        if isinstance(value, PRIMITIVE) or (
            isinstance(value, types.FunctionType)
            and value is not function
            and not _version_of_package(value.__module__)
        ):
            yield from (name, value)


def _by_pickle(value):
    try:
        state = value.__reduce_ex__(4)
    except Exception as error:
        message = f"A value must be one that pickle can decompose to be digested. Got {value!r}."
        raise TypeError(message) from error
    if isinstance(state, str):
        yield state
        return
    made_by, arguments, *rest = state
    yield from (made_by.__module__ or "", made_by.__qualname__, arguments)
    for part in rest:
        yield list(part) if hasattr(part, "__next__") else part


@functools.lru_cache
def _version_of_package(module):
    """The version of the package that a module is in: str, empty if unknown."""
    package = module.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


@functools.lru_cache
def version_of(cls):
    """The version of the package of a class; if it has none, the digest of the methods: str."""
    version = _version_of_package(cls.__module__)
    if version or cls.__module__ == "builtins":
        return version
    own = {name: _unwrapped(each) for name, each in vars(cls).items() if name not in UNRELATED}
    return digest(own, [version_of(base) for base in cls.__bases__])


def _unwrapped(member):
    """The code or value of a member of a class; of what pickle cannot decompose, only the type."""
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    if isinstance(member, property):
        return [_unwrapped(each) for each in (member.fget, member.fset, member.fdel)]
    if isinstance(member, types.FunctionType):
        return list(_of_code(member))
    return member if isinstance(member, PRIMITIVE) else type(member).__qualname__
