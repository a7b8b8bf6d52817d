"""Decays: shrinks that apply at every sample, with or without an update."""

from margins.rules._base cimport Shrink, State


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
