"""Conditions: a sample is misclassified if ``p = a.y_k <= threshold``."""

from libc.math cimport INFINITY, pow, sqrt
from margins.rules._base cimport Condition, Shrink, State, Thresholds, Sample


cdef class FixedThreshold(Condition):
    """Require a fixed functional margin: ``p <= b``.

    The solution's margin exceeds the share ``b / (R**2 + 2 b)`` of the maximum, which is less than one half.

    Source: the classical perceptron with margin; Panagiotakopoulos & Tsampouka (2010), equation (11)
    without unlearning.

    See Also
    --------
    Mistake : The threshold 0.
    UnevenThreshold : One threshold for each label.
    FixedMargin : A directional margin.

    Examples
    --------
    >>> from margins.rules import Additive, FixedThreshold, NoShrink, Rules
    >>> Rules(FixedThreshold(2), Additive(), NoShrink())
    Rules(FixedThreshold(b=2), Additive(eta=1, most=inf), NoShrink())
    """

    def __init__(self, double b):
        if not b >= 0:
            raise ValueError(f"b of {type(self).__name__} must be in [0, inf). Got {b}.")
        self.b = b

    def __repr__(self):
        return f"{type(self).__name__}(b={self.b:g})"

    cdef double threshold(self, const State* state) noexcept nogil:
        return self.b

    cdef double repetitions(self, const State* state, const Sample* sample) noexcept nogil:
        return (self.b - sample.product) / sample.sqnorm


cdef class Mistake(FixedThreshold):
    """Require the correct sign of the score: ``p <= 0`` is a mistake.

    Source: Rosenblatt's perceptron; Novikoff (1962).

    See Also
    --------
    FixedThreshold : Any threshold.

    Examples
    --------
    >>> from margins.rules import Additive, Mistake, NoShrink, Rules
    >>> Rules(Mistake(), Additive(), NoShrink())
    Rules(Mistake(), Additive(eta=1, most=inf), NoShrink())
    """

    def __init__(self):
        FixedThreshold.__init__(self, 0)

    def __repr__(self):
        return "Mistake()"


cdef class UnevenThreshold(Condition):
    """Require a different functional margin for each label: ``p <= negative`` or ``p <= positive``.

    A score ``w.x - theta`` instead of ``w.x`` has the same effect: it adds theta to the threshold of
    positive samples, and subtracts theta from the threshold of negative samples.

    Source: Li, Zaragoza, Herbrich, Shawe-Taylor & Kandola (2002), the perceptron with uneven margins;
    Khardon & Wachman (2007), Figure 2, for the threshold.

    See Also
    --------
    FixedThreshold : One threshold for both labels.

    Examples
    --------
    >>> from margins.rules import Additive, NoShrink, Rules, UnevenThreshold
    >>> Rules(UnevenThreshold(0.5, 2), Additive(), NoShrink())
    Rules(UnevenThreshold(negative=0.5, positive=2), Additive(eta=1, most=inf), NoShrink())
    """

    def __init__(self, double negative, double positive):
        if not (-INFINITY < negative < INFINITY and -INFINITY < positive < INFINITY):
            raise ValueError(f"The thresholds of UnevenThreshold must be finite. Got {negative} and {positive}.")
        self.negative, self.positive = negative, positive

    def __repr__(self):
        return f"UnevenThreshold(negative={self.negative:g}, positive={self.positive:g})"

    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil:
        out.learn[0] = self.negative
        out.learn[1] = self.positive
        out.unlearn[0] = out.unlearn[1] = INFINITY

    cdef double repetitions(self, const State* state, const Sample* sample) noexcept nogil:
        return ((self.positive if sample.positive else self.negative) - sample.product) / sample.sqnorm


cdef class ShrunkThreshold(Condition):
    """Require a functional margin after the shrink of an update: ``factor * p <= b``.

    Parameters
    ----------
    b : float in [0, inf)
    shrink : Shrink
        The shrink of the same algorithm.

    Source: Panagiotakopoulos & Tsampouka (2012), the misclassification conditions of the margin
    perceptrons with constant and with variable shrinking.

    See Also
    --------
    FixedThreshold : The threshold without a shrink.
    ConstantShrink, VariableShrink : The shrinks of the same algorithms.

    Examples
    --------
    >>> from margins.rules import Additive, ConstantShrink, Rules, ShrunkThreshold
    >>> shrink = ConstantShrink(0.25)
    >>> Rules(ShrunkThreshold(2, shrink), Additive(), shrink).condition
    ShrunkThreshold(b=2, ConstantShrink(lam=0.25))
    """

    def __init__(self, double b, Shrink shrink not None):
        if not b >= 0:
            raise ValueError(f"b of ShrunkThreshold must be in [0, inf). Got {b}.")
        self.b, self.shrink = b, shrink

    def __repr__(self):
        return f"ShrunkThreshold(b={self.b:g}, {self.shrink!r})"

    def repeats_with(self, Shrink shrink) -> bool:
        return shrink is self.shrink

    cdef double threshold(self, const State* state) noexcept nogil:
        cdef double factor = self.shrink.factor(state)
        return self.b / factor if factor > 0 else INFINITY

    cdef double repetitions(self, const State* state, const Sample* sample) noexcept nogil:
        return self.shrink.repetitions(state, sample, self.b)


cdef class FixedMargin(Condition):
    """Require a fixed directional margin beta: ``p <= beta |a|``.

    The algorithm converges only if beta is below the maximum margin.

    Source: Panagiotakopoulos & Tsampouka (2011), condition (7); the Margin Perceptron(gamma) of the
    lecture on linear separators with beta = (1 - eps) gamma.

    See Also
    --------
    DynamicMargin : A share of the upper bound of the margin.
    FallingMargin : A margin that decreases with the updates.

    Examples
    --------
    >>> from margins.rules import Additive, FixedMargin, NoShrink, Rules
    >>> Rules(FixedMargin(0.5), Additive(), NoShrink())
    Rules(FixedMargin(beta=0.5), Additive(eta=1, most=inf), NoShrink())
    """

    def __init__(self, double beta):
        if not 0 <= beta < INFINITY:
            raise ValueError(f"beta of FixedMargin must be in [0, inf). Got {beta}.")
        self.beta = beta

    def __repr__(self):
        return f"FixedMargin(beta={self.beta:g})"

    cdef double threshold(self, const State* state) noexcept nogil:
        return self.beta * sqrt(state.sqnorm)

    cdef double repetitions(self, const State* state, const Sample* sample) noexcept nogil:
        cdef double p = sample.product, N = sample.sqnorm, square = self.beta * self.beta
        if N <= square:
            return INFINITY  # no number of additions of y_k gives a margin beta >= |y_k|
        return (-p + self.beta * sqrt(max((N * state.sqnorm - p * p) / (N - square), 0))) / N


cdef class DynamicMargin(Condition):
    """Require a fixed fraction of the upper bound of the margin: ``p <= (1 - eps) |a|**2 / t``.

    After t updates ``|a| / t`` bounds the maximum margin from above, so a solution without misclassified
    samples reaches at least the share ``1 - eps`` of it.

    Source: Panagiotakopoulos & Tsampouka (2011), condition (8); the root of their multiple update.

    See Also
    --------
    FixedMargin : A fixed margin.

    Examples
    --------
    >>> from margins.rules import Additive, DynamicMargin, NoShrink, Rules
    >>> Rules(DynamicMargin(0.25), Additive(), NoShrink())
    Rules(DynamicMargin(eps=0.25), Additive(eta=1, most=inf), NoShrink())
    """

    def __init__(self, double eps):
        if not 0 < eps <= 1:
            raise ValueError(f"eps of DynamicMargin must be in (0, 1]. Got {eps}.")
        self.eps = eps

    def __repr__(self):
        return f"DynamicMargin(eps={self.eps:g})"

    cdef double threshold(self, const State* state) noexcept nogil:
        if state.t == 0:
            return 0  # no bound before the first update, which is a perceptron update
        return (1 - self.eps) * state.sqnorm / state.t

    cdef double repetitions(self, const State* state, const Sample* sample) noexcept nogil:
        # The non-negative root of eps N mu^2 + B mu - C = 0.
        cdef double p = sample.product, N = sample.sqnorm
        cdef double B = state.t * N - (1 - 2 * self.eps) * p
        cdef double C = max((1 - self.eps) * state.sqnorm - state.t * p, 0)
        cdef double D = sqrt(B * B + 4 * self.eps * N * C)
        if B > 0:
            return 2 * C / (B + D)
        return (D - B) / (2 * self.eps * N)


cdef class PowerThreshold(Condition):
    """The base of the margitron's two conditions: ``p <= b * x**(1 - exponent)``."""

    def __init__(self, double b, double exponent):
        if not 0 <= b:
            raise ValueError(f"b of {type(self).__name__} must be in [0, inf]. Got {b}.")
        if not 0 <= exponent < 2:
            raise ValueError(f"exponent of {type(self).__name__} must be in [0, 2). Got {exponent}.")
        self.b, self.exponent = b, exponent

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
        self.beta, self.exponent = beta, exponent

    def __repr__(self):
        return f"FallingMargin(beta={self.beta:g}, exponent={self.exponent:g})"

    cdef double threshold(self, const State* state) noexcept nogil:
        if state.sqnorm == 0:
            return 0  # every product is 0, and the first update is a plain perceptron step
        return self.beta * pow(state.t, -self.exponent) * sqrt(state.sqnorm)
