"""Rules for the hinge loss, ``max(0, 1 - p)`` with ``p = a.y_k``."""

from libc.math cimport INFINITY, nextafter, sqrt
from margins._limits cimport MIN_SQNORM
from margins.rules._base cimport Condition, Rules, State, Step, Update, Sample

import numpy as np


cdef class MarginError(Condition):
    """Require a functional margin of at least b: ``p < b`` is an error, so ties make no update.

    Source: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006); Shalev-Shwartz, Singer & Srebro
    (2007): samples with a positive hinge loss.

    See Also
    --------
    FixedThreshold : Ties make an update.

    Examples
    --------
    >>> from margins.rules import MarginError, NoShrink, PassiveAggressive, Rules
    >>> Rules(MarginError(), PassiveAggressive(), NoShrink())
    Rules(MarginError(b=1), PassiveAggressive(most=inf, slack=0), NoShrink())
    """

    def __init__(self, double b=1):
        if not -INFINITY < b < INFINITY:
            raise ValueError(f"b of MarginError must be in (-inf, inf). Got {b}.")
        self.b = b

    def __repr__(self):
        return f"MarginError(b={self.b:g})"

    cdef double threshold(self, const State* state) noexcept nogil:
        return nextafter(self.b, -INFINITY)  # for doubles, p <= this value is equivalent to p < b


cdef class PassiveAggressive(Update):
    """Add as much of the sample as reduces its loss to 0: ``c = min(most, (1 - p) / (N + slack))``.

    Parameters
    ----------
    most : float in (0, inf], default=inf
        Maximum coefficient of an update: PA-I's aggressiveness.
    slack : float in [0, inf), default=0
        Added to N = |y|**2, like a slack term that is used once: 1 / (2 C), with C PA-II's aggressiveness.

    If sample weights multiply updates, they multiply c, as in scikit-learn.

    Source: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), Figure 1.

    See Also
    --------
    MarginError : The condition of the same algorithm.

    Examples
    --------
    >>> from margins.rules import MarginError, NoShrink, PassiveAggressive, Rules
    >>> Rules(MarginError(), PassiveAggressive(most=0.5), NoShrink())
    Rules(MarginError(b=1), PassiveAggressive(most=0.5, slack=0), NoShrink())
    """

    def __init__(self, double most=INFINITY, double slack=0):
        if not most > 0:
            raise ValueError(f"most of PassiveAggressive must be in (0, inf]. Got {most}.")
        if not 0 <= slack < INFINITY:
            raise ValueError(f"slack of PassiveAggressive must be in [0, inf). Got {slack}.")
        self.most, self.slack = most, slack

    def __repr__(self):
        return f"PassiveAggressive(most={self.most:g}, slack={self.slack:g})"

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        cdef double loss = 1 - sample.product, length = sample.sqnorm + self.slack
        out.shrink, out.add, out.repetitions = 1, 0, 0
        # Adding a zero row would not change its loss.
        if loss > 0 and length >= MIN_SQNORM:
            out.add = min(sample.weight * min(self.most, loss / length), sample.upper - sample.dual)
            out.repetitions = 1


cdef class SubgradientStep(Update):
    """A subgradient step for the regularised hinge loss, with decreasing size: ``c = 1 / (lam (t + 1))``.

    Use it with `HarmonicDecay`, which shrinks by ``t / (t + 1)`` and makes t count samples.

    Parameters
    ----------
    lam : float in (0, inf)
        The factor in the objective ``lam / 2 |w|**2 + mean loss``.
    project : bool, default=False
        True: project onto the ball of radius ``1 / sqrt(lam)``, which contains the optimum.
    weight : array-like of float, shape (m,), optional
        Weights of the samples' losses.

    Source: Shalev-Shwartz, Singer & Srebro (2007), Pegasos, Figure 1.

    See Also
    --------
    MarginError, HarmonicDecay : The other rules of the same algorithm.

    Examples
    --------
    >>> from margins.rules import HarmonicDecay, MarginError, Rules, SubgradientStep
    >>> Rules(MarginError(), SubgradientStep(0.5, project=True), HarmonicDecay())
    Rules(MarginError(b=1), SubgradientStep(lam=0.5, project=True), HarmonicDecay())
    """

    def __init__(self, double lam, bint project=False, weight: ArrayLike | None = None):
        if not 0 < lam < INFINITY:
            raise ValueError(f"lam of SubgradientStep must be in (0, inf). Got {lam}.")
        self.lam, self.project = lam, project
        self.weight = None if weight is None else np.asarray(weight, dtype=np.float64)

    def __repr__(self):
        return f"SubgradientStep(lam={self.lam:g}, project={self.project})"

    cdef double size(self, const State* state) noexcept nogil:
        """Return the coefficient of the next sample if its weight is 1, before the projection."""
        return 1 / (self.lam * (state.t + 1))

    cdef double weight_of(self, Py_ssize_t k) noexcept nogil:
        return 1 if self.weight is None else self.weight[k]

    cdef double projection(self, double sqnorm) noexcept nogil:
        """Return the factor that projects a weight vector onto the ball."""
        return 1 / sqrt(self.lam * sqnorm) if self.project and self.lam * sqnorm > 1 else 1

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        cdef double s = rules.shrink.factor(state), factor
        cdef double c = self.size(state) * self.weight_of(sample.k) * sample.weight
        factor = self.projection(s * s * state.sqnorm + 2 * s * c * sample.product + c * c * sample.sqnorm)
        out.shrink, out.add, out.repetitions = factor * s, factor * c, 1
