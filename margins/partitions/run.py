"""Rule-based runs over samples in partitions: full passes stream them, active sets are in memory.

A full epoch reads one partition at a time, and processes its samples, both in random order. Rows of
samples that enter the first active set are copied, up to a limit in bytes, for the nested active sets.
The guarantees hold for any order of the samples. The sums of a certificate read the partitions once
more, unless the active set alone rules out the accuracy.

**Source**: Panagiotakopoulos & Tsampouka (2010), section 5; (2011), section 4.
"""

import numpy as np

from margins._activeset import ActiveSets
from margins.certificate import Certificate
from margins.data.permutations import generator_of, mix
from margins.linalg.threads import check_time
from margins.rules import Average, LongestSurvivor, SuffixAverage
from margins.solvers.base import EpochReport, RulesSolver, Solver
from margins.solvers.driver import Run
from margins.solvers.proof import bounds_of
from margins.tuning import TUNING

# These averagings read no row but the one being processed.
AVERAGINGS = (Average, SuffixAverage, LongestSurvivor)

# A product w.y_k so large that the sample has no loss at any scale of w.
WITHOUT_LOSS = 1e100


class PartOrders:
    """The orders in which a run processes the partitions, and the samples of each partition."""

    n_held_out = 0

    def __init__(self, parts, seed, shuffle):
        if shuffle not in ("epochs", "once", "never"):
            raise ValueError(
                f"shuffle of samples in partitions must be 'epochs', 'once' or 'never'. Got {shuffle!r}."
            )
        self._parts, self._seed, self._shuffle = parts, seed, shuffle
        self._generator = generator_of(seed)

    def next(self):
        """Yield (Part, ndarray of int32) for each partition: the order of the next full epoch."""
        if self._shuffle == "once":
            self._generator = generator_of(self._seed)
        indices = np.arange(len(self._parts), dtype=np.int32)
        if self._shuffle != "never":
            mix(self._generator, indices)
        for index in indices:
            part = self._parts[index]
            order = np.arange(part.begin, part.end, dtype=np.int32)
            if self._shuffle != "never":
                mix(self._generator, order)
            yield part, order


class StreamedRulesSolver(Solver):
    """A rule-based `solver` over samples in partitions, with nested active sets in memory."""

    def __init__(self, solver):
        self.rules, self.full_pass_rules = solver.rules, solver.full_pass_rules
        self.levels, self.name, self.decays = solver.levels, solver.name, solver.decays
        self._sets = None

    def epoch(self, run):
        if self._sets is None:
            self._sets = ActiveSets(self.levels, len(run.data))
        sets, rows = self._sets, run.data.rows
        before, n_changed, n_rejected, n_unmoved = sets.n_accesses, 0, 0, 0
        active = rows.copies
        active.clear()
        for part, order in run.orders.next():
            check_time()
            with rows.reading(part) as matrix:
                n_changed += sets.full_pass(
                    run.data, run.weights, self.rules, order, self.full_pass_rules, run.averaging
                )
                n_rejected += sets.n_rejected
                n_unmoved += sets.n_unmoved
                active.add(matrix, part, sets.kept)
                del matrix
        if n_changed and len(active) > 0:
            members = active.numbers()
            with rows.holding_copies():
                sets.nested_passes(run.data, run.weights, self.rules, run.averaging, members)
        check_gap = n_changed == 0 or run.may_be_proven()
        n_accesses = sets.n_accesses - before
        return EpochReport(n_changed, n_accesses, n_rejected, check_gap, n_unmoved=n_unmoved)


class StreamedRun(Run):
    """A run over `StreamedRows`, with the parameters of `margins.solvers.driver.Run`."""

    def __init__(self, problem, seed, specification, watch=None, features=None):
        super().__init__(problem, seed, specification, watch, features)
        self.orders = PartOrders(self.data.rows.X.parts, seed, specification.shuffle)

    def may_be_proven(self, tuning=TUNING.partitions):
        """Return False if the active samples, copied or estimated, rule out the accuracy."""
        data, copies = self.data, self.data.rows.copies
        if self.eps is None or len(copies) == 0:
            return True
        hypothesis, numbers, left_out = self.hypothesis, copies.numbers(), copies.left_out()
        if len(left_out) > 0 and (self.n_epochs + 1) % tuning.epochs_per_check == 0:
            return True
        left_out = left_out[: int(tuning.estimated_share * len(left_out))]
        self.weights.recompute(data)
        scores = copies.rows().products(hypothesis.weights)
        scores += data.sq_intercept_scaling * hypothesis.label_sum
        products = np.full(len(data), WITHOUT_LOSS)
        products[numbers] = data.signs[numbers] * scores
        products[left_out] = np.resize(products[numbers], len(left_out))
        scale = self.specification.model_scale
        bounds, _ = bounds_of(hypothesis, self.weights, data, self.loss, self.theta, scale, products)
        best_dual = max(self.proof.best_dual, bounds.dual)  # dual variables alone prove it
        self.proof = self.proof._replace(best_dual=best_dual)
        certificate = Certificate.from_bounds(bounds.primal, best_dual, 0, bounds.margin)
        return self.loss.is_proven(certificate, self.eps)

    def begin_phase(self, phase):
        solver = phase.make_solver()
        if type(solver) is not RulesSolver:
            raise ValueError(
                f"Samples in partitions must be processed by a rule-based solver. Got {solver!r}, which "
                "needs all samples in memory. Allowed: X in memory, or a rule-based algorithm."
            )
        result = super().begin_phase(phase._replace(solver=StreamedRulesSolver(solver)))
        if self.averaging is not None and type(self.averaging) not in AVERAGINGS:
            raise ValueError(
                "The averaging over samples in partitions must be one of "
                f"{', '.join(kind.__name__ for kind in AVERAGINGS)}. Got {self.averaging!r}, which may "
                "read any sample. Allowed: X in memory, or another averaging."
            )
        return result
