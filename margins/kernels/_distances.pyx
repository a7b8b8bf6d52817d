"""Squared distances between rows, without cancellation.

The problem: |x - z|^2 for all pairs of two sets of points.

|x|^2 + |z|^2 - 2 x.z takes one matrix product, but if norms are large relative to the distance, it is a
small difference of large numbers. Here the squares of the differences are summed, so the relative error is
as small as for any sum of positive numbers.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t
from margins._sparse cimport Rows, axpy, is_dense, nonzeros
from margins.linalg._vectorised cimport add_four_rows  # no-cython-lint: for its macro

import numpy as np

# Number of differences between two checks for Ctrl-C: a few milliseconds.
cdef Py_ssize_t DIFFERENCES_PER_SIGNAL_CHECK = 1 << 22
cdef Py_ssize_t BLOCK = 1 << 14  # numbers of dense points read together, to stay in the cache; at least 16 points

cdef extern from *:
    """
    MARGINS_VECTORISED
    static void margins_add_squares(double *sums, const double *points, double x, int64_t n)
    {
        for (int64_t i = 0; i < n; i++)
            sums[i] += (x - points[i]) * (x - points[i]);
    }
    """
    void add_squares "margins_add_squares"(double* sums, const double* points, double x, int64_t n) noexcept nogil


def squared_distances(Rows rows not None, Rows points not None):
    """Return the squared distances of all rows from all points (float64, shape (n_rows, n_points))."""
    if is_dense(rows) and is_dense(points):
        return _dense_distances(rows, points)
    return _sparse_distances(rows, points)


cdef _dense_distances(Rows rows, Rows points):
    """Return the distances, feature by feature for many points at a time."""
    cdef Py_ssize_t i, j, k, n, begin = 0, n_features = rows.n_features, n_unchecked = 0
    cdef Py_ssize_t length = max(<Py_ssize_t> 16, BLOCK // max(n_features, <Py_ssize_t> 1))
    cdef double[::1] vector = np.zeros(n_features + 1), block = np.empty(length * n_features + 1)
    result = np.zeros((rows.n_rows, points.n_rows))
    cdef double[:, ::1] out = result
    with nogil:
        while begin < points.n_rows:
            n = min(length, points.n_rows - begin)
            for j in range(n):
                axpy(points, begin + j, 1, &vector[0])
                for i in range(n_features):
                    block[i * length + j] = vector[i]
                axpy(points, begin + j, -1, &vector[0])
            for k in range(rows.n_rows):
                axpy(rows, k, 1, &vector[0])
                for i in range(n_features):
                    add_squares(&out[k, begin], &block[i * length], vector[i], n)
                axpy(rows, k, -1, &vector[0])
                n_unchecked += n * n_features
                if n_unchecked > DIFFERENCES_PER_SIGNAL_CHECK:
                    n_unchecked = 0
                    with gil:
                        PyErr_CheckSignals()
            begin += n
    return result


cdef _sparse_distances(Rows rows, Rows points):
    """Return the distances, by the stored numbers of each pair."""
    cdef Py_ssize_t i, j, n_row, n_point, n_unchecked = 0
    cdef double[:, ::1] out
    # Row i as a vector of all features, and as its nonzero numbers.
    cdef double[::1] dense_row = np.zeros(rows.n_features + 1), row_values = np.empty(rows.longest() + 1)
    cdef double[::1] point_values = np.empty(points.longest() + 1)
    cdef int32_t[::1] row_columns = np.empty(rows.longest() + 1, dtype=np.int32)
    cdef int32_t[::1] point_columns = np.empty(points.longest() + 1, dtype=np.int32)
    # The last point that has a number in a column.
    cdef int32_t[::1] last_point = np.empty(rows.n_features + 1, dtype=np.int32)
    result = np.empty((rows.n_rows, points.n_rows))
    out = result
    with nogil:
        for i in range(rows.n_rows):
            n_row = nonzeros(rows, i, &row_values[0], &row_columns[0])
            axpy(rows, i, 1, &dense_row[0])
            last_point[:] = -1
            for j in range(points.n_rows):
                n_point = nonzeros(points, j, &point_values[0], &point_columns[0])
                out[i, j] = _squared_distance(
                    &dense_row[0], &row_columns[0], n_row, &point_values[0], &point_columns[0], n_point,
                    &last_point[0], <int32_t> j
                )
                n_unchecked += n_row + n_point
                if n_unchecked > DIFFERENCES_PER_SIGNAL_CHECK:
                    n_unchecked = 0
                    with gil:
                        PyErr_CheckSignals()
            axpy(rows, i, -1, &dense_row[0])
    return result


cdef inline double _squared_distance(
    const double* dense_row, const int32_t* row_columns, Py_ssize_t n_row, const double* point_values,
    const int32_t* point_columns, Py_ssize_t n_point, int32_t* last_point, int32_t j
) noexcept nogil:
    """Return |x - z|^2, summed over the columns stored in z, and then over the other columns of x."""
    cdef double total = 0, difference
    cdef Py_ssize_t i
    for i in range(n_point):
        difference = dense_row[point_columns[i]] - point_values[i]
        total += difference * difference
        last_point[point_columns[i]] = j
    for i in range(n_row):
        if last_point[row_columns[i]] != j:
            total += dense_row[row_columns[i]] * dense_row[row_columns[i]]
    return total
