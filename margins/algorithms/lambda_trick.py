"""The perceptron with the lambda-trick."""

from margins.estimators.noise_tolerance import NoiseTolerantClassifier
from margins.parameters import Interval, parameter


class LambdaTrickPerceptron(NoiseTolerantClassifier):
    """The perceptron with the lambda-trick: an offset on the scores of samples that were added.

    Once a sample has been added, lam K(x, x) is added to its own score, once, however often it is added,
    so that noisy samples soon cause no more updates. Predictions have no offset. It approximates the
    2-norm soft margin, which is a finite C.

    **Source**: Khardon & Wachman (2007), section 2.2; Kowalczyk, Smola & Williamson (2001).

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("lambda-trick")(lam=0.5, random_state=0).fit(X, y).converged_
    True
    """

    lam: float = parameter(
        Interval(0, 1e60),
        "The lambda-trick: once a sample has been added, lam K(x, x) is added to its own l (score).",
        default=1.0,
    )
