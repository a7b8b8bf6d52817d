"""The curvature of a Newton step: what is asked of a Hessian, however it is kept.

The problem: of changing sets of patterns, the free ones, y_k = l_k [x_k, rho], solve

    (I + factor * sum_k s_k y_k y_k^T) x = vector

The sum is written down where it is small (`margins._summed_curvature`); where it is not, it is a
product with vectors (`margins._implicit_curvature`).
"""

from libc.stdint cimport int8_t, int32_t

import numpy as np


cdef class Curvature:
    """The base class.

    Parameters
    ----------
    m : int
        How many patterns there are.

    Attributes
    ----------
    held : ndarray of int8, shape (m,)
        1 for the patterns that are to be among the members of the next `update`.
    n_read : int
        How many patterns products with a Hessian that is not written down have read so far.
    """

    def __init__(self, Py_ssize_t m):
        self.held = np.zeros(m, dtype=np.int8)
        self.is_held = self.held

    cdef void update(self, const int32_t[::1] members, const int8_t[::1] free) noexcept nogil:
        """Make the members that are free, no others, those of the sum."""

    cdef int solve(self, double factor, double[::1] vector) except -1 nogil:
        """Solve, in place; 0 if rounding does not allow it, else 1. A Newton step: need not be exact."""
        return 0

    # Doors for tests.
    def py_update(self, const int32_t[::1] members, const int8_t[::1] free):
        self.update(members, free)

    def py_solve(self, double factor, double[::1] vector):
        return bool(self.solve(factor, vector))
