"""Passes over the rows of a kernel matrix in which updates wait."""

from margins._activeset cimport ActiveSets
from margins.kernels._row_cache cimport ProductRows


cdef class WaitingPasses(ActiveSets):
    cdef ProductRows rows   # the rows of the current pass if its updates may wait, otherwise None
