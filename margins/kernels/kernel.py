"""The base class of kernels: one formula for the rows of training and the blocks of prediction."""

import dataclasses
import functools
import math

import numpy as np

from margins.data._binary_data import LARGEST_SQNORM
from margins.data.binary_data import check_lengths, is_sparse, rows_of
from margins.data.validation import validate_matrix
from margins.kernels._columns import inner_products
from margins.kernels._distances import squared_distances
from margins.kernels._row_cache import FunctionRows, ProductRows
from margins.kernels._transform import ArrayTransform
from margins.kernels.row_blocks import FormulaBlocks, RowBlocks, as_dense, batches_of
from margins.kernels.shared_blocks import SharedBlocks
from margins.linalg.threads import one_thread
from margins.parameters import check
from margins.tuning import TUNING

# Memory for a block of kernel values in predictions, in bytes.
BLOCK_BYTES = 2**25
# An array with at most this share of nonzero numbers is copied without its zeros.
MOSTLY_ZEROS = 0.5
# Sparse rows may be multiplied as dense copies if both matrices have at least this many rows, which make
# up for copying.
MIN_ROWS = 128
# A kernel of differences sums the distance of two rows directly if rounding |x|^2 + |z|^2 - 2 x.z by a
# unit in the last place may change K(x, z) by this number of units.
MAX_CANCELLED = 4096
NO_ROWS = np.empty(0, dtype=np.intp)


