"""Rows of a kernel matrix that is stored in full; dense blocks of columns of CSR, to compute it."""

import numpy as np

from libc.stdint cimport int64_t
from margins._sparse cimport Rows, axpy, index_t, value_t

cdef Py_ssize_t TILE = 32   # rows and columns that are mirrored at once: they stay in the cache

# A type other than `value_t`, since input and output may differ in precision.
ctypedef fused result_t:
    float
    double


cdef class GramRows(Rows):
    """Rows of a symmetric kernel matrix that is completely stored, with its diagonal."""

    def __init__(self, Rows matrix not None, diagonal):
        Rows.__init__(self, None, matrix.n_rows, matrix.n_rows)
        self.is_kernel = True
        self.diagonal, self.matrix = diagonal, matrix

    def part(self, indices not None):
        """Return the rows of the kernel matrix of some samples, with copied elements (GramRows)."""
        matrix = np.asarray(self.matrix.values64).reshape(self.n_rows, self.n_rows)
        chosen = matrix[np.ix_(indices, indices)]
        n = len(indices)
        return GramRows(Rows(chosen.ravel(), n, n, row_step=n), np.asarray(self.diagonal)[indices])

    cdef void kernel_axpy(self, Py_ssize_t k, double c, double* v) noexcept nogil:
        axpy(self.matrix, k, c, v)

    cdef double kernel_sqnorm(self, Py_ssize_t k) noexcept nogil:
        return self.diagonal[k]


def fill_columns(const value_t[::1] values, const index_t[::1] columns, const index_t[::1] starts,
                 int64_t[::1] n_read, Py_ssize_t begin, result_t[:, ::1] out):
    """Add a block of columns of a CSR matrix with sorted rows to a dense matrix."""
    cdef Py_ssize_t k, i, end = begin + out.shape[1]
    cdef bint is_sorted = True
    with nogil:
        for k in range(out.shape[0]):
            i = starts[k] + n_read[k]
            while i < starts[k + 1] and begin <= columns[i] < end:
                out[k, columns[i] - begin] += <result_t> values[i]
                i += 1
            is_sorted = is_sorted and not (i < starts[k + 1] and columns[i] < begin)
            n_read[k] = i - starts[k]
    return is_sorted


def place(const result_t[:, :] block, float[:, ::1] matrix, Py_ssize_t row, Py_ssize_t column):
    """Write a block to a matrix in single precision at (row, column), and its transpose to the mirrored place."""
    cdef Py_ssize_t i, j, left, top = 0, n_rows = block.shape[0], n_columns = block.shape[1]
    cdef const result_t* source
    cdef float* target
    if row + n_rows > matrix.shape[0] or column + n_columns > matrix.shape[1] or row < 0 or column < 0:
        raise ValueError(
            f"A block of shape {(n_rows, n_columns)} must fit into a matrix of shape "
            f"{(matrix.shape[0], matrix.shape[1])}. Got the place {(row, column)}."
        )
    if block.strides[1] != sizeof(result_t):
        raise ValueError(f"Rows of a block must be contiguous. Got a stride of {block.strides[1]} bytes.")
    with nogil:
        for i in range(n_rows):
            source, target = &block[i, 0], &matrix[row + i, column]
            for j in range(n_columns):
                target[j] = <float> source[j]
        while row != column and top < n_rows:
            left = 0
            while left < n_columns:
                for j in range(left, min(left + TILE, n_columns)):
                    target = &matrix[column + j, row]
                    for i in range(top, min(top + TILE, n_rows)):
                        target[i] = matrix[row + i, column + j]
                left += TILE
            top += TILE
