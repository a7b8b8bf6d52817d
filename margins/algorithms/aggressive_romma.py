"""The aggressive relaxed online maximum margin algorithm."""

from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.rules import FixedThreshold, NoShrink, RelaxedMargin, Rules
from margins.solvers.base import Phase
from margins.solvers.schedules import DEEP


class AggressiveRelaxedOnlineMaximumMargin(OnlineMixin, MaximumMarginClassifier):
    """Aggressive ROMMA: update at every pattern whose product ``a.y`` is at most ``1 - eps``.

    The updates are those of `romma`: the shortest weight vector that gets the pattern right by 1 and
    keeps what the one before stood for. It is never longer than ``1 / gamma``, gamma the maximum
    margin, so a full epoch without updates has at least ``1 - eps`` of gamma. On separable data that
    comes after at most ``(R / (eps gamma))**2`` updates.

    **Source**: Li & Long (2002), The relaxed online maximum margin algorithm, section 4; its delta is
    eps. A product of ``1 - eps`` exactly counts as too small, so that eps = 1 is `romma`.
    """

    def phases(self, run):
        accuracy = self.eps
        while not run.finished:
            yield Phase(self._rules(accuracy), DEEP)
            accuracy /= 2  # what rounding has left unproven

    def online_rules(self, sqradius):
        return self._rules(self.eps)

    @staticmethod
    def _rules(accuracy):
        return Rules(FixedThreshold(1 - accuracy), RelaxedMargin(), NoShrink())
