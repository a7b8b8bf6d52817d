"""Conjugate steps: after every pass over some patterns, on to the best point of a small space.

The problem: a pass of updates has changed the dual variables of some patterns by d, and the moves before
it, pass and step, by p, the last one, and q, the one before. Find the point of the space

    alpha + c_d d + c_p p + c_q q

with the largest dual objective, target * sum_k alpha_k - |a|^2 / 2, and go towards it, within the
bounds, as far as the objective grows: a step can be short, but never loses what the pass has gained.
What lies at a bound after the pass is left out of d, p and q: it is to stay there.

As long as no dual variable reaches a bound, and all passes are the same linear map, moves that each are
the best of the plane of d and p are those of conjugate gradients, preconditioned by the pass. Passes in
orders always new gain much more than the same one again, but are no longer conjugate to all the moves
before: q makes up for most of that. (Visits of a pattern with q and without, averages of six fits:
basehock with C = 100 26 and 38, relathe 26 and 32, pcmac 21.5 and 24; hinge loss within 1e-4: relathe
24.3 and 26.5, basehock 15.1 and 15.5, pcmac 19.4 and 19.3. Two moves more hardly tell.)

How a move changes the weight vector is found by differences, and by adding up again the rows of patterns
that have reached a bound; where differences are mostly rounding, by adding up all of them.

Source: Polyak (1969), The conjugate gradient method in extremal problems; Notay (2000), Flexible
conjugate gradients.
"""

from libc.math cimport INFINITY, fabs, isfinite
from libc.stdint cimport int32_t
from margins._sparse cimport axpy
from margins._sums cimport dot_of, sum_of, weighted_dot_of
from margins._update cimport Patterns, WeightVector

import numpy as np

# The sine, squared, of the angle between d and p below which they are one direction.
cdef double SAME_DIRECTION = 1e-10

# A difference or sum of vectors whose squared length is this share of theirs is not to be trusted.
cdef double ROUNDING = 1e-12

# A move is summed again before it holds so many times the rounding of a weight vector: that of a kernel
# is not summed again before a proof.
cdef double MOST_LOST = 100


def unsettled(Patterns patterns not None, WeightVector a not None, const double[::1] before):
    """The patterns that further passes may concern: ndarray of int32, ascending.

    Those whose dual variable is between its bounds, or is not what it was `before`.
    """
    cdef Py_ssize_t k, n = 0, m = before.shape[0]
    cdef double alpha
    members = np.empty(m, dtype=np.int32)
    cdef int32_t[::1] out = members
    with nogil:
        for k in range(m):
            alpha = a.state.scale * a.beta[k]
            out[n] = <int32_t> k   # without a branch, which nobody could predict
            n += ((alpha > 0) & (alpha < patterns.upper[k])) | (alpha != before[k])
    return members[:n]


def gap_found(Patterns patterns not None, WeightVector a not None, const double[::1] before, double target):
    """About how much of the objective a pass over all patterns found was left to gain."""
    cdef Py_ssize_t k
    cdef double total = 0, now
    with nogil:
        for k in range(before.shape[0]):
            now = a.state.scale * a.beta[k]
            total += _lacked(patterns, k, now, now - before[k])
    return total / (target * target)


cdef inline double _lacked(Patterns patterns, Py_ssize_t k, double now, double change) noexcept nogil:
    """What an update of pattern k, which has changed its dual variable to `now`, says was left to gain."""
    cdef double lack = change * (patterns.sqnorms[k] + patterns.extension[k]), upper
    if patterns.extension[k] > 0:
        return 0.5 * lack * lack / patterns.extension[k]
    # lack (upper - now) if it lacks, else -lack now: which one nobody could predict
    upper = patterns.upper[k]
    return 0.5 * (upper * (lack + fabs(lack))) - lack * now


cdef enum:
    MOVES = 3   # d, p and q


