"""Visits of the margin perceptron with unlearning, each in one piece.

    p = a.y_k
    p <= b:             a <- a + mu y_k, the least mu with p + mu N_k > b; alpha_k at most its bound
    p >= b + delta_b:   a <- a - mu y_k, the least mu with p - mu N_k < b + delta_b; alpha_k at least 0

These are the visits of `mini_epoch` by the rules Unlearning(b, delta_b), Additive() and NoShrink(), number
by number. There three rules are asked at every update, which takes an eighth to a sixth of the time where
rows are short (nanoseconds a visit of a first pass: spambase 43, here 36, Adult 59, 49, Web 39, 35, pcmac
71, 62); and nearly all of a fit is such visits where features are many. (Without a branch between learning
and unlearning, pcmac's patterns between their bounds take 56 ns, with one 61.)

Source: Panagiotakopoulos & Tsampouka (2010), the margin perceptron with unlearning, multiple updates.
"""

from libc.math cimport INFINITY, copysign, fabs, floor
from libc.stdint cimport int32_t
from margins._sparse cimport AHEAD
from margins._update cimport (
    Membership, Patterns, Readout, Rules, Step, Tally, Visit, WeightVector, apply_step, ask_for,
    count_presentations, end_hypothesis, product, whole,
)
from margins.rules.conditions cimport Unlearning
from margins.rules.shrinks cimport NoShrink
from margins.rules.updates cimport Additive


cdef bint are_unlearning(Patterns patterns, WeightVector a, Rules rules):
    """True if `unlearning_visits` do what `mini_epoch` does by these rules."""
    # Rules of other packages may be subclasses. With b = 0 zero rows would not know how often to be added.
    if not (
        type(rules) is Rules
        and type(rules.condition) is Unlearning
        and type(rules.update) is Additive
        and type(rules.shrink) is NoShrink
    ):
        return False
    return (
        (<Unlearning> rules.condition).b > 0
        and (<Additive> rules.update).eta == 1
        and (<Additive> rules.update).most == INFINITY
        and a.beta is not None
        and patterns.bonus is None
        and not patterns.rows.is_kernel
    )


cdef void unlearning_visits(
    Patterns patterns, WeightVector a, Rules rules, Readout readout, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil:
    """Present order[begin:end]; see `mini_epoch`."""
    cdef double p, sqnorm, alpha, b = (<Unlearning> rules.condition).b
    cdef double ceiling = b + (<Unlearning> rules.condition).delta_b
    cdef double lack, beyond, room
    cdef double[2] rooms
    cdef Py_ssize_t i, k, since = begin, refused_before = tally.n_refused
    cdef bint member = False
    cdef Visit visit, visit_told
    cdef Step step, step_told   # copies: what others know the address of leaves its registers
    step.shrink = 1
    for i in range(begin, end):
        if i + AHEAD < end:
            ask_for(patterns, a, order[i + AHEAD])
        k = order[i]
        p = product(patterns, a, k)
        sqnorm = patterns.sqnorms[k] + patterns.extension[k]
        alpha = a.state.scale * a.beta[k]
        if keep != NULL:
            member = p <= keep.factor * b or (keep.supported and a.beta[k] > 0)
        # Whether a pattern between its bounds is learned or unlearned nobody could predict: no branch asks.
        lack = b - p
        beyond = max(lack, p - ceiling)
        step.repetitions = 0
        if beyond >= 0 and (alpha > 0 or lack >= 0):
            rooms[0], rooms[1] = alpha, patterns.upper[k] - alpha
            room = rooms[lack >= 0]
            if room > 0:
                step.repetitions = _repetitions(beyond, sqnorm, lack >= 0, p, b)
                step.add = step.repetitions
                if step.add > room:
                    step.add = room
                    step.repetitions = min(step.repetitions, max(floor(room), 1))
                step.add = copysign(step.add, lack)
            else:
                tally.n_refused += 1
        if step.repetitions > 0:
            visit.k, visit.product, visit.sqnorm = k, p, sqnorm
            if readout is not None:
                visit.positive, visit.dual, visit.upper = patterns.labels[k] > 0, alpha, patterns.upper[k]
                visit.threshold = b
                visit_told, step_told = visit, step
                end_hypothesis(
                    readout, patterns, a, &visit_told, &step_told, i + 1 - since,
                    tally.n_refused - refused_before,
                )
                since, refused_before = i + 1, tally.n_refused
            apply_step(patterns, a, &visit, &step)
            tally.n_changed += 1
            if keep != NULL and keep.updated and a.beta[k] > 0:
                member = True
        if member:
            kept[tally.n_kept] = k
            tally.n_kept += 1
    if readout is not None:
        count_presentations(readout, end - since, tally.n_refused - refused_before)


cdef inline double _repetitions(double beyond, double sqnorm, bint learns, double p, double b) noexcept nogil:
    """The least mu >= 1 with mu sqnorm > beyond, which is b - p if it learns."""
    cdef double root = beyond / sqnorm, nearest = whole(root + 0.5)
    if fabs(root - nearest) > 1e-9 * max(nearest, 1) or not learns:
        return whole(root) + 1
    # Rounding may have moved the root across an integer.
    nearest = max(nearest, 1)
    return nearest + 1 if p + nearest * sqnorm <= b else nearest
