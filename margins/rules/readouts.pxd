# cython: language_level=3
from libc.stdint cimport int32_t, int64_t
from margins.rules._base cimport Patterns, Readout, WeightVector


cdef class LongestSurvivor(Readout):
    cdef double longest
    cdef WeightVector kept
    cdef bint _prefers(self, Patterns patterns, WeightVector a) noexcept nogil


cdef class Pocket(LongestSurvivor):
    cdef double theta
    cdef Py_ssize_t most_right
    cdef Py_ssize_t _count_right(self, Patterns patterns, WeightVector a) noexcept nogil


cdef class Average(Readout):
    cdef readonly str weighting
    cdef bint by_presentations
    cdef double total
    cdef WeightVector lag
    cdef double _weight(self) noexcept nogil


cdef class SuffixAverage(Readout):
    cdef readonly double begin, every
    cdef double presented, n_taken
    cdef WeightVector total
    cdef double _due(self) noexcept nogil


cdef class Journal(Readout):
    cdef int32_t[::1] _patterns
    cdef int64_t[::1] _votes
    cdef readonly Py_ssize_t n_mistakes
