"""Inner products of rows with many points at once.

The problem: products of every row of a matrix with some points, for a block of a kernel matrix.
The points become the columns of a dense matrix, so that each element of a row is read once for all points.
Each sum is in the order of the row's stored elements, so a product does not depend on the other points.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memset
from margins._sparse cimport dots, nonzeros

import numpy as np

# Number of products of two numbers between two checks for Ctrl-C: a few milliseconds.
cdef Py_ssize_t PRODUCTS_PER_SIGNAL_CHECK = 1 << 23


cdef class Columns:
    """Points as the columns of a dense matrix.

    points, shape (m, d): points from which to choose, at most `n_columns` at once.
    longest: maximum number of elements in a row to multiply with.
    sqnorms, shape (m,): |x_k|^2 of the points, for callers that need the squared norms of the columns.
    """

    def __init__(self, Rows points not None, Py_ssize_t n_columns, Py_ssize_t longest, const double[::1] sqnorms=None):
        self.set_points(points)
        self.matrix = np.empty(points.n_features * padded(n_columns) + 1)
        self.products = np.empty(padded(n_columns) + 1)
        self.longest = max(longest, points.longest())
        self.values, self.columns = np.empty(self.longest + 1), np.empty(self.longest + 1, dtype=np.int32)
        self.sqnorms_of_points, self.sqnorms = sqnorms, np.empty(n_columns)

    cdef void set_points(self, Rows points):
        """Use other points from now on, with the same features, and rows that are not longer."""
        self.points = points

    cdef void fill(self, const int32_t* chosen, Py_ssize_t n) noexcept nogil:
        """Make these points the columns."""
        cdef Py_ssize_t i, j, n_stored, width = padded(n)
        cdef double* matrix = &self.matrix[0]
        self.n_columns, self.width = n, width
        memset(matrix, 0, self.points.n_features * width * sizeof(double))
        for i in range(n):
            n_stored = nonzeros(self.points, chosen[i], &self.values[0], &self.columns[0])
            for j in range(n_stored):
                matrix[self.columns[j] * width + i] += self.values[j]
            if self.sqnorms_of_points is not None:
                self.sqnorms[i] = self.sqnorms_of_points[chosen[i]]

    cdef void multiply(self, Rows rows, Py_ssize_t j, double* out, Py_ssize_t step) noexcept nogil:
        """Write the products of row j with all columns to `out`, `step` numbers apart."""
        cdef Py_ssize_t i
        dots(rows, j, &self.matrix[0], self.width, &self.products[0], &self.values[0], &self.columns[0])
        for i in range(self.n_columns):
            out[i * step] = self.products[i]
        self.n_multiplied += self.width * self.longest

    cdef bint is_interrupted(self) noexcept nogil:
        """Return whether Ctrl-C came, which is stored in `error`; check it every few milliseconds."""
        if self.n_multiplied < PRODUCTS_PER_SIGNAL_CHECK:
            return False
        self.n_multiplied = 0
        return self._check_signals()

    cdef bint _check_signals(self) noexcept with gil:
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            self.error = error
            return True
        return False


def inner_products(Rows rows not None, Rows points not None):
    """Return the inner products of all rows with all points (ndarray of float64, (n_rows, n_points))."""
    cdef Py_ssize_t j, n, begin = 0
    cdef double[:, ::1] out
    cdef int32_t[::1] chosen = np.arange(points.n_rows + 1, dtype=np.int32)
    cdef Columns columns = Columns(points, MAX_COLUMNS, rows.longest())
    result = np.empty((rows.n_rows, points.n_rows))
    out = result
    with nogil:
        while begin < points.n_rows:
            n = min(<Py_ssize_t> MAX_COLUMNS, points.n_rows - begin)
            columns.fill(&chosen[begin], n)
            for j in range(rows.n_rows):
                columns.multiply(rows, j, &out[j, begin], 1)
            begin += n
    return result
