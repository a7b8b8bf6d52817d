"""One mini-epoch: process samples in order, and update the weight vector by the rules.

The problem: given samples y_k = l_k [x_k, rho] (labels reflected, augmented by rho), each with a slack
term D_k if the margin is soft, find a weight vector a such that a.y_k exceeds the rules' threshold for all k.
Every rule-based algorithm is this loop:

    p = a.y_k                                     one inner product
    if p <= threshold(state):   a <- s a + c y_k  (learning)
    elif p >= ceiling(state):   a <- a - c y_k    (unlearning, only while alpha_k > 0)
    otherwise:                  a <- s a          (only if the shrink decays)

Thresholds change only when a does, so they are computed after an update and otherwise only compared.
The parts are defined in `margins.data._binary_data` (the samples), `margins.rules._weight_vector` (a and
its updates), `margins.rules._base` (the rules) and `margins.rules._averaging`; this module re-exports them.

Source: Panagiotakopoulos & Tsampouka (2010, 2011, 2012); the slack terms: section 2 of 2011.
"""

import time

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t
from margins._limits cimport (
    FIRST_SAMPLES_PER_SIGNAL_CHECK, KERNEL_SAMPLES_PER_SIGNAL_CHECK, PREFETCH_DISTANCE,
    SAMPLES_PER_SIGNAL_CHECK, SECONDS_PER_SIGNAL_CHECK,
)
from margins.data._binary_data cimport BinaryData
from margins.rules._averaging cimport Averaging, count_samples, count_weight, end_hypothesis
from margins.rules._base cimport (
    INVALID_STEP, INVALID_THRESHOLD, NO_FAILURE, OVERFLOW, Condition, Membership, Rules, Shrink, Tally, Update,
    check_decay, check_sqnorm, check_step, check_thresholds,
)
from margins.rules._state cimport ABI, Sample, Step, Thresholds
from margins.rules._weight_vector cimport (
    WeightVector, apply_decay, apply_step, describe_sample, prefetch_sample, product,
)

from margins.linalg.threads import check_time
from margins.rules.errors import RuleError

cdef enum:
    MAX_NEAREST = 32   # maximum number of kernel rows that are computed because they may soon be read

abi: int = ABI
# Names that are cimported are not attributes of the module; these are, for `from margins._update import NAME`.
globals().update(
    {kind.__name__: kind for kind in (Condition, BinaryData, Averaging, Rules, Shrink, Update, WeightVector)}
)


