"""Mini-batches: the products of k samples are computed before one update by all of them.

    B = the next k samples,   W = {y in B: a.y <= threshold(state)}
    a <- s a + (1/k) sum_{y in W} c_y y,   then, if the step projects, back into its ball

Given: rules whose update is a `SubgradientStep`. Left in place: the weight vector, S, |a|^2 and the dual
variables, as after single samples. `State.t` counts batches. With k = 1 this is `mini_epoch`.

Source: Shalev-Shwartz, Singer & Srebro (2007), Pegasos, Figure 1.
"""

from libc.stdint cimport int32_t
from margins._update cimport (
    BinaryData, Rules, Sample, SampleLoop, Step, Tally, Thresholds, WeightVector, apply_decay, apply_step,
    check_decay, check_sqnorm, check_step, check_thresholds, describe_sample, product,
)
from margins.rules.hinge cimport SubgradientStep

import numpy as np


cdef class MiniBatches(SampleLoop):
    """Epochs in mini-batches of k = `size` samples; samples that remain at the end start the next epoch."""

    def __init__(self, Py_ssize_t size):
        if size < 1:
            raise ValueError(f"size of MiniBatches must be an integer in [1, inf). Got {size}.")
        self.size = size
        self._remaining = np.empty(0, dtype=np.int32)

    def full_epoch(self, BinaryData data not None, WeightVector a not None, Rules rules not None,
                   const int32_t[::1] order not None, Rules full_pass_rules=None, averaging=None):
        """Process the samples of `order`, in as many batches as they fill."""
        if not isinstance(rules.update, SubgradientStep) or averaging is not None:
            raise TypeError(
                f"MiniBatches must have rules with a SubgradientStep and no averaging. Got {rules!r} and {averaging!r}."
            )
        samples = np.concatenate([self._remaining, np.asarray(order)])
        n_samples = len(samples) // self.size * self.size
        self._remaining = samples[n_samples:]
        # A batch that no epoch fills may be larger than memory.
        self.wrong = np.empty(self.size if n_samples > 0 else 0, dtype=np.int32)
        return SampleLoop.full_epoch(self, data, a, rules, samples[:n_samples])

    cdef Py_ssize_t chunk_size(self) noexcept nogil:
        # Only whole batches.
        return max(SampleLoop.chunk_size(self) // self.size, 1) * self.size

    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil:
        _process_batches(
            self.data, self.weights, self.rules, <SubgradientStep> self.rules.update, order, begin, end,
            self.wrong, tally
        )
        return 0


cdef void _process_batches(
    BinaryData data, WeightVector a, Rules rules, SubgradientStep update, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, int32_t[::1] wrong, Tally* tally
) noexcept nogil:
    """Process whole batches; `wrong` has the size of one batch."""
    cdef Py_ssize_t i, k, n_wrong, n = wrong.shape[0]
    cdef double size, factor
    cdef Thresholds thresholds
    cdef Sample sample
    cdef Step step
    while begin < end:
        rules.condition.thresholds(&a.state, &thresholds)
        if not check_thresholds(tally, order[begin], &thresholds):
            return
        n_wrong = 0
        for i in range(begin, begin + n):
            k = order[i]
            if product(data, a, k) <= thresholds.learn[data.labels[k] > 0]:
                wrong[n_wrong] = <int32_t> k
                n_wrong += 1
        size = update.size(&a.state) / n
        factor = rules.shrink.decay(&a.state)
        if not check_decay(tally, order[begin], factor):
            return
        apply_decay(a, factor)
        # Samples are added in turn, because |a|^2 follows from the product before each addition.
        for i in range(n_wrong):
            k = wrong[i]
            describe_sample(data, a, k, product(data, a, k), &thresholds, &sample)
            step.shrink, step.repetitions = 1, 1
            step.add = size * update.weight_of(k) * sample.weight
            if not check_step(tally, k, &step):
                return
            apply_step(data, a, &sample, &step)
            if not check_sqnorm(tally, k, &a.state):
                return
            a.state.t -= 1  # the batch is counted as one update
        factor = update.projection(a.state.sqnorm)
        if n_wrong and factor < 1:
            apply_decay(a, factor)
            a.state.t -= 1
        begin += n
        tally.n_changed += n_wrong
