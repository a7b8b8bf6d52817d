"""Kernels: inner products in a feature space whose coordinates are never computed.

The dual variables determine a classifier with a kernel: ``score(x) = sum_k alpha_k l_k K(x_k, x) +
bias``. The kernels are the same as in scikit-learn's SVC. A kernel is an object (`Kernel`) with one
formula for training and prediction. `KERNELS` maps the names that estimators accept to classes.
"""

from margins.kernels.functions.function import Function
from margins.kernels.functions.linear import Linear
from margins.kernels.functions.poly import Polynomial
from margins.kernels.functions.precomputed import Precomputed
from margins.kernels.functions.rbf import RBF
from margins.kernels.functions.sigmoid import Sigmoid
from margins.kernels.kernel import Kernel

KERNELS = {kernel.name: kernel for kernel in (Linear, Polynomial, Precomputed, RBF, Sigmoid)}
LINEAR = Linear()

__all__ = [
    "KERNELS",
    "LINEAR",
    "RBF",
    "Function",
    "Kernel",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
]
