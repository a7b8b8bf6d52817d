"""Soft margins as the papers measure them: Delta of a data set, and the margin of a fit.

A problem has C = 1 / (2 Delta^2) and a bias by augmentation with rho = 1.
"""

import math

import numpy as np
from scipy import sparse

# Delta of every set: the paper's; for text its Real-sim's and News20's; otherwise ours, R / 10.
PAPER_DELTA = {"a9a": 1.0, "w8a": 1.0, "covtype": 3.0}
TEXT = {"news20", "sector", "basehock", "pcmac", "relathe"}
TEXT_DELTA = 0.1


def delta_of(name, radius):
    """Return Delta of a data set, and its source."""
    if name in PAPER_DELTA:
        return PAPER_DELTA[name], "the paper's"
    if name in TEXT:
        return TEXT_DELTA, "ours: the paper's for text"
    return float(f"{radius / 10:.0e}"), "ours: R / 10"


def length_of_longest(X):
    """Return R = max_k |x_k|, without bias and slack terms."""
    squares = X.multiply(X) if sparse.issparse(X) else np.square(X)
    return math.sqrt(squares.sum(axis=1).max())


def extended_margin(fit, C):
    """Return 1 / sqrt(2 min_c J(c w)), J(w) = |w|^2 / 2 + C sum_k max(0, 1 - w.y_k)^2."""
    products = fit.scores
    weights, bias = fit.classifier.coef_[0], float(fit.classifier.intercept_[0])
    sqnorm = float(weights @ weights) + bias**2
    if products.sum() <= 0:  # no c > 0 is better than 0
        return 0.0
    # The slope of J(c w) is concave in c and piecewise linear, since samples only cease to be short
    # as c grows: Newton's method from 0 hops from piece to piece, upwards, until it stays on one.
    short, before = np.ones(len(products), dtype=bool), None
    while not np.array_equal(short, before):
        pulling = products[short]
        scale = 2 * C * pulling.sum() / (sqnorm + 2 * C * (pulling @ pulling))
        before, short = short, short & (scale * products < 1)
    slack = 1 - scale * products[short]
    return 1 / math.sqrt(scale**2 * sqnorm + 2 * C * (slack @ slack))
