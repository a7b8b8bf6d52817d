"""Mini-batches: many patterns are looked at before one update that is about all of them.

The loop over single patterns does not take them: an update needs the products of a whole batch.

    B = the next k patterns,   W = {y in B: a.y <= threshold(state)}
    a <- s a + (1/k) sum_{y in W} c_y y,   then, if the step asks for it, back into its ball

Given rules whose update is a `SubgradientStep`; left in place are the weight vector, S, |a|^2 and the
dual variables, as after single presentations. The clock t counts batches. With k = 1 it is the loop
over single patterns.

Source: Shalev-Shwartz, Singer & Srebro (2007), Pegasos, Figure 1.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t
from margins._update cimport (
    Patterns, Rules, Step, Thresholds, Visit, WeightVector, apply_decay, apply_step, product,
)
from margins.rules.hinge cimport SubgradientStep

import numpy as np

cdef Py_ssize_t VISITS_PER_SIGNAL_CHECK = 1 << 18  # a few milliseconds of work


cdef class MiniBatches:
    """Epochs in mini-batches, for the patterns of one run.

    Parameters
    ----------
    size : int
        k, the patterns of a batch. Patterns that are left over at the end of an epoch begin the next.
    """

    def __init__(self, Py_ssize_t size):
        if size < 1:
            raise ValueError(f"size of MiniBatches must be an integer in [1, inf). Got {size}.")
        self.size = size
        self._left = np.empty(0, dtype=np.int32)

    def full_epoch(self, Patterns patterns not None, WeightVector a not None, Rules rules not None,
                   const int32_t[::1] order not None, Rules full_pass_rules=None, readout=None):
        """Present the patterns of `order`, as many batches as they fill.

        Parameters
        ----------
        full_pass_rules, readout : None
            For `ActiveSets`; not here.

        Returns
        -------
        int
            How many patterns were added.

        Raises
        ------
        TypeError
            If the update is no `SubgradientStep`, or there is a readout.
        KeyboardInterrupt
            Ctrl-C is honoured every few milliseconds.
        """
        cdef Py_ssize_t n_added
        cdef const int32_t[::1] batches
        cdef int32_t[::1] wrong = np.empty(self.size, dtype=np.int32)
        if not isinstance(rules.update, SubgradientStep) or readout is not None:
            raise TypeError(
                "MiniBatches must have rules with a SubgradientStep and no readout. "
                f"Got {rules!r} and {readout!r}."
            )
        together = np.concatenate([self._left, np.asarray(order)])
        n_presented = len(together) // self.size * self.size
        self._left = together[n_presented:]
        batches = together[:n_presented]
        with nogil:
            n_added = self._present(patterns, a, rules, <SubgradientStep> rules.update, batches, wrong)
        return n_added

    cdef Py_ssize_t _present(
        self, Patterns patterns, WeightVector a, Rules rules, SubgradientStep update,
        const int32_t[::1] order, int32_t[::1] wrong
    ) except -1 nogil:
        """Present whole batches; `wrong` has room for the patterns of one."""
        cdef Py_ssize_t i, k, n_wrong, begin = 0, n_added = 0, since_check = 0
        cdef double size, factor
        cdef Thresholds thresholds
        cdef Visit visit
        cdef Step step
        while begin < order.shape[0]:
            rules.condition.thresholds(&a.state, &thresholds)
            n_wrong = 0
            for i in range(begin, begin + self.size):
                k = order[i]
                if product(patterns, a, k) <= thresholds.learn[patterns.labels[k] > 0]:
                    wrong[n_wrong] = <int32_t> k
                    n_wrong += 1
            size = update.size(&a.state) / self.size
            apply_decay(a, rules.shrink.decay(&a.state))
            # One after the other, so that |a|^2 can be had from the product before each addition.
            for i in range(n_wrong):
                visit.k = wrong[i]
                visit.positive = patterns.labels[visit.k] > 0
                visit.product = product(patterns, a, visit.k)
                visit.sqnorm = patterns.sqnorms[visit.k] + patterns.extension[visit.k]
                step.shrink, step.repetitions = 1, 1
                step.add = size * update.weight_of(visit.k)
                apply_step(patterns, a, &visit, &step)
                a.state.t -= 1  # the batch has been counted
            factor = update.projection(a.state.sqnorm)
            if n_wrong and factor < 1:
                apply_decay(a, factor)
                a.state.t -= 1
            begin += self.size
            n_added += n_wrong
            self.n_visits += self.size
            since_check += self.size
            if since_check >= VISITS_PER_SIGNAL_CHECK:
                since_check = 0
                with gil:
                    PyErr_CheckSignals()
                    if patterns.rows.is_kernel:
                        patterns.rows.check()
        if patterns.rows.is_kernel:
            with gil:
                patterns.rows.check()
        return n_added
