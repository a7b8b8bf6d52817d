"""Newton steps that start on a subsample, for data with many more samples than features.

A smoothed loss takes many steps. But the optimum over about a hundred samples per feature is close to
the optimum over all: its objective is larger by a share of about n_features / size. Each sample
represents several, so its U_k is multiplied by their number. Then the dual variables of all samples are
computed from this w, with the smoothing reached, and few steps over all samples remain.

A subsample is misleading if it is separable and the data are not: then its steps do not converge soon,
or the objective over all samples exceeds the subsample's. The solver stops, and the plan continues.

**Source**: White (1982), Maximum likelihood estimation of misspecified models.
"""

import numpy as np

from margins.data._passes import combination, products
from margins.linalg.threads import one_thread
from margins.losses._smoothed import SmoothLoss
from margins.solvers.newton._objective import Objective
from margins.solvers.newton.newton import NewtonSolver
from margins.tuning import TUNING


class SubsampledNewtonSolver(NewtonSolver):
    """Newton epochs for a loss with upper bounds; the first epoch is over at most `size` samples."""

    def __init__(self, size, in_blocks=False, epoch_reduction=0.0, tuning=TUNING):
        super().__init__(None, in_blocks, epoch_reduction, tuning.newton)
        self._size, self._subsample = size, tuning.subsample

    def epoch(self, run):
        if self._size == 0:
            return super().epoch(run)
        subsample, self._size = run.orders.sample(self._size), 0
        tuning, m = self._subsample, len(self.data)
        gap = max(tuning.gap, self._tuning.gap_share * run.required_gap)
        with one_thread():
            objective, loss = self._subsampled(subsample)
            n_steps = objective.minimise(gap, 0.0, tuning.max_steps)
        n_accesses = n_steps * len(subsample)
        if not objective.gap <= gap * objective.value:
            return self._report(run, 0, n_accesses, check_gap=False)
        margins = products(self.data, self._all, objective.w)
        if not self._value(objective.w, margins) <= tuning.max_objective_ratio * objective.value:
            return self._report(run, 0, n_accesses + m, check_gap=False)
        self.w, self.margins = objective.w, margins
        self.factor = loss.factor * len(subsample) / m
        self.alpha = self._dual_variables(0.5 * self.upper)
        run.weights.assign(self.data, self.alpha, combination(self.data, self._all, self.alpha))
        return self._report(run, len(subsample), n_accesses + m, check_gap=False)

    def _subsampled(self, subsample):
        """Return the objective over a subsample, and its losses."""
        from margins.solvers.newton._dense_hessian import DenseHessian

        weight = len(self.data) / len(subsample)
        upper = weight * self.upper[subsample]
        # Centred between the bounds, because no dual variable is known.
        factor = weight * self._subsample.first_factor
        loss = SmoothLoss(0.5 * upper, upper, self.curvature[subsample], factor, is_smoothed=True)
        hessian = DenseHessian(self.data, self.curvature, self._in_blocks)
        fixed, margins = np.zeros(len(self.w)), self.margins[subsample]
        return Objective(self.data, subsample, fixed, 0.0, self.w, margins, loss, hessian), loss
