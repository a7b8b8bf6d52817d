"""Kernel values from inner products and squared norms, in place.

The problem: K(x, z) = f(x.z, |x|^2, |z|^2) for all pairs of two sets of points.
Given: the inner products x.z, a block of n_rows x n_columns numbers, and the squared norms.
Left in place: the block holds K(x, z).

The row cache calls it for training, and `margins.kernels.kernel.Kernel.block` for prediction, so a kernel
function is written only once.
"""

from libc.stdint cimport int32_t
from libc.string cimport memcpy

import numpy as np

cdef enum:
    CHUNK = 1024   # values that are converted to double precision at once


cdef class Transform:
    """Formula of K(x, z) from x.z, |x|^2 and |z|^2; subclasses define `row`. Here it is x.z itself."""

    cdef void row(self, double* values, Py_ssize_t n, double sqnorm, const double* sqnorms) noexcept nogil:
        """Replace n inner products x.z_j by K(x, z_j), given |x|^2 and all |z_j|^2.

        It must be symmetric: K(x, z) and K(z, x) must be the same number, bit for bit.
        """

    cdef bint block(
        self, double* values, Py_ssize_t n_rows, Py_ssize_t n_columns,
        const double* row_sqnorms, const double* column_sqnorms
    ) noexcept nogil:
        """Replace a C-contiguous block of inner products; return False if `check` has an error to raise."""
        cdef Py_ssize_t i
        for i in range(n_rows):
            self.row(values + i * n_columns, n_columns, row_sqnorms[i], column_sqnorms)
        return True

    cdef bint single_block(
        self, float* values, Py_ssize_t n_rows, Py_ssize_t n_columns,
        const double* row_sqnorms, const double* column_sqnorms
    ) noexcept nogil:
        """Do the same as `block` for values in single precision; the formula is computed in double here.

        With u = 2**-24 and R the mean of |x|^2 and |z|^2, its rounding error must be at most the effect of adding
        5 u R to x.z, plus 4 u K(x, x) for the largest K(x, x). The proof relies on this bound.
        """
        cdef double[CHUNK] chunk
        cdef Py_ssize_t i, j, begin, n
        for i in range(n_rows):
            begin = 0
            while begin < n_columns:
                n = min(<Py_ssize_t> CHUNK, n_columns - begin)
                for j in range(n):
                    chunk[j] = values[i * n_columns + begin + j]
                if not self.block(chunk, 1, n, row_sqnorms + i, column_sqnorms + begin):
                    return False
                for j in range(n):
                    values[i * n_columns + begin + j] = <float> chunk[j]
                begin += n
        return True

    cdef int check(self) except -1:
        """Raise the error of a block that returned False."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0

    def __call__(self, double[:, ::1] values not None, const double[::1] row_sqnorms not None,
                 const double[::1] column_sqnorms not None):
        """Replace inner products by kernel values, in place."""
        cdef Py_ssize_t n_rows = values.shape[0], n_columns = values.shape[1]
        _check_shapes(n_rows, n_columns, row_sqnorms.shape[0], column_sqnorms.shape[0])
        if n_rows and n_columns:
            with nogil:
                self.block(&values[0, 0], n_rows, n_columns, &row_sqnorms[0], &column_sqnorms[0])
            self.check()

    def single(self, float[:, :] values not None, const double[::1] row_sqnorms not None,
               const double[::1] column_sqnorms not None, float[:, :] out=None, const int32_t[::1] rows=None):
        """Do the same for values in single precision, of whole rows or of some of their columns.

        If `out` is given, row i is also copied to its row rows[i].
        """
        cdef Py_ssize_t i, n_rows = values.shape[0], n_columns = values.shape[1]
        _check_shapes(n_rows, n_columns, row_sqnorms.shape[0], column_sqnorms.shape[0])
        if n_columns > 1 and values.strides[1] != sizeof(float):
            raise ValueError(f"Numbers of a row must be side by side. Got a distance of {values.strides[1]} bytes.")
        if out is not None and (out.shape[1] != n_columns or rows is None or rows.shape[0] != n_rows):
            raise ValueError(f"out must have {n_columns} columns, and rows {n_rows} numbers.")
        if n_columns:
            with nogil:
                for i in range(n_rows):
                    if not self.single_block(&values[i, 0], 1, n_columns, &row_sqnorms[i], &column_sqnorms[0]):
                        break
                    if out is not None:
                        memcpy(&out[rows[i], 0], &values[i, 0], n_columns * sizeof(float))
            self.check()

    def diagonal(self, const double[::1] sqnorms not None):
        """Return K(x, x) of points with given |x|^2 (ndarray of float64, shape (n,))."""
        result = np.array(sqnorms)
        cdef double[::1] values = result
        cdef Py_ssize_t k
        with nogil:
            for k in range(sqnorms.shape[0]):
                self.row(&values[k], 1, sqnorms[k], &sqnorms[k])
        return result


def _check_shapes(n_rows, n_columns, n_row_sqnorms, n_column_sqnorms):
    if n_row_sqnorms != n_rows or n_column_sqnorms != n_columns:
        raise ValueError(
            f"Squared norms of a block of shape {(n_rows, n_columns)} must have lengths {n_rows} and "
            f"{n_columns}. Got {n_row_sqnorms} and {n_column_sqnorms}."
        )


cdef class ArrayTransform(Transform):
    """Kernel of arrays: ``function(products, x_sqnorms, z_sqnorms)`` returns its values under the GIL."""

    def __init__(self, function):
        self.function = function

    cdef bint block(
        self, double* values, Py_ssize_t n_rows, Py_ssize_t n_columns,
        const double* row_sqnorms, const double* column_sqnorms
    ) noexcept nogil:
        return self._call(values, n_rows, n_columns, row_sqnorms, column_sqnorms)

    cdef bint _call(
        self, double* values, Py_ssize_t n_rows, Py_ssize_t n_columns,
        const double* row_sqnorms, const double* column_sqnorms
    ) noexcept with gil:
        try:
            products = np.asarray(<double[:n_rows, :n_columns]> values)
            x_sqnorms = np.array(<double[:n_rows]> <double*> row_sqnorms)
            z_sqnorms = np.array(<double[:n_columns]> <double*> column_sqnorms)
            products[:] = self.function(products, x_sqnorms[:, np.newaxis], z_sqnorms)
        except BaseException as error:  # raised by `check`, as nothing can be raised in a nogil loop
            self.error = error
            return False
        return True

    def diagonal(self, const double[::1] sqnorms not None):
        values = np.array(sqnorms)
        return np.ascontiguousarray(self.function(values.copy(), values, values), dtype=np.float64)
