"""Training along C: fits over the same samples, each from where the one before has ended.

The problem: for penalties C_1 < C_2 < ... of the same samples with relative weights v_k,

    min |w|^2 / 2 + sum_k C_i v_k h(w.y_k)    for every i

What does not depend on C is computed once: rows, squared norms, labels, kernel rows, and the sums of
y_k y_k^T in the Hessians of Newton steps. A fit begins from the last one: Newton steps from its weight
vector, whose dual variables follow from it; the other solvers from its dual variables, multiplied with
their upper bounds or, where there are none, as they are. All of these are feasible for any C, so every
certificate is one of its own problem, wherever it began.
"""

import copy
import math

import numpy as np

from margins.data.binary_data import array_of_each, augmented_sqnorms, make_binary_data, rows_of
from margins.data.samples import Samples, sample_weights
from margins.estimators.names import Caller
from margins.kernels import LINEAR
from margins.losses import SquaredHinge
from margins.solvers.base import Problem
from margins.solvers.costs import Costs
from margins.solvers.driver import Run
from margins.solvers.newton._dense_hessian import DenseHessian
from margins.solvers.newton.newton import NewtonSolver, NewtonStart


class TrainingSet:
    """The samples of all fits along C, prepared once.

    Parameters
    ----------
    estimator : MarginClassifier
        With valid parameters, `classes_` and `kernel_`.
    samples : margins.data.samples.Samples
    rows : margins._sparse.Rows, optional
        Of the samples; None: those that the estimator reads.

    Attributes
    ----------
    estimator, samples, rows
        As given.
    features : margins._sparse.Rows or None
        X, where `rows` are those of its Gram matrix.
    sqnorms : ndarray of float64, shape (m,)
        |x_k|^2 + rho^2.
    moments : ndarray of float64, shape (n, n), or None
        The lower triangle of the sum of y_k y_k^T over all samples, from which Newton steps begin. It
        depends on no label and no penalty, so that classes share it, and folds: that of a training set
        is the sum over all samples less that over its test set.
    """

    def __init__(self, estimator, samples, rows=None, features=None, sqnorms=None):
        self.estimator, self.samples, self.moments = estimator, samples, None
        self.rows = estimator._rows(samples.X) if rows is None else rows
        is_gram = estimator.kernel_ == LINEAR and self.rows.is_kernel
        self.features = rows_of(samples.X) if is_gram and features is None else features
        if sqnorms is None:
            # A zero row is no error where there are slack terms, as for every finite C.
            sqnorms = augmented_sqnorms(self.rows.sqnorms(), estimator._sqrho, hard_margin=False)
        self.sqnorms = sqnorms

    @property
    def is_kernel(self):
        """True if the rows are those of a kernel other than the linear one."""
        return self.estimator.kernel_ != LINEAR

    @property
    def has_left_out(self):
        """True if samples of weight 0 are among the rows of a kernel: those that are not in a fold."""
        return self.is_kernel and bool(np.min(self.samples.weight) == 0)

    @property
    def has_moments(self):
        """True if Newton steps may begin from `moments`: few features, and a smooth loss of equal
        penalties, by the planner's choice."""
        if self.rows.is_kernel or isinstance(self.samples.weight, np.ndarray):
            return False
        if self.estimator.solver not in ("auto", "newton") or self.estimator.loss != "squared_hinge":
            return False
        costs = Costs(Problem(self._data(SquaredHinge(1.0)), SquaredHinge(1.0)))
        return costs.has_small_hessian and not costs.has_few_samples

    def sum_moments(self):
        """Compute the moments: ndarray of float64, shape (n, n)."""
        data = self._data(SquaredHinge(1.0))
        m = len(data)
        in_blocks = Costs(Problem(data, SquaredHinge(1.0))).adds_in_blocks
        hessian = DenseHessian(data, np.ones(m), in_blocks)
        hessian.py_update(np.arange(m, dtype=np.int32), np.ones(m, dtype=np.int8))
        return hessian.matrix

    def part(self, train, sample_weight):
        """The training set of a fold. It shares the rows of X, of its Gram matrix or of a kernel.

        Parameters
        ----------
        train : ndarray of int64, shape (n_train,)
        sample_weight : ndarray of float, shape (n_samples,), or None
            Of all samples.

        Returns
        -------
        TrainingSet
            With a kernel, one of all samples: those that are not in the fold have weight 0.
        classes : ndarray
            Of its samples.
        """
        whole = self.samples
        codes = whole.codes[train]
        present = np.flatnonzero(np.bincount(codes, minlength=len(self.estimator.classes_)))
        estimator = copy.copy(self.estimator)
        estimator.classes_ = self.estimator.classes_[present]
        if len(present) < len(self.estimator.classes_):
            codes = np.searchsorted(present, codes)
        given = None if sample_weight is None else sample_weight[train]
        caller = Caller(estimator, "fit")
        weight = sample_weights(caller, codes, codes, estimator.classes_, given, estimator.class_weight)
        kept = train
        if isinstance(weight, np.ndarray) and not weight.all():
            positive = np.flatnonzero(weight)
            kept, codes, weight = train[positive], codes[positive], weight[positive]
        _check_classes(caller, codes, estimator.classes_)
        n_samples = len(whole.codes)
        if self.is_kernel:
            all_codes, all_weights = np.full(n_samples, -1), np.zeros(n_samples)
            all_codes[kept] = codes
            np.add.at(all_weights, kept, weight)  # a sample that a fold repeats counts as often
            samples = Samples(whole.X, all_codes, all_weights, np.arange(n_samples), n_samples)
            return TrainingSet(estimator, samples, self.rows, None, self.sqnorms)
        samples = Samples(None, codes, weight, kept, n_samples)
        features = None if self.features is None else self.features.part(kept)
        return TrainingSet(estimator, samples, self.rows.part(kept), features, self.sqnorms[kept])

    def check_penalties(self, Cs):
        """Raise ValueError if a value of C, times the weight of a sample, is not allowed."""
        weight = self.samples.weight
        if isinstance(weight, np.ndarray):
            weight = weight[weight > 0]
        for C in (min(Cs), max(Cs)):
            estimator = copy.copy(self.estimator)
            estimator.C = float(C)
            estimator._penalties(weight)

    def train(self, code, seed, Cs, visit):
        """Train the binary problem of one class along C.

        Parameters
        ----------
        code : int
            Of the positive class.
        seed : int
        Cs : sequence of float
            Ascending.
        visit : callable
            ``visit(i, estimator, run)`` is called with every fit, before the next one begins.
        """
        positive, before = self.samples.codes == code, None
        for i, C in enumerate(Cs):
            estimator = copy.copy(self.estimator)
            estimator.C = float(C)
            run = self._run(estimator, positive, seed)
            run.train(self._phases(estimator, run, before))
            visit(i, estimator, run)
            if before is not None:
                before[1].release()
            before = estimator.C, run
        before[1].release()

    def _run(self, estimator, positive, seed):
        weight = self.samples.weight
        if self.is_kernel and isinstance(weight, np.ndarray):
            kept = np.flatnonzero(weight)
            penalties = np.zeros(len(weight))
            penalties[kept] = estimator._penalties(weight[kept])
        else:
            penalties = estimator._penalties(weight)
        loss = estimator._loss(penalties)
        options = estimator._options(self.rows)
        return Run(self._data(loss, positive), loss, seed, options, features=self.features)

    def _data(self, loss, positive=None):
        """The samples of one binary problem; None: of no class in particular."""
        if positive is None:
            positive = np.ones(len(self.samples.codes), dtype=bool)
        sqrho, is_free = self.estimator._sqrho, self.estimator._has_free_intercept
        return make_binary_data(self.rows, self.sqnorms, positive, sqrho, loss.diag, math.inf, is_free)

    def _phases(self, estimator, run, before):
        """The phases of a run, which begins from the one before: yields Phase."""
        start = None
        if before is None:
            start = self._newton_start(run)
            run.is_warm = start is not None
        elif isinstance(before[1].solver, NewtonSolver) and before[1].converged:
            start, run.is_warm = before[1].solver.end, True
        elif self._continues(run, before[1]):
            factor = estimator.C / before[0] if run.loss.has_upper_bounds else 1.0
            run.continue_from(before[1], factor)
        else:
            run.start_from(before[1].weights.dual)
        plan = estimator._plan(run.problem, run.is_warm, start)
        if not self.has_left_out:
            return plan.phases_of(run)
        # All other solvers of kernel problems access every sample.
        return plan.phases[0].phases(run)

    def _continues(self, run, before):
        """True if a run may begin from the sums of the one before, without a pass over samples.

        Linear rows with upper bounds begin from the dual variables themselves: multiplied, they are
        farther from the solution.
        """
        if before.hypothesis is not before.weights or self.features is not None:
            return False
        if not run.loss.has_upper_bounds:
            return True
        # Solvers by rules leave dual variables that are feasible only after rescaling.
        return self.is_kernel and bool(np.all(before.weights.dual <= before.loss.upper))

    def _newton_start(self, run):
        """Newton steps from w = 0, where every sample counts, with the sum that their Hessian begins
        with: NewtonStart; None without such a sum."""
        if self.moments is None:
            return None
        m, n = len(run.data), run.problem.n_weights
        curvature = array_of_each(1 / run.loss.diag, m)
        hessian = DenseHessian(run.data, curvature, Costs(run.problem).adds_in_blocks)
        hessian.begin(curvature[0] * self.moments)
        return NewtonStart(np.zeros(n), np.zeros(m), hessian, curvature, run.loss)


def _check_classes(caller, codes, classes):
    missing = np.flatnonzero(np.bincount(codes, minlength=len(classes)) == 0)
    if len(missing):
        raise ValueError(
            f"Every class of {caller} must have a sample of positive weight. Got none of class "
            f"{classes.tolist()[missing[0]]!r}."
        )
