"""Keys of cached results: hashes of values, and of the code that the values may run.

A value is pickled into a hash. Functions and classes of installed packages are pickled by name; those of
`__main__` and of local modules with their code and everything that it refers to. `code_of` hashes the
rest: versions of packages, and local files. If in doubt, keys differ, and results are computed again.
"""

import functools
import hashlib
import importlib.util
import inspect
import platform
import re
import sys
import sysconfig
import time
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from cloudpickle import cloudpickle
from scipy import sparse
from sklearn import get_config

STARTED = time.time()
LIBRARY = Path(__file__).parents[1]
BY_NAME = {"cloudpickle", "joblib", "margins", "numpy", "scipy", "sklearn"}  # even from a checkout
COMPILED = tuple(EXTENSION_SUFFIXES)
STANDARD = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
HIDING = {"__import__", "eval", "exec", "globals"}  # functions that may read any variable
# Members of classes that depend on the process, or on the line.
UNSTABLE = ("__annotations_cache__", "__firstlineno__", "__static_attributes__")
IMPORTS = re.compile(r"^\s*(?:from\s+(\w+)|import\s+(.+))", re.MULTILINE)


def digest(*values: object) -> str:
    """Return a hash of values, the same in every process.

    Raises
    ------
    TypeError
        If a value cannot be pickled, or its pickle does not identify it.

    Examples
    --------
    >>> digest({"tau": 0.5, "C": 1}) == digest({"C": 1, "tau": 0.5})
    True
    >>> digest(1) == digest(1.0) or digest(lambda: 1) == digest(lambda: 2)
    False
    """
    return _pickled(values).hash.hexdigest()


def code_of(*values: object) -> str:
    """Return a hash of the code that values may run, in addition to their pickles.

    It covers the versions of all installed packages, the configuration of scikit-learn, and the
    files of this library, of loaded local modules, and of modules that they or values import later.

    Raises
    ------
    RuntimeError
        If a file of this library was changed after the process started.
    """
    installed = {path.name for folder in sys.path for path in Path(folder).glob("*-info")}
    files = _local_files(_pickled(values).names)
    return digest(platform.python_version(), installed, get_config(), files)


