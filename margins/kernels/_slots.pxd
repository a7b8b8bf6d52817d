# cython: language_level=3
"""Rows in memory, of which the least recently used one makes way for another."""

from libc.stdint cimport int32_t


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
