"""The former home of `Specification`."""

from margins.deprecation import renamed

__getattr__ = renamed(
    __name__,
    {
        name: f"margins.solvers.specification.{name}"
        for name in ("Specification", "Patience", "SMALLEST_C", "LARGEST_C")
    },
    since="0.4.0",
    until="0.6.0",
)
