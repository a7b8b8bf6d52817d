# cython: language_level=3
"""Passes over the rows of a kernel matrix whose updates wait."""

from margins._activeset cimport ActiveSets
from margins.kernels._row_cache cimport ProductRows


cdef class WaitingPasses(ActiveSets):
    cdef ProductRows rows   # of the pass that is running, if its updates may wait; else None
