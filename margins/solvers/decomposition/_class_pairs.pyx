"""Pairs of classes, each solved from its blocks of one kernel matrix, whose samples are sorted by class.

The values of a class with itself and with the classes after it are one array, its panel, in single or in double
precision. The matrix of a pair consists of two diagonal blocks and one block of both. A row of it is gathered when the
solver first reads it, because most samples of a pair never move.
"""

from libc.math cimport INFINITY, fabs, fmin
from libc.stdlib cimport calloc, free, malloc
from margins.linalg._sums cimport dot_of
from margins.solvers.decomposition._pairs cimport LEAST_DIAGONAL, LazyRows
from margins.solvers.decomposition._whole cimport N_WORK, minimise_rows

import numpy as np

cdef struct Block:
    const float* single    # NULL: the elements are in `double`
    const double* double
    Py_ssize_t step        # elements from one row to the next

cdef struct Pair:
    Py_ssize_t n_first, n_second
    Block first, second, both
    bint is_ordered        # True: the rows of `both` are the samples of the first class


cdef class ClassPairs:
    """Pairs of classes: `panels`, as above, and the index of the first sample of each class, and their number."""

    cdef list _panels
    cdef Py_ssize_t[::1] _begins
    cdef bint _is_single

    def __init__(self, list panels not None, begins):
        cdef Py_ssize_t i, n = len(panels)
        self._panels, self._begins = panels, np.asarray(begins, dtype=np.intp)
        self._is_single = panels[0].dtype == np.float32
        for i in range(n):
            panel, shape = panels[i], (begins[i + 1] - begins[i], begins[n] - begins[i])
            if panel.shape != shape or panel.strides[1] != panel.itemsize:
                raise ValueError(f"Panel {i} must have contiguous rows and shape {shape}. Got shape {panel.shape}.")

    cdef Block _block(self, Py_ssize_t row, Py_ssize_t column):
        cdef Block block
        cdef Py_ssize_t begin = self._begins[column] - self._begins[row]
        cdef const float[:, :] single
        cdef const double[:, :] panel
        block.single, block.double = NULL, NULL
        if self._is_single:
            single = self._panels[row]
            block.single, block.step = &single[0, begin], single.strides[0] // sizeof(float)
        else:
            panel = self._panels[row]
            block.double, block.step = &panel[0, begin], panel.strides[0] // sizeof(double)
        return block

    cdef Pair _pair(self, Py_ssize_t first, Py_ssize_t second):
        cdef Pair pair
        pair.n_first = self._begins[first + 1] - self._begins[first]
        pair.n_second = self._begins[second + 1] - self._begins[second]
        pair.first, pair.second = self._block(first, first), self._block(second, second)
        pair.is_ordered = first < second
        pair.both = self._block(min(first, second), max(first, second))
        return pair

    def minimise(
        self, Py_ssize_t first, Py_ssize_t second, double sq_intercept_scaling, const double[::1] upper not None,
        const double[::1] diag not None, bint has_free_intercept, double required_gap, float reduction,
        Py_ssize_t max_pairs
    ):
        """Solve a pair, the first class positive, as `minimise_whole` does: (signed dual variables, pairs moved)."""
        cdef Pair pair = self._pair(first, second)
        cdef Py_ssize_t k, m = pair.n_first + pair.n_second, n_pairs = 0
        cdef double gap = 0
        cdef float rho2 = 0 if has_free_intercept else sq_intercept_scaling
        cdef LazyRows lazy
        result = np.zeros(m)
        cdef double[::1] b = result, u = np.zeros(m), signs = np.ones(m)
        cdef float[:, ::1] work = np.empty((N_WORK + 2, m), np.float32), K
        cdef float[::1] D = work[N_WORK], diagonal = work[N_WORK + 1]
        cdef float* values = <float*> malloc(m * m * sizeof(float))
        cdef unsigned char* is_filled = <unsigned char*> calloc(m, 1)
        lazy.fill, lazy.source, lazy.is_filled = _fill_row, <const void*> &pair, is_filled
        try:
            if values == NULL or is_filled == NULL:
                raise MemoryError(f"The matrix of {m} samples does not fit into memory.")
            K = <float[:m, :m]> values
            with nogil:
                for k in range(m):
                    if k >= pair.n_first:
                        signs[k] = -1
                    D[k] = <float> diag[k]
                    diagonal[k] = max(_diagonal_element(&pair, k) + rho2 + D[k], LEAST_DIAGONAL)
                n_pairs = minimise_rows(
                    K, &lazy, rho2, signs, b, u, upper, diag, D, diagonal, has_free_intercept, required_gap,
                    reduction, max_pairs, work, &gap
                )
                if has_free_intercept:
                    _balance(signs, b, upper)
        finally:
            free(values)
            free(is_filled)
        return result, n_pairs

    def sums(self, Py_ssize_t first, Py_ssize_t second, const double[::1] b not None):
        """Return sum_j b_j K(x_j, x_k) of both classes, from panels in double precision."""
        cdef Pair pair = self._pair(first, second)
        cdef Py_ssize_t k, n_first = pair.n_first, n_second = pair.n_second, m = n_first + n_second
        sums = np.zeros(m)
        cdef double[::1] v = sums
        if self._is_single or b.shape[0] != m:
            raise ValueError(f"Sums need values in double precision, and {m} numbers. Got {b.shape[0]} numbers.")
        with nogil:
            for k in range(n_first):
                if b[k] != 0:
                    _add(&v[0], pair.first.double + k * pair.first.step, b[k], n_first)
            for k in range(n_second):
                if b[n_first + k] != 0:
                    _add(&v[n_first], pair.second.double + k * pair.second.step, b[n_first + k], n_second)
            if pair.is_ordered:
                _add_both(&pair.both, &v[0], &v[n_first], &b[0], &b[n_first], n_first, n_second)
            else:
                _add_both(&pair.both, &v[n_first], &v[0], &b[n_first], &b[0], n_second, n_first)
        return sums


