"""Visits of the margin perceptron with unlearning, each in one piece.

    p = a.y_k
    p <= b:             a <- a + mu y_k, the least mu with p + mu N_k > b; alpha_k at most its bound
    p >= b + delta_b:   a <- a - mu y_k, the least mu with p - mu N_k < b + delta_b; alpha_k at least 0

These are the visits of `mini_epoch` by the rules Unlearning(b, delta_b), Additive() and NoShrink(), number
by number. There three rules are asked at every update, which takes a fifth of its time where rows are as
short as those of texts; where features are many, nearly all of a fit is such visits.

Source: Panagiotakopoulos & Tsampouka (2010), the margin perceptron with unlearning, multiple updates.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs, floor
from libc.stdint cimport int32_t
from margins._sparse cimport AHEAD
from margins._update cimport (
    VISITS_PER_SIGNAL_CHECK, Patterns, Step, Visit, WeightVector, apply_step, ask_for, product, whole,
)


cdef class UnlearningVisits:
    """Plain epochs, in place of `ActiveSets` without levels.

    Parameters
    ----------
    b, delta_b : float in (0, inf)
    """

    def __init__(self, double b, double delta_b):
        if not (b > 0 and delta_b > 0):   # with b = 0 zero rows would not know how often to be added
            raise ValueError(f"b and delta_b of UnlearningVisits must be > 0. Got {b} and {delta_b}.")
        self.b, self.delta_b = b, delta_b

    def full_epoch(self, Patterns patterns not None, WeightVector a not None, rules,
                   const int32_t[::1] order not None, full_pass_rules=None, readout=None):
        """Present every pattern of `order`; see `ActiveSets.full_epoch`.

        Parameters
        ----------
        patterns : Patterns
            Not over the rows of a kernel, without a bonus.
        a : WeightVector
            With dual variables.
        rules
            Those of this class: not looked at.
        full_pass_rules, readout
            None.

        Returns
        -------
        int
            How many presentations changed the weight vector.

        Raises
        ------
        ValueError
            If something is given that is not allowed, or a weight vector of other features or patterns.
        KeyboardInterrupt
            Ctrl-C is honoured every few milliseconds.
        """
        cdef Py_ssize_t begin = 0, end, n_changed = 0
        a.check_fit(patterns)
        if not a.keeps_dual or patterns.rows.is_kernel or patterns.bonus is not None:
            raise ValueError("UnlearningVisits need dual variables, no kernel and no bonus.")
        if full_pass_rules is not None or readout is not None:
            raise ValueError("UnlearningVisits take neither full_pass_rules nor a readout.")
        self.n_refused = 0
        while begin < order.shape[0]:
            end = min(order.shape[0], begin + VISITS_PER_SIGNAL_CHECK)
            with nogil:
                n_changed += self._present(patterns, a, order, begin, end)
            self.n_visits += end - begin
            PyErr_CheckSignals()
            begin = end
        return n_changed

    cdef Py_ssize_t _present(
        self, Patterns patterns, WeightVector a, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end
    ) noexcept nogil:
        cdef Py_ssize_t i, k, n_changed = 0
        cdef double alpha, ceiling = self.b + self.delta_b
        cdef Visit visit
        cdef Step step
        step.shrink = 1
        for i in range(begin, end):
            if i + AHEAD < end:
                ask_for(patterns, a, order[i + AHEAD])
            visit.k = k = order[i]
            visit.product = product(patterns, a, k)
            visit.sqnorm = patterns.sqnorms[k] + patterns.extension[k]
            alpha = a.state.scale * a.beta[k]
            if visit.product <= self.b:
                if alpha >= patterns.upper[k]:
                    self.n_refused += 1
                    continue
                step.add = step.repetitions = _repetitions(visit.product, visit.sqnorm, self.b)
                if step.add > patterns.upper[k] - alpha:
                    step.add = patterns.upper[k] - alpha
                    step.repetitions = min(step.repetitions, max(floor(step.add), 1))
            elif visit.product >= ceiling and alpha > 0:
                step.repetitions = whole((visit.product - ceiling) / visit.sqnorm) + 1
                step.add = -step.repetitions
                if step.repetitions > alpha:
                    step.repetitions = max(floor(alpha), 1)
                    step.add = -alpha
            else:
                continue
            apply_step(patterns, a, &visit, &step)
            n_changed += 1
        return n_changed


cdef inline double _repetitions(double p, double sqnorm, double b) noexcept nogil:
    """The least mu >= 1 with p + mu sqnorm > b, if p <= b."""
    cdef double root = (b - p) / sqnorm, nearest = whole(root + 0.5)
    if fabs(root - nearest) > 1e-9 * max(nearest, 1):
        return whole(root) + 1
    # Rounding may have moved the root across an integer.
    nearest = max(nearest, 1)
    return nearest + 1 if p + nearest * sqnorm <= b else nearest
