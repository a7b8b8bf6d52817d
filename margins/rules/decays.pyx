"""Decays: shrinks at every sample, with or without an update."""

from margins.rules._base cimport Shrink, State


cdef class ConstantDecay(Shrink):
    """Shrink by the same factor, ``1 - lam``, at every sample.

    Source: Kivinen, Smola & Williamson (2004), NORMA, with lam for their eta lambda.
    """

    def __init__(self, double lam):
        if not 0 <= lam < 1:
            raise ValueError(f"lam of ConstantDecay must be in [0, 1). Got {lam}.")
        self.lam = lam

    def __repr__(self):
        return f"ConstantDecay(lam={self.lam:g})"

    @property
    def decays(self):
        return True

    cdef double factor(self, const State* state) noexcept nogil:
        return 1 - self.lam

    cdef double decay(self, const State* state) noexcept nogil:
        return 1 - self.lam


cdef class HarmonicDecay(Shrink):
    """Shrink by ``t / (t + 1)`` at sample t + 1: after t samples each has the weight 1 / t.

    Source: Shalev-Shwartz, Singer & Srebro (2007), Pegasos: ``1 - eta_t lam`` with eta_t = 1 / (lam t).
    """

    def __repr__(self):
        return "HarmonicDecay()"

    @property
    def decays(self):
        return True

    cdef double factor(self, const State* state) noexcept nogil:
        return state.t / (state.t + 1)

    cdef double decay(self, const State* state) noexcept nogil:
        return state.t / (state.t + 1)
