# cython: language_level=3
"""Search directions of conjugate steps."""

cdef enum:
    N_DIRECTIONS = 3   # d, p and q


cdef class Direction:
    cdef double[::1] dual       # over the working set
    cdef double[::1] vector     # over the features; with a kernel, the products with all samples
    cdef double label_sum       # sum of the dual variables times their labels
    cdef double least           # squared lengths up to this are rounding
    cdef double rounding        # rounding of `vector`, relative to the rounding of a weight vector
    cdef void copy(self, Direction other) noexcept nogil


cdef void combine(double[::1] x, double c, const double[::1] y, double e, const double[::1] z, double f) noexcept nogil
cdef void best_multiples(double[N_DIRECTIONS][N_DIRECTIONS] gram, double* c, bint has_p, bint has_q) noexcept nogil
