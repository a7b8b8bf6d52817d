"""Line searches along a convex function whose derivatives are sums over parts of the data."""

from margins.losses._line_search cimport MAX_DERIVATIVES, Bracket, bracket_of, is_long_enough, next_length

max_derivatives: int = MAX_DERIVATIVES


cdef class StepLengths:
    """Step lengths of a line search whose derivatives are sums over parts of the data; `slope` < 0 at 0."""

    cdef Bracket bracket
    cdef double slope

    def __init__(self, double slope):
        self.bracket, self.slope = bracket_of(slope), slope

    def is_long_enough(self, double t, double derivative, double curvature):
        """Return whether the search may end at t, given the first two derivatives at t."""
        return is_long_enough(t, &self.bracket, self.slope, derivative, curvature)

    def after(self, double t, double derivative, double curvature):
        """Return the next step length, given the first two derivatives at t (float)."""
        return next_length(t, &self.bracket, derivative, curvature)
