from dataclasses import dataclass

import numpy as np

from margins.data.binary_data import rows_of
from margins.kernels._gram import GramRows
from margins.kernels.kernel import Kernel
from margins.kernels.row_blocks import as_dense
from margins.kernels.semidefinite import check_symmetry


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Precomputed kernel: X is the matrix of K(x, training sample), square for training.

    See Also
    --------
    Function : A kernel that is computed from the samples.

    Examples
    --------
    >>> import numpy as np, margins
    >>> X, y = np.array([[1.0, 2.0], [-1.0, 1.0], [0.0, -2.0]]), [1, 1, 0]
    >>> clf = margins.get("perceptron")(kernel="precomputed", random_state=0).fit(X @ X.T, y)
    >>> clf.predict(np.array([[1.0, 1.0]]) @ X.T)
    array([1])
    """

    name = "precomputed"
    formula = "X itself"

    def block(self, X, Z, x_sqnorms=None, z_sqnorms=None):
        raise ValueError(
            "Kernel 'precomputed' has no formula: its values are the elements of the matrix X. "
            f"Got matrices of shapes {X.shape} and {Z.shape} for which to compute values."
        )

    def training_block(self, X, indices, sqnorms=None):
        return as_dense(X[indices])

    def samples_of(self, X, indices):
        return X[indices][:, indices]

    def support_block(self, X, points, support):
        return np.ascontiguousarray(as_dense(X[:, support]).T)

    uses_products = False

    def _make_rows(self, X, cache_size, sqnorms):
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed kernel matrix of fit must be a square matrix. "
                f"Got shape {X.shape[0]} x {X.shape[1]}."
            )
        check_symmetry(self.label, X)
        diagonal = np.ascontiguousarray(X.diagonal(), dtype=np.float64)
        return GramRows(rows_of(X), diagonal)
