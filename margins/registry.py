"""Algorithms by name: built-ins and plug-ins use the same entry-point group.

Built-ins are read from the metadata of this package. The metadata of other packages, which may be
damaged, are read only if a plug-in is needed.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

if TYPE_CHECKING:  # the module imports no NumPy and no algorithm, and importlib.metadata only if used
    from importlib.metadata import Distribution, EntryPoint

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from margins.certificate import Certificate
    from margins.data.types import MatrixLike
    from margins.solvers.base import PhaseRecord
    from margins.solvers.driver import Epoch

GROUP = "margins.algorithms"
# The distribution of the built-ins. On the package index, `margins` is another project.
OWN_PACKAGE = "scikit-margins"

C = TypeVar("C", bound=type[Any])


class Classifier(Protocol):
    """The type of a class that `get` returns for a name known only at run time.

    It has the methods and fitted attributes that all classifiers of this package share. If the name of a
    built-in is a literal, type checkers see the class itself, with all its parameters. The class of a
    plug-in that does not inherit from a class of this package may only have scikit-learn's interface.
    """

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    classes_: NDArray[Any]
    certificates_: list[Certificate]
    dual_coef_: NDArray[np.float64]
    solver_: str
    phases_: list[list[PhaseRecord]]
    learning_curve_: list[list[Epoch]]
    converged_: bool
    n_iter_: int
    n_updates_: int
    n_accesses_: int
    n_features_in_: int

    def __init__(self, **params: Any) -> None: ...

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...

    def predict(self, X: MatrixLike) -> NDArray[Any]: ...

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]: ...

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Self: ...


_registered: dict[str, type[Any]] = {}
_loaded_built_ins: dict[str, type[Any]] = {}


@functools.cache
def built_ins() -> dict[str, EntryPoint]:
    """Return {name: entry point} of this package; empty if its metadata are not installed."""
    from importlib import metadata

    try:
        entries = metadata.distribution(OWN_PACKAGE).entry_points
    except metadata.PackageNotFoundError:
        return {}
    return {entry.name: entry for entry in entries if entry.group == GROUP}


def _plug_ins() -> tuple[dict[str, dict[str, EntryPoint]], dict[str, str]]:
    """Return the algorithms that other packages offer, without importing them."""
    from importlib import metadata

    offers: dict[str, dict[str, EntryPoint]] = {}
    unreadable: dict[str, str] = {}
    for installed in metadata.distributions():
        try:
            entries = [entry for entry in installed.entry_points if entry.group == GROUP]
        except Exception as error:  # damaged metadata may cause any error
            unreadable[_name_of_package(installed)] = f"{type(error).__name__}: {error}"
            continue
        if {entry.name: entry for entry in entries} in ({}, built_ins()):
            continue  # nothing, or this package: the parser of names takes longer than all else here
        package = _name_of_package(installed)
        if re.sub(r"[-_.]+", "-", package).lower() != OWN_PACKAGE:
            for entry in entries:  # if a package is installed twice, the first one counts
                offers.setdefault(entry.name, {}).setdefault(package, entry)
    return offers, unreadable


def _name_of_package(installed: Distribution) -> str:
    try:
        return installed.metadata["Name"] or "unknown"
    except Exception:  # the name may be damaged, too
        return "unknown"


def unreadable() -> dict[str, str]:
    """Return the installed packages whose plug-ins are unreadable, and the errors."""
    return _plug_ins()[1]


def _offers() -> dict[str, dict[str, EntryPoint]]:
    """Return {name: {package: entry point}} of all installed algorithms, without importing them."""
    offers = {name: {OWN_PACKAGE: entry} for name, entry in built_ins().items()}
    for name, packages in _plug_ins()[0].items():
        offers.setdefault(name, {}).update(packages)
    return offers


def available(*, streaming: bool | None = None) -> list[str]:
    """Return the sorted names of all algorithms, as `get` accepts them.

    It reads the metadata of installed packages, without importing them. If two packages offer the same
    name, both are listed as ``"package:name"``.

    Parameters
    ----------
    streaming : bool, optional
        True: only algorithms that learn from a stream (`partial_fit`) with their default parameters.
        False: only the other algorithms. Both import all algorithms, and leave out those that cannot be
        imported.

    Examples
    --------
    >>> import margins
    >>> "pdm" in margins.available()
    True
    >>> "pa-i" in margins.available(streaming=True), "dcd" in margins.available(streaming=True)
    (True, False)
    """
    names = _names()
    if streaming is None:
        return names
    if not isinstance(streaming, bool):
        raise TypeError(f"streaming of margins.available must be a bool or None. Got {streaming!r}.")
    return [name for name in names if _streams(name) is streaming]


def _streams(name: str) -> bool | None:
    """Return True if an algorithm has `partial_fit`; None if it cannot be created."""
    try:
        return hasattr(get(name)(), "partial_fit")
    except Exception:  # plug-ins may raise any exception
        return None


def _names() -> list[str]:
    """Return the sorted names of all algorithms."""
    names = set(_registered)
    for name, packages in _offers().items():
        if OWN_PACKAGE in packages or (len(packages) == 1 and name not in _registered):
            names.add(name)
        if len(packages) > 1 or name in _registered:
            names.update(f"{package}:{name}" for package in packages if package != OWN_PACKAGE)
    return sorted(names)


def get(name: str) -> type[Classifier]:
    """Return the scikit-learn classifier class registered under a name.

    Parameters
    ----------
    name : str
        A name in `available`, or ``"package:name"`` for the algorithm of a certain package.

    Raises
    ------
    ValueError
        If no package or more than one package offers the name.
    ImportError
        If the package cannot be imported; the error names it.

    Examples
    --------
    >>> import margins
    >>> margins.get("pdm")(eps=0.05)
    DynamicMarginPerceptron(eps=0.05)
    """
    if not isinstance(name, str):
        raise TypeError(f"name of margins.get must be a str. Got {name!r}.")
    if name in _registered:
        return _registered[name]
    if name in _loaded_built_ins:
        return _loaded_built_ins[name]
    package, _, short = name.rpartition(":")
    if package in ("", OWN_PACKAGE) and short in built_ins():  # they cannot be shadowed
        _loaded_built_ins[name] = _load(OWN_PACKAGE, built_ins()[short])
        return _loaded_built_ins[name]
    packages = _plug_ins()[0].get(short, {})
    if package:
        packages = {key: value for key, value in packages.items() if key == package}
    if not packages:
        raise ValueError(_unknown(name))
    if len(packages) > 1:
        choices = ", ".join(repr(f"{package}:{short}") for package in sorted(packages))
        raise ValueError(
            f"{len(packages)} packages offer an algorithm named {short!r}. Give one of {choices}."
        )
    return _load(*next(iter(packages.items())))


def provider(name: str) -> str | None:
    """Return the package of a name in `available`; None if it was registered in this process."""
    if name in _registered:
        return None
    package, _, short = name.rpartition(":")
    if package or short in built_ins():
        return package or OWN_PACKAGE
    return next(iter(_plug_ins()[0][short]))


def name_of(algorithm: type) -> str | None:
    """Return the first name under which a class is registered or offered; None if there is none."""
    for name, known in (*_registered.items(), *_loaded_built_ins.items()):
        if known is algorithm:
            return name
    return name_of_path(f"{algorithm.__module__}.{algorithm.__qualname__}")


def name_of_path(path: str) -> str | None:
    """Return the name of a class that an entry point offers, from its module and class name, or None."""
    for name, entry in built_ins().items():
        if entry.value.replace(":", ".") == path:
            return name
    if path.startswith("margins."):  # it is of no plug-in, all of which would take 20 ms to read
        return None
    for name, packages in _plug_ins()[0].items():
        if any(entry.value.replace(":", ".") == path for entry in packages.values()):
            return name
    return None


def register(name: str, algorithm: C) -> C:
    """Register a classifier class under a name, in this process only, and return the class.

    Parameters
    ----------
    name : str
        A name that is not in use.
    algorithm : type
        A scikit-learn classifier class.

    Raises
    ------
    ValueError
        If the name is in use.
    TypeError
        If `algorithm` is not a classifier class.
    """
    if not isinstance(name, str) or not name or ":" in name:
        raise ValueError(f"name of margins.register must be a str without ':'. Got {name!r}.")
    _check_classifier(algorithm, "algorithm of margins.register")
    taken = _registered.get(name)
    if taken is not None and taken is not algorithm:
        raise ValueError(f"{name!r} is already registered, for {taken.__name__}.")
    if taken is None and name in _offers():
        package = next(iter(_offers()[name]))
        raise ValueError(f"{name!r} is already offered by package {package!r}.")
    _registered[name] = algorithm
    return algorithm


def _load(package: str, entry: EntryPoint) -> type[Any]:
    try:
        algorithm: type[Any] = entry.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # even SystemExit, because a plug-in must not end the process
        raise ImportError(
            f"Algorithm {entry.name!r} of package {package!r} cannot be imported from "
            f"{entry.value!r}: {type(error).__name__}: {error}"
        ) from error
    _check_classifier(algorithm, f"{entry.value!r}, algorithm {entry.name!r} of {package!r},")
    return algorithm


def _check_classifier(algorithm: object, description: str) -> None:
    if not isinstance(algorithm, type) or not all(
        hasattr(algorithm, method) for method in ("fit", "predict", "get_params", "set_params")
    ):
        raise TypeError(f"{description} must be a scikit-learn classifier class. Got {algorithm!r}.")


def _unknown(name: str) -> str:
    import difflib

    names = available()
    close = difflib.get_close_matches(name, names, n=5)
    # difflib rates 'pfm' and 'pdm' equally for 'pmd'; most typos swap letters.
    swapped = [candidate for candidate in close if sorted(candidate) == sorted(name)]
    hint = f" Did you mean {(swapped or close)[0]!r}?" if close else ""
    message = f"Unknown algorithm {name!r}.{hint} Available: {', '.join(names)}."
    if not built_ins():
        message += f" The built-ins are missing, because the package {OWN_PACKAGE!r} is not installed."
    for package, error in unreadable().items():
        message += f" The entry points of package {package!r} could not be read ({error})."
    return message
