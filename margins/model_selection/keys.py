"""Keys of cached results: hashes of values, and of the files that compute results.

A value is pickled into a hash. Functions and classes are pickled by name; local ones with the variables
that their code names, too, which may be set while a program runs. `code_of` hashes what defines them:
versions of packages, and local files. If in doubt, keys differ, and results are computed again.
"""

import ast
import copyreg
import functools
import hashlib
import importlib.util
import os
import pickle
import platform
import sys
import sysconfig
import time
import warnings
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn import get_config

from margins._version import IMPORTED
from margins.rules.functions import path_of

STARTED = IMPORTED  # later changes of files are of code that has been loaded
LIBRARY = Path(__file__).parents[1]
COMPILED = tuple(EXTENSION_SUFFIXES)
PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, type(None))
# Members of classes that depend on the process or on the line number.
UNSTABLE = {"__firstlineno__", "__module__", "__doc__", "__static_attributes__", "__dict__"}
STANDARD = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]


def digest(*values: object, without_files: bool = False) -> str:
    """Return a hash of values, the same in every process; `without_files`, code needs no file."""
    pickler = _Pickler(without_files)
    for value in values:
        try:
            pickler.dump(value)
        except Exception as error:  # pickling calls methods of any class
            got = " ".join(f"Got {value!r}: {error}".split())
            raise TypeError(f"a value must have a pickle that identifies it. {got}") from error
    return pickler.hash.hexdigest()


def code_of(cache_key: str | None) -> str:
    """Return a hash of the versions of all packages, and of local files or the user's key for them."""
    installed = {path.name for folder in sys.path for path in Path(folder).glob("*-info")}
    files = _local_files() if cache_key is None else cache_key
    return digest(platform.python_version(), installed, get_config(), files)


