"""An interior-point method over the whole kernel matrix, in double precision.

The problem: the dual of a kernel classifier, as in `decomposition`, with at most a few thousand samples,

    min alpha.H alpha / 2 - sum_k alpha_k,   0 <= alpha_k <= U_k,   and, if the intercept is free,
    sum_k alpha_k l_k = 0,

where H_jk = l_j l_k (K(x_j, x_k) + rho^2), plus D_k on the diagonal. With multipliers z, t >= 0 of the
bounds and b of the constraint, a solution satisfies, with mu = 0,

    H alpha - 1 + b l - z + t = 0,   z_k alpha_k = mu,   t_k (U_k - alpha_k) = mu

Newton steps reduce mu while all variables stay inside their bounds; each factors H + diag(z / alpha +
t / (U - alpha)). Ten to forty steps are usually enough, for any condition number of H; decomposition,
which follows the gradient, may need a million. Before the certificate, variables that approach a bound
are moved onto it, so that few samples are support vectors.

**Source**: Mehrotra (1992), On the implementation of a primal-dual interior point method; Fine &
Scheinberg (2001), Efficient SVM training using low-rank kernel representations.
"""

import math
from typing import NamedTuple

import numpy as np

from margins.data.binary_data import array_of_each
from margins.linalg.threads import one_thread
from margins.solvers.balance import balanced
from margins.solvers.base import EpochReport, Solver
from margins.solvers.decomposition.decomposition import relative_gap
from margins.tuning import TUNING

# A step goes this share of the way to the nearest bound.
STEP = 0.995
# A variable is moved onto a bound if its multiplier, divided by the variable's contribution to its own
# gradient, exceeds a ratio: the smallest of these for which the gap is still proven.
RATIOS = (1.0, 1e2, 1e4, 1e6, math.inf)
# Variables are moved onto bounds once the products with multipliers sum to at most NEAR required gaps.
NEAR = 10
# RIDGE * n is added to a diagonal of n ones, so that rounding does not prevent the factorisation.
RIDGE = 1e-15
LARGEST = 1e100  # largest value of a variable: beyond this, a hard margin has no solution
REFINEMENTS = 2  # refinements of the solution of a linear system, whose residuals are exact


class DualPoint(NamedTuple):
    """Feasible dual variables, and values that follow from them."""

    alpha: np.ndarray
    products: np.ndarray  # sum_j alpha_j l_j K(x_j, x_k) for all samples k
    intercept: float
    dual: float  # the dual value
    gap: float  # relative duality gap


