"""Training along C: fits on the same samples, each of which starts where the previous fit ended.

The problem: for penalties C_1 < C_2 < ... of the same samples with relative weights v_k,

    min |w|^2 / 2 + sum_k C_i v_k h(w.y_k)    for every i

Everything that does not depend on C is computed once: rows, squared norms, labels, kernel rows, and the
sums of y_k y_k^T in Hessians. Newton steps start from the previous weight vector, other solvers from the
previous dual variables, scaled like their upper bounds. Both are feasible for any C, so the certificate
of a fit is valid regardless of the start.
"""

import numpy as np

from margins.data.binary_data import array_of_each
from margins.data.permutations import seeds_of
from margins.linalg.threads import run_tasks
from margins.losses import SquaredHinge
from margins.solvers.auto import Costs, starts_from_moments
from margins.solvers.driver import Run
from margins.solvers.newton._dense_hessian import DenseHessian
from margins.solvers.newton.newton import NewtonStart
from margins.solvers.successive import start_from
from margins.training.fit import outcome_without_samples


class AlongC:
    """Fits of one training set along C.

    specification: each value of C replaces its C.
    plan: ``plan(problem, specification, is_warm, start)`` returns the plan of a run.
    moments, shape (n, n): lower triangle of the sum of y_k y_k^T over all samples, from which Newton
        steps start. It does not depend on labels or penalties, so classes share it. Folds share it, too:
        the moments of a training set are the moments of all samples minus the moments of its test set.
    """

    def __init__(self, training_set, specification, plan, moments=None):
        self.training_set, self.specification, self.moments = training_set, specification, moments
        self._plan = plan

    def check_penalties(self, Cs):
        """Raise a ValueError if a value of C times a sample weight is not allowed."""
        for C in (min(Cs), max(Cs)):
            self.training_set.penalties(self.specification._replace(C=float(C)))

    def train(self, index, seed, Cs, visit, same_rows=False):
        """Train a binary problem along C."""
        scheme = self.training_set.scheme
        outcome = outcome_without_samples(self.training_set, index, self.specification)
        if outcome is not None:
            for i in range(len(Cs)):
                visit(i, outcome)
            return
        of_problem, positive = scheme.binary(self.training_set, index, same_rows)
        previous = None
        for i, C in enumerate(Cs):
            try:
                specification = self.specification._replace(C=float(C))
                problem = of_problem.problem(positive, specification)
                run = Run(problem, seed, specification, features=of_problem.features)
                visit(i, run.train(self._phases(run, previous, of_problem.has_left_out)))
            except Exception as error:
                name = scheme.name(self.training_set.classes.tolist(), index)
                error.add_note(f"This happened with C={C:g}{', ' if name else ''}{name}.")
                raise
            previous = run

    def train_all(self, random_state, Cs, keep, n_jobs=None):
        """Train the binary problems of all classes along C."""

        def train(index, seed):
            results = []
            self.train(index, seed, Cs, lambda i, outcome: results.append(keep(index, outcome)))
            return results

        n_problems, in_turn = self.training_set.scheme.n_problems, self.training_set.is_kernel
        seeds = seeds_of(random_state, n_problems)
        return list(zip(*run_tasks(train, seeds, n_jobs, in_turn), strict=True))

    def _phases(self, run, previous, has_left_out):
        """Return the phases of a run that starts from the previous run (iterator of Phase)."""
        if previous is None:
            start = self._newton_start(run)
            run.is_warm = start is not None
        else:
            start = start_from(run, previous)
        plan = self._plan(run.problem, run.specification, run.is_warm, start)
        if not has_left_out:
            return plan.phases_of(run)
        # Run only the first phase: the other solvers of kernel problems access every sample.
        return plan.phases[0].phases(run)

    def _newton_start(self, run):
        """Return Newton steps from w = 0, where every sample counts, so the Hessian has the moments."""
        if self.moments is None:
            return None
        m, n = len(run.data), run.problem.n_weights
        curvature = array_of_each(1 / run.loss.diag, m)
        hessian = DenseHessian(run.data, curvature, Costs(run.problem).adds_in_blocks)
        hessian.begin(curvature[0] * self.moments)
        return NewtonStart(np.zeros(n), np.zeros(m), hessian, curvature, run.loss)


def paths_of(training_set, specification, planner, Cs):
    """Return the fits of a training set along C, with moments if several classes share them (AlongC)."""
    moments, has_several = None, training_set.scheme.n_problems > 1
    if has_several and shares_moments(training_set, specification, planner.solver):
        moments = moments_of(training_set, specification)
    paths = AlongC(training_set, specification, planner.plan, moments)
    paths.check_penalties(Cs)
    return paths


def shares_moments(training_set, specification, solver):
    """Return whether Newton steps may start from moments: equal penalties, smooth loss, few features."""
    if training_set.scheme.has_pairs or training_set.rows.is_kernel or specification.regulariser:
        return False
    if isinstance(training_set.samples.weight, np.ndarray) or specification.loss != "squared_hinge":
        return False
    problem = training_set.problem(None, specification, SquaredHinge(1.0))
    return starts_from_moments(problem, solver)


def moments_of(training_set, specification):
    """Return the sum of y_k y_k^T over all samples (ndarray of float64, shape (n, n))."""
    problem = training_set.problem(None, specification, SquaredHinge(1.0))
    m = problem.n_samples
    hessian = DenseHessian(problem.data, np.ones(m), Costs(problem).adds_in_blocks)
    hessian.py_update(np.arange(m, dtype=np.int32), np.ones(m, dtype=np.int8))
    return hessian.matrix
