"""Updates: the coefficient with which a misclassified sample is added to the weight vector."""

from libc.math cimport INFINITY, floor, pow, sqrt
from margins._limits cimport MIN_SQNORM
from margins.rules._base cimport Rules, State, Step, Thresholds, Update, Sample, whole

# A difference smaller than this share of its terms is a rounding error.
cdef double ROUNDING = 8.9e-16
# Maximum of |a|^2 |y|^2: the margin of a longer weight vector would be below rounding.
cdef double MAX_SQLENGTH = 1e30


cdef class Additive(Update):
    """Add the sample, in one step as often as single updates by it would until it is classified correctly.

    Unlearning subtracts it likewise. The dual variable stays between 0 and its upper bound. If sample weights
    multiply updates, they multiply the learning rate.

    Parameters
    ----------
    eta : float in (0, inf), default=1
        Learning rate: the coefficient of one repetition.
    most : float in [1, inf], default=inf
        Maximum multiplicity of an update; 1: single updates.

    Source: Panagiotakopoulos & Tsampouka (2010, 2011, 2012), multiple updates.

    See Also
    --------
    CoordinateStep, PassiveAggressive : Coefficients that depend on the product.
    NormalisedStep, RelaxedMargin, Shifting, BallStep : Updates that also scale the weight vector.

    Examples
    --------
    >>> from margins.rules import Additive, Mistake, NoShrink, Rules
    >>> Rules(Mistake(), Additive(most=1), NoShrink())
    Rules(Mistake(), Additive(eta=1, most=1), NoShrink())
    """

    def __init__(self, double eta=1, double most=INFINITY):
        if not 0 < eta < INFINITY:
            raise ValueError(f"eta of Additive must be in (0, inf). Got {eta}.")
        if not most >= 1:
            raise ValueError(f"most of Additive must be in [1, inf]. Got {most}.")
        self.eta, self.most = eta, most

    def __repr__(self):
        return f"Additive(eta={self.eta:g}, most={self.most:g})"

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        cdef double eta = self.eta * sample.weight
        rules.shrink.repeat(state, rules.repetitions(eta, self.most, state, sample), out)
        out.add *= eta
        if out.add > sample.upper - sample.dual:
            # Add exactly up to the bound, with fewer repetitions than computed.
            out.add = sample.upper - sample.dual
            out.repetitions = min(out.repetitions, max(floor(out.add / eta), 1))

    cdef void unlearn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        cdef Thresholds thresholds
        rules.condition.thresholds(state, &thresholds)
        cdef double excess = sample.product - thresholds.unlearn[sample.positive], eta = self.eta * sample.weight
        out.shrink = 1
        out.repetitions = min(whole(excess / (eta * sample.sqnorm)) + 1, self.most)
        if eta * out.repetitions > sample.dual:
            out.repetitions = max(floor(sample.dual / eta), 1)
            out.add = -sample.dual
        else:
            out.add = -eta * out.repetitions


# These updates choose the factor of the weight vector, too; the shrink of the rules is not applied. Each is a single
# update, a <- s a + c y_k with s, c >= 0, so every dual variable stays non-negative.


cdef class NormalisedStep(Update):
    """Add ``eta * t**-exponent`` of the sample to a unit vector, and normalise the sum.

    The weight vector keeps length 1. It starts as the normalised first sample.

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate, in units of 1 / |y|.
    exponent : float in [0, inf)
        0: a constant rate.

    Source: Tsampouka & Shawe-Taylor (2006), CRAMMA (constant rate); (2007), MICRA.

    See Also
    --------
    FallingMargin : The condition of the same algorithm.

    Examples
    --------
    >>> from margins.rules import FallingMargin, NoShrink, NormalisedStep, Rules
    >>> Rules(FallingMargin(2, 0.5), NormalisedStep(0.1, 0.3), NoShrink())
    Rules(FallingMargin(beta=2, exponent=0.5), NormalisedStep(eta=0.1, exponent=0.3), NoShrink())
    """

    def __init__(self, double eta, double exponent=0):
        if not 0 < eta < INFINITY:
            raise ValueError(f"eta of NormalisedStep must be in (0, inf). Got {eta}.")
        if not 0 <= exponent < INFINITY:
            raise ValueError(f"exponent of NormalisedStep must be in [0, inf). Got {exponent}.")
        self.eta, self.exponent = eta, exponent

    def __repr__(self):
        return f"NormalisedStep(eta={self.eta:g}, exponent={self.exponent:g})"

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        cdef double step, added, sqlength, length
        out.shrink, out.add, out.repetitions = 1, 0, 0
        if sample.sqnorm < MIN_SQNORM:
            return  # a zero row has no direction
        out.repetitions = 1
        if state.sqnorm == 0:
            out.shrink, out.add = 0, 1 / sqrt(sample.sqnorm)
            return
        step = self.eta * pow(state.t, -self.exponent) * sqrt(state.sqnorm)
        added = step * step * sample.sqnorm
        sqlength = state.sqnorm + 2 * step * sample.product + added
        if sqlength <= ROUNDING * (state.sqnorm + added):
            out.shrink, out.add = 0, 0  # the terms cancel, so the sum has no direction: restart
            return
        length = sqrt(sqlength)
        out.shrink, out.add = 1 / length, step / length


