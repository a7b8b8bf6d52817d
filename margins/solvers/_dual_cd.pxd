# cython: language_level=3
"""Dual coordinate descent that leaves out dual variables at their bounds."""

from libc.stdint cimport int32_t
from margins._update cimport SampleLoop, Tally


cdef struct Violations:
    # Of the optimality conditions in one pass: the extreme projected gradients.
    double lowest
    double highest


cdef class ShrinkingPasses(SampleLoop):
    cdef readonly Py_ssize_t passes
    cdef object _generator
    cdef int32_t[::1] members
    cdef Violations before, now     # of the last pass, and of the one that is running
    cdef int _pass(self, Py_ssize_t n, Tally* tally) except -1
