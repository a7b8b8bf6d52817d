"""Rounding that updates accumulate in a weight vector: a bound of it, and its correction."""

import math

import numpy as np

from margins.tuning import TUNING

EPSILON = np.finfo(np.float64).eps

# A step along search directions, of which there are fewer than updates, may round off so many times as
# much as an update.
ROUNDED_BY_STEP = 100


class Rounding:
    """The rounding of the weight vector of a run, corrected if a solver of the run requires it."""

    def __init__(self):
        self._is_corrected = False
        self._n_accesses_summed = 0  # accesses before the weight vector was last summed

    def require(self):
        """From now on, correct rounding before a proof could depend on it."""
        self._is_corrected = True

    def correct(self, run):
        """Recompute what updates have rounded off, where a proof could depend on it."""
        run.weights.recompute(run.data)
        if not self._is_corrected or run.data.rows.is_kernel:
            return
        limit = TUNING.driver.negligible_rounding * run.loss.required_gap(run.eps)
        if not self.bound(run) <= limit:
            self._sum(run)

    def correct_kernel_sums(self, run):
        """Sum the rows of a kernel again, before a proof is final: True if they were not just summed."""
        if not (self._is_corrected and run.data.rows.is_kernel):
            return False
        if self._n_accesses_summed == run.n_accesses:
            return False
        self._sum(run)
        return True

    def bound(self, run):
        """The share of |a| that updates may have rounded off since the weight vector was last summed.

        Each rounds a, and its dual variable, which may have been as large as its upper bound, or as its
        diagonal allows in an `a` of this length. Only after `WeightVector.recompute`.
        """
        data, n_accesses = run.data, run.n_accesses - self._n_accesses_summed
        length = math.sqrt(run.weights.sqnorm)
        if length == 0:
            return math.inf
        diag = float(data.diagonal.min())
        dual = 1 / math.sqrt(diag) if diag > 0 else data.max_upper / length
        return EPSILON * n_accesses * (ROUNDED_BY_STEP + 2 * dual * math.sqrt(data.max_sqnorm))

    def _sum(self, run):
        run.weights.sum_afresh(run.data)
        self._n_accesses_summed = run.n_accesses
