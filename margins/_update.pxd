# cython: language_level=3
"""The state of a run, the base rules, one presentation, one mini-epoch."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t
from margins._sparse cimport Rows, axpy, dot, margins_prefetch, prefetch


# The number of the binary interface in this file: what is compiled against it has it baked in. It is
# raised whenever a struct or a base class below changes.
cdef enum:
    ABI = 2


cdef enum:
    VISITS_PER_SIGNAL_CHECK = 1 << 18   # a few milliseconds of work


cdef inline int require_abi() except -1:
    """For modules with rules of their own: ``margins_abi = require_abi()`` at module level.

    Raises ImportError unless the margins installed has the interface that the module was compiled
    against; without it a method table of the wrong shape would be called, silently.
    """
    from margins._update import abi as installed
    if installed != ABI:
        raise ImportError(
            f"compiled against version {ABI} of the binary interface of margins, but the margins "
            f"installed has version {installed}: compile it again"
        )
    return ABI


cdef struct State:
    # What a rule may look at. The weight vector is a = scale * v.
    double scale
    double label_sum    # scale * label_sum = sum_k alpha_k l_k, the augmentation's coefficient
    double sqnorm       # |a|^2, bias and private coordinates included
    double dual_sum     # S, the sum of the dual variables: |a| / S bounds the maximum margin from above
    double t            # the rules' clock: updates, multiplicities counted
    double n_updates    # all updates ever, learnings and unlearnings; doubles count exactly to 2^53


cdef struct Visit:
    # The pattern in hand when an update is decided.
    Py_ssize_t k
    bint positive       # its label
    double product      # p = a.y_k
    double sqnorm       # N_k = |y_k|^2, extension included
    double dual         # alpha_k
    double upper        # the most alpha_k may become
    double threshold    # of the condition, for its label


cdef struct Thresholds:
    # [0] for negative labels, [1] for positive ones. +inf is allowed: all are misclassified, none unlearned.
    double learn[2]     # misclassified iff p <= learn
    double unlearn[2]   # unlearned iff p >= unlearn and alpha_k > 0


cdef struct Step:
    # a <- shrink * a + add * y_k, worth `repetitions` updates
    double shrink
    double add
    double repetitions
    bint rounded        # set by a rule that makes no update: what is left to add is a rounding error


cdef class Condition:
    cdef int check(self) except -1
    cdef double threshold(self, const State* state) noexcept nogil
    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil
    cdef double repetitions(self, const State* state, const Visit* visit) noexcept nogil


cdef class Shrink:
    cdef int check(self) except -1
    cdef double factor(self, const State* state) noexcept nogil
    cdef double decay(self, const State* state) noexcept nogil
    cdef void repeat(self, const State* state, double repetitions, Step* out) noexcept nogil
    cdef double repetitions(self, const State* state, const Visit* visit, double b) noexcept nogil


cdef class Update:
    cdef int check(self) except -1
    cdef void learn(self, Rules rules, const State* state, const Visit* visit, Step* out) noexcept nogil
    cdef void unlearn(self, Rules rules, const State* state, const Visit* visit, Step* out) noexcept nogil


cdef class Rules:
    cdef readonly Condition condition
    cdef readonly Update update
    cdef readonly Shrink shrink
    cdef readonly bint decays
    cdef bint closed_form
    cdef int check(self) except -1
    cdef bint _misclassified_after(
        self, double repetitions, double eta, const State* state, const Visit* visit
    ) noexcept nogil
    cdef double repetitions(
        self, double eta, double most, const State* state, const Visit* visit
    ) noexcept nogil


cdef class Patterns:
    cdef readonly Rows rows
    cdef readonly double sqrho
    cdef const signed char[::1] labels
    cdef const double[::1] sqnorms          # of the augmented pattern, without its extension
    cdef const double[:] extension          # Delta_k^2; a scalar is an array of stride 0
    cdef const double[:] upper              # the most alpha_k may become; likewise
    cdef const double[:] bonus              # added to what is compared while alpha_k > 0; or None


cdef class WeightVector:
    cdef State state
    cdef double[::1] v
    cdef double[::1] beta                   # alpha_k = scale * beta_k; None where nobody asks


cdef class Readout:
    # Of the hypothesis in force, since the last update:
    cdef public double n_right              # presentations that were not misclassified
    cdef public double n_presented          # all presentations
    cdef void before_update(
        self, Patterns patterns, WeightVector a, const Visit* visit, const Step* step
    ) noexcept nogil


cdef struct Membership:
    # Which of the presented patterns the next active set keeps; any one reason is enough.
    double factor       # p <= factor * threshold, before its update
    bint supported      # alpha_k > 0, before its update
    bint updated        # just updated, and alpha_k > 0 now


cdef enum Failure:
    NO_FAILURE
    ILL_THRESHOLD
    ILL_STEP        # of the update or of the shrink
    ILL_DECAY
    OVERFLOW        # finite steps, and |a|^2 out of the range of a double


cdef struct Tally:
    Py_ssize_t n_changed    # presentations that changed the weight vector
    Py_ssize_t n_refused    # misclassified ones that did not
    Py_ssize_t n_kept       # patterns kept for the next active set
    Py_ssize_t n_unmoved    # refused ones below their upper bounds: the rule gave no update
    Failure failure         # of the first rule that returned what no rule may; the pass ends there
    Py_ssize_t failed       # the pattern at which it did
    double value            # and what it returned


cdef inline bint are_sound(const Thresholds* thresholds) noexcept nogil:
    """True unless a threshold is NaN or -inf."""
    return (
        thresholds.learn[0] > -INFINITY and thresholds.learn[1] > -INFINITY
        and thresholds.unlearn[0] > -INFINITY and thresholds.unlearn[1] > -INFINITY
    )


cdef inline bint is_finite(const Step* step) noexcept nogil:
    return (
        fabs(step.shrink) < INFINITY and fabs(step.add) < INFINITY and fabs(step.repetitions) < INFINITY
    )


cdef inline void record(Tally* tally, Failure failure, Py_ssize_t k, double value) noexcept nogil:
    """Note what a rule returned at pattern k."""
    tally.failure, tally.failed, tally.value = failure, k, value


cdef inline double whole(double x) noexcept nogil:
    """The largest integer that is not above x >= 0, at most 2^53: counts stay exact in a double."""
    return <double> <long long> min(x, 9007199254740992.0)   # `floor` would be a call


cdef inline void advance(State* state, const Step* step, double add, double p, double sqnorm) noexcept nogil:
    """What a <- s a + c y does to the scalars."""
    cdef double s = step.shrink
    state.sqnorm = max(s * s * state.sqnorm + 2 * s * add * p + add * add * sqnorm, 0)
    state.dual_sum = s * state.dual_sum + add
    state.t += step.repetitions
    state.n_updates += step.repetitions


cdef inline void ask_for(Patterns patterns, WeightVector a, Py_ssize_t k) noexcept nogil:
    """Ask for what a visit of pattern k, and an update of it, would wait for longest."""
    prefetch(patterns.rows, k)
    margins_prefetch(&patterns.sqnorms[k])
    if a.beta is not None:
        margins_prefetch(&a.beta[k])


cdef inline double ordinary_product(Patterns patterns, WeightVector a, Py_ssize_t k) noexcept nogil:
    """a.y_k, the private coordinate left out."""
    return (
        a.state.scale * patterns.labels[k]
        * (dot(patterns.rows, k, &a.v[0]) + patterns.sqrho * a.state.label_sum)
    )


cdef inline double product(Patterns patterns, WeightVector a, Py_ssize_t k) noexcept nogil:
    """p = a.y_k, private coordinate included."""
    cdef double p = dot(patterns.rows, k, &a.v[0]) + patterns.sqrho * a.state.label_sum
    p = patterns.labels[k] * p
    if a.beta is not None:
        p += patterns.extension[k] * a.beta[k]
    return a.state.scale * p


cdef void normalise(WeightVector a) noexcept nogil


cdef inline void keep_scale_in_range(WeightVector a) noexcept nogil:
    """Make scale 1 before it leaves the range of a double; right for a shrink to 0 too: v becomes 0."""
    if not 1e-100 <= a.state.scale <= 1e100:
        normalise(a)


cdef inline void apply_step(Patterns patterns, WeightVector a, const Visit* visit, const Step* step) noexcept nogil:
    """a <- s a + c y_k."""
    cdef double c
    advance(&a.state, step, step.add, visit.product, visit.sqnorm)
    a.state.scale *= step.shrink
    keep_scale_in_range(a)
    c = step.add / a.state.scale
    if a.beta is not None:
        a.beta[visit.k] += c
    c = c * patterns.labels[visit.k]
    axpy(patterns.rows, visit.k, c, &a.v[0])
    a.state.label_sum += c


cdef inline void count_presentations(Readout readout, Py_ssize_t n, Py_ssize_t n_wrong) noexcept nogil:
    """Count n more presentations of the hypothesis in force, some of them misclassified."""
    readout.n_presented += n
    readout.n_right += n - n_wrong


cdef inline void end_hypothesis(
    Readout readout, Patterns patterns, WeightVector a, const Visit* visit, const Step* step, Py_ssize_t n,
    Py_ssize_t n_refused
) noexcept nogil:
    """Tell a readout that the hypothesis in force ends, after n more presentations, the last of them wrong."""
    count_presentations(readout, n, n_refused + 1)
    readout.before_update(patterns, a, visit, step)
    readout.n_presented = readout.n_right = 0


cdef void apply_decay(WeightVector a, double factor) noexcept nogil
cdef void mini_epoch(
    Patterns patterns, WeightVector a, Rules rules, Readout readout, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil


# A loop over visits: `mini_epoch`, or one of certain rules in one piece.
ctypedef void (*visits_t)(
    Patterns patterns, WeightVector a, Rules rules, Readout readout, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil
