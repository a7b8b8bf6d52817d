"""The certificate of a run."""

import math

from margins.certificate import Certificate
from margins.losses.base import NOTHING


class Certifier:
    """Computes the certificates of a run, and keeps the last one and the best dual value.

    Attributes
    ----------
    certificate : Certificate or None
        The last one; None before the first.
    products : ndarray of float64, shape (m,), or None
        Those of the hypothesis certified, with all samples: w.y_k - theta l_k.
    primal_scale, dual_scale : float
        Factors by which the hypothesis and the dual variables attain the certified objectives.
    is_current : bool
        True if the certificate is that of the hypothesis as it is.
    """

    def __init__(self):
        self.certificate = self.products = None
        self.primal_scale = self.dual_scale = 1.0
        self.is_current = False
        self._best_dual = 0.0

    def certify(self, run):
        """Compute the certificate of the hypothesis of a run: one pass over all samples."""
        data, weights, hypothesis, theta = run.data, run.weights, run.hypothesis, run.theta
        self.products = None  # so that memory holds only one such array at a time
        self.products = products = hypothesis.products(data)
        sqnorm = hypothesis.ordinary_sqnorm(data)
        bounds = NOTHING
        if theta != 0:
            products -= theta * data.signs
            # The intercept's weight is rho label_sum - theta / rho.
            length = theta / data.sqrho if data.sqrho > 0 else math.inf
            sqnorm = max(sqnorm + theta * (length - 2 * hypothesis.label_sum), 0.0)
        if theta == 0 or math.isfinite(sqnorm):
            bounds = run.loss.bounds(products, sqnorm, weights)
        self._best_dual = max(self._best_dual, bounds.dual)  # every dual value stays proven
        self.primal_scale, self.dual_scale = bounds.primal_scale, bounds.dual_scale
        self.certificate = Certificate.from_bounds(
            bounds.primal, self._best_dual, weights.n_updates, bounds.margin
        )
        self.is_current = True

    def expire(self):
        """Note that the hypothesis changes, so that the certificate is not its own any more."""
        self.is_current = False

    def note_feasible(self):
        """Note that the dual variables are feasible at scale 1."""
        self.dual_scale = 1.0

    def forget_dual(self):
        """Forget the best dual value: it was that of rounded dual variables."""
        self._best_dual = 0.0
