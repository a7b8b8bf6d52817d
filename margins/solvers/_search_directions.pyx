"""Search directions of conjugate steps: up to three, and the best point of the space that they span.

The problem: maximise a concave quadratic function of c_d, c_p and c_q. Given are its gradient at 0 and its
Hessian, minus the matrix of inner products of the directions d, p and q. A factorisation L D L' of this matrix
yields the maximum; a direction that depends on the previous ones gets 0.
"""

from libc.math cimport INFINITY

import numpy as np

# Two directions count as the same if the squared sine of their angle is below this.
cdef double SAME_DIRECTION = 1e-10


cdef class Direction:
    """A search direction: a change of the working set's dual variables and of the weight vector."""

    def __init__(self, Py_ssize_t n_features):
        self.dual, self.vector = np.empty(0), np.zeros(n_features)
        self.least = INFINITY   # no direction yet

    cdef void copy(self, Direction other) noexcept nogil:
        """Copy another direction into this one."""
        self.dual[:] = other.dual
        self.vector[:] = other.vector
        self.label_sum, self.rounding = other.label_sum, other.rounding


cdef void combine(double[::1] x, double c, const double[::1] y, double e, const double[::1] z, double f) noexcept nogil:
    """Compute x <- c x + e y + f z."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        x[i] = c * x[i] + e * y[i] + f * z[i]


cdef void best_multiples(double[N_DIRECTIONS][N_DIRECTIONS] gram, double* c, bint has_p, bint has_q) noexcept nogil:
    """Replace `c`, the slopes along d, p and q, by the best multiples; 0 for a dependent direction."""
    cdef double[N_DIRECTIONS] pivot
    cdef bint[N_DIRECTIONS] used
    cdef double square
    cdef int i, j, k
    used[0], used[1], used[2] = True, has_p, has_q
    for i in range(N_DIRECTIONS):
        pivot[i] = square = gram[i][i]
        for j in range(i):
            for k in range(j):
                gram[i][j] -= gram[i][k] * gram[j][k] * pivot[k]
            gram[i][j] = gram[i][j] / pivot[j] if used[j] else 0
            pivot[i] -= gram[i][j] * gram[i][j] * pivot[j]
            c[i] -= gram[i][j] * c[j]
        used[i] = used[i] and pivot[i] > SAME_DIRECTION * square
        if not used[i]:
            pivot[i] = c[i] = 0
    for i in range(N_DIRECTIONS - 1, -1, -1):
        if used[i]:
            c[i] /= pivot[i]
            for j in range(i + 1, N_DIRECTIONS):
                c[i] -= gram[j][i] * c[j]
