"""A kernel in one file, as a user adds it."""

from dataclasses import dataclass

from margins.kernels import Kernel
from margins.parameters import POSITIVE, parameter


@dataclass(frozen=True)
class RationalQuadratic(Kernel):
    """K(x, z) = (1 + |x - z|**2 / (2 alpha length_scale**2)) ** -alpha."""

    alpha: float = parameter(default=1.0, allowed=POSITIVE, description="Mixture of scales.")
    length_scale: float = parameter(default=1.0, allowed=POSITIVE, description="Length scale.")

    name = "rational-quadratic"
    formula = "(1 + |x - z|**2 / (2 alpha length_scale**2))**-alpha"

    def transform(self, products, x_sqnorms, z_sqnorms):
        sqdistances = (x_sqnorms + z_sqnorms - 2 * products).clip(0)
        return (1 + sqdistances / (2 * self.alpha * self.length_scale**2)) ** -self.alpha
