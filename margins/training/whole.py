"""Small problems of two classes, each solved and proven without a run.

A run takes longer than the solution of a small problem, and one-vs-one has many. Moves of pairs of
samples solve problems whose kernel values are in memory, computed once for all pairs of classes; Newton
steps solve linear ones of a smooth loss. The first certificate is the proof. A run continues what ends
unproven, or where rounding matters.
"""

import math
import time
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from margins._sparse import Rows
from margins._update import WeightVector
from margins.data._passes import products
from margins.data.binary_data import array_of_each, is_sparse, make_binary_data, of_each, rows_of
from margins.kernels.shared_blocks import ClassBlocks
from margins.linalg.threads import check_cancelled, on_one_thread
from margins.losses._smoothed import SmoothLoss
from margins.solvers.auto import Costs, most_of_pair
from margins.solvers.base import Ending, PhaseRecord, Problem
from margins.solvers.decomposition._class_pairs import ClassPairs
from margins.solvers.decomposition.single import is_in_range, unit_of
from margins.solvers.history import Epoch
from margins.solvers.newton._objective import Objective
from margins.solvers.newton.newton import assign_balanced, dense_hessian
from margins.solvers.outcome import Outcome
from margins.solvers.proof import Claim, PrimalPoint, easily_proven
from margins.tuning import TUNING

NO_ROWS = Rows(None, 0, 0)
MOST_BYTES = 1 << 28  # of copies of linear samples, and of their inner products


def whole_problems(training_set, specification, is_light=False):
    """Return the problems of a fit (WholeProblems), or None if runs must solve them.

    `is_light`: only with what NumPy alone can do.
    """
    is_quiet = specification.max_time is None and specification.report is None
    if specification.is_hard_margin or training_set.is_in_parts or not is_quiet:
        return None
    rows, sizes, scheme = training_set.rows, _sizes_of_pairs(training_set), training_set.scheme
    if training_set.is_kernel:
        if sizes is None or training_set.has_left_out:
            return None
        if not ClassBlocks.may_serve(training_set.kernel, sizes.sum(), rows.blocks.cache_size):
            return None
        problem = training_set.problem(None, specification)
    else:
        has_few = sizes is not None or rows.n_rows <= TUNING.newton.few_elements
        if rows.is_kernel or training_set.centre is not None or not has_few:
            return None
        part, code = scheme.binary(training_set, 0)  # others are like it
        problem = part.problem(code, specification)
        costs = Costs(problem)
        if sizes is None or not _shares_products(training_set, costs):
            has_steps = costs.newton_is_first and not is_light
            return NewtonSteps(training_set, specification, costs) if has_steps else None
    if not is_in_range(problem) or unit_of(problem) != 1:
        return None
    return PairsOfSamples(training_set, specification, sizes, problem.loss)


def _sizes_of_pairs(training_set):
    """Return the sizes of the classes, if problems are pairs of few samples, otherwise None."""
    scheme, codes = training_set.scheme, training_set.samples.codes
    is_kernel, d = training_set.is_kernel, training_set.rows.n_features
    most = TUNING.decomposition.shared_whole if is_kernel else most_of_pair(d)
    if not (scheme.has_pairs or scheme.n_problems == 1) or len(codes) > most * scheme.n_classes:
        return None
    sizes = np.bincount(codes, minlength=scheme.n_classes)
    return sizes if sizes.min() > 0 and np.sort(sizes)[-2:].sum() <= most else None


def _shares_products(training_set, costs):
    """Return whether problems of linear data share inner products: if moves of pairs of samples pay."""
    m, n_stored = len(training_set.samples.codes), training_set.rows.n_stored
    return max(2 * m * m, 12 * n_stored) <= MOST_BYTES and costs.pairs_pay


class Solution(NamedTuple):
    """The solution of a problem, which is to be proven."""

    claim: Claim
    products: np.ndarray  # w.y_k of all samples
    total: np.ndarray  # the sum of alpha_k y_k
    n_changes: int
    n_accesses: int
    is_slow: bool = False  # True: pairs of linear data were moved, and took too long


