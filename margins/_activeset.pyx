"""Full epochs with nested active sets, which say how often and in which order samples are processed.

One full epoch processes every sample once, in the given order, and keeps the hard samples as the first active
set. The active sets are nested: a pass over one of them keeps the next.

    full_epoch:  pass over all samples, keeping level 0;  process(level 0)
    process(j):  repeat at most passes[j] times
                     pass over level j, keeping level j + 1
                     stop if that pass changed nothing
                     process(level j + 1)

Only the order of the samples changes, so every guarantee of the rules holds. An algorithm has converged when a
full pass, not an active-set pass, changes nothing.

Source: Panagiotakopoulos & Tsampouka (2010), section 5; (2011), section 4.
"""

from libc.stdlib cimport calloc, free
from margins._update cimport (
    Membership, BinaryData, Averaging, Rules, SampleLoop, Tally, WeightVector, epoch_t, mini_epoch,
)

from typing import NamedTuple

import numpy as np


class Level(NamedTuple):
    """One level of the nested active sets: which samples enter it, and how often it is processed.

    passes: maximum number of passes each time the level is built.
    factor: A sample enters if ``p <= factor * threshold`` when it is processed; -inf: no sample enters for this reason.
    supported: A sample enters if its dual variable is positive when it is processed.
    updated: A sample enters if it is updated and its dual variable is positive afterwards.
    """

    passes: int
    factor: float = float("-inf")
    supported: bool = False
    updated: bool = False


cdef class ActiveSets(SampleLoop):
    """A full epoch with nested active sets; without levels, a plain epoch.

    levels: from the largest set to the smallest.
    n_samples: maximum number of samples in an order.
    """

    def __cinit__(self, levels: Sequence[Level], Py_ssize_t n_samples):
        self.levels = tuple(levels)
        self.n_levels = len(self.levels)
        self.memberships = <Membership*> calloc(max(self.n_levels, 1), sizeof(Membership))
        self.passes = <Py_ssize_t*> calloc(max(self.n_levels, 1), sizeof(Py_ssize_t))
        if self.memberships == NULL or self.passes == NULL:
            raise MemoryError
        for j, level in enumerate(self.levels):
            self.passes[j] = level.passes
            self.memberships[j].factor = level.factor
            self.memberships[j].supported = level.supported
            self.memberships[j].updated = level.updated
        # The operating system allocates only pages that are written, so unused parts of active sets cost nothing.
        self.members = np.empty((self.n_levels, n_samples), dtype=np.int32)

    def __dealloc__(self):
        free(self.memberships)
        free(self.passes)

    def full_epoch(self, BinaryData data not None, WeightVector a not None, Rules rules not None,
                   const int32_t[::1] order not None, Rules full_pass_rules=None, Averaging averaging=None) -> int:
        """Process every sample of `order`, then the active sets; return how many changed the weights in the full pass.

        full_pass_rules: rules of the pass over all samples, if they differ from the rules of the active sets.
        averaging: receives every hypothesis before it is updated.

        0 means converged if `n_unmoved`, the number of rejected samples below the upper bounds of their dual
        variables, is 0, too. Raises ValueError if the weight vector does not match the samples, or lacks dual variables
        that rules or levels need; RuleError if a rule returns a number that is not finite.
        """
        cdef Py_ssize_t n_changed = self.full_pass(data, a, rules, order, full_pass_rules, averaging)
        if n_changed and self.n_kept:
            self.nested_passes(data, a, rules, averaging)
        return n_changed

    def full_pass(self, BinaryData data not None, WeightVector a not None, Rules rules not None,
                  const int32_t[::1] order not None, Rules full_pass_rules=None, Averaging averaging=None) -> int:
        """Make the first part of `full_epoch`: process every sample of `order`, keeping the first active set."""
        cdef Tally tally
        if full_pass_rules is None:
            full_pass_rules = rules
        if not a.keeps_dual and (
            data.rows.is_kernel or data.offset is not None or rules.condition.unlearns
            or rules.update.needs_dual
            or any(level.supported or level.updated for level in self.levels)
        ):
            raise ValueError(
                f"{rules.condition!r}, {rules.update!r}, these samples or the active sets {self.levels} "
                "need dual variables, which this weight vector does not keep."
            )
        a.check_fit(data)
        self.epoch_of_all = _epoch_of(data, a, full_pass_rules)
        self.begin(data, a, full_pass_rules, averaging)
        try:
            self.level = 0
            self.run(order, order.shape[0], &tally)
        finally:
            self.end()
            data.rows.check()
        self.n_rejected, self.n_unmoved = tally.n_rejected, tally.n_unmoved
        self.n_kept = tally.n_kept if self.n_levels else 0
        return tally.n_changed

    @property
    def kept(self) -> NDArray[np.int32]:
        """The first active set after the last full pass, as an ndarray of int32."""
        return np.array(self.members[0, :self.n_kept]) if self.n_kept else np.zeros(0, dtype=np.int32)

    def nested_passes(self, BinaryData data not None, WeightVector a not None, Rules rules not None,
                      Averaging averaging=None, const int32_t[::1] members=None) -> None:
        """Process the active sets, after a full pass; `members` replace the first active set, which that pass kept."""
        a.check_fit(data)
        if self.n_levels == 0:
            return
        if members is not None:
            self.n_kept = members.shape[0]
            self.members[0, :self.n_kept] = members
        self.epoch_of_members = _epoch_of(data, a, rules)
        self.begin(data, a, rules, averaging)
        try:
            self.process_active_sets(0, self.n_kept)
        finally:
            self.end()

    cdef int process_active_sets(self, Py_ssize_t level, Py_ssize_t n) except -1:
        """Make passes over the first n members of a level, and over the levels nested in it."""
        cdef Tally tally
        cdef Py_ssize_t _
        for _ in range(self.passes[level]):
            if n == 0:
                break
            self.level = level + 1
            self.run(self.members[level], n, &tally)
            if tally.n_changed == 0:
                break
            if level + 1 < self.n_levels:
                self.process_active_sets(level + 1, tally.n_kept)
        return 0

    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil:
        """Process order[begin:end], and keep the members of `level`; after the last level none are kept."""
        cdef const Membership* keep = NULL
        cdef int32_t[::1] kept = None
        if self.level < self.n_levels:
            keep, kept = &self.memberships[self.level], self.members[self.level]
        cdef epoch_t epoch = self.epoch_of_all if self.level == 0 else self.epoch_of_members
        epoch(self.data, self.weights, self.rules, self.averaging, order, begin, end, keep, kept, tally)
        return 0


cdef epoch_t _epoch_of(BinaryData data, WeightVector a, Rules rules) except NULL:
    cdef epoch_t fused = rules.condition.fused_epoch(rules, data, a)
    return fused if fused != NULL else mini_epoch
