"""A stored Hessian, updated from step to step: for Newton steps with few features.

The problem: for changing sets of samples, keep the sum of s_k y_k y_k^T, and solve

    (I + factor * the sum) x = vector

Most samples stay in the set from one step to the next, so only samples that enter or leave it are added or
subtracted (`margins.solvers.newton._outer_sum`).

If features are far from 0 relative to their spread, sums of products cancel. Then features are measured from a
centre c: x.w + rho b is (x - c).w + rho b', with b' = b + c.w / rho, and the system is solved for w and b'.

The Hessian only determines the search direction: certificates are computed from sums in double
precision. Blocks are multiplied in single precision unless the Hessian is too close to singular for that.

Source: Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large scale linear SVMs.
"""

from libc.math cimport isfinite, sqrt
from libc.stdint cimport int8_t, int32_t
from margins._update cimport BinaryData
from margins.solvers.newton._hessian cimport Hessian
from margins.solvers.newton._outer_sum cimport OuterSum
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs

import numpy as np

from margins.data._passes import mean_of
from margins.tuning import TUNING

OFFSET = TUNING.newton.offset
# The centre is the mean of at most this many samples.
cdef Py_ssize_t MAX_MEAN_SAMPLES = 4096

# If a squared pivot of the Cholesky factor is less than MIN_PIVOT sqrt(n) times its diagonal element, for n features,
# the Hessian is recomputed in double precision: its rounding in single precision may exceed 1/64 of the pivot.
cdef double MIN_PIVOT = 4e-6


