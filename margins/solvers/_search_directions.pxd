# cython: language_level=3
"""Search directions of conjugate steps."""

cdef enum:
    N_DIRECTIONS = 3   # d, p and q


cdef class Direction:
    cdef double[::1] dual       # of the working set
    cdef double[::1] vector     # of the features; over a kernel, of the products with all samples
    cdef double label_sum       # of the sum of the dual variables times their labels
    cdef double least           # a squared length up to this is rounding
    cdef double rounding        # of `vector`, in units of that of a weight vector
    cdef void copy(self, Direction other) noexcept nogil


cdef void combine(
    double[::1] x, double c, const double[::1] y, double e, const double[::1] z, double f
) noexcept nogil
cdef void best_multiples(
    double[N_DIRECTIONS][N_DIRECTIONS] gram, double* c, bint has_p, bint has_q
) noexcept nogil
