from margins.estimators.noise_tolerance import NoiseTolerantClassifier

# The fitted attributes that replace the weights.
MISTAKES = """list of ndarray of int32, shape (n_mistakes,)
    For each binary problem, the mistakes in order, as rows of `support_vectors_`: hypothesis i is the
    sum of the first i of these rows, signed by their labels."""
VOTES = """list of ndarray of int64, shape (n_mistakes + 1,)
    For each binary problem, the votes of the hypotheses: their numbers of correct predictions."""
SUPPORT = """ndarray of int, shape (n_support,)
    Indices of the samples that were misclassified."""
SUPPORT_VECTORS = """ndarray or CSR matrix, shape (n_support, n_features)
    The samples in `support_`; empty if the kernel is precomputed."""


class VotedPerceptron(NoiseTolerantClassifier):
    """The voted perceptron: hypotheses vote with their numbers of correct predictions.

    The model is the list of mistakes, not a weight vector: a prediction takes one product with each
    distinct misclassified sample and one addition per mistake. ``decision_function`` returns the votes
    for the positive class minus the votes against it; a hypothesis whose score is 0 abstains.

    **Use it for** votes; `averaged-perceptron` makes as few errors. **Avoid it for** fast predictions,
    small models or a drifting target.

    **Source**: Freund & Schapire (1999); Khardon & Wachman (2007), section 2.5.

    See Also
    --------
    AveragedPerceptron : One weight vector that approximates the votes.
    LongestSurvivorPerceptron : One of the hypotheses.
    """

    EXAMPLE = 'get("voted-perceptron")(random_state=0)'

    DOCUMENTED = {
        "coef_": None,
        "n_features_": None,
        "intercept_": None,
        "dual_coef_": None,
        "mistakes_": MISTAKES,
        "votes_": VOTES,
        "support_": SUPPORT,
        "support_vectors_": SUPPORT_VECTORS,
    }

    averaging = "voted"