cdef void _add(double* v, const double* row, double c, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        v[j] += c * row[j]


cdef void _add_both(
    const Block* both, double* v_rows, double* v_columns, const double* b_rows, const double* b_columns,
    Py_ssize_t n_rows, Py_ssize_t n_columns
) noexcept nogil:
    """Add the products of the block of both classes to the sums of each."""
    cdef Py_ssize_t k
    cdef const double* row
    for k in range(n_rows):
        row = both.double + k * both.step
        v_rows[k] += dot_of(row, b_columns, n_columns)
        if b_rows[k] != 0:
            _add(v_columns, row, b_rows[k], n_columns)


cdef void _fill_row(const void* source, Py_ssize_t k, float* row) noexcept nogil:
    """Gather row k of the matrix of a pair."""
    cdef const Pair* pair = <const Pair*> source
    cdef Py_ssize_t i = k - pair.n_first
    if i < 0:
        _copy_row(&pair.first, k, pair.n_first, row)
        _copy(&pair.both, k, pair.is_ordered, pair.n_second, row + pair.n_first)
    else:
        _copy_row(&pair.second, i, pair.n_second, row + pair.n_first)
        _copy(&pair.both, i, not pair.is_ordered, pair.n_first, row)


cdef inline void _copy(const Block* block, Py_ssize_t k, bint is_row, Py_ssize_t n, float* out) noexcept nogil:
    """Copy row or column k of a block."""
    cdef Py_ssize_t j
    if is_row:
        _copy_row(block, k, n, out)
    elif block.single != NULL:
        for j in range(n):
            out[j] = block.single[j * block.step + k]
    else:
        for j in range(n):
            out[j] = <float> block.double[j * block.step + k]


cdef inline void _copy_row(const Block* block, Py_ssize_t k, Py_ssize_t n, float* out) noexcept nogil:
    cdef Py_ssize_t j
    cdef const float* single
    cdef const double* row
    if block.single != NULL:
        single = block.single + k * block.step
        for j in range(n):
            out[j] = single[j]
    else:
        row = block.double + k * block.step
        for j in range(n):
            out[j] = <float> row[j]


cdef inline float _diagonal_element(const Pair* pair, Py_ssize_t k) noexcept nogil:
    cdef const Block* block = &pair.first if k < pair.n_first else &pair.second
    cdef Py_ssize_t i = k if k < pair.n_first else k - pair.n_first
    if block.single != NULL:
        return block.single[i * block.step + i]
    return <float> block.double[i * block.step + i]


cdef void _balance(const double[::1] signs, double[::1] b, const double[::1] upper) noexcept nogil:
    """Make sum_k b_k 0 up to one rounding, by moving the variable farthest from its bounds, or what has most room."""
    cdef Py_ssize_t k, inner, outer
    cdef double total = 0, last = INFINITY, room, most_inner, most_outer
    while True:
        total, most_inner, most_outer, inner, outer = 0, 0, 0, 0, 0
        for k in range(b.shape[0]):
            total += b[k]
        if total == 0 or not fabs(total) < last:
            return
        for k in range(b.shape[0]):
            room = fmin(fabs(b[k]), upper[k] - fabs(b[k]))
            if room > most_inner:
                inner, most_inner = k, room
            room = fabs(b[k]) if signs[k] * total > 0 else upper[k] - fabs(b[k])
            if room > most_outer:
                outer, most_outer = k, room
        if most_inner >= fabs(total):
            b[inner] -= total
        elif total > 0:
            b[outer] -= fmin(total, most_outer)
        else:
            b[outer] += fmin(-total, most_outer)
        last = fabs(total)
