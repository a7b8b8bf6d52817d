"""One update and one mini-epoch, which third parties compile against.

Each name is defined in the module it belongs to; `from margins._update cimport NAME` works for all of them.
"""

from libc.stdint cimport int32_t, int64_t
from margins.data._binary_data cimport BinaryData
from margins.rules._averaging cimport Averaging, count_samples, count_weight, end_hypothesis
from margins.rules._base cimport (
    NO_FAILURE, Condition, Failure, Membership, Rules, Shrink, Tally, Update, check_decay, check_sqnorm, check_step,
    check_thresholds, epoch_t,
)
from margins.rules._state cimport ABI, Sample, State, Step, Thresholds, advance, require_abi, whole
from margins.rules._weight_vector cimport (
    WeightVector, apply_decay, apply_step, describe_sample, keep_scale_in_range, normalise,
    ordinary_product, prefetch_sample, product,
)


cdef void mini_epoch(
    BinaryData data, WeightVector a, Rules rules, Averaging averaging, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil


cdef class SampleLoop:
    cdef readonly int64_t n_accesses      # samples processed since the loop was made
    # Last full pass: misclassified samples without an update, and how many of these are below their upper bounds.
    cdef readonly Py_ssize_t n_rejected, n_unmoved
    # During an epoch its problem and model, otherwise None.
    cdef BinaryData data
    cdef WeightVector weights
    cdef Rules rules
    cdef Averaging averaging
    cdef int64_t _next_signal_check
    cdef double _last_signal_check        # time.perf_counter() at the last check; 0: there was none
    cdef Py_ssize_t _max_chunk            # samples between two checks; 0: not yet known
    cdef Py_ssize_t chunk_size(self) noexcept nogil
    cdef int reserve(self, Py_ssize_t n_samples) except -1
    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil
    cdef int check(self) except -1
    cdef int _adapt_chunk(self) except -1
    cdef int run(self, const int32_t[::1] order, Py_ssize_t n, Tally* tally) except -1
    cdef int begin(self, BinaryData data, WeightVector weights, Rules rules, Averaging averaging) except -1
    cdef int end(self) except -1
