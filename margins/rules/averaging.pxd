from libc.stdint cimport int32_t
from margins.rules._base cimport BinaryData, Averaging, WeightVector


cdef class LongestSurvivor(Averaging):
    cdef double longest
    cdef WeightVector kept
    cdef bint _prefers(self, BinaryData data, WeightVector a) noexcept nogil


cdef class Pocket(LongestSurvivor):
    cdef double theta
    cdef double most_right      # total weight of the samples that the hypothesis in the pocket classifies correctly
    cdef bint is_perfect        # it classifies all samples correctly


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
    cdef double[::1] _votes
    cdef readonly Py_ssize_t n_mistakes
