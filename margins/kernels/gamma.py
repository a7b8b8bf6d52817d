"""The parameters `gamma` and `coef0` of kernels; a rule may compute gamma from the training set."""

import dataclasses
import math

import numpy as np

from margins.data.binary_data import is_sparse, without_duplicates
from margins.kernels.kernel import Kernel
from margins.parameters import POSITIVE, AnyOf, Interval, OneOf, parameter

GAMMA = AnyOf(OneOf("scale", "auto"), POSITIVE)


def gamma_parameter():
    """Return the field `gamma` of a kernel."""
    description = "Width of the kernel; 'scale': 1 / (n_features * X.var()), 'auto': 1 / n_features."
    return parameter(default="scale", allowed=GAMMA, description=description)


def coef0_parameter():
    """Return the field `coef0` of a kernel that is a function of gamma x.z + coef0."""
    allowed = Interval(-math.inf, math.inf, "neither")
    return parameter(default=0.0, allowed=allowed, description="Number added to gamma x.z.")


class KernelOfGamma(Kernel):
    """Kernel with a field `gamma`: float, "scale" or "auto"; a subclass is a frozen dataclass."""

    def scaled(self, factor):
        gamma = float(self.gamma) / factor / factor
        return dataclasses.replace(self, gamma=gamma) if 0 < gamma < math.inf else None

    def resolve(self, X):
        """Return the kernel with `gamma` as a number, computed from training set X (Kernel)."""
        gamma = self.gamma
        if gamma == "auto":
            gamma = 1 / X.shape[1]
        elif gamma == "scale":
            gamma = _scale_of(X)
        return dataclasses.replace(self, gamma=float(gamma))


def _scale_of(X):
    """Return 1 / (n_features * variance of all elements) in double; 1 if this is not a number."""
    # Rows that are too long are rejected later.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if is_sparse(X):
            X = without_duplicates(X)
            values = X.data[: X.indptr[-1]].astype(np.float64, copy=False)
            n, mean = math.prod(X.shape), values.sum() / math.prod(X.shape)
            variance = (((values - mean) ** 2).sum() + (n - len(values)) * mean**2) / n
        else:
            variance = X.var(dtype=np.float64)
        gamma = 1 / np.float64(X.shape[1] * variance)
    return float(gamma) if 0 < gamma < math.inf else 1.0
