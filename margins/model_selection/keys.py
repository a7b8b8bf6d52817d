"""Keys of cached results: hashes of values, and of the code that the values may run.

A value is pickled into a hash. Functions and classes of installed packages are pickled by name;
functions and classes of `__main__` and of local modules are pickled with their code and the variables
that it reads. `code_of` hashes the rest: versions of packages, and local files. If in doubt, keys
differ, and results are computed again.
"""

import functools
import hashlib
import importlib.util
import platform
import re
import sys
import sysconfig
import time
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import cloudpickle
import joblib
import numpy as np
from scipy import sparse
from sklearn import get_config

STARTED = time.time()
LIBRARY = Path(__file__).parents[1]
BY_NAME = {"margins", "numpy", "scipy", "sklearn"}  # even from a checkout
COMPILED = tuple(EXTENSION_SUFFIXES)
STANDARD = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
HIDING = {"__import__", "eval", "exec", "globals"}  # functions that may read any variable
# Members of classes that depend on the process or on the line number.
UNSTABLE = {
    "__annotations_cache__",
    "__dict__",
    "__firstlineno__",
    "__static_attributes__",
    "__weakref__",
}
IMPORTS = re.compile(r"^\s*(?:from\s+(\w+)|import\s+(.+))", re.MULTILINE)


def digest(*values: object) -> str:
    """Return a hash of values, the same in every process."""
    return _pickled(values).hash.hexdigest()


def code_of(*values: object) -> str:
    """Return a hash of the code that values may run, in addition to their pickles.

    It covers the versions of all installed packages, the configuration of scikit-learn, and the
    files of this library, of loaded local modules, and of modules that they or values import later.
    """
    installed = {path.name for folder in sys.path for path in Path(folder).glob("*-info")}
    files = _local_files(_pickled(values).names)
    return digest(platform.python_version(), installed, get_config(), files)


