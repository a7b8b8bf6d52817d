# cython: language_level=3, cdivision=True
"""A rule of one's own at native speed."""
from margins._update cimport Condition, State, require_abi

margins_abi = require_abi()


cdef class FreshMargin(Condition):
    """Require a fixed share of the best margin still possible."""

    cdef double share

    def __init__(self, share):
        self.share = share

    def __repr__(self):
        return f"FreshMargin({self.share:g})"

    cdef double threshold(self, const State* state) noexcept nogil:
        return self.share * state.sqnorm / state.t if state.t > 0 else 0
