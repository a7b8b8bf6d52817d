"""Decomposition: solves the subproblem of one working set of samples after another.

The problem: the dual of a kernel classifier, whose Hessian, the kernel matrix, has m^2 elements:

    max sum_k alpha_k - |a|^2 / 2 - sum_k D_k alpha_k^2 / 2,   0 <= alpha_k <= U_k,

with |a|^2 = sum_jk alpha_j alpha_k l_j l_k (K(x_j, x_k) + rho^2). The intercept, rho^2 sum_k alpha_k
l_k, is penalised. `free_intercept` has the solver for a free intercept.

A working set has some hundred samples: half of the last one, and the samples whose dual variables
violate their optimality conditions most. Its rows of the kernel matrix are computed together in single
precision and cached. Its subproblem is solved in the processor's cache (`_subproblem`), and one pass
over its rows updates the products with all samples. For few samples one loop moves pairs of all samples
(`_whole`).

When these products indicate the required gap, the products of the support vectors, and of every sample
that rounding may have kept from counting, are computed again in double precision. The others get a lower
bound. If the certificate does not prove enough, the solver continues from these products.

**Source**: Joachims (1999), Making large-scale SVM learning practical; Wen, Shi, Li, He & Chen (2018),
ThunderSVM, on batches of working sets.
"""

import math
from typing import NamedTuple

import numpy as np

from margins.data.binary_data import array_of_each
from margins.linalg.threads import current_team, time_is_over
from margins.solvers.base import EpochReport, Solver
from margins.solvers.decomposition._subproblem import (
    add_rows,
    gradient_of,
    minimise,
    sub_gram,
    violations_of,
)
from margins.solvers.decomposition._whole import minimise_whole
from margins.solvers.decomposition.single import (
    MAX_SINGLE,
    as_single,
    is_in_range,
    unit_of,
    what_is_large,
)
from margins.solvers.proof import bounds_of
from margins.tuning import TUNING

# A sum in double precision takes as long as this number of rows for each support vector.
ROWS_OF_SUM = 1.5
PRODUCTS_OF_CHUNK = 100_000  # of pairs with all samples, between two looks at the time
# Products beyond the margin by this do not count, unless a small multiple is certified.
CLEARANCE = 0.1
# Columns of a subproblem beyond its samples, so that its rows do not compete for the same cache lines.
PADDING = 16
# Threads share products in multiples of PART: updating fewer is faster than waking a thread.
PART = 4096


class Iterate(NamedTuple):
    """An intercept, and the results of `gradient_of` at it for the current products."""

    intercept: float
    margins: np.ndarray
    gradient: np.ndarray
    sums: tuple[float, float, float]
    ends: tuple[float, float]