def _pickled(values: tuple[object, ...]) -> "_Pickler":
    pickler = _Pickler()
    for value in values:
        try:
            pickler.dump(value)
        except Exception as error:  # pickling calls methods of any class
            got = " ".join(f"Got {value!r}{pickler.within}: {error}".split())
            raise TypeError(f"a value must have a pickle that identifies it. {got}") from error
    return pickler


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles values into a hash. Equal values have equal pickles in every process."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=20)
        super().__init__(SimpleNamespace(write=self.hash.update), protocol=5)
        self.within = ""  # the last function or class reached, for messages
        self.names: set[str] = set()  # names of variables, attributes and modules in code

    def persistent_id(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:  # the pickle of a str would show whether two equal strings are one object
            return value.encode(errors="surrogatepass")
        if kind is dict:
            return "dict", sorted(value.items(), key=lambda item: _order(item[0]))
        if kind in (set, frozenset):
            return kind.__name__, sorted(value, key=_order)
        return None

    def reducer_override(self, value: Any) -> Any:
        """Reduce a value to a function and its arguments, except numbers, strings and containers."""
        kind = type(value)
        if isinstance(value, FunctionType | type):
            return self._of_definition(value)
        if isinstance(value, ModuleType):
            return ModuleType, (value.__name__,)
        if isinstance(value, CodeType):
            value = value.replace(co_filename="")  # in notebooks it contains the process number
        if isinstance(value, np.generic) or kind in (np.ndarray, np.memmap):
            array = np.asarray(value)
            return kind, (joblib.hash(array if array.flags.forc else array.copy()),)
        if isinstance(value, functools.cached_property):
            return kind, (value.func,)
        if isinstance(value, type(functools.lru_cache(len))):
            return kind, (value.__wrapped__,)
        if sparse.issparse(value):  # its flags depend on earlier calls
            rows = value.tocsr()
            return kind, (value.shape, rows.data, rows.indices, rows.indptr)
        if hasattr(kind, "iloc"):  # equal data frames, or columns, may have different blocks
            frame = value.to_frame() if value.ndim == 1 else value
            return kind, (frame.index, [(name, column.array) for name, column in frame.items()])
        reduce = self.dispatch_table.get(kind)
        reduced = reduce(value) if reduce else value.__reduce_ex__(5)
        if isinstance(reduced, str) and _is_by_value(getattr(value, "__module__", "builtins")):
            raise TypeError(f"{value!r} is pickled by the name {reduced!r} alone")
        return reduced

    def _of_definition(self, value: Any) -> Any:
        """Reduce a function or class; if it is local, to its code and the values the code refers to."""
        reduced = super().reducer_override(value)
        is_by_name = reduced is NotImplemented or len(reduced) < 3
        if is_by_name and not _is_by_value(value.__module__):
            return reduced
        self.within = f" within {value.__module__}.{value.__qualname__}"
        if isinstance(value, type):
            members = {name: member for name, member in vars(value).items() if name not in UNSTABLE}
            members.pop("_abc_impl", None)  # it cannot be pickled
            return type(value), (value.__qualname__, value.__bases__), members
        code, variables = value.__code__, value.__globals__
        names = _names_in(code)
        if hiding := (HIDING & names) - variables.keys():
            raise TypeError(f"code must not name {hiding.pop()}, which may read any variable")
        self.names |= names
        # Python does not say which names are attributes: a variable of that name counts as read.
        read = {name: variables[name] for name in names & variables.keys()}
        # Attributes of local modules may have been set from outside.
        modules = [variable for variable in read.values() if isinstance(variable, ModuleType)]
        local = [vars(module) for module in modules if _is_by_value(module.__name__)]
        attributes = [{name: members[name] for name in names & members.keys()} for members in local]
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        defaults = value.__defaults__, value.__kwdefaults__
        return FunctionType, (code,), (defaults, cells, vars(value), read, attributes)


def _order(value: Any) -> bytes:
    return value.encode(errors="surrogatepass") if type(value) is str else digest(value).encode()


def _names_in(code: CodeType) -> set[str]:
    """Return the names of global variables and attributes in code, including inner code."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def _is_by_value(module: str | None) -> bool:
    """Return True if functions and classes of a module are local and written in Python."""
    top = (module or "").partition(".")[0]
    files = (getattr(sys.modules.get(name), "__file__", None) for name in (module or "", top))
    file = next(filter(None, files), None)
    if top in BY_NAME or top == "__main__" or not file:  # without a file, the module is unknown
        return top not in BY_NAME and top not in sys.stdlib_module_names
    return _is_local(file) and not file.endswith(COMPILED)


@functools.cache
def _is_local(path: str) -> bool:
    """Return True if a file belongs neither to Python nor to an installed package."""
    parents = Path(path).absolute().parents
    sites = {"site-packages", "dist-packages"}
    return not any(folder.name in sites or folder in STANDARD for folder in parents)


def _local_files(names: set[str]) -> list[tuple[str, str]]:
    """Return (name, hash) of the files of this library and of local modules.

    Local modules are loaded, or may be imported later by a loaded one or by code with these names.
    Definitions in `__main__` are pickled instead.
    """
    main = sys.modules.get("__main__")
    modules = [module for module in list(sys.modules.values()) if module is not main]
    loaded = [getattr(module, "__file__", None) for module in modules]
    pending = {Path(file).absolute() for file in loaded if file and _is_local(file)}
    pending |= {LIBRARY / "__init__.py", *map(_importable, names)}
    hashes: dict[Path, str] = {}
    while pending:
        path = pending.pop()
        if path in hashes or not path.name.endswith((".py", ".pyc", *COMPILED)) or not path.is_file():
            continue
        content = path.read_bytes()
        hashes[path] = joblib.hash(content)
        if path.name == "__init__.py":
            pending |= {*path.parent.glob("*"), *path.parent.glob("*/__init__.py")}
        if not path.is_relative_to(LIBRARY):
            lines = IMPORTS.findall(content.decode(errors="replace")) if path.suffix == ".py" else []
            pending |= set(map(_importable, re.findall(r"\w+", " ".join(map(" ".join, lines)))))
        elif path.stat().st_mtime > STARTED:
            raise RuntimeError(
                f"{path} was changed after this process started, so it is unknown which version "
                "computes the results. Restart Python"
            )
    return sorted((path.name, code) for path, code in hashes.items())


def _importable(name: str) -> Path:
    """Return the file of a local module that is not loaded, or an empty path."""
    top = name.partition(".")[0]
    spec = importlib.util.find_spec(top) if top and top not in sys.modules else None
    file = spec.origin if spec and spec.has_location else None
    return Path(file) if file and _is_local(file) else Path()
