"""Line searches along a convex function, by its first two derivatives."""

from libc.math cimport INFINITY, fabs

cdef enum:
    MAX_DERIVATIVES = 30   # a search ends after so many lengths


cdef struct Bracket:
    # The ends of an interval with the minimum, and the derivatives there. Of an end that stays while the
    # other one moves twice, half the derivative (the Illinois rule), so that it moves, too.
    double low, high, derivative_low, derivative_high
    int moved   # 1: the last end that moved is the high one; -1: the low one


cdef inline Bracket bracket_of(double slope) noexcept nogil:
    """All step lengths, given the derivative at 0."""
    cdef Bracket bracket
    bracket.low, bracket.high, bracket.moved = 0, INFINITY, 0
    bracket.derivative_low, bracket.derivative_high = slope, INFINITY
    return bracket


cdef inline bint is_long_enough(
    double t, const Bracket* bracket, double slope, double derivative, double curvature
) noexcept nogil:
    """True if the derivative at t is at most a tenth of the one at 0, and the objective not larger than there.

    By convexity, f(low) <= f(0) + low f'(low) and f(t) <= f(low) + (t - low) f'(t). A whole step is taken without
    this proof, as is a step so short that its squares underflow.
    """
    cdef double decrease = -bracket.low * bracket.derivative_low
    if not curvature > 0:
        return True
    if fabs(derivative) > 0.1 * fabs(slope):
        return False
    return derivative <= 0 or t == 1 or (t - bracket.low) * derivative <= decrease


cdef inline double next_length(double t, Bracket* bracket, double derivative, double curvature) noexcept nogil:
    """The next step length, Newton's or one within the bracket, which gets closer, given the two derivatives at t."""
    if derivative > 0:
        bracket.high, bracket.derivative_high = t, derivative
        if bracket.moved == 1:
            bracket.derivative_low *= 0.5
        bracket.moved = 1
    else:
        bracket.low, bracket.derivative_low = t, derivative
        if bracket.moved == -1:
            bracket.derivative_high *= 0.5
        bracket.moved = -1
    t -= derivative / curvature
    if bracket.low < t < bracket.high:
        return t
    if bracket.high == INFINITY:
        return 2 * bracket.low
    t = bracket.derivative_low / (bracket.derivative_low - bracket.derivative_high)
    t = bracket.low + (bracket.high - bracket.low) * t
    return t if bracket.low < t < bracket.high else 0.5 * (bracket.low + bracket.high)
