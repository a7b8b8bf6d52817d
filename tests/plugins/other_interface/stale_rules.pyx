# cython: language_level=3
"""A rule that is compiled against headers of margins with another number, in the folder `headers`."""
from margins._update cimport Condition, State, require_abi

margins_abi = require_abi()


cdef class StaleThreshold(Condition):
    """A sample is misclassified if its product is at most 1."""

    cdef double threshold(self, const State* state) noexcept nogil:
        return 1
