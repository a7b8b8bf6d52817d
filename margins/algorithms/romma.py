"""The relaxed online maximum margin algorithm."""

import math

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import Interval, parameter
from margins.rules import Mistake, NoShrink, RelaxedMargin, Rules
from margins.solvers.base import Phase


class RelaxedOnlineMaximumMargin(OnlineMixin, BaseMarginClassifier):
    """ROMMA: at every mistake, the shortest weight vector that gets the pattern right by 1.

    All earlier patterns together are represented by one constraint, ``a'.a >= |a|**2``. The new vector
    has a closed form without a learning rate, and there is nothing to choose. On separable data it ends
    after at most ``(R / gamma)**2`` updates, gamma the maximum margin; `aggressive-romma` also has
    a guarantee of the margin.

    **Source**: Li & Long (2002), The relaxed online maximum margin algorithm.
    """

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Finite: every pattern has a private coordinate of size 1 / sqrt(2 C), which makes any data "
        "separable.",
        default=math.inf,
    )

    def phases(self, run):
        yield Phase(self.online_rules(run.sqradius))

    def online_rules(self, sqradius):
        return Rules(Mistake(), RelaxedMargin(), NoShrink())
