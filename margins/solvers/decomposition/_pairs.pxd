"""Pairs of dual variables that move together."""

ctypedef void (*fill_t)(const void* source, Py_ssize_t k, float* row) noexcept nogil


cdef struct LazyRows:
    # Rows of Q that are filled when they are first read; NULL instead of a struct: all are.
    fill_t fill
    const void* source
    unsigned char* is_filled


cdef float LEAST_DIAGONAL

cdef const float[::1] diagonal_of(Q, float rho2, D)
cdef Py_ssize_t move_pairs(
    const float[:, ::1] Q, float rho2, const float[::1] D, float[::1] g, float[::1] d,
    const float[::1] lower, const float[::1] upper, const float[::1] diagonal,
    const float[::1] inverse, float[::1] gains, float reduction, Py_ssize_t max_pairs, const LazyRows* lazy=*
) noexcept nogil
cdef Py_ssize_t move_balanced_pairs(
    const float[:, ::1] Q, const float[::1] D, float[::1] F, float[::1] e, const float[::1] lower, const float[::1]
    upper, const float[::1] diagonal, float[::1] gains, float reduction, Py_ssize_t max_pairs,
    const LazyRows* lazy=*
) noexcept nogil