class DecompositionSolver(Solver):
    """A solver whose full epochs are subproblems that together access m samples.

    densely: True: rows of sparse data are made dense to compute kernel values.
    max_work: elements of rows to access; another solver would then have cost no more.
    """

    name = "decomposition"
    moves_together = True
    _is_free = False  # True: the intercept is free
    _gram = None  # inner products of linear data, for which other solvers may take over

    def __init__(self, densely=False, max_work=math.inf, tuning=TUNING.decomposition):
        self._densely, self._max_work, self._tuning = densely, max_work, tuning
        self._work = 0

    @classmethod
    def why_not(cls, problem):
        if not problem.is_kernel or problem.data.rows.blocks is None:
            return "alone, it computes rows of a kernel matrix, and linear data have none"
        if not is_in_range(problem, problem.data.rows.blocks.max_sqnorm):
            return f"numbers are outside the range of single precision: {what_is_large(problem)}"
        return None

    def start(self, run):
        """Start from the dual variables of the run."""
        run.rescale_to_feasible()
        data, self._loss = run.data, run.loss
        m, loss = len(data), run.loss
        if data.rows.is_kernel:
            self._blocks = data.rows.blocks.make(
                self._densely, self._tuning.whole, self._tuning.shared_whole
            )
        else:  # the planner's strategy `whole`
            self._blocks = self._gram = run.problem.gram
        self._signs = data.signs.astype(np.float64)
        self._sq_intercept_scaling = 0.0 if self._is_free else data.sq_intercept_scaling
        self._unit = unit_of(run.problem)
        self._upper, self._diag = array_of_each(loss.upper, m), array_of_each(loss.diag, m)
        if run.indefinite is not None and loss.is_smooth:
            # This dual has no maximum. Bounding the slack by 1 gives it one, as for a robust loss.
            self._upper = np.minimum(self._upper, 1 / self._diag)
        # For a zero row without a diagonal term the violation is a slope, for any divisor.
        self._diagonal = np.maximum(data.ordinary_sqnorms + self._diag, 1 / MAX_SINGLE)
        self._alpha = np.minimum(run.weights.dual, self._upper)
        # sum_j alpha_j l_j K(x_j, x_k) for all samples k, and sum_j alpha_j l_j.
        self._label_sum = run.weights.label_sum
        if run.weights.dual_sum == 0:
            self._v = np.zeros(m)
        elif data.rows.is_kernel:
            self._v = np.array(run.weights.weights)
        else:
            from_intercept = data.sq_intercept_scaling * self._label_sum
            self._v = data.signs * run.weights.products(data) - from_intercept
        self._sqnorms = np.zeros(m)
        self._K_of_all = self._blocks.rows_of_all(self._tuning.whole)  # None: there are many samples
        if self._K_of_all is None:
            self._start_sets()
        elif self._unit != 1:
            self._K_of_all = self._K_of_all * np.float32(1 / self._unit)
        # The total movement of the dual variables, and its sum weighted by squared norms; their values
        # when each product was last exact. Variables of a warm start count, because it is unknown how
        # their products were summed.
        self._moved, self._moved_before = np.zeros((2, 1)), np.zeros((2, m))
        self._count_moves(self._alpha, slice(None))
        self._least_gap, self._n_stalled = math.inf, 0
        self.sums_are_fresh = False

    def _start_sets(self):
        """Start with an empty working set."""
        m, self._sqnorms = len(self._alpha), self._blocks.sqnorms
        self._size = min(m, self._tuning.working_set, max(2, len(self._blocks.slots)))
        self._working_set = self._kept_positions = np.empty(0, np.int32)
        self._max_new_rows = self._tuning.new_rows
        if self._blocks.n_computed == 0:  # no other class has computed rows
            self._max_new_rows = max(self._max_new_rows, int(self._tuning.new_share * m))
        self._Q, self._last_Q = np.empty((2, self._size, self._size + PADDING), np.float32)

    def epoch(self, run):
        required = run.required_gap
        steps = self._steps_of_sets if self._K_of_all is None else self._steps_of_all
        n_changed, n_accesses, is_proven, is_stationary = steps(required)
        is_exhausted = self._work > self._max_work
        self.sums_are_fresh, intercept = False, None
        if is_proven or is_stationary:
            counts = self._sum_what_counts()
            n_accesses += len(self._alpha)
            state = self._state()
            gap, intercept = self._gap(state), state.intercept
            is_exhausted = is_exhausted or self._is_stalled(gap)
            self.sums_are_fresh = gap <= required or is_exhausted
        self._give(run, self._v, intercept)
        if self.sums_are_fresh and not counts.all():
            self._give(run, self._proven_sums(counts))
            if not self._has_clearance(run):
                self._sum_all(run)
        is_cut = self._K_of_all is None and not is_proven and self._is_late()
        ending = dict(check_gap=self.sums_are_fresh, is_exhausted=is_exhausted, is_cut=is_cut)
        return EpochReport(max(n_changed, 1), n_accesses, **ending, dual_is_feasible=True)

    def _steps_of_sets(self, required):
        """Solve subproblems that access m samples: (changed, accesses, is proven, is stationary)."""
        n_accesses, n_changed, is_proven, is_stationary = 0, 0, False, False
        while n_accesses < len(self._alpha) and not (
            is_proven or is_stationary or self._work > self._max_work or self._is_late()
        ):
            state = self._state()
            is_proven = self._gap(state) <= self._tuning.gap_share * required
            if not is_proven:
                working_set = self._next_working_set(state)
                n_pairs = self._solve(working_set, state.margins) if len(working_set) else 0
                is_stationary = n_pairs == 0
                n_changed += n_pairs
                n_accesses += len(working_set)
                self._work += self._tuning.overhead + len(working_set) * (n_pairs + len(self._alpha))
        return n_changed, n_accesses, is_proven, is_stationary

    def _is_late(self):
        """Return True if the next working set and the last sums would end after the time limit."""
        n_rows = self._size + ROWS_OF_SUM * np.count_nonzero(self._alpha)
        return time_is_over(n_rows * self._blocks.seconds_of_row)

    def _is_too_slow(self, gaps, target, rounds):
        """Return whether the last two rounds predict that those left are far from enough."""
        if len(gaps) < 3 or not 0 < target < gaps[-1] < math.inf:
            return False
        rate = 0.5 * math.log(gaps[-3] / gaps[-1])
        return math.log(gaps[-1] / target) > self._tuning.too_slow * rate * rounds

    def _steps_of_all(self, required):
        """Move pairs of all samples until the required gap is reached; return the same."""
        m, target = len(self._alpha), self._tuning.gap_share * required
        unit, diag = self._unit, self._diag / self._unit
        b = unit * self._signs * self._alpha
        u = self._v + diag * b
        u += self._sq_intercept_scaling * self._label_sum
        scaling, upper = self._sq_intercept_scaling / unit, self._upper * unit
        left = int(min(self._tuning.max_pairs * m, max(m, (self._max_work - self._work) / m)))
        n_pairs, n, gap, gaps, chunk = 0, 1, math.inf, [], m * max(PRODUCTS_OF_CHUNK // m**2, 1)
        while gap > target and n > 0 and left > n_pairs and not (n_pairs > 0 and time_is_over()):
            n, gap = minimise_whole(
                self._K_of_all,
                scaling,
                self._signs,
                b,
                u,
                upper,
                diag,
                self._is_free,
                target,
                self._tuning.inner_reduction,
                min(chunk, left - n_pairs),
                m,
            )
            n_pairs += n
            gaps.append(gap)
            if self._blocks is self._gram and self._is_too_slow(gaps, target, (left - n_pairs) / chunk):
                self._work = self._max_work
                break
        self._alpha, self._label_sum = self._signs * b / unit, float(b.sum()) / unit
        u -= diag * b
        self._v = u - self._sq_intercept_scaling * self._label_sum
        self._work += self._tuning.overhead + m * n_pairs
        return n_pairs, 2 * n_pairs, gap <= target, n_pairs == 0

    def _is_stalled(self, gap):
        """Return True if several sums in double precision, the last with this gap, did not reduce it."""
        is_slow = not gap < self._tuning.slow_reduction * self._least_gap
        self._n_stalled = self._n_stalled + 1 if is_slow else 0
        self._least_gap = min(self._least_gap, gap)
        return self._n_stalled >= self._tuning.patience

    def make_exact(self, run):
        if not self.sums_are_fresh:
            # The certificate of an unproven fit may be for any multiple, so every product may count.
            self._sum_all(run)
            self.sums_are_fresh = True

    def _has_clearance(self, run):
        """Return True if products beyond the clearance do not count in the certified multiple."""
        bounds, _ = bounds_of(run.weights, run.weights, run.data, run.loss, run.theta)
        return bounds.primal_scale * (1 + CLEARANCE) >= 1

    def _sum_all(self, run):
        """Compute all products again, in double precision."""
        self._sum(np.ones(len(self._alpha), bool))
        self._give(run, self._v)

    def _intercept(self):
        """Return the intercept of the current products."""
        return self._sq_intercept_scaling * self._label_sum

    def _state(self):
        """Return the Iterate: the margins, the gradient and their sums."""
        b = self._intercept()
        return Iterate(b, *gradient_of(self._v, b, self._signs, self._alpha, self._upper, self._diag))

    def _gap(self, state):
        """Return the relative duality gap of the current products."""
        total, sqnorm, square = state.sums
        return relative_gap(self._loss, state.margins, sqnorm, total - 0.5 * sqnorm - 0.5 * square)

    def _violations(self, state):
        """Return the gain of each variable's best step, 0 if it is optimal."""
        return self._violations_after(state, 0.0)

    def _violations_after(self, state, change):
        """Return the same after changing the intercept and the gradient of the state."""
        return violations_of(
            state.gradient, change, self._signs, self._alpha, self._upper, self._diagonal
        )

    def _next_working_set(self, state):
        """Return half of the last working set, then the samples that violate optimality most.

        With few samples, or if another class has computed rows, few rows are new: many of their samples
        would end at 0 as soon as their neighbours have moved.
        """
        violation, last = self._violations(state), self._working_set
        n_kept = int(self._tuning.kept_share * self._size)
        self._kept_positions = np.sort(largest(violation[last], n_kept))
        kept_samples = last[self._kept_positions]
        violation[kept_samples] = 0
        are_cached = self._blocks.are_cached()
        sides = self._sides(state.gradient)
        if self._max_new_rows < self._size:
            for side in sides:
                keep_largest(violation, side & ~are_cached, self._max_new_rows // len(sides))
        violation[are_cached] *= self._tuning.cached_gain
        new_samples = np.sort(self._most_violating(violation, sides, self._size - len(kept_samples)))
        self._working_set = np.concatenate([kept_samples, new_samples]).astype(np.int32)
        return self._working_set

    def _sides(self, gradient):
        """Return groups of which a working set needs some samples each: tuple of ndarrays of bool."""
        return (np.ones(len(gradient), bool),)

    def _most_violating(self, violation, sides, n):
        """Return the n samples with the largest violations > 0, or all with one, in any order."""
        return largest(violation, n)

    def _solve(self, working_set, margins):
        """Solve the subproblem of a working set, update the products, and return the pairs moved."""
        n = len(working_set)
        alpha, upper = self._alpha[working_set], self._upper[working_set]
        diag, signs, unit = self._diag[working_set], self._signs[working_set], self._unit
        is_free = (self._alpha > 0) & (self._alpha < self._upper)
        slots = self._blocks.slots_of(working_set, is_free)
        Q, last = self._Q[:n], self._last_Q
        kept = self._kept_positions.astype(np.int32)
        sub_gram(self._blocks.slots, slots, working_set, last, kept, 1 / unit, Q)
        self._Q, self._last_Q = last, self._Q
        gradient = margins[working_set] + diag * alpha - 1
        lower, above = as_single(-alpha * unit), as_single((upper - alpha) * unit)
        is_positive, moves = signs > 0, np.zeros(n, np.float32)  # moves of the signed variables
        n_pairs = self._minimise(
            Q,
            as_single(diag / unit),
            as_single(signs * gradient),
            moves,
            np.where(is_positive, lower, -above),
            np.where(is_positive, above, -lower),
            self._tuning.inner_reduction,
            self._tuning.max_pairs * n,
        )
        steps = as_single(signs * moves)
        if not np.isfinite(steps).all():  # beyond single precision: there is no optimum
            return 0
        after = np.clip(alpha + steps / unit, 0, upper)
        after[(steps == lower) & (alpha > 0)] = 0
        at_upper = (steps == above) & (alpha < upper)
        after[at_upper] = upper[at_upper]
        self._restore_constraint(alpha, after, upper, signs)
        coefficients = signs * (after - alpha)
        moved = np.flatnonzero(coefficients)
        if len(moved):
            self._add_rows(slots[moved], coefficients[moved])
        self._label_sum += float(coefficients.sum())
        self._count_moves(coefficients, working_set)
        self._alpha[working_set] = after
        return n_pairs if len(moved) else 0

    def _count_moves(self, moves, samples):
        """Add moves of the dual variables of some samples to the total movement."""
        sizes = np.abs(moves)
        self._moved[:, 0] += sizes.sum(), sizes @ self._sqnorms[samples]

    def _add_rows(self, slots, coefficients):
        """Add multiples of cached rows to the products; each thread updates a part of them."""

        def add(part):
            add_rows(self._blocks.slots, slots, coefficients, self._v, part.start, part.stop)

        team = current_team()
        team.map(add, team.parts(len(self._v), PART))

    def _minimise(self, Q, diag, gradient, moves, *bounds_and_limits):
        """Solve the subproblem: change the moves in place, and return the number of pairs."""
        rho2 = self._sq_intercept_scaling / self._unit
        return minimise(Q, rho2, diag, gradient, moves, *bounds_and_limits)

    def _restore_constraint(self, before, after, upper, signs):
        """Change `after` if rounding violates a constraint other than the bounds; here there is none."""

    def _sum(self, mask):
        """Compute products again, in double precision: for samples with True in `mask`."""
        support, indices = self._alpha.nonzero()[0], mask.nonzero()[0]
        coefficients = self._signs[support] * self._alpha[support]
        self._label_sum = float(coefficients.sum())
        self._v[indices] = self._blocks.sums(indices, support, coefficients)
        self._moved_before[:, indices] = self._moved

    def _sum_what_counts(self):
        """Compute products of support vectors and samples that seem to count; return these as a mask."""
        if self._K_of_all is not None:
            counts = np.ones(len(self._alpha), bool)
        else:
            counts = (self._state().margins < 1 + CLEARANCE) | (self._alpha > 0)
            counts |= self._upper == 0  # samples that are left out: a test set
        self._sum(counts)
        return counts

    def _proven_sums(self, counts):
        """Return exact products of all samples that may count, and lower bounds of the others."""
        error = self._error()
        self._sum(~counts & ~(self._state().margins - error >= 1 + CLEARANCE))
        return self._v - self._signs * self._error()

    def _error(self):
        """Return a bound on the rounding of each product, an ndarray of float64 of shape (m,)."""
        moved, moved_sqnorms = self._moved - self._moved_before
        of_values, of_sqnorms = self._blocks.rounding()
        of_values = np.where(moved > 0, of_values, 0.0)  # it may be inf
        return of_values * moved + of_sqnorms * (moved_sqnorms + moved * self._sqnorms)

    def _give(self, run, v, intercept=None):
        """Give the run the dual variables and the products v, and the intercept if it is known."""
        if run.data.rows.is_kernel:
            combination = np.append(v, math.sqrt(self._sq_intercept_scaling) * self._label_sum)
            run.weights.assign(run.data, self._alpha, combination)
        else:  # weights of features, which must be summed
            run.weights.assign(run.data, self._alpha)


def relative_gap(loss, margins, sqnorm, dual):
    """Return the relative duality gap of a weight vector and its dual variables; inf: none."""
    if not dual > 0:
        return math.inf
    if loss.is_finite:
        return (0.5 * sqnorm + loss.value(margins)) / dual - 1
    smallest = float(margins.min())
    return 0.5 * sqnorm / (smallest * smallest) / dual - 1 if smallest > 0 else math.inf


def largest(values, n):
    """Return the indices of the n largest values > 0, or of all values > 0, in any order."""
    if not 0 < n < len(values):
        return np.flatnonzero(values > 0) if n > 0 else np.empty(0, np.intp)
    best = np.argpartition(-values, n)[:n]
    return best[values[best] > 0]


def keep_largest(values, mask, n):
    """Set the values of a mask, none negative, to 0 in place, except for the n largest."""
    indices = np.flatnonzero(mask)
    best = indices[largest(values[indices], n)]
    largest_values = values[best]
    values[indices] = 0
    values[best] = largest_values
