"""The voted perceptron."""

from margins.estimators.noise_tolerance import READOUTS, NoiseTolerantClassifier, ReadoutName
from margins.parameters import OneOf, parameter


class VotedPerceptron(NoiseTolerantClassifier):
    """The voted perceptron: every hypothesis of the run votes, as often as it was right.

    The model is the list of mistakes, not a weight vector: a prediction costs one product with every
    distinct mistaken pattern, and one addition a mistake. ``decision_function`` gives the votes for
    minus the votes against; a hypothesis whose score is 0 abstains.

    **Source**: Freund & Schapire (1999); Khardon & Wachman (2007), section 2.5.
    """

    readout: ReadoutName = parameter(OneOf(*READOUTS), "As for the perceptron.", default="voted")
