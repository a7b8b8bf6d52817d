from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import NON_NEGATIVE, Interval, optional, parameter
from margins.rules import Additive, FixedThreshold, NoShrink, Rules
from margins.solvers.base import Phase

RADII = optional(Interval(0, 1e60, "right"))
ABOUT_RADIUS = (
    "R. None: the norm of the longest sample, including bias and slack term; in a stream, of the "
    "longest so far."
)


class MarginPerceptron(OnlineMixin, BaseMarginClassifier):
    """The perceptron with margin: add every sample whose product ``a.y`` is at most b.

    **Guarantee**: on separable data it ends after at most ``(R**2 + 2 b) / gamma**2`` updates with more
    than ``b / (R**2 + 2 b)`` of the maximum margin, which tends to one half as b grows.

    **Use it for** quick fits on separable data. **Avoid it for** a proven accuracy.

    **Source**: Duda & Hart (1973); Panagiotakopoulos & Tsampouka (2010), (11) and (17) without
    unlearning.

    See Also
    --------
    PerceptronWithMargin : A margin relative to a learned threshold.
    FixedMarginPerceptron : A directional margin.
    UnlearningMarginPerceptron : Unlearning, which reaches any accuracy.
    """

    EXAMPLE = 'get("margin-perceptron")(b=2, random_state=0)'
    WEIGHTS_MULTIPLY = "relative updates"

    b: float = parameter(NON_NEGATIVE, "Threshold in units of R**2.", default=1.0)
    radius: float | None = parameter(RADII, ABOUT_RADIUS, default=None)

    def phases(self, run):
        sqradius = run.sqradius if self.radius is None else self.radius**2
        yield Phase(Rules(FixedThreshold(self.b * sqradius), Additive(), NoShrink()))

    def online_rules(self, sqradius):
        if self.radius is not None:
            sqradius = self.radius**2
        return Rules(FixedThreshold(self.b * sqradius), Additive(most=1), NoShrink())
