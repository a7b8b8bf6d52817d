"""Decomposition with a free intercept, as in SVC.

The dual of `decomposition` without rho^2, and with one additional constraint:

    max sum_k alpha_k - |a|^2 / 2 - sum_k D_k alpha_k^2 / 2,
        0 <= alpha_k <= U_k,   sum_k alpha_k l_k = 0.

The intercept b is the multiplier of this constraint. During a pass it is the intercept with the smallest
primal objective for the current products. Working sets have violators of both directions, because each
step of a subproblem raises one l_k alpha_k and lowers another by as much.

**Source**: Fan, Chen & Lin (2005), Working set selection using second order information for training
SVMs.
"""

import math

import numpy as np

from margins.solvers.balance import balance, lower_label_sum, with_equal_classes
from margins.solvers.decomposition._subproblem import minimise_balanced
from margins.solvers.decomposition.decomposition import DecompositionSolver, largest

# The intercept for choosing working sets keeps this share of the interval of violations from its ends,
# so that both directions have a violator.
INSIDE = 0.1


class FreeInterceptSolver(DecompositionSolver):
    """Decomposition with sum_k alpha_k l_k = 0. Parameters as in `DecompositionSolver`."""

    _is_free = True

    def start(self, run):
        """Start from the run's dual variables, with the larger class scaled to balance the other."""
        super().start(run)
        self._labels = run.data.signs
        if run.weights.dual_sum == 0:  # nothing to balance
            return
        alpha = with_equal_classes(self._alpha, self._upper, self._signs)
        if alpha is self._alpha:
            return
        self._alpha = alpha
        self._v[:] = 0
        if self._alpha.any():
            support = np.flatnonzero(self._alpha)
            coefficients = self._signs[support] * self._alpha[support]
            self._v[:] = self._blocks.sums(np.arange(len(self._v)), support, coefficients)

    def _intercept(self):
        return self._loss.best_intercept(self._v, self._signs)

    def _give(self, run, v, intercept=None):
        if intercept is None:
            intercept = self._intercept()
        if run.data.rows.is_kernel:
            super()._give(run, v)
            run.set_threshold(-intercept)
        else:  # the intercept is the weight of a constant feature, and moves from its value
            shift = intercept / run.data.sq_intercept_scaling - run.weights.label_sum
            run.weights.recentre(run.data, self._alpha, shift)

    def _violations(self, state):
        """Return the gains at an intercept that leaves a violator of each direction, if there is one."""
        high, low = state.ends
        if not high > low:
            return np.zeros_like(state.gradient)  # optimal
        inside = INSIDE * (high - low)
        return self._violations_after(state, min(max(0.0, low + inside), high - inside))

    def _sides(self, gradient):
        """Return the samples to raise and the samples to lower."""
        rising = self._signs * gradient < 0
        return rising, ~rising

    def _most_violating(self, violation, sides, n):
        """Return half of them to raise and half to lower, or more of one if the other has few."""
        up, down = (largest(np.where(side, violation, 0.0), n) for side in sides)
        n_up = max(n // 2, n - len(down))
        n_down = n - min(n_up, len(up))
        up, down = (
            side[np.argsort(-violation[side], kind="stable")[:count]]
            for side, count in ((up, n_up), (down, n_down))
        )
        return np.concatenate([up, down])

    def _minimise(self, Q, diag, gradient, moves, *bounds_and_limits):
        return minimise_balanced(Q, diag, -gradient, moves, *bounds_and_limits)

    def _restore_constraint(self, before, after, upper, signs):
        lower_label_sum(after, upper, signs, math.fsum(signs * (after - before)))

    def _sum(self, mask):
        support = self._alpha > 0
        if mask[support].any():
            balance(self._alpha, self._upper, self._labels)
        super()._sum(mask)
