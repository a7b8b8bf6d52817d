from dataclasses import dataclass

from margins.kernels._transform cimport Transform
from margins.linalg._vectorised cimport radial, single_radial

from margins.kernels.gamma import KernelOfGamma, gamma_parameter


cdef class RadialTransform(Transform):
    """K(x, z) = exp(-gamma |x - z|^2)."""

    def __init__(self, double gamma):
        self.gamma = gamma

    cdef void row(self, double* values, Py_ssize_t n, double sqnorm, const double* sqnorms) noexcept nogil:
        radial(values, self.gamma, sqnorm, sqnorms, n)

    cdef bint single_block(
        self, float* values, Py_ssize_t n_rows, Py_ssize_t n_columns,
        const double* row_sqnorms, const double* column_sqnorms
    ) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(n_rows):
            single_radial(values + i * n_columns, <float> self.gamma, row_sqnorms[i], column_sqnorms, n_columns)
        return True


@dataclass(frozen=True)
class RBF(KernelOfGamma):
    """Radial basis function kernel, K(x, z) = exp(-gamma |x - z|**2).

    Parameters
    ----------
    gamma : float in (0, inf), "scale" or "auto", default="scale"
        "scale": 1 / (n_features * X.var()), "auto": 1 / n_features, of the training set X.

    Raises
    ------
    ValueError
        If gamma is not allowed.

    See Also
    --------
    Polynomial : A kernel of inner products.

    Examples
    --------
    >>> import numpy as np
    >>> from margins.kernels import RBF
    >>> RBF(gamma=0.5)(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [1.0, 0.0]])).round(4)
    array([[1.    , 0.1353]])
    """

    gamma: object = gamma_parameter()

    name = "rbf"
    formula = "exp(-gamma |x - z|**2)"
    uses_differences = True
    is_semidefinite = True

    def slope(self, sqradius):
        return 2 * float(self.gamma)

    def compiled(self):
        return RadialTransform(float(self.gamma))
