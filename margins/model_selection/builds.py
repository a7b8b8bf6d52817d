"""Where code comes from: the user's own, or an installed package, named by the contents of its files."""

import base64
import csv
import functools
import hashlib
import importlib.machinery
import os
import re
import sys
import sysconfig
import time
from importlib import metadata
from pathlib import Path

# Files that were changed later may differ from the code that this process runs.
STARTED = time.time()

# Packages whose versions are in the key of every study.
BY_VERSION = {"joblib", "numpy", "scipy", "sklearn"}
SITES = {"site-packages", "dist-packages"}
# Compiled modules are digested, and what they were built from is not.
SOURCES = (".c", ".cpp", ".h", ".hpp", ".pxd", ".pxi", ".pyc", ".pyi", ".pyx")
COMPILED = tuple(importlib.machinery.EXTENSION_SUFFIXES)
CODE = (".py", *COMPILED)
LARGE = 2**24  # bytes of a file that is not read but named by its size and time


class ChangedCode(RuntimeError):
    """A file of a package was changed after this process began.

    Examples
    --------
    >>> raise ChangedCode("a file of 'margins' was changed")
    Traceback (most recent call last):
    margins.model_selection.builds.ChangedCode: a file of 'margins' was changed
    """


def top_of(module):
    """The package at the top that a module is in."""
    return module.partition(".")[0]


def is_users_spec(spec):
    """True if a package or module that is not imported yet is the user's own."""
    path = next(iter(spec.submodule_search_locations or ()), None) or spec.origin
    return bool(path) and os.path.exists(path) and not _is_installed(Path(path).parent)


def is_users(module):
    """True if a module is the user's own code: neither Python's nor of an installed package.

    Parameters
    ----------
    module : str or None
        Its name.

    Examples
    --------
    >>> is_users("__main__"), is_users("math"), is_users("numpy.linalg")
    (True, False, False)
    """
    package = top_of(module or "")
    if package in BY_VERSION | {"margins"}:
        return False
    if package == "__main__" or package not in sys.modules:
        return package not in sys.builtin_module_names
    folder = _folder(package)
    if folder is None:
        return package not in sys.stdlib_module_names
    return not _is_installed(folder)


def is_compiled(module):
    """True if a module, by its name, is a library of machine code."""
    return _file_of(sys.modules.get(module)).endswith(COMPILED)


def version_of(package):
    """The version of a package: str, empty if it has none."""
    version = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def build_of(module):
    """A name for the code of the package of an installed module, or for a compiled module: str.

    The SHA-256 of all files of the package and the versions of the packages that it requires. Empty for
    Python and for packages whose versions are in every key. It is computed once in a process.

    Examples
    --------
    >>> len(build_of("margins.registry")), build_of("math"), build_of("numpy.linalg")
    (64, '', '')
    """
    if is_users(module):
        return _digest_of_file(_file_of(sys.modules[module])) if is_compiled(module) else ""
    package = top_of(module)
    folder = _folder(package)
    if package in BY_VERSION or folder is None or _is_standard(folder):
        return ""
    return _build_of_package(package)


def check_unchanged():
    """Raise ChangedCode if a file of a package, as it was digested, has been changed since.

    Raises
    ------
    ChangedCode
    """
    for package in _digested:
        for path, stat in _files(package):
            if stat.st_mtime > STARTED and path.name.endswith(CODE):
                raise ChangedCode(
                    f"{path}, a file of the package {package!r}, was changed after this process began: "
                    "which version of it computes the results is not known. Start Python again"
                )


_digested: set[str] = set()


@functools.cache
def _build_of_package(package):
    _digested.add(package)
    found = _distribution(package)
    recorded, since = _recorded(found)
    root = _folder(package)
    whole = hashlib.sha256()
    for path, stat in _files(package):
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
        code = recorded.get(path) if max(stat.st_mtime, stat.st_ctime) <= since else None
        whole.update(f"{name}\n{code or _digest_of_file(str(path))}\n".encode())
    if found is not None:
        for required in sorted(_requirements(found, {}).items()):
            whole.update(repr(required).encode())
    return whole.hexdigest()


def _digest_of_file(path):
    stat = os.stat(path)
    if stat.st_size > LARGE:
        return f"{stat.st_size} {stat.st_mtime_ns}"
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(package):
    """(path, stat) of every file of a package, sorted by path."""
    module = sys.modules[package]
    found = []
    for top in getattr(module, "__path__", [module.__file__]):
        folders = [(top, [], [""])] if os.path.isfile(top) else os.walk(top)
        for folder, names, files in folders:
            names[:] = [name for name in names if name != "__pycache__"]
            for file in files:
                path = Path(folder, file) if file else Path(folder)
                if path.suffix not in SOURCES:
                    found.append((path, path.stat()))
    return sorted(found)


def _recorded(found):
    """What the installer has recorded: {path: SHA-256}, and when; nothing is if it recorded nothing."""
    if found is None or not (text := found.read_text("RECORD")):
        return {}, 0.0
    recorded = {}
    for name, code, *_ in csv.reader(text.splitlines()):
        if code.startswith("sha256="):
            value = base64.urlsafe_b64decode(code.removeprefix("sha256=") + "=")
            recorded[Path(found.locate_file(name))] = value.hex()
    record = next((path for path in found.files or () if path.name == "RECORD"), None)
    return recorded, 0.0 if record is None else found.locate_file(record).stat().st_mtime


def _distribution(package):
    """The distribution that has installed a package; None if it cannot be found."""
    folder = [str(_folder(package))]
    for found in metadata.distributions(name=package, path=folder):
        return found
    for found in metadata.distributions(path=folder):
        if package in (found.read_text("top_level.txt") or "").split():
            return found
    return None


def _requirements(found, versions):
    """Versions of all distributions that one requires, directly or not: dict of str."""
    for requirement in found.requires or ():
        name = re.match(r"[\w.-]+", requirement)
        if name is None or "extra ==" in requirement or name[0] in versions:
            continue
        try:
            required = metadata.distribution(name[0])
        except metadata.PackageNotFoundError:  # of another platform
            continue
        versions[name[0]] = required.version
        _requirements(required, versions)
    return versions


def _file_of(module):
    return getattr(module, "__file__", None) or ""


def _folder(package):
    """The folder that holds a package or a module at the top; None if it is in no file."""
    module = sys.modules[package]
    path = next(iter(getattr(module, "__path__", ())), None) or _file_of(module)
    return Path(path).parent if path else None


@functools.cache
def _is_standard(folder):
    standard = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    within = {folder, *folder.parents}
    return not SITES & set(folder.parts) and bool(standard & within)


@functools.cache
def _is_installed(folder):
    if SITES & set(folder.parts) or _is_standard(folder):
        return True
    return any(folder.glob("*.dist-info"))  # pip install --target
