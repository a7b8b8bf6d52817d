"""Code as values: what identifies functions, classes, modules, and objects that pickle can decompose."""

import copyreg
import dis
import functools
import importlib
import importlib.util
import sys
import types
from typing import NamedTuple

import numpy as np

from margins.model_selection.builds import (
    build_of,
    is_compiled,
    is_users,
    is_users_spec,
    top_of,
    version_of,
)

# Members of a class that have no influence on results, or that Python derives from the others.
UNRELATED = {
    "__abc_impl",
    "__annotate__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__static_attributes__",
    "__weakref__",
    "_abc_impl",
}
# Names of functions that may use any other name.
UNLIMITED = {"__import__", "eval", "exec", "globals"}
GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
MEMOISED = type(functools.lru_cache(len))


class Undigestible(TypeError):
    """A value that no digest identifies in another process.

    Parameters
    ----------
    reason : str
    value : object
    where : tuple of str
        The names by which it was reached, the last one first.

    Examples
    --------
    >>> raise Undigestible("A number must be even", 3).within("LIMIT").within("scorer")
    Traceback (most recent call last):
    margins.model_selection.code.Undigestible: A number must be even. Got 3, which is LIMIT of scorer.
    """

    def __init__(self, reason, value, where=()):
        names = f", which is {' of '.join(where)}" if where else ""
        super().__init__(f"{reason}. Got {' '.join(repr(value).split())}{names}.")
        self.reason, self.value, self.where = reason, value, where

    def within(self, name):
        """The same error, one name further outwards."""
        return Undigestible(self.reason, self.value, (*self.where, name))


class Member(NamedTuple):
    """A value with the name under which code refers to it."""

    name: str
    value: object


class ByReference(NamedTuple):
    """A function, class or module, which is decomposed once and may refer to itself.

    Attributes
    ----------
    key : tuple
        Two references with one key are one.
    value : object
    names : frozenset of str
        Of a module, those that code may use.
    """

    key: tuple
    value: object
    names: frozenset = frozenset()

    @classmethod
    def to(cls, value):
        """The reference to a value; None if it has to be decomposed in its place."""
        if isinstance(value, cls):
            return value
        if isinstance(value, types.FunctionType | type):
            return cls((id(value),), value)
        if isinstance(value, types.ModuleType):
            return cls((id(value), None), value, frozenset(_public(value)))
        return None


def described(value):
    """The name of a function, class or module, for messages and for order: str."""
    if isinstance(value, ByReference):
        value = value.value
    if isinstance(value, types.ModuleType):
        return value.__name__
    name = getattr(value, "__qualname__", None)
    return f"{getattr(value, '__module__', '')}.{name}" if isinstance(name, str) else ""


def parts_of_reference(reference):
    """The parts that identify a function, class or module: bytes, or values to be decomposed."""
    value = reference.value
    if isinstance(value, types.ModuleType):
        return _of_module(value, reference.names)
    return _of_class(value) if isinstance(value, type) else _of_function(value)


def parts_of_code(value):
    """The parts of what is neither data nor a function, class or module; the last resort is pickle."""
    if isinstance(value, types.CodeType):
        return _of_code(value)
    if isinstance(value, types.MethodType):
        return (value.__func__, value.__self__)
    if isinstance(value, types.BuiltinFunctionType | types.MethodWrapperType):
        return _of_builtin(value)
    if isinstance(value, METHODS):
        return (value.__objclass__, value.__name__)
    if isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
        return (value.__name__,)
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, property):
        return (value.fget, value.fset, value.fdel)
    if isinstance(value, functools.cached_property):
        return (value.func,)
    if isinstance(value, functools.partial):
        return (value.func, value.args, value.keywords, vars(value))
    if isinstance(value, MEMOISED):
        return (value.__wrapped__,)
    if isinstance(
        getattr(value, "py_func", None), types.FunctionType
    ):  # numba's, which pickle names at random
        return (type(value), value.py_func, value.targetoptions)
    return _by_pickle(value)


def _of_function(function):
    home = function.__globals__.get("__name__")
    yield from (described(function), function.__defaults__, function.__kwdefaults__)
    if home == "functools" and hasattr(function, "registry"):  # of singledispatch, which has a cache
        yield dict(function.registry)
        return
    yield vars(function)
    if is_users(home):
        yield function.__code__
        yield from _used_by(function)
    elif _is_found_by_name(function):
        yield build_of(function.__module__)
    else:  # made by a library; what it holds may be the user's
        yield from (function.__code__, build_of(home), _cells(function))


