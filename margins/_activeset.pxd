# cython: language_level=3
"""The schedules: full epochs and nested active sets."""

from libc.stdint cimport int32_t, int64_t
from margins._update cimport Membership, Patterns, Readout, Rules, Tally, WeightVector, visits_t


cdef class ActiveSets:
    cdef readonly tuple levels
    cdef readonly int64_t n_visits
    cdef readonly Py_ssize_t n_refused, n_unmoved
    cdef Py_ssize_t n_levels
    cdef Membership* memberships
    cdef Py_ssize_t* passes
    cdef int32_t[:, ::1] members
    cdef visits_t visits_of_all, visits_of_members
    cdef int64_t _next_signal_check
    cdef int _present(
        self, Patterns patterns, WeightVector a, Rules rules, Readout readout, const int32_t[::1] order,
        Py_ssize_t n, Py_ssize_t level, Tally* tally
    ) except -1 nogil
    cdef int _process(
        self, Patterns patterns, WeightVector a, Rules rules, Readout readout, Py_ssize_t level,
        Py_ssize_t n
    ) except -1 nogil
