"""A loss that the library does not have, in one file: the modified Huber loss."""

import numpy as np

from margins.losses import Loss


class ModifiedHuber(Loss):
    """``min |w|^2 / 2 + sum_k C_k h(w.y_k)``, h(p) = max(0, 1 - p)^2 for p >= -1, and -4 p below.

    Parameters
    ----------
    C : float or ndarray of float64, shape (m,)
        Penalty of every sample.

    **Source**: Zhang (2004), Solving large scale linear prediction problems using stochastic gradient
    descent algorithms.
    """

    name = "modified_huber"

    def __init__(self, C):
        super().__init__(C)
        self.diag = 1 / (2 * C)
        self.upper = 4 * C

    def value(self, margins):
        """The sum of C_k h(w.y_k)."""
        slack = np.maximum(1 - margins, 0)
        return float(np.sum(self.C * np.where(margins >= -1, slack**2, -4 * margins)))
