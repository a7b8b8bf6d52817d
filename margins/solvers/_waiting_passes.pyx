"""Passes over the rows of a kernel matrix in which updates wait until products are read.

`margins.kernels._backlog` explains how updates wait, and `ProductRows` decides when this saves time. While updates
wait, only the products with the samples of the current block are up to date, so nothing else may read or rescale
the weight vector during the pass. The rules and averagings below do not. An update that shrinks the vector rescales
it, and other averagings copy it. Subclasses may do anything, so only the exact classes count.
"""

from libc.stdint cimport int32_t
from margins._activeset cimport ActiveSets
from margins._update cimport Averaging, BinaryData, Rules, Tally, WeightVector
from margins.kernels._row_cache cimport ProductRows

from margins.rules import Additive, Average, MistakeHistory, NoShrink, PassiveAggressive

UPDATES = (Additive, PassiveAggressive)
AVERAGINGS = (type(None), Average, MistakeHistory)


cdef class WaitingPasses(ActiveSets):
    """`ActiveSets` whose updates wait, bit for bit the same, in passes over rows that do not fit in the cache."""

    def full_pass(self, BinaryData data not None, WeightVector a not None, Rules rules not None,
                  order, Rules full_pass_rules=None, Averaging averaging=None):
        """See `ActiveSets.full_pass`."""
        if not (isinstance(data.rows, ProductRows) and self._may_wait(full_pass_rules or rules, averaging)):
            return ActiveSets.full_pass(self, data, a, rules, order, full_pass_rules, averaging)
        cdef ProductRows rows = data.rows
        rows.begin_pass(&a.v[0])
        self.rows = rows
        try:
            return ActiveSets.full_pass(self, data, a, rules, order, full_pass_rules, averaging)
        finally:
            self.rows = None
            rows.end_pass()
            rows.check()

    def _may_wait(self, rules, averaging):
        return (
            self.n_levels == 0  # active sets read each product many times
            and type(rules.update) in UPDATES
            and type(rules.shrink) is NoShrink
            and type(averaging) in AVERAGINGS
        )

    cdef Py_ssize_t chunk_size(self) noexcept nogil:
        cdef Py_ssize_t size = self.rows.block_size() if self.rows is not None else 0
        return size if size > 0 else ActiveSets.chunk_size(self)

    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil:
        if self.rows is not None:
            self.rows.begin_block(&order[begin], end - begin)
        return ActiveSets.process(self, order, begin, end, tally)
