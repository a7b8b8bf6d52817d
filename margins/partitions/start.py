"""The starting point of a binary problem: the optimum over a subsample, or zero.

A hundred samples per feature, each with the penalties of all samples that it represents, have an optimum
close to the optimum over all samples. It is computed in memory, and saves the first passes.

**Source**: White (1982), Maximum likelihood estimation of misspecified models.
"""

import math
from typing import NamedTuple

import numpy as np

from margins.data.binary_data import array_of_each, stack_rows
from margins.linalg.threads import one_thread
from margins.losses import loss_of
from margins.losses._smoothed import SmoothLoss, smoothing_curvature
from margins.partitions.samples import codes_among
from margins.solvers.newton._dense_hessian import DenseHessian
from margins.solvers.newton._objective import Objective
from margins.solvers.proof import spread_of
from margins.solvers.specification import Specification
from margins.training.training_set import binary_problem
from margins.tuning import TUNING


class Start(NamedTuple):
    """The first weight vector."""

    w: np.ndarray  # float64, shape (n,)
    factor: float  # multiple of the curvature of a smoothed loss
    max_primal: float = math.inf  # if the objective over all samples exceeds it, it was misleading
    spread: float = 0.0  # of the subsample around its mean; 0: not known


def start_at_zero(n_weights, loss):
    """Return the Start at w = 0."""
    return Start(np.zeros(n_weights), first_factor_of(loss))


def first_factor_of(loss):
    """Return the first multiple of the curvature; 1 for a loss that is itself smooth."""
    return 1.0 if loss.is_smooth else TUNING.subsample.first_factor


class StackedSubsample(NamedTuple):
    """The subsamples of all partitions."""

    X: object  # ndarray or CSR matrix
    codes: np.ndarray  # int: indices of classes
    weight: np.ndarray  # float64: total weight of the samples that each one represents
    folds: np.ndarray | None  # int, or None without folds

    def of(self, problem):
        """Return the samples of a problem and their penalties: (X, codes, C)."""
        if problem.fold is None:
            return self.X, self.codes, problem.C * self.weight
        chosen = np.flatnonzero(self.folds != problem.fold)
        return self.X[chosen], self.codes[chosen], problem.C * self.weight[chosen]


def stack(subsamples, classes, class_weights):
    """Stack the subsamples of all partitions."""
    matrices = [subsample.X for subsample in subsamples]
    X = stack_rows(*matrices)
    codes = np.concatenate([codes_among(classes, subsample.labels) for subsample in subsamples])
    weight = np.concatenate([subsample.weight for subsample in subsamples])
    if class_weights is not None:
        weight = weight * class_weights[codes]
    weighted, folds = np.flatnonzero(weight), None
    if subsamples[0].folds is not None:
        folds = np.concatenate([subsample.folds for subsample in subsamples])[weighted]
    return StackedSubsample(X[weighted], codes[weighted], weight[weighted], folds)


def start_of(subsample, problem, setting, required_gap):
    """Return the Start at the optimum over the subsample, or at zero if it takes many steps."""
    X, codes, C = subsample.of(problem)
    tuning, m = TUNING.subsample, len(codes)
    loss = loss_of(setting.loss, C)
    scaling, is_free = setting.sq_intercept_scaling, setting.has_free_intercept
    specification = Specification(C=1.0, sq_intercept_scaling=scaling, has_free_intercept=is_free)
    data = binary_problem(X, codes == problem.positive, specification, loss).data
    sqnorms = data.ordinary_sqnorms
    upper = array_of_each(loss.upper, m)
    is_smoothed = not loss.is_smooth
    curvature = smoothing_curvature(upper, sqnorms) if is_smoothed else array_of_each(1 / loss.diag, m)
    centre = 0.5 * upper if is_smoothed else np.zeros(m)
    factor = first_factor_of(loss)
    gap = max(tuning.gap, TUNING.newton.gap_share * required_gap)
    with one_thread():
        losses = SmoothLoss(centre, upper, curvature, factor, is_smoothed)
        zero, all_samples = np.zeros(setting.n_weights), np.arange(m, dtype=np.int32)
        hessian = DenseHessian(data, curvature, setting.in_blocks)
        objective = Objective(data, all_samples, zero, 0.0, zero, np.zeros(m), losses, hessian)
        objective.minimise(gap, 0.0, TUNING.partitions.subsample_steps)
    if not objective.gap <= gap * objective.value:
        return start_at_zero(setting.n_weights, loss)._replace(spread=spread_of(data))
    limit = tuning.max_objective_ratio * (objective.value + objective.gap)
    return Start(objective.w, losses.factor, limit, spread_of(data))
