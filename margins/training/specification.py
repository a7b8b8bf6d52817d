"""The former home of `Specification`."""

from margins.deprecation import renamed

__getattr__ = renamed(
    __name__,
    {"Specification": "margins.solvers.specification.Specification"},
    since="0.4.0",
    until="0.6.0",
)
