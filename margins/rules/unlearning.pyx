"""The condition of the margin perceptron with unlearning, and its epoch as one fused loop.

    p = a.y_k
    p <= b:             a <- a + mu y_k, with the least mu such that p + mu N_k > b; alpha_k at most its bound
    p >= b + delta_b:   a <- a - mu y_k, with the least mu such that p - mu N_k < b + delta_b; alpha_k >= 0

`unlearning_epoch` computes the same numbers as `margins._update.mini_epoch` with the rules
Unlearning(b, delta_b), Additive() and NoShrink(), bit for bit. The generic loop calls three rules at every
update, which takes an eighth to a sixth of the time if rows are short.

Source: Panagiotakopoulos & Tsampouka (2010), the margin perceptron with unlearning, multiple updates.
"""

from libc.math cimport INFINITY, copysign, fabs, floor
from libc.stdint cimport int32_t
from margins._limits cimport INTEGER_ROOT_TOLERANCE, PREFETCH_DISTANCE
from margins.rules._averaging cimport count_samples, end_hypothesis
from margins.rules._base cimport (
    Membership, BinaryData, Averaging, Rules, Sample, State, Step, Tally, Thresholds, WeightVector,
    check_sqnorm, epoch_t, product, whole,
)
from margins.rules._weight_vector cimport apply_step, prefetch_sample
from margins.rules.conditions cimport FixedThreshold
from margins.rules.shrinks cimport NoShrink
from margins.rules.updates cimport Additive


cdef class Unlearning(FixedThreshold):
    """Learn while ``p <= b``; unlearn what was learned while ``p >= b + delta_b``.

    Parameters
    ----------
    b : float in [0, inf)
    delta_b : float in (R**2, inf]
        More than the largest squared norm of a sample; otherwise learning and unlearning may alternate for ever.

    Source: Panagiotakopoulos & Tsampouka (2010), the margin perceptron with unlearning.

    See Also
    --------
    FixedThreshold : The condition without unlearning.
    UnitMargin : Unlearning by coordinate steps.

    Examples
    --------
    >>> from margins.rules import Additive, NoShrink, Rules, Unlearning
    >>> Rules(Unlearning(1, 12), Additive(), NoShrink())
    Rules(Unlearning(b=1, delta_b=12), Additive(eta=1, most=inf), NoShrink())
    """

    def __init__(self, double b, double delta_b):
        FixedThreshold.__init__(self, b)
        if not delta_b > 0:
            raise ValueError(f"delta_b of Unlearning must be in (0, inf]. Got {delta_b}.")
        self.delta_b = delta_b

    def __repr__(self):
        return f"Unlearning(b={self.b:g}, delta_b={self.delta_b:g})"

    @property
    def unlearns(self) -> bool:
        return True

    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil:
        out.learn[0] = out.learn[1] = self.b
        out.unlearn[0] = out.unlearn[1] = self.b + self.delta_b

    cdef epoch_t fused_epoch(self, Rules rules, BinaryData data, WeightVector a) except? NULL:
        # Only for the exact types, because a subclass may do anything. With b = 0 the multiplicity of a zero row
        # would be 0 / 0.
        if not (
            type(rules) is Rules
            and type(self) is Unlearning
            and type(rules.update) is Additive
            and type(rules.shrink) is NoShrink
        ):
            return NULL
        if (
            self.b > 0
            and (<Additive> rules.update).eta == 1
            and (<Additive> rules.update).most == INFINITY
            and a.beta is not None
            and data.offset is None
            and data.weight is None
            and not data.rows.is_kernel
        ):
            return unlearning_epoch
        return NULL


cdef void unlearning_epoch(
    BinaryData data, WeightVector a, Rules rules, Averaging averaging, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil:
    """Process order[begin:end]; see `margins._update.mini_epoch`."""
    cdef double p, sqnorm, alpha, b = (<Unlearning> rules.condition).b
    cdef double ceiling = b + (<Unlearning> rules.condition).delta_b
    cdef double shortfall, violation, limit
    cdef double[2] limits
    cdef Py_ssize_t i, k, since = begin, rejected_before = tally.n_rejected
    cdef bint member = False
    cdef Sample sample, sample_copy
    cdef Step step, step_copy   # a copy, because a struct whose address is passed to a call is not kept in registers
    step.shrink = 1
    for i in range(begin, end):
        if i + PREFETCH_DISTANCE < end:
            prefetch_sample(data, a, order[i + PREFETCH_DISTANCE])
        k = order[i]
        p = product(data, a, k)
        sqnorm = data.sqnorms[k] + data.diag[k]
        alpha = a.state.scale * a.beta[k]
        if keep != NULL:
            member = p <= keep.factor * b or (keep.supported and a.beta[k] > 0)
        # Branches on learning or unlearning are unpredictable while a dual variable is between its bounds.
        shortfall = b - p
        violation = max(shortfall, p - ceiling)
        step.repetitions = 0
        if violation >= 0 and (alpha > 0 or shortfall >= 0):
            limits[0], limits[1] = alpha, data.upper[k] - alpha
            limit = limits[shortfall >= 0]
            if limit > 0:
                step.repetitions = _repetitions(violation, sqnorm, shortfall >= 0, p, b)
                step.add = step.repetitions
                if step.add > limit:
                    step.add = limit
                    step.repetitions = min(step.repetitions, max(floor(limit), 1))
                step.add = copysign(step.add, shortfall)
            else:
                tally.n_rejected += 1
        if step.repetitions > 0:
            sample.k, sample.product, sample.sqnorm = k, p, sqnorm
            if averaging is not None:
                sample.positive, sample.dual, sample.upper = data.labels[k] > 0, alpha, data.upper[k]
                sample.threshold, sample.weight = b, 1
                sample_copy, step_copy = sample, step
                count_samples(averaging, i + 1 - since, tally.n_rejected - rejected_before + 1)
                end_hypothesis(averaging, data, a, &sample_copy, &step_copy)
                since, rejected_before = i + 1, tally.n_rejected
            apply_step(data, a, &sample, &step)
            tally.n_changed += 1
            if not check_sqnorm(tally, k, &a.state):
                break
            if keep != NULL and keep.updated and a.beta[k] > 0:
                member = True
        if member:
            kept[tally.n_kept] = k
            tally.n_kept += 1
    if averaging is not None:
        count_samples(averaging, end - since, tally.n_rejected - rejected_before)


cdef inline double _repetitions(double violation, double sqnorm, bint learns, double p, double b) noexcept nogil:
    """Return the least mu >= 1 with mu sqnorm > violation; when learning, violation is b - p."""
    cdef double root = violation / sqnorm, nearest = whole(root + 0.5)
    if fabs(root - nearest) > INTEGER_ROOT_TOLERANCE * max(nearest, 1) or not learns:
        return whole(root) + 1
    # Rounding may have moved the root across an integer.
    nearest = max(nearest, 1)
    return nearest + 1 if p + nearest * sqnorm <= b else nearest
