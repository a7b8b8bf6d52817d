"""Extrapolation: where a few passes over the same patterns, in the same order, are heading.

The problem: a pass of updates, as long as no dual variable reaches a bound, is an affine map of the
dual variables, the same one again and again, and slow where it contracts little. Given the dual
variables alpha^0, ..., alpha^K between K passes, find those that a further pass would change least:

    alpha = sum_i c_i alpha^i  (i = 1 ... K)    with sum_i c_i = 1 and the least
    | sum_i c_i (alpha^i - alpha^(i-1)) |

and go towards them, within the bounds, as far as the dual objective grows: extrapolation can be wrong,
but never loses what the passes have gained.

Source: Bertrand & Massias (2021), Anderson acceleration of coordinate descent, algorithm 1.
"""

from libc.math cimport fabs, isfinite
from libc.stdint cimport int32_t
from margins._sparse cimport axpy
from margins._update cimport Patterns, WeightVector
from scipy.linalg.cython_lapack cimport dposv

import numpy as np

# The sum of all |alpha^i - alpha^(i-1)|^2 times this: c is well defined also if two differences are one.
cdef double RIDGE = 1e-12


def unsettled(Patterns patterns not None, WeightVector a not None, const double[::1] before,
            const int32_t[::1] order):
    """The patterns of `order` that further passes may concern, in that order: ndarray of int32.

    Those whose dual variable is between its bounds, or is not what it was `before`.
    """
    cdef Py_ssize_t i, k, n = 0
    cdef double alpha
    members = np.empty(order.shape[0], dtype=np.int32)
    cdef int32_t[::1] out = members
    with nogil:
        for i in range(order.shape[0]):
            k = order[i]
            alpha = a.state.scale * a.beta[k]
            out[n] = <int32_t> k   # without a branch, which nobody could predict
            n += ((alpha > 0) & (alpha < patterns.upper[k])) | (alpha != before[k])
    return members[:n]


