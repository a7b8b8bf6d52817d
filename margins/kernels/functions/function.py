from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from margins.kernels._row_cache import FunctionRows
from margins.kernels.kernel import Kernel, checked_values
from margins.kernels.row_blocks import batches_of

# Side of the square blocks whose diagonals are used; small, since their other elements are wasted.
DIAGONAL_BLOCK = 64


@dataclass(frozen=True)
class Function(Kernel):
    """Kernel defined by a callable, as with ``kernel=callable`` of an estimator.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` takes two matrices, shapes (i, d) and (j, d), ndarray or CSR, and returns
        their kernel matrix, an array or sparse matrix of shape (i, j).

    See Also
    --------
    Precomputed : A matrix instead of a function.
    Kernel : The base class of kernels with a formula.

    Examples
    --------
    >>> import numpy as np
    >>> from margins.kernels import Function
    >>> Function(lambda X, Z: (X @ Z.T) ** 2)(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]))
    array([[9.]])
    """

    function: Callable

    @property
    def label(self):
        return repr(self.function)

    def block(self, X, Z, x_sqnorms=None, z_sqnorms=None):
        return checked_values(self.label, self.function(X, Z), (X.shape[0], Z.shape[0]))

    uses_products = False

    def _make_rows(self, X, cache_size, sqnorms):
        blocks = [X[batch] for batch in batches_of(X.shape[0], DIAGONAL_BLOCK)]
        diagonal = np.concatenate([np.diagonal(self.block(block, block)) for block in blocks])
        return FunctionRows(lambda indices: self.training_block(X, indices), diagonal, cache_size)
