"""Conjugate steps: between any two passes over patterns, on to the best point of a small space.

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

from libc.math cimport INFINITY, fabs, isfinite, sqrt
from libc.stdint cimport int32_t
from margins._sparse cimport axpy
from margins.linalg._sums cimport BLOCK, dot_of, sum_of, weighted_dot_of
from margins._update cimport Patterns, WeightVector

import numpy as np

# The sine, squared, of the angle between d and p below which they are one direction.
cdef double SAME_DIRECTION = 1e-10

# A difference or sum of vectors whose squared length is this share of theirs is not to be trusted.
cdef double ROUNDING = 1e-12

# A move is summed again before it holds so many times the rounding of a weight vector: that of a kernel
# is not summed again before a proof.
cdef double MOST_LOST = 100


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

    def __init__(self, Py_ssize_t n_features):
        self.dual, self.vector = np.empty(0), np.zeros(n_features)
        self.least = INFINITY   # there has been no move yet

    cdef void copy(self, Move other) noexcept nogil:
        """Make it the same as another one."""
        self.dual[:] = other.dual
        self.vector[:] = other.vector
        self.label_sum, self.lost = other.label_sum, other.lost


cdef void _combine(
    double[::1] x, double c, const double[::1] y, double e, const double[::1] z, double f
) noexcept nogil:
    """Make x the sum c x + e y + f z."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        x[i] = c * x[i] + e * y[i] + f * z[i]


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
    """Steps between passes.

    After `begin` there is a pass over all patterns, each presented once; then, between `working_set` and the
    next `begin`, passes over those that are unsettled, in any order. After each pass `gap` is asked, then
    a `step` may be made; moves last from one pass over all patterns to the next, unless that begins anew.

    Parameters
    ----------
    patterns : Patterns
        With private coordinates, or with upper bounds of the dual variables.
    a : WeightVector
        With dual variables.
    target : float
        a.y_k is to be this at the margin.
    full_set_share : float
        Where the working set would hold more than this share of the samples, it is all of them.
    """

    cdef Patterns patterns
    cdef readonly WeightVector a
    cdef double target, full_set_share
    cdef bint has_private
    cdef double[::1] dual_before        # of all patterns, when the last pass over all of them began
    cdef const int32_t[::1] members     # those that this pass has left unsettled
    # Of the members: their private coordinates' squared norms, upper bounds, and dual variables as the
    # last pass or step has left them.
    cdef double[::1] extension, upper, alpha
    cdef bint is_due        # a pass has been made, and no step since
    cdef bint is_first      # it is the one that moves come after
    cdef double[::1] vector_before      # the weights when the last pass began
    cdef double label_sum_before, sqnorm_before
    cdef Move d, p, q       # the pass, the move before it, and the one before that
    cdef double[MOVES][MOVES] gram      # their inner products, below the diagonal
    cdef double[MOVES] slopes

    def __init__(self, Patterns patterns not None, WeightVector a not None, double target,
                 double full_set_share=0.9):
        cdef Py_ssize_t m = len(patterns), n_features = a.v.shape[0], k
        self.patterns, self.a, self.target, self.full_set_share = patterns, a, target, full_set_share
        self.members = np.empty(0, dtype=np.int32)
        self.dual_before, self.vector_before = np.empty(m), np.empty(n_features)
        self.d, self.p, self.q = [Move(n_features) for _ in range(MOVES)]
        self.has_private = self.is_due = self.is_first = False
        with nogil:
            for k in range(m):
                self.has_private = self.has_private or patterns.extension[k] > 0

    def begin(self, bint anew):
        """Before a pass over all patterns: go on from the pass before it, or `anew`, without moves."""
        cdef Py_ssize_t k
        if anew:
            self.members = np.empty(0, dtype=np.int32)
            self.p, self.q = [Move(self.a.v.shape[0]) for _ in range(MOVES - 1)]
        if self.is_due and not anew:
            self.step()
        else:
            self._remember()
        self.is_due, self.is_first = False, anew
        with nogil:
            for k in range(self.dual_before.shape[0]):
                self.dual_before[k] = self.a.state.scale * self.a.beta[k]

    def working_set(self):
        """After it: the patterns that further passes may concern, which `gap` and `step` now are about.

        Those whose dual variable is between its bounds, or is not what it was before; or all, if these are
        nearly all.

        Returns
        -------
        ndarray of int32
            Ascending.
        """
        cdef Py_ssize_t i, k, n = 0, m = self.dual_before.shape[0]
        cdef double alpha
        members = np.empty(m, dtype=np.int32)
        cdef int32_t[::1] out = members
        with nogil:
            for k in range(m):
                alpha = self.a.state.scale * self.a.beta[k]
                out[n] = <int32_t> k   # without a branch, which nobody could predict
                n += ((alpha > 0) & (alpha < self.patterns.upper[k])) | (alpha != self.dual_before[k])
        if n > self.full_set_share * m:
            n = m
            members[:] = np.arange(m)
        self.d.dual = np.empty(n)
        self._carry(self.p, out[:n])
        self._carry(self.q, out[:n])
        self.members = out[:n]
        self.alpha, self.upper, self.extension = np.empty((3, n))
        with nogil:
            for i in range(n):
                k = out[i]
                self.alpha[i], self.upper[i] = self.dual_before[k], self.patterns.upper[k]
                self.extension[i] = self.patterns.extension[k]
        return members[:n]

    cdef _carry(self, Move move, const int32_t[::1] members):
        """Make a move one of these members. Those that are none any more are at a bound: left out."""
        cdef Py_ssize_t i, j = 0, n_before = self.members.shape[0]
        cdef double[::1] dual = np.zeros(members.shape[0])
        with nogil:
            for i in range(members.shape[0]):
                while j < n_before and self.members[j] < members[i]:
                    self._leave_out(move, j)
                    j += 1
                if j < n_before and self.members[j] == members[i]:
                    dual[i] = move.dual[j]
                    j += 1
            while j < n_before:
                self._leave_out(move, j)
                j += 1
        move.dual = dual

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
        self.is_due = True
        return total / (self.target * self.target)

    def step(self):
        """Go on in the space of the pass, of which `gap` has been asked, and the moves before it."""
        cdef double square = 0, slope = 0, share = 0
        self.is_due = False
        # The pass over all patterns that moves come after is none of them.
        if self.is_first or self.members.shape[0] == 0:
            self.is_first = False
            self._remember()
            return
        with nogil:
            self._leave_bounds_out()
            self._measure(True)
            if not self.gram[0][0] > ROUNDING * max(self.a.state.sqnorm, self.sqnorm_before):
                self._sum(self.d)   # the difference is mostly rounding
                self._measure(False)
            self.d.least = max(self.d.least, ROUNDING * self.gram[0][0])
            if self.gram[0][0] > self.d.least and self._point():
                slope, square = self._slope(self.q), self._inner(self.q, self.q)
                if slope > 0 and square > 0:
                    share = min(slope / square, 1)
            with gil:
                self.patterns.rows.check()   # a kernel may have refused a row: sums are not whole
            if share > 0:
                self._go(share, slope, square)
            else:
                self.q.copy(self.d)
                self._remember()
            # The step may have taken back what the pass has done.
            self.q.least = max(self.d.least, ROUNDING * (self.gram[0][0] + share * share * square))
        # What is no longer asked for has made room for the new move, all of it, pass and step.
        self.p, self.q = self.q, self.p

    cdef void _leave_bounds_out(self) noexcept nogil:
        """Take out of all moves what lies at a bound now."""
        cdef Py_ssize_t i, k
        cdef double signed, length = 0
        for i in range(self.members.shape[0]):
            if not 0 < self.alpha[i] < self.upper[i]:
                if self.d.dual[i] != 0:   # of the pass: as if it had been so before
                    k = self.members[i]
                    signed = self.d.dual[i] * self.patterns.labels[k]
                    axpy(self.patterns.rows, k, signed, &self.vector_before[0])
                    self.label_sum_before += signed
                    length += fabs(signed) * sqrt(self.patterns.sqnorms[k])
                    self.d.dual[i] = 0
                self._leave_out(self.p, i)
                self._leave_out(self.q, i)
        self.d.least = ROUNDING * length * length   # what has been taken out leaves its rounding

    cdef void _leave_out(self, Move move, Py_ssize_t i) noexcept nogil:
        self._add(move, i, -move.dual[i])
        move.dual[i] = 0

    cdef void _measure(self, bint find) noexcept nogil:
        """The inner products of d, p and q, and the slopes along them: `gram`, `slopes`.

        To `find` the change of the weight vector that belongs to d, a difference, comes first. Block by
        block: vectors of some thousands of features are read once.
        """
        cdef const double* vectors[MOVES]
        cdef const double* duals[MOVES]
        cdef double[MOVES] label_sums
        cdef const double* v = &self.a.v[0]
        cdef double scale = self.a.state.scale, label_sum = scale * self.a.state.label_sum
        cdef Py_ssize_t begin = 0, size, l, n = self.members.shape[0]
        cdef int i, j
        if find:
            self.d.label_sum, self.d.lost = label_sum - self.label_sum_before, 1
        vectors[0], vectors[1], vectors[2] = &self.d.vector[0], &self.p.vector[0], &self.q.vector[0]
        duals[0], duals[1], duals[2] = &self.d.dual[0], &self.p.dual[0], &self.q.dual[0]
        label_sums[0], label_sums[1], label_sums[2] = self.d.label_sum, self.p.label_sum, self.q.label_sum
        for i in range(MOVES):
            self.slopes[i] = self.target * sum_of(duals[i], n) - self._private(&self.alpha[0], duals[i])
            self.slopes[i] -= self.patterns.sqrho * label_sum * label_sums[i]
            for j in range(i + 1):
                self.gram[i][j] = self._private(duals[i], duals[j])
                self.gram[i][j] += self.patterns.sqrho * label_sums[i] * label_sums[j]
        while begin < self.a.v.shape[0]:
            size = min(BLOCK, self.a.v.shape[0] - begin)
            if find:
                for l in range(begin, begin + size):
                    self.d.vector[l] = scale * v[l] - self.vector_before[l]
            if not self.patterns.rows.is_kernel:
                for i in range(MOVES):
                    self.slopes[i] -= scale * dot_of(v + begin, vectors[i] + begin, size)
                    for j in range(i + 1):
                        self.gram[i][j] += dot_of(vectors[i] + begin, vectors[j] + begin, size)
            begin += size
        if self.patterns.rows.is_kernel:
            for i in range(MOVES):
                self.slopes[i] -= scale * self._inner_over_kernel(v, duals[i])
                for j in range(i + 1):
                    self.gram[i][j] += self._inner_over_kernel(vectors[i], duals[j])

    cdef bint _point(self) noexcept nogil:
        """Make q the change from here to the best point, or to the bounds before it.

        False, and it is what it was, if rounding does not allow it.
        """
        cdef double[MOVES] c
        cdef double wanted, within
        cdef Py_ssize_t i
        c[0], c[1], c[2] = self.slopes[0], self.slopes[1], self.slopes[2]
        _solve(self.gram, c, self.gram[1][1] > self.p.least, self.gram[2][2] > self.q.least)
        if not isfinite(c[0] + c[1] + c[2]):
            return False
        _combine(self.q.vector, c[2], self.d.vector, c[0], self.p.vector, c[1])
        _combine(self.q.dual, c[2], self.d.dual, c[0], self.p.dual, c[1])
        self.q.label_sum = c[2] * self.q.label_sum + c[0] * self.d.label_sum + c[1] * self.p.label_sum
        self.q.lost = fabs(c[2]) * self.q.lost + fabs(c[0]) * self.d.lost + fabs(c[1]) * self.p.lost
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

    cdef void _go(self, double share, double slope, double square) noexcept nogil:
        """Change the weight vector by a share of q, and add the pass to that."""
        cdef Py_ssize_t i, k
        cdef double total = sum_of(&self.q.dual[0], self.q.dual.shape[0]), scale = self.a.state.scale
        cdef double c = share / scale
        for i in range(self.a.v.shape[0]):
            self.a.v[i] += c * self.q.vector[i]
            self.vector_before[i] = scale * self.a.v[i]
            self.q.vector[i] = share * self.q.vector[i] + self.d.vector[i]
        for i in range(self.members.shape[0]):
            k = self.members[i]
            # Rounding must not carry it out of its bounds.
            self.a.beta[k] = min(max(self.a.beta[k] + c * self.q.dual[i], 0), self.upper[i] / scale)
            self.alpha[i] = scale * self.a.beta[k]
            self.q.dual[i] = share * self.q.dual[i] + self.d.dual[i]
        self.a.state.label_sum += c * self.q.label_sum
        self.a.state.dual_sum += share * total
        self.a.state.sqnorm += share * (2 * (self.target * total - slope) + share * square)
        self.a.state.t += 1
        self.a.state.n_updates += 1
        self.q.label_sum = share * self.q.label_sum + self.d.label_sum
        self.q.lost = share * self.q.lost + self.d.lost
        self.label_sum_before, self.sqnorm_before = scale * self.a.state.label_sum, self.a.state.sqnorm

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
        total += self._private(&x.dual[0], &y.dual[0])
        return total + self._inner_of_features(&x.vector[0], y)

    cdef double _slope(self, Move x) noexcept nogil:
        """By how much the objective grows, at first, along a move."""
        cdef double inner = self.patterns.sqrho * self.a.state.label_sum * x.label_sum
        inner += self._inner_of_features(&self.a.v[0], x)
        inner = self.a.state.scale * inner + self._private(&self.alpha[0], &x.dual[0])
        return self.target * sum_of(&x.dual[0], x.dual.shape[0]) - inner

    cdef double _private(self, const double* dual, const double* other) noexcept nogil:
        """What private coordinates add to an inner product."""
        if not self.has_private:
            return 0
        return weighted_dot_of(&self.extension[0], dual, other, self.extension.shape[0])

    cdef double _inner_of_features(self, const double* vector, Move y) noexcept nogil:
        if self.patterns.rows.is_kernel:
            return self._inner_over_kernel(vector, &y.dual[0])
        return dot_of(vector, &y.vector[0], y.vector.shape[0])

    cdef double _inner_over_kernel(self, const double* products, const double* dual) noexcept nogil:
        """Of a vector, given its products with all patterns, with what dual variables of members make."""
        cdef Py_ssize_t i, k
        cdef double total = 0
        for i in range(self.members.shape[0]):
            k = self.members[i]
            total += products[k] * self.patterns.labels[k] * dual[i]
        return total