class InteriorPointSolver(Solver):
    """A solver whose full epochs are Newton steps, from the middle of the feasible region."""

    name = "interior-point"
    moves_together = sums_are_fresh = True

    def __init__(self, tuning=TUNING.interior_point):
        self._tuning = tuning

    @classmethod
    def why_not(cls, problem):
        if not problem.is_kernel or problem.data.rows.blocks is None:
            return "it factors a kernel matrix, and linear data have none"
        limit = TUNING.interior_point.max_samples
        if problem.n_samples > limit:
            return f"it factors the kernel matrix of at most {limit} samples"
        return None

    def start(self, run):
        """Start in the middle; the dual variables of the run stay until better ones are found."""
        run.rescale_to_feasible()
        self._data, self._loss, m = run.data, run.loss, len(run.data)
        self._signs = self._data.signs
        self._upper, self._diag = array_of_each(self._loss.upper, m), array_of_each(self._loss.diag, m)
        self._included = np.flatnonzero(self._upper > 0)  # other samples are a test set
        self._K = self._data.rows.blocks.matrix
        self._steps = self._steps_of_problem()
        # The best dual variables so far, and the ratio with which they were moved onto bounds. The ratio
        # is the smallest one if no further steps are needed to reduce the support vectors.
        self._best = self._point(np.minimum(run.weights.dual, self._upper)[self._included])
        self._ratio = RATIOS[0] if self._best.gap <= run.required_gap else math.inf
        self._least_gap = math.inf
        self._n_steps = self._n_stalled = self._n_proven = 0

    def _steps_of_problem(self):
        """Return the steps for the included samples."""
        included, is_free = self._included, self._data.has_free_intercept
        K, signs = self._K[np.ix_(included, included)], self._signs[included].astype(np.float64)
        if is_free:
            # As sum_k alpha_k l_k = 0, rows may be measured from their mean: fewer digits cancel.
            means = K.mean(axis=0)
            K -= means
            K -= means[:, None] - means.mean()
        else:
            K += self._data.sq_intercept_scaling
        K *= signs
        K *= signs[:, None]
        K[np.diag_indices_from(K)] += self._diag[included]
        return InteriorSteps(K, self._upper[included], signs if is_free else None)

    def epoch(self, run):
        steps, required, mu = self._steps, run.required_gap, self._steps.mu
        with one_thread():
            is_solved = steps.step()
        gap = self._update_best(required)
        reduction = self._tuning.slow_reduction
        # The products with multipliers sum up to the gap, up to rounding.
        is_slow = not gap < reduction * self._least_gap and not (
            required * self._best.dual / len(self._upper) < steps.mu < reduction * mu
        )
        self._n_stalled = self._n_stalled + 1 if is_slow else 0
        self._least_gap = min(gap, self._least_gap)
        is_proven = self._best.gap <= required
        self._n_proven += is_proven
        self._n_steps += 1
        is_stalled = self._n_stalled >= self._tuning.patience
        is_exhausted = not is_solved or is_stalled or self._n_steps == self._tuning.max_steps
        has_few = self._ratio == RATIOS[0] or self._n_proven > self._tuning.proven_steps
        is_over = is_exhausted or (is_proven and has_few)
        if is_over:
            self._give(run)
        return EpochReport(
            n_changed=len(self._included),
            n_accesses=len(self._upper),
            check_gap=is_over,
            is_exhausted=is_exhausted,
            dual_is_feasible=True,
        )

    def _update_best(self, required):
        """Compare the iterate, with fewer and fewer variables at bounds, with the best so far."""
        gap = math.inf
        is_near = self._steps.complementarity <= NEAR * required * self._best.dual
        for ratio in RATIOS if is_near else RATIOS[-1:]:
            if self._best.gap <= required and ratio >= self._ratio:
                break  # no further reduction of support vectors
            point = self._point(self._steps.at_bounds(ratio))
            gap = min(gap, point.gap)
            if point.gap < self._best.gap or point.gap <= required:
                self._best, self._ratio = point, ratio
        return gap

    def _point(self, variables):
        """Return the DualPoint of feasible dual variables near these, for the included samples."""
        data, loss = self._data, self._loss
        alpha = np.zeros(len(self._upper))
        alpha[self._included] = variables
        if data.has_free_intercept:
            alpha = balanced(alpha, self._upper, self._signs)
        coefficients = self._signs * alpha
        with one_thread():
            products = self._K @ coefficients
        label_sum = math.fsum(coefficients)
        penalty = 0.0 if data.has_free_intercept else data.sq_intercept_scaling * label_sum**2
        sqnorm = max(float(coefficients @ products) + penalty, 0.0)
        total, square = float(alpha.sum()), float(alpha @ (self._diag * alpha))
        scale = min(1.0, total / (sqnorm + square)) if sqnorm + square > 0 else 1.0
        alpha, products = scale * alpha, scale * products
        if data.has_free_intercept:
            intercept = loss.best_intercept(products, self._signs)
        else:
            intercept = data.sq_intercept_scaling * scale * label_sum
        margins = self._signs * (products + intercept)
        dual = scale * total - 0.5 * scale**2 * sqnorm - 0.5 * scale**2 * square
        gap = relative_gap(loss, margins, scale**2 * sqnorm, dual)
        return DualPoint(alpha, products, intercept, dual, gap)

    def _give(self, run):
        """Give the run the best dual variables."""
        alpha, products, intercept, *_ = self._best
        last = math.sqrt(self._data.sq_intercept_scaling) * math.fsum(self._signs * alpha)
        run.weights.assign(self._data, alpha, np.append(products, last))
        if self._data.has_free_intercept:
            run.set_threshold(-intercept)

    def release(self):
        self._K = self._steps = self._best = None

    def make_exact(self, run):
        self._give(run)


