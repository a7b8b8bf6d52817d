"""Dual coordinate descent that leaves out dual variables at their bounds."""

from libc.stdint cimport int32_t
from margins._update cimport SampleLoop, Tally


cdef struct Violations:
    # The extreme projected gradients in one pass.
    double lowest
    double highest


cdef class ShrinkingPasses(SampleLoop):
    cdef readonly Py_ssize_t passes
    cdef object _generator
    cdef int32_t[::1] members
    cdef Violations before, now     # in the last pass, and in the current pass
    cdef int _pass(self, Py_ssize_t n, Tally* tally) except -1
