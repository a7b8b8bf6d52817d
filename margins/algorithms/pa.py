"""The passive-aggressive algorithm."""

from typing import Literal

from margins.estimators.step import StepClassifier
from margins.parameters import Interval, OneOf, parameter
from margins.rules import Average, MarginError, NoShrink, PassiveAggressive, Rules


class PassiveAggressiveClassifier(StepClassifier):
    """The passive-aggressive algorithm: the smallest change that gives the pattern functional margin 1.

    A pattern with ``a.y >= 1`` changes nothing, a tie included; from any other as much is added as its
    loss ``1 - a.y`` asks for, ``c = loss / |y|**2``.

    On data of maximum margin gamma the squared losses of all presentations sum to at most
    ``(R / gamma)**2``. So the epochs end after at most ``(R / (gamma tol))**2`` updates, and then with
    at least ``(1 - tol) / 2`` of gamma, because a never leaves the ball of radius 1 / gamma around the
    weight vector of maximum margin. Nothing is promised of other data.

    **Source**: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), Figure 1, Theorem 2.
    """

    tol: float = parameter(
        Interval(0, 1, "left"),
        "Losses up to it are passed over. 0: none, as in the paper; but then repeated epochs come ever "
        "closer to losses of 0 on separable data without an end.",
        default=1e-9,
    )
    readout: Literal["last", "averaged"] = parameter(
        OneOf("last", "averaged"),
        "What the run leaves as its model: the last weight vector, or the mean of all, each weighted by "
        "the presentations that it saw.",
        default="last",
    )

    def online_rules(self, sqradius):
        return Rules(MarginError(1 - self.tol), self._update(sqradius), NoShrink())

    def online_readout(self, weights):
        return Average(weights, "presentations") if self.readout == "averaged" else None

    def _update(self, sqradius):
        """The update, given R^2."""
        return PassiveAggressive()
