# cython: language_level=3
"""The rows of a kernel matrix, computed when they are asked for and kept as long as there is room."""

from libc.stdint cimport int32_t
from margins._sparse cimport Rows


cdef class KernelRows(Rows):
    cdef const double[::1] diagonal
    cdef double[:, ::1] slots         # the rows that are kept, one a slot
    cdef int32_t[::1] slot_of         # by row; -1: not kept
    cdef int32_t[::1] row_of          # by slot; -1: empty
    cdef int32_t[::1] older           # by slot: a doubly linked list from the last used ...
    cdef int32_t[::1] newer           # ... to the least recently used slot
    cdef int32_t newest
    cdef int32_t oldest
    cdef Py_ssize_t n_used
    cdef readonly Py_ssize_t n_computed
    cdef object error
    cdef int32_t[::1] batch           # the rows to be computed together; [0] is the one asked for
    cdef Py_ssize_t n_batch
    cdef double[:, ::1] computed      # what they are
    cdef bint compute(self, Py_ssize_t n) noexcept nogil
    cdef int32_t _free_slot(self) noexcept nogil
    cdef bint _fetch(self, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t _slot(self, Py_ssize_t k) noexcept nogil
    cdef void _unlink(self, int32_t slot) noexcept nogil
    cdef void _link(self, int32_t slot) noexcept nogil


cdef class GramRows(KernelRows):
    cdef Rows gram


cdef class PointRows(KernelRows):
    cdef Rows points
    cdef double[::1] point            # one of them, dense
    cdef double[::1] kept             # room for a row's elements ...
    cdef int32_t[::1] columns         # ... and their columns
    cdef double[:, ::1] lanes         # the points of the batch, side by side
    cdef double value(self, double product, Py_ssize_t j, Py_ssize_t k) noexcept nogil


cdef class PolynomialRows(PointRows):
    cdef double gamma
    cdef double coef0
    cdef int degree


cdef class RadialRows(PointRows):
    cdef double gamma
    cdef const double[::1] sqnorms


cdef class FunctionRows(KernelRows):
    cdef object function
    cdef bint _call(self, Py_ssize_t n) noexcept with gil
