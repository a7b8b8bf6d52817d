"""The perceptron with the lambda-trick."""

from margins.estimators.noise_tolerance import NoiseTolerantClassifier
from margins.parameters import Interval, parameter


class LambdaTrickPerceptron(NoiseTolerantClassifier):
    """The perceptron with the lambda-trick: a pattern that has been added helps itself.

    Once added, a pattern gets lam K(x, x) on its own score, once, however often it is added, so that a
    noisy one is soon left alone. Predictions get no such bonus. The exact form of this approximation of
    the 2-norm soft margin is a finite C.

    **Source**: Khardon & Wachman (2007), section 2.2; Kowalczyk, Smola & Williamson (2001).
    """

    lam: float = parameter(
        Interval(0, 1e60),
        "The lambda-trick: once a pattern has been added, lam K(x, x) is added to its own l (score).",
        default=1.0,
    )