cdef class RelaxedMargin(Update):
    """Go to the shortest a' with ``a'.y >= 1`` and ``a'.a >= |a|**2``; the second stands for past samples.

    Either both constraints hold with equality, or ``y / |y|**2`` satisfies both. So S = |a|**2 throughout, and
    ``1 / |a|`` bounds the maximum margin from above. If no hyperplane separates the samples, |a| grows without bound.
    The update then restarts from y when |a| |y| exceeds 1e15, or when S and |a|**2 differ by more than a factor of 2.

    Source: Li & Long (2002), the relaxed online maximum margin algorithm (ROMMA).

    See Also
    --------
    PassiveAggressive : The smallest change with the same functional margin.

    Examples
    --------
    >>> from margins.rules import Mistake, NoShrink, RelaxedMargin, Rules
    >>> Rules(Mistake(), RelaxedMargin(), NoShrink())
    Rules(Mistake(), RelaxedMargin(), NoShrink())
    """

    def __repr__(self):
        return "RelaxedMargin()"

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        cdef double p = sample.product, W = state.sqnorm, N = sample.sqnorm
        cdef double NW = N * W, square = NW - p * p, S = state.dual_sum
        cdef bint restarts = not (NW <= MAX_SQLENGTH and S <= 2 * W and W <= 2 * S)
        out.shrink, out.add, out.repetitions = 1, 0, 0
        if N < MIN_SQNORM:
            return  # no vector has functional margin 1 at a zero row
        out.repetitions = 1
        # y / |y|^2 satisfies both constraints, or a and y are parallel.
        if NW <= p or square <= ROUNDING * NW or restarts:
            out.shrink, out.add = 0, 1 / N
        else:
            out.shrink, out.add = (NW - p) / square, W * (1 - p) / square


cdef class Shifting(Update):
    """Add the sample with weight ``lam / (lam + t)``: ``a <- (t a + lam y) / (lam + t)``.

    The weight vector is a convex combination of samples, in which the sample of the j-th update has a weight
    roughly proportional to ``j**(lam - 1)``. lam = 1 gives the mean of the samples. Sample weights, if used,
    multiply what is added.

    Source: Cavallanti, Cesa-Bianchi & Gentile (2007), the shifting perceptron algorithm.

    See Also
    --------
    VariableShrink : A shrink with similar weights of past samples.

    Examples
    --------
    >>> from margins.rules import Mistake, NoShrink, Rules, Shifting
    >>> Rules(Mistake(), Shifting(2), NoShrink())
    Rules(Mistake(), Shifting(lam=2), NoShrink())
    """

    def __init__(self, double lam):
        if not 0 < lam < INFINITY:
            raise ValueError(f"lam of Shifting must be in (0, inf). Got {lam}.")
        self.lam = lam

    def __repr__(self):
        return f"Shifting(lam={self.lam:g})"

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        out.repetitions = 1
        if state.t == 0:
            out.shrink, out.add = 0, sample.weight
        else:
            out.shrink, out.add = 1 / (1 + self.lam / state.t), sample.weight / (1 + state.t / self.lam)


cdef class BallStep(Update):
    """Add the sample or, if its product is positive, the point of its ball with the smallest product.

    This point is ``y - radius a / |a|``. If sample weights multiply updates, they multiply what is added.

    Source: Shalev-Shwartz & Singer (2005), the Ballseptron.

    See Also
    --------
    FixedMargin : The condition of the same algorithm.

    Examples
    --------
    >>> from margins.rules import BallStep, FixedMargin, NoShrink, Rules
    >>> Rules(FixedMargin(0.5), BallStep(0.5), NoShrink())
    Rules(FixedMargin(beta=0.5), BallStep(radius=0.5), NoShrink())
    """

    def __init__(self, double radius):
        if not 0 <= radius < INFINITY:
            raise ValueError(f"radius of BallStep must be in [0, inf). Got {radius}.")
        self.radius = radius

    def __repr__(self):
        return f"BallStep(radius={self.radius:g})"

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        out.shrink, out.add, out.repetitions = 1, sample.weight, 1
        if sample.product > 0:
            # A radius below the maximum margin never exceeds |a|; with a larger one, max keeps dual variables >= 0.
            out.shrink = max(1 - sample.weight * self.radius / sqrt(state.sqnorm), 0)
