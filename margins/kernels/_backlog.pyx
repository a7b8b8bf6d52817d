"""Updates over the rows of a kernel matrix that wait until their products are read.

The problem: an update adds row k of the kernel matrix to v, which holds all m products. If the rows do not
fit in the cache, every update computes m kernel values, a few rows at a time. But a pass reads each product
only once, in order. So updates are listed, and applied

    to the samples of the next block of the pass, before the first of them is read;
    to the samples of the current block at once;
    to all other samples when the list is full, and at the end of the pass.

Each step computes a block of the kernel matrix for up to `MAX_COLUMNS` updates together, in a fraction of the time for
as many single rows. Every sample gets every update once and in order, so v is the same, bit for bit.

Source: Khardon & Wachman (2007), section 2.3, the dual perceptron.
"""

from libc.stdlib cimport free, malloc

import numpy as np

cdef enum:
    IN_BLOCK = -1          # instead of a number of updates: all updates
    MIN_POINTS = 64
    MAX_POINTS = 512
    UPDATES_PER_POINT = 2  # one of the weight vector, and one of the array that an averaging keeps
# Maximum number of kernel values of all samples with the points of a full list: about a tenth of a second. It
# is larger only if so few points would not fill the columns.
cdef Py_ssize_t MAX_VALUES = 1 << 23


