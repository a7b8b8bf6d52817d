"""Updates: how much of a misclassified sample is added to the weight vector?"""

from libc.math cimport INFINITY, floor
from margins.rules._base cimport Rules, State, Step, Thresholds, Update, Sample, whole


cdef class Additive(Update):
    """Add the sample, as often at once as its repeated access would.

    Unlearning subtracts it likewise. The dual variable stays within [0, its upper bound].

    Parameters
    ----------
    eta : float in (0, inf), default=1
        Learning rate: what one repetition adds.
    most : float in [1, inf], default=inf
        The largest multiplicity of one update; 1: single updates.

    Source: Panagiotakopoulos & Tsampouka (2010, 2011, 2012), multiple updates.
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
        cdef double room
        rules.shrink.repeat(state, rules.repetitions(self.eta, self.most, state, sample), out)
        out.add *= self.eta
        if out.add > sample.upper - sample.dual:
            # Up to its bound, exactly; what fits is less than the repetitions asked for.
            out.add = sample.upper - sample.dual
            room = out.add / self.eta
            out.repetitions = min(out.repetitions, max(floor(room), 1))

    cdef void unlearn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        cdef Thresholds thresholds
        rules.condition.thresholds(state, &thresholds)
        cdef double excess = sample.product - thresholds.unlearn[sample.positive]
        out.shrink = 1
        out.repetitions = min(whole(excess / (self.eta * sample.sqnorm)) + 1, self.most)
        if self.eta * out.repetitions > sample.dual:
            out.repetitions = max(floor(sample.dual / self.eta), 1)
            out.add = -sample.dual
        else:
            out.add = -self.eta * out.repetitions
