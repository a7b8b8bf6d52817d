"""Rows in memory; a new row replaces the least recently used one."""

import numpy as np


cdef class Slots:
    """Memory for some rows of a matrix of m rows.

    n_slots: number of rows in memory.
    m: number of rows of the matrix, and number of elements in a row.
    """

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
