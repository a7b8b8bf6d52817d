"""The perceptron, with the options of its noise-tolerant variants."""

import math
from typing import Literal

from margins.estimators.noise_tolerance import NoiseTolerantClassifier
from margins.parameters import Interval, OneOf, parameter


class Perceptron(NoiseTolerantClassifier):
    """The classical perceptron: add every misclassified sample.

    **Guarantee**: on separable data it ends, with a full epoch without mistakes, after at most ``(R /
    gamma)**2`` updates. Its certificate states the margin reached; no share of the maximum is
    guaranteed.

    Its parameters cover every noise-tolerant variant of Khardon & Wachman: a margin, the lambda-trick, a
    bound on the updates of each sample, a learned threshold with any initial value, and averages or
    selections of iterates. The algorithms named after these variants are presets of this class.

    **Use it for** the usual baseline. **Avoid it for** noisy labels.

    **Source**: Rosenblatt (1958); Novikoff (1962), Theorem 1 of the lecture on linear separators;
    Khardon & Wachman (2007), Figures 1 and 2.

    See Also
    --------
    VotedPerceptron : Votes of all hypotheses.
    PerceptronWithMargin : A margin.
    AlphaBoundPerceptron : A bound on the updates of each sample.
    LambdaTrickPerceptron : An offset of updated samples.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("perceptron")(random_state=0).fit(X, y).converged_
    True
    """

    eta: float = parameter(Interval(1e-60, 1e60), NoiseTolerantClassifier.ABOUT_ETA, default=1.0)
    theta_init: float | None = parameter(
        NoiseTolerantClassifier.THETAS, NoiseTolerantClassifier.ABOUT_THETA, default=0.0
    )
    intercept_scaling: float | None = parameter(  # type: ignore[assignment]  # None too
        NoiseTolerantClassifier.SCALINGS, NoiseTolerantClassifier.ABOUT_SCALING, default=1.0
    )
    shuffle: Literal["epochs", "once", "never"] = parameter(
        OneOf("epochs", "once", "never"), NoiseTolerantClassifier.ABOUT_SHUFFLE, default="epochs"
    )
    max_iter: int = parameter(
        Interval(1, math.inf, "left", integer=True), "Maximum number of full epochs.", default=1000
    )

    WARNS = True