cdef class Move:
    """A change of the members' dual variables, and that of the weight vector which belongs to it."""

    cdef double[::1] dual       # of the members
    cdef double[::1] vector     # of the features; over a kernel, of the products with all patterns
    cdef double label_sum       # of the sum of the dual variables times their labels
    cdef double least           # what the squared length is to exceed to be no rounding
    cdef double lost            # the rounding in `vector`, in units of that in a weight vector

    def __init__(self, Py_ssize_t n_members, Py_ssize_t n_features):
        self.dual, self.vector = np.zeros(n_members), np.zeros(n_features)
        self.least = INFINITY   # there has been no move yet

    cdef void add(self, double own, double c, Move other) noexcept nogil:
        """Make it so many times itself and c times another one."""
        _combine(self.dual, other.dual, own, c)
        _combine(self.vector, other.vector, own, c)
        self.label_sum = own * self.label_sum + c * other.label_sum
        self.lost = fabs(own) * self.lost + fabs(c) * other.lost

    cdef void copy(self, Move other) noexcept nogil:
        """Make it the same as another one."""
        self.dual[:] = other.dual
        self.vector[:] = other.vector
        self.label_sum, self.lost = other.label_sum, other.lost


cdef void _combine(double[::1] x, const double[::1] y, double c, double e) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        x[i] = c * x[i] + e * y[i]


cdef void _solve(double[MOVES][MOVES] gram, double* c, bint has_p, bint has_q) noexcept nogil:
    """Solve for the best multiples of d, p and q, in place of the slopes along them.

    `gram` holds their inner products below the diagonal, and is changed. 0 for a move that is not to
    be had, or that is one of those before it but for rounding.
    """
    cdef double[MOVES] pivot
    cdef bint[MOVES] taken
    cdef double square
    cdef int i, j, k
    taken[0], taken[1], taken[2] = True, has_p, has_q
    for i in range(MOVES):
        pivot[i] = square = gram[i][i]
        for j in range(i):
            for k in range(j):
                gram[i][j] -= gram[i][k] * gram[j][k] * pivot[k]
            gram[i][j] = gram[i][j] / pivot[j] if taken[j] else 0
            pivot[i] -= gram[i][j] * gram[i][j] * pivot[j]
            c[i] -= gram[i][j] * c[j]
        taken[i] = taken[i] and pivot[i] > SAME_DIRECTION * square
        if not taken[i]:
            pivot[i] = c[i] = 0
    for i in range(MOVES - 1, -1, -1):
        if taken[i]:
            c[i] /= pivot[i]
            for j in range(i + 1, MOVES):
                c[i] -= gram[j][i] * c[j]


