"""The perceptron algorithm with margins."""

from margins.estimators.noise_tolerance import NoiseTolerantClassifier
from margins.parameters import Interval, parameter


class PerceptronWithMargin(NoiseTolerantClassifier):
    """The perceptron algorithm with margins: a score must be right by more than tau theta_init.

    The noise-tolerant variant that pays most: of all that Khardon & Wachman tried, tau improves the last
    hypothesis most, and hardly anything improves on it. On separable data, with theta learned in steps
    of C = R**2, its margin is at least ``tau / (sqrt(8) (eta R**2 + tau))`` of the maximum, tau taken
    absolutely.

    **Source**: Krauth & Mezard (1987); Khardon & Wachman (2007), section 2.4, "PAM".
    """

    tau: float = parameter(
        Interval(0, 1e60),
        "Margin, in units of theta_init: a presentation is a mistake if l (score) <= tau theta_init.",
        default=1.0,
    )
