"""Rows of a kernel matrix, computed on demand and cached.

The problem: K(x_j, x_k) instead of x_j.x_k, with an m x m matrix that may not fit into memory. The dual
variables determine the weight vector in the feature space of the kernel, and an inspection needs one of
its products. So v, which holds weights if the rows are those of X, here holds

    v_k = sum_j beta_j l_j K(x_j, x_k)        the products with all m samples

and an update adds row k of the kernel matrix to it. An inspection reads one number. An update costs m
operations and, if row k is not cached, m kernel values. The cache evicts the least recently used row.
When a row must be computed, the same batch computes rows that will probably be needed next, so that they
read the points once together. If a pass announces the products that it reads next, updates may wait: see
`margins.kernels._backlog` and `margins.solvers._waiting_passes`.

Source: Aizerman, Braverman & Rozonoer (1964); Khardon & Wachman (2007), the dual perceptron;
Panagiotakopoulos & Tsampouka (2010), section 3, the kernel version.
"""

from libc.stdint cimport int32_t
from margins._sparse cimport Rows
from margins.kernels._backlog cimport MAX_BLOCK, Backlog
from margins.kernels._columns cimport MAX_COLUMNS, Columns
from margins.kernels._transform cimport Transform

import numpy as np

cdef Py_ssize_t MIN_SLOTS = 2     # a row in use, and a row that is being computed
cdef Py_ssize_t BYTES_PER_MEGABYTE = 1 << 20
cdef double MIN_SHARE = 0.125     # if this share of the rows fits, the rows that a run updates often fit


cdef class Slots:
    """Memory for `n_slots` rows of a matrix of m rows of m elements."""

    def __init__(self, Py_ssize_t n_slots, Py_ssize_t m):
        self.values = np.empty((n_slots, m))  # memory pages of unfilled slots stay untouched
        self.slot_of = np.full(m, -1, dtype=np.int32)
        self.row_of = np.full(n_slots, -1, dtype=np.int32)
        self.older = np.full(n_slots, -1, dtype=np.int32)
        self.newer = np.full(n_slots, -1, dtype=np.int32)
        self.run_of = np.zeros(n_slots, dtype=np.int32)
        self.newest = self.oldest = -1

    cdef Py_ssize_t find(self, Py_ssize_t k) noexcept nogil:
        """Return the slot of row k, which becomes the most recently used, or -1."""
        cdef int32_t slot = self.slot_of[k]
        if slot >= 0:
            if slot != self.newest:
                self._unlink(slot)
                self._link(slot)
            self.run_of[slot] = self.run
        return slot

    cdef Py_ssize_t add(self, Py_ssize_t k) noexcept nogil:
        """Return a slot that the caller fills with row k: an empty slot, or the least recently used one."""
        cdef int32_t slot = <int32_t> self.n_used
        if self.n_used < self.row_of.shape[0]:
            self.n_used += 1
        else:
            slot = self.oldest
            self._unlink(slot)
            self.slot_of[self.row_of[slot]] = -1
        self.row_of[slot], self.slot_of[k] = <int32_t> k, slot
        self.run_of[slot] = self.run
        self._link(slot)
        return slot

    cdef bint evicts_own(self, Py_ssize_t k) noexcept nogil:
        """Return whether row k would take the slot of a row that the same run has used."""
        return self.slot_of[k] < 0 and self.n_used == self.row_of.shape[0] and self.run_of[self.oldest] == self.run

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


