"""Perceptrons that keep few samples."""

from libc.stdint cimport int32_t
from margins._update cimport BinaryData, Rules, SampleLoop, Tally, Thresholds, WeightVector


cdef class Cache(SampleLoop):
    cdef readonly Py_ssize_t size     # maximum number of members; 0: unbounded
    cdef readonly Py_ssize_t n_members
    cdef object _generator
    cdef int32_t[::1] _members        # the oldest first
    cdef const double[::1] _draws     # a number in [0, 1) for every sample of an epoch
    cdef double _margin_without(self, BinaryData data, WeightVector a, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t _easiest(self, BinaryData data, WeightVector a, double* margin) noexcept nogil
    cdef void _remove(self, BinaryData data, WeightVector a, Py_ssize_t i, const Thresholds* thresholds) noexcept nogil
    cdef bint _add(
        self, BinaryData data, WeightVector a, Rules rules, Py_ssize_t k, const Thresholds* thresholds, Tally* tally
    ) noexcept nogil
    cdef bint _process_sample(
        self, BinaryData data, WeightVector a, Rules rules, Py_ssize_t k, double draw, Tally* tally
    ) noexcept nogil
