"""Quadratic models with a regulariser, minimised by coordinates."""

from libc.stdint cimport int32_t


cdef class Columns:
    cdef const double[::1] values
    cdef const int32_t[::1] samples  # None: dense columns
    cdef const Py_ssize_t[::1] starts
    cdef readonly Py_ssize_t n_samples, n_features

    cdef Py_ssize_t sample(self, Py_ssize_t start, Py_ssize_t p) noexcept nogil


cdef class Model:
    cdef readonly Py_ssize_t n
    cdef readonly int n_sweeps
    cdef Py_ssize_t rank             # of H at most, beside a diagonal without zeros; otherwise n
    cdef Py_ssize_t few              # faces of at most so many coordinates have a Cholesky factor
    cdef double[::1] z, gradient, diagonal
    cdef const double[::1] ridge, l1, centre, lower, upper, origin, damping, least
    cdef double share
    cdef int32_t[::1] moving, face
    cdef double[::1] direction, image, residual

    cdef double gradient_of(self, Py_ssize_t j) noexcept nogil
    cdef void move(self, Py_ssize_t j, double change) noexcept nogil
    cdef void multiply(self, Py_ssize_t n) noexcept nogil
    cdef void follow(self, Py_ssize_t n) noexcept nogil
    cdef int fill(self, Py_ssize_t n, double[:, ::1] matrix) except -1
    cdef double _sweep(self, const int32_t[::1] candidates, Py_ssize_t n, Py_ssize_t* n_moving) noexcept nogil
    cdef bint is_corner(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t _set_face(self, Py_ssize_t n_moving) noexcept nogil
    cdef double _step_on_face(self, Py_ssize_t n_moving)
    cdef bint _solve_directly(self, double[::1] step, Py_ssize_t n)
    cdef bint _solve_by_products(self, double[::1] step, Py_ssize_t n) except -1
    cdef double _follow_step(
        self, const double[::1] step, const double[::1] slope, Py_ssize_t n, bint* is_cut
    ) noexcept nogil
    cdef double _limit(self, Py_ssize_t j, double direction) noexcept nogil
    cdef double _end(self, Py_ssize_t j, double direction) noexcept nogil
    cdef double _gain(self, const double[::1] slope, Py_ssize_t n) noexcept nogil
    cdef double _preconditioned(self, double[::1] scaled, Py_ssize_t n) noexcept nogil


cdef class StoredModel(Model):
    cdef const double[:, ::1] hessian


cdef class ColumnModel(Model):
    cdef Columns columns
    cdef const double[::1] curvature          # s_k; 0 for samples that are not free
    cdef double[::1] products, trial          # s_k times the change of x_k.z, without the intercept
    cdef double[::1] sums                     # sum_k s_k x_kj
    cdef double total                         # sum_k s_k
    cdef double product_sum, shift            # sum of the products; change of the intercept
    cdef double trial_sum, trial_shift
    cdef double rho                           # 0: no penalised intercept
    cdef bint is_free

    cdef double _dot(self, Py_ssize_t j, const double* vector) noexcept nogil
    cdef void _axpy(self, Py_ssize_t j, double change, double* vector) noexcept nogil
    cdef void _fill_dense(self, Py_ssize_t n, double[:, ::1] matrix)
    cdef int _fill_by_samples(self, Py_ssize_t n, double[:, ::1] matrix) except -1
