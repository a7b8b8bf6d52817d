from libc.stdint cimport int32_t
from margins.kernels._columns cimport MAX_COLUMNS, Columns
from margins.kernels._transform cimport Transform

cdef enum:
    MAX_BLOCK = 512   # samples whose products are read between two calls of `begin_block`, at most


cdef class Backlog:
    cdef Columns columns
    cdef Transform transform
    cdef const double[::1] sqnorms
    # The updates: v += coefficient K(x_k, .), where k = points[point_of[update]].
    cdef Py_ssize_t n_updates, n_points
    cdef int32_t[::1] points
    cdef int32_t[::1] point_of
    cdef double[::1] coefficients
    cdef double** targets             # the arrays v
    cdef int32_t[::1] n_applied       # by sample: how many updates it has had, or IN_BLOCK
    # The samples that are read now, which have had all updates.
    cdef int32_t[::1] block
    cdef Py_ssize_t n_block
    cdef int32_t[::1] batch           # points whose values with the block are known ...
    cdef Py_ssize_t n_batch
    cdef double[::1] batch_values     # ... one sample a row, one point a column
    cdef int32_t[::1] tile            # samples whose values are computed together
    cdef double[::1] tile_values
    cdef double[::1] tile_sqnorms
    cdef bint begin_block(self, const int32_t* order, Py_ssize_t n) noexcept nogil
    cdef void end_block(self) noexcept nogil
    cdef bint knows(self, Py_ssize_t k) noexcept nogil
    cdef bint compute_batch(self, const int32_t* batch, Py_ssize_t n) noexcept nogil
    cdef bint add(self, Py_ssize_t k, double c, double* v) noexcept nogil
    cdef bint flush(self) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef bint _catch_up(self, const int32_t* samples, Py_ssize_t n) noexcept nogil
    cdef bint _apply(self, Py_ssize_t point, Py_ssize_t first, Py_ssize_t last, Py_ssize_t n) noexcept nogil
    cdef bint _compute(self, const int32_t* samples, Py_ssize_t n, double* values) noexcept nogil