cdef class Backlog:
    """List of the updates of a pass over a kernel matrix that some samples have not had yet.

    Methods return False after an error, which the columns (Ctrl-C) or the transform store.
    """

    def __cinit__(self, Columns columns not None, Transform transform not None, const double[::1] sqnorms not None):
        cdef Py_ssize_t m = sqnorms.shape[0]
        cdef Py_ssize_t n = min(max(MAX_VALUES // max(m, 1), MIN_POINTS), MAX_POINTS)
        self.columns, self.transform, self.sqnorms = columns, transform, sqnorms
        self.targets = <double**> malloc(UPDATES_PER_POINT * n * sizeof(double*))
        if self.targets == NULL:
            raise MemoryError
        self.points = np.empty(n, dtype=np.int32)
        self.point_of = np.empty(UPDATES_PER_POINT * n, dtype=np.int32)
        self.coefficients = np.empty(UPDATES_PER_POINT * n)
        self.n_applied = np.zeros(m, dtype=np.int32)
        self.block, self.tile = np.empty(MAX_BLOCK, dtype=np.int32), np.empty(MAX_BLOCK, dtype=np.int32)
        self.batch = np.empty(MAX_COLUMNS, dtype=np.int32)
        self.batch_values = np.empty(MAX_BLOCK * MAX_COLUMNS)
        self.tile_values, self.tile_sqnorms = np.empty(MAX_BLOCK * MAX_COLUMNS), np.empty(MAX_BLOCK)

    def __dealloc__(self):
        free(self.targets)

    cdef bint begin_block(self, const int32_t* order, Py_ssize_t n) noexcept nogil:
        """Bring the products of these samples, at most `MAX_BLOCK`, up to date, and keep them so."""
        cdef Py_ssize_t i
        self.end_block()
        if not self._catch_up(order, n):
            return False
        for i in range(n):
            if self.n_applied[order[i]] != IN_BLOCK:  # otherwise the sample is twice in the order
                self.block[self.n_block] = order[i]
                self.n_block += 1
                self.n_applied[order[i]] = IN_BLOCK
        return True

    cdef void end_block(self) noexcept nogil:
        """Stop keeping the products of the block up to date."""
        cdef Py_ssize_t i
        for i in range(self.n_block):
            self.n_applied[self.block[i]] = <int32_t> self.n_updates
        self.n_block = self.n_batch = 0

    cdef bint knows(self, Py_ssize_t k) noexcept nogil:
        """Return whether the values of point k with the block are known, so that it can be added."""
        cdef Py_ssize_t i
        for i in range(self.n_batch):
            if self.batch[i] == k:
                return True
        return False

    cdef bint compute_batch(self, const int32_t* batch, Py_ssize_t n) noexcept nogil:
        """Compute the values of these points, at most `MAX_COLUMNS`, with the block."""
        cdef Py_ssize_t i
        self.n_batch = 0
        self.columns.fill(batch, n)
        if not self._compute(&self.block[0], self.n_block, &self.batch_values[0]):
            return False
        for i in range(n):
            self.batch[i] = batch[i]
        self.n_batch = n
        return True

    cdef bint add(self, Py_ssize_t k, double c, double* v) noexcept nogil:
        """Add c K(x_k, .) to v: now to the samples of the block, later to all others. Point k is known."""
        cdef Py_ssize_t i, column = 0
        cdef bint is_new = self.n_points == 0 or self.points[self.n_points - 1] != k
        if self.n_updates == self.coefficients.shape[0] or (is_new and self.n_points == self.points.shape[0]):
            if not self.flush():
                return False
            is_new = True
        if is_new:
            self.points[self.n_points] = <int32_t> k
            self.n_points += 1
        self.point_of[self.n_updates] = <int32_t> (self.n_points - 1)
        self.coefficients[self.n_updates], self.targets[self.n_updates] = c, v
        self.n_updates += 1
        while self.batch[column] != k:
            column += 1
        for i in range(self.n_block):
            v[self.block[i]] += c * self.batch_values[i * self.n_batch + column]
        return True

    cdef bint flush(self) noexcept nogil:
        """Apply all updates to all samples."""
        cdef Py_ssize_t j
        if not self._catch_up(NULL, self.n_applied.shape[0]):
            return False
        for j in range(self.n_applied.shape[0]):
            if self.n_applied[j] != IN_BLOCK:
                self.n_applied[j] = 0
        self.n_updates = self.n_points = 0
        return True

    cdef void clear(self) noexcept nogil:
        """Forget everything, as after an error."""
        self.end_block()
        self.n_applied[:] = 0
        self.n_updates = self.n_points = 0

    cdef bint _catch_up(self, const int32_t* samples, Py_ssize_t n) noexcept nogil:
        """Apply all updates to these samples, or to all n; samples of the block have had them."""
        cdef Py_ssize_t i, j, n_tile, point = 0, first = 0, last = 0
        while first < self.n_updates:
            while last < self.n_updates and self.point_of[last] < point + MAX_COLUMNS:
                last += 1
            self.columns.fill(&self.points[point], min(self.n_points - point, <Py_ssize_t> MAX_COLUMNS))
            n_tile = 0
            for i in range(n):
                j = i if samples == NULL else samples[i]
                if self.n_applied[j] != IN_BLOCK and self.n_applied[j] < last:
                    self.tile[n_tile] = <int32_t> j
                    n_tile += 1
                if n_tile == MAX_BLOCK or (i == n - 1 and n_tile > 0):
                    if not self._apply(point, first, last, n_tile):
                        return False
                    n_tile = 0
            first = last
            point += MAX_COLUMNS
        return True

    cdef bint _apply(self, Py_ssize_t point, Py_ssize_t first, Py_ssize_t last, Py_ssize_t n) noexcept nogil:
        """Apply the updates [first, last) to the samples of the tile; the columns are the points from `point` on."""
        cdef Py_ssize_t i, j, update
        cdef const double* values = &self.tile_values[0]
        if not self._compute(&self.tile[0], n, &self.tile_values[0]):
            return False
        for i in range(n):
            j = self.tile[i]
            for update in range(max(first, <Py_ssize_t> self.n_applied[j]), last):
                self.targets[update][j] += self.coefficients[update] * values[self.point_of[update] - point]
            self.n_applied[j] = <int32_t> last
            values += self.columns.n_columns
        return True

    cdef bint _compute(self, const int32_t* samples, Py_ssize_t n, double* values) noexcept nogil:
        """Compute the kernel values of some samples, at most `MAX_BLOCK`, with the columns."""
        cdef Py_ssize_t i, n_columns = self.columns.n_columns
        for i in range(n):
            self.columns.multiply(self.columns.points, samples[i], values + i * n_columns, 1)
            self.tile_sqnorms[i] = self.sqnorms[samples[i]]
            if self.columns.is_interrupted():
                return False
        return n == 0 or self.transform.block(values, n, n_columns, &self.tile_sqnorms[0], &self.columns.sqnorms[0])
