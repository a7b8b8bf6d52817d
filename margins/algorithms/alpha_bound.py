"""The perceptron with the alpha-bound."""

import math

from margins.estimators.noise_tolerance import NoiseTolerantClassifier
from margins.parameters import AnyOf, Interval, OneOf, parameter


class AlphaBoundPerceptron(NoiseTolerantClassifier):
    """The perceptron with the alpha-bound: no sample is added more than alpha_bound times.

    Samples that are misclassified repeatedly are treated as noise; the bound acts like the upper bounds
    of the dual variables in the L1-SVM. Mistakes beyond the bound count neither as updates nor as votes.

    **Use it for** noisy labels and outliers. **Avoid it for** clean samples: `perceptron` makes fewer
    errors.

    **Source**: Khardon & Wachman (2007), section 2.3 and Figure 2.

    See Also
    --------
    Perceptron : All options of the noise-tolerant variants.
    LambdaTrickPerceptron : An offset instead of a bound.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("alpha-bound")(alpha_bound=5, random_state=0).fit(X, y).converged_
    True
    """

    alpha_bound: float = parameter(
        AnyOf(OneOf(math.inf), Interval(1, 2**53, integer=True)),
        "Maximum number of updates of a sample.",
        default=20,
    )