class InteriorSteps:
    """Primal-dual steps for a quadratic problem with bounds and at most one equation.

    Minimise x.H x / 2 - sum_k x_k, 0 <= x_k <= U_k, l.x = 0. Variables are scaled so that the diagonal
    of H is 1.

    H, shape (n, n): positive semidefinite; overwritten.
    upper, shape (n,): inf: no upper bound.
    signs, shape (n,): l; None: no equation.
    complementarity: sum of the products of multipliers and the distances of their variables from the
        bounds: the duality gap, once the gradient's equation holds.
    mu: its mean.
    """

    def __init__(self, H, upper, signs):
        diagonal = H.diagonal().copy()
        self._scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))  # from H's variables to these
        H /= self._scale
        H /= self._scale[:, None]
        self._H, self._gain = H, 1 / self._scale
        self._upper = upper * self._scale
        self._is_bounded = np.isfinite(upper)
        self._normal = None if signs is None else signs / self._scale
        self._x = np.minimum(self._gain, 0.5 * self._upper)
        self._slack = np.where(self._is_bounded, self._upper - self._x, 1.0)  # slack of the upper bounds
        self._lower_multiplier = self._gain.copy()
        self._upper_multiplier = np.where(self._is_bounded, self._gain, 0.0)
        self._intercept = 0.0
        self._n_bounds = len(upper) + np.count_nonzero(self._is_bounded)

    @property
    def mu(self):
        return self.complementarity / self._n_bounds

    @property
    def complementarity(self):
        return _complementarity(self._x, self._slack, self._lower_multiplier, self._upper_multiplier)

    def step(self):
        """Take one predictor and corrector step, and return False if that is impossible."""
        x, slack, z, t = self._x, self._slack, self._lower_multiplier, self._upper_multiplier
        mu = self.mu
        if not mu > 0:  # it has underflowed
            return False
        gradient = self._H @ x - self._gain - z + t
        if self._normal is not None:
            gradient += self._intercept * self._normal
        try:
            with np.errstate(over="raise"):
                system = _NewtonSystem(self._H, z / x + t / slack, self._normal)
        except (np.linalg.LinAlgError, FloatingPointError):  # also of SciPy
            return False

        def direction(lower_change, upper_change):
            """Return the changes of all variables that change the products with multipliers by these."""
            right_side = -gradient + lower_change / x - upper_change / slack
            dx, db = system.solve(right_side, 0.0 if self._normal is None else -self._normal @ x)
            return dx, db, (lower_change - z * dx) / x, (upper_change + t * dx) / slack

        def step_lengths(dx, lower, upper):
            """Return how far the variables and the multipliers may go along a direction."""
            bounded = slack[self._is_bounded], -dx[self._is_bounded]
            return (
                min(_step_length(x, dx), _step_length(*bounded)),
                min(_step_length(z, lower), _step_length(t, upper)),
            )

        dx, _, lower, upper = direction(-x * z, -slack * t)
        primal, dual = step_lengths(dx, lower, upper)
        variables_after = x + primal * dx, slack - primal * dx, z + dual * lower, t + dual * upper
        target = mu * (_complementarity(*variables_after) / (self._n_bounds * mu)) ** 3
        dx, db, lower, upper = direction(
            target - x * z - dx * lower, (target - slack * t + dx * upper) * self._is_bounded
        )
        step = STEP * min(step_lengths(dx, lower, upper))
        if not (math.isfinite(step) and np.abs(x + step * dx).max() < LARGEST):
            return False
        x += step * dx
        z += step * lower
        t += step * upper
        self._intercept += step * db
        slack[self._is_bounded] -= step * dx[self._is_bounded]
        return True

    def at_bounds(self, ratio):
        """Return the variables; those whose multiplier exceeds `ratio` times its distance at a bound."""
        x = np.where(self._lower_multiplier > ratio * self._x, 0.0, self._x)
        x = np.where(self._upper_multiplier > ratio * self._slack, self._upper, x)
        return x / self._scale


class _NewtonSystem:
    """The linear equations of a step: H + diag(extra), bordered by the normal of the equation."""

    def __init__(self, H, extra, normal):
        from scipy.linalg import cho_factor

        self._H, self._extra, self._normal = H, extra, normal
        self._scale = np.sqrt(H.diagonal() + extra)
        matrix = H / self._scale
        matrix /= self._scale[:, None]
        matrix[np.diag_indices_from(matrix)] = 1 + RIDGE * len(H)
        self._factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        if normal is not None:
            self._of_normal = self._divide(normal)

    def _divide(self, right):
        solution = self._divide_roughly(right)
        for _ in range(REFINEMENTS):
            solution += self._divide_roughly(right - self._H @ solution - self._extra * solution)
        return solution

    def _divide_roughly(self, right):
        from scipy.linalg import cho_solve

        return cho_solve(self._factor, right / self._scale, check_finite=False) / self._scale

    def solve(self, right, constraint):
        """Return the changes dx of the variables and the change of the equation's multiplier."""
        dx = self._divide(right)
        if self._normal is None:
            return dx, 0.0
        db = (self._normal @ dx - constraint) / (self._normal @ self._of_normal)
        return dx - db * self._of_normal, db


def _complementarity(x, slack, lower, upper):
    return float(x @ lower) + float(slack @ upper)


def _step_length(values, changes):
    """Return the largest multiple of the changes, at most 1, that leaves all values at least 0."""
    falls = changes < 0
    return float(np.min(-values[falls] / changes[falls], initial=1.0))
