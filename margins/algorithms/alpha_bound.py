from margins.estimators.noise_tolerance import NoiseTolerantClassifier


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
    """

    EXAMPLE = 'get("alpha-bound")(alpha_bound=5, random_state=0)'
    alpha_bound = 20
