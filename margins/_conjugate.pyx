"""Conjugate steps: after every pass over some patterns, on to the best point of a plane.

The problem: a pass of updates has changed the dual variables of some patterns by d, and the move before
it, pass and step, by p. Find the point of the plane

    alpha + c d + e p

with the largest dual objective, target * sum_k alpha_k - |a|^2 / 2, and go towards it, within the
bounds, as far as the objective grows: a step can be short, but never loses what the pass has gained.
What lies at a bound after the pass is left out of d and p: it is to stay there.

As long as no dual variable reaches a bound, moves that each are the best of such a plane are those of
conjugate gradients, preconditioned by the pass. Unlike extrapolation, which takes the pass for a fixed
map, they do not ask it to be the same one each time: patterns may come in another order, and in orders
always new, passes gain much more.

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


cdef class Move:
    """A change of the members' dual variables, and that of the weight vector which belongs to it."""

    cdef double[::1] dual       # of the members
    cdef double[::1] vector     # of the features; over a kernel, of the products with all patterns
    cdef double label_sum       # of the sum of the dual variables times their labels

    def __init__(self, Py_ssize_t n_members, Py_ssize_t n_features):
        self.dual, self.vector = np.zeros(n_members), np.zeros(n_features)

    cdef void combine(self, double c, double e, Move other) noexcept nogil:
        """Make it c times itself and e times another one."""
        _combine(self.dual, other.dual, c, e)
        _combine(self.vector, other.vector, c, e)
        self.label_sum = c * self.label_sum + e * other.label_sum


cdef void _combine(double[::1] x, const double[::1] y, double c, double e) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        x[i] = c * x[i] + e * y[i]


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
    cdef Move d, p          # the pass, and the move before it
    cdef double least_dd, least_pp      # what their squared lengths are to exceed to be no rounding
    cdef double lost        # the rounding in p, in units of that in a weight vector

    def __init__(self, Patterns patterns not None, WeightVector a not None,
                 const int32_t[::1] members not None, double target):
        cdef Py_ssize_t i, k, n = members.shape[0], n_features = a.v.shape[0]
        self.patterns, self.a, self.members, self.target = patterns, a, members, target
        self.extension, self.upper, self.alpha = np.empty((3, n))
        self.vector_before = np.empty(n_features)
        self.d, self.p = Move(n, n_features), Move(n, n_features)
        self.least_pp = INFINITY    # there has been no move yet
        self.lost = 0
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
        """Go on in the plane of the pass, of which `gap` has been asked, and the move before it."""
        cdef double dd, pp = 0, slope = 0, share = 0
        with nogil:
            self._find_change_of_vector()
            self._leave_bounds_out()
            dd = self._inner(self.d, self.d)
            if dd > self.least_dd and self._point(dd):
                slope, pp = self._slope(self.p), self._inner(self.p, self.p)
                if slope > 0 and pp > 0:
                    share = min(slope / pp, 1)
            with gil:
                self.patterns.rows.check()   # a kernel may have refused a row: sums are not whole
            if share > 0:
                self._go(share, slope, pp)
            self.p.combine(share, 1, self.d)    # the whole move
            self.lost = share * self.lost + 1
            # The step may have taken back what the pass has done.
            self.least_pp = max(self.least_dd, ROUNDING * (dd + share * share * pp))
            self._remember()

    cdef void _find_change_of_vector(self) noexcept nogil:
        """Of the pass: the difference of weight vectors or, where that is mostly rounding, a sum."""
        cdef Py_ssize_t i
        cdef double scale = self.a.state.scale, change
        for i in range(self.d.vector.shape[0]):
            self.d.vector[i] = scale * self.a.v[i] - self.vector_before[i]
        self.d.label_sum = scale * self.a.state.label_sum - self.label_sum_before
        change = self._inner(self.d, self.d)
        self.least_dd = ROUNDING * fabs(change)   # what lies at a bound will be taken out
        if not change > ROUNDING * max(self.a.state.sqnorm, self.sqnorm_before):
            self._sum(self.d)

    cdef void _leave_bounds_out(self) noexcept nogil:
        """Take out of d and p what lies at a bound now."""
        cdef Py_ssize_t i
        for i in range(self.members.shape[0]):
            if not 0 < self.alpha[i] < self.upper[i]:
                self._add(self.d, i, -self.d.dual[i])
                self._add(self.p, i, -self.p.dual[i])
                self.d.dual[i] = self.p.dual[i] = 0

    cdef bint _point(self, double dd) noexcept nogil:
        """Make p the change from here to the best point of the plane, or to the bounds before it.

        False, and p is nothing, if rounding does not allow it.
        """
        cdef double slope_d = self._slope(self.d), slope_p = self._slope(self.p)
        cdef double dp = self._inner(self.d, self.p), pp = self._inner(self.p, self.p)
        cdef double determinant = dd * pp - dp * dp
        cdef double c = slope_d / dd, e = 0, wanted, within
        cdef Py_ssize_t i
        if pp > self.least_pp and determinant > SAME_DIRECTION * dd * pp:
            c = (pp * slope_d - dp * slope_p) / determinant
            e = (dd * slope_p - dp * slope_d) / determinant
        if not isfinite(c + e):
            self.p.dual[:] = 0
            self.p.vector[:] = 0
            self.p.label_sum = 0
            return False
        self.p.combine(e, c, self.d)
        self.lost = fabs(c) + fabs(e) * self.lost
        for i in range(self.members.shape[0]):
            wanted = self.alpha[i] + self.p.dual[i]
            if not 0 <= wanted <= self.upper[i]:
                within = (0 if wanted < 0 else self.upper[i]) - self.alpha[i]
                if self.lost <= MOST_LOST:
                    self._add(self.p, i, within - self.p.dual[i])
                self.p.dual[i] = within
        # Where the objective hardly curves, points that nothing but bounds hold back are far away.
        if self.lost > MOST_LOST:
            self._sum(self.p)
            self.lost = 1
        return True

    cdef void _go(self, double share, double slope, double pp) noexcept nogil:
        """Change the weight vector by a share of p."""
        cdef Py_ssize_t i, k
        cdef double total = sum_of(&self.p.dual[0], self.p.dual.shape[0]), scale = self.a.state.scale
        cdef double c = share / scale
        for i in range(self.p.vector.shape[0]):
            self.a.v[i] += c * self.p.vector[i]
        for i in range(self.members.shape[0]):
            k = self.members[i]
            # Rounding must not carry it out of its bounds.
            self.a.beta[k] = min(max(self.a.beta[k] + c * self.p.dual[i], 0), self.upper[i] / scale)
            self.alpha[i] = scale * self.a.beta[k]
        self.a.state.label_sum += c * self.p.label_sum
        self.a.state.dual_sum += share * total
        self.a.state.sqnorm += share * (2 * (self.target * total - slope) + share * pp)
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
