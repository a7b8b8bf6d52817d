"""Rules of dual coordinate ascent, which sets one dual variable at a time to its best value.

The problem: maximise S - |a|^2 / 2 over 0 <= alpha_k <= U_k, with a = sum_k alpha_k y_k. Its derivative
with respect to alpha_k is 1 - a.y_k, so alpha_k must increase if a.y_k < 1 and decrease if a.y_k > 1.
"""

from libc.math cimport fabs

from margins.rules._base cimport Condition, Rules, Sample, State, Step, Thresholds, Update


# Bound on what one sample adds to a product. No optimum reaches it. If there is no optimum, because no
# hyperplane separates the samples or their matrix is not positive semidefinite, it keeps numbers finite.
cdef double MAX_PRODUCT = 1e100
# A step of at most this share of the dual variable is a rounding error.
cdef double ROUNDING = 4e-16


cdef class UnitMargin(Condition):
    """Require the product 1: learn if ``p < 1``, unlearn what was learned if ``p > 1``.

    Parameters
    ----------
    tolerance : float in (0, 1), default=1e-12
        Products this close to 1 cause no update: double arithmetic does not bring them closer.

    Source: the optimality conditions of the support vector machine; Hsieh et al. (2008), section 2.

    See Also
    --------
    CoordinateStep : The update of the same algorithm.
    Unlearning : Unlearning with steps that are multiples of the samples.

    Examples
    --------
    >>> from margins.rules import CoordinateStep, NoShrink, Rules, UnitMargin
    >>> Rules(UnitMargin(), CoordinateStep(), NoShrink())
    Rules(UnitMargin(tolerance=1e-12), CoordinateStep(eta=0), NoShrink())
    """

    def __init__(self, double tolerance=1e-12):
        if not 0 < tolerance < 1:
            raise ValueError(f"tolerance of UnitMargin must be in (0, 1). Got {tolerance}.")
        self.tolerance = tolerance

    def __repr__(self):
        return f"UnitMargin(tolerance={self.tolerance:g})"

    @property
    def unlearns(self) -> bool:
        return True

    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil:
        out.learn[0] = out.learn[1] = 1 - self.tolerance
        out.unlearn[0] = out.unlearn[1] = 1 + self.tolerance


cdef class CoordinateStep(Update):
    """Move one dual variable towards the product 1, within its bounds.

    ``alpha_k <- min(max(alpha_k + step (1 - p), 0), U_k)``. With the step ``1 / N_k`` the product becomes
    1 unless a bound prevents it: this value of alpha_k is optimal with the others fixed.

    Parameters
    ----------
    eta : float in [0, inf), default=0
        Step of every sample; 0: ``1 / N_k``.

    Source: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), Algorithm 1; with eta: Friess, Cristianini &
    Campbell (1998), the kernel adatron.

    See Also
    --------
    UnitMargin : The condition of the same algorithm.

    Examples
    --------
    >>> from margins.rules import CoordinateStep, NoShrink, Rules, UnitMargin
    >>> Rules(UnitMargin(), CoordinateStep(0.5), NoShrink())
    Rules(UnitMargin(tolerance=1e-12), CoordinateStep(eta=0.5), NoShrink())
    """

    def __init__(self, double eta=0):
        if not 0 <= eta < float("inf"):
            raise ValueError(f"eta of CoordinateStep must be in [0, inf). Got {eta}.")
        self.eta = eta

    def __repr__(self):
        return f"CoordinateStep(eta={self.eta:g})"

    cdef void _move(self, const Sample* sample, Step* out) noexcept nogil:
        # A zero row without a diagonal term has N_k = 0: its dual variable goes to its bound at once.
        cdef double slope = 1 - sample.product
        cdef double alpha = sample.dual + (slope / sample.sqnorm if self.eta == 0 else self.eta * slope)
        alpha = min(max(alpha, 0), min(sample.upper, MAX_PRODUCT / sample.sqnorm))
        out.shrink = 1
        out.add = alpha - sample.dual
        if fabs(out.add) <= ROUNDING * alpha:
            out.add, out.rounded = 0, True  # already at its bound or its best value
        out.repetitions = out.add != 0

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        self._move(sample, out)

    cdef void unlearn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        self._move(sample, out)
