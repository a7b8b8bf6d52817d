from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t
from margins.data._binary_data cimport BinaryData
from margins.rules._averaging cimport Averaging
from margins.rules._state cimport ABI, Sample, State, Step, Thresholds, advance, require_abi, whole
from margins.rules._weight_vector cimport WeightVector, ordinary_product, product


cdef struct Membership:
    # Reasons to keep a processed sample for the next active set; one of them is enough.
    double factor       # p <= factor * threshold, before the update
    bint supported      # alpha_k > 0, before the update
    bint updated        # updated now, with alpha_k > 0 afterwards


cdef enum Failure:
    NO_FAILURE
    INVALID_THRESHOLD
    INVALID_STEP        # from the update or the shrink
    INVALID_DECAY
    OVERFLOW        # finite steps, but |a|^2 exceeds the range of a double


cdef struct Tally:
    Py_ssize_t n_changed    # samples that changed the weight vector
    Py_ssize_t n_rejected    # misclassified samples that did not change it
    Py_ssize_t n_kept       # samples kept for the next active set
    Py_ssize_t n_unmoved    # rejected samples below their upper bounds: the rule made no update
    Failure failure         # failure of the first rule that returned an invalid value; it ends the pass
    Py_ssize_t failed       # the sample at which it happened
    double value            # the invalid value


cdef inline bint are_sound(const Thresholds* thresholds) noexcept nogil:
    """Return True unless a threshold is NaN or -inf."""
    return (
        thresholds.learn[0] > -INFINITY and thresholds.learn[1] > -INFINITY
        and thresholds.unlearn[0] > -INFINITY and thresholds.unlearn[1] > -INFINITY
    )


cdef inline bint is_finite(const Step* step) noexcept nogil:
    """Return True if every number of a step is finite."""
    return fabs(step.shrink) < INFINITY and fabs(step.add) < INFINITY and fabs(step.repetitions) < INFINITY


# `check_thresholds`, `check_step`, `check_decay` and `check_sqnorm` return True for valid values; they
# record other values, with the sample k.
cdef bint record_thresholds(Tally* tally, Py_ssize_t k, const Thresholds* thresholds) noexcept nogil
cdef bint record_step(Tally* tally, Py_ssize_t k, const Step* step) noexcept nogil
cdef bint record(Tally* tally, Failure failure, Py_ssize_t k, double value) noexcept nogil


cdef inline bint check_thresholds(Tally* tally, Py_ssize_t k, const Thresholds* thresholds) noexcept nogil:
    return are_sound(thresholds) or record_thresholds(tally, k, thresholds)


cdef inline bint check_step(Tally* tally, Py_ssize_t k, const Step* step) noexcept nogil:
    return is_finite(step) or record_step(tally, k, step)


cdef inline bint check_decay(Tally* tally, Py_ssize_t k, double factor) noexcept nogil:
    return fabs(factor) < INFINITY or record(tally, INVALID_DECAY, k, factor)


cdef inline bint check_sqnorm(Tally* tally, Py_ssize_t k, const State* state) noexcept nogil:
    return state.sqnorm < INFINITY or record(tally, OVERFLOW, k, state.sqnorm)


# One mini-epoch: process order[begin:end], with `margins._update.mini_epoch` or the fused loop of some rules.
ctypedef void (*epoch_t)(
    BinaryData data, WeightVector a, Rules rules, Averaging averaging, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil


cdef class Condition:
    cdef int check(self) except -1
    cdef double threshold(self, const State* state) noexcept nogil
    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil
    cdef double repetitions(self, const State* state, const Sample* sample) noexcept nogil
    cdef epoch_t fused_epoch(self, Rules rules, BinaryData data, WeightVector a) except? NULL


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
    cdef double repetitions(self, double eta, double most, const State* state, const Sample* sample) noexcept nogil
