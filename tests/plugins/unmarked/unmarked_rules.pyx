# cython: language_level=3
"""A rule that does not say against which interface it was compiled."""
from margins._update cimport Condition, State


cdef class UnmarkedThreshold(Condition):
    """A sample is misclassified if its product is at most 1."""

    cdef double threshold(self, const State* state) noexcept nogil:
        return 1
