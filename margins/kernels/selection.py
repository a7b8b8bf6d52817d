"""From the parameters of an estimator to its kernel."""

import dataclasses

from margins.kernels import KERNELS, LINEAR, Function, Kernel
from margins.parameters import CALLABLE, AnyOf, OneOf, parameter


def kernel_of(estimator, X):
    """The kernel that an estimator's parameters select, with parameters that depend on X resolved.

    Parameters
    ----------
    estimator : object
        `kernel` is a name in `KERNELS`, a Kernel or another callable. A named kernel takes its
        parameters from attributes of the same names, or its own defaults where there are none.
    X : ndarray or CSR matrix of float64 or float32, shape (m, d)

    Returns
    -------
    Kernel
    """
    kernel = estimator.kernel
    if isinstance(kernel, str):
        if kernel == LINEAR.name:
            return LINEAR  # nothing to resolve, and the first thing of every linear fit
        cls = KERNELS[kernel]
        names = [field.name for field in dataclasses.fields(cls)]
        kernel = cls(**{name: getattr(estimator, name) for name in names if hasattr(estimator, name)})
    elif not isinstance(kernel, Kernel):
        kernel = Function(kernel)
    return kernel.resolve(X)


def kernel_choice(reserved=()):
    """Declare the parameter `kernel` of an estimator: dataclasses.Field.

    Parameters
    ----------
    reserved : sequence of str
        Parameters that mean something else to this estimator: kernels with such a parameter are not
        available by name, only as an object.
    """
    named = {
        name: cls
        for name, cls in KERNELS.items()
        if not {field.name for field in dataclasses.fields(cls)} & set(reserved)
    }
    formulas = ", ".join(f"{name!r} is {cls.formula}" for name, cls in named.items())
    description = (
        f"As SVC's: {formulas}. A callable, such as a margins.kernels.Kernel, takes two matrices and "
        "returns the kernel matrix."
    )
    if reserved:
        own = " and ".join(f"`{name}`" for name in reserved)
        description += f" ({own} is no kernel's parameter here: kernels with it are given as objects.)"
    return parameter(default="linear", allowed=AnyOf(OneOf(*named), CALLABLE), description=description)


def kernel_parameter(name):
    """Declare a parameter of named kernels as one of an estimator: dataclasses.Field."""
    fields = {
        kernel: field
        for kernel, cls in KERNELS.items()
        for field in dataclasses.fields(cls)
        if field.name == name
    }
    if not fields:
        raise ValueError(f"A kernel parameter must be one of a kernel in {list(KERNELS)}. Got {name!r}.")
    field = next(iter(fields.values()))
    *others, last = map(repr, fields)
    owners = f"{', '.join(others)} or {last}" if others else last
    return parameter(
        default=field.default,
        allowed=field.metadata["allowed"],
        description=f"Of kernel={owners}. {field.metadata['description']}",
    )