cdef class ConjugateSteps:
    """Steps between passes over some patterns.

    Parameters
    ----------
    patterns : Patterns
        With private coordinates, or with upper bounds of the dual variables.
    a : WeightVector
        With dual variables.
    members : ndarray of int32, shape (n,)
        The patterns that a pass presents, each once, in any order.
    target : float
        a.y_k is to be this at the margin.
    """

    cdef Patterns patterns
    cdef WeightVector a
    cdef const int32_t[::1] members
    cdef double target
    # Of the members: their private coordinates' squared norms, if any is not 0, and upper bounds.
    cdef double[::1] extension, upper
    cdef bint has_private
    cdef double[::1] alpha      # their dual variables, as the last pass or step has left them
    cdef double[::1] vector_before      # the weights when the pass began
    cdef double label_sum_before, sqnorm_before
    cdef Move d, p, q       # the pass, the move before it, and the one before that

    def __init__(self, Patterns patterns not None, WeightVector a not None,
                 const int32_t[::1] members not None, double target):
        cdef Py_ssize_t i, k, n = members.shape[0], n_features = a.v.shape[0]
        self.patterns, self.a, self.members, self.target = patterns, a, members, target
        self.extension, self.upper, self.alpha = np.empty((3, n))
        self.vector_before = np.empty(n_features)
        self.d, self.p, self.q = [Move(n, n_features) for _ in range(MOVES)]
        self.has_private = False
        with nogil:
            for i in range(n):
                k = members[i]
                self.extension[i], self.upper[i] = patterns.extension[k], patterns.upper[k]
                self.has_private = self.has_private or self.extension[i] > 0
                self.alpha[i] = a.state.scale * a.beta[k]
            self._remember()

    cdef void _remember(self) noexcept nogil:
        """Keep what the weight vector is before the next pass."""
        cdef Py_ssize_t i
        cdef double scale = self.a.state.scale
        for i in range(self.vector_before.shape[0]):
            self.vector_before[i] = scale * self.a.v[i]
        self.label_sum_before = scale * self.a.state.label_sum
        self.sqnorm_before = self.a.state.sqnorm

    def gap(self):
        """About how much of the objective a pass found was left to gain, at functional margin 1.

        To be asked once after every pass. What a pattern lacked of the target is told by its update.
        """
        cdef Py_ssize_t i, k
        cdef double total = 0, now
        with nogil:
            for i in range(self.members.shape[0]):
                k = self.members[i]
                now = self.a.state.scale * self.a.beta[k]
                self.d.dual[i] = now - self.alpha[i]
                self.alpha[i] = now
                total += _lacked(self.patterns, k, now, self.d.dual[i])
        return total / (self.target * self.target)

    def step(self):
        """Go on in the space of the pass, of which `gap` has been asked, and the moves before it."""
        cdef Move move = self.q     # what is no longer asked for makes room for the new one
        cdef double dd, square = 0, slope = 0, share = 0
        with nogil:
            dd = self._find_change_of_vector()
            if self._leave_bounds_out():
                dd = self._inner(self.d, self.d)
            if dd > self.d.least and self._point(dd):
                slope, square = self._slope(move), self._inner(move, move)
                if slope > 0 and square > 0:
                    share = min(slope / square, 1)
            with gil:
                self.patterns.rows.check()   # a kernel may have refused a row: sums are not whole
            if share > 0:
                self._go(move, share, slope, square)
                move.add(share, 1, self.d)   # all of it, pass and step
            else:
                move.copy(self.d)
            # The step may have taken back what the pass has done.
            move.least = max(self.d.least, ROUNDING * (dd + share * share * square))
            self._remember()
        self.p, self.q = move, self.p

    cdef double _find_change_of_vector(self) noexcept nogil:
        """Of the pass: the difference of weight vectors or, where that is mostly rounding, a sum.

        Returned is its squared length.
        """
        cdef Py_ssize_t i
        cdef double scale = self.a.state.scale, square
        for i in range(self.d.vector.shape[0]):
            self.d.vector[i] = scale * self.a.v[i] - self.vector_before[i]
        self.d.label_sum = scale * self.a.state.label_sum - self.label_sum_before
        self.d.lost = 1
        square = self._inner(self.d, self.d)
        self.d.least = ROUNDING * fabs(square)   # what lies at a bound will be taken out
        if square > ROUNDING * max(self.a.state.sqnorm, self.sqnorm_before):
            return square
        self._sum(self.d)
        return self._inner(self.d, self.d)

    cdef bint _leave_bounds_out(self) noexcept nogil:
        """Take out of all moves what lies at a bound now: True if some of the pass does."""
        cdef Py_ssize_t i
        cdef bint changes = False
        for i in range(self.members.shape[0]):
            if not 0 < self.alpha[i] < self.upper[i]:
                changes = changes or self.d.dual[i] != 0
                self._leave_out(self.d, i)
                self._leave_out(self.p, i)
                self._leave_out(self.q, i)
        return changes

    cdef void _leave_out(self, Move move, Py_ssize_t i) noexcept nogil:
        self._add(move, i, -move.dual[i])
        move.dual[i] = 0

    cdef bint _point(self, double dd) noexcept nogil:
        """Make q the change from here to the best point, or to the bounds before it.

        False, and it is what it was, if rounding does not allow it.
        """
        cdef double[MOVES][MOVES] gram
        cdef double[MOVES] c
        cdef double wanted, within
        cdef Py_ssize_t i
        c[0], c[1], c[2] = self._slope(self.d), self._slope(self.p), self._slope(self.q)
        gram[0][0] = dd
        gram[1][0], gram[1][1] = self._inner(self.d, self.p), self._inner(self.p, self.p)
        gram[2][0], gram[2][1] = self._inner(self.d, self.q), self._inner(self.p, self.q)
        gram[2][2] = self._inner(self.q, self.q)
        _solve(gram, c, gram[1][1] > self.p.least, gram[2][2] > self.q.least)
        if not isfinite(c[0] + c[1] + c[2]):
            return False
        self.q.add(c[2], c[0], self.d)
        if c[1] != 0:
            self.q.add(1, c[1], self.p)
        for i in range(self.members.shape[0]):
            wanted = self.alpha[i] + self.q.dual[i]
            if not 0 <= wanted <= self.upper[i]:
                within = (0 if wanted < 0 else self.upper[i]) - self.alpha[i]
                if self.q.lost <= MOST_LOST:
                    self._add(self.q, i, within - self.q.dual[i])
                self.q.dual[i] = within
        # Where the objective hardly curves, points that nothing but bounds hold back are far away.
        if self.q.lost > MOST_LOST:
            self._sum(self.q)
            self.q.lost = 1
        return True

    cdef void _go(self, Move move, double share, double slope, double square) noexcept nogil:
        """Change the weight vector by a share of a move."""
        cdef Py_ssize_t i, k
        cdef double total = sum_of(&move.dual[0], move.dual.shape[0]), scale = self.a.state.scale
        cdef double c = share / scale
        for i in range(move.vector.shape[0]):
            self.a.v[i] += c * move.vector[i]
        for i in range(self.members.shape[0]):
            k = self.members[i]
            # Rounding must not carry it out of its bounds.
            self.a.beta[k] = min(max(self.a.beta[k] + c * move.dual[i], 0), self.upper[i] / scale)
            self.alpha[i] = scale * self.a.beta[k]
        self.a.state.label_sum += c * move.label_sum
        self.a.state.dual_sum += share * total
        self.a.state.sqnorm += share * (2 * (self.target * total - slope) + share * square)
        self.a.state.t += 1
        self.a.state.n_updates += 1

    cdef void _sum(self, Move move) noexcept nogil:
        """Find the vector of a move from its dual variables."""
        cdef Py_ssize_t i
        move.vector[:] = 0
        move.label_sum = 0
        for i in range(self.members.shape[0]):
            self._add(move, i, move.dual[i])

    cdef void _add(self, Move move, Py_ssize_t i, double alpha) noexcept nogil:
        """Add alpha times a member's pattern to the vector of a move."""
        cdef Py_ssize_t k = self.members[i]
        if alpha != 0:
            axpy(self.patterns.rows, k, alpha * self.patterns.labels[k], &move.vector[0])
            move.label_sum += alpha * self.patterns.labels[k]

    cdef double _inner(self, Move x, Move y) noexcept nogil:
        """Inner product, augmentation and private coordinates included."""
        cdef double total = self.patterns.sqrho * x.label_sum * y.label_sum
        return total + self._private(x.dual, y) + self._inner_of_features(x.vector, y)

    cdef double _private(self, const double[::1] dual, Move y) noexcept nogil:
        """What private coordinates add to an inner product."""
        if not self.has_private:
            return 0
        return weighted_dot_of(&self.extension[0], &dual[0], &y.dual[0], dual.shape[0])

    cdef double _slope(self, Move x) noexcept nogil:
        """By how much the objective grows, at first, along a move."""
        cdef double inner = self.patterns.sqrho * self.a.state.label_sum * x.label_sum
        inner += self._inner_of_features(self.a.v, x)
        inner = self.a.state.scale * inner + self._private(self.alpha, x)
        return self.target * sum_of(&x.dual[0], x.dual.shape[0]) - inner

    cdef double _inner_of_features(self, const double[::1] vector, Move y) noexcept nogil:
        cdef double total = 0
        cdef Py_ssize_t i, k
        if not self.patterns.rows.is_kernel:
            return dot_of(&vector[0], &y.vector[0], vector.shape[0])
        for i in range(self.members.shape[0]):   # `vector` holds the products with all patterns
            k = self.members[i]
            total += vector[k] * self.patterns.labels[k] * y.dual[i]
        return total
