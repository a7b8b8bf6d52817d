from dataclasses import dataclass

from margins.data.binary_data import rows_of
from margins.kernels._transform import Transform
from margins.kernels.kernel import Kernel


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear kernel, K(x, z) = x.z; estimators then train on the rows of X itself.

    See Also
    --------
    Polynomial, RBF : Kernels with a parameter gamma.

    Examples
    --------
    >>> import numpy as np
    >>> from margins.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 1.0]]))
    array([[3., 2.]])
    """

    name = "linear"
    formula = "x.z"
    uses_sqnorms = False
    is_semidefinite = True

    def compiled(self):
        return Transform()

    def rows(self, X, cache_size):
        return rows_of(X)
