# cython: language_level=3
"""What rules read and write, and the number of the binary interface."""

from margins._limits cimport MAX_COUNT


# The number of the binary interface of `margins._update` and of what it re-exports: compiled modules
# contain it. It is raised whenever a struct or a base class of rules changes.
cdef enum:
    ABI = 6


cdef inline int require_abi() except -1:
    """For modules with rules of their own: ``margins_abi = require_abi()`` at module level.

    Raises ImportError unless the installed margins has the interface that the module was compiled
    against; without the check a method table of the wrong shape would be called.
    """
    from margins._update import abi as installed
    if installed != ABI:
        raise ImportError(
            f"compiled against version {ABI} of the binary interface of margins, but the margins "
            f"installed has version {installed}: compile it again"
        )
    return ABI


cdef struct State:
    # What a rule may read of a run. The weight vector is a = scale * v.
    double scale
    double label_sum    # scale * label_sum = sum_k alpha_k l_k; the bias is rho^2 times it
    double sqnorm       # |a|^2, bias and slack terms included
    double dual_sum     # S, the sum of the dual variables: |a| / S bounds the maximum margin from above
    double t            # updates since the last restart, repetitions counted
    double n_updates    # all updates, of learning and of unlearning; exact to 2^53


cdef struct Sample:
    # The sample y_k for which an update is computed.
    Py_ssize_t k
    bint positive       # its label
    double product      # p = a.y_k
    double sqnorm       # N_k = |y_k|^2 + D_k
    double dual         # alpha_k
    double upper        # upper bound of alpha_k
    double threshold    # of the condition, for its label
    double weight       # by which what an update adds is multiplied; 1 where weights multiply C alone


cdef struct Thresholds:
    # [0] for negative labels, [1] for positive ones. +inf: all samples are misclassified, none unlearned.
    double learn[2]     # misclassified iff p <= learn
    double unlearn[2]   # unlearned iff p >= unlearn and alpha_k > 0


cdef struct Step:
    # a <- shrink * a + add * y_k, which counts as `repetitions` updates
    double shrink
    double add
    double repetitions
    bint rounded        # set by a rule that makes no update: what is left to add is a rounding error


cdef inline double whole(double x) noexcept nogil:
    """The largest integer that is not above x >= 0, at most 2^53: counts stay exact in a double."""
    return <double> <long long> min(x, MAX_COUNT)   # `floor` would be a call


cdef inline void advance(State* state, const Step* step, double add, double p, double sqnorm) noexcept nogil:
    """What a <- s a + c y does to the scalars."""
    cdef double s = step.shrink
    state.sqnorm = max(s * s * state.sqnorm + 2 * s * add * p + add * add * sqnorm, 0)
    state.dual_sum = s * state.dual_sum + add
    state.t += step.repetitions
    state.n_updates += step.repetitions
