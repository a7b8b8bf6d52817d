# cython: language_level=3
"""Visits of the margin perceptron with unlearning, each in one piece."""

from libc.stdint cimport int32_t
from margins._update cimport Patterns, WeightVector


cdef class UnlearningVisits:
    cdef readonly double b
    cdef readonly double delta_b
    cdef readonly Py_ssize_t n_visits     # presentations so far
    cdef readonly Py_ssize_t n_refused    # misclassified in the last epoch, but not updated
    cdef Py_ssize_t _present(
        self, Patterns patterns, WeightVector a, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end
    ) noexcept nogil
