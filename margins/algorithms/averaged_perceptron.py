"""The averaged perceptron."""

from margins.estimators.noise_tolerance import AVERAGINGS, AveragingName, NoiseTolerantClassifier
from margins.parameters import OneOf, parameter


class AveragedPerceptron(NoiseTolerantClassifier):
    """The averaged perceptron: the mean of all hypotheses, weighted as in voting.

    It is one weight vector, which approximates the votes of the voted perceptron.

    **Use it for** streams with a fixed target, noisy or not. **Avoid it for** a drifting target, and
    noisy labels of a fixed set, where `alpha-bound` makes fewer errors.

    **Source**: Freund & Schapire (1999); Khardon & Wachman (2007), section 2.5.

    See Also
    --------
    VotedPerceptron : Votes instead of a mean.
    LongestSurvivorPerceptron : One of the hypotheses.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("averaged-perceptron")(random_state=0).fit(X, y).converged_
    True
    """

    averaging: AveragingName = parameter(
        OneOf(*AVERAGINGS), "Averaging, as for the perceptron.", default="averaged"
    )
