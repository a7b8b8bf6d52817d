"""Hard margins, as limits of soft margins.

The problem: min |w|^2 / 2 subject to w.y_k >= 1, for samples that some hyperplane may separate.

An epoch solves the problem of the squared hinge loss with a finite C from the solution of the previous
epoch; C grows from epoch to epoch. Each weight vector is a candidate for the largest margin, and all
dual variables are feasible for the hard margin, so every certificate is about the hard margin itself.

If the classes are separable, the slacks alpha_k / (2 C) vanish, and the margin converges to the largest.
If not, |a| stays bounded while the sum S of the dual variables grows like C. Then |a| / S, the distance
of two points in the convex hulls of the classes, proves that no margin exceeds it.

**Source**: Cortes & Vapnik (1995), Support-vector networks; Keerthi, Shevade, Bhattacharyya & Murthy
(2000), A fast iterative nearest point algorithm for support vector machine classifier design, on hulls.
"""

import math

import numpy as np

from margins.data._passes import mean_of, products
from margins.data.binary_data import of_each
from margins.losses import SquaredHinge
from margins.solvers.base import EpochReport, Problem, Solver
from margins.solvers.driver import Run
from margins.solvers.proof import PrimalPoint
from margins.solvers.successive import start_from
from margins.tuning import TUNING


class HardMarginSolver(Solver):
    """A solver whose epochs solve squared hinge losses of growing C, as ``plan(problem, ...)`` says."""

    name = "continuation"

    def __init__(self, plan, tuning=TUNING.hard_margin):
        self._plan, self._tuning = plan, tuning
        self._last = self._best = None  # the runs of the last C, and of the C with the smallest gap
        self._least_gap = math.inf
        self.is_last = False  # True: no larger C is left

    def start(self, run):
        """Start with a C for which few samples are within the margin."""
        self._sqradius = radius_of(run.data) ** 2 or 1.0
        self._penalties = self._penalties_and_starts()

    def _penalties_and_starts(self):
        """Yield each C and the run to start from: first growing C, then some C near the best so far."""
        tuning = self._tuning
        ratio = tuning.first_ratio
        while ratio <= tuning.last_ratio:
            self.is_last = ratio * tuning.growth > tuning.last_ratio
            yield ratio / self._sqradius, self._last
            ratio *= tuning.growth
        factor = tuning.growth
        for _ in range(tuning.refinements if self._best is not None else 0):
            factor = math.sqrt(factor)
            for multiple in (factor, 1 / factor):
                yield multiple * self._best.specification.C, self._best

    def epoch(self, run):
        if self._last is not None and run.certificate.gap < self._least_gap:
            self._best, self._least_gap = self._last, run.certificate.gap
        penalty_and_start = next(self._penalties, None)
        if penalty_and_start is None:
            primal = self._give(run, self._best or self._last)
            return EpochReport(1, 0, is_exhausted=True, primal=primal)
        self._last = self._solve(run, *penalty_and_start)
        return EpochReport(1, self._last.n_accesses, primal=self._give(run, self._last))

    def release(self):
        self._last = self._best = None

    def _give(self, run, inner):
        """Give a run the model and dual variables of `inner`; return its PrimalPoint, if any."""
        run.weights = inner.weights.copy()
        if inner.dual_scale > 0:
            run.weights.rescale(inner.dual_scale)
        run.weights.recompute(run.data)
        hypothesis = inner.hypothesis
        primal = None
        if isinstance(hypothesis, PrimalPoint):
            primal = PrimalPoint(hypothesis.w, hypothesis.margins, hypothesis.rho, run.weights)
        if run.data.has_free_intercept:
            self._centre(run, inner, primal)
        return primal

    def _solve(self, run, C, previous):
        """Return the run for a C, which starts from the previous run if there is one."""
        loss = SquaredHinge(C)
        samples = run.data.with_limits(diag=of_each(loss.diag, len(run.data)))
        specification = run.specification._replace(
            C=C, eps=self._tuning.eps_share * run.eps, loss="squared_hinge", report=None
        )
        inner = Run(Problem(samples, loss), run.seed, specification)
        inner.limit_time(run.end_of_time)
        start = None if previous is None else start_from(inner, previous)
        plan = self._plan(inner.problem, specification, inner.is_warm, start)
        # Near the last solution the first solver succeeds, or rounding stops the other solvers, too.
        inner.train(plan.phases[0].phases(inner) if inner.is_warm else plan.phases_of(inner))
        return inner

    def _centre(self, run, inner, primal):
        """Change a free intercept so that both classes have the same smallest margin."""
        signs = run.data.signs
        if primal is None:
            run.set_threshold(inner.theta)
            products = run.weights.products(run.data) - inner.theta * signs
        else:
            products = primal.margins
        # If nothing separates the classes, outliers have the smallest margins.
        loss = run.loss if run.indefinite is None else inner.loss
        change = loss.best_intercept(signs * products, signs)
        if primal is None or run.data.sq_intercept_scaling == 0:
            run.set_threshold(run.theta - change)
        else:
            primal.w = np.append(primal.w[:-1], primal.w[-1] + change / primal.rho)
            primal.margins = primal.margins + change * signs


def inseparability(run, tuning=TUNING.hard_margin):
    """Return why no hyperplane separates the classes of a hard-margin run; None if one may."""
    bound, radius = geometric_bound(run), radius_of(run.data)
    is_over = run.certificate.margin <= 0 and run.solver.is_last
    if not bound <= (tuning.separable_at_end if is_over else tuning.separable) * radius:
        return None
    return (
        f"no hyperplane separates the classes by a margin of more than {bound:.3g}, "
        f"{bound / radius:.2g} of the largest distance of a sample from the {_centre(run.data)}"
    )


def geometric_bound(run):
    """Return an upper bound on the distance of the closest sample from any separating hyperplane.

    If the intercept b is penalised, |w|^2 + b^2 / rho^2 is bounded; a separating hyperplane crosses the
    ball of the samples, so |b| <= R |w|.
    """
    data, bound = run.data, run.certificate.upper_bound
    if data.has_free_intercept or data.sq_intercept_scaling == 0:
        return bound
    return bound * math.sqrt(float(data.ordinary_sqnorms.max()) / data.sq_intercept_scaling)


def radius_of(data):
    """Return the largest distance of a sample from the `_centre` of the samples."""
    sqnorms, centre = data.ordinary_sqnorms - data.sq_intercept_scaling, _centre(data)
    if centre == "origin":
        return math.sqrt(float(data.ordinary_sqnorms.max()))
    if centre == "mean":
        mean, samples = mean_of(data), np.arange(len(data), dtype=np.int32)
        of_centre = data.signs * products(data, samples, np.append(mean, 0.0))
        sqnorm = mean @ mean
    else:
        of_centre, sqnorm = mean_of(data, len(data)), sqnorms[0]
    return math.sqrt(max(float((sqnorms - 2 * of_centre).max() + sqnorm), 0.0))


def _centre(data):
    """Return the point from which distances are measured; moving all samples changes no margin."""
    if not data.has_free_intercept:
        return "origin"
    return "first sample" if data.rows.is_kernel else "mean"
