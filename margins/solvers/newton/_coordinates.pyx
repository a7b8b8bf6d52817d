"""Quadratic models with a regulariser, minimised by coordinates and by conjugate gradients on faces.

The problem: given a point w, a gradient g and a Hessian H = sum_k s_k y_k y_k^T of the losses, minimise

    g.(z - w) + (z - w)^T H (z - w) / 2 + r(z)

for the r of margins/regularisers: sweeps over the coordinates minimise over one at a time. A coordinate that stays
at a kink of r, or at a bound, is left out until the next sweep over all candidates. Over the others, the face, the
model is a quadratic function, which conjugate gradients minimise if many sweeps leave the face as it is; a coordinate
that would cross its kink or bound stops there.

H is stored (`StoredModel`), or multiplied by its columns (`ColumnModel`). A free intercept is eliminated: H and g are
those of the best intercept for every z.

Source: Yuan, Ho & Lin (2012), An improved GLMNET for L1-regularized logistic regression; Moré & Toraldo (1991), On the
solution of large quadratic programming problems with bound constraints.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.stdint cimport int32_t
from margins._sparse cimport _csr_dot, nonzeros
from margins.data._binary_data cimport BinaryData
from margins.linalg._sums cimport dot_of
from scipy.linalg.cython_lapack cimport dposv

import numpy as np

from margins.linalg.threads import time_is_over

# Faces of a few coordinates have a Cholesky factor. For larger ones, a sequence of conjugate gradients ends after so
# many products, or with a residual whose square is smaller by a factor; if it is not, faces of many have a factor, too.
cdef Py_ssize_t FEW = 100
cdef Py_ssize_t FEW_STORED = 600
cdef Py_ssize_t MANY = 300
cdef int MAX_PRODUCTS = 50
cdef double REDUCTION = 1e-2

# Sweeps gain little where more coordinates move than so many times the rank of H: steps on the face follow a few.
cdef Py_ssize_t WIDE = 2
cdef int FEW_SWEEPS = 2

# How many faces follow each other, as long as each gains this share of all; and the share of the gain without kinks
# that is enough where they cut a step: otherwise half the step is tried.
cdef int MAX_FACES = 20
cdef double LITTLE = 0.1
cdef double ENOUGH = 0.5


cdef class Columns:
    """The columns of linear data, without labels: dense, or with the numbers of the samples."""

    def __init__(self, BinaryData data not None):
        cdef Py_ssize_t k, i, j, n, d = data.rows.n_features, longest = data.rows.longest() + 1
        cdef double[::1] row = np.empty(longest), values
        cdef int32_t[::1] columns = np.empty(longest, dtype=np.int32), samples
        cdef Py_ssize_t[::1] starts = np.zeros(d + 1, dtype=np.intp)
        cdef bint is_dense
        self.n_samples, self.n_features = len(data), d
        with nogil:
            for k in range(self.n_samples):
                n = nonzeros(data.rows, k, &row[0], &columns[0])
                for i in range(n):
                    starts[columns[i] + 1] += 1
        is_dense = 2 * np.sum(starts) > self.n_samples * d
        for j in range(d):
            starts[j + 1] = starts[j] + (self.n_samples if is_dense else starts[j + 1])
        all_values = np.zeros(starts[d]) if is_dense else np.empty(starts[d])
        all_samples = None if is_dense else np.empty(starts[d], dtype=np.int32)
        values, samples = all_values, all_samples
        cdef Py_ssize_t[::1] places = np.array(starts[:d])
        with nogil:
            for k in range(self.n_samples):
                n = nonzeros(data.rows, k, &row[0], &columns[0])
                for i in range(n):
                    j = columns[i]
                    if samples is None:
                        values[starts[j] + k] = row[i]
                        continue
                    values[places[j]], samples[places[j]] = row[i], <int32_t> k
                    places[j] += 1
        self.values, self.samples, self.starts = all_values, all_samples, starts

    def moments(self, const double[:] weights not None, const int32_t[::1] chosen not None, Py_ssize_t n):
        """Return sum_k weights_k x_kj and sum_k weights_k x_kj^2 of the chosen columns, 0 of others (ndarrays of n)."""
        cdef Py_ssize_t i, j, p, start, stop
        cdef double x, y, a, b, c, d
        sums, squares = np.zeros(n), np.zeros(n)
        cdef double[::1] first = sums, second = squares
        with nogil:
            for i in range(chosen.shape[0]):
                j = chosen[i]
                if j >= self.n_features:
                    continue
                start, stop = self.starts[j], self.starts[j + 1]
                a = b = c = d = 0
                for p in range(start, stop - 1, 2):  # four sums, which do not wait for each other
                    x = weights[self.sample(start, p)] * self.values[p]
                    y = weights[self.sample(start, p + 1)] * self.values[p + 1]
                    a, b = a + x, b + y
                    c, d = c + x * self.values[p], d + y * self.values[p + 1]
                if (stop - start) % 2:
                    x = weights[self.sample(start, stop - 1)] * self.values[stop - 1]
                    a, c = a + x, c + x * self.values[stop - 1]
                first[j], second[j] = a + b, c + d
        return sums, squares

    def add_products(self, const double[::1] step not None, double[::1] out not None):
        """Add sum_j step_j x_kj to element k of a vector over the samples."""
        cdef Py_ssize_t j, p, start
        with nogil:
            for j in range(self.n_features):
                if step[j] == 0:
                    continue
                start = self.starts[j]
                for p in range(start, self.starts[j + 1]):
                    out[self.sample(start, p)] += step[j] * self.values[p]

    cdef inline Py_ssize_t sample(self, Py_ssize_t start, Py_ssize_t p) noexcept nogil:
        """Return the sample of element p, of a column that begins at `start`."""
        return p - start if self.samples is None else self.samples[p]


cdef class Model:
    """A quadratic model and a regulariser.

    w, gradient, shape (n,): point and gradient of the losses there.
    terms: margins.regularisers.Terms of the n weights.
    least, shape (n,): the diagonal of H is raised to it, so that steps are finite where H is 0.
    share: and by this share of `least`.
    """

    def __init__(self, w, gradient, terms, least, double share):
        cdef Py_ssize_t n = len(w)
        self.origin, self.least, self.share = w, least, share
        self.n, self.few, self.rank = n, FEW, n
        self.z, self.gradient = w.copy(), gradient.copy()
        self.ridge, self.l1, self.centre, self.lower, self.upper = terms
        self.moving, self.face = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        self.direction, self.image, self.residual = np.empty(n), np.empty(n), np.empty(n)

    def _damp(self, diagonal):
        """Set what is added to the diagonal of H, and the sum."""
        least = np.asarray(self.least)
        damping = np.maximum(least - diagonal, self.share * least)
        self.damping, self.diagonal = damping, diagonal + damping

    cdef double gradient_of(self, Py_ssize_t j) noexcept nogil:
        """Return the derivative of the model without r with respect to coordinate j."""
        return self.gradient[j]

    cdef void move(self, Py_ssize_t j, double change) noexcept nogil:
        """Note that a coordinate has changed."""

    cdef void multiply(self, Py_ssize_t n) noexcept nogil:
        """Set `image` to H times `direction`, both over the first n coordinates of `face`."""

    cdef int fill(self, Py_ssize_t n, double[:, ::1] matrix) except -1:
        """Set the lower triangle of a matrix to H over the first n coordinates of `face`."""
        return 0

    cdef void follow(self, Py_ssize_t n) noexcept nogil:
        """Note that z has changed by the last `direction` that was multiplied."""

    @property
    def point(self):
        """z, an ndarray of float64 of shape (n,)."""
        return np.asarray(self.z)

    def minimise(self, const int32_t[::1] candidates not None, double tolerance, int max_sweeps, int max_of_few,
                 int max_of_many):
        """Minimise over some coordinates until a sweep gains at most a share of all gains, which are returned.

        After more than so many sweeps, of few and of many coordinates, that leave none at a corner, there is a step on
        the face.
        """
        cdef double gain, total = 0
        cdef Py_ssize_t n_moving, n_before
        cdef int n_sweeps = 0, n_same
        cdef bint is_wide
        while n_sweeps < max_sweeps and not time_is_over():
            PyErr_CheckSignals()
            with nogil:
                gain = self._sweep(candidates, candidates.shape[0], &n_moving)
            n_sweeps += 1
            total += gain
            if not gain > tolerance * total:
                break
            n_same = 0
            while n_sweeps < max_sweeps and gain > 0.5 * tolerance * total and not time_is_over():
                PyErr_CheckSignals()
                gain, n_before = 0, n_moving
                is_wide = n_moving > WIDE * self.rank and n_sweeps > FEW_SWEEPS
                if is_wide or n_same > (max_of_few if n_moving <= self.few else max_of_many):
                    gain = self._step_on_face(n_moving)
                with nogil:
                    gain += self._sweep(self.moving, n_moving, &n_moving)
                n_same = n_same + 1 if n_moving == n_before else 0
                n_sweeps += 1
                total += gain
        self.n_sweeps = n_sweeps
        return total

    cdef double _sweep(self, const int32_t[::1] candidates, Py_ssize_t n, Py_ssize_t* n_moving) noexcept nogil:
        """Minimise over one coordinate after another; return the gain, and set `moving`."""
        cdef Py_ssize_t i, j, n_kept = 0
        cdef double z, now, h, g, change, gain = 0
        for i in range(n):
            j = candidates[i]
            z, h = self.z[j], self.diagonal[j]
            g = self.gradient_of(j) + self.damping[j] * (z - self.origin[j])
            now = h * (z - self.centre[j]) - g
            if now > self.l1[j]:
                now = (now - self.l1[j]) / (h + self.ridge[j])
            elif now < -self.l1[j]:
                now = (now + self.l1[j]) / (h + self.ridge[j])
            else:
                now = 0
            now = fmin(fmax(now + self.centre[j], self.lower[j]), self.upper[j])
            change = now - z
            if change == 0 and self.is_corner(j):
                continue
            self.moving[n_kept] = <int32_t> j
            n_kept += 1
            if change == 0:
                continue
            gain -= change * (g + 0.5 * h * change + self.ridge[j] * (z - self.centre[j] + 0.5 * change))
            gain -= self.l1[j] * (fabs(now - self.centre[j]) - fabs(z - self.centre[j]))
            self.z[j] = now
            self.move(j, change)
        n_moving[0] = n_kept
        return gain

    cdef bint is_corner(self, Py_ssize_t j) noexcept nogil:
        """Return whether a coordinate is at a kink or a bound."""
        cdef double z = self.z[j]
        return z == self.centre[j] and self.l1[j] > 0 or z == self.lower[j] or z == self.upper[j]

    cdef Py_ssize_t _set_face(self, Py_ssize_t n_moving) noexcept nogil:
        """Set `face` to the coordinates that are at no kink or bound, and `residual` to minus the gradient there."""
        cdef Py_ssize_t i, j, n = 0
        cdef double from_centre, slope
        for i in range(n_moving):
            j = self.moving[i]
            from_centre = self.z[j] - self.centre[j]
            if self.is_corner(j):
                continue
            slope = self.l1[j] if from_centre > 0 else -self.l1[j]
            slope += self.damping[j] * (self.z[j] - self.origin[j])
            self.residual[n] = -(self.gradient_of(j) + self.ridge[j] * from_centre + slope)
            self.face[n] = <int32_t> j
            n += 1
        return n

    cdef double _step_on_face(self, Py_ssize_t n_moving):
        """Go towards the minimum over the face, and over smaller faces while kinks are in the way; return the gain."""
        cdef double gain, total = 0
        cdef bint is_cut = True
        cdef Py_ssize_t n
        cdef double[::1] step, slope
        cdef int _
        for _ in range(MAX_FACES):
            PyErr_CheckSignals()  # a face of thousands takes a second
            n = self._set_face(n_moving)
            if n < 2 or not is_cut or time_is_over():
                break
            step, slope = np.zeros(n), np.array(self.residual[:n])
            if n > self.few or not self._solve_directly(step, n):
                if not self._solve_by_products(step, n) and n <= MANY:
                    self.residual[:n] = slope
                    self._solve_directly(step, n)
            is_cut = False
            gain = self._follow_step(step, slope, n, &is_cut)
            total += gain
            if not gain > LITTLE * total:
                break
        return total

    cdef bint _solve_directly(self, double[::1] step, Py_ssize_t n):
        """Set `step` to the step to the minimum over the face; return False if rounding prevents it."""
        cdef double[:, ::1] matrix = np.empty((n, n))
        cdef double[::1] solution = np.array(self.residual[:n])
        cdef Py_ssize_t i
        cdef int width = <int> n, one = 1, info
        self.fill(n, matrix)
        with nogil:
            for i in range(n):
                matrix[i, i] += self.ridge[self.face[i]] + self.damping[self.face[i]]
            # LAPACK orders by columns, so its upper triangle is the lower triangle by rows.
            dposv(b"U", &width, &one, &matrix[0, 0], &width, &solution[0], &width, &info)
        if info == 0:
            step[:] = solution
        return info == 0

    cdef bint _solve_by_products(self, double[::1] step, Py_ssize_t n) except -1:
        """Approximate the same by conjugate gradients; return False if they converge slowly."""
        cdef Py_ssize_t i, j
        cdef double square, first, previous, curvature, length
        cdef double[::1] scaled = np.empty(n)
        cdef int _
        with nogil:
            square = first = self._preconditioned(scaled, n)
            self.direction[:n] = scaled
            for _ in range(MAX_PRODUCTS):
                if not square > REDUCTION * first:
                    break
                self.multiply(n)
                curvature = 0
                for i in range(n):
                    j = self.face[i]
                    self.image[i] += (self.ridge[j] + self.damping[j]) * self.direction[i]
                    curvature += self.direction[i] * self.image[i]
                if not curvature > 0:
                    break
                length = square / curvature
                for i in range(n):
                    step[i] += length * self.direction[i]
                    self.residual[i] -= length * self.image[i]
                previous = square
                square = self._preconditioned(scaled, n)
                for i in range(n):
                    self.direction[i] = scaled[i] + square / previous * self.direction[i]
        return square <= REDUCTION * first

    cdef double _follow_step(
        self, const double[::1] step, const double[::1] slope, Py_ssize_t n, bint* is_cut
    ) noexcept nogil:
        """Move z by a step or a part of it, each coordinate at most to its kink; return the gain."""
        cdef Py_ssize_t i, j
        cdef double end, first = 1, t = 1, whole = 0, gain
        for i in range(n):
            whole += 0.5 * slope[i] * step[i]
            end = self._end(self.face[i], step[i])
            if fabs(step[i]) >= fabs(end):
                first = fmin(first, end / step[i])
                is_cut[0] = True
        while True:
            for i in range(n):
                end = self._end(self.face[i], step[i])
                self.direction[i] = end if fabs(t * step[i]) >= fabs(end) else t * step[i]
            gain = self._gain(slope, n)
            if t <= first or gain > ENOUGH * t * (2 - t) * whole:  # what it would gain without kinks
                break
            t = fmax(0.5 * t, first)
        if not gain > 0:
            return 0
        for i in range(n):
            j = self.face[i]
            end = self._end(j, self.direction[i])
            if self.direction[i] == end:  # exactly, in spite of rounding
                self.z[j] = self._limit(j, self.direction[i])
            else:
                self.z[j] += self.direction[i]
        self.follow(n)
        return gain

    cdef double _limit(self, Py_ssize_t j, double direction) noexcept nogil:
        """Return the kink or bound that a coordinate of the face meets first in a direction."""
        cdef bint is_above = self.z[j] > self.centre[j]
        if direction > 0:
            return fmin(self.upper[j], INFINITY if is_above or self.l1[j] == 0 else self.centre[j])
        return fmax(self.lower[j], self.centre[j] if is_above and self.l1[j] > 0 else -INFINITY)

    cdef double _end(self, Py_ssize_t j, double direction) noexcept nogil:
        """Return how far that is."""
        return self._limit(j, direction) - self.z[j]

    cdef double _gain(self, const double[::1] slope, Py_ssize_t n) noexcept nogil:
        """Return what the model gains by `direction`, which `follow` may then follow."""
        cdef Py_ssize_t i, j
        cdef double gain = 0
        self.multiply(n)
        for i in range(n):
            j = self.face[i]
            self.image[i] += (self.ridge[j] + self.damping[j]) * self.direction[i]
            gain += self.direction[i] * (slope[i] - 0.5 * self.image[i])
        return gain

    cdef double _preconditioned(self, double[::1] scaled, Py_ssize_t n) noexcept nogil:
        """Set `scaled` to the residual divided by the diagonal, and return their product.

        Without H, if its rank is low: as many products as it has eigenvalues above 0 then solve for the step.
        """
        cdef Py_ssize_t i, j
        cdef double diagonal
        for i in range(n):
            j = self.face[i]
            diagonal = self.damping[j] if n > WIDE * self.rank else self.diagonal[j]
            scaled[i] = self.residual[i] / (diagonal + self.ridge[j])
        return dot_of(&scaled[0], &self.residual[0], n)


cdef class StoredModel(Model):
    """A model whose Hessian is stored.

    hessian, shape (n, n): symmetric.
    """

    def __init__(self, w, gradient, terms, least, double share, hessian not None):
        Model.__init__(self, w, gradient, terms, least, share)
        self.hessian, self.few = hessian, FEW_STORED
        self._damp(np.diagonal(hessian))

    cdef void move(self, Py_ssize_t j, double change) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n):
            self.gradient[i] += change * self.hessian[j, i]

    cdef void multiply(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i, j
        cdef double total
        for i in range(n):
            total = 0
            for j in range(n):
                total += self.hessian[self.face[i], self.face[j]] * self.direction[j]
            self.image[i] = total

    cdef int fill(self, Py_ssize_t n, double[:, ::1] matrix) except -1:
        cdef Py_ssize_t i, j
        with nogil:
            for i in range(n):
                for j in range(i + 1):
                    matrix[i, j] = self.hessian[self.face[i], self.face[j]]
        return 0

    cdef void follow(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(n):
            self.move(self.face[i], self.direction[i])


cdef class ColumnModel(Model):
    """A model whose Hessian is multiplied by its columns.

    curvature, shape (m,): s_k; 0 for samples that are not free.
    rho: the constant feature of a penalised intercept, the last weight; 0: none.
    is_free: True: there is a free intercept, which no weight stands for.
    """

    def __init__(self, w, gradient, terms, least, double share, Columns columns not None, curvature not None,
                 candidates not None, double rho=0, bint is_free=False):
        Model.__init__(self, w, gradient, terms, least, share)
        self.columns, self.curvature, self.rho, self.is_free = columns, curvature, rho, is_free
        self.products, self.trial = np.zeros(columns.n_samples), np.empty(columns.n_samples)
        self.total = np.sum(curvature)
        if np.min(self.ridge) > 0:
            self.rank = np.count_nonzero(curvature)
        sums, diagonal = columns.moments(curvature, candidates, self.n)
        if rho > 0:
            sums[columns.n_features], diagonal[columns.n_features] = rho * self.total, rho * rho * self.total
        if is_free and self.total > 0:
            diagonal -= sums * sums / self.total
        self.sums, self.diagonal = sums, diagonal
        self._damp(np.asarray(self.diagonal))

    cdef double _dot(self, Py_ssize_t j, const double* vector) noexcept nogil:
        """Return the product of column j with a vector over the samples."""
        cdef Py_ssize_t start = self.columns.starts[j], stop = self.columns.starts[j + 1]
        if self.columns.samples is None:
            return dot_of(&self.columns.values[start], vector, stop - start)
        return _csr_dot(self.columns.values, self.columns.samples, start, stop, -1, vector)

    cdef void _axpy(self, Py_ssize_t j, double change, double* vector) noexcept nogil:
        """Add `change` times s_k x_kj to a vector over the samples."""
        cdef Py_ssize_t start = self.columns.starts[j], n = self.columns.starts[j + 1] - start, i, k
        if self.columns.samples is None:
            for k in range(n):
                vector[k] += change * self.curvature[k] * self.columns.values[start + k]
            return
        for i in range(start, start + n):
            k = self.columns.samples[i]
            vector[k] += change * self.curvature[k] * self.columns.values[i]

    cdef double gradient_of(self, Py_ssize_t j) noexcept nogil:
        if j == self.columns.n_features:
            return self.gradient[j] + self.rho * (self.product_sum + self.shift * self.total)
        return self.gradient[j] + self._dot(j, &self.products[0]) + self.shift * self.sums[j]

    cdef void move(self, Py_ssize_t j, double change) noexcept nogil:
        if j == self.columns.n_features:
            self.shift += change * self.rho
            return
        self._axpy(j, change, &self.products[0])
        self.product_sum += change * self.sums[j]
        if self.is_free and self.total > 0:
            self.shift = -self.product_sum / self.total

    cdef void multiply(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i, j
        self.trial[:] = 0
        self.trial_sum = self.trial_shift = 0
        for i in range(n):
            j = self.face[i]
            if j == self.columns.n_features:
                self.trial_shift = self.rho * self.direction[i]
            elif self.direction[i] != 0:
                self._axpy(j, self.direction[i], &self.trial[0])
                self.trial_sum += self.direction[i] * self.sums[j]
        if self.is_free and self.total > 0:
            self.trial_shift = -self.trial_sum / self.total
        for i in range(n):
            j = self.face[i]
            if j == self.columns.n_features:
                self.image[i] = self.rho * (self.trial_sum + self.trial_shift * self.total)
            else:
                self.image[i] = self._dot(j, &self.trial[0]) + self.trial_shift * self.sums[j]

    cdef int fill(self, Py_ssize_t n, double[:, ::1] matrix) except -1:
        cdef Py_ssize_t i, j, n_features = n - (self.face[n - 1] == self.columns.n_features)
        matrix[:, :] = 0
        if self.columns.samples is None:
            self._fill_dense(n_features, matrix)
        else:
            self._fill_by_samples(n_features, matrix)
        with nogil:
            if n_features < n:
                for j in range(n_features):
                    matrix[n - 1, j] = self.rho * self.sums[self.face[j]]
                matrix[n - 1, n - 1] = self.rho * self.rho * self.total
            if self.is_free and self.total > 0:
                for i in range(n):
                    for j in range(i + 1):
                        matrix[i, j] -= self.sums[self.face[i]] * self.sums[self.face[j]] / self.total
        return 0

    cdef void _fill_dense(self, Py_ssize_t n, double[:, ::1] matrix):
        """Add the products of the first n columns of the face, which are dense."""
        cdef Py_ssize_t i, j, m = self.columns.n_samples
        cdef const Py_ssize_t[::1] starts = self.columns.starts
        with nogil:
            for i in range(n):
                self.trial[:] = 0
                self._axpy(self.face[i], 1, &self.trial[0])
                for j in range(i + 1):
                    matrix[i, j] = dot_of(&self.columns.values[starts[self.face[j]]], &self.trial[0], m)

    cdef int _fill_by_samples(self, Py_ssize_t n, double[:, ::1] matrix) except -1:
        """Add the same of sparse columns, sample by sample: most products of two columns are 0."""
        cdef Py_ssize_t i, j, k, p, begin = 0, m = self.columns.n_samples
        cdef const Py_ssize_t[::1] starts = self.columns.starts
        cdef const int32_t[::1] samples = self.columns.samples
        cdef Py_ssize_t[::1] ends = np.zeros(m + 1, dtype=np.intp)
        cdef int32_t[::1] positions
        cdef double[::1] elements
        cdef double x
        with nogil:
            for i in range(n):
                for p in range(starts[self.face[i]], starts[self.face[i] + 1]):
                    ends[samples[p] + 1] += 1
            for k in range(m):
                ends[k + 1] += ends[k]
        positions, elements = np.empty(ends[m], dtype=np.int32), np.empty(ends[m])
        with nogil:
            for i in range(n):
                for p in range(starts[self.face[i]], starts[self.face[i] + 1]):
                    k = samples[p]
                    positions[ends[k]], elements[ends[k]] = <int32_t> i, self.columns.values[p]
                    ends[k] += 1
            for k in range(m):
                for i in range(begin, ends[k]):
                    x = self.curvature[k] * elements[i]
                    for j in range(begin, i + 1):
                        matrix[positions[i], positions[j]] += x * elements[j]
                begin = ends[k]
        return 0

    cdef void follow(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.products.shape[0]):
            self.products[k] += self.trial[k]
        self.product_sum += self.trial_sum
        self.shift += self.trial_shift

    @property
    def change_of_intercept(self):
        """The change of the best free intercept."""
        return self.shift if self.is_free else 0.0
