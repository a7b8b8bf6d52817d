"""The longest survivor."""

from margins.estimators.noise_tolerance import AVERAGINGS, AveragingName, NoiseTolerantClassifier
from margins.parameters import OneOf, parameter


class LongestSurvivorPerceptron(NoiseTolerantClassifier):
    """The longest survivor: the hypothesis with the most correct classifications before a mistake.

    The first one wins ties. Without a margin this is Gallant's pocket algorithm.

    **Use it for** comparisons of averagings. **Avoid it for** accuracy: averages are usually better.

    **Source**: Gallant (1990); Khardon & Wachman (2007), section 2.5.

    See Also
    --------
    PocketPerceptron : The pocket with ratchet.
    VotedPerceptron : Votes of all hypotheses.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("longest-survivor")(random_state=0).fit(X, y).converged_
    True
    """

    averaging: AveragingName = parameter(
        OneOf(*AVERAGINGS), "Averaging, as for the perceptron.", default="longest"
    )
