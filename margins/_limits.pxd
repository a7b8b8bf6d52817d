"""Numbers that several kernels share: how often signals are checked, how far memory is requested ahead,
and the ranges within which double arithmetic is safe."""

cdef extern from *:
    """
    #define MARGINS_INTEGER_ROOT_TOLERANCE 1e-9
    #define MARGINS_MIN_SCALE 1e-100
    #define MARGINS_MAX_SCALE 1e100
    #define MARGINS_MIN_SQNORM 1e-120
    #define MARGINS_MAX_SQNORM 1e120
    #define MARGINS_SECONDS_PER_SIGNAL_CHECK 0.02
    #define MARGINS_MAX_COUNT 9007199254740992.0
    """
    # A computed root that is this close to an integer, relative to it, may belong on its other side.
    const double INTEGER_ROOT_TOLERANCE "MARGINS_INTEGER_ROOT_TOLERANCE"
    # A weight vector is renormalised when its scale leaves this range: its square is a double, too.
    const double MIN_SCALE "MARGINS_MIN_SCALE"
    const double MAX_SCALE "MARGINS_MAX_SCALE"
    # Between these, squares, products and reciprocals of squared norms are normal doubles.
    const double MIN_SQNORM "MARGINS_MIN_SQNORM"
    const double MAX_SQNORM "MARGINS_MAX_SQNORM"
    # 2^53: integers up to here are exact in a double.
    const double MAX_COUNT "MARGINS_MAX_COUNT"

    # How long a loop may run between two checks for Ctrl-C, about.
    const double SECONDS_PER_SIGNAL_CHECK "MARGINS_SECONDS_PER_SIGNAL_CHECK"

cdef enum:
    # Samples between two checks for Ctrl-C: at first, and at most.
    FIRST_SAMPLES_PER_SIGNAL_CHECK = 1 << 10
    SAMPLES_PER_SIGNAL_CHECK = 1 << 18
    # The same where each sample may need a row of the kernel matrix.
    KERNEL_SAMPLES_PER_SIGNAL_CHECK = 1 << 6
    # Samples between the request for a row and its use. If rows are long, more of them evict each other.
    PREFETCH_DISTANCE = 4
