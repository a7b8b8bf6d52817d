from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.rules import FixedThreshold, NoShrink, RelaxedMargin, Rules
from margins.solvers.base import Phase
from margins.solvers.schedules import NESTED_SETS


class AggressiveRelaxedOnlineMaximumMargin(OnlineMixin, MaximumMarginClassifier):
    """Aggressive ROMMA: update at every sample whose product ``a.y`` is at most ``1 - eps``.

    Updates are as in `romma`: the shortest weight vector with functional margin 1 on the sample
    that also satisfies the previous constraint. It is never longer than ``1 / gamma``, gamma the maximum
    margin, so after a full epoch without updates the margin is at least ``(1 - eps) gamma``.
    **Guarantee**: accuracy ``eps``, on separable data after at most ``(R / (eps gamma))**2`` updates.

    **Use it for** a number of updates bounded before the run. **Avoid it for** unscaled data.

    **Source**: Li & Long (2002), The relaxed online maximum margin algorithm, section 4; its delta is
    eps. A product of ``1 - eps`` exactly counts as too small, so that eps = 1 is `romma`.

    See Also
    --------
    RelaxedOnlineMaximumMargin : Updates only at mistakes.
    DynamicMarginPerceptron : Another rule with an accuracy.
    """

    EXAMPLE = 'get("aggressive-romma")(random_state=0)'

    def phases(self, run):
        accuracy = self.eps
        while not run.reached_goal:
            yield Phase(_rules(accuracy), NESTED_SETS)
            accuracy /= 2  # rounding kept the run from proving eps

    def online_rules(self, sqradius):
        return _rules(self.eps)


def _rules(accuracy):
    return Rules(FixedThreshold(1 - accuracy), RelaxedMargin(), NoShrink())