cdef class SampleLoop:
    """The protocol of all loops over samples, and the driver of their passes.

    A subclass defines `process`, which processes order[begin:end] without the GIL, and may extend `full_epoch`.
    `run` makes one pass in chunks. Between chunks it raises errors of rules and rows and honours Ctrl-C and time
    limits, so everything that a loop changes must be consistent there. `process` returns at the first number
    that is not finite, and records it in its tally.

    Attributes
    ----------
    n_accesses : int
        Samples processed since the loop was made, in all passes.
    n_rejected : int
        Misclassified samples of the last full pass that caused no update.
    n_unmoved : int
        Rejected samples below the upper bounds of their dual variables: if there are any, nothing has converged.
    """

    def full_epoch(self, BinaryData data not None, WeightVector a, Rules rules, const int32_t[::1] order not None,
                   Rules full_pass_rules=None, Averaging averaging=None) -> int:
        """Process the samples of `order`; return how many changed the model, and set `n_rejected` and `n_unmoved`."""
        cdef Tally tally
        self.begin(data, a, rules, None)
        try:
            self.run(order, order.shape[0], &tally)
        finally:
            self.end()
        self.n_rejected, self.n_unmoved = tally.n_rejected, tally.n_unmoved
        return tally.n_changed

    cdef Py_ssize_t chunk_size(self) noexcept nogil:
        """Return the number of samples for the next call of `process`."""
        if self.data is not None and self.data.rows.is_kernel:
            return KERNEL_SAMPLES_PER_SIGNAL_CHECK
        return self._max_chunk if self._max_chunk > 0 else FIRST_SAMPLES_PER_SIGNAL_CHECK

    cdef int reserve(self, Py_ssize_t n_samples) except -1:
        """Allocate the memory that `process` may need for `n_samples` samples."""
        if self.averaging is not None:
            self.averaging.reserve(n_samples)
        return 0

    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil:
        """Process order[begin:end], and add to the counts of `tally`."""
        return 0

    cdef int check(self) except -1:
        """Raise the error of a rule or a row in the last chunk, if there was one."""
        if self.data is not None:
            self.data.rows.check()
        if self.rules is not None:
            self.rules.check()
        return 0

    cdef int run(self, const int32_t[::1] order, Py_ssize_t n, Tally* tally) except -1:
        """Make one pass over order[:n], and leave its counts in `tally`; RuleError if a rule's number is not finite."""
        cdef Py_ssize_t begin = 0, end, size
        tally.n_changed = tally.n_rejected = tally.n_kept = tally.n_unmoved = 0
        tally.failure = NO_FAILURE
        while begin < n:
            size = self.chunk_size()
            end = min(n, begin + size)
            self.reserve(end - begin)
            with nogil:
                self.process(order, begin, end, tally)
            self.check()
            if tally.failure != NO_FAILURE:
                raise _error_of(self.rules, self.weights, tally)
            self.n_accesses += end - begin
            begin = end
            if self.n_accesses >= self._next_signal_check:
                PyErr_CheckSignals()
                check_time()
                self._adapt_chunk()
                self._next_signal_check = self.n_accesses + self.chunk_size()
        return 0

    cdef int _adapt_chunk(self) except -1:
        """Adapt the length of chunks, which changes no result, to the time since the last check of signals."""
        cdef double now = time.perf_counter(), elapsed = now - self._last_signal_check
        cdef Py_ssize_t size = self._max_chunk
        if size == 0:
            size = FIRST_SAMPLES_PER_SIGNAL_CHECK
        elif elapsed < 0.5 * SECONDS_PER_SIGNAL_CHECK:
            size = min(2 * size, SAMPLES_PER_SIGNAL_CHECK)
        elif elapsed > 2 * SECONDS_PER_SIGNAL_CHECK:
            size = max(size // 2, 1)
        self._max_chunk, self._last_signal_check = size, now
        return 0

    cdef int begin(self, BinaryData data, WeightVector weights, Rules rules, Averaging averaging) except -1:
        """Start an epoch over this problem."""
        self.data, self.weights, self.rules, self.averaging = data, weights, rules, averaging
        return 0

    cdef int end(self) except -1:
        """End the epoch, and release its problem and model."""
        self.data = self.weights = self.rules = self.averaging = None
        return 0


cdef object _error_of(Rules rules, WeightVector a, const Tally* tally):
    """Return the RuleError for a rule that returned an invalid number."""
    cdef double factor
    if tally.failure == INVALID_THRESHOLD:
        rule, requirement = rules.condition, "return thresholds above -inf"
    elif tally.failure == OVERFLOW:
        rule, requirement = rules.update, "keep |a|**2 in the range of a double"
    else:
        rule, requirement = rules.shrink, "return finite factors"
        factor = rules.shrink.factor(&a.state)
        if tally.failure == INVALID_STEP and fabs(factor) < INFINITY:
            rule, requirement = rules.update, "add finite multiples of a sample"
    return RuleError(repr(rule), requirement, tally.value, tally.failed)


cdef void _expect(
    BinaryData data, WeightVector a, const Thresholds* thresholds, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """Announce to a kernel which samples of order[begin:end], whose products are known, will probably be updated.

    First come the samples that the thresholds would update now, then those nearest to them, while rows cost little.
    """
    cdef Py_ssize_t i, j, k, n = 0, n_spare
    cdef double distance
    cdef Py_ssize_t[MAX_NEAREST] nearest      # samples, ...
    cdef double[MAX_NEAREST] distances        # ... nearest first
    for i in range(begin, end):
        k = order[i]
        if k == order[begin - 1]:
            continue  # the same sample again: its row is already requested, and must have only one slot
        if product(data, a, k) <= thresholds.learn[data.labels[k] > 0]:
            if not data.rows.expect(k):
                return
    n_spare = min(data.rows.n_spare_rows(), <Py_ssize_t> MAX_NEAREST)
    if n_spare <= 0:
        return
    for i in range(begin, end):
        k = order[i]
        distance = product(data, a, k) - thresholds.learn[data.labels[k] > 0]
        if k == order[begin - 1] or not distance > 0 or not data.rows.is_missing(k):
            continue
        if n == n_spare and distance >= distances[n - 1]:
            continue
        n += n < n_spare
        j = n - 1
        while j > 0 and distances[j - 1] > distance:
            nearest[j], distances[j] = nearest[j - 1], distances[j - 1]
            j -= 1
        nearest[j], distances[j] = k, distance
    for j in range(n):
        if not data.rows.expect(nearest[j]):
            return


cdef void mini_epoch(
    BinaryData data, WeightVector a, Rules rules, Averaging averaging, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil:
    """Process order[begin:end]: update, and keep the samples of the next active set.

    `averaging` None: only the last hypothesis is used. `keep` NULL: no sample is kept. Kept samples are
    written to `kept` from `tally.n_kept` on; this and the other counts continue across calls.

    Returns early at the first number of a rule that is not finite; see `tally.failure`.
    """
    cdef Py_ssize_t i, k, since = begin, rejected_before = tally.n_rejected
    cdef double p, compared, factor
    cdef bint is_weighted = averaging is not None and data.weight is not None
    cdef bint positive, member, changed, has_dual = a.beta is not None
    cdef bint is_kernel = data.rows.is_kernel
    cdef bint has_offset = has_dual and data.offset is not None
    cdef Thresholds thresholds
    cdef Sample sample
    cdef Step step
    rules.condition.thresholds(&a.state, &thresholds)
    if not check_thresholds(tally, order[begin], &thresholds):
        return
    for i in range(begin, end):
        if i + PREFETCH_DISTANCE < end and not is_kernel:
            prefetch_sample(data, a, order[i + PREFETCH_DISTANCE])
        k = order[i]
        p = product(data, a, k)
        compared = p + data.offset[k] if has_offset and a.beta[k] > 0 else p
        positive = data.labels[k] > 0
        member = keep != NULL and (
            compared <= keep.factor * thresholds.learn[positive]
            or (keep.supported and has_dual and a.beta[k] > 0)
        )
        changed = False
        if compared <= thresholds.learn[positive]:
            describe_sample(data, a, k, p, &thresholds, &sample)
            if sample.dual < sample.upper:
                step.rounded = False
                rules.update.learn(rules, &a.state, &sample, &step)
                changed = not step.repetitions <= 0  # NaN is a change, and recorded below
                tally.n_unmoved += not (changed or step.rounded)
            if not changed:
                tally.n_rejected += 1
        elif compared >= thresholds.unlearn[positive] and has_dual and a.beta[k] > 0:
            describe_sample(data, a, k, p, &thresholds, &sample)
            rules.update.unlearn(rules, &a.state, &sample, &step)
            changed = not step.repetitions <= 0
        if is_weighted:
            count_weight(averaging, data.weight[k], not (changed or compared <= thresholds.learn[positive]))
        if changed:
            if not check_step(tally, k, &step):
                break
            if is_kernel and data.rows.is_missing(k):
                _expect(data, a, &thresholds, order, i + 1, end)
            if averaging is not None:
                if not is_weighted:
                    count_samples(averaging, i + 1 - since, tally.n_rejected - rejected_before + 1)
                end_hypothesis(averaging, data, a, &sample, &step)
                since, rejected_before = i + 1, tally.n_rejected
            apply_step(data, a, &sample, &step)
            tally.n_changed += 1
            rules.condition.thresholds(&a.state, &thresholds)
            if not (check_sqnorm(tally, k, &a.state) and check_thresholds(tally, k, &thresholds)):
                break
            if keep != NULL and keep.updated and has_dual and a.beta[k] > 0:
                member = True
        elif rules.decays:
            factor = rules.shrink.decay(&a.state)
            if not check_decay(tally, k, factor):
                break
            apply_decay(a, factor)
            rules.condition.thresholds(&a.state, &thresholds)
            if not check_thresholds(tally, k, &thresholds):
                break
        if member:
            kept[tally.n_kept] = k
            tally.n_kept += 1
    if averaging is not None and not is_weighted:
        count_samples(averaging, end - since, tally.n_rejected - rejected_before)
