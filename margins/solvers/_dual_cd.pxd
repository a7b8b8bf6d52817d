# cython: language_level=3
"""A schedule that leaves dual variables at their bounds alone."""

from libc.stdint cimport int32_t, int64_t
from margins._update cimport Patterns, Rules, WeightVector


cdef struct Violations:
    # Of the optimality conditions, over one pass: the projected gradients, negative and positive.
    double lowest
    double highest
    Py_ssize_t n_changed
    Py_ssize_t n_refused
    Py_ssize_t n_kept


cdef class ShrinkingPasses:
    cdef readonly Py_ssize_t passes
    cdef readonly int64_t n_visits
    cdef readonly Py_ssize_t n_refused
    cdef object _generator
    cdef int32_t[::1] members
    cdef int _pass(
        self, Patterns patterns, WeightVector a, Rules rules, Py_ssize_t n, const Violations* before,
        Violations* out
    ) except -1


cdef void shrinking_pass(
    Patterns patterns, WeightVector a, Rules rules, int32_t[::1] members, Py_ssize_t begin,
    Py_ssize_t end, const Violations* before, Violations* out
) noexcept nogil
