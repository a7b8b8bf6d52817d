"""Selects the kernel of an estimator from its parameters."""

import dataclasses

from margins.kernels import KERNELS, LINEAR, Function, Kernel
from margins.parameters import CALLABLE, AnyOf, OneOf, parameter


def kernel_of(estimator, X):
    """Return the kernel of an estimator's parameters, with parameters that depend on X resolved."""
    kernel = estimator.kernel
    if isinstance(kernel, str):
        if kernel == LINEAR.name:
            return LINEAR  # it has nothing to resolve, and every linear fit comes here
        cls = KERNELS[kernel]
        names = [field.name for field in dataclasses.fields(cls)]
        kernel = cls(**{name: getattr(estimator, name) for name in names if hasattr(estimator, name)})
    elif not isinstance(kernel, Kernel):
        if isinstance(kernel, type) and issubclass(kernel, Kernel):
            owner = type(estimator).__name__
            raise TypeError(f"kernel of {owner} must be an instance. Got the class {kernel.__name__}.")
        kernel = Function(kernel)
    return kernel.resolve(X)


def parameters_of(kernel):
    """Return the names of the parameters that a kernel takes from an estimator: set of str."""
    named = KERNELS.get(kernel) if isinstance(kernel, str) else None
    return {field.name for field in dataclasses.fields(named)} if named else set()


def kernel_choice(reserved=()):
    """Declare the parameter `kernel` of an estimator (dataclasses.Field)."""
    fields = {name: {field.name for field in dataclasses.fields(cls)} for name, cls in KERNELS.items()}
    available = {name: cls for name, cls in KERNELS.items() if fields[name].isdisjoint(reserved)}
    formulas = ", ".join(f"{name!r} is {cls.formula}" for name, cls in available.items())
    description = (
        f"The kernel, as in SVC: {formulas}. A callable, such as a margins.kernels.Kernel, takes two "
        "matrices and returns the kernel matrix."
    )
    if reserved:
        names = " and ".join(f"`{name}`" for name in reserved)
        description += f" ({names} has another meaning here: pass kernels with it as objects.)"
    allowed = AnyOf(OneOf(*available), CALLABLE)
    return parameter(default="linear", allowed=allowed, description=description)


def kernel_parameter(name):
    """Declare a parameter of named kernels as an estimator's parameter (dataclasses.Field)."""
    kernels = [(kernel, field) for kernel, cls in KERNELS.items() for field in dataclasses.fields(cls)]
    fields = {kernel: field for kernel, field in kernels if field.name == name}
    if not fields:
        raise ValueError(f"name must be a parameter of a kernel in {list(KERNELS)}. Got {name!r}.")
    field = next(iter(fields.values()))
    *others, last = map(repr, fields)
    owners = f"{', '.join(others)} or {last}" if others else last
    description = f"Parameter of kernel={owners}. {field.metadata['description']}"
    return parameter(default=field.default, allowed=field.metadata["allowed"], description=description)