class WholeProblems:
    """Problems of two classes each, which a subclass solves.

    name: of the solver.
    """

    name: str

    def __init__(self, specification):
        self._specification = specification
        self._unproven = {}  # by problem: record and Solution

    def outcome(self, index):
        """Return the outcome of a problem (Outcome), or None if a run must solve it."""
        check_cancelled()
        begin, specification = time.perf_counter(), self._specification
        solution = self._solve(index)
        claim, n_accesses = solution.claim, solution.n_accesses
        data, loss, weights = claim.data, claim.loss, claim.weights
        proof = easily_proven(claim, solution.products, Problem(data, loss).constant_objective)
        is_proven = proof is not None and specification.is_proven(loss, proof.certificate)
        seconds = time.perf_counter() - begin
        record = PhaseRecord(self.name, int(is_proven), weights.n_updates, n_accesses, seconds)
        if not is_proven:
            self._unproven[index] = record, solution
            return None
        certificate, counts = proof.certificate, (weights.n_updates, max(solution.n_changes, 1))
        return Outcome(
            specification,
            data.over(NO_ROWS),
            claim.hypothesis,
            weights,
            certificate,
            Ending.PROVEN,
            [Epoch(1, *counts, certificate, self.name, n_accesses)],
            [record],
            loss=loss,
            scale=proof.primal_scale,
            theta=claim.theta,
            dual_scale=proof.dual_scale,
            n_epochs=1,
            n_accesses=n_accesses,
        )

    def begin(self, run, index):
        """Let a run continue from what was not proven, or by another solver."""
        if index in self._unproven:
            record, solution = self._unproven.pop(index)
            run.phases.append(record)  # no epoch, which would end with a certificate
            run.n_accesses += record.accesses
            if solution.is_slow:
                run.problem = run.problem._replace(pairs_are_slow=True)
            else:
                run.weights.assign(run.data, solution.claim.weights.dual, solution.total)

    def _solve(self, index):
        """Return the Solution of a problem, as a subclass finds it."""
        raise NotImplementedError


class NewtonSteps(WholeProblems):
    """Linear problems of a smooth loss, by Newton steps from 0 over all samples."""

    name = "newton"

    def __init__(self, training_set, specification, costs):
        super().__init__(specification)
        self._training_set, self._in_blocks = training_set, costs.adds_in_blocks
        self._first = costs.problem

    def _solve(self, index):
        problem = self._first
        if index > 0:
            part, code = self._training_set.scheme.binary(self._training_set, index)
            problem = part.problem(code, self._specification)
        data, loss, tuning = problem.data, problem.loss, TUNING.newton
        m, rho = len(data), math.sqrt(data.sq_intercept_scaling)
        upper, curvature = of_each(loss.upper, m), of_each(1 / loss.diag, m)
        every, zeros = np.arange(m, dtype=np.int32), np.zeros(problem.n_weights)
        hessian = dense_hessian(data, curvature, self._in_blocks, tuning.offset)
        losses = SmoothLoss(None, upper, curvature, 1.0, False)
        steps = Objective(data, every, zeros, 0.0, zeros, np.zeros(m), losses, hessian)
        share = tuning.gap_share * loss.required_gap(self._specification.eps)
        n_steps = steps.minimise(share, 0.0, tuning.max_steps)
        w, alpha, total = steps.w, steps.dual, steps.combination
        margins = steps.margins if steps.is_exact else products(data, every, w)
        weights = WeightVector(data.rows.n_features, m)
        assign_balanced(weights, data, alpha, upper, total)
        hypothesis = PrimalPoint(w, margins, rho, weights)
        claim = Claim(data, loss, hypothesis, weights, 0.0, None, sums_are_fresh=True)
        return Solution(claim, margins, total, m, m * (n_steps + 1))


