from margins.estimators.noise_tolerance import NoiseTolerantClassifier


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
    """

    EXAMPLE = 'get("perceptron")(random_state=0)'
    WARNS = True

    eta = 1.0
    theta_init = 0.0
    intercept_scaling = 1.0
    shuffle = "epochs"
    max_iter = 1000