class Kernel:
    """Kernel function K(x, z), with its parameters.

    A subclass is a frozen dataclass whose fields are the parameters, declared with
    `margins.parameters.parameter`. It defines `transform`, which computes K(x, z) from x.z, |x|^2 and
    |z|^2 with NumPy, or `compiled`, which returns the formula as compiled code. A kernel that is not a
    function of these three numbers defines `block` and `_make_rows` instead.

    An estimator accepts an instance as its `kernel`. Kernels in `margins.kernels.functions` are also
    available by name.

    Attributes
    ----------
    name : str or None
        Name that estimators accept.
    formula : str
        K(x, z) in the documentation.
    uses_sqnorms : bool
        True: the formula reads |x|^2 and |z|^2, so a row whose squared norm overflows raises an error.
    uses_products : bool
        True: the kernel is a function of x.z, |x|^2 and |z|^2.
    uses_differences : bool
        True: K(x + t, z + t) = K(x, z), so the mean of X may be subtracted. If rows are so long that
        |x|^2 + |z|^2 - 2 x.z would lose their distance, |x - z|^2 is summed instead; `slope` determines
        these rows.
    is_semidefinite : bool
        True: the kernel matrix of any samples is positive semidefinite. False: the matrix of at most 512
        samples is checked; if it is not semidefinite, certificates prove nothing.

    See Also
    --------
    Linear, Polynomial, RBF, Sigmoid, Precomputed, Function : The kernels of this package.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np, margins
    >>> from margins.kernels import Kernel
    >>> @dataclass(frozen=True)
    ... class Cosine(Kernel):
    ...     def transform(self, products, x_sqnorms, z_sqnorms):
    ...         return products / np.sqrt(x_sqnorms * z_sqnorms)
    >>> Cosine()(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 2.0]]))
    array([[0.6, 0.8]])
    >>> X, y = np.array([[1.0, 2.0], [-1.0, 1.0], [0.0, -2.0]]), [1, 1, 0]
    >>> margins.get("perceptron")(kernel=Cosine(), random_state=0).fit(X, y).predict(X)
    array([1, 1, 0])
    """

    name: str | None = None
    formula = ""
    uses_sqnorms = True
    uses_products = True
    uses_differences = False
    is_semidefinite = False

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if "allowed" in field.metadata:
                value = getattr(self, field.name)
                check(field.name, type(self).__name__, value, field.metadata["allowed"])

    @property
    def label(self):
        """The name of the kernel in errors."""
        return repr(self.name) if self.name is not None else repr(self)

    def transform(self, products, x_sqnorms, z_sqnorms):
        """Return K(x, z) from x.z, |x|^2 and |z|^2, finite and equal for (x, z) and (z, x).

        Parameters
        ----------
        products : ndarray of float64
            x.z, in the shape of the result; may be overwritten and returned.
        x_sqnorms, z_sqnorms : ndarrays of float64
            |x|^2 and |z|^2, which broadcast with `products`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define transform(products, x_sqnorms, z_sqnorms) or compiled()."
        )

    def scaled(self, factor):
        """Return the kernel K' with K'(factor x, factor z) = K(x, z) (Kernel); None if there is none."""
        return None

    def compiled(self):
        """Return the formula for compiled loops (margins.kernels._transform.Transform)."""

        def function(products, *sqnorms):
            return checked_values(self.label, self.transform(products, *sqnorms), products.shape)

        return ArrayTransform(function)

    def resolve(self, X):
        """Return the kernel after computing parameters that depend on training set X (Kernel)."""
        return self

    def __call__(self, X, Z):
        """Return the kernel matrix of two matrices, like scikit-learn's callable kernels."""
        X = validate_matrix(X, f"X of kernel {self.label}")
        Z = validate_matrix(Z, f"Z of kernel {self.label}")
        return self.resolve(Z).block(X, Z)

    def block(self, X, Z, x_sqnorms=None, z_sqnorms=None):
        """Return K(x, z) of all pairs of rows, by matrix products."""
        values = _inner_products(X, Z)
        if x_sqnorms is None:
            x_sqnorms = rows_of(X).sqnorms()
        if z_sqnorms is None:
            z_sqnorms = rows_of(Z).sqnorms()
        self.compiled()(values, x_sqnorms, z_sqnorms)
        long_x, long_z = self._long_rows(x_sqnorms), self._long_rows(z_sqnorms)
        if len(long_x) and len(long_z):
            values[np.ix_(long_x, long_z)] = self._block_of_distances(X[long_x], Z[long_z])
        return values

    def _long_rows(self, sqnorms):
        """Return which rows are so long that distances must not be computed from products."""
        if not self.uses_differences or not len(sqnorms):
            return NO_ROWS
        largest = float(sqnorms.max())
        slope = self.slope(largest)
        if slope * largest <= MAX_CANCELLED:
            return NO_ROWS
        return np.flatnonzero(slope * sqnorms > MAX_CANCELLED)

    def _block_of_distances(self, X, Z):
        """Return K(x, z) of all pairs of rows, for a kernel of differences, from their distances."""
        # Setting |x| = |z| = 0, the inner product -|x - z|^2 / 2 encodes the distance of x and z.
        values = -0.5 * squared_distances(rows_of(X), rows_of(Z))
        self.compiled()(values, np.zeros(X.shape[0]), np.zeros(Z.shape[0]))
        return values

    def training_block(self, X, indices, sqnorms=None):
        """Return some rows of the kernel matrix of a training set."""
        return self.block(X[indices], X, None if sqnorms is None else sqnorms[indices], sqnorms)

    def samples_of(self, X, indices):
        """Return some samples of a training set: rows of X and, if precomputed, also its columns."""
        return X[indices]

    def rows(self, X, cache_size):
        """Return the rows of the kernel matrix of a training set."""
        sqnorms = rows_of(X).sqnorms() if self.uses_products else None
        rows = self._make_rows(X, cache_size, sqnorms)
        # Blocks are made on demand and once: all classes that a thread trains share them.
        is_product = isinstance(rows, ProductRows)
        rows.blocks = SharedBlocks(self, X, cache_size, sqnorms if is_product else None)
        diagonal = rows.sqnorms()
        if not 0 <= diagonal.min() <= diagonal.max() <= LARGEST_SQNORM:
            invalid = np.flatnonzero(~((diagonal >= 0) & (diagonal <= LARGEST_SQNORM)))
            raise ValueError(
                f"The kernel {self.label} must have K(x, x) in [0, {LARGEST_SQNORM:g}]. "
                f"Got {diagonal[invalid[0]]:g} for sample {invalid[0]}."
            )
        rows.blocks.watch(rows, np.sqrt(diagonal))  # before any training
        return rows

    def slope(self, sqradius):
        """Return a bound on the derivative of K(x, z) by x.z for squared norms up to `sqradius`, or inf.

        It bounds the effect of rounding inner products. If it is unknown (inf), a kernel of differences
        is computed from distances, which takes longer.
        """
        return math.inf

    def row_blocks(self, X, cache_size, sqnorms, densely=False):
        """Return the kernel matrix of a training set in blocks of rows, in single precision."""
        if sqnorms is None:
            return RowBlocks(self, X, cache_size)
        return FormulaBlocks(self, X, cache_size, sqnorms, densely)

    def _make_rows(self, X, cache_size, sqnorms):
        """Return the rows of the kernel matrix of X, without checks (margins._sparse.Rows)."""
        if self.uses_sqnorms:
            check_lengths(sqnorms)
        if len(self._long_rows(sqnorms)) > 1:  # some pairs of rows need their distance
            diagonal = self.compiled().diagonal(np.zeros(len(sqnorms)))
            function = functools.partial(self.training_block, X, sqnorms=sqnorms)
            return FunctionRows(function, diagonal, cache_size)
        compressed = None if is_sparse(X) else functools.partial(_without_zeros, X)
        return ProductRows(rows_of(X), self.compiled(), sqnorms, cache_size, compressed)

    def blocks(self, X, points, support):
        """Yield the kernel matrix of the support vectors and X, for some rows of X at a time."""
        for batch in self.batches(X.shape[0], len(support)):
            yield batch, self.support_block(X[batch], points, support)

    def support_block(self, X, points, support):
        """Return the kernel matrix of the support vectors and X, computed by this thread alone."""
        if len(support) == 0:
            return np.empty((0, X.shape[0]))
        with one_thread():
            return np.ascontiguousarray(self.block(points, X))

    def batches(self, n_samples, n_support):
        """Return slices of the samples whose blocks of kernel values take at most `BLOCK_BYTES`."""
        return batches_of(n_samples, max(1, BLOCK_BYTES // (8 * max(n_support, 1))))


def _inner_products(X, Z):
    """Return x.z of all pairs of rows (ndarray of float64, shape (i, j))."""
    (n_rows, d), n_points = X.shape, Z.shape[0]
    sparse_ones = [matrix for matrix in (X, Z) if is_sparse(matrix)]
    if not sparse_ones:
        return as_dense(X) @ as_dense(Z).T
    n_numbers = sum(d * matrix.shape[0] for matrix in sparse_ones)
    dense_ratio = TUNING.decomposition.dense_ratio
    is_mostly_zero = n_numbers > dense_ratio * sum(matrix.nnz for matrix in sparse_ones)
    if is_mostly_zero or min(n_rows, n_points) < MIN_ROWS:
        return inner_products(rows_of(X), rows_of(Z))
    values, length = np.empty((n_rows, n_points)), max(MIN_ROWS, BLOCK_BYTES // (8 * max(d, 1)))
    for points in batches_of(n_points, length):
        dense_points = as_dense(Z[points]).T
        for rows in batches_of(n_rows, length):
            values[rows, points] = as_dense(X[rows]) @ dense_points
    return values


def _without_zeros(X):
    """Return the rows of an array as CSR if most of it is 0 (Rows or None); sums do not change."""
    if np.count_nonzero(X) > MOSTLY_ZEROS * X.size:
        return None
    from scipy import sparse

    return rows_of(sparse.csr_array(X))


def checked_values(label, values, shape):
    """Return the values that a kernel function of users returned (ndarray of float64)."""
    values = as_dense(values)
    is_finite = np.isfinite(values).all()
    if values.shape != shape or not is_finite:
        raise ValueError(
            f"The kernel {label} must return a finite array of shape {shape} for these two matrices. "
            f"Got shape {values.shape}{'' if is_finite else ' with values that are not finite'}."
        )
    return values
