# cython: language_level=3
"""One update and one mini-epoch: what third parties compile against.

The names below are defined where each belongs; `from margins._update cimport NAME` gives all of them.
"""

from libc.stdint cimport int32_t
from margins.data._binary_problem cimport Patterns
from margins.rules._averaging cimport Readout, count_samples, end_hypothesis
from margins.rules._base cimport Condition, Membership, Rules, Shrink, Tally, Update, epoch_t
from margins.rules._state cimport ABI, Sample, State, Step, Thresholds, Visit, advance, require_abi, whole
from margins.rules._weight_vector cimport (
    WeightVector, apply_decay, apply_step, describe_sample, keep_scale_in_range, normalise,
    ordinary_product, prefetch_sample, product,
)


cdef void mini_epoch(
    Patterns patterns, WeightVector a, Rules rules, Readout readout, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil
