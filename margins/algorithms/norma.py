"""NORMA, stochastic gradient descent on the regularised soft margin loss."""

import math

from margins.estimators.step import ABOUT_RADIUS, RADII, StepClassifier
from margins.parameters import Interval, parameter
from margins.rules import Additive, ConstantDecay, FixedThreshold, Rules


class Norma(StepClassifier):
    """NORMA: every presentation shrinks the weight vector a little, and margin errors are added.

    ``a <- (1 - eta lam) a``, and ``+ eta y`` if ``a.y <= rho`` before. It is stochastic gradient descent
    on ``lam / 2 |a|**2 + mean of max(0, rho - a.y)`` with steps of constant length: it forgets with a
    half-life of about ``0.7 / (eta lam)`` presentations, so it can follow a target that moves, and never
    comes to rest. `converged_` stays False.

    The length of a never exceeds ``R / lam``. In one pass over any T presentations the mean of
    ``lam / 2 |a|**2 + max(0, rho - a.y)`` exceeds that of any fixed weight vector u by at most
    ``|u|**2 / (2 eta T) + 2 eta R**2``.

    The bias is penalised like a weight, as everywhere in this package; the paper's is not. Nothing is
    truncated: past patterns are one weight vector, or, with a kernel, dual variables that decay.

    **Source**: Kivinen, Smola & Williamson (2004), section III.
    """

    eta: float = parameter(
        Interval(1e-60, 1), "Learning rate, in units of 1 / R**2: what a margin error adds.", default=0.1
    )
    lam: float = parameter(
        Interval(0, 1, "left"),
        "Regularisation, in units of R**2: a presentation shrinks by 1 - eta lam.",
        default=1e-3,
    )
    rho: float = parameter(
        Interval(0, 1e60), "A pattern with a.y <= rho is a margin error.", default=1.0
    )
    radius: float | None = parameter(RADII, ABOUT_RADIUS, default=None)
    max_iter: int = parameter(Interval(1, math.inf, "left", integer=True), "Epochs.", default=100)

    def online_rules(self, sqradius):
        return Rules(
            FixedThreshold(self.rho),
            Additive(self.eta / self._square(sqradius), most=1),
            ConstantDecay(self.eta * self.lam),
        )
