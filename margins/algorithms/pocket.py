"""The pocket algorithm with ratchet."""

from margins.estimators.noise_tolerance import READOUTS, NoiseTolerantClassifier, ReadoutName
from margins.parameters import OneOf, parameter


class PocketPerceptron(NoiseTolerantClassifier):
    """The pocket algorithm with ratchet: a longer survivor must also be better.

    A hypothesis that survives longer than the one in the pocket replaces it only if it classifies more
    training samples correctly. ``longest-survivor`` is the pocket without the ratchet. In a stream these
    samples are those of the chunk, so that here alone the result depends on how it is cut.

    **Source**: Gallant (1990); Khardon & Wachman (2007), section 2.5.
    """

    readout: ReadoutName = parameter(OneOf(*READOUTS), "As for the perceptron.", default="pocket")
