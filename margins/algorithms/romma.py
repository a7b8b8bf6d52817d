import math

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.rules import Mistake, NoShrink, RelaxedMargin, Rules


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
    """

    EXAMPLE = 'get("romma")(random_state=0)'
    C = math.inf

    def online_rules(self, sqradius):
        return Rules(Mistake(), RelaxedMargin(), NoShrink())
