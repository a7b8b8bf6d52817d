# cython: language_level=3
"""The base classes of rules: Condition, Update, Shrink, and the Rules they make up."""

from libc.stdint cimport int32_t
from margins.data._binary_problem cimport Patterns
from margins.rules._averaging cimport Readout
from margins.rules._state cimport ABI, Sample, State, Step, Thresholds, Visit, advance, require_abi, whole
from margins.rules._weight_vector cimport WeightVector, ordinary_product, product


cdef struct Membership:
    # Which of the processed samples the next active set keeps; any one reason is enough.
    double factor       # p <= factor * threshold, before its update
    bint supported      # alpha_k > 0, before its update
    bint updated        # updated now, and alpha_k > 0 afterwards


cdef struct Tally:
    Py_ssize_t n_changed    # samples that changed the weight vector
    Py_ssize_t n_refused    # misclassified samples that did not
    Py_ssize_t n_kept       # samples kept for the next active set


# One mini-epoch: process order[begin:end]. `margins._update.mini_epoch`, or the fused loop of certain rules.
ctypedef void (*epoch_t)(
    Patterns patterns, WeightVector a, Rules rules, Readout readout, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil


cdef class Condition:
    cdef int check(self) except -1
    cdef double threshold(self, const State* state) noexcept nogil
    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil
    cdef double repetitions(self, const State* state, const Sample* sample) noexcept nogil
    cdef epoch_t fused_epoch(self, Rules rules, Patterns patterns, WeightVector a) except? NULL


cdef class Shrink:
    cdef int check(self) except -1
    cdef double factor(self, const State* state) noexcept nogil
    cdef double decay(self, const State* state) noexcept nogil
    cdef void repeat(self, const State* state, double repetitions, Step* out) noexcept nogil
    cdef double repetitions(self, const State* state, const Sample* sample, double b) noexcept nogil


cdef class Update:
    cdef int check(self) except -1
    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil
    cdef void unlearn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil


cdef class Rules:
    cdef readonly Condition condition
    cdef readonly Update update
    cdef readonly Shrink shrink
    cdef readonly bint decays
    cdef bint closed_form
    cdef int check(self) except -1
    cdef bint _misclassified_after(
        self, double repetitions, double eta, const State* state, const Sample* sample
    ) noexcept nogil
    cdef double repetitions(
        self, double eta, double most, const State* state, const Sample* sample
    ) noexcept nogil
