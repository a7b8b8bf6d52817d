"""The averaged perceptron."""

from margins.estimators.noise_tolerance import READOUTS, NoiseTolerantClassifier, ReadoutName
from margins.parameters import OneOf, parameter


class AveragedPerceptron(NoiseTolerantClassifier):
    """The averaged perceptron: the mean of all hypotheses, weighted as in voting.

    One weight vector that behaves much like the voted perceptron's many.

    **Source**: Freund & Schapire (1999); Khardon & Wachman (2007), section 2.5.
    """

    readout: ReadoutName = parameter(OneOf(*READOUTS), "As for the perceptron.", default="averaged")
