from margins.estimators.noise_tolerance import NoiseTolerantClassifier


class PocketPerceptron(NoiseTolerantClassifier):
    """The pocket algorithm with ratchet: a longer survivor must also classify better.

    A hypothesis that survives longer than the one in the pocket replaces it only if it classifies more
    training samples correctly. ``longest-survivor`` is the pocket without the ratchet, and so is the
    pocket in a stream, which keeps no samples to count. **Guarantee**: on the training samples a
    hypothesis in the pocket is never worse than its predecessor.

    **Use it for** the best single hypothesis of a perceptron. **Avoid it for** large data: it is slow.

    **Source**: Gallant (1990); Khardon & Wachman (2007), section 2.5.

    See Also
    --------
    LongestSurvivorPerceptron : The pocket without the ratchet.
    """

    EXAMPLE = 'get("pocket")(random_state=0)'
    averaging = "pocket"
