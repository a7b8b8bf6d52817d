"""Conjugate steps: after every pass over samples, a step to the best point of a small subspace.

The problem: a pass of updates has changed the dual variables of some samples by d. Let p be the previous search
direction, pass and step together, and q the search direction before p. Find the point of the space

    alpha + c_d d + c_p p + c_q q

with the largest dual objective, target * sum_k alpha_k - |a|^2 / 2. Move towards it within the bounds
0 <= alpha_k <= U_k while the objective grows: a step can be short, but never loses what the pass gained. A dual
variable at a bound after the pass is left out of d, p and q, and stays there.

Given: the samples, the weight vector a = sum_k alpha_k y_k after the pass, and the target, the value of a.y_k at
the margin. Left in place: alpha, a and its sums after the step, which counts as one update; p and q for the next
step. Returned, for every pass: an estimate of the duality gap before it.

As long as no dual variable reaches a bound and all passes are the same linear map, the best directions in the
plane of d and p are the directions of conjugate gradients, preconditioned by the pass. Passes in new orders gain
more, but are not conjugate to all earlier directions; q makes up for most of this.

The change of the weight vector along a direction is a difference, corrected by the rows of samples that have
reached a bound. If differences are mostly rounding, it is summed over all samples.

Source: Polyak (1969), The conjugate gradient method in extremal problems; Notay (2000), Flexible conjugate gradients.
"""

from libc.math cimport INFINITY, fabs, isfinite, sqrt
from libc.stdint cimport int32_t
from margins._sparse cimport axpy
from margins.linalg._sums cimport BLOCK, dot_of, sum_of, weighted_dot_of
from margins._update cimport BinaryData, WeightVector

import numpy as np

cdef enum:
    N_DIRECTIONS = 3   # d, p and q

# Two directions count as the same if the squared sine of their angle is below this.
cdef double SAME_DIRECTION = 1e-10
# A difference is mostly rounding if its squared length is at most this share of the vectors' squared lengths.
cdef double ROUNDING = 1e-12
# A direction is summed again before its rounding reaches this multiple of a weight vector's.
cdef double MAX_ROUNDING = 100


cdef class Direction:
    """A search direction: a change of the working set's dual variables and of the weight vector."""

    cdef double[::1] dual       # over the working set
    cdef double[::1] vector     # over the features; with a kernel, the products with all samples
    cdef double label_sum       # sum of the dual variables times their labels
    cdef double least           # squared lengths up to this are rounding
    cdef double rounding        # rounding of `vector`, relative to the rounding of a weight vector

    def __init__(self, Py_ssize_t n_features):
        self.dual, self.vector = np.empty(0), np.zeros(n_features)
        self.least = INFINITY   # no direction yet

    cdef void copy(self, Direction other) noexcept nogil:
        """Copy another direction into this one."""
        self.dual[:] = other.dual
        self.vector[:] = other.vector
        self.label_sum, self.rounding = other.label_sum, other.rounding


