# cython: language_level=3
from libc.stdint cimport int32_t, int64_t
from margins.rules._base cimport BinaryData, Averaging, WeightVector


cdef class LongestSurvivor(Averaging):
    cdef double longest
    cdef WeightVector kept
    cdef bint _prefers(self, BinaryData data, WeightVector a) noexcept nogil


cdef class Pocket(LongestSurvivor):
    cdef double theta
    cdef Py_ssize_t most_right
    cdef Py_ssize_t _count_right(self, BinaryData data, WeightVector a) noexcept nogil


cdef class Average(Averaging):
    cdef readonly str weighting
    cdef bint by_accesses
    cdef double total
    cdef WeightVector lag
    cdef double _weight(self) noexcept nogil


cdef class SuffixAverage(Averaging):
    cdef readonly double begin, every
    cdef double n_past_accesses, n_taken
    cdef WeightVector total
    cdef double _due(self) noexcept nogil


cdef class MistakeHistory(Averaging):
    cdef int32_t[::1] _samples
    cdef int64_t[::1] _votes
    cdef readonly Py_ssize_t n_mistakes