cdef class RowCache(Rows):
    """LRU cache of the rows of a kernel matrix; subclasses define `compute`.

    cache_size: memory for rows in megabytes (2**20 bytes); two rows are cached in any case.
    """

    def __init__(self, diagonal, double cache_size):
        cdef Py_ssize_t m = len(diagonal)
        Rows.__init__(self, None, m, m)
        self.is_kernel = True
        self.diagonal = diagonal
        n_slots = int(max(MIN_SLOTS, min(m, cache_size * BYTES_PER_MEGABYTE // (8 * max(m, 1)))))
        self.slots = Slots(n_slots, m)
        self.n_batch = 1
        # Use at most half of the slots, so that no row of a batch evicts another.
        self.batch = np.empty(min(MAX_COLUMNS, n_slots // 2), dtype=np.int32)
        self.computed = np.empty((min(MAX_COLUMNS, n_slots // 2), m))

    cdef bint compute(self, Py_ssize_t n) noexcept nogil:
        """Write rows batch[:n] of the kernel matrix to computed[:n]; return False with `error` set."""
        return False

    cdef bint is_missing(self, Py_ssize_t k) noexcept nogil:
        return self.slots.slot_of[k] < 0

    cdef bint expect(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t i
        if self.n_batch == self.batch.shape[0]:
            return False
        if self.is_missing(k):
            for i in range(1, self.n_batch):
                if self.batch[i] == k:
                    break
            else:
                self.batch[self.n_batch] = <int32_t> k
                self.n_batch += 1
        return True

    cdef Py_ssize_t _slot(self, Py_ssize_t k) noexcept nogil:
        """Return the slot that holds row k, or -1 if the row cannot be computed."""
        if self.slots.slot_of[k] < 0 and not self._fetch(k):
            return -1
        return self.slots.find(k)

    cdef bint _fetch(self, Py_ssize_t k) noexcept nogil:
        """Compute row k and the expected rows, and cache them."""
        cdef Py_ssize_t i, n = self.n_batch
        if self.error is not None:
            return False  # the pass has failed; its caller raises the error with `check`
        self.batch[0] = <int32_t> k
        self.n_batch = 1
        if not self.compute(n) or (self.watch is not None and not self._show(n)):
            return False
        self.n_computed += n
        for i in range(n):
            self.slots.values[self.slots.add(self.batch[i]), :] = self.computed[i, :]
        return True

    cdef bint _show(self, Py_ssize_t n) noexcept with gil:
        """Show the rows of the batch to `watch`."""
        try:
            self.watch(np.asarray(self.batch)[:n], np.asarray(self.computed)[:n])
        except BaseException as error:
            self.error = error
            return False
        return True

    cdef void kernel_axpy(self, Py_ssize_t k, double c, double* v) noexcept nogil:
        cdef Py_ssize_t j, slot = self._slot(k)
        cdef double* row
        if slot < 0:
            return
        row = &self.slots.values[slot, 0]
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
        return np.array(self.slots.values[slot])


cdef class ProductRows(RowCache):
    """Rows of a kernel that is a function of inner products and squared norms, the same bits in any batch.

    sqnorms, shape (m,): |x_k|^2 of the points.
    compressed: ``compressed()`` returns the points (Rows or None), before the first row, in a faster storage.
    """

    def __init__(self, Rows points not None, Transform transform not None, sqnorms, double cache_size, compressed=None):
        self.compressed = compressed
        RowCache.__init__(self, transform.diagonal(sqnorms), cache_size)
        self.columns = Columns(points, MAX_COLUMNS, points.longest(), sqnorms)
        self.transform = transform
        self.sqnorms_ = sqnorms
        if self.slots.row_of.shape[0] < self.n_rows:
            self.backlog = Backlog(self.columns, transform, sqnorms)

    cdef bint compute(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t j
        if not self._prepare():
            return False
        self.columns.fill(&self.batch[0], n)
        for j in range(self.n_rows):
            self.columns.multiply(self.columns.points, j, &self.computed[0, j], self.n_rows)
            if self.columns.is_interrupted():
                self._take_error()
                return False
        if self.transform.block(&self.computed[0, 0], n, self.n_rows, &self.columns.sqnorms[0], &self.sqnorms_[0]):
            return True
        self._take_error()
        return False

    cdef void begin_pass(self, const double* weights) noexcept nogil:
        """Let updates wait until `end_pass`: only products with samples of the current block are read."""
        # If all rows fit, each is computed once. Otherwise updates wait as soon as the rows of a run do not fit.
        # If few rows fit, they wait from the start of its first pass, whose updates are of new samples.
        cdef bint few_fit = self.slots.row_of.shape[0] < MIN_SHARE * self.n_rows
        self.may_wait, self.has_failed = self.backlog is not None, False
        self.waits = self.may_wait and few_fit and weights != self.weights
        self.slots.run += weights != self.weights
        self.weights = weights

    cdef void begin_block(self, const int32_t* order, Py_ssize_t n) noexcept nogil:
        """Announce that only the products with these samples are read next."""
        self.order, self.n_order = order, n
        if self.waits and self.error is None and not self._begin_waiting():
            self._take_error()

    cdef Py_ssize_t block_size(self) noexcept nogil:
        """Return the number of samples that the next block should have; 0: any number."""
        return MAX_BLOCK if self.waits else 0

    cdef bint is_missing(self, Py_ssize_t k) noexcept nogil:
        return not self.backlog.knows(k) if self.waits else RowCache.is_missing(self, k)

    cdef void kernel_axpy(self, Py_ssize_t k, double c, double* v) noexcept nogil:
        if not self.waits and not (self.may_wait and self.slots.evicts_own(k)):
            RowCache.kernel_axpy(self, k, c, v)
        elif self.error is None and not self._add_to_backlog(k, c, v):
            self._take_error()

    cdef bint _begin_waiting(self) noexcept nogil:
        """Let the updates of samples outside the current block wait."""
        self.waits = True
        return self._prepare() and self.backlog.begin_block(self.order, self.n_order)

    cdef bint _add_to_backlog(self, Py_ssize_t k, double c, double* v) noexcept nogil:
        cdef Py_ssize_t n = self.n_batch
        if not self.waits and not self._begin_waiting():
            return False
        if self.is_missing(k):
            self.batch[0] = <int32_t> k
            self.n_batch = 1
            if not self.backlog.compute_batch(&self.batch[0], n):
                return False
        return self.backlog.add(k, c, v)

    cdef void end_pass(self) noexcept nogil:
        """Apply the updates that wait, unless the pass has failed, so that all products can be read."""
        if self.waits:
            self.backlog.end_block()
            if self.error is None and not self.has_failed and not self.backlog.flush():
                self._take_error()
            self.backlog.clear()
        self.may_wait = self.waits = False
        self.n_batch = 1

    cdef bint _prepare(self) noexcept nogil:
        """Prepare the first kernel value; return False with `error` set."""
        return self.compressed is None or self._compress()

    cdef bint _compress(self) noexcept with gil:
        try:
            compressed, self.compressed = self.compressed(), None
            if compressed is not None:
                self.columns.set_points(compressed)
        except BaseException as error:
            self.error = error
            return False
        return True

    cdef Py_ssize_t n_spare_rows(self) noexcept nogil:
        return min((self.n_batch + 7) // 8 * 8, self.batch.shape[0]) - self.n_batch

    cdef void _take_error(self) noexcept with gil:
        """Set `error` to the error of the transform or the columns, unless it is set."""
        self.has_failed = True
        for found in (self.transform.error, self.columns.error):
            if self.error is None:
                self.error = found
        self.transform.error = self.columns.error = None


cdef class FunctionRows(RowCache):
    """Rows of any kernel: ``function(indices)`` returns rows of the matrix, shape (n, m), under the GIL."""

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
