# cython: language_level=3
"""How much of a sample a function's coefficient adds."""

from libc.math cimport isnan
from margins.rules._state cimport Sample, Step


cdef inline void add_within_bounds(
    double coefficient, const Sample* sample, double factor, Step* out
) noexcept nogil:
    """One step: shrink by `factor`, and add `coefficient` times the sample, within its bounds.

    0, or a dual variable that is at its bound, makes no step. NaN is passed on: the pass ends there.
    """
    cdef double dual = factor * sample.dual
    out.shrink, out.repetitions = factor, 1
    out.add = coefficient if isnan(coefficient) else min(max(coefficient, -dual), sample.upper - dual)
    if out.add == 0:
        out.shrink, out.repetitions = 1, 0
