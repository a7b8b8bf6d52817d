cpdef enum:
    ZERO  # alpha is 0, sigma moves and is at least 1
    FREE  # sigma is 1, alpha moves between its bounds
    UPPER  # alpha is at its upper bound, sigma moves and is at most 1
    GONE  # alpha is 0, sigma moves and has no bounds: the sample is not in the problem


cdef double room(double value, double rate, signed char side, double upper) noexcept nogil


cdef class Pivots:
    cdef double[:, ::1] columns   # columns of T, one in each row, and the rates along the path
    cdef double[::1] moving       # alpha of the FREE samples, sigma of all others
    cdef double[::1] upper        # upper bounds of alpha
    cdef double[::1] sizes        # M_kk; times the pivot of a FREE sample at least about 1
    cdef double[::1] _lowered
    cdef signed char[::1] sides

    cdef bint lower(self, Py_ssize_t n_group, int max_pivots) noexcept nogil
    cdef bint pivot(self, Py_ssize_t k) noexcept nogil
    cdef bint is_last(self, Py_ssize_t k) noexcept nogil
    cdef bint _enter(self, Py_ssize_t k) noexcept nogil
    cdef bint _leave(self, Py_ssize_t k, double direction) noexcept nogil
    cdef Py_ssize_t _first(
        self, Py_ssize_t column, double factor, Py_ssize_t but, double* step
    ) noexcept nogil
    cdef void _move(self, Py_ssize_t column, double step) noexcept nogil
