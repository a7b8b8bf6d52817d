# cython: language_level=3
"""Visits of the margin perceptron with unlearning, each in one piece."""

from libc.stdint cimport int32_t
from margins._update cimport Membership, Patterns, Readout, Rules, Tally, WeightVector

cdef bint are_unlearning(Patterns patterns, WeightVector a, Rules rules)
cdef void unlearning_visits(
    Patterns patterns, WeightVector a, Rules rules, Readout readout, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil
