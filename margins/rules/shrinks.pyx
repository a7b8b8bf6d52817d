"""Shrinks: the factor of the weight vector before a sample is added, or (decays) at every sample."""

from libc.math cimport INFINITY, NAN, exp, expm1, log1p, sqrt
from margins.rules._base cimport Shrink, State, Step, Sample


cdef class NoShrink(Shrink):
    """Keep the weight vector as it is.

    See Also
    --------
    ConstantShrink, VariableShrink : Factors that apply to updates.
    ConstantDecay, HarmonicDecay : Factors that apply to all samples.

    Examples
    --------
    >>> from margins.rules import Additive, Mistake, NoShrink, Rules
    >>> Rules(Mistake(), Additive(), NoShrink())
    Rules(Mistake(), Additive(eta=1, most=inf), NoShrink())
    """

    def __repr__(self):
        return "NoShrink()"

    @property
    def is_identity(self) -> bool:
        return True

    cdef void repeat(self, const State* state, double repetitions, Step* out) noexcept nogil:
        out.shrink, out.add, out.repetitions = 1, repetitions, repetitions

    cdef double repetitions(self, const State* state, const Sample* sample, double b) noexcept nogil:
        return (b - sample.product) / sample.sqnorm


cdef class ConstantShrink(Shrink):
    """Shrink by the same factor, ``1 - lam``, at every update.

    Source: Panagiotakopoulos & Tsampouka (2012), margin perceptron with constant shrinking.

    See Also
    --------
    VariableShrink : A factor that tends to 1.
    ConstantDecay : A factor that applies to all samples.

    Examples
    --------
    >>> from margins.rules import Additive, ConstantShrink, Rules, ShrunkThreshold
    >>> shrink = ConstantShrink(0.25)
    >>> Rules(ShrunkThreshold(2, shrink), Additive(), shrink).shrink
    ConstantShrink(lam=0.25)
    """

    def __init__(self, double lam):
        if not 0 <= lam < 1:
            raise ValueError(f"lam of ConstantShrink must be in [0, 1). Got {lam}.")
        self.lam = lam

    def __repr__(self):
        return f"ConstantShrink(lam={self.lam:g})"

    cdef double factor(self, const State* state) noexcept nogil:
        return 1 - self.lam

    cdef void repeat(self, const State* state, double repetitions, Step* out) noexcept nogil:
        cdef double exponent = repetitions * log1p(-self.lam)
        out.repetitions = repetitions
        if self.lam == 0 or repetitions == 1:
            out.shrink, out.add = 1 - self.lam, repetitions
        else:
            out.shrink, out.add = exp(exponent), -expm1(exponent) / self.lam

    cdef double repetitions(self, const State* state, const Sample* sample, double b) noexcept nogil:
        cdef double p = sample.product, N = sample.sqnorm, threshold = b / (1 - self.lam)
        if self.lam == 0:
            return (b - p) / N
        if N <= self.lam * threshold:
            return INFINITY  # lam is too large: shrinking removes as much as a repetition adds
        return log1p(self.lam * (threshold - p) / (N - self.lam * threshold)) / -log1p(-self.lam)


cdef class VariableShrink(Shrink):
    """Shrink by ``(t / (t + 1))**n`` at update t + 1, a factor that tends to 1.

    The sample of update j then has a weight proportional to ``j**n``. n = 0: no shrinking.

    Source: Panagiotakopoulos & Tsampouka (2012), margin perceptron with variable shrinking.

    See Also
    --------
    ConstantShrink : A constant factor.
    HarmonicDecay : A factor that applies to all samples.

    Examples
    --------
    >>> from margins.rules import Additive, Rules, ShrunkThreshold, VariableShrink
    >>> shrink = VariableShrink(1)
    >>> Rules(ShrunkThreshold(2, shrink), Additive(), shrink).shrink
    VariableShrink(n=1)
    """

    def __init__(self, int n):
        if n < 0:
            raise ValueError(f"n of VariableShrink must be an integer in [0, inf). Got {n}.")
        self.n = n

    def __repr__(self):
        return f"VariableShrink(n={self.n})"

    cdef double factor(self, const State* state) noexcept nogil:
        return _power(state.t / (state.t + 1), self.n)

    cdef void repeat(self, const State* state, double repetitions, Step* out) noexcept nogil:
        # At t = 0 the weight vector is 0, and the factor has no effect.
        out.shrink = _power(state.t / (state.t + repetitions), self.n) if state.t > 0 else 1
        out.add = _power_sum(state.t, repetitions, self.n)
        out.repetitions = repetitions

    cdef double repetitions(self, const State* state, const Sample* sample, double b) noexcept nogil:
        cdef double N = sample.sqnorm, B, C, D
        if self.n == 0:
            return (b - sample.product) / N
        if self.n > 1:
            return NAN
        # The root of (N/2) mu^2 + B mu + C = 0, for the weight vector multiplied by t.
        B = N * (state.t + 0.5) - b
        C = min(state.t * sample.product - b * (state.t + 1), 0)
        D = sqrt(B * B - 2 * N * C)
        if B > 0:
            return -2 * C / (B + D)
        return (D - B) / N


