"""What solvers compute of the `Terms` of a regulariser."""

from libc.math cimport INFINITY, copysign, fmax, fmin


cdef inline double best_weight(
    double a, double ridge, double l1, double centre, double lower, double upper
) noexcept nogil:
    """Return the gradient of r* at a, of one weight: the w with the largest a w - r(w)."""
    cdef double excess = a - l1 if a > l1 else a + l1 if a < -l1 else 0, best = centre
    if excess != 0:
        best += excess / ridge if ridge > 0 else copysign(INFINITY, excess)
    return fmin(fmax(best, lower), upper)
