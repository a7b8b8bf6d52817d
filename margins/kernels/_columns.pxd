from libc.stdint cimport int32_t
from margins._sparse cimport Rows

cdef enum:
    MAX_COLUMNS = 32   # points whose products are computed together, at most: their sums stay in registers


cdef class Columns:
    cdef Rows points
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t width             # columns of the matrix: those beyond the points are 0
    cdef double[::1] matrix           # coordinate i of all points at matrix[i * width]
    cdef readonly Py_ssize_t longest  # elements of a row, at most
    cdef double[::1] values           # a row's stored elements ...
    cdef int32_t[::1] columns         # ... and their columns
    cdef double[::1] products
    cdef const double[::1] sqnorms_of_points   # None: not needed
    cdef double[::1] sqnorms          # of the columns
    cdef Py_ssize_t n_multiplied      # products of two numbers, about, since the last check for Ctrl-C
    cdef object error                 # that of Ctrl-C
    cdef void set_points(self, Rows points)
    cdef void fill(self, const int32_t* chosen, Py_ssize_t n) noexcept nogil
    cdef void multiply(self, Rows rows, Py_ssize_t j, double* out, Py_ssize_t step) noexcept nogil
    cdef bint is_interrupted(self) noexcept nogil
    cdef bint _check_signals(self) noexcept with gil


cdef inline Py_ssize_t padded(Py_ssize_t n) noexcept nogil:
    """The columns of a matrix that holds n points: the sums of `MAX_COLUMNS` take as long as those of 8."""
    return 8 if n <= 8 else (n + MAX_COLUMNS - 1) // MAX_COLUMNS * MAX_COLUMNS
