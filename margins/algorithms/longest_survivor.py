from margins.estimators.noise_tolerance import NoiseTolerantClassifier


class LongestSurvivorPerceptron(NoiseTolerantClassifier):
    """The longest survivor: the hypothesis with the most correct classifications before a mistake.

    The first one wins ties. Without a margin this is Gallant's pocket algorithm.

    **Use it for** comparisons of averagings. **Avoid it for** accuracy: averages are usually better.

    **Source**: Gallant (1990); Khardon & Wachman (2007), section 2.5.

    See Also
    --------
    PocketPerceptron : The pocket with ratchet.
    VotedPerceptron : Votes of all hypotheses.
    """

    EXAMPLE = 'get("longest-survivor")(random_state=0)'
    averaging = "longest"
