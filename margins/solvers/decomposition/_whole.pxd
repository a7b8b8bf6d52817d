"""The dual of few samples."""

from margins.solvers.decomposition._pairs cimport LazyRows

cdef enum:
    N_WORK = 6  # rows of `work`

cdef Py_ssize_t minimise_rows(
    const float[:, ::1] K, const LazyRows* lazy, float rho2, const double[::1] signs, double[::1] b, double[::1] u,
    const double[::1] upper, const double[::1] diag, const float[::1] D, const float[::1] diagonal,
    bint has_free_intercept, double required_gap, float reduction, Py_ssize_t max_pairs, float[:, ::1] work,
    double* gap
) noexcept nogil
