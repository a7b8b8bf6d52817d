"""The rows of a kernel matrix, computed when they are asked for and kept as long as there is room.

The problem: K(x_j, x_k) = phi(x_j).phi(x_k) in place of x_j.x_k, with an m x m matrix that may not fit
into memory. A weight vector in the space of phi is known by its dual variables; what a presentation
needs of it is one product. So v, which over ordinary rows holds weights, here holds

    v_k = sum_j beta_j l_j K(x_j, x_k)        the products with all m patterns

and an update adds row k of the kernel matrix to it. An inspection reads one number; an update costs m
operations and, if its row is not at hand, m evaluations of the kernel. Rows are kept in slots, as many
as memory allows, and the least recently used gives way. When one must be computed, those that are
expected to be asked for next are computed with it: together they read the points but once.

Source: Aizerman, Braverman & Rozonoer (1964); Khardon & Wachman (2007), the dual perceptron;
Panagiotakopoulos & Tsampouka (2010), section 3, the kernel version.
"""

from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t
from margins._sparse cimport Rows, axpy, dots, index_t, value_t

import numpy as np

cdef Py_ssize_t BATCH = 32        # most rows computed together

# Beside `value_t`, as what is read and what is written may differ.
ctypedef fused result_t:
    float
    double


cdef class KernelRows(Rows):
    """The rows of a kernel matrix; subclasses define `compute`.

    Parameters
    ----------
    diagonal : ndarray of float64, shape (m,)
        K(x_k, x_k).
    cache_size : float
        Memory for rows in megabytes (2**20 bytes); two rows are kept in any case.
    """

    def __init__(self, diagonal, double cache_size):
        cdef Py_ssize_t m = len(diagonal)
        Rows.__init__(self, None, m, m)
        self.is_kernel = True
        self.diagonal = diagonal
        n_slots = int(max(2, min(m, cache_size * 2**20 // (8 * max(m, 1)))))
        self.slots = np.empty((n_slots, m))  # pages that no row fills are never touched
        self.slot_of = np.full(m, -1, dtype=np.int32)
        self.row_of = np.full(n_slots, -1, dtype=np.int32)
        self.older = np.full(n_slots, -1, dtype=np.int32)
        self.newer = np.full(n_slots, -1, dtype=np.int32)
        self.newest = self.oldest = -1
        self.n_batch = 1
        # At most half of the slots at once, so that no row of a batch drives out another.
        self.batch = np.empty(min(BATCH, n_slots // 2), dtype=np.int32)
        self.computed = np.empty((min(BATCH, n_slots // 2), m))

    cdef bint compute(self, Py_ssize_t n) noexcept nogil:
        """Write rows batch[:n] of the kernel matrix to computed[:n]; False: `error` says why not."""
        return False

    cdef bint lacks(self, Py_ssize_t k) noexcept nogil:
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
        """The slot that holds row k, now the last used; -1 if it cannot be computed."""
        if self.slot_of[k] < 0:
            if not self._fetch(k):
                return -1
        if self.slot_of[k] != self.newest:
            self._unlink(self.slot_of[k])
            self._link(self.slot_of[k])
        return self.slot_of[k]

    cdef bint _fetch(self, Py_ssize_t k) noexcept nogil:
        """Compute row k and rows that are expected, and keep them."""
        cdef Py_ssize_t i, n = self.n_batch
        cdef int32_t slot
        if self.error is not None:
            return False  # the pass is lost: come to its end, where it can be raised
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
        cdef int32_t slot
        if self.n_used < self.row_of.shape[0]:
            self.n_used += 1
            return <int32_t> (self.n_used - 1)
        slot = self.oldest
        self._unlink(slot)
        self.slot_of[self.row_of[slot]] = -1
        return slot

    cdef void _unlink(self, int32_t slot) noexcept nogil:
        if self.newer[slot] >= 0:
            self.older[self.newer[slot]] = self.older[slot]
        else:
            self.newest = self.older[slot]
        if self.older[slot] >= 0:
            self.newer[self.older[slot]] = self.newer[slot]
        else:
            self.oldest = self.newer[slot]

    cdef void _link(self, int32_t slot) noexcept nogil:
        """Make `slot` the last used."""
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
        # Nothing can be raised while the kernels run without the GIL.
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0

    # Door for tests.
    def py_row(self, Py_ssize_t k):
        slot = self._slot(k)
        self.check()
        return np.array(self.slots[slot])


def products(Rows rows not None, Rows points not None):
    """Inner products of all rows with all points: ndarray of float64, shape (n_rows, n_points)."""
    cdef Py_ssize_t i, j, n, begin = 0, d = rows.n_features
    cdef double[:, ::1] out
    cdef Py_ssize_t room = rows.longest() + 1
    cdef double[::1] point = np.zeros(d), kept = np.empty(room), lanes = np.empty(BATCH * d + 1)
    cdef int32_t[::1] columns = np.empty(room, dtype=np.int32)
    result = np.empty((rows.n_rows, points.n_rows))
    out = result
    with nogil:
        while begin < points.n_rows:
            n = min(BATCH, points.n_rows - begin)
            for i in range(n):
                _enter(points, begin + i, point, &lanes[i], n)
            for j in range(rows.n_rows):
                dots(rows, j, &lanes[0], n, &out[j, begin], &kept[0], &columns[0])
            begin += n
    return result


def fill_columns(const value_t[::1] values, const index_t[::1] columns, const index_t[::1] starts,
                 int64_t[::1] read, Py_ssize_t begin, result_t[:, ::1] out):
    """Write some columns of a CSR matrix into a dense one of 0, if its rows are sorted.

    Parameters
    ----------
    values, columns, starts : ndarrays
        The CSR matrix.
    read : ndarray of int64, shape (n_rows,)
        How many elements of every row have been read; moved on.
    begin : int
        The first column; columns before it have been read.
    out : ndarray of float64 or float32, shape (n_rows, n_columns)

    Returns
    -------
    bool
        False: a row has one of these columns where later ones are; not all of it has been written.
    """
    cdef Py_ssize_t k, i, end = begin + out.shape[1]
    cdef bint is_sorted = True
    with nogil:
        for k in range(out.shape[0]):
            i = starts[k] + read[k]
            while i < starts[k + 1] and begin <= columns[i] < end:
                out[k, columns[i] - begin] += <result_t> values[i]
                i += 1
            is_sorted = is_sorted and not (i < starts[k + 1] and columns[i] < begin)
            read[k] = i - starts[k]
    return is_sorted


cdef inline void _enter(
    Rows points, Py_ssize_t k, double[::1] point, double* lane, Py_ssize_t width
) noexcept nogil:
    """Write point k into its lane; `point` is 0 before and after."""
    cdef Py_ssize_t j
    axpy(points, k, 1, &point[0])
    for j in range(points.n_features):
        lane[j * width] = point[j]
    axpy(points, k, -1, &point[0])


cdef class GramRows(KernelRows):
    """A kernel matrix that is there already, symmetric, given row by row."""

    def __init__(self, Rows gram not None, diagonal):
        KernelRows.__init__(self, diagonal, 0)
        self.gram = gram

    cdef bint lacks(self, Py_ssize_t k) noexcept nogil:
        return False

    cdef void kernel_axpy(self, Py_ssize_t k, double c, double* v) noexcept nogil:
        axpy(self.gram, k, c, v)


cdef class PointRows(KernelRows):
    """A kernel that is a function of x_j.x_k, given the rows x_k."""

    def __init__(self, Rows points not None, diagonal, double cache_size):
        KernelRows.__init__(self, diagonal, cache_size)
        self.points = points
        self.point = np.zeros(points.n_features)
        self.kept = np.empty(points.longest() + 1)
        self.columns = np.empty(points.longest() + 1, dtype=np.int32)
        self.lanes = np.empty((points.n_features, self.batch.shape[0]))

    cdef double value(self, double product, Py_ssize_t j, Py_ssize_t k) noexcept nogil:
        """K(x_j, x_k) from x_j.x_k."""
        return product

    cdef bint compute(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i, j
        cdef double* lanes = &self.lanes[0, 0]
        cdef double[32] products  # BATCH
        for i in range(n):
            _enter(self.points, self.batch[i], self.point, lanes + i, n)
        for j in range(self.n_rows):
            dots(self.points, j, lanes, n, products, &self.kept[0], &self.columns[0])
            for i in range(n):
                self.computed[i, j] = self.value(products[i], j, self.batch[i])
        return True


cdef class PolynomialRows(PointRows):
    """K(x, z) = (gamma x.z + coef0) ** degree."""

    def __init__(self, Rows points not None, double cache_size, int degree, double gamma, double coef0):
        PointRows.__init__(self, points, (gamma * points.sqnorms() + coef0) ** degree, cache_size)
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    cdef double value(self, double product, Py_ssize_t j, Py_ssize_t k) noexcept nogil:
        cdef double base = self.gamma * product + self.coef0, result = 1
        cdef int degree = self.degree
        while degree:
            if degree & 1:
                result *= base
            base *= base
            degree >>= 1
        return result


cdef class RadialRows(PointRows):
    """K(x, z) = exp(-gamma |x - z|^2)."""

    def __init__(self, Rows points not None, double cache_size, double gamma):
        PointRows.__init__(self, points, np.ones(points.n_rows), cache_size)
        self.gamma = gamma
        self.sqnorms = points.sqnorms()

    cdef double value(self, double product, Py_ssize_t j, Py_ssize_t k) noexcept nogil:
        cdef double distance = self.sqnorms[j] + self.sqnorms[k] - 2 * product
        return exp(-self.gamma * distance) if distance > 0 else 1


cdef class FunctionRows(KernelRows):
    """Any kernel, by a Python function that is called under the GIL.

    Parameters
    ----------
    function : callable
        ``function(indices)`` gives these rows of the kernel matrix, shape (n, m).
    """

    def __init__(self, function, diagonal, double cache_size):
        KernelRows.__init__(self, diagonal, cache_size)
        self.function = function

    cdef bint compute(self, Py_ssize_t n) noexcept nogil:
        return self._call(n)

    cdef bint _call(self, Py_ssize_t n) noexcept with gil:
        try:
            np.asarray(self.computed)[:n] = self.function(np.asarray(self.batch)[:n])
        except BaseException as error:
            self.error = error
            return False
        return True
