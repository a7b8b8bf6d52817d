from margins.estimators.noise_tolerance import NoiseTolerantClassifier


class LambdaTrickPerceptron(NoiseTolerantClassifier):
    """The perceptron with the lambda-trick: an offset on the scores of samples that have been added.

    As soon as a sample has been added, its score gets the offset lam K(x, x), however often it is added,
    so that noisy samples soon cause no more updates. Predictions have no offset. The trick approximates
    the 2-norm soft margin, which is a finite C.

    An update adds eta K(x, x) to the score of its sample, so lam / eta is the offset in units of
    updates, as in the paper's Figure 2. The paper's tables fit an offset of eta times their lambda
    better (docs/papers.md).

    **Use it for** noisy labels of many samples. **Avoid it for** few samples, and for a finite C, which
    is its exact form.

    **Source**: Khardon & Wachman (2007), section 2.2; Kowalczyk, Smola & Williamson (2001).

    See Also
    --------
    Perceptron : All options of the noise-tolerant variants.
    AlphaBoundPerceptron : A bound instead of an offset.
    """

    EXAMPLE = 'get("lambda-trick")(lam=0.5, random_state=0)'
    lam = 1.0
