"""The perceptron with margin."""

from margins.base import MarginClassifier
from margins.parameters import NON_NEGATIVE, parameter
from margins.rules import Additive, FixedThreshold, NoShrink, Rules
from margins.training import Stage


class MarginPerceptron(MarginClassifier):
    """The perceptron with margin: add every pattern whose product ``a.y`` is at most b.

    On separable data it ends after at most ``(R**2 + 2 b) / gamma**2`` updates with more than
    ``b / (R**2 + 2 b)`` of the maximum margin: up to one half, however large b.

    **Source**: Duda & Hart (1973); Panagiotakopoulos & Tsampouka (2010), (11) and (17) without
    unlearning.
    """

    b: float = parameter(1.0, NON_NEGATIVE, "Threshold in units of R**2, R the longest pattern.")

    def stages(self, run):
        yield Stage(Rules(FixedThreshold(self.b * run.sqradius), Additive(), NoShrink()))