cdef class ConstantDecay(Shrink):
    """Shrink by the same factor, ``1 - lam``, at every sample.

    Source: Kivinen, Smola & Williamson (2004), NORMA; lam is their eta lambda.

    See Also
    --------
    HarmonicDecay : A factor that tends to 1.
    ConstantShrink : A factor that applies to updates only.

    Examples
    --------
    >>> from margins.rules import Additive, ConstantDecay, FixedThreshold, Rules
    >>> Rules(FixedThreshold(1), Additive(0.1, most=1), ConstantDecay(0.25))
    Rules(FixedThreshold(b=1), Additive(eta=0.1, most=1), ConstantDecay(lam=0.25))
    """

    def __init__(self, double lam):
        if not 0 <= lam < 1:
            raise ValueError(f"lam of ConstantDecay must be in [0, 1). Got {lam}.")
        self.lam = lam

    def __repr__(self):
        return f"ConstantDecay(lam={self.lam:g})"

    @property
    def decays(self) -> bool:
        return True

    cdef double factor(self, const State* state) noexcept nogil:
        return 1 - self.lam

    cdef double decay(self, const State* state) noexcept nogil:
        return 1 - self.lam


cdef class HarmonicDecay(Shrink):
    """Shrink by ``t / (t + 1)`` at sample t + 1, so that after t samples each has the weight 1 / t.

    Source: Shalev-Shwartz, Singer & Srebro (2007), Pegasos: ``1 - eta_t lam`` with eta_t = 1 / (lam t).

    See Also
    --------
    ConstantDecay : A constant factor.

    Examples
    --------
    >>> from margins.rules import HarmonicDecay, MarginError, Rules, SubgradientStep
    >>> Rules(MarginError(), SubgradientStep(0.5), HarmonicDecay())
    Rules(MarginError(b=1), SubgradientStep(lam=0.5, project=False), HarmonicDecay())
    """

    def __repr__(self):
        return "HarmonicDecay()"

    @property
    def decays(self) -> bool:
        return True

    cdef double factor(self, const State* state) noexcept nogil:
        return state.t / (state.t + 1)

    cdef double decay(self, const State* state) noexcept nogil:
        return state.t / (state.t + 1)


cdef double _power_sum(double t, double mu, int n) noexcept nogil:
    """Return the sum over j = 1..mu of ((t + j) / (t + mu))**n, at a cost bounded for all mu."""
    cdef double T = t + mu, x = t / T, total, j
    if n == 0:
        return mu
    if n == 1:
        return (mu * t + 0.5 * mu * (mu + 1)) / T
    if n == 2:
        return mu * x * x + mu * (mu + 1) / T * (x + (2 * mu + 1) / (6 * T))
    if mu <= max(16, 8 * n):
        total = 0
        j = mu
        while j >= 1:
            total += _power((t + j) / T, n)
            j -= 1
        return total
    # The Euler-Maclaurin formula: exact up to n = 9, and up to rounding for larger n, because T >= 8 n.
    total = (T / (n + 1.0)) * -_power_minus_one(x, n + 1) - 0.5 * _power_minus_one(x, n)
    total += n / (12 * T) * -_power_minus_one(x, n - 1)
    total -= _falling(n, 3) / (720 * _power(T, 3)) * (1 - _power(x, n - 3))
    total += _falling(n, 5) / (30240 * _power(T, 5)) * (1 - _power(x, n - 5))
    total -= _falling(n, 7) / (1209600 * _power(T, 7)) * (1 - _power(x, n - 7))
    total += _falling(n, 9) / (47900160 * _power(T, 9)) * (1 - _power(x, n - 9))
    return total


cdef inline double _power(double x, int n) noexcept nogil:
    """Return x**n by squaring; 1 for n <= 0, where it is multiplied by a falling factorial of 0."""
    cdef double result = 1
    while n > 0:
        if n & 1:
            result *= x
        x *= x
        n >>= 1
    return result


cdef inline double _power_minus_one(double x, int n) noexcept nogil:
    """Return x**n - 1 for x in [0, 1], without cancellation near x = 1."""
    return expm1(n * log1p(x - 1)) if x > 0 else (-1 if n > 0 else 0)


cdef inline double _falling(int n, int k) noexcept nogil:
    """Return n (n - 1) ... (n - k + 1)."""
    cdef double product = 1
    cdef int i
    for i in range(k):
        product *= n - i
    return product
