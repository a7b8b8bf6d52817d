import copy
import math

import numpy as np

from margins.estimators.custom import LoopState, OwnLoopClassifier
from margins.parameters import Interval, parameter
from margins.solvers.custom._second_order import SecondOrderLoop

MAX_FEATURES = 10_000  # a matrix of 800 MB


class SecondOrderState(LoopState):
    """w = P v, v the sum of the misclassified samples and P = T^T T = (a + sum of their x x^T)^-1."""

    def __init__(self, n_features, n_samples, a):
        self.T = np.eye(n_features + 1) / math.sqrt(a)
        self.coordinates = np.zeros(n_features + 1)
        self.v = np.zeros(n_features + 1)
        self.dual = np.zeros(n_samples) if n_samples else None
        self.n_updates, self.dual_sum = 0, 0.0
        self._slack_sqnorm = 0.0  # sum of squares of slack terms

    def process(self, data, order):
        loop = SecondOrderLoop(self.T, self.coordinates, self.v, self.dual)
        try:
            return loop.full_epoch(data, None, None, order)
        finally:  # a time limit may end the loop after some of the samples
            self.n_updates += loop.n_mistakes
            self.dual_sum += loop.dual_sum
            if self.dual is None:
                self._slack_sqnorm += loop.slack_sqnorm
            else:
                self._slack_sqnorm = float(np.sum(data.diagonal * np.square(self.dual)))

    def without_dual(self):
        twin = copy.deepcopy(self)
        twin.dual = None  # |v|^2 keeps its slack terms
        return twin

    @property
    def sqnorm(self):
        return float(self.v @ self.v) + self._slack_sqnorm


class SecondOrderPerceptron(OwnLoopClassifier):
    """The second-order perceptron: a perceptron that whitens its mistakes.

    It predicts with ``w = (a + sum of x x.T)**-1 v``, where v and the matrix are sums over the
    misclassified samples: ridge regression on the mistakes. If most of the variance is in a few
    directions, it makes fewer mistakes than the perceptron. **Guarantee**: on separable data it ends
    with an epoch without mistakes, but no share of the maximum margin. Its certificate states the margin
    reached, in units of X. `dual_coef_`, available if C is finite, is the number of mistakes on each
    sample, which proves the upper bound: the combination of samples is v, not `coef_`.

    An update takes time and memory quadratic in the number of features, at most 10 000. A finite `C` is
    the soft margin of the certificate; updates have no slack terms.

    **Use it for** streams of a few hundred features with clean labels. **Avoid it for** noisy labels
    or many features.

    **Source**: Cesa-Bianchi, Conconi & Gentile (2005), A Second-Order Perceptron Algorithm.

    See Also
    --------
    Perceptron : No second-order information.
    """

    EXAMPLE = 'get("second-order-perceptron")(random_state=0)'
    WEIGHTS_MULTIPLY = "relative updates"

    C = math.inf
    a: float = parameter(
        Interval(1e-120, 1e120),
        "Ridge parameter added to the matrix, in units of squared features. Large: the perceptron. "
        "Small: more like least squares.",
        default=1.0,
    )

    STREAM_STATE = (
        "the matrix, the sum of the mistakes, w, and the number of mistakes. Dual variables only with "
        "``warm_start=True``."
    )

    def new_state(self, n_features, n_samples):
        if n_features > MAX_FEATURES:
            raise ValueError(
                f"X of {self._display_name()} must have at most {MAX_FEATURES} features, because the "
                f"matrix has an element for every pair of features. Got {n_features}."
            )
        return SecondOrderState(n_features, n_samples, float(self.a))
