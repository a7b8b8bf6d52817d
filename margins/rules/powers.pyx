"""Conditions whose thresholds are powers of the number of updates or of the weight vector's length."""

from libc.math cimport INFINITY, pow, sqrt
from margins.rules._base cimport Condition, State


cdef class PowerThreshold(Condition):
    """The base of the margitron's two conditions: ``p <= b * x**(1 - exponent)``."""

    def __init__(self, double b, double exponent):
        if not 0 <= b:
            raise ValueError(f"b of {type(self).__name__} must be in [0, inf]. Got {b}.")
        if not 0 <= exponent < 2:
            raise ValueError(f"exponent of {type(self).__name__} must be in [0, 2). Got {exponent}.")
        self.b = b
        self.exponent = exponent

    def __repr__(self):
        return f"{type(self).__name__}(b={self.b:g}, exponent={self.exponent:g})"


cdef class UpdatePower(PowerThreshold):
    """Require a functional margin that grows with the updates: ``p <= b * t**(1 - exponent)``.

    With ``exponent`` 1 it is the fixed threshold b.

    Source: Panagiotakopoulos & Tsampouka (2008), The Margitron, the class of thresholds in t.

    See Also
    --------
    LengthPower : A power of the length of the weight vector.

    Examples
    --------
    >>> from margins.rules import Additive, NoShrink, Rules, UpdatePower
    >>> Rules(UpdatePower(2, 0.5), Additive(), NoShrink())
    Rules(UpdatePower(b=2, exponent=0.5), Additive(eta=1, most=inf), NoShrink())
    """

    cdef double threshold(self, const State* state) noexcept nogil:
        return _power(self.b, state.t, 1 - self.exponent)


cdef class LengthPower(PowerThreshold):
    """Require a functional margin that grows with the weight vector: ``p <= b * |a|**(1 - exponent)``.

    With ``exponent`` 1 it is the fixed threshold b; with ``exponent`` 0, the fixed margin b.

    Source: Panagiotakopoulos & Tsampouka (2008), The Margitron, the class of thresholds in |a|.

    See Also
    --------
    UpdatePower : A power of the number of updates.

    Examples
    --------
    >>> from margins.rules import Additive, LengthPower, NoShrink, Rules
    >>> Rules(LengthPower(2, 0.5), Additive(), NoShrink())
    Rules(LengthPower(b=2, exponent=0.5), Additive(eta=1, most=inf), NoShrink())
    """

    cdef double threshold(self, const State* state) noexcept nogil:
        return _power(self.b, sqrt(state.sqnorm), 1 - self.exponent)


cdef inline double _power(double b, double base, double power) noexcept nogil:
    """Return b * base**power; 0 if b or the power is 0, even if the other is infinite."""
    cdef double factor = base if power == 1 else pow(base, power)
    return b * factor if b > 0 and factor > 0 else 0


cdef class FallingMargin(Condition):
    """Require a directional margin that decreases with the updates: ``p <= beta * t**-exponent * |a|``.

    Source: Tsampouka & Shawe-Taylor (2006, 2007), the condition of CRAMMA and of MICRA.

    See Also
    --------
    FixedMargin : A constant margin.
    NormalisedStep : The update of the same algorithm.

    Examples
    --------
    >>> from margins.rules import FallingMargin, NoShrink, NormalisedStep, Rules
    >>> Rules(FallingMargin(2, 0.5), NormalisedStep(0.1), NoShrink())
    Rules(FallingMargin(beta=2, exponent=0.5), NormalisedStep(eta=0.1, exponent=0), NoShrink())
    """

    def __init__(self, double beta, double exponent):
        if not 0 <= beta < INFINITY:
            raise ValueError(f"beta of FallingMargin must be in [0, inf). Got {beta}.")
        if not 0 <= exponent < INFINITY:
            raise ValueError(f"exponent of FallingMargin must be in [0, inf). Got {exponent}.")
        self.beta = beta
        self.exponent = exponent

    def __repr__(self):
        return f"FallingMargin(beta={self.beta:g}, exponent={self.exponent:g})"

    cdef double threshold(self, const State* state) noexcept nogil:
        if state.sqnorm == 0:
            return 0  # every product is 0, and the first update is a plain perceptron step
        return self.beta * pow(state.t, -self.exponent) * sqrt(state.sqnorm)
