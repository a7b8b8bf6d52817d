"""A schedule that leaves dual variables at their bounds alone: LIBLINEAR's "shrinking".

The problem: maximise S - |a|^2 / 2 over 0 <= alpha_k <= U_k, one alpha_k at a time. With the gradient
g_k = a.y_k - 1 the optimality conditions are violated by the projected gradient

    G_k = min(g_k, 0) if alpha_k = 0,   max(g_k, 0) if alpha_k = U_k,   else g_k

A dual variable at a bound whose gradient points outwards further than any violation of the pass before
will most likely stay there: its pattern is removed, until the next full epoch.

    full_epoch:  pass over all patterns
                 repeat at most `passes` times, each time in a new order
                     pass over the patterns left, removing; stop if that changed nothing

Nothing is lost by a wrong removal but time: a full pass presents every pattern, and only a full pass
without a change is convergence.

Source: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), section 3.2; LIBLINEAR's order of visits.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from margins._sparse cimport AHEAD
from margins._update cimport (
    VISITS_PER_SIGNAL_CHECK, Patterns, Rules, Step, Thresholds, Visit, WeightVector, apply_step, ask_for,
    product,
)

import numpy as np

from margins.data.permutations import shuffle


cdef class ShrinkingPasses:
    """Full epochs, each a pass over all patterns and passes over those that are left of them.

    Parameters
    ----------
    seed : int or sequence of int
        Of the orders of the passes over the patterns left.
    passes : int
        The most passes between two full ones.
    """

    def __init__(self, seed, Py_ssize_t passes):
        self._generator = np.random.default_rng(seed)
        self.passes = passes
        self.members = np.empty(0, dtype=np.int32)

    def full_epoch(self, Patterns patterns not None, WeightVector a not None, Rules rules not None,
                   order, Rules full_pass_rules=None, readout=None):
        """Present every pattern of `order`, then, again and again, those that are left.

        Parameters
        ----------
        full_pass_rules, readout : None
            For `ActiveSets`; not here.

        Returns
        -------
        int
            How many presentations of the full pass changed the weight vector; 0: converged. How many
            were misclassified, but moved nothing, is left in `n_refused`.

        Raises
        ------
        ValueError
            If the weight vector does not keep dual variables.
        KeyboardInterrupt
            Ctrl-C is honoured every few milliseconds.
        """
        cdef Violations before, now
        cdef Py_ssize_t n_changed
        cdef Py_ssize_t i, n
        if not a.keeps_dual:
            raise ValueError("ShrinkingPasses need dual variables, which this weight vector does not keep.")
        members = np.array(order, dtype=np.int32)
        self.members = members
        before.lowest, before.highest = -INFINITY, INFINITY
        self._pass(patterns, a, rules, len(members), &before, &now)
        n_changed, self.n_refused = now.n_changed, now.n_refused
        for i in range(self.passes):
            n = now.n_kept
            if n == 0 or now.n_changed == 0:
                break
            # Without violations on one side nothing is known of what is far on that side.
            before.lowest = now.lowest if now.lowest < 0 else -INFINITY
            before.highest = now.highest if now.highest > 0 else INFINITY
            shuffle(self._generator, members[:n])
            self._pass(patterns, a, rules, n, &before, &now)
        return n_changed

    cdef int _pass(
        self, Patterns patterns, WeightVector a, Rules rules, Py_ssize_t n, const Violations* before,
        Violations* out
    ) except -1:
        """One pass over members[:n]; those that stay are moved to the front."""
        cdef Py_ssize_t begin = 0, end
        out.lowest, out.highest = INFINITY, -INFINITY
        out.n_changed = out.n_refused = out.n_kept = 0
        while begin < n:
            end = min(n, begin + VISITS_PER_SIGNAL_CHECK)
            with nogil:
                shrinking_pass(patterns, a, rules, self.members, begin, end, before, out)
            patterns.rows.check()
            PyErr_CheckSignals()
            begin = end
        self.n_visits += n
        return 0


cdef void shrinking_pass(
    Patterns patterns, WeightVector a, Rules rules, int32_t[::1] members, Py_ssize_t begin,
    Py_ssize_t end, const Violations* before, Violations* out
) noexcept nogil:
    """Present members[begin:end], unless they are removed; the others are moved to members[n_kept:].

    `before` holds the violations of the pass before; those of this one are gathered in `out`.
    """
    cdef Py_ssize_t i, k
    cdef double gradient, violation
    cdef bint is_kernel = patterns.rows.is_kernel, refused
    cdef Thresholds thresholds
    cdef Visit visit
    cdef Step step
    rules.condition.thresholds(&a.state, &thresholds)
    for i in range(begin, end):
        if i + AHEAD < end and not is_kernel:
            ask_for(patterns, a, members[i + AHEAD])
        k = members[i]
        visit.k = k
        visit.positive = patterns.labels[k] > 0
        visit.product = product(patterns, a, k)
        visit.dual = a.state.scale * a.beta[k]
        visit.upper = patterns.upper[k]
        visit.threshold = thresholds.learn[visit.positive]
        visit.sqnorm = patterns.sqnorms[k] + patterns.extension[k]
        step.repetitions = 0
        refused = False
        if visit.product <= thresholds.learn[visit.positive]:
            if visit.dual < visit.upper:
                rules.update.learn(rules, &a.state, &visit, &step)
            refused = step.repetitions <= 0  # at its upper bound, rounding aside
        elif visit.product >= thresholds.unlearn[visit.positive] and visit.dual > 0:
            rules.update.unlearn(rules, &a.state, &visit, &step)
        out.n_refused += refused
        gradient = violation = visit.product - 1
        if visit.dual <= 0:
            if gradient > before.highest:
                continue
            violation = min(gradient, 0)
        elif refused:
            if gradient < before.lowest:
                continue
            violation = 0
        out.lowest = min(out.lowest, violation)
        out.highest = max(out.highest, violation)
        members[out.n_kept] = k
        out.n_kept += 1
        if step.repetitions > 0:
            apply_step(patterns, a, &visit, &step)
            out.n_changed += 1
            rules.condition.thresholds(&a.state, &thresholds)
