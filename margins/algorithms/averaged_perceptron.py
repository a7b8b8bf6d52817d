from margins.estimators.noise_tolerance import NoiseTolerantClassifier


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
    """

    EXAMPLE = 'get("averaged-perceptron")(random_state=0)'
    averaging = "averaged"
