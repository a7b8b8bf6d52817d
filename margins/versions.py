"""Versions of everything that results may depend on, for bug reports."""

import platform
import sys
from importlib import metadata

from margins._version import __version__
from margins.text import aligned

REQUIRED = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "click")
OPTIONAL = ("pandas", "pyarrow", "matplotlib", "skops", "rich", "tqdm", "distributed")
NOT_INSTALLED = "not installed"


def versions() -> dict[str, str]:
    """Return the versions of this package, Python, the system and the packages used: dict of str."""
    from margins._update import abi

    table = {
        "margins": __version__,
        "binary interface": str(abi),
        "Python": sys.version.replace("\n", " "),
        "system": platform.platform(),
        "processor": platform.machine(),
    }
    for name in (*REQUIRED, *OPTIONAL):
        try:
            table[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            table[name] = NOT_INSTALLED
    from threadpoolctl import threadpool_info

    for library in threadpool_info():
        kind, version = library["internal_api"], library["version"]
        table[kind] = f"{version}, {library['num_threads']} threads"
    return table


def show_versions() -> None:
    """Print the versions of this package, of Python and of the packages that it uses.

    Include them in bug reports.

    Examples
    --------
    >>> import margins
    >>> margins.show_versions()  # doctest: +ELLIPSIS
    margins...
    """
    print(aligned(versions().items(), left=(0, 1)))
