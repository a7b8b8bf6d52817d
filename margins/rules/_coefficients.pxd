"""The step of an update whose coefficient a function returns."""

from libc.math cimport isnan
from margins.rules._state cimport Sample, Step


cdef inline void add_within_bounds(double coefficient, const Sample* sample, double factor, Step* out) noexcept nogil:
    """Shrink by `factor` and add `coefficient` times the sample, within its bounds, in one step.

    A coefficient of 0, or a dual variable at its bound, makes no step. NaN is passed on and ends the pass.
    """
    cdef double dual = factor * sample.dual
    out.shrink, out.repetitions = factor, 1
    out.add = coefficient if isnan(coefficient) else min(max(coefficient, -dual), sample.upper - dual)
    if out.add == 0:
        out.shrink, out.repetitions = 1, 0
