"""The shifting perceptron algorithm."""

import math

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import POSITIVE, Interval, parameter
from margins.rules import Mistake, NoShrink, Rules, Shifting
from margins.solvers.base import Phase


class ShiftingPerceptron(OnlineMixin, BaseMarginClassifier):
    """The shifting perceptron: every mistake is mixed in, and what was learned long ago fades.

    At the mistake after t mistakes ``a <- (t a + lam y) / (lam + t)``, so the pattern of the j-th one
    weighs about in proportion to ``j**(lam - 1)``. lam = 1 makes the perceptron's updates, lam = 2
    those of `mpvs` with n = 1 and b = 0. It was made for targets that drift; on separable data it ends
    after at most ``lam**2 / (2 lam - 1) * (R / gamma)**2`` updates, gamma the maximum margin, if
    lam > 1/2.

    **Source**: Cavallanti, Cesa-Bianchi & Gentile (2007), Tracking the best hyperplane with a simple
    budget perceptron, section 3. The number of updates is our derivation.
    """

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Finite: every pattern has a private coordinate of size 1 / sqrt(2 C), which makes any data "
        "separable.",
        default=math.inf,
    )
    lam: float = parameter(POSITIVE, "How fast it forgets; 1: not at all.", default=2.0)

    def phases(self, run):
        yield Phase(self.online_rules(run.sqradius))

    def online_rules(self, sqradius):
        return Rules(Mistake(), Shifting(self.lam), NoShrink())