class PairsOfSamples(WholeProblems):
    """Problems of two classes each, with the samples sorted by class, by moves of pairs of samples."""

    name = "decomposition"

    @on_one_thread
    def __init__(self, training_set, specification, sizes, loss):
        samples, scheme = training_set.samples, training_set.scheme
        super().__init__(specification)
        self._codes = samples.codes
        self._sorted = np.argsort(samples.codes, kind="stable")
        self._ends = np.cumsum([0, *sizes]).tolist()
        self._has_pairs, self._rows = scheme.has_pairs, training_set.rows
        self._pairs = scheme.pairs if scheme.has_pairs else [(1, 0)]
        self._scaling = 0.0 if specification.has_free_intercept else specification.sq_intercept_scaling
        of_intercept = specification.sq_intercept_scaling - self._scaling
        self._sqnorms = training_set.augmented_sqnorms(specification) - of_intercept
        self._loss, self._weight = loss, samples.weight
        X = self._X = training_set.kernel.samples_of(training_set.X, self._sorted)
        parts = [slice(begin, end) for begin, end in pairwise(self._ends)]
        if training_set.is_kernel or is_sparse(X):
            sqnorms = rows_of(X).sqnorms()

            def block(rows, columns):
                return training_set.kernel.block(X[rows], X[columns], sqnorms[rows], sqnorms[columns])
        else:  # sums are products with a weight vector, in double precision
            single = X.astype(np.float32)

            def block(rows, columns):
                return single[rows] @ single[columns].T

        if len(samples.codes) <= TUNING.decomposition.whole:  # calls cost more than half of the values
            matrix = block(slice(None), slice(None))
            panels = [matrix[part, part.start :] for part in parts]
        else:
            panels = [block(part, slice(part.start, None)) for part in parts]
        self._classes = ClassPairs(panels, self._ends)

    def _solve(self, index):
        specification, scaling = self._specification, self._scaling
        pair, tuning, loss = self._pairs[index], TUNING.decomposition, self._loss
        parts = [slice(self._ends[code], self._ends[code + 1]) for code in pair]
        by_class, samples = np.concatenate([self._sorted[part] for part in parts]), slice(None)
        m = len(by_class)
        if self._has_pairs:  # their samples stay sorted by class
            samples, by_class = by_class, slice(None)
            if isinstance(self._weight, np.ndarray):
                loss = specification.loss_of(specification.penalties(self._weight[samples]))
        is_free = specification.has_free_intercept
        is_first, limits = self._codes[samples] == pair[0], (loss.diag, specification.max_dual, is_free)
        rows, max_pairs = self._rows, tuning.max_pairs * m
        if not rows.is_kernel and self._has_pairs:
            rows = rows.part(samples)
        data = make_binary_data(rows, self._sqnorms[samples], is_first, scaling, *limits)
        if not rows.is_kernel:
            newton_work = Costs(Problem(data, loss)).newton_work
            max_pairs = int(min(max_pairs, max(m, newton_work / m)))
        solution, n_pairs = self._classes.minimise(
            *pair,
            scaling,
            array_of_each(loss.upper, m)[by_class],
            array_of_each(loss.diag, m)[by_class],
            is_free,
            tuning.gap_share * loss.required_gap(specification.eps),
            tuning.inner_reduction,
            max_pairs,
        )
        b, sums = np.empty((2, m))
        sums[by_class], combination = self._sums(pair, parts, solution)
        b[by_class] = solution
        if combination is None:
            combination = sums
        alpha, label_sum = data.signs * b, float(b.sum())
        theta = -loss.best_intercept(sums, data.signs) if is_free else 0.0
        weights = WeightVector(len(combination), m)
        if specification.sq_intercept_scaling > 0:  # runs augment for a free one, too
            last = math.sqrt(specification.sq_intercept_scaling) * label_sum
            combination = np.append(combination, last)
        weights.assign(data, alpha, combination)
        margins = data.signs * (sums + scaling * label_sum)
        claim = Claim(data, loss, weights, weights, theta, None, sums_are_fresh=True)
        is_slow = n_pairs >= max_pairs and not rows.is_kernel
        return Solution(claim, margins, combination, n_pairs, 2 * n_pairs + m, is_slow)

    def _sums(self, pair, parts, b):
        """Return sum_j b_j K(x_j, x_k) of the samples of a pair, and the weights of linear data."""
        if self._rows.is_kernel:
            return self._classes.sums(*pair, b), None
        first, second = self._X[parts[0]], self._X[parts[1]]
        n = first.shape[0]
        w = first.T @ b[:n] + second.T @ b[n:]
        return np.concatenate([first @ w, second @ w]), w