cdef class DenseHessian(Hessian):
    """The sum of s_k y_k y_k^T over the free samples, stored and updated from step to step.

    curvature, shape (m,): s_k; 0 for samples that the sum always leaves out.
    in_blocks: True: samples are added as dense rows, in blocks, by BLAS.
    centre, shape (n_features,): c; None: 0.
    is_double: True: these blocks are multiplied in double precision from the start.
    included, shape (m,): 1 for the samples in the sum.
    """

    def __init__(self, BinaryData data not None, const double[:] curvature not None, bint in_blocks=False,
                 bint is_double=False, const double[::1] centre=None):
        Hessian.__init__(self, data, curvature)
        self.centre = centre
        self.changing = np.empty((2, data.rows.n_rows), dtype=np.int32)
        self.sum = OuterSum(data, curvature, centre, in_blocks, is_double)

    @property
    def is_double(self):
        """True if products are computed in double precision."""
        return not self.sum.is_single()

    @property
    def matrix(self):
        """The lower triangle of the sum, an ndarray of float64 of shape (n, n)."""
        cdef Py_ssize_t i, n = self.sum.matrix.shape[0]
        cdef double[:, ::1] lower = np.zeros((n, n))  # np.tril takes four times as long
        for i in range(n):
            lower[i, : i + 1] = self.sum.matrix[i, : i + 1]
        return np.asarray(lower)

    def whole(self, double factor):
        """Return the sum times a factor, symmetric (ndarray of float64, shape (n, n))."""
        cdef Py_ssize_t i, j
        matrix = np.empty((self.sum.matrix.shape[0], self.sum.matrix.shape[0]))
        cdef double[:, ::1] out = matrix
        with nogil:
            for i in range(out.shape[0]):
                for j in range(i + 1):
                    out[i, j] = out[j, i] = factor * self.sum.matrix[i, j]
        return matrix

    def begin(self, const double[:, ::1] matrix not None):
        """Start with all samples included, given the lower triangle of their sum, shape (n, n)."""
        cdef Py_ssize_t i, j
        for i in range(matrix.shape[0]):
            for j in range(i + 1):
                self.sum.matrix[i, j] = matrix[i, j]
        self.is_included[:] = 1
        self.n_free = self.is_included.shape[0]

    cdef int update(self, const int32_t[::1] working_set, const int8_t[::1] free) except -1:
        """Add the samples that have become free, and subtract those no longer free, all of them in the working set."""
        cdef Py_ssize_t i, k, n_free = 0, n_leaving = 0, n_joining = 0, n_staying = 0
        cdef bint is_in
        cdef int32_t[::1] leaving = self.changing[0], joining = self.changing[1]
        with nogil:
            for i in range(working_set.shape[0]):
                n_free += free[i]
                if self.is_included[working_set[i]]:
                    n_leaving += not free[i]
                    n_staying += free[i]
            if n_leaving > n_staying:  # a new sum takes less work and rounds less
                self.is_included[:] = 0
                self.sum.matrix[:, :] = 0
            n_leaving = 0
            for i in range(working_set.shape[0]):
                k = working_set[i]
                is_in = free[i] and self.curvature[k] > 0
                if is_in == self.is_included[k]:
                    continue
                self.is_included[k] = is_in
                if is_in:
                    joining[n_joining] = <int32_t> k
                    n_joining += 1
                else:
                    leaving[n_leaving] = <int32_t> k
                    n_leaving += 1
        self.n_free = n_free
        self.sum.add(leaving[:n_leaving], -1)
        self.sum.add(joining[:n_joining], 1)
        return 0

    def change(self, before not None, after not None):
        """Return the lower triangle of the sum over some samples minus the sum over others."""
        self.sum.matrix[:, :] = 0
        self.sum.add(np.flatnonzero(before > after).astype(np.int32), -1)
        self.sum.add(np.flatnonzero(after > before).astype(np.int32), 1)
        return self.matrix

    cdef int _sum_in_double(self) except -1:
        """Recompute the sum in double precision, which is used from then on."""
        self.sum = OuterSum(self.data, self.curvature, self.centre, True, is_double=True)
        self.sum.add(np.flatnonzero(self.included).astype(np.int32), 1)
        return 0

    cdef bint solve(self, double factor, double[::1] vector) except -1:
        cdef Py_ssize_t i
        cdef int n = <int> vector.shape[0], one = 1, width = n + 1, info
        cdef bint is_solved = self._factorise(factor)
        if self.sum.is_single() and not (is_solved and self._is_trusted(factor)):
            self._sum_in_double()
            is_solved = self._factorise(factor)
        if not is_solved:
            return 0
        with nogil:
            self._centre(vector, -vector[n - 1])
            dpotrs(b"L", &n, &one, &self.sum.matrix[0, 1], &width, &vector[0], &n, &info)
            self._uncentre(vector)
        for i in range(n):
            if not isfinite(vector[i]):
                return 0
        return 1

    cdef void _centre(self, double[::1] vector, double change) noexcept nogil:
        """Turn a gradient with respect to w and b into one for w and b'; `change` is minus the gradient of b."""
        cdef Py_ssize_t j
        if self.centre is not None:
            for j in range(self.centre.shape[0]):
                vector[j] += change * self.centre[j] / self.rho

    cdef void _uncentre(self, double[::1] vector) noexcept nogil:
        """Turn a step of w and b' into a step of w and b."""
        cdef Py_ssize_t j, d
        if self.centre is not None:
            d = self.centre.shape[0]
            for j in range(d):
                vector[d] -= self.centre[j] * vector[j] / self.rho

    cdef double _penalty(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Return what a penalised intercept, b = b' - c.w / rho, adds to I in row i and column j <= i."""
        cdef Py_ssize_t d
        if self.centre is None or self.data.has_free_intercept:
            return 0
        d = self.centre.shape[0]
        if i < d:
            return self.centre[i] * self.centre[j] / (self.rho * self.rho)
        return -self.centre[j] / self.rho if j < d else 0

    cdef bint _factorise(self, double factor):
        """Compute the Cholesky factor of I + factor * the sum; return False if it does not exist."""
        cdef double[:, ::1] matrix = self.sum.matrix
        cdef Py_ssize_t i, j
        cdef int n = <int> matrix.shape[0], width = n + 1, info
        with nogil:
            for i in range(n):
                for j in range(i):
                    matrix[j, i + 1] = factor * matrix[i, j] + self._penalty(i, j)
                matrix[i, i + 1] = self.ridge(i) + factor * matrix[i, i] + self._penalty(i, i)
            # LAPACK orders by columns, so its lower triangle is the upper triangle by rows.
            dpotrf(b"L", &n, &matrix[0, 1], &width, &info)
        return info == 0

    cdef bint _is_trusted(self, double factor):
        """Return True if every pivot, relative to its diagonal element, is large enough for single precision."""
        cdef double[:, ::1] matrix = self.sum.matrix
        cdef Py_ssize_t i
        cdef double pivot
        for i in range(matrix.shape[0]):
            pivot = matrix[i, i + 1]
            if not pivot * pivot > MIN_PIVOT * sqrt(matrix.shape[0]) * (self.ridge(i) + factor * matrix[i, i]):
                return False
        return True


def centre_of(data, offset=OFFSET):
    """Return the mean of features, of samples spread evenly, if they are far from 0, otherwise None."""
    m, d = len(data), data.rows.n_features
    if data.sq_intercept_scaling == 0 or data.rows.n_stored < m * d:
        return None  # without an intercept there is no centre; sparse data leave out zeros
    step = -(-m // MAX_MEAN_SAMPLES)
    mean = mean_of(data, step)
    square = float(mean @ mean)
    sqnorms = data.ordinary_sqnorms[::step]
    spread = float(sqnorms.sum()) / len(sqnorms) - data.sq_intercept_scaling - square
    return mean if square > offset * spread else None
