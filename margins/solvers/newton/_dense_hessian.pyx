"""A stored Hessian, updated from step to step: for Newton steps with few features.

The problem: for changing sets of samples, keep the sum of s_k y_k y_k^T, and solve

    (I + factor * the sum) x = vector

Most samples stay in the set from one step to the next, so those that enter or leave it are added or
subtracted; dense samples in blocks, by BLAS.

Where features are far from 0 for their spread, sums of products cancel. Then they are measured from a centre
c: x.w + rho b is (x - c).w + rho b', with b' = b + c.w / rho, and the system is the one of w and b'.

The Hessian only determines the search direction: certificates are computed from sums in double
precision. Blocks are multiplied in single precision unless the Hessian is too close to singular for that.

Source: Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large scale
linear SVMs.
"""

from libc.math cimport isfinite, sqrt
from libc.stdint cimport int8_t, int32_t
from margins.solvers.newton._dense_block cimport DenseBlock
from margins._update cimport BinaryData
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs

import numpy as np

# If a squared pivot of the Cholesky factor is less than MIN_PIVOT sqrt(n) times its diagonal element, for n
# features, the Hessian is recomputed in double precision: its rounding in single precision may exceed 1/64
# of the pivot.
cdef double MIN_PIVOT = 4e-6


cdef class DenseHessian(Hessian):
    """The sum of s_k y_k y_k^T over the free samples, stored and updated from step to step.

    Parameters
    ----------
    data : BinaryData
    curvature : ndarray of float64, shape (m,)
        s_k > 0.
    in_blocks : bool
        True: samples are added as dense rows, in blocks, by BLAS.
    centre : ndarray of float64, shape (n_features,), optional
        c; None: 0.
    is_double : bool
        True: these blocks are multiplied in double precision from the beginning.

    Attributes
    ----------
    included : ndarray of int8, shape (m,)
        1 for the samples in the sum.
    """

    def __init__(self, BinaryData data not None, const double[::1] curvature, bint in_blocks=False,
                 bint is_double=False, const double[::1] centre=None):
        cdef Py_ssize_t m = data.rows.n_rows, n = data.rows.n_features + (data.sqrho > 0)
        Hessian.__init__(self, data, curvature, centre)
        self.sum = np.zeros((n, n + 1))
        if in_blocks:
            self.block = DenseBlock(n, m, is_double=is_double)

    @property
    def is_double(self):
        """True if products are computed in double precision."""
        return not self._is_single()

    @property
    def matrix(self):
        """The lower triangle of the sum: ndarray of float64, shape (n, n)."""
        return np.tril(np.asarray(self.sum)[:, :-1])

    def begin(self, const double[:, ::1] matrix not None):
        """Begin with all samples included, given the lower triangle of their sum, shape (n, n)."""
        cdef Py_ssize_t i, j
        for i in range(self.sum.shape[0]):
            for j in range(i + 1):
                self.sum[i, j] = matrix[i, j]
        self.is_included[:] = 1
        self.n_free = self.is_included.shape[0]

    cdef void update(self, const int32_t[::1] working_set, const int8_t[::1] free) noexcept nogil:
        """Add the samples that have become free, and subtract those that are no longer free.

        All samples included before must be in the working set.
        """
        cdef Py_ssize_t i, k, n_leaving = 0, n_staying = 0
        cdef bint joining
        self.n_free = 0
        for i in range(working_set.shape[0]):
            self.n_free += free[i]
            if self.is_included[working_set[i]]:
                n_leaving += not free[i]
                n_staying += free[i]
        if n_leaving > n_staying:  # a new sum takes less work and has smaller rounding errors
            self.is_included[:] = 0
            self.sum[:, :] = 0
        if self.block is None:
            for i in range(working_set.shape[0]):
                k = working_set[i]
                if free[i] != self.is_included[k]:
                    self.is_included[k] = free[i]
                    self._add(k, 1 if free[i] else -1)
            return
        for joining in range(2):  # the rows of a block are either all added or all subtracted
            for i in range(working_set.shape[0]):
                k = working_set[i]
                if free[i] == joining and self.is_included[k] != joining:
                    self.is_included[k] = joining
                    self._add(k, 1 if joining else -1)
            self.block.flush(1 if joining else -1, self.sum)

    def change(self, const int8_t[::1] before not None, const int8_t[::1] after not None):
        """The lower triangle of the sum over some samples minus that over others: ndarray, shape (n, n).

        Parameters
        ----------
        before, after : ndarrays of int8, shape (m,)
            1 for the samples that are subtracted, and for those that are added.
        """
        cdef Py_ssize_t k
        cdef bint joining
        with nogil:
            self.sum[:, :] = 0
            for joining in range(2):
                for k in range(before.shape[0]):
                    if after[k] == joining and before[k] != joining:
                        self._add(k, 1 if joining else -1)
                if self.block is not None:
                    self.block.flush(1 if joining else -1, self.sum)
        return self.matrix

    cdef void _add(self, Py_ssize_t k, double sign) noexcept nogil:
        """Add sign times s_k y_k y_k^T to the sum; with dense samples, when their block is full."""
        cdef Py_ssize_t n = self.elements(k)
        if self.block is None:
            _add_outer(&self.values[0], &self.columns[0], n, sign * self.curvature[k], &self.sum[0, 0],
                       self.sum.shape[1])
        elif self.block.append(&self.values[0], &self.columns[0], n, sqrt(self.curvature[k])):
            self.block.flush(sign, self.sum)

    cdef void _sum_in_double(self) noexcept nogil:
        """Recompute the sum in double precision, which is used from then on."""
        cdef Py_ssize_t k, n = self.sum.shape[0], m = self.is_included.shape[0]
        with gil:
            self.block = DenseBlock(n, m, is_double=True)
        self.sum[:, :] = 0
        for k in range(m):
            if self.is_included[k]:
                self._add(k, 1)
        self.block.flush(1, self.sum)

    cdef int solve(self, double factor, double[::1] vector) except -1 nogil:
        cdef Py_ssize_t i
        cdef int n = <int> self.sum.shape[0], one = 1, width = n + 1, info
        cdef bint is_solved = self._factorise(factor)
        if self._is_single() and not (is_solved and self._is_trusted(factor)):
            self._sum_in_double()
            is_solved = self._factorise(factor)
        if not is_solved:
            return 0
        self._centre(vector, -vector[n - 1])
        dpotrs(b"L", &n, &one, &self.sum[0, 1], &width, &vector[0], &n, &info)
        self._uncentre(vector)
        for i in range(n):
            if not isfinite(vector[i]):
                return 0
        return 1

    cdef void _centre(self, double[::1] vector, double change) noexcept nogil:
        """Turn a gradient of w and b into one of w and b'; `change` is minus that of b."""
        cdef Py_ssize_t j
        if self.centre is not None:
            for j in range(self.centre.shape[0]):
                vector[j] += change * self.centre[j] / self.rho

    cdef void _uncentre(self, double[::1] vector) noexcept nogil:
        """Turn a step of w and b' into one of w and b."""
        cdef Py_ssize_t j, d
        if self.centre is not None:
            d = self.centre.shape[0]
            for j in range(d):
                vector[d] -= self.centre[j] * vector[j] / self.rho

    cdef double _penalty(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """What a penalised intercept, b = b' - c.w / rho, adds to I in row i and column j <= i."""
        cdef Py_ssize_t d
        if self.centre is None or self.data.has_free_intercept:
            return 0
        d = self.centre.shape[0]
        if i < d:
            return self.centre[i] * self.centre[j] / (self.rho * self.rho)
        return -self.centre[j] / self.rho if j < d else 0

    cdef bint _is_single(self) noexcept nogil:
        return self.block is not None and not self.block.is_double

    cdef bint _factorise(self, double factor) noexcept nogil:
        """Compute the Cholesky factor of I + factor * the sum; False if there is none."""
        cdef Py_ssize_t i, j
        cdef int n = <int> self.sum.shape[0], width = n + 1, info
        for i in range(n):
            for j in range(i):
                self.sum[j, i + 1] = factor * self.sum[i, j] + self._penalty(i, j)
            self.sum[i, i + 1] = self.ridge(i) + factor * self.sum[i, i] + self._penalty(i, i)
        # LAPACK orders by columns: the upper triangle by rows is its lower one.
        dpotrf(b"L", &n, &self.sum[0, 1], &width, &info)
        return info == 0

    cdef bint _is_trusted(self, double factor) noexcept nogil:
        """True if every pivot is large enough, relative to its diagonal element, for single precision."""
        cdef Py_ssize_t i
        cdef double pivot
        for i in range(self.sum.shape[0]):
            pivot = self.sum[i, i + 1]
            if not pivot * pivot > MIN_PIVOT * sqrt(self.sum.shape[0]) * (
                self.ridge(i) + factor * self.sum[i, i]
            ):
                return False
        return True


cdef inline bint _ascend(const int32_t* columns, Py_ssize_t n) noexcept nogil:
    """True if columns are strictly increasing."""
    cdef Py_ssize_t i
    cdef int32_t n_violations = 0   # no branch, so that compilers vectorise
    for i in range(1, n):
        n_violations += columns[i] <= columns[i - 1]
    return n_violations == 0


cdef inline void _add_outer(
    const double* values, const int32_t* columns, Py_ssize_t n, double c, double* out, Py_ssize_t width
) noexcept nogil:
    """Add c x x^T to the lower triangle of a matrix with rows of `width` elements."""
    cdef Py_ssize_t i = 0, j, p, q
    cdef double x, y, a, b, d, e
    cdef double* row
    cdef double* next_row
    if not _ascend(columns, n):
        for i in range(n):
            for j in range(n):
                if columns[j] <= columns[i]:   # several elements of a column: all products of two of them
                    out[columns[i] * width + columns[j]] += c * values[i] * values[j]
        return
    # In blocks of two rows and two columns: four elements are read before one is written, and branches are
    # only at the ends of rows.
    while i + 1 < n:
        x, y = c * values[i], c * values[i + 1]
        row, next_row = out + columns[i] * width, out + columns[i + 1] * width
        j = 0
        while j < i:
            p, q = columns[j], columns[j + 1]
            a, b = row[p] + x * values[j], row[q] + x * values[j + 1]
            d, e = next_row[p] + y * values[j], next_row[q] + y * values[j + 1]
            row[p], row[q] = a, b
            next_row[p], next_row[q] = d, e
            j += 2
        p, q = columns[i], columns[i + 1]
        row[p] += x * values[i]
        next_row[p] += y * values[i]
        next_row[q] += y * values[i + 1]
        i += 2
    if i < n:
        x, row = c * values[i], out + columns[i] * width
        for j in range(n):
            row[columns[j]] += x * values[j]
