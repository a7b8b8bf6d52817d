from libc.stdint cimport int32_t
from margins._sparse cimport Rows
from margins.kernels._backlog cimport Backlog
from margins.kernels._columns cimport Columns
from margins.kernels._transform cimport Transform


cdef class Slots:
    cdef double[:, ::1] values        # the rows in memory
    cdef int32_t[::1] slot_of         # by row; -1: not in memory
    cdef int32_t[::1] row_of          # by slot
    cdef int32_t[::1] older           # by slot: a doubly linked list from the most recently used ...
    cdef int32_t[::1] newer           # ... to the least recently used slot
    cdef int32_t[::1] run_of          # by slot: the last run that has used it
    cdef int32_t newest
    cdef int32_t oldest
    cdef int32_t run
    cdef Py_ssize_t n_used
    cdef Py_ssize_t find(self, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t add(self, Py_ssize_t k) noexcept nogil
    cdef bint evicts_own(self, Py_ssize_t k) noexcept nogil
    cdef void _unlink(self, int32_t slot) noexcept nogil
    cdef void _link(self, int32_t slot) noexcept nogil


cdef class RowCache(Rows):
    cdef public object blocks         # the same rows by blocks: margins.kernels.shared_blocks.SharedBlocks
    cdef public object watch          # None, or watch(indices, rows) is called with rows as they are computed
    cdef const double[::1] diagonal
    cdef Slots slots                  # the cached rows
    cdef readonly Py_ssize_t n_computed
    cdef object error
    cdef int32_t[::1] batch           # rows to compute together; [0] is the one that is needed now
    cdef Py_ssize_t n_batch
    cdef double[:, ::1] computed      # the rows of the batch
    cdef bint compute(self, Py_ssize_t n) noexcept nogil
    cdef bint _fetch(self, Py_ssize_t k) noexcept nogil
    cdef bint _show(self, Py_ssize_t n) noexcept with gil
    cdef Py_ssize_t _slot(self, Py_ssize_t k) noexcept nogil


cdef class ProductRows(RowCache):
    cdef object compressed            # None, or a function of which the points are the result from the first row on
    cdef Transform transform
    cdef const double[::1] sqnorms_   # |x_k|^2 of the points
    cdef Columns columns
    cdef Backlog backlog              # None if all rows fit in the cache
    cdef const double* weights        # of the run whose pass is running or was the last one
    cdef bint may_wait                # a pass is running in which updates may wait ...
    cdef bint waits                   # ... and they do
    cdef const int32_t* order         # the samples of the current block
    cdef Py_ssize_t n_order
    cdef bint has_failed              # in this pass: some updates cannot be applied any more
    cdef void begin_pass(self, const double* weights) noexcept nogil
    cdef void begin_block(self, const int32_t* order, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t block_size(self) noexcept nogil
    cdef void end_pass(self) noexcept nogil
    cdef bint _compress(self) noexcept with gil
    cdef bint _prepare(self) noexcept nogil
    cdef bint _begin_waiting(self) noexcept nogil
    cdef void _take_error(self) noexcept with gil
    cdef bint _add_to_backlog(self, Py_ssize_t k, double c, double* v) noexcept nogil


cdef class FunctionRows(RowCache):
    cdef object function
    cdef bint _call(self, Py_ssize_t n) noexcept with gil