class _Pickler(pickle.Pickler):
    """Pickles values into a hash. Equal values have equal pickles in every process."""

    def __init__(self, without_files: bool) -> None:
        self.hash = hashlib.blake2b(digest_size=20)
        super().__init__(SimpleNamespace(write=self.hash.update), protocol=5)
        self.without_files = without_files

    def persistent_id(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:  # the pickle of a str would show whether two equal strings are one object
            return value.encode(errors="surrogatepass")
        if kind is dict:
            return "dict", sorted(value.items(), key=lambda item: self._order(item[0]))
        if kind in (set, frozenset):
            return kind.__name__, sorted(value, key=self._order)
        return None

    def _order(self, value: Any) -> str:
        return value if type(value) is str else digest(value, without_files=self.without_files)

    def reducer_override(self, value: Any) -> Any:
        """Reduce a value to a function and its arguments, except numbers, strings and containers."""
        kind = type(value)
        if isinstance(value, FunctionType | type):
            self._check_file(value)
            if isinstance(value, type) or path_of(value, value):
                return self._by_name(value)
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            name = value.__module__, value.__qualname__, value.__code__
            return SimpleNamespace, (name,), (cells, vars(value), _variables_of(value))
        if isinstance(value, CodeType):  # without the name of its file, which depends on the process
            places = list(value.co_positions())
            return tuple, ((value.co_name, value.co_code, value.co_consts, value.co_names, places),)
        if isinstance(value, ModuleType):
            return tuple, (("module", value.__name__),)
        if isinstance(value, np.generic) or kind in (np.ndarray, np.memmap):
            array = np.asarray(value)
            return kind, (joblib.hash(array if array.flags.forc else array.copy()),)
        if sparse.issparse(value):  # its flags depend on earlier calls
            rows = value.tocsr()
            return kind, (value.shape, rows.data, rows.indices, rows.indptr)
        if hasattr(kind, "iloc"):  # equal data frames, or columns, may have different blocks
            frame = value.to_frame() if value.ndim == 1 else value
            return kind, (frame.index, [(name, column.array) for name, column in frame.items()])
        reduce = copyreg.dispatch_table.get(kind)
        reduced: Any = reduce(value) if reduce else value.__reduce_ex__(5)
        if isinstance(reduced, str):  # the name of a variable
            self._check_file(value)
        return reduced

    def _by_name(self, value: Any) -> Any:
        """Reduce a function or class to its name and, if it is local, the variables that it names."""
        if not _is_users(value.__module__):
            return NotImplemented
        if isinstance(value, type):
            members = (_function_of(member) for member in vars(value).values())
            kinds = (FunctionType, functools.partial, np.ndarray, np.generic, *PLAIN)
            variables = [
                (name, member)
                for name, member in zip(vars(value), members, strict=True)
                if isinstance(member, kinds) and name not in UNSTABLE
            ]
            state: Any = variables, value.__bases__
        else:
            state = _variables_of(value)
        # The name first, because functions may name each other.
        return SimpleNamespace, ((value.__module__, value.__qualname__),), state

    def _check_file(self, value: Any) -> None:
        """Raise a TypeError if a function or class may have been typed into a session."""
        name = getattr(value, "__module__", "builtins") or ""
        is_typed = name == "__main__" and hasattr(sys, "ps1")
        is_standard = name.partition(".")[0] in sys.stdlib_module_names
        if not self.without_files and (is_typed or not (is_standard or _file_of(sys.modules.get(name)))):
            raise TypeError(
                "no file defines it, so that edits are noticed: import it, or pass cache_key"
            )


def _variables_of(function: FunctionType) -> tuple[Any, ...]:
    """Return the defaults of a function, and the variables and attributes of modules that it names."""
    names, known = _names_in(function.__code__), function.__globals__
    read = {name: known[name] for name in sorted(names & known.keys())}
    local = [
        vars(module)
        for module in read.values()
        if isinstance(module, ModuleType) and _is_users(module.__name__)
    ]
    attributes = [{name: found[name] for name in names & found.keys()} for found in local]
    return read, attributes, function.__defaults__, function.__kwdefaults__


def _names_in(code: CodeType) -> set[str]:
    """Return the names of global variables and attributes in code, including inner code."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def _function_of(member: Any) -> Any:
    """Return the function within a method of a class or a property; other members unchanged."""
    if isinstance(member, staticmethod | classmethod):
        return member.__func__
    if isinstance(member, functools.cached_property):
        return member.func
    return member.fget if isinstance(member, property) else member


def _is_users(module: str | None) -> bool:
    """Return True if a module is neither of a package nor of this library."""
    file = _file_of(sys.modules.get(module or ""))
    return file is not None and _is_local(file) and not file.is_relative_to(LIBRARY)


def _file_of(module: ModuleType | None) -> Path | None:
    path = getattr(module, "__file__", None) or ""
    return Path(path).absolute() if os.path.isfile(path) else None


def _is_local(path: Path) -> bool:
    """Return True if a file belongs neither to Python nor to an installed package."""
    sites = {"site-packages", "dist-packages"}
    return not any(folder.name in sites or folder in STANDARD for folder in path.parents)


def _local_files() -> list[tuple[str, str]]:
    """Return (name, hash) of the files of this library, of local modules, and of their imports."""
    loaded = {path for path in map(_file_of, list(sys.modules.values())) if path and _is_local(path)}
    pending, hashes = {LIBRARY / "__init__.py", *loaded}, {}
    while pending:
        path = pending.pop()
        if path in hashes or not path.is_file():
            continue
        content, is_own = path.read_bytes(), path.is_relative_to(LIBRARY)
        hashes[path] = joblib.hash(content)
        if (is_own or path in loaded) and path.stat().st_mtime > STARTED:  # what has been loaded?
            hashes[path] += str(time.time())
            text = f"{path} was changed after this process started, so cached results are not used."
            warnings.warn(f"{text} Restart Python.", RuntimeWarning, stacklevel=6)
        if path.name == "__init__.py":
            inner = {*path.parent.glob("*"), *path.parent.glob("*/__init__.py")}
            pending |= {file for file in inner if file.name.endswith((".py", ".pyc", *COMPILED))}
        if not is_own and not path.name.endswith(COMPILED):
            pending |= set(map(_importable, _imports_of(content)))
    return sorted(("/".join(path.parts[-2:]), code) for path, code in hashes.items())


def _imports_of(content: bytes) -> set[str]:
    """Return the packages that a file imports, wherever the statements stand."""
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError):  # no file of Python
        return set()
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names}


def _importable(name: str) -> Path:
    """Return the file of a local module that is not loaded, or an empty path."""
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    file = Path(spec.origin) if spec and spec.has_location and spec.origin else Path()
    return file if _is_local(file) else Path()
