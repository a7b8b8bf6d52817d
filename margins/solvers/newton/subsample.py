"""Newton steps that start on a subsample, for data with many more samples than features.

The optimum over a hundred samples or more per feature is close to the optimum over all: its objective is
larger by a share of about n_features / size. Each sample represents several, so its U_k and sigma_k are
multiplied by their number.

The dual variables of all samples at this w are far worse than w: |w - a|^2 is about m times as large as
what w lacks. So an epoch of a smooth loss maximises the dual objective over the variables of the
subsample alone, all others fixed; what the pair then lacks is m / size times what w lacks. If this does
not prove enough, a step with the Hessian of the subsample follows, in one pass over all samples, and
again the subsample's variables. For a smoothed loss, epochs over working sets follow, of samples whose
margin is so close to 1 that it may still cross 1.

A subsample is misleading if it is separable and the data are not: then its steps do not converge soon,
or the objective over all samples exceeds the subsample's. The solver stops, and the plan continues.

**Source**: White (1982), Maximum likelihood estimation of misspecified models; Roosta-Khorasani &
Mahoney (2019), Sub-sampled Newton methods.
"""

import math

import numpy as np

from margins.data._passes import combination, products
from margins.linalg.threads import one_thread
from margins.losses._smoothed import SmoothLoss
from margins.solvers.newton._objective import Objective, mean_distance
from margins.solvers.newton.newton import NewtonSolver, assign_balanced
from margins.tuning import TUNING


class SubsampledNewtonSolver(NewtonSolver):
    """Newton epochs, of which the first use a subsample of `size` samples, and part of it before.

    first_size: number of samples of this part.
    max_free: number of free samples up to which a step over all samples uses all of their Hessian.
    """

    def __init__(self, size, first_size, max_free, in_blocks=False, epoch_reduction=0.0, tuning=TUNING):
        super().__init__(None, in_blocks, tuning=tuning.newton)
        self._size, self._first_size, self._max_free = size, first_size, max_free
        self._subsample, self._later_reduction = tuning.subsample, epoch_reduction
        self._whole = None  # the objective over all samples
        self._lack = math.inf  # its gap after the last epoch

    def start(self, run):
        self._sample = run.orders.sample(self._size)
        super().start(run)

    def epoch(self, run):
        if self._sample is None:
            return super().epoch(run)
        n_accesses = len(self._all)
        with one_thread():
            if self._whole is not None:
                self._whole.minimise(0.0, 0.0, 1)
            else:
                is_minimised, n_accesses = self._minimise_subsample(run)
                if not is_minimised:
                    return self._report(run, 0, n_accesses, check_gap=False)
            if self._whole is not None:
                return self._improve_dual(run, n_accesses)
        self._sample = self._hessian = None
        self._gap_share = self._subsample.gap_share
        report = super().epoch(run)
        self._gap_share, self._reduction = self._tuning.gap_share, self._later_reduction
        return report._replace(n_accesses=report.n_accesses + n_accesses)

    def _minimise_subsample(self, run):
        """Move to the optimum of the subsample; return whether it is of use, and the accesses."""
        tuning, m, w, n_accesses = self._subsample, len(self.data), self.w, 0
        last_gap = max(tuning.gap, self._tuning.gap_share * run.required_gap)
        if not self.loss.is_smooth:
            self.factor = tuning.first_factor
        steps = [max(self._size // self._first_size, 1)]
        while steps[-1] > 1:
            steps.append(max(steps[-1] // tuning.growth, 1))
        for step in steps:
            sample = self._sample[::step].copy()
            gap = last_gap if step == 1 else max(tuning.gap_of_part, last_gap)
            objective, loss = self._objective(sample, w, m / len(sample))
            n_accesses += (objective.minimise(gap, 0.0, tuning.max_steps) + 1) * len(sample)
            if objective.gap <= gap * objective.value:
                change = mean_distance(objective.margins, products(self.data, sample, w))
                self._band = tuning.band * change
                w, self.factor = objective.w, loss.factor * len(sample) / m
            elif step < max(steps[0], tuning.growth):  # only a first, small part may be too small
                return False, n_accesses
        if self.loss.is_smooth:
            self._whole = self._objective_of_all(w, objective.dual)
            value = self._whole.value + self._whole.gap
        else:
            self.w, self.margins = w, products(self.data, self._all, w)
            self.alpha, value = self._dual_variables(0.5 * self.upper), self._value(w, self.margins)
        limit = tuning.max_objective_ratio * (objective.value + objective.gap)
        return value <= limit, n_accesses + m

    def _objective_of_all(self, w, dual):
        """Return the objective over all samples, whose Hessian is of all if few of them are free."""
        sample, hessian = self._sample, self._hessian
        ratio = len(self.data) / len(sample)
        n_free = np.count_nonzero((dual > 0) & (dual < ratio * self.upper[sample]))
        if n_free * ratio <= self._max_free:
            sample, hessian = None, self._new_hessian()
        return self._objective(self._all, w, drawn=sample, hessian=hessian)[0]

    def _improve_dual(self, run, n_accesses):
        """Change the dual variables of the subsample if this may prove enough; return the report."""
        whole, sample, tuning = self._whole, self._sample, self._subsample
        self.alpha, total, lack, ratio = whole.dual, whole.combination, whole.gap, run.required_gap
        required = (whole.value + whole.gap) * ratio / (1 + ratio)
        if lack > required:
            lack = len(self._all) / len(sample) * whole.gain()
            if lack <= required:
                fixed = total - combination(self.data, sample, self.alpha[sample])
                block, _ = self._objective(sample, whole.w, fixed=fixed)
                before = block.value
                block.minimise(0.0, tuning.lack_share * required, tuning.max_block_steps)
                lack = whole.gap - block.value + before
                if block.value > before:
                    self.alpha[sample], total = block.dual, fixed + block.combination
        is_slow = not lack <= tuning.max_lack * self._lack
        if whole.is_exact or is_slow or lack <= required:  # else a pass for exact products waits
            self.w, self.margins = whole.w.copy(), self._margins_after(whole, self._all).copy()
        if is_slow:
            self._sample = self._whole = self._hessian = None
        self._lack = lack
        assign_balanced(run.weights, self.data, self.alpha, self.upper, total)
        return self._report(run, len(self._all), n_accesses, check_gap=lack <= required)

    def _objective(self, samples, w, weight=1.0, fixed=None, drawn=None, hessian=None):
        """Return the objective over some samples, each with this weight, and their losses."""
        is_smoothed, upper, curvature = not self.loss.is_smooth, self.upper, self.curvature
        if samples is not self._all:
            upper, curvature = weight * upper[samples], curvature[samples]
        # Centred between the bounds, because no dual variable is known.
        centre = 0.5 * upper if is_smoothed else None
        loss = SmoothLoss(centre, upper, curvature, weight * self.factor, is_smoothed)
        fixed = np.zeros(len(w)) if fixed is None else fixed
        hessian = hessian or self._hessian
        return Objective(self.data, samples, fixed, 0.0, w, None, loss, hessian, drawn), loss
