"""One module per kernel function; a new module here is a new kernel.

A module defines a subclass of `margins.kernels.kernel.Kernel` with a `name`. Every estimator with
kernels accepts that name, and reads the kernel's parameters from its own parameters of the same names.
"""

import importlib
import pkgutil

from margins.kernels.kernel import Kernel


def find_kernels(package):
    """The named kernels that the modules of a package define: dict of name to class, sorted by name."""
    found = {}
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            # Imported classes belong to the modules that define them.
            if not (isinstance(value, type) and issubclass(value, Kernel) and value.name is not None):
                continue
            if value.__module__ != module.name:
                continue
            if found.setdefault(value.name, value) is not value:
                owners = f"{found[value.name].__module__} and {module.name}"
                raise ValueError(f"The name of a kernel must be unique. Got {value.name!r} in {owners}.")
    return dict(sorted(found.items()))