def _pickled(values: tuple[object, ...]) -> "_Pickler":
    pickler = _Pickler()
    for value in values:
        try:
            pickler.dump(value)
            pickler.dump_variables()
        except Exception as error:  # pickling calls methods of any class
            got = " ".join(f"Got {value!r}{pickler.within}: {error}".split())
            raise TypeError(f"a value must have a pickle that identifies it. {got}") from error
    return pickler


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles values into a hash. Equal values have equal pickles in every process."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=20)
        super().__init__(SimpleNamespace(write=self.hash.update), protocol=5)
        self.within = ""  # the function or class that was reached last, for messages
        self.names: set[str] = set()  # of variables, attributes and modules, in code
        self._modules: dict[str, dict[str, object]] = {}
        self._dumped: set[tuple[str, str]] = set()

    def dump_variables(self) -> None:
        """Dump the variables of local modules that code may read as attributes."""
        while (
            found := {
                (module, name)
                for module, variables in self._modules.items()
                for name in self.names & variables.keys()
            }
            - self._dumped
        ):
            self._dumped |= found
            self.dump([(module, name, self._modules[module][name]) for module, name in sorted(found)])

    def persistent_id(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:  # pickles show whether two equal ones are one object
            return value.encode(errors="surrogatepass")
        if kind is dict:
            return "dict", sorted(value.items(), key=lambda item: _order(item[0]))
        if kind in (set, frozenset):
            return kind.__name__, sorted(value, key=_order)
        return None

    def reducer_override(self, value: Any) -> Any:
        """Reduce any value but numbers, strings and containers to a function and its arguments."""
        if isinstance(value, FunctionType | type):
            return self._of_definition(value)
        if isinstance(value, ModuleType):
            if _is_by_value(value.__name__):
                self._modules[value.__name__] = vars(value)
            return ModuleType, (value.__name__,)
        if isinstance(value, CodeType):
            self.names.update(value.co_names)
            value = value.replace(co_filename="")  # in notebooks it has the number of the process
        if (contents := _contents(value)) is not None:
            return type(value), contents
        reduce = self.dispatch_table.get(type(value))
        reduced = reduce(value) if reduce else value.__reduce_ex__(5)
        if isinstance(reduced, str) and _is_by_value(getattr(value, "__module__", "builtins")):
            raise TypeError(f"{value!r} is pickled by the name {reduced!r} alone")
        return reduced

    def _of_definition(self, value: Any) -> Any:
        """Reduce a function or class: a local one to its code and what the code refers to."""
        is_class = isinstance(value, type)
        if not _is_by_value(value.__module__):
            reduced = super().reducer_override(value)
        elif is_class:
            reduced = cloudpickle._dynamic_class_reduce(value)
        else:
            reduced = self._dynamic_function_reduce(value)
        if reduced is NotImplemented or len(reduced) < 3:  # by its name
            return reduced
        self.within = f" within {value.__module__}.{value.__qualname__}"
        make, arguments, (members, attributes), *rest = reduced
        if is_class:
            members = {name: each for name, each in members.items() if name not in UNSTABLE}
            members["_abc_impl"] = set(members.get("_abc_impl", ()))  # what is registered
            return make, arguments[:-2], (members, attributes), *rest  # without an id of the process
        variables, code = value.__globals__, value.__code__
        if variables.get("__name__") == "functools" and hasattr(value, "registry"):  # of singledispatch
            return FunctionType, (value.__qualname__, dict(value.registry))  # without its cache
        used = set(cloudpickle._extract_code_globals(code)) | _names_in_classes(code)
        if hiding := (HIDING & used) - variables.keys():
            raise TypeError(f"code must not call {hiding.pop()}, which may read any variable")
        attributes["__globals__"] = {name: variables[name] for name in used & variables.keys()}
        attributes.pop("_cloudpickle_submodules", None)  # they depend on what else is loaded
        return make, (code,), (members, attributes), *rest


def _order(value: Any) -> bytes:
    return value.encode(errors="surrogatepass") if type(value) is str else digest(value).encode()


def _names_in_classes(code: CodeType) -> set[str]:
    """Return the names in bodies of classes within a function, which cloudpickle does not look up."""
    within = [each for each in code.co_consts if isinstance(each, CodeType)]
    bodies = [each.co_names for each in within if not each.co_flags & inspect.CO_OPTIMIZED]
    return set().union(*bodies, *map(_names_in_classes, within))


def _contents(value: Any) -> tuple[Any, ...] | None:
    """Return what identifies a value whose pickle depends on more than that; None for other values."""
    if isinstance(value, np.generic) or type(value) in (np.ndarray, np.memmap):
        return _of_array(np.asarray(value))
    if sparse.issparse(value):
        rows = value.tocsr()
        return value.format, value.shape, rows.data, rows.indices, rows.indptr
    if hasattr(type(value), "iloc"):  # a data frame, or a column of one
        columns = [value.iloc[:, n] for n in range(value.shape[1])] if value.ndim == 2 else [value]
        categories = [np.asarray(getattr(each.dtype, "categories", None)) for each in columns]
        described = [(each.name, str(each.dtype)) for each in columns]
        return described, categories, *map(np.asarray, (value.index, *columns))
    if isinstance(value, functools.cached_property):
        return (value.func,)
    if isinstance(value, type(functools.lru_cache(len))):
        return (value.__wrapped__,)
    if isinstance(getattr(value, "py_func", None), FunctionType):  # numba's have random names
        return value.py_func, value.targetoptions
    return None


def _of_array(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    kind = str(array.dtype)
    if array.dtype.hasobject:
        return kind, array.shape, array.tolist()
    if array.dtype.char in "gG":  # long doubles have unused bytes
        array = array.astype("U64")
    # Sums in another order may end in another last bit.
    is_transposed = array.flags.f_contiguous and not array.flags.c_contiguous
    stored = np.ascontiguousarray(array.T if is_transposed else array).reshape(-1).view(np.uint8)
    return kind, array.shape, is_transposed, hashlib.blake2b(stored.data, digest_size=20).digest()


def _is_by_value(module: str | None) -> bool:
    """Return True if functions and classes of a module are local and written in Python."""
    top = (module or "").partition(".")[0]
    files = (getattr(sys.modules.get(name), "__file__", None) for name in (module or "", top))
    file = next(filter(None, files), None)
    if top in BY_NAME or top == "__main__" or not file:  # the last are unknown, or not from a file
        return top not in BY_NAME and top not in sys.stdlib_module_names
    return _is_local(file) and not file.endswith(COMPILED)


@functools.cache
def _is_local(path: str) -> bool:
    """Return True if a file belongs neither to Python nor to an installed package."""
    parents = Path(path).absolute().parents
    sites = {"site-packages", "dist-packages"}
    return not any(folder.name in sites or folder in STANDARD for folder in parents)


def _local_files(names: set[str]) -> list[tuple[str, str]]:
    """Return (name, hash) of the files of this library, of loaded local modules, and of modules that
    they or code with these names may import later. Definitions in `__main__` are pickled instead.
    """
    modules = [each for each in list(sys.modules.values()) if each is not sys.modules.get("__main__")]
    loaded = [getattr(module, "__file__", None) for module in modules]
    pending = {Path(file).absolute() for file in loaded if file and _is_local(file)}
    pending |= {LIBRARY / "__init__.py", *map(_importable, names)}
    hashes: dict[Path, str] = {}
    while pending:
        path = pending.pop()
        if path in hashes or not path.name.endswith((".py", ".pyc", *COMPILED)) or not path.is_file():
            continue
        stat = path.stat()
        hashes[path], imported = _read(path, stat.st_mtime_ns, stat.st_size)
        if path.name == "__init__.py":
            pending |= {*path.parent.glob("*"), *path.parent.glob("*/__init__.py")}
        if not path.is_relative_to(LIBRARY):
            pending |= set(map(_importable, imported))
        elif stat.st_mtime > STARTED:
            raise RuntimeError(
                f"{path} was changed after this process started, so it is not known which version of it "
                "computes the results. Start Python again"
            )
    return sorted((path.name, code) for path, code in hashes.items())


def _importable(name: str) -> Path:
    """Return the file of a local module that is not loaded, or an empty path."""
    top = name.partition(".")[0]
    spec = importlib.util.find_spec(top) if top and top not in sys.modules else None
    file = spec.origin if spec and spec.has_location else None
    return Path(file) if file and _is_local(file) else Path()


@functools.lru_cache(maxsize=10_000)
def _read(path: Path, *stamp: int) -> tuple[str, set[str]]:
    """Return the hash of a file, and the names in its import statements."""
    content = path.read_bytes()
    lines = IMPORTS.findall(content.decode(errors="replace")) if path.suffix == ".py" else []
    code = hashlib.blake2b(content, digest_size=20).hexdigest()
    return code, set(re.findall(r"\w+", " ".join(map(" ".join, lines))))
