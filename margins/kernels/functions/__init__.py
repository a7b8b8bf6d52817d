"""One module per kernel function; a new module here is a new kernel.

A module defines a subclass of `margins.kernels.kernel.Kernel` with a `name`. Every estimator with
kernels accepts this name, and passes its parameters to the kernel's parameters of the same names.
"""

import importlib
import pkgutil

from margins.kernels.kernel import Kernel


def find_kernels(package):
    """Return the named kernels in the modules of a package (dict of name to class, sorted)."""
    kernels = {}
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            # Skip imported classes: they belong to the modules that define them.
            if not (isinstance(value, type) and issubclass(value, Kernel) and value.name is not None):
                continue
            if value.__module__ != module.name:
                continue
            if kernels.setdefault(value.name, value) is not value:
                owners = f"{kernels[value.name].__module__} and {module.name}"
                raise ValueError(f"The name of a kernel must be unique. Got {value.name!r} in {owners}.")
    return dict(sorted(kernels.items()))
