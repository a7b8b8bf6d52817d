"""Sums of arrays, for loops without branches.

Branches on the sign of a slack are mispredicted, which costs more than the arithmetic of both sides, and
additions to one sum are serial. So kernels compute terms without branches and store them, which compilers
vectorise; the terms are then added to eight partial sums, in blocks of BLOCK terms, so that the rounding
error is that of hundreds of additions, not of millions.
"""

cdef enum:
    BLOCK = 256


cdef inline double sum_of(const double* terms, Py_ssize_t n) noexcept nogil:
    """The sum of n terms, with eight partial sums."""
    cdef double a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0
    cdef Py_ssize_t i = 0
    while i + 7 < n:
        a += terms[i]
        b += terms[i + 1]
        c += terms[i + 2]
        d += terms[i + 3]
        e += terms[i + 4]
        f += terms[i + 5]
        g += terms[i + 6]
        h += terms[i + 7]
        i += 8
    while i < n:
        a += terms[i]
        i += 1
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


cdef inline double dot_of(const double* x, const double* y, Py_ssize_t n) noexcept nogil:
    """The sum of x_i y_i, with eight partial sums."""
    cdef double a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0
    cdef Py_ssize_t i = 0
    while i + 7 < n:
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
        e += x[i + 4] * y[i + 4]
        f += x[i + 5] * y[i + 5]
        g += x[i + 6] * y[i + 6]
        h += x[i + 7] * y[i + 7]
        i += 8
    while i < n:
        a += x[i] * y[i]
        i += 1
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


cdef inline double weighted_dot_of(
    const double* weights, const double* x, const double* y, Py_ssize_t n
) noexcept nogil:
    """The sum of weights_i x_i y_i, with four partial sums."""
    cdef double a = 0, b = 0, c = 0, d = 0
    cdef Py_ssize_t i = 0
    while i + 3 < n:
        a += weights[i] * x[i] * y[i]
        b += weights[i + 1] * x[i + 1] * y[i + 1]
        c += weights[i + 2] * x[i + 2] * y[i + 2]
        d += weights[i + 3] * x[i + 3] * y[i + 3]
        i += 4
    while i < n:
        a += weights[i] * x[i] * y[i]
        i += 1
    return (a + b) + (c + d)
