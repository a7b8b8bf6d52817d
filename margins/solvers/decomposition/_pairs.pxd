# cython: language_level=3
"""Pairs of dual variables that move together."""

# Minimum element of a diagonal. A zero row without a diagonal term has none; its step ends at a bound.
cdef inline float least_diagonal() noexcept nogil:
    return <float> 1e-30

cdef Py_ssize_t move_pairs(
    const float[:, ::1] Q, float[::1] g, float[::1] d, const float[::1] lower, const float[::1] upper,
    const float[::1] diagonal, const float[::1] inverse, float[::1] gains, float reduction, Py_ssize_t max_pairs
) noexcept nogil
cdef Py_ssize_t move_balanced_pairs(
    const float[:, ::1] Q, float[::1] F, float[::1] e, const float[::1] lower, const float[::1] upper,
    const float[::1] diagonal, float[::1] gains, float reduction, Py_ssize_t max_pairs
) noexcept nogil
