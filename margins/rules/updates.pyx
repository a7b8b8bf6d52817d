"""Updates: the coefficient with which a misclassified sample is added to the weight vector."""

from libc.math cimport INFINITY, floor
from margins.rules._base cimport Rules, State, Step, Thresholds, Update, Sample, whole


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
        self.eta = eta
        self.most = most

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