cdef void combine(double[::1] x, double c, const double[::1] y, double e, const double[::1] z, double f) noexcept nogil:
    """Compute x <- c x + e y + f z."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        x[i] = c * x[i] + e * y[i] + f * z[i]


cdef void best_multiples(double[N_DIRECTIONS][N_DIRECTIONS] gram, double* c, bint has_p, bint has_q) noexcept nogil:
    """Replace `c`, the slopes along d, p and q, by the best multiples; 0 for a dependent direction.

    They are the maximum of a concave quadratic function, from the factorisation L D L' of the inner products.
    """
    cdef double[N_DIRECTIONS] pivot
    cdef bint[N_DIRECTIONS] used
    cdef double square
    cdef int i, j, k
    used[0], used[1], used[2] = True, has_p, has_q
    for i in range(N_DIRECTIONS):
        pivot[i] = square = gram[i][i]
        for j in range(i):
            for k in range(j):
                gram[i][j] -= gram[i][k] * gram[j][k] * pivot[k]
            gram[i][j] = gram[i][j] / pivot[j] if used[j] else 0
            pivot[i] -= gram[i][j] * gram[i][j] * pivot[j]
            c[i] -= gram[i][j] * c[j]
        used[i] = used[i] and pivot[i] > SAME_DIRECTION * square
        if not used[i]:
            pivot[i] = c[i] = 0
    for i in range(N_DIRECTIONS - 1, -1, -1):
        if used[i]:
            c[i] /= pivot[i]
            for j in range(i + 1, N_DIRECTIONS):
                c[i] -= gram[j][i] * c[j]


def estimated_gap(BinaryData data not None, WeightVector a not None, const double[::1] before, double target):
    """Return an estimate of the duality gap before a pass over all samples, at functional margin 1."""
    cdef Py_ssize_t k
    cdef double total = 0, now
    with nogil:
        for k in range(before.shape[0]):
            now = a.state.scale * a.beta[k]
            total += _gap_of_update(data, k, now, now - before[k])
    return total / (target * target)


cdef inline double _gap_of_update(BinaryData data, Py_ssize_t k, double now, double change) noexcept nogil:
    """Return the gap contributed by sample k before the update that changed its dual variable to `now`."""
    # The amount by which a.y_k violated the target.
    cdef double violation = change * (data.sqnorms[k] + data.diag[k]), upper
    if data.diag[k] > 0:
        return 0.5 * violation * violation / data.diag[k]
    upper = data.upper[k]  # violation (upper - now) if it is positive, otherwise -violation now, without a branch
    return 0.5 * (upper * (violation + fabs(violation))) - violation * now


cdef class ConjugateSteps:
    """Steps along search directions, between passes.

    Call `begin` before a pass over all samples, each accessed once, and `working_set` after it; then make passes over
    this set in any order. After each pass, call `gap` once, then optionally `step`. Directions last from one pass
    over all samples to the next, unless that pass restarts them.

    data: the samples, with a diagonal D_k > 0 or with upper bounds of the dual variables.
    a: the weight vector, with dual variables.
    target: value of a.y_k at the margin.
    full_set_share: A working set with more than this share of the samples is extended to all samples.
    """

    cdef BinaryData data
    cdef readonly WeightVector a
    cdef double target, full_set_share
    cdef bint has_diagonal
    cdef double[::1] dual_before        # of all samples, at the start of the last pass over all
    cdef const int32_t[::1] indices     # of the working set
    # For the working set: D_k, the upper bounds, and the dual variables after the last pass or step.
    cdef double[::1] diag, upper, alpha
    cdef bint is_due        # a pass has been made, and no step since then
    cdef bint is_first      # directions restart after this pass
    cdef double[::1] vector_before      # the weights at the start of the last pass
    cdef double label_sum_before, sqnorm_before
    cdef Direction d, p, q       # the last pass, and the two directions before it
    cdef double[N_DIRECTIONS][N_DIRECTIONS] gram      # their inner products, below the diagonal
    cdef double[N_DIRECTIONS] slopes

    def __init__(self, BinaryData data not None, WeightVector a not None, double target, double full_set_share=0.9):
        cdef Py_ssize_t m = len(data), n_features = a.v.shape[0], k
        self.data, self.a, self.target, self.full_set_share = data, a, target, full_set_share
        self.indices = np.empty(0, dtype=np.int32)
        self.dual_before, self.vector_before = np.empty(m), np.empty(n_features)
        self.d, self.p, self.q = [Direction(n_features) for _ in range(N_DIRECTIONS)]
        self.has_diagonal = self.is_due = self.is_first = False
        with nogil:
            for k in range(m):
                self.has_diagonal = self.has_diagonal or data.diag[k] > 0

    def begin(self, bint restarts):
        """Prepare a pass over all samples: keep the search directions, or restart them."""
        cdef Py_ssize_t k
        if restarts:
            self.indices = np.empty(0, dtype=np.int32)
            self.p, self.q = [Direction(self.a.v.shape[0]) for _ in range(N_DIRECTIONS - 1)]
        if self.is_due and not restarts:
            self.step()
        else:
            self._store()
        self.is_due, self.is_first = False, restarts
        with nogil:
            for k in range(self.dual_before.shape[0]):
                self.dual_before[k] = self.a.state.scale * self.a.beta[k]

    def working_set(self):
        """Return the samples for passes, `gap` and `step`: those between their bounds or just changed, or all."""
        cdef Py_ssize_t i, k, n = 0, m = self.dual_before.shape[0]
        cdef double alpha
        indices = np.empty(m, dtype=np.int32)
        cdef int32_t[::1] out = indices
        with nogil:
            for k in range(m):
                alpha = self.a.state.scale * self.a.beta[k]
                out[n] = <int32_t> k   # without a branch, which would be mispredicted
                n += ((alpha > 0) & (alpha < self.data.upper[k])) | (alpha != self.dual_before[k])
        if n > self.full_set_share * m:
            n = m
            indices[:] = np.arange(m)
        self.d.dual = np.empty(n)
        self._carry(self.p, out[:n])
        self._carry(self.q, out[:n])
        self.indices = out[:n]
        self.alpha, self.upper, self.diag = np.empty((3, n))
        with nogil:
            for i in range(n):
                k = out[i]
                self.alpha[i], self.upper[i] = self.dual_before[k], self.data.upper[k]
                self.diag[i] = self.data.diag[k]
        return indices[:n]

    cdef _carry(self, Direction direction, const int32_t[::1] indices):
        """Restrict a direction to a new working set. Samples that leave it are at a bound."""
        cdef Py_ssize_t i, j = 0, n_before = self.indices.shape[0]
        cdef double[::1] dual = np.zeros(indices.shape[0])
        with nogil:
            for i in range(indices.shape[0]):
                while j < n_before and self.indices[j] < indices[i]:
                    self._leave_out(direction, j)
                    j += 1
                if j < n_before and self.indices[j] == indices[i]:
                    dual[i] = direction.dual[j]
                    j += 1
            while j < n_before:
                self._leave_out(direction, j)
                j += 1
        direction.dual = dual

    cdef void _store(self) noexcept nogil:
        """Store the weight vector before the next pass."""
        cdef Py_ssize_t i
        cdef double scale = self.a.state.scale
        for i in range(self.vector_before.shape[0]):
            self.vector_before[i] = scale * self.a.v[i]
        self.label_sum_before = scale * self.a.state.label_sum
        self.sqnorm_before = self.a.state.sqnorm

    def gap(self):
        """Return an estimate of the gap before the last pass, at functional margin 1; call it once after every pass."""
        cdef Py_ssize_t i, k
        cdef double total = 0, now
        with nogil:
            for i in range(self.indices.shape[0]):
                k = self.indices[i]
                now = self.a.state.scale * self.a.beta[k]
                self.d.dual[i] = now - self.alpha[i]
                self.alpha[i] = now
                total += _gap_of_update(self.data, k, now, self.d.dual[i])
        self.is_due = True
        return total / (self.target * self.target)

    def step(self):
        """Step to the best point of the space of the last pass and the two previous directions."""
        cdef double square = 0, slope = 0, share = 0
        self.is_due = False
        # The pass after which directions restart is not one of them.
        if self.is_first or self.indices.shape[0] == 0:
            self.is_first = False
            self._store()
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
                self.data.rows.check()   # a kernel may have rejected a row, so sums are incomplete
            if share > 0:
                self._go(share, slope, square)
            else:
                self.q.copy(self.d)
                self._store()
            # The step may have undone the pass, up to rounding.
            self.q.least = max(self.d.least, ROUNDING * (self.gram[0][0] + share * share * square))
        # q is overwritten by the new direction, pass and step together.
        self.p, self.q = self.q, self.p

    cdef void _leave_bounds_out(self) noexcept nogil:
        """Remove the dual variables at a bound from all directions."""
        cdef Py_ssize_t i, k
        cdef double signed, length = 0
        for i in range(self.indices.shape[0]):
            if not 0 < self.alpha[i] < self.upper[i]:
                if self.d.dual[i] != 0:   # as if the variable had been at the bound before the pass
                    k = self.indices[i]
                    signed = self.d.dual[i] * self.data.labels[k]
                    axpy(self.data.rows, k, signed, &self.vector_before[0])
                    self.label_sum_before += signed
                    length += fabs(signed) * sqrt(self.data.sqnorms[k])
                    self.d.dual[i] = 0
                self._leave_out(self.p, i)
                self._leave_out(self.q, i)
        self.d.least = ROUNDING * length * length   # the rounding of the removed part

    cdef void _leave_out(self, Direction direction, Py_ssize_t i) noexcept nogil:
        self._add(direction, i, -direction.dual[i])
        direction.dual[i] = 0

    cdef void _measure(self, bint find) noexcept nogil:
        """Compute `gram` and `slopes`, in blocks of features; with `find`, first d's change of the weights."""
        cdef const double* vectors[N_DIRECTIONS]
        cdef const double* duals[N_DIRECTIONS]
        cdef double[N_DIRECTIONS] label_sums
        cdef const double* v = &self.a.v[0]
        cdef double scale = self.a.state.scale, label_sum = scale * self.a.state.label_sum
        cdef Py_ssize_t begin = 0, size, l, n = self.indices.shape[0]
        cdef int i, j
        if find:
            self.d.label_sum, self.d.rounding = label_sum - self.label_sum_before, 1
        vectors[0], vectors[1], vectors[2] = &self.d.vector[0], &self.p.vector[0], &self.q.vector[0]
        duals[0], duals[1], duals[2] = &self.d.dual[0], &self.p.dual[0], &self.q.dual[0]
        label_sums[0], label_sums[1], label_sums[2] = self.d.label_sum, self.p.label_sum, self.q.label_sum
        for i in range(N_DIRECTIONS):
            self.slopes[i] = self.target * sum_of(duals[i], n) - self._diagonal_product(&self.alpha[0], duals[i])
            self.slopes[i] -= self.data.sq_intercept_scaling * label_sum * label_sums[i]
            for j in range(i + 1):
                self.gram[i][j] = self._diagonal_product(duals[i], duals[j])
                self.gram[i][j] += self.data.sq_intercept_scaling * label_sums[i] * label_sums[j]
        while begin < self.a.v.shape[0]:
            size = min(BLOCK, self.a.v.shape[0] - begin)
            if find:
                for l in range(begin, begin + size):
                    self.d.vector[l] = scale * v[l] - self.vector_before[l]
            if not self.data.rows.is_kernel:
                for i in range(N_DIRECTIONS):
                    self.slopes[i] -= scale * dot_of(v + begin, vectors[i] + begin, size)
                    for j in range(i + 1):
                        self.gram[i][j] += dot_of(vectors[i] + begin, vectors[j] + begin, size)
            begin += size
        if self.data.rows.is_kernel:
            for i in range(N_DIRECTIONS):
                self.slopes[i] -= scale * self._inner_over_kernel(v, duals[i])
                for j in range(i + 1):
                    self.gram[i][j] += self._inner_over_kernel(vectors[i], duals[j])

    cdef bint _point(self) noexcept nogil:
        """Make q the step to the best point, clipped to the bounds; False, with q unchanged, if it is not finite."""
        cdef double[N_DIRECTIONS] c
        cdef double wanted, within
        cdef Py_ssize_t i
        c[0], c[1], c[2] = self.slopes[0], self.slopes[1], self.slopes[2]
        best_multiples(self.gram, c, self.gram[1][1] > self.p.least, self.gram[2][2] > self.q.least)
        if not isfinite(c[0] + c[1] + c[2]):
            return False
        combine(self.q.vector, c[2], self.d.vector, c[0], self.p.vector, c[1])
        combine(self.q.dual, c[2], self.d.dual, c[0], self.p.dual, c[1])
        self.q.label_sum = c[2] * self.q.label_sum + c[0] * self.d.label_sum + c[1] * self.p.label_sum
        self.q.rounding = fabs(c[2]) * self.q.rounding + fabs(c[0]) * self.d.rounding + fabs(c[1]) * self.p.rounding
        for i in range(self.indices.shape[0]):
            wanted = self.alpha[i] + self.q.dual[i]
            if not 0 <= wanted <= self.upper[i]:
                within = (0 if wanted < 0 else self.upper[i]) - self.alpha[i]
                if self.q.rounding <= MAX_ROUNDING:
                    self._add(self.q, i, within - self.q.dual[i])
                self.q.dual[i] = within
        # If the objective has little curvature, the unclipped step is long, and its rounding large.
        if self.q.rounding > MAX_ROUNDING:
            self._sum(self.q)
            self.q.rounding = 1
        return True

    cdef void _go(self, double share, double slope, double square) noexcept nogil:
        """Add a share of q to the weight vector; q becomes this share plus d."""
        cdef Py_ssize_t i, k
        cdef double total = sum_of(&self.q.dual[0], self.q.dual.shape[0]), scale = self.a.state.scale
        cdef double c = share / scale
        for i in range(self.a.v.shape[0]):
            self.a.v[i] += c * self.q.vector[i]
            self.vector_before[i] = scale * self.a.v[i]
            self.q.vector[i] = share * self.q.vector[i] + self.d.vector[i]
        for i in range(self.indices.shape[0]):
            k = self.indices[i]
            # Rounding must not violate the bounds.
            self.a.beta[k] = min(max(self.a.beta[k] + c * self.q.dual[i], 0), self.upper[i] / scale)
            self.alpha[i] = scale * self.a.beta[k]
            self.q.dual[i] = share * self.q.dual[i] + self.d.dual[i]
        self.a.state.label_sum += c * self.q.label_sum
        self.a.state.dual_sum += share * total
        self.a.state.sqnorm += share * (2 * (self.target * total - slope) + share * square)
        self.a.state.t += 1
        self.a.state.n_updates += 1
        self.q.label_sum = share * self.q.label_sum + self.d.label_sum
        self.q.rounding = share * self.q.rounding + self.d.rounding
        self.label_sum_before, self.sqnorm_before = scale * self.a.state.label_sum, self.a.state.sqnorm

    cdef void _sum(self, Direction direction) noexcept nogil:
        """Sum the vector of a direction over its dual variables."""
        cdef Py_ssize_t i
        direction.vector[:] = 0
        direction.label_sum = 0
        for i in range(self.indices.shape[0]):
            self._add(direction, i, direction.dual[i])

    cdef void _add(self, Direction direction, Py_ssize_t i, double alpha) noexcept nogil:
        """Add alpha times sample i of the working set to the vector of a direction."""
        cdef Py_ssize_t k = self.indices[i]
        if alpha != 0:
            axpy(self.data.rows, k, alpha * self.data.labels[k], &direction.vector[0])
            direction.label_sum += alpha * self.data.labels[k]

    cdef double _inner(self, Direction x, Direction y) noexcept nogil:
        """Return the inner product, including intercept and slack terms."""
        cdef double total = self.data.sq_intercept_scaling * x.label_sum * y.label_sum
        total += self._diagonal_product(&x.dual[0], &y.dual[0])
        return total + self._inner_of_features(&x.vector[0], y)

    cdef double _slope(self, Direction x) noexcept nogil:
        """Return the derivative of the objective along a direction."""
        cdef double inner = self.data.sq_intercept_scaling * self.a.state.label_sum * x.label_sum
        inner += self._inner_of_features(&self.a.v[0], x)
        inner = self.a.state.scale * inner + self._diagonal_product(&self.alpha[0], &x.dual[0])
        return self.target * sum_of(&x.dual[0], x.dual.shape[0]) - inner

    cdef double _diagonal_product(self, const double* dual, const double* other) noexcept nogil:
        """Return the contribution of the slack terms to an inner product: sum_k D_k alpha_k alpha'_k."""
        if not self.has_diagonal:
            return 0
        return weighted_dot_of(&self.diag[0], dual, other, self.diag.shape[0])

    cdef double _inner_of_features(self, const double* vector, Direction y) noexcept nogil:
        if self.data.rows.is_kernel:
            return self._inner_over_kernel(vector, &y.dual[0])
        return dot_of(vector, &y.vector[0], y.vector.shape[0])

    cdef double _inner_over_kernel(self, const double* products, const double* dual) noexcept nogil:
        """Return the inner product of a vector, given by its products with all samples, and sum_k alpha_k y_k."""
        cdef Py_ssize_t i, k
        cdef double total = 0
        for i in range(self.indices.shape[0]):
            k = self.indices[i]
            total += products[k] * self.data.labels[k] * dual[i]
        return total
