"""Rounding that updates accumulate in a weight vector: a bound on it, and its correction."""

import math

import numpy as np

from margins.tuning import TUNING

EPSILON = np.finfo(np.float64).eps

# A step along search directions may round as much as this many updates; there are fewer of them.
ROUNDED_BY_STEP = 100


class Rounding:
    """The rounding of the weight vector of a run, for solvers that require its correction."""

    def __init__(self):
        self.n_accesses_summed = 0  # accesses before the weight vector was last summed

    def correct(self, run):
        """Sum linear rows again if a proof could depend on rounding, after `WeightVector.recompute`."""
        if run.data.rows.is_kernel:
            return
        limit = TUNING.driver.negligible_rounding * run.required_gap
        if not self.bound(run) <= limit:
            self._sum(run)

    def correct_kernel_sums(self, run):
        """Sum kernel rows again before a proof is final; return True unless they were just summed."""
        if not run.data.rows.is_kernel or self.n_accesses_summed == run.n_accesses:
            return False
        self._sum(run)
        return True

    def bound(self, run):
        """Return the share of |a| that updates may have rounded since the weight vector was last summed.

        Each rounds a, and its dual variable, up to its bound or what its diagonal allows here.
        """
        data, n_accesses = run.data, run.n_accesses - self.n_accesses_summed
        length = math.sqrt(run.weights.sqnorm)
        if length == 0:
            return math.inf
        diag = data.min_diagonal
        dual = 1 / math.sqrt(diag) if diag > 0 else data.max_upper / length
        return EPSILON * n_accesses * (ROUNDED_BY_STEP + 2 * dual * math.sqrt(data.max_sqnorm))

    def _sum(self, run):
        run.weights.recompute_sum(run.data)
        self.n_accesses_summed = run.n_accesses
