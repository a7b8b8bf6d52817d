# cython: language_level=3
"""Rows of a kernel matrix, computed on demand and cached."""

from libc.stdint cimport int32_t
from margins._sparse cimport Rows
from margins.kernels._transform cimport Transform

cdef enum:
    MAX_BATCH = 32   # rows computed together, at most


cdef class RowCache(Rows):
    cdef public object blocks         # the same rows by blocks: margins.kernels.row_blocks.SharedBlocks
    cdef const double[::1] diagonal
    cdef double[:, ::1] slots         # the cached rows
    cdef int32_t[::1] slot_of         # by row; -1: not cached
    cdef int32_t[::1] row_of          # by slot; -1: empty
    cdef int32_t[::1] older           # by slot: a doubly linked list from the most recently used ...
    cdef int32_t[::1] newer           # ... to the least recently used slot
    cdef int32_t newest
    cdef int32_t oldest
    cdef Py_ssize_t n_used
    cdef readonly Py_ssize_t n_computed
    cdef object error
    cdef int32_t[::1] batch           # rows to compute together; [0] is the one that is needed now
    cdef Py_ssize_t n_batch
    cdef double[:, ::1] computed      # the rows of the batch
    cdef bint compute(self, Py_ssize_t n) noexcept nogil
    cdef int32_t _free_slot(self) noexcept nogil
    cdef bint _fetch(self, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t _slot(self, Py_ssize_t k) noexcept nogil
    cdef void _unlink(self, int32_t slot) noexcept nogil
    cdef void _link(self, int32_t slot) noexcept nogil


cdef class ProductRows(RowCache):
    cdef Rows points
    cdef object compressed            # None, or a function of which `points` are the result from the first row on
    cdef Transform transform
    cdef const double[::1] sqnorms_   # |x_k|^2 of the points
    cdef double[::1] batch_sqnorms
    cdef double[::1] dense_row        # one point; 0 between calls
    cdef double[::1] row_values       # a row's stored elements ...
    cdef int32_t[::1] row_columns     # ... and their columns
    cdef double[::1] products         # of a row with those of the batch
    cdef double[:, ::1] vectors       # the points of the batch: one coordinate a row, one point a column
    cdef Py_ssize_t room(self) noexcept nogil
    cdef bint _compress(self) noexcept with gil
    cdef bint _is_interrupted(self) noexcept with gil
    cdef void _take_error(self) noexcept with gil


cdef class FunctionRows(RowCache):
    cdef object function
    cdef bint _call(self, Py_ssize_t n) noexcept with gil
