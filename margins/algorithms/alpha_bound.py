"""The perceptron with the alpha-bound."""

import math

from margins.estimators.noise_tolerance import NoiseTolerantClassifier
from margins.parameters import AnyOf, Interval, OneOf, parameter


class AlphaBoundPerceptron(NoiseTolerantClassifier):
    """The perceptron with the alpha-bound: no pattern is added more than alpha_bound times.

    What errs again and again is taken for noise, as an upper bound on the dual variables does in the
    L1-SVM. Mistakes beyond the bound count neither as updates nor as votes.

    **Source**: Khardon & Wachman (2007), section 2.3 and Figure 2.
    """

    alpha_bound: float = parameter(
        AnyOf(OneOf(math.inf), Interval(1, 2**53, integer=True)),
        "A pattern is added at most so many times.",
        default=20,
    )