cdef class Extrapolation:
    """The dual variables of some patterns between passes over them.

    Parameters
    ----------
    patterns : Patterns
        With private coordinates, or with upper bounds of the dual variables.
    a : WeightVector
        With dual variables.
    members : ndarray of int32, shape (n,)
        The patterns that are presented, each once.
    n_passes : int
        How many passes are remembered at most.
    target : float
        a.y_k is to be this at the margin.
    """

    cdef Patterns patterns
    cdef WeightVector a
    cdef const int32_t[::1] members
    cdef double target
    cdef double[:, ::1] alpha
    cdef double[::1] squares, coefficients, change, u
    cdef readonly Py_ssize_t n_passes   # since the last step

    def __init__(self, Patterns patterns not None, WeightVector a not None, const int32_t[::1] members,
                 Py_ssize_t n_passes, double target):
        self.patterns, self.a, self.members, self.target = patterns, a, members, target
        self.alpha = np.empty((n_passes + 1, members.shape[0]))
        self.squares, self.coefficients = np.empty(n_passes**2), np.empty(n_passes)
        self.change, self.u = np.empty(members.shape[0]), np.empty(a.v.shape[0])
        self._remember(0)

    cdef void _remember(self, Py_ssize_t row) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.members.shape[0]):
            self.alpha[row, i] = self.a.state.scale * self.a.beta[self.members[i]]
        self.n_passes = row

    def remember(self):
        """Remember the dual variables after a pass; not more often than there is room."""
        self._remember(self.n_passes + 1)

    def gap(self):
        """About how much of the objective the last pass found was left to gain, at functional margin 1.

        What a pattern lacked of the target is told by its update.
        """
        cdef Py_ssize_t i, k
        cdef double total = 0, lack, now, upper
        with nogil:
            for i in range(self.members.shape[0]):
                k = self.members[i]
                now = self.alpha[self.n_passes, i]
                lack = now - self.alpha[self.n_passes - 1, i]
                lack *= self.patterns.sqnorms[k] + self.patterns.extension[k]
                if self.patterns.extension[k] > 0:
                    total += 0.5 * lack * lack / self.patterns.extension[k]
                else:   # lack (upper - now) if it lacks, else -lack now: which of them nobody could predict
                    upper = self.patterns.upper[k]
                    total += 0.5 * (upper * (lack + fabs(lack))) - lack * now
        return total / (self.target * self.target)

    def step(self):
        """Go where the passes since the last step are heading, if that is better."""
        with nogil:
            if self._combine():
                self._move()
            self._remember(0)

    cdef bint _combine(self) noexcept nogil:
        """Find by how much the dual variables are to change; False if rounding does not allow it."""
        cdef Py_ssize_t i, k, row, column, n = self.n_passes
        cdef double total, trace = 0, wanted
        cdef int size = <int> n, one = 1, trouble
        for row in range(n):
            for column in range(row + 1):
                total = 0
                for i in range(self.members.shape[0]):
                    total += (
                        (self.alpha[row + 1, i] - self.alpha[row, i])
                        * (self.alpha[column + 1, i] - self.alpha[column, i])
                    )
                self.squares[row * n + column] = total
            trace += total
            self.coefficients[row] = 1
        for row in range(n):
            self.squares[row * n + row] += RIDGE * trace
        # The lower triangle by rows is the upper one by columns, as LAPACK wants it.
        dposv(b"U", &size, &one, &self.squares[0], &size, &self.coefficients[0], &size, &trouble)
        total = 0
        for row in range(n):
            total += self.coefficients[row]
        if trouble != 0 or not isfinite(total):
            return False
        for i in range(self.members.shape[0]):
            wanted = 0
            for row in range(n):
                wanted += self.coefficients[row] * self.alpha[row + 1, i]
            k = self.members[i]
            wanted = min(max(wanted / total, 0), self.patterns.upper[k])
            self.change[i] = wanted - self.alpha[n, i]
        return True

    cdef int _move(self) except -1 nogil:
        """Add a share of the change to the dual variables, that of the largest dual objective."""
        cdef double total = 0, label_sum = 0, along, square, share, c
        cdef Py_ssize_t i, j, k
        along = square = 0   # a.u and |u|^2, u = sum of change_k y_k
        self.u[:] = 0
        for i in range(self.members.shape[0]):
            k = self.members[i]
            c = self.change[i] * self.patterns.labels[k]
            axpy(self.patterns.rows, k, c, self.u)
            label_sum += c
            total += self.change[i]
            along += self.patterns.extension[k] * self.a.state.scale * self.a.beta[k] * self.change[i]
            square += self.patterns.extension[k] * self.change[i] * self.change[i]
        along += self.a.state.scale * self.patterns.sqrho * self.a.state.label_sum * label_sum
        square += self.patterns.sqrho * label_sum * label_sum
        if self.patterns.rows.is_kernel:
            for i in range(self.members.shape[0]):
                k = self.members[i]
                c = self.change[i] * self.patterns.labels[k]
                along += self.a.state.scale * self.a.v[k] * c
                square += self.u[k] * c
        else:
            for j in range(self.u.shape[0]):
                along += self.a.state.scale * self.a.v[j] * self.u[j]
                square += self.u[j] * self.u[j]
        with gil:
            self.patterns.rows.check()   # a row of a kernel may have been refused: then u is not whole
        share = self.target * total - along
        if not (share > 0 and square > 0):
            return 0
        share = min(share / square, 1)
        c = share / self.a.state.scale
        for j in range(self.u.shape[0]):
            self.a.v[j] += c * self.u[j]
        for i in range(self.members.shape[0]):
            k = self.members[i]
            # Rounding must not carry it out of its bounds.
            self.a.beta[k] = min(
                max(self.a.beta[k] + c * self.change[i], 0), self.patterns.upper[k] / self.a.state.scale
            )
        self.a.state.label_sum += c * label_sum
        self.a.state.dual_sum += share * total
        self.a.state.sqnorm += share * (2 * along + share * square)
        self.a.state.t += 1
        self.a.state.n_updates += 1
        return 0
