"""The width `gamma` of a kernel: a number, or a rule that derives one from the training set."""

import dataclasses
import math

import numpy as np
from scipy import sparse

from margins.data.binary_data import without_duplicates
from margins.parameters import POSITIVE, AnyOf, OneOf

GAMMA = AnyOf(OneOf("scale", "auto"), POSITIVE)
GAMMA_DESCRIPTION = "The width; 'scale': 1 / (n_features * X.var()), 'auto': 1 / n_features."


def resolved(kernel, X):
    """The kernel with its `gamma` as a number, of training set X: Kernel.

    Parameters
    ----------
    kernel : Kernel
        A frozen dataclass with a field `gamma`: float, "scale" or "auto".
    X : ndarray or CSR matrix of float64 or float32, shape (m, d)
    """
    gamma = kernel.gamma
    if gamma == "auto":
        gamma = 1 / X.shape[1]
    elif gamma == "scale":
        gamma = _scale_of(X)
    return dataclasses.replace(kernel, gamma=float(gamma))


def _scale_of(X):
    """1 / (n_features * variance of all elements), computed in double; 1 if there is no such number."""
    with np.errstate(over="ignore", invalid="ignore"):  # rows that are too long are rejected later
        if sparse.issparse(X):
            X = without_duplicates(X)
            values = X.data[: X.indptr[-1]].astype(np.float64, copy=False)
            n, mean = math.prod(X.shape), values.sum() / math.prod(X.shape)
            variance = (((values - mean) ** 2).sum() + (n - len(values)) * mean**2) / n
        else:
            variance = X.var(dtype=np.float64)
    return 1 / (X.shape[1] * variance) if variance > 0 and math.isfinite(variance) else 1.0
