"""Rows of a kernel matrix, computed on demand and cached.

The problem: K(x_j, x_k) in place of x_j.x_k, with an m x m matrix that may not fit into memory. A
weight vector in the feature space of the kernel is known by its dual variables; an inspection needs one
product of it. So v, which over the rows of X holds weights, here holds

    v_k = sum_j beta_j l_j K(x_j, x_k)        the products with all m samples

and an update adds row k of the kernel matrix to it. An inspection reads one number; an update costs m
operations and, if row k is not cached, m kernel values. The cache evicts the least recently used row.
When a row must be computed, rows that will probably be needed next are computed in the same batch:
together they read the points once.

Source: Aizerman, Braverman & Rozonoer (1964); Khardon & Wachman (2007), the dual perceptron;
Panagiotakopoulos & Tsampouka (2010), section 3, the kernel version.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t
from margins._sparse cimport Rows, axpy, dots
from margins.kernels._transform cimport Transform

import numpy as np

cdef Py_ssize_t WIDTH = 8
cdef Py_ssize_t MIN_SLOTS = 2     # one row in use, one that is computed
cdef Py_ssize_t BYTES_PER_MEGABYTE = 1 << 20
# Products of two numbers between two checks for Ctrl-C: a few milliseconds.
cdef Py_ssize_t PRODUCTS_PER_SIGNAL_CHECK = 1 << 23


cdef class RowCache(Rows):
    """An LRU cache of the rows of a kernel matrix; subclasses define `compute`.

    Parameters
    ----------
    diagonal : ndarray of float64, shape (m,)
        K(x_k, x_k).
    cache_size : float
        Memory for rows in megabytes (2**20 bytes); two rows are cached in any case.
    """

    def __init__(self, diagonal, double cache_size):
        cdef Py_ssize_t m = len(diagonal)
        Rows.__init__(self, None, m, m)
        self.is_kernel = True
        self.diagonal = diagonal
        n_slots = int(max(MIN_SLOTS, min(m, cache_size * BYTES_PER_MEGABYTE // (8 * max(m, 1)))))
        self.slots = np.empty((n_slots, m))  # pages of slots that are never filled are never touched
        self.slot_of = np.full(m, -1, dtype=np.int32)
        self.row_of = np.full(n_slots, -1, dtype=np.int32)
        self.older = np.full(n_slots, -1, dtype=np.int32)
        self.newer = np.full(n_slots, -1, dtype=np.int32)
        self.newest = self.oldest = -1
        self.n_batch = 1
        # At most half of the slots at once, so that no row of a batch evicts another.
        self.batch = np.empty(min(MAX_BATCH, n_slots // 2), dtype=np.int32)
        self.computed = np.empty((min(MAX_BATCH, n_slots // 2), m))

    cdef bint compute(self, Py_ssize_t n) noexcept nogil:
        """Write rows batch[:n] of the kernel matrix to computed[:n]; False: `error` is the reason."""
        return False

    cdef bint is_missing(self, Py_ssize_t k) noexcept nogil:
        return self.slot_of[k] < 0

    cdef bint expect(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t i
        if self.n_batch == self.batch.shape[0]:
            return False
        if self.slot_of[k] < 0:
            for i in range(1, self.n_batch):
                if self.batch[i] == k:
                    break
            else:
                self.batch[self.n_batch] = <int32_t> k
                self.n_batch += 1
        return True

    cdef Py_ssize_t _slot(self, Py_ssize_t k) noexcept nogil:
        """The slot that holds row k, now the most recently used; -1 if it cannot be computed."""
        if self.slot_of[k] < 0:
            if not self._fetch(k):
                return -1
        if self.slot_of[k] != self.newest:
            self._unlink(self.slot_of[k])
            self._link(self.slot_of[k])
        return self.slot_of[k]

    cdef bint _fetch(self, Py_ssize_t k) noexcept nogil:
        """Compute row k and the expected rows, and cache them."""
        cdef Py_ssize_t i, n = self.n_batch
        cdef int32_t slot
        if self.error is not None:
            return False  # the pass has failed; its caller raises the error with `check`
        self.batch[0] = <int32_t> k
        self.n_batch = 1
        if not self.compute(n):
            return False
        self.n_computed += n
        for i in range(n):
            slot = self._free_slot()
            self.row_of[slot] = self.batch[i]
            self.slot_of[self.batch[i]] = slot
            self._link(slot)
            self.slots[slot, :] = self.computed[i, :]
        return True

    cdef int32_t _free_slot(self) noexcept nogil:
        """An empty slot, or that of the least recently used row, which is evicted."""
        cdef int32_t slot
        if self.n_used < self.row_of.shape[0]:
            self.n_used += 1
            return <int32_t> (self.n_used - 1)
        slot = self.oldest
        self._unlink(slot)
        self.slot_of[self.row_of[slot]] = -1
        return slot

    cdef void _unlink(self, int32_t slot) noexcept nogil:
        """Remove `slot` from the list of use."""
        if self.newer[slot] >= 0:
            self.older[self.newer[slot]] = self.older[slot]
        else:
            self.newest = self.older[slot]
        if self.older[slot] >= 0:
            self.newer[self.older[slot]] = self.newer[slot]
        else:
            self.oldest = self.newer[slot]

    cdef void _link(self, int32_t slot) noexcept nogil:
        """Make `slot` the most recently used."""
        self.newer[slot], self.older[slot] = -1, self.newest
        if self.newest >= 0:
            self.newer[self.newest] = slot
        else:
            self.oldest = slot
        self.newest = slot

    cdef void kernel_axpy(self, Py_ssize_t k, double c, double* v) noexcept nogil:
        cdef Py_ssize_t j, slot = self._slot(k)
        cdef double* row
        if slot < 0:
            return
        row = &self.slots[slot, 0]
        for j in range(self.n_rows):
            v[j] += c * row[j]

    cdef double kernel_sqnorm(self, Py_ssize_t k) noexcept nogil:
        return self.diagonal[k]

    cdef int check(self) except -1:
        # Nothing can be raised while a pass runs without the GIL.
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0

    # Python wrapper for tests.
    def py_row(self, Py_ssize_t k):
        slot = self._slot(k)
        self.check()
        return np.array(self.slots[slot])


cdef class ProductRows(RowCache):
    """Rows of a kernel that is a function of inner products and squared norms.

    The inner products of a batch do not depend on which rows are in it, so neither cache size nor the
    order of requests changes a bit of any row.

    Parameters
    ----------
    points : Rows, shape (m, d)
    transform : Transform
        From inner products to kernel values.
    sqnorms : ndarray of float64, shape (m,)
        |x_k|^2 of the points.
    cache_size : float
        Memory for rows in megabytes.
    compressed : callable, optional
        ``compressed()`` returns the points in a storage that is read in less time: Rows, or None if there is
        none. Called before the first row is computed.
    """

    def __init__(self, Rows points not None, Transform transform not None, sqnorms, double cache_size,
                 compressed=None):
        self.compressed = compressed
        RowCache.__init__(self, transform.diagonal(sqnorms), cache_size)
        self.points = points
        self.transform = transform
        self.sqnorms_ = sqnorms
        self.batch_sqnorms = np.empty(self.batch.shape[0])
        self.dense_row = np.zeros(points.n_features)
        self.row_values = np.empty(points.longest() + 1)
        self.row_columns = np.empty(points.longest() + 1, dtype=np.int32)
        self.vectors = np.empty((points.n_features, _padded(self.batch.shape[0])))
        self.products = np.empty(_padded(self.batch.shape[0]))

    cdef bint compute(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i, j, step = max(PRODUCTS_PER_SIGNAL_CHECK // (n * self.row_values.shape[0]), 1)
        cdef Py_ssize_t width = _padded(n)
        if self.compressed is not None and not self._compress():
            return False
        cdef double* vectors = &self.vectors[0, 0]
        for i in range(width):
            # Beyond n they are copies, whose products are not used.
            _scatter(self.points, self.batch[min(i, n - 1)], self.dense_row, vectors + i, width)
        for i in range(n):
            self.batch_sqnorms[i] = self.sqnorms_[self.batch[i]]
        for j in range(self.n_rows):
            dots(self.points, j, vectors, width, &self.products[0], &self.row_values[0], &self.row_columns[0])
            for i in range(n):
                self.computed[i, j] = self.products[i]
            if (j + 1) % step == 0 and self._is_interrupted():
                return False
        if self.transform.block(
            &self.computed[0, 0], n, self.n_rows, &self.batch_sqnorms[0], &self.sqnorms_[0]
        ):
            return True
        self._take_error()
        return False

    cdef bint _compress(self) noexcept with gil:
        try:
            compressed, self.compressed = self.compressed(), None
            self.points = self.points if compressed is None else compressed
        except BaseException as error:
            self.error = error
            return False
        return True

    cdef Py_ssize_t room(self) noexcept nogil:
        return min(_padded(self.n_batch), self.batch.shape[0]) - self.n_batch

    cdef bint _is_interrupted(self) noexcept with gil:
        """True after Ctrl-C, which `check` raises."""
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            self.error = error
            return True
        return False

    cdef void _take_error(self) noexcept with gil:
        self.error, self.transform.error = self.transform.error, None


cdef class FunctionRows(RowCache):
    """Rows of any kernel, by a Python function that is called under the GIL.

    Parameters
    ----------
    function : callable
        ``function(indices)`` returns these rows of the kernel matrix, shape (n, m).
    diagonal : ndarray of float64, shape (m,)
        K(x_k, x_k).
    cache_size : float
        Memory for rows in megabytes.
    """

    def __init__(self, function, diagonal, double cache_size):
        RowCache.__init__(self, diagonal, cache_size)
        self.function = function

    cdef bint compute(self, Py_ssize_t n) noexcept nogil:
        return self._call(n)

    cdef bint _call(self, Py_ssize_t n) noexcept with gil:
        try:
            np.asarray(self.computed)[:n] = self.function(np.asarray(self.batch)[:n])
        except BaseException as error:  # raised by `check`, as nothing can be raised in a nogil loop
            self.error = error
            return False
        return True


def inner_products(Rows rows not None, Rows points not None):
    """Inner products of all rows with all points: ndarray of float64, shape (n_rows, n_points)."""
    cdef Py_ssize_t i, j, n, begin = 0, d = rows.n_features
    cdef double[:, ::1] out
    cdef Py_ssize_t longest = rows.longest() + 1
    cdef double[::1] dense_row = np.zeros(d), row_values = np.empty(longest)
    cdef double[::1] vectors = np.empty(MAX_BATCH * d + 1)
    cdef int32_t[::1] row_columns = np.empty(longest, dtype=np.int32)
    result = np.empty((rows.n_rows, points.n_rows))
    out = result
    with nogil:
        while begin < points.n_rows:
            n = min(<Py_ssize_t> MAX_BATCH, points.n_rows - begin)
            for i in range(n):
                _scatter(points, begin + i, dense_row, &vectors[i], n)
            for j in range(rows.n_rows):
                dots(rows, j, &vectors[0], n, &out[j, begin], &row_values[0], &row_columns[0])
            begin += n
    return result


cdef inline Py_ssize_t _padded(Py_ssize_t n) noexcept nogil:
    """The number of vectors that are computed for n of them: multiples of this width fill registers."""
    return (n + WIDTH - 1) // WIDTH * WIDTH


cdef inline void _scatter(
    Rows points, Py_ssize_t k, double[::1] dense_row, double* column, Py_ssize_t width
) noexcept nogil:
    """Write point k as one column of a matrix of `width` columns; `dense_row` is 0 before and after."""
    cdef Py_ssize_t j
    axpy(points, k, 1, &dense_row[0])
    for j in range(points.n_features):
        column[j * width] = dense_row[j]
    axpy(points, k, -1, &dense_row[0])
