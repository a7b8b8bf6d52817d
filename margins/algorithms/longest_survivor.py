"""The longest survivor."""

from margins.estimators.noise_tolerance import READOUTS, NoiseTolerantClassifier, ReadoutName
from margins.parameters import OneOf, parameter


class LongestSurvivorPerceptron(NoiseTolerantClassifier):
    """The longest survivor: the hypothesis that was right most often before its first mistake.

    Of equals the first. Without a margin this is Gallant's pocket algorithm.

    **Source**: Gallant (1990); Khardon & Wachman (2007), section 2.5.
    """

    readout: ReadoutName = parameter(OneOf(*READOUTS), "As for the perceptron.", default="longest")
