"""The data that rules read and write, and the number of the binary interface."""

from margins._limits cimport MAX_COUNT


# The number of the binary interface of `margins._update` and of everything that it re-exports. Compiled
# modules contain it; any change of a struct or a base class of rules increases it.
cdef enum:
    ABI = 6


cdef inline int require_abi() except -1:
    """Check the binary interface: put ``margins_abi = require_abi()`` at the top level of modules with rules.

    Raises ImportError unless the installed margins has the interface that the module was compiled against.
    Without the check, calls would go through a method table of the wrong shape.
    """
    from margins._update import abi as installed
    if installed != ABI:
        raise ImportError(
            f"compiled against version {ABI} of the binary interface of margins, but the margins "
            f"installed has version {installed}: compile it again"
        )
    return ABI


cdef struct State:
    # What a rule may read about a run. The weight vector is a = scale * v.
    double scale
    double label_sum    # scale * label_sum = sum_k alpha_k l_k; the bias is rho^2 times this
    double sqnorm       # |a|^2, including bias and slack terms
    double dual_sum     # S, the sum of the dual variables: |a| / S bounds the maximum margin from above
    double t            # updates since the last restart, counting repetitions
    double n_updates    # all updates, learning and unlearning; exact up to 2^53


cdef struct Sample:
    # The sample y_k for which an update is computed.
    Py_ssize_t k
    bint positive       # True: label 1
    double product      # p = a.y_k
    double sqnorm       # N_k = |y_k|^2 + D_k
    double dual         # alpha_k
    double upper        # upper bound of alpha_k
    double threshold    # the condition's threshold for its label
    double weight       # factor of what an update adds; 1 if weights multiply only C


cdef struct Thresholds:
    # [0] for negative labels, [1] for positive labels. +inf: all samples are misclassified, none unlearned.
    double learn[2]     # misclassified iff p <= learn
    double unlearn[2]   # unlearned iff p >= unlearn and alpha_k > 0


cdef struct Step:
    # a <- shrink * a + add * y_k, which counts as `repetitions` updates
    double shrink
    double add
    double repetitions
    bint rounded        # set by a rule that makes no update because only a rounding error is left to add


cdef inline double whole(double x) noexcept nogil:
    """Return the largest integer not above x >= 0, at most 2^53, so that counts stay exact in a double."""
    return <double> <long long> min(x, MAX_COUNT)   # `floor` would be a call


cdef inline void advance(State* state, const Step* step, double add, double p, double sqnorm) noexcept nogil:
    """Update the scalars for a <- s a + c y."""
    cdef double s = step.shrink
    state.sqnorm = max(s * s * state.sqnorm + 2 * s * add * p + add * add * sqnorm, 0)
    state.dual_sum = s * state.dual_sum + add
    state.t += step.repetitions
    state.n_updates += step.repetitions
