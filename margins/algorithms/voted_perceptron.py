"""The voted perceptron."""

from margins.estimators.noise_tolerance import AVERAGINGS, AveragingName, NoiseTolerantClassifier
from margins.parameters import OneOf, parameter


class VotedPerceptron(NoiseTolerantClassifier):
    """The voted perceptron: hypotheses vote with their numbers of correct predictions.

    The model is the list of mistakes, not a weight vector: a prediction takes one product with each
    distinct misclassified sample and one addition per mistake. ``decision_function`` returns the votes
    for the positive class minus those against it; a hypothesis whose score is 0 abstains.

    **Source**: Freund & Schapire (1999); Khardon & Wachman (2007), section 2.5.

    See Also
    --------
    AveragedPerceptron : One weight vector that approximates the votes.
    LongestSurvivorPerceptron : One of the hypotheses.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("voted-perceptron")(random_state=0).fit(X, y).converged_
    True
    """

    averaging: AveragingName = parameter(OneOf(*AVERAGINGS), "As for the perceptron.", default="voted")
