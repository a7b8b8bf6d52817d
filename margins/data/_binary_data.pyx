"""The data of one binary problem, for compiled loops.

A sample is y_k = l_k [x_k, rho]: the row x_k, augmented by rho for the bias, times its label. With a soft margin, it
has a slack term, which adds D_k = Delta_k^2 to |y_k|^2 and D_k alpha_k to a.y_k. The slack term is never stored.
"""

from libc.math cimport INFINITY

import numpy as np

from margins._limits cimport MAX_SQNORM, MIN_SQNORM

# Limits for the validation of data.
SMALLEST_SQNORM: float = MIN_SQNORM
LARGEST_SQNORM: float = MAX_SQNORM


cdef class BinaryData:
    """Samples of one binary problem, over arrays that the caller owns.

    Parameters
    ----------
    rows : Rows
        The matrix X.
    labels : ndarray of int8, shape (m,)
        -1 or +1.
    sqnorms : ndarray of float64, shape (m,)
        |x_k|^2 + rho^2.
    sq_intercept_scaling : float
        rho^2, the square of the augmentation: the bias is rho^2 sum_k alpha_k l_k. 0: no bias.
    diag : ndarray of float64, shape (m,)
        D_k, the diagonal of the slack terms; 0 for a hard margin. May be a broadcast scalar.
    upper : ndarray of float64, shape (m,)
        Upper bound of the dual variable alpha_k; inf: no bound. May be a broadcast scalar.
    offset : ndarray of float64, shape (m,), optional
        Offset of the lambda trick, added to a.y_k in comparisons with the threshold while alpha_k > 0.
    has_free_intercept : bool
        True: the intercept is not penalised, so that sum_k alpha_k l_k = 0; rho is then 0.
    weight : ndarray of float64, shape (m,), optional
        Factor of what an update adds, and of the votes and averages of a sample; None: 1.
    """

    def __init__(
        self, Rows rows not None, labels: NDArray[np.int8], sqnorms: NDArray[np.float64], double sq_intercept_scaling,
        diag: NDArray[np.float64], upper: NDArray[np.float64], offset: NDArray[np.float64] | None = None,
        bint has_free_intercept=False, weight: NDArray[np.float64] | None = None,
    ):
        self.rows, self.labels, self.sqnorms, self.weight = rows, labels, sqnorms, weight
        self.diag, self.upper, self.offset = diag, upper, offset
        self.sq_intercept_scaling, self.has_free_intercept = sq_intercept_scaling, has_free_intercept

    def with_limits(
        self, upper: NDArray[np.float64] | None = None, offset: NDArray[np.float64] | None = None,
        diag: NDArray[np.float64] | None = None,
    ) -> BinaryData:
        """Return the same samples with new upper bounds of the dual variables, offset or diagonal."""
        cdef BinaryData result = BinaryData.__new__(BinaryData)
        result.rows, result.labels, result.sqnorms, result.weight = self.rows, self.labels, self.sqnorms, self.weight
        result.sq_intercept_scaling, result.has_free_intercept = self.sq_intercept_scaling, self.has_free_intercept
        result.diag = self.diag if diag is None else diag
        result.upper = self.upper if upper is None else upper
        result.offset = self.offset if offset is None else offset
        return result

    def over(self, Rows rows not None) -> BinaryData:
        """Return the same samples as rows of another matrix with the same inner products."""
        cdef BinaryData result = self.with_limits()
        result.rows = rows
        return result

    @property
    def signs(self) -> NDArray[np.int8]:
        """The labels -1 and +1, int8, shape (m,)."""
        return np.asarray(self.labels)

    def __len__(self):
        return self.labels.shape[0]

    @property
    def weights(self) -> NDArray[np.float64]:
        """The factors of what an update adds, shape (m,)."""
        return np.ones(len(self)) if self.weight is None else np.asarray(self.weight)

    @property
    def ordinary_sqnorms(self) -> NDArray[np.float64]:
        """|x_k|^2 + rho^2, shape (m,)."""
        return np.asarray(self.sqnorms)

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """D_k, shape (m,)."""
        return np.asarray(self.diag)

    @property
    def upper_bounds(self) -> NDArray[np.float64]:
        """The upper bounds of the dual variables, shape (m,)."""
        return np.asarray(self.upper)

    @property
    def max_upper(self) -> float:
        """The largest upper bound of a dual variable; inf: no bound."""
        cdef double largest = 0
        cdef Py_ssize_t k
        with nogil:
            for k in range(self.upper.shape[0]):
                largest = max(largest, self.upper[k])
        return largest

    @property
    def min_diagonal(self) -> float:
        """The smallest D_k."""
        cdef double smallest = INFINITY
        cdef Py_ssize_t k
        with nogil:
            for k in range(self.diag.shape[0]):
                smallest = min(smallest, self.diag[k])
        return smallest

    @property
    def max_sqnorm(self) -> float:
        """R^2, the largest squared norm of a sample, bias and slack term included."""
        cdef double largest = 0
        cdef Py_ssize_t k
        with nogil:
            for k in range(self.sqnorms.shape[0]):
                largest = max(largest, self.sqnorms[k] + self.diag[k])
        return largest
