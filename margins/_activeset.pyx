"""The schedules: which patterns are presented, in which order, how often.

One full epoch presents every pattern once, in the order it is given, and keeps those that are hard
as the first active set. The active sets are nested, each kept during a pass over the one above:

    full_epoch:  pass over all patterns, keeping level 0;  process(level 0)
    process(j):  repeat at most passes[j] times
                     pass over level j, keeping level j + 1
                     stop if that pass changed nothing
                     process(level j + 1)

Only the order of presentation is affected, so every guarantee of the rules stands. Convergence is a
full pass, not an active-set pass, that changes nothing.

Source: Panagiotakopoulos & Tsampouka (2010), section 5; (2011), section 4.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs
from libc.stdlib cimport calloc, free
from margins.rules._unlearning cimport are_unlearning, unlearning_visits
from margins._update cimport (
    ILL_STEP, ILL_THRESHOLD, NO_FAILURE, OVERFLOW, VISITS_PER_SIGNAL_CHECK, Readout, State, mini_epoch,
    visits_t,
)

from typing import NamedTuple

import numpy as np

cdef Py_ssize_t KERNEL_VISITS_PER_SIGNAL_CHECK = 1 << 6  # each may compute a row of the kernel matrix


class Level(NamedTuple):
    """One level of the nested active sets: who enters it, and how often it is presented.

    Attributes
    ----------
    passes : int
        At most so many passes each time the level is built.
    factor : float
        A pattern enters if ``p <= factor * threshold`` when it is presented; -inf: never for this
        reason.
    supported : bool
        A pattern enters if its dual variable is positive when it is presented.
    updated : bool
        A pattern enters if it is updated and its dual variable is positive afterwards.
    """

    passes: int
    factor: float = float("-inf")
    supported: bool = False
    updated: bool = False


cdef class ActiveSets:
    """A full epoch with nested active sets; without levels, a plain epoch.

    Parameters
    ----------
    levels : sequence of Level
        From the largest set to the smallest.
    n_patterns : int
        How many patterns an order may hold.
    """

    def __cinit__(self, levels, Py_ssize_t n_patterns):
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
        # Pages that no active set reaches are never touched, so they cost nothing.
        self.members = np.empty((self.n_levels, n_patterns), dtype=np.int32)

    def __dealloc__(self):
        free(self.memberships)
        free(self.passes)

    def full_epoch(self, Patterns patterns not None, WeightVector a not None, Rules rules not None,
                   const int32_t[::1] order not None, Rules full_pass_rules=None, Readout readout=None):
        """Present every pattern of `order`, then process the active sets.

        Parameters
        ----------
        full_pass_rules : Rules, optional
            Rules of the pass over all patterns, where they differ from those of the active sets.
        readout : Readout, optional
            Told of every hypothesis before it is updated.

        Returns
        -------
        int
            How many presentations of the full pass changed the weight vector; 0: converged. How many
            were misclassified and not updated is left in `n_refused`, how many of these were below the
            upper bounds of their dual variables in `n_unmoved`: with any, nothing has converged.

        Raises
        ------
        ValueError
            If rules or levels need dual variables that the weight vector does not keep, or if it is
            of other features or patterns than these.
        margins.rules.RuleError
            If a rule returns a number that is not finite. The weight vector then is of no use.
        KeyboardInterrupt
            Ctrl-C is honoured every few milliseconds.
        """
        cdef Tally tally
        cdef Py_ssize_t n_changed
        if full_pass_rules is None:
            full_pass_rules = rules
        if not a.keeps_dual and (
            patterns.rows.is_kernel or patterns.bonus is not None or rules.condition.unlearns
            or rules.update.needs_dual
            or any(level.supported or level.updated for level in self.levels)
        ):
            raise ValueError(
                f"{rules.condition!r}, {rules.update!r}, these patterns or the active sets {self.levels} "
                "need dual variables, which this weight vector does not keep."
            )
        a.check_fit(patterns)
        self.visits_of_all = _visits_by(patterns, a, full_pass_rules)
        self.visits_of_members = _visits_by(patterns, a, rules)
        with nogil:
            self._present(patterns, a, full_pass_rules, readout, order, order.shape[0], 0, &tally)
            n_changed = tally.n_changed
            if n_changed and self.n_levels:
                self._process(patterns, a, rules, readout, 0, tally.n_kept)
        self.n_refused, self.n_unmoved = tally.n_refused, tally.n_unmoved
        return n_changed

    cdef int _process(
        self, Patterns patterns, WeightVector a, Rules rules, Readout readout, Py_ssize_t level,
        Py_ssize_t n
    ) except -1 nogil:
        """Pass over the first n members of a level, and over the levels nested in it."""
        cdef Tally tally
        cdef Py_ssize_t i
        for i in range(self.passes[level]):
            if n == 0:
                break
            self._present(patterns, a, rules, readout, self.members[level], n, level + 1, &tally)
            if tally.n_changed == 0:
                break
            if level + 1 < self.n_levels:
                self._process(patterns, a, rules, readout, level + 1, tally.n_kept)
        return 0

    cdef int _present(
        self, Patterns patterns, WeightVector a, Rules rules, Readout readout, const int32_t[::1] order,
        Py_ssize_t n, Py_ssize_t level, Tally* tally
    ) except -1 nogil:
        """One pass over order[:n], keeping the members of `level` (none behind the last)."""
        cdef Py_ssize_t begin = 0, end
        cdef Py_ssize_t most = VISITS_PER_SIGNAL_CHECK
        cdef visits_t visits = self.visits_of_all if level == 0 else self.visits_of_members
        if patterns.rows.is_kernel:
            most = KERNEL_VISITS_PER_SIGNAL_CHECK
        tally.n_changed = tally.n_refused = tally.n_kept = tally.n_unmoved = 0
        tally.failure = NO_FAILURE
        while begin < n:
            end = min(n, begin + most)
            if readout is not None:
                with gil:
                    readout.reserve(end - begin)
            if level < self.n_levels:
                visits(patterns, a, rules, readout, order, begin, end, &self.memberships[level],
                       self.members[level], tally)
            else:
                visits(patterns, a, rules, readout, order, begin, end, NULL, None, tally)
            with gil:
                patterns.rows.check()
                rules.check()
                if tally.failure != NO_FAILURE:
                    raise _error_of(rules, &a.state, tally)
            self.n_visits += end - begin
            begin = end
            if self.n_visits >= self._next_signal_check:
                self._next_signal_check = self.n_visits + most
                with gil:
                    PyErr_CheckSignals()
        return 0


cdef visits_t _visits_by(Patterns patterns, WeightVector a, Rules rules):
    return unlearning_visits if are_unlearning(patterns, a, rules) else mini_epoch


cdef object _error_of(Rules rules, const State* state, const Tally* tally):
    """The exception for a rule that has returned what no rule may."""
    from margins.rules.errors import RuleError

    cdef double factor
    if tally.failure == ILL_THRESHOLD:
        rule, what = rules.condition, "return thresholds above -inf"
    elif tally.failure == OVERFLOW:
        rule, what = rules.update, "keep |a|**2 in the range of a double"
    else:
        rule, what = rules.shrink, "return finite factors"
        factor = rules.shrink.factor(state)
        if tally.failure == ILL_STEP and fabs(factor) < INFINITY:
            rule, what = rules.update, "add finite multiples of a sample"
    return RuleError(repr(rule), what, tally.value, tally.failed)
