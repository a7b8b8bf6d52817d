"""The path of a solution over near samples, and the variables of all samples at its end.

The problem: given columns of the response T of a solution, moves = T (changes of the fixed variables), and
some samples near their bounds, follow the path over these samples. The pivots of the path
(`margins.decremental._pivots`) leave the sides of the near samples at its end, and the inverse of T_CC,
where C is the set of near samples whose two variables have swapped roles. Let f be the changes of the dual
variables G, which are fixed at other bounds than before. Then

    changes_C = T_CC^-1 (required moves_C - T_CG f),    moves = T_C changes_C + T_G f

give the variables of all samples, and show which other samples have passed a bound.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.string cimport memset

from margins.decremental._pivots cimport FREE, UPPER, ZERO, Pivots, room

# The first correction solves the system, the second makes up for rounded pivots.
cdef int N_CORRECTIONS = 2
# Rounding in the pivots of almost equal samples may leave near samples beyond their bounds. They then
# change sides, at most this many times.
cdef int MAX_CROSSINGS = 20


cdef class Beginning:
    """The start of paths."""

    cdef const signed char[::1] sides         # ZERO, FREE, UPPER or GONE
    cdef const double[::1] moving             # at the solution: alpha of the FREE samples, sigma of all others
    cdef const double[::1] excess             # `moving` minus the values at which paths start
    cdef const double[::1] upper, sizes       # upper bounds of alpha; M_kk
    cdef const double[:, ::1] columns         # columns of T, one in each row
    cdef const Py_ssize_t[::1] places         # the row of each sample in `columns`
    cdef double rounding, rounding_of_alpha   # distances beyond a bound that count as passing it

    def __init__(self, sides, moving, excess, upper, sizes, columns, places, rounding):
        self.sides, self.moving, self.excess, self.upper = sides, moving, excess, upper
        self.sizes, self.columns, self.places = sizes, columns, places
        alpha = np.where(np.equal(sides, FREE), moving, np.where(np.equal(sides, UPPER), upper, 0.0))
        self.rounding, self.rounding_of_alpha = rounding, rounding * np.max(alpha)

    cdef inline double fixed(self, Py_ssize_t k, signed char side) noexcept nogil:
        """Return the fixed variable of a sample on a side: sigma if it is FREE, else alpha."""
        if side == FREE:
            return 1.0
        return self.upper[k] if side == UPPER else 0.0

    cdef inline bint has_passed(self, Py_ssize_t k, double value, signed char side) noexcept nogil:
        """Return True if the moving variable of a sample is beyond the bounds of its side."""
        if side == FREE:
            return (
                value < -self.rounding_of_alpha or value > self.upper[k] + self.rounding_of_alpha
            )
        if side == ZERO:
            return value < 1 - self.rounding
        return side == UPPER and value > 1 + self.rounding


cdef class Path:
    """A path over near samples, of which the first are the group whose dual variables are lowered to 0."""

    cdef Beginning begin
    cdef const Py_ssize_t[::1] near
    cdef Py_ssize_t[::1] places
    cdef Py_ssize_t n_group
    cdef Pivots pivots
    cdef double[::1] changes, required, rests, values
    cdef signed char[::1] sides, is_near

    def __init__(self, Beginning begin, const Py_ssize_t[::1] near, Py_ssize_t n_group):
        cdef Py_ssize_t m = begin.sides.shape[0], n = near.shape[0], i, j, k
        cdef Pivots pivots = Pivots(n)
        self.begin, self.near, self.n_group, self.pivots = begin, near, n_group, pivots
        self.changes, self.required, self.rests = np.empty((3, n))
        self.values, self.sides, self.is_near = np.empty(m), np.array(begin.sides), np.zeros(m, np.int8)
        self.places = np.empty(n, np.intp)
        for i in range(n):
            self.places[i] = begin.places[near[i]]
        for i in range(n):
            k = near[i]
            self.is_near[k] = True
            pivots.sides[i], pivots.upper[i] = begin.sides[k], begin.upper[k]
            pivots.sizes[i], pivots.moving[i] = begin.sizes[k], begin.moving[k] - begin.excess[k]
            pivots.columns[n, i] = begin.excess[k]
            for j in range(n):
                pivots.columns[i, j] = begin.columns[self.places[i], near[j]]

    def follow(self, int max_pivots, Py_ssize_t[::1] passed):
        """Follow the path to its end."""
        cdef double[::1] lengths = np.empty(passed.shape[0])
        cdef Py_ssize_t n_passed = -1
        with nogil:
            if self.pivots.lower(self.n_group, max_pivots):
                n_passed = self._end(passed, lengths)
        return n_passed

    cdef Py_ssize_t _end(self, Py_ssize_t[::1] passed, double[::1] lengths) noexcept nogil:
        """Compute the variables at the end of the path over the near samples, and return as `follow` does."""
        cdef Py_ssize_t n_passed, n_crossed
        cdef int _crossing
        for _crossing in range(MAX_CROSSINGS):
            self._variables()
            n_passed = self._passed(passed, lengths)
            if n_passed:
                return n_passed
            n_crossed = self._cross()
            if n_crossed <= 0:
                return n_crossed
        return -1

    cdef void _variables(self) noexcept nogil:
        """Compute the sides and the moving variables of all samples at the end."""
        cdef Py_ssize_t i, k
        cdef signed char side
        for i in range(self.near.shape[0]):
            k, side = self.near[i], self.pivots.sides[i]
            self.sides[k], self.changes[i] = side, 0
            if self._has_swapped(i):
                self.required[i] = self.begin.fixed(k, side) - self.begin.moving[k]
            elif side != FREE:
                self.changes[i] = self.begin.fixed(k, side) - self.begin.fixed(k, self.begin.sides[k])
        self._solve()
        self._moves(self.values)
        for k in range(self.values.shape[0]):
            self.values[k] += self.begin.moving[k]
        for i in range(self.near.shape[0]):
            if self._has_swapped(i):
                k = self.near[i]
                self.values[k] = self.begin.fixed(k, self.begin.sides[k]) + self.changes[i]

    cdef Py_ssize_t _passed(self, Py_ssize_t[::1] passed, double[::1] lengths) noexcept nogil:
        """Find the samples that are not near and have passed a bound, and return their number: see `follow`."""
        cdef Py_ssize_t size = passed.shape[0], n_found = 0, k, place
        cdef double start, length
        cdef bint has_passed, has_any_passed = False
        for k in range(self.values.shape[0]):
            has_passed = self.begin.has_passed(k, self.values[k], self.sides[k])
            if self.is_near[k] or not (has_passed or self.near.shape[0] == self.n_group):
                continue
            start = self.begin.moving[k] - self.begin.excess[k]
            length = room(start, self.values[k] - start, self.sides[k], self.begin.upper[k])
            if has_passed:
                has_any_passed, length = True, min(length, 1.0)
            if length == INFINITY or (n_found == size and length >= lengths[size - 1]):
                continue
            n_found = min(n_found + 1, size)
            place = n_found - 1
            while place > 0 and lengths[place - 1] > length:
                passed[place], lengths[place] = passed[place - 1], lengths[place - 1]
                place -= 1
            passed[place], lengths[place] = k, length
        return n_found if has_any_passed else 0

    cdef Py_ssize_t _cross(self) noexcept nogil:
        """Change the sides of near samples that passed a bound; return their number, or -1 if one cannot."""
        cdef Py_ssize_t n_crossed = 0, i, k
        cdef signed char side
        for i in range(self.near.shape[0]):
            k, side = self.near[i], self.pivots.sides[i]
            if self.begin.has_passed(k, self.values[k], side):
                if (side == FREE and self.pivots.is_last(i)) or not self.pivots.pivot(i):
                    return -1
                if side != FREE:
                    side = FREE
                else:
                    side = UPPER if self.values[k] > 0.5 * self.begin.upper[k] else ZERO
                self.pivots.sides[i] = side
                n_crossed += 1
        return n_crossed

    def end(self):
        """Return the sides, the dual variables and their directions at the end of the path."""
        cdef Py_ssize_t m = self.sides.shape[0], k, g
        alpha, directions = np.empty(m), np.empty((self.n_group, m))
        cdef double[::1] alpha_view = alpha
        cdef bint is_free
        cdef double[:, ::1] directions_view = directions
        with nogil:
            for k in range(m):
                is_free = self.sides[k] == FREE
                alpha_view[k] = self.values[k] if is_free else self.begin.fixed(k, self.sides[k])
            for g in range(self.n_group):
                self._direction(g, directions_view[g])
        return np.asarray(self.sides), alpha, directions

    cdef void _direction(self, Py_ssize_t g, double[::1] result) noexcept nogil:
        """Set `result` to how the dual variables move when the dual variable of sample g is lowered."""
        cdef Py_ssize_t i, k
        for i in range(self.near.shape[0]):
            self.required[i] = -1 if i == g and self._has_swapped(i) else 0
            self.changes[i] = -1 if i == g and not self._has_swapped(i) else 0
        self._solve()
        self._moves(result)
        for k in range(result.shape[0]):
            if self.sides[k] != FREE:
                result[k] = 0
        for i in range(self.near.shape[0]):
            if self.pivots.sides[i] == FREE and self._has_swapped(i):
                result[self.near[i]] = self.changes[i]

    cdef void _solve(self) noexcept nogil:
        """Change the fixed variables of swapped samples so that their moving variables change as required.

        Fixed and moving mean the roles at the start.
        """
        cdef const double[:, ::1] columns = self.begin.columns
        cdef Py_ssize_t n = self.near.shape[0], i, j
        cdef int _correction
        for _correction in range(N_CORRECTIONS):
            for i in range(n):
                self.rests[i] = self.required[i] if self._has_swapped(i) else 0
            for j in range(n):
                if self.changes[j] != 0:
                    for i in range(n):
                        if self._has_swapped(i):
                            self.rests[i] -= self.changes[j] * columns[self.places[j], self.near[i]]
            for i in range(n):
                if self._has_swapped(i):
                    for j in range(n):
                        self.changes[i] += self.pivots.columns[j, i] * self.rests[j]

    cdef void _moves(self, double[::1] result) noexcept nogil:
        """Set `result` to how the moving variables of all samples change."""
        cdef const double* column
        cdef double change
        cdef Py_ssize_t i, k
        memset(&result[0], 0, result.shape[0] * sizeof(double))
        for i in range(self.near.shape[0]):
            change = self.changes[i]
            if change != 0:
                column = &self.begin.columns[self.places[i], 0]
                for k in range(result.shape[0]):
                    result[k] += change * column[k]

    cdef inline bint _has_swapped(self, Py_ssize_t i) noexcept nogil:
        """Return True if the moving variable of a near sample was fixed at the start of paths."""
        return (self.pivots.sides[i] == FREE) != (self.begin.sides[self.near[i]] == FREE)
