from dataclasses import dataclass

from margins.kernels._transform cimport Transform

from margins.kernels.gamma import KernelOfGamma, coef0_parameter, gamma_parameter
from margins.parameters import Interval, parameter

cdef enum:
    CHUNK = 512   # values whose powers are computed at once


cdef class PolynomialTransform(Transform):
    """K(x, z) = (gamma x.z + coef0)^degree, by repeated squaring: exact for small integers."""

    def __init__(self, double gamma, double coef0, int degree):
        self.gamma, self.coef0, self.degree = gamma, coef0, degree

    cdef void row(self, double* values, Py_ssize_t n, double sqnorm, const double* sqnorms) noexcept nogil:
        cdef double[CHUNK] bases
        cdef Py_ssize_t j, length, begin = 0
        cdef int degree
        while begin < n:  # in the processor's nearest cache, and each loop in vectors
            length = min(<Py_ssize_t> CHUNK, n - begin)
            for j in range(length):
                bases[j] = self.gamma * values[begin + j] + self.coef0
                values[begin + j] = 1
            degree = self.degree
            while degree:
                if degree & 1:
                    for j in range(length):
                        values[begin + j] *= bases[j]
                for j in range(length):
                    bases[j] *= bases[j]
                degree >>= 1
            begin += length


@dataclass(frozen=True)
class Polynomial(KernelOfGamma):
    """Polynomial kernel, K(x, z) = (gamma x.z + coef0)**degree.

    Parameters
    ----------
    degree : int in [0, 2147483647], default=3
    gamma : float in (0, inf), "scale" or "auto", default="scale"
        "scale": 1 / (n_features * X.var()), "auto": 1 / n_features, of the training set X.
    coef0 : float, default=0.0

    Raises
    ------
    ValueError
        If a parameter is not allowed.

    See Also
    --------
    RBF : A kernel of distances.

    Examples
    --------
    >>> import numpy as np
    >>> from margins.kernels import Polynomial
    >>> kernel = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    >>> kernel(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 1.0]]))
    array([[16.,  9.]])
    """

    degree: int = parameter(default=3, allowed=Interval(0, 2**31 - 1, integer=True), description="The exponent.")
    gamma: object = gamma_parameter()
    coef0: float = coef0_parameter()

    name = "poly"
    formula = "(gamma x.z + coef0)**degree"
    uses_sqnorms = False

    @property
    def is_semidefinite(self):
        return self.coef0 >= 0

    def slope(self, sqradius):
        if self.degree == 0:
            return 0.0
        base = float(self.gamma) * sqradius + abs(float(self.coef0))
        return self.degree * float(self.gamma) * base ** (self.degree - 1)

    def compiled(self):
        return PolynomialTransform(float(self.gamma), float(self.coef0), int(self.degree))
