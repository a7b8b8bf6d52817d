# cython: language_level=3
"""Patterns presented many at once."""

from libc.stdint cimport int32_t
from margins._update cimport Patterns, Rules, WeightVector
from margins.rules.hinge cimport SubgradientStep


cdef class MiniBatches:
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t n_visits       # since it was made
    cdef readonly Py_ssize_t n_refused      # always 0
    cdef object _left                       # of the epoch before, too few for a batch: ndarray of int32
    cdef Py_ssize_t _present(
        self, Patterns patterns, WeightVector a, Rules rules, SubgradientStep update,
        const int32_t[::1] order, int32_t[::1] wrong
    ) except -1 nogil
