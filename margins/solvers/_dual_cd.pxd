"""Dual coordinate descent: without dual variables at their bounds, or with a regulariser."""

from libc.stdint cimport int32_t
from margins._update cimport BinaryData, SampleLoop, Tally


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


cdef class PenalisedPasses(SampleLoop):
    cdef readonly object dual, total, primal
    cdef double[::1] alpha, a, w, kept
    cdef const double[::1] ridge, l1, centre, lower, upper
    cdef int32_t[::1] columns
    cdef double rho
    cdef bint _move(self, BinaryData data, Py_ssize_t k) noexcept nogil
    cdef void _add(self, Py_ssize_t j, double change) noexcept nogil
