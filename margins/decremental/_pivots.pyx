"""The path of a solution while some dual variables are lowered to 0, by pivots of its response.

The problem: each sample has one variable that moves and one that is fixed. Given the response T of a
solution over some samples, moves = T (changes of the fixed variables), lower the dual variables of a group
together. When a moving variable reaches a bound, its sample changes sides, and its two variables swap roles.

Source: Cauwenberghs & Poggio (2000), appendix A; Keller (1973), The general quadratic optimization
problem, for the principal pivot.
"""

import numpy as np

from libc.math cimport INFINITY

# A smaller pivot is 0 up to rounding, as for the last FREE sample if the intercept is free.
cdef double SMALLEST_PIVOT = 1e-9


cdef double room(double value, double rate, signed char side, double upper) noexcept nogil:
    """Return how far the path goes until a moving variable reaches a bound."""
    if rate > 0:
        if side == FREE:
            return (upper - value) / rate
        return (1 - value) / rate if side == UPPER else INFINITY
    if rate < 0:
        if side == FREE:
            return value / -rate
        return (value - 1) / -rate if side == ZERO else INFINITY
    return INFINITY


cdef class Pivots:
    """The response over n samples, and their sides.

    If the intercept is free, the last FREE sample cannot leave: the other dual variables determine its
    alpha, and its pivot is 0. Then the intercept moves until another sample becomes FREE in its place.
    """

    def __init__(self, Py_ssize_t n):
        self.columns, self.sides = np.empty((n + 1, n)), np.empty(n, np.int8)
        self.moving, self.upper, self.sizes, self._lowered = np.empty((4, n))

    cdef bint lower(self, Py_ssize_t n_group, int max_pivots) noexcept nogil:
        """Lower alpha of the group, the first samples, to 0, and make these samples GONE.

        Return False if this takes more pivots, or if a pivot is not positive.
        """
        cdef Py_ssize_t n = self.moving.shape[0], k, g
        cdef double position = 0, step
        cdef int _pivot
        for g in range(n_group):
            self._lowered[g] = self.upper[g] if self.sides[g] == UPPER else 0.0
            if self.sides[g] == FREE:
                self._lowered[g] = self.moving[g]
                if not self._leave(g, -1.0):
                    return False
            self.sides[g] = GONE
        for g in range(n_group):
            for k in range(n):
                self.columns[n, k] -= self.columns[g, k] * self._lowered[g]
        for _pivot in range(max_pivots + 1):
            k = self._first(n, 1.0, -1, &step)
            if position + step >= 1:
                return True
            position += step
            self._move(n, step)
            if self.sides[k] != FREE:
                if not self._enter(k):
                    return False
            elif self.columns[n, k] > 0:
                self.sides[k] = UPPER
                if not self._leave(k, -1.0):
                    return False
            else:
                self.sides[k] = ZERO
                if not self._leave(k, 1.0):
                    return False
        return False

    cdef bint _enter(self, Py_ssize_t k) noexcept nogil:
        """Make a sample FREE; return False if the pivot is not positive."""
        self.moving[k] = self.upper[k] if self.sides[k] == UPPER else 0.0
        self.sides[k] = FREE
        return self.pivot(k)

    cdef bint is_last(self, Py_ssize_t k) noexcept nogil:
        """Return True for the last FREE sample if the intercept is free."""
        return self.columns[k, k] * self.sizes[k] < SMALLEST_PIVOT

    cdef bint _leave(self, Py_ssize_t k, double direction) noexcept nogil:
        """Let sigma_k of a sample that was FREE move.

        If it was the last one, sigma_k moves up or down, as `direction` says, until another sample becomes
        FREE in its place. Return False if none does, or if a pivot is not positive.
        """
        cdef Py_ssize_t other
        cdef double step
        if not self.is_last(k):
            self.moving[k] = 1.0
            return self.pivot(k)
        other = self._first(k, direction, k, &step)
        if other < 0 or self.sides[other] == FREE:
            return False
        self._move(k, direction * step)
        self.moving[k] = 1 + direction * step
        return self._enter(other) and self.pivot(k)

    cdef Py_ssize_t _first(
        self, Py_ssize_t column, double factor, Py_ssize_t but, double* step
    ) noexcept nogil:
        """Return the sample, other than `but`, whose moving variable reaches a bound first; -1: none does.

        The variables move along `factor` times a column, by `step` until the first bound.
        """
        cdef Py_ssize_t first = -1, k
        cdef double length
        step[0] = INFINITY
        for k in range(self.moving.shape[0]):
            if k != but:
                length = room(
                    self.moving[k], factor * self.columns[column, k], self.sides[k], self.upper[k]
                )
                if length < step[0]:
                    step[0], first = length, k
        step[0] = max(step[0], 0.0)
        return first

    cdef void _move(self, Py_ssize_t column, double step) noexcept nogil:
        """Move the variables along a column."""
        cdef Py_ssize_t k
        for k in range(self.moving.shape[0]):
            self.moving[k] += step * self.columns[column, k]

    cdef bint pivot(self, Py_ssize_t k) noexcept nogil:
        """Swap the roles of the two variables of sample k; return False if the pivot is not positive."""
        cdef Py_ssize_t n = self.moving.shape[0], i, j
        cdef double pivot = self.columns[k, k], factor
        cdef double* own = &self.columns[k, 0]
        cdef double* column
        if not pivot > 0:
            return False
        own[k] = 1
        for i in range(n):
            own[i] /= pivot
        for j in range(n + 1):
            if j != k:
                column = &self.columns[j, 0]
                factor = column[k]
                column[k] = 0
                for i in range(n):
                    column[i] -= factor * own[i]
        return True
