"""The perceptron."""

import math

from margins.base import MarginClassifier
from margins.parameters import Interval, parameter
from margins.rules import Additive, Mistake, NoShrink, Rules
from margins.training import Stage


class Perceptron(MarginClassifier):
    """The classical perceptron: add every pattern that is on the wrong side.

    On separable data it ends, with a full epoch without mistakes, after at most ``(R / gamma)**2``
    updates. It reaches some margin, not a guaranteed share of the maximum; its certificate says which.

    **Source**: Rosenblatt (1958); Novikoff (1962), Theorem 1 of the lecture on linear separators.
    """

    C: float = parameter(
        math.inf,
        Interval(0, math.inf, "right"),
        "inf: the classical perceptron. Finite: every pattern has a private coordinate of size "
        "1 / sqrt(2 C), which makes any data separable.",
    )

    def stages(self, run):
        yield Stage(Rules(Mistake(), Additive(most=1), NoShrink()))
