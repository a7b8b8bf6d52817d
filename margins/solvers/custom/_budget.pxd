# cython: language_level=3
"""Perceptrons that keep few patterns."""

from libc.stdint cimport int32_t, int64_t
from margins._update cimport Patterns, Rules, Visit, WeightVector


cdef class Cache:
    cdef readonly Py_ssize_t size     # the most members; 0: no bound
    cdef readonly Py_ssize_t n_members
    cdef readonly int64_t n_visits
    cdef readonly Py_ssize_t n_refused
    cdef object _generator
    cdef int32_t[::1] _members        # the oldest first
    cdef double _margin_without(self, Patterns patterns, WeightVector a, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t _easiest(self, Patterns patterns, WeightVector a, double* margin) noexcept nogil
    cdef void _remove(self, Patterns patterns, WeightVector a, Py_ssize_t i) noexcept nogil
    cdef bint _add(
        self, Patterns patterns, WeightVector a, Rules rules, Py_ssize_t k, double threshold
    ) noexcept nogil
    cdef bint _present(
        self, Patterns patterns, WeightVector a, Rules rules, Py_ssize_t k, double chance
    ) noexcept nogil
