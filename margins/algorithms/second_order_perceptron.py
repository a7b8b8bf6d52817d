"""The second-order perceptron."""

import math

import numpy as np

from margins.estimators.custom import OwnLoopClassifier, State
from margins.parameters import Interval, parameter
from margins.solvers.custom._second_order import present

MOST_FEATURES = 10_000  # a matrix of 800 MB


class SecondOrderState(State):
    """w = P v, v the sum of the mistaken patterns and P = T^T T = (a + their x x^T)^-1."""

    def __init__(self, n_features, n_patterns, a):
        self.T = np.eye(n_features + 1) / math.sqrt(a)
        self.coordinates = np.zeros(n_features + 1)
        self.v = np.zeros(n_features + 1)
        self.dual = np.zeros(n_patterns) if n_patterns else None
        self.n_updates = 0
        self._extension = 0.0  # sum of squares of private coordinates

    def present(self, patterns, order):
        n_changed, fresh = present(patterns, order, self.T, self.coordinates, self.v, self.dual)
        self.n_updates += n_changed
        if self.dual is None:
            self._extension += fresh
        else:
            self._extension = float(np.sum(patterns.extension_sqnorms * np.square(self.dual)))
        return n_changed

    def release(self):
        self.T = None

    @property
    def dual_sum(self):
        return float(self.n_updates)

    @property
    def sqnorm(self):
        return float(self.v @ self.v) + self._extension


class SecondOrderPerceptron(OwnLoopClassifier):
    """The second-order perceptron: it weighs directions by how little the mistakes in them vary.

    It predicts with ``w = (a + sum of x x.T)**-1 v``, where v is the perceptron's sum of the mistaken
    patterns and the matrix is of these too: ridge regression on the mistakes. Where the patterns vary
    much in a few directions it makes fewer mistakes than the perceptron. It ends, on separable data,
    with an epoch without mistakes, and promises no share of the maximum margin; its certificate says
    what was reached, in the same units as everybody's. `dual_coef_`, with a finite C, are the numbers of
    mistakes, which prove the upper bound: it is v that they add up to, not `coef_`.

    An update takes time and memory as the square of the number of features: at most 10 000 are taken.

    **Source**: Cesa-Bianchi, Conconi & Gentile (2005), A Second-Order Perceptron Algorithm.
    """

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Only what the certificate is about, as for `servedio-average`: updates know no private "
        "coordinates.",
        default=math.inf,
    )
    a: float = parameter(
        Interval(1e-120, 1e120),
        "What is added to the matrix, in units of squared features. Large: the perceptron. Small: "
        "more like least squares.",
        default=1.0,
    )

    def new_state(self, n_features, n_patterns):
        return SecondOrderState(n_features, n_patterns, float(self.a))

    def _weigh(self, X, *args, **kwargs):
        if X.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"X of {type(self).__name__} must have at most {MOST_FEATURES} features, of whose pairs "
                f"it keeps a matrix. Got {X.shape[1]}."
            )
        return super()._weigh(X, *args, **kwargs)
