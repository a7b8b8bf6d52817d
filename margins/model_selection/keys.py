"""Keys of cached results: hashes of values, and of the files that compute results.

A value is pickled into a hash, functions and classes by name. `code_of` hashes what defines them:
versions of packages, and local files. If in doubt, keys differ, and results are computed again.
"""

import copyreg
import hashlib
import importlib.util
import pickle
import platform
import re
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

from margins.rules.functions import path_of

STARTED = time.time()
LIBRARY = Path(__file__).parents[1]
COMPILED = tuple(EXTENSION_SUFFIXES)
STANDARD = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
IMPORTS = re.compile(r"^\s*(?:from\s+(\w+)|import\s+(.+))", re.MULTILINE)


def digest(*values: object, without_files: bool = False) -> str:
    """Return a hash of values, the same in every process.

    A function or class must be defined in a file, which `code_of` hashes, unless `without_files`.
    """
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
                return NotImplemented
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            constants = value.__defaults__, value.__kwdefaults__, cells, vars(value)
            return tuple, ((value.__module__, value.__qualname__, value.__code__, constants),)
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

    def _check_file(self, value: Any) -> None:
        """Raise a TypeError if a function or class may have been typed into a session."""
        name = getattr(value, "__module__", "builtins") or ""
        is_typed = name == "__main__" and hasattr(sys, "ps1")
        is_standard = name.partition(".")[0] in sys.stdlib_module_names
        if not self.without_files and (is_typed or not (is_standard or _file_of(sys.modules.get(name)))):
            raise TypeError(
                "no file defines it, so that edits are noticed: import it, or pass cache_key"
            )


def _file_of(module: ModuleType | None) -> Path | None:
    path = Path(getattr(module, "__file__", None) or "").absolute()
    return path if path.is_file() else None


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
            lines = IMPORTS.findall(content.decode(errors="replace"))
            pending |= set(map(_importable, re.findall(r"\w+", " ".join(map(" ".join, lines)))))
    return sorted((path.name, code) for path, code in hashes.items())


def _importable(name: str) -> Path:
    """Return the file of a local module that is not loaded, or an empty path."""
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    file = Path(spec.origin) if spec and spec.has_location and spec.origin else Path()
    return file if _is_local(file) else Path()