def _used_by(function):
    """What a function of the user refers to: its cells, globals and imports."""
    attributes, variables, imports = _names(function.__code__)
    for name, value in zip(function.__code__.co_freevars, _cells(function), strict=True):
        yield Member(name, _narrowed(value, attributes))
    available = function.__globals__
    for name in sorted(variables):
        if name in available:
            yield Member(name, _narrowed(available[name], attributes))
        elif name in UNLIMITED:
            raise Undigestible(f"Code must not call {name}, which may use any value", function)
    for name, level in sorted(imports):
        yield Member(name, _narrowed(_imported(name, level, available), attributes))


def _cells(function):
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # a variable that is not set yet
            values.append(None)
    return values


def _names(code):
    """Names in code and in the code within: attributes, global variables, and (module, level)."""
    attributes, variables, imports = set(code.co_names), set(), set()
    instructions = list(dis.get_instructions(code))
    for number, instruction in enumerate(instructions):
        if instruction.opname in GLOBALS:
            variables.add(instruction.argval)
        elif instruction.opname == "IMPORT_NAME":
            imports.add((instruction.argval, instructions[number - 2].argval))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for names, within in zip((attributes, variables, imports), _names(constant), strict=True):
                names |= within
    return attributes, variables, imports


def _narrowed(value, names):
    """A module with the names of it that code can use; any other value as it is."""
    if not isinstance(value, types.ModuleType) or not is_users(value.__name__):
        return value
    names = frozenset(names)
    return ByReference((id(value), names), value, names)


def _imported(name, level, variables):
    """What an import statement in a function imports: the user's modules, or a name and a version."""
    if level:
        package = variables.get("__package__") or variables.get("__name__", "").rpartition(".")[0]
        try:
            name = importlib.util.resolve_name("." * level + name, package)
        except ImportError:
            return name
    package = top_of(name)
    try:
        if package in sys.modules:
            users = is_users(package)
        else:  # nothing of others is imported for this
            found = importlib.util.find_spec(package)
            users = found is not None and is_users_spec(found)
        if not users:
            return [name, version_of(package)]
        importlib.import_module(name)
    except ImportError:  # the code may handle it
        return name
    # `import a.b` gives a; `from a.b import c` gives a.b: both, then.
    parts = name.split(".")
    return [sys.modules[".".join(parts[:end])] for end in range(1, len(parts) + 1)]


def _of_module(module, names):
    yield from (module.__name__, build_of(module.__name__))
    if is_users(module.__name__) and not is_compiled(module.__name__):
        for name in sorted(names & vars(module).keys()):
            yield Member(name, _narrowed(vars(module)[name], names))


def _public(module):
    return [name for name in vars(module) if not name.startswith("__")]


def _of_code(code):
    yield from (code.co_code, code.co_names, code.co_consts, code.co_varnames)
    yield from (code.co_cellvars, code.co_freevars, code.co_flags, code.co_exceptiontable)
    yield from (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)


def _of_class(cls):
    yield described(cls)
    if is_compiled(cls.__module__) or (not is_users(cls.__module__) and _is_found_by_name(cls)):
        yield build_of(cls.__module__)
        return
    yield from (type(cls), list(cls.__bases__))
    for name, member in sorted(vars(cls).items()):
        if name not in UNRELATED:
            yield Member(name, member)


def _of_builtin(function):
    """A function of a compiled module, or a method of an object of Python's."""
    owner = function.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        module = function.__module__ or ""
        return (module, function.__qualname__, build_of(module) if module else "")
    return (function.__qualname__, owner)


def _is_found_by_name(value):
    """True if a function or class is what its name refers to in a module that is not the user's."""
    if is_users(value.__module__):
        return False
    found = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def _by_pickle(value):
    reduced = copyreg.dispatch_table.get(type(value))
    try:
        state = reduced(value) if reduced else value.__reduce_ex__(4)
    except Exception as error:
        message = "A value must be one that pickle can decompose to be digested"
        raise Undigestible(message, value) from error
    if isinstance(state, str):
        yield from _by_name(value, state)
        return
    yield type(value)  # its methods count even if a function makes the copy
    made_by, arguments, *rest = state
    yield from (made_by, arguments)
    for part in rest:
        yield list(part) if hasattr(part, "__next__") else part


def _by_name(value, name):
    """What pickle takes for a global variable of its module."""
    module = getattr(value, "__module__", None) or type(value).__module__
    if isinstance(value, np.ufunc):
        module = next((each for each in UFUNCS if _has(each, name, value)), "")
    elif is_users(module) and not is_compiled(module):
        module = type(value).__module__ if type(value).__module__ == "typing" else ""
    if not module:
        raise Undigestible("A value must be one that pickle can decompose to be digested", value)
    yield from (module, name, build_of(module))


UFUNCS = ("numpy", "scipy.special")


def _has(module, name, value):
    return getattr(sys.modules.get(module), name, None) is value
