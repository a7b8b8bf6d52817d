"""The relaxed online maximum margin algorithm."""

import math

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import Interval, parameter
from margins.rules import Mistake, NoShrink, RelaxedMargin, Rules
from margins.solvers.base import Phase


class RelaxedOnlineMaximumMargin(OnlineMixin, BaseMarginClassifier):
    """ROMMA: at every mistake, the shortest weight vector with functional margin 1.

    All earlier samples are represented by one constraint, ``a'.a >= |a|**2``, so the new vector has a
    closed form. **Guarantee**: on separable data it ends after at most ``(R / gamma)**2`` updates.
    `aggressive-romma` also guarantees a margin.

    **Use it for** runs without any parameter, on clean labels. **Avoid it for** noisy labels.

    **Source**: Li & Long (2002), The relaxed online maximum margin algorithm.

    See Also
    --------
    AggressiveRelaxedOnlineMaximumMargin : Updates at margin errors, and an accuracy.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("romma")(random_state=0).fit(X, y).converged_
    True
    """

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Penalty of the 2-norm soft margin, whose slack terms make any data separable. inf: the hard "
        "margin.",
        default=math.inf,
    )

    def phases(self, run):
        yield Phase(self.online_rules(run.sqradius))

    def online_rules(self, sqradius):
        return Rules(Mistake(), RelaxedMargin(), NoShrink())
