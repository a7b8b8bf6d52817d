"""Conjugate steps: after every pass over some patterns, on to the best point of a plane.

The problem: a pass of updates has changed the dual variables of some patterns by d, and the move before
it, pass and step, by p. With u and q the changes of the weight vector that belong to them, find the
point of

    alpha + c d + e p

with the largest dual objective, target * sum_k alpha_k - |a|^2 / 2, and go towards it, within the
bounds, as far as the objective grows: a step can be short, but never loses what the pass has gained.
What lies at a bound after the pass is left out of d and p: it is to stay there.

As long as no dual variable reaches a bound, moves that each are the best of such a plane are those of
conjugate gradients, preconditioned by the pass. Unlike extrapolation, which takes the pass for a fixed
map, they do not ask it to be the same one each time: patterns may come in another order, and in orders
always new, passes gain much more.

The change of the weight vector is the difference of what it was before and after the pass; unless that
is mostly rounding, only rows of patterns that have reached a bound are added up again.

Source: Polyak (1969), The conjugate gradient method in extremal problems; Notay (2000), Flexible
conjugate gradients.
"""

from libc.math cimport INFINITY, fabs, isfinite
from libc.stdint cimport int32_t
from margins._sparse cimport axpy
from margins._update cimport Patterns, WeightVector

import numpy as np

# The sine, squared, of the angle between d and p below which they are one direction.
cdef double SAME_DIRECTION = 1e-10


# A difference or sum of vectors whose squared length is this share of theirs is not to be trusted.
cdef double ROUNDING = 1e-12


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


