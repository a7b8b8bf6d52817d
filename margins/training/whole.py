"""Small problems of two classes, each solved over its whole kernel matrix and proven, without a run.

A run takes longer than the solution of a small problem, and one-vs-one has many. Kernel values are
computed once for all pairs of classes. One loop solves a pair from them, and its first certificate is
the proof. A run solves what is not that simple: what ends unproven, or where rounding matters.
"""

import time
from itertools import pairwise

import numpy as np

from margins._sparse import Rows
from margins._update import WeightVector
from margins.data.binary_data import array_of_each, is_sparse, make_binary_data, rows_of
from margins.kernels.shared_blocks import ClassBlocks
from margins.linalg.threads import check_cancelled, on_one_thread
from margins.solvers.auto import Costs
from margins.solvers.base import Ending, PhaseRecord, Problem
from margins.solvers.decomposition._class_pairs import ClassPairs
from margins.solvers.decomposition.single import is_in_range, unit_of
from margins.solvers.history import Epoch
from margins.solvers.outcome import Outcome
from margins.solvers.proof import Claim, easily_proven
from margins.tuning import TUNING

NO_ROWS = Rows(None, 0, 0)
NAME = "decomposition"
MOST_BYTES = 1 << 28  # of copies of linear samples, and of their inner products


def whole_problems(training_set, specification):
    """Return the problems of a fit (WholeProblems), or None if runs must solve them."""
    samples, scheme, tuning = training_set.samples, training_set.scheme, TUNING.decomposition
    is_quiet = specification.max_time is None and specification.report is None
    if not (scheme.has_pairs or scheme.n_problems == 1) or specification.is_hard_margin or not is_quiet:
        return None
    sizes, m = np.bincount(samples.codes, minlength=scheme.n_classes), len(samples.codes)
    most = tuning.shared_whole if training_set.is_kernel else tuning.whole
    if sizes.min() == 0 or np.sort(sizes)[-2:].sum() > most or training_set.has_left_out:
        return None
    if training_set.is_kernel:
        size = training_set.rows.blocks.cache_size
        can_share = ClassBlocks.may_serve(training_set.kernel, m, size)
    else:
        can_share = _shares_products(training_set, specification)
    if not can_share:
        return None
    problem = training_set.problem(None, specification)
    if not is_in_range(problem) or unit_of(problem) != 1:
        return None
    return WholeProblems(training_set, specification, sizes, problem.loss)


def _shares_products(training_set, specification):
    """Return whether the pairs of linear data share inner products: if moves of pairs of samples pay."""
    scheme, rows, m = training_set.scheme, training_set.rows, len(training_set.samples.codes)
    if not scheme.has_pairs or training_set.is_in_parts or rows.is_kernel:
        return False
    if training_set.centre is not None or max(2 * m * m, 12 * rows.n_stored) > MOST_BYTES:
        return False
    pair, code = scheme.binary(training_set, 0)  # others are like it
    return Costs(pair.problem(code, specification)).pairs_pay


class WholeProblems:
    """Problems of two classes each, with the samples sorted by class."""

    @on_one_thread
    def __init__(self, training_set, specification, sizes, loss):
        samples, scheme = training_set.samples, training_set.scheme
        self._specification, self._codes = specification, samples.codes
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
        self._unproven = {}  # by problem: record, dual variables and their sums

    def outcome(self, index):
        """Return the outcome of a problem (Outcome), or None if a run must solve it."""
        check_cancelled()
        begin, specification, scaling = time.perf_counter(), self._specification, self._scaling
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
        if not rows.is_kernel:
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
        alpha, label_sum = data.signs * b, 0.0
        if scaling > 0:
            label_sum = float(b.sum())
            combination = np.append(combination, np.sqrt(scaling) * label_sum)
        theta = -loss.best_intercept(sums, data.signs) if is_free else 0.0
        weights = WeightVector(len(combination) - (scaling > 0), m)
        weights.assign(data, alpha, combination)
        constant = loss.constant_objective(data.signs, np.inf if is_free else scaling)
        claim = Claim(data, loss, weights, weights, theta, None, sums_are_fresh=True)
        proof = easily_proven(claim, data.signs * (sums + scaling * label_sum), constant)
        n_accesses = 2 * n_pairs + m
        if proof is None or not specification.is_proven(loss, proof.certificate):
            seconds = time.perf_counter() - begin
            record = PhaseRecord(NAME, 0, weights.n_updates, n_accesses, seconds)
            self._unproven[index] = record, alpha, combination
            return None
        certificate, seconds = proof.certificate, time.perf_counter() - begin
        return Outcome(
            specification,
            data.over(NO_ROWS),
            weights,
            weights,
            certificate,
            Ending.PROVEN,
            [Epoch(1, weights.n_updates, max(n_pairs, 1), certificate, NAME)],
            [PhaseRecord(NAME, 1, weights.n_updates, n_accesses, seconds)],
            loss=loss,
            scale=proof.primal_scale,
            theta=theta,
            dual_scale=proof.dual_scale,
            n_epochs=1,
            n_accesses=n_accesses,
        )

    def begin(self, run, index):
        """Let a run continue from what was not proven, or, with linear data, by another solver."""
        if index in self._unproven:
            record, *state = self._unproven.pop(index)
            run.phases.append(record)  # no epoch, which would end with a certificate
            run.n_accesses += record.accesses
            if self._rows.is_kernel:
                run.weights.assign(run.data, *state)
            else:
                run.problem = run.problem._replace(pairs_are_slow=True)

    def _sums(self, pair, parts, b):
        """Return sum_j b_j K(x_j, x_k) of the samples of a pair, and the weights of linear data."""
        if self._rows.is_kernel:
            return self._classes.sums(*pair, b), None
        first, second = self._X[parts[0]], self._X[parts[1]]
        n = first.shape[0]
        w = first.T @ b[:n] + second.T @ b[n:]
        return np.concatenate([first @ w, second @ w]), w
