"""Dual coordinate descent that leaves out dual variables at their bounds: LIBLINEAR's "shrinking".

The problem: maximise S - |a|^2 / 2 over 0 <= alpha_k <= U_k, one alpha_k at a time. With the gradient
g_k = a.y_k - 1 the optimality conditions are violated by the projected gradient

    G_k = min(g_k, 0) if alpha_k = 0,   max(g_k, 0) if alpha_k = U_k,   else g_k

A dual variable at a bound whose gradient points outwards by more than any violation of the last pass will most
likely stay there, so its sample is removed until the next full epoch.

    full_epoch:  pass over all samples
                 repeat at most `passes` times, each time in a new order
                     pass over the remaining samples, removing some; stop if it changed nothing

A wrong removal costs only time: a full pass processes every sample, and the solver converges only with a full
pass that changes nothing.

`PenalisedPasses` do the same for another regulariser r, all samples in each pass: the problem is then to maximise
S - r*(a), and g_k = w.y_k - 1 with the gradient w of r* at a.

Source: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), section 3.2; updates in the order of LIBLINEAR.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t
from margins._limits cimport PREFETCH_DISTANCE
from margins._sparse cimport dot, nonzeros, prefetch
from margins._update cimport (
    BinaryData, Rules, Sample, SampleLoop, Step, Tally, Thresholds, WeightVector, apply_step, check_sqnorm,
    check_step, check_thresholds, describe_sample, prefetch_sample, product,
)
from margins.regularisers._terms cimport best_weight

import numpy as np

from margins.data.permutations import shuffle


cdef class ShrinkingPasses(SampleLoop):
    """Full epochs, each with a pass over all samples and up to `passes` over those that remain, in random orders."""

    def __init__(self, seed, Py_ssize_t passes):
        self._generator = np.random.default_rng(seed)
        self.passes = passes
        self.members = np.empty(0, dtype=np.int32)

    def full_epoch(self, BinaryData data not None, WeightVector a not None, Rules rules not None,
                   order, Rules full_pass_rules=None, averaging=None):
        """Process every sample of `order`, then, repeatedly, the samples that remain."""
        cdef Tally tally
        cdef Py_ssize_t _, n_changed
        if not a.keeps_dual:
            raise ValueError("ShrinkingPasses need dual variables, which this weight vector does not keep.")
        members = np.array(order, dtype=np.int32)
        self.members = members
        self.before.lowest, self.before.highest = -INFINITY, INFINITY
        self.begin(data, a, rules, None)
        try:
            self._pass(len(members), &tally)
            n_changed = tally.n_changed
            self.n_rejected, self.n_unmoved = tally.n_rejected, tally.n_unmoved
            for _ in range(self.passes):
                if tally.n_kept == 0 or tally.n_changed == 0:
                    break
                # Without violations on one side nothing is removed on that side.
                self.before.lowest = self.now.lowest if self.now.lowest < 0 else -INFINITY
                self.before.highest = self.now.highest if self.now.highest > 0 else INFINITY
                shuffle(self._generator, members[:tally.n_kept])
                self._pass(tally.n_kept, &tally)
        finally:
            self.end()
        return n_changed

    cdef int _pass(self, Py_ssize_t n, Tally* tally) except -1:
        """Make one pass over members[:n], and move the samples that remain to the front."""
        self.now.lowest, self.now.highest = INFINITY, -INFINITY
        return self.run(self.members, n, tally)

    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil:
        shrinking_pass(self.data, self.weights, self.rules, self.members, begin, end, &self.before, &self.now, tally)
        return 0


cdef void shrinking_pass(
    BinaryData data, WeightVector a, Rules rules, int32_t[::1] members, Py_ssize_t begin,
    Py_ssize_t end, const Violations* before, Violations* out, Tally* tally
) noexcept nogil:
    """Process members[begin:end]; those not removed move to members[n_kept:], and `out` collects violations."""
    cdef Py_ssize_t i, k
    cdef double gradient, violation
    cdef bint is_kernel = data.rows.is_kernel, rejected
    cdef Thresholds thresholds
    cdef Sample sample
    cdef Step step
    rules.condition.thresholds(&a.state, &thresholds)
    if not check_thresholds(tally, members[begin], &thresholds):
        return
    for i in range(begin, end):
        if i + PREFETCH_DISTANCE < end and not is_kernel:
            prefetch_sample(data, a, members[i + PREFETCH_DISTANCE])
        k = members[i]
        describe_sample(data, a, k, product(data, a, k), &thresholds, &sample)
        step.repetitions = 0
        rejected = False
        if sample.product <= thresholds.learn[sample.positive]:
            if sample.dual < sample.upper:
                step.rounded = False
                rules.update.learn(rules, &a.state, &sample, &step)
                tally.n_unmoved += step.repetitions <= 0 and not step.rounded
            rejected = step.repetitions <= 0  # at its upper bound, up to rounding
        elif sample.product >= thresholds.unlearn[sample.positive] and sample.dual > 0:
            rules.update.unlearn(rules, &a.state, &sample, &step)
        tally.n_rejected += rejected
        gradient = violation = sample.product - 1
        if sample.dual <= 0:
            if gradient > before.highest:
                continue
            violation = min(gradient, 0)
        elif rejected:
            if gradient < before.lowest:
                continue
            violation = 0
        out.lowest = min(out.lowest, violation)
        out.highest = max(out.highest, violation)
        members[tally.n_kept] = k
        tally.n_kept += 1
        if not step.repetitions <= 0:  # NaN counts as a change, and is recorded
            if not check_step(tally, k, &step):
                return
            apply_step(data, a, &sample, &step)
            tally.n_changed += 1
            rules.condition.thresholds(&a.state, &thresholds)
            if not (check_sqnorm(tally, k, &a.state) and check_thresholds(tally, k, &thresholds)):
                return


cdef class PenalisedPasses(SampleLoop):
    """Passes that set each dual variable to its best value, for a regulariser r with a ridge for each weight.

    r* is smooth then: along alpha_k its second derivative is at most the sum of y_kj^2 / ridge_j.

    dual, total: alpha, and the sum a of alpha_k y_k.
    primal: w, the gradient of r* at a.

    **Source**: Shalev-Shwartz & Zhang (2014), Accelerated proximal stochastic dual coordinate ascent, section 2.
    """

    def __init__(self, BinaryData data not None, terms, dual, total):
        longest = data.rows.longest() + 2   # see `nonzeros`, and the intercept
        self.rho = sqrt(data.sq_intercept_scaling)
        self.dual, self.total, self.primal = dual, total, terms.weights(total)
        self.alpha, self.a, self.w = self.dual, self.total, self.primal
        self.ridge, self.l1, self.centre, self.lower, self.upper = terms
        self.kept, self.columns = np.empty(longest), np.empty(longest, dtype=np.int32)

    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(begin, end):
            if i + PREFETCH_DISTANCE < end:
                prefetch(self.data.rows, order[i + PREFETCH_DISTANCE])
            tally.n_changed += self._move(self.data, order[i])
        return 0

    cdef bint _move(self, BinaryData data, Py_ssize_t k) noexcept nogil:
        """Set alpha_k, and return whether it has changed."""
        cdef double before = self.alpha[k], slope = dot(data.rows, k, &self.w[0]), curvature = data.diag[k], now
        cdef Py_ssize_t i, n, last = data.rows.n_features
        if self.rho > 0:
            slope += self.rho * self.w[last]
        slope = 1 - data.labels[k] * slope - data.diag[k] * before
        if (slope >= 0 and before >= data.upper[k]) or (slope <= 0 and before <= 0):
            return False
        n = nonzeros(data.rows, k, &self.kept[0], &self.columns[0])
        if self.rho > 0:
            self.kept[n], self.columns[n] = self.rho, <int32_t> last
            n += 1
        for i in range(n):
            curvature += self.kept[i] * self.kept[i] / self.ridge[self.columns[i]]
        now = before + slope / curvature if curvature > 0 else data.upper[k]
        now = min(max(now, 0), data.upper[k])
        if now == before:
            return False
        self.alpha[k] = now
        for i in range(n):
            self._add(self.columns[i], data.labels[k] * (now - before) * self.kept[i])
        return True

    cdef void _add(self, Py_ssize_t j, double change) noexcept nogil:
        self.a[j] += change
        self.w[j] = best_weight(self.a[j], self.ridge[j], self.l1[j], self.centre[j], self.lower[j], self.upper[j])
