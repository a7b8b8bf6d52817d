"""The data of one binary problem, as the kernels read them."""

from margins._sparse cimport Rows


cdef class BinaryData:
    cdef readonly Rows rows
    cdef readonly double sq_intercept_scaling
    cdef readonly bint has_free_intercept
    cdef const signed char[::1] labels
    cdef const double[::1] sqnorms          # |x_k|^2 + rho^2, without D_k
    cdef const double[:] diag          # D_k; a scalar is an array of stride 0
    cdef const double[:] upper              # upper bounds of the dual variables; likewise
    cdef const double[:] offset              # added to a.y_k in comparisons while alpha_k > 0; or None
    cdef const double[::1] weight            # by which what an update adds is multiplied; None: 1
