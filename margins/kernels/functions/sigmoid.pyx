from dataclasses import dataclass

from libc.math cimport tanh
from margins.kernels._transform cimport Transform

from margins.kernels.gamma import KernelOfGamma, coef0_parameter, gamma_parameter


cdef class SigmoidTransform(Transform):
    """K(x, z) = tanh(gamma x.z + coef0)."""

    def __init__(self, double gamma, double coef0):
        self.gamma, self.coef0 = gamma, coef0

    cdef void row(self, double* values, Py_ssize_t n, double sqnorm, const double* sqnorms) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(n):
            values[j] = tanh(self.gamma * values[j] + self.coef0)


@dataclass(frozen=True)
class Sigmoid(KernelOfGamma):
    """Sigmoid kernel, K(x, z) = tanh(gamma x.z + coef0).

    On most data it is not positive semidefinite, and its fits then end without a proof.

    Parameters
    ----------
    gamma : float in (0, inf), "scale" or "auto", default="scale"
        "scale": 1 / (n_features * X.var()), "auto": 1 / n_features, of the training set X.
    coef0 : float, default=0.0

    Raises
    ------
    ValueError
        If a parameter is not allowed or, in training, if K(x, x) of a sample is negative.

    See Also
    --------
    RBF, Polynomial : Kernels that are positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from margins.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5)(np.array([[1.0, 2.0]]), np.array([[2.0, 0.0], [0.0, -1.0]])).round(4)
    array([[ 0.7616, -0.7616]])

    **Source**: Lin & Lin (2003), A study on sigmoid kernels for SVM and the training of non-PSD kernels
    by SMO-type methods.
    """

    gamma: object = gamma_parameter()
    coef0: float = coef0_parameter()

    name = "sigmoid"
    formula = "tanh(gamma x.z + coef0)"
    uses_sqnorms = False

    def slope(self, sqradius):
        return float(self.gamma)

    def compiled(self):
        return SigmoidTransform(float(self.gamma), float(self.coef0))