cdef struct Direction:
    # A change of the dual variables, and of the weight vector, in sums.
    double total        # of the changes of the dual variables
    double label_sum    # of those times their labels
    double along        # inner product of the weight vector with its change
    double square       # squared length of that change


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
    cdef double[::1] before, v_before       # alpha and the weights when the pass began
    cdef double[::1] change, u              # d and u
    cdef double[::1] last, q                # p and q
    cdef double label_before, label_u, label_q
    cdef double uu              # |u|^2
    cdef double least_uu, least_qq      # what |u|^2 and |q|^2 are to exceed to be more than rounding

    def __init__(self, Patterns patterns not None, WeightVector a not None,
                 const int32_t[::1] members not None, double target):
        cdef Py_ssize_t n = members.shape[0], d = a.v.shape[0]
        self.patterns, self.a, self.members, self.target = patterns, a, members, target
        self.before, self.change, self.last = np.empty(n), np.empty(n), np.zeros(n)
        self.v_before, self.u, self.q = np.empty(d), np.empty(d), np.zeros(d)
        self.label_q = 0
        self.least_qq = INFINITY    # there has been no move yet
        with nogil:
            self._remember()

    cdef void _remember(self) noexcept nogil:
        cdef Py_ssize_t i, j
        cdef double scale = self.a.state.scale
        for i in range(self.members.shape[0]):
            self.before[i] = scale * self.a.beta[self.members[i]]
        for j in range(self.v_before.shape[0]):
            self.v_before[j] = scale * self.a.v[j]
        self.label_before = scale * self.a.state.label_sum

    def gap(self):
        """About how much of the objective a pass found was left to gain, at functional margin 1.

        To be asked after every pass. What a pattern lacked of the target is told by its update.
        """
        cdef Py_ssize_t i, k
        cdef double total = 0, lack, now, upper
        with nogil:
            for i in range(self.members.shape[0]):
                k = self.members[i]
                now = self.a.state.scale * self.a.beta[k]
                self.change[i] = lack = now - self.before[i]
                lack *= self.patterns.sqnorms[k] + self.patterns.extension[k]
                if self.patterns.extension[k] > 0:
                    total += 0.5 * lack * lack / self.patterns.extension[k]
                else:   # lack (upper - now) if it lacks, else -lack now: which of them nobody could predict
                    upper = self.patterns.upper[k]
                    total += 0.5 * (upper * (lack + fabs(lack))) - lack * now
        return total / (self.target * self.target)

    def step(self):
        """Go on in the plane of the pass, of which `gap` has been asked, and the move before it."""
        cdef double c = 0, e = 0, slope, share = 0
        cdef Direction direction
        with nogil:
            self._leave_bounds_out()
            if self._best_of_plane(&c, &e):
                self._point_to(c, e, &direction)
                slope = self.target * direction.total - direction.along
                if slope > 0 and direction.square > 0:
                    share = min(slope / direction.square, 1)
            with gil:
                self.patterns.rows.check()   # a row of a kernel may have been refused: sums are not whole
            if share > 0:
                self._go(share, &direction)
            self._make_last(share, share * share * direction.square if share > 0 else 0)
            self._remember()

    cdef void _leave_bounds_out(self) noexcept nogil:
        """Find u, and take out of d, u, p and q what lies at a bound now."""
        cdef Py_ssize_t i, k
        cdef double now, sign, scale = self.a.state.scale
        self._subtract()
        for i in range(self.members.shape[0]):
            k = self.members[i]
            now = self.a.beta[k]
            if 0 < now and scale * now < self.patterns.upper[k]:
                continue
            sign = self.patterns.labels[k]
            if self.change[i] != 0:
                axpy(self.patterns.rows, k, -self.change[i] * sign, self.u)
                self.label_u -= self.change[i] * sign
                self.change[i] = 0
            if self.last[i] != 0:
                axpy(self.patterns.rows, k, -self.last[i] * sign, self.q)
                self.label_q -= self.last[i] * sign
                self.last[i] = 0

    cdef void _subtract(self) noexcept nogil:
        """Find u: the difference of the weight vectors, or, if that is mostly rounding, the sum."""
        cdef Py_ssize_t i, j, k
        cdef double now, sqrho = self.patterns.sqrho, scale = self.a.state.scale
        cdef double label = scale * self.a.state.label_sum, before = self.label_before
        cdef double difference, length
        self.label_u = label - before
        difference = sqrho * self.label_u * self.label_u
        length = sqrho * max(label * label, before * before)
        for j in range(self.u.shape[0]):
            now = scale * self.a.v[j]
            before = self.v_before[j]
            self.u[j] = now - before
            difference += (now - before) * (now - before)
            length += max(now * now, before * before)
        self.least_uu = ROUNDING * difference   # what lies at a bound will be taken out
        if difference > ROUNDING * length:
            return
        self.u[:] = 0
        self.label_u = 0
        for i in range(self.members.shape[0]):
            if self.change[i] != 0:
                k = self.members[i]
                axpy(self.patterns.rows, k, self.change[i] * self.patterns.labels[k], self.u)
                self.label_u += self.change[i] * self.patterns.labels[k]

    cdef bint _best_of_plane(self, double* c, double* e) noexcept nogil:
        """Find the coefficients of the largest objective, were there no bounds; False: there are none."""
        cdef Py_ssize_t i, j, k
        cdef double scale = self.a.state.scale, sqrho = self.patterns.sqrho
        cdef double bias = scale * self.a.state.label_sum, alpha, extension, sign, determinant
        # Inner products of a, u and q, augmentation and private coordinates included.
        cdef double au = sqrho * bias * self.label_u, aq = sqrho * bias * self.label_q
        cdef double uu = sqrho * self.label_u * self.label_u, uq = sqrho * self.label_u * self.label_q
        cdef double qq = sqrho * self.label_q * self.label_q
        cdef double total_d = 0, total_p = 0
        for i in range(self.members.shape[0]):
            k = self.members[i]
            alpha, extension = scale * self.a.beta[k], self.patterns.extension[k]
            total_d += self.change[i]
            total_p += self.last[i]
            au += extension * alpha * self.change[i]
            aq += extension * alpha * self.last[i]
            uu += extension * self.change[i] * self.change[i]
            uq += extension * self.change[i] * self.last[i]
            qq += extension * self.last[i] * self.last[i]
        if self.patterns.rows.is_kernel:
            for i in range(self.members.shape[0]):
                k = self.members[i]
                sign = self.patterns.labels[k]
                au += scale * self.a.v[k] * sign * self.change[i]
                aq += scale * self.a.v[k] * sign * self.last[i]
                uu += self.u[k] * sign * self.change[i]
                uq += self.u[k] * sign * self.last[i]
                qq += self.q[k] * sign * self.last[i]
        else:
            for j in range(self.u.shape[0]):
                au += scale * self.a.v[j] * self.u[j]
                aq += scale * self.a.v[j] * self.q[j]
                uu += self.u[j] * self.u[j]
                uq += self.u[j] * self.q[j]
                qq += self.q[j] * self.q[j]
        self.uu = uu
        if not uu > self.least_uu:
            return False
        au = self.target * total_d - au   # by how much the objective grows, at first, along each
        aq = self.target * total_p - aq
        determinant = uu * qq - uq * uq
        if qq > self.least_qq and determinant > SAME_DIRECTION * uu * qq:
            c[0] = (qq * au - uq * aq) / determinant
            e[0] = (uu * aq - uq * au) / determinant
        else:
            c[0], e[0] = au / uu, 0
        return isfinite(c[0] + e[0])

    cdef void _point_to(self, double c, double e, Direction* out) noexcept nogil:
        """Make p and q the change from here to that point of the plane, or to the bounds before it."""
        cdef Py_ssize_t i, j, k
        cdef double now, wanted, within, scale = self.a.state.scale, sqrho = self.patterns.sqrho
        cdef double label_sum = c * self.label_u + e * self.label_q
        cdef double total = 0, along = 0, square = 0
        for j in range(self.u.shape[0]):
            self.q[j] = c * self.u[j] + e * self.q[j]
        for i in range(self.members.shape[0]):
            if self.change[i] == 0 and self.last[i] == 0:
                continue
            k = self.members[i]
            now = scale * self.a.beta[k]
            wanted = c * self.change[i] + e * self.last[i]
            within = wanted
            if not 0 <= now + wanted <= self.patterns.upper[k]:
                within = (0 if now + wanted < 0 else self.patterns.upper[k]) - now
                axpy(self.patterns.rows, k, (within - wanted) * self.patterns.labels[k], self.q)
                label_sum += (within - wanted) * self.patterns.labels[k]
            self.last[i] = within
            total += within
            along += self.patterns.extension[k] * now * within
            square += self.patterns.extension[k] * within * within
        along += sqrho * scale * self.a.state.label_sum * label_sum
        square += sqrho * label_sum * label_sum
        if self.patterns.rows.is_kernel:
            for i in range(self.members.shape[0]):
                k = self.members[i]
                along += scale * self.a.v[k] * self.patterns.labels[k] * self.last[i]
                square += self.q[k] * self.patterns.labels[k] * self.last[i]
        else:
            for j in range(self.q.shape[0]):
                along += scale * self.a.v[j] * self.q[j]
                square += self.q[j] * self.q[j]
        self.label_q = label_sum
        out.total, out.label_sum, out.along, out.square = total, label_sum, along, square

    cdef void _go(self, double share, const Direction* direction) noexcept nogil:
        """Change the weight vector by a share of what p and q say."""
        cdef Py_ssize_t i, j, k
        cdef double c = share / self.a.state.scale
        for j in range(self.q.shape[0]):
            self.a.v[j] += c * self.q[j]
        for i in range(self.members.shape[0]):
            k = self.members[i]
            # Rounding must not carry it out of its bounds.
            self.a.beta[k] = min(
                max(self.a.beta[k] + c * self.last[i], 0), self.patterns.upper[k] / self.a.state.scale
            )
        self.a.state.label_sum += c * direction.label_sum
        self.a.state.dual_sum += share * direction.total
        self.a.state.sqnorm += share * (2 * direction.along + share * direction.square)
        self.a.state.t += 1
        self.a.state.n_updates += 1

    cdef void _make_last(self, double share, double square) noexcept nogil:
        """Make p and q the whole move: the pass, and the share of a step that was made, of this length."""
        cdef Py_ssize_t i, j
        if share > 0:
            for i in range(self.last.shape[0]):
                self.last[i] = self.change[i] + share * self.last[i]
            for j in range(self.q.shape[0]):
                self.q[j] = self.u[j] + share * self.q[j]
            self.label_q = self.label_u + share * self.label_q
        else:
            self.last[:] = self.change
            self.q[:] = self.u
            self.label_q = self.label_u
        # One may have taken back what the other has done.
        self.least_qq = max(self.least_uu, ROUNDING * (self.uu + square))
