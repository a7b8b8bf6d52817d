"""A Hessian that is not stored, only multiplied by vectors: for Newton steps with many features.

The problem: solve

    (I + factor * sum_k s_k y_k y_k^T) x = vector

where the matrix has more elements than X. Conjugate gradients, preconditioned by the diagonal, need only its
products with vectors. Each product takes one pass over the free samples, which computes y_k.v and adds c y_k. They
end when the residual is small relative to the vector: a line search follows, so steps need not be exact.

Source: Lin, Weng & Keerthi (2008), Trust region Newton method for large-scale logistic regression; Hsia, Chiang & Lin
(2018), Preconditioned conjugate gradient methods in truncated Newton frameworks for large-scale linear classification.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport isfinite
from libc.stdint cimport int8_t, int32_t
from margins._sparse cimport axpy, dot
from margins.data._passes cimport is_one_block
from margins.linalg._sums cimport dot_of
from margins._update cimport BinaryData

import numpy as np

from margins.linalg.threads import blocks_of_rows, current_team, sum_in_order

# Conjugate gradients end at this relative residual, or after this many products: even without convergence the
# solution is a descent direction.
cdef double RESIDUAL = 0.1
cdef Py_ssize_t MAX_PRODUCTS = 300


cdef class HessianVectorProduct(Hessian):
    """The sum of s_k y_k y_k^T over the free samples, never stored; `solve` fails after `max_read` reads."""

    def __init__(self, BinaryData data not None, const double[:] curvature, Py_ssize_t max_read):
        cdef Py_ssize_t m = data.rows.n_rows, n = data.rows.n_features + (data.sq_intercept_scaling > 0)
        Hessian.__init__(self, data, curvature)
        self.max_read = max_read
        self.elements, self.free = Elements(data), np.empty(m, dtype=np.int32)
        self.diagonal, self.solution, self.scaled, self.direction, self.image = np.zeros((5, n))

    cdef int update(self, const int32_t[::1] working_set, const int8_t[::1] free) except -1:
        cdef Py_ssize_t i, j, k
        cdef double s
        cdef Elements elements = self.elements
        self.n_free = 0
        with nogil:
            self.diagonal[:] = 0
            for i in range(working_set.shape[0]):
                if not free[i]:
                    continue
                k = working_set[i]
                s = self.curvature[k]
                self.free[self.n_free] = <int32_t> k
                self.n_free += 1
                # Duplicate elements of a column add their squares instead of the square of their sum, which is accurate
                # enough for a preconditioner.
                for j in range(elements.read(k)):
                    self.diagonal[elements.columns[j]] += s * elements.values[j] * elements.values[j]
        return 0

    cdef bint solve(self, double factor, double[::1] vector) except -1:
        """Solve in place: `vector` becomes the residual, and finally the solution."""
        cdef Py_ssize_t i, _, n = vector.shape[0]
        cdef double step, before, inner
        cdef double tolerance = RESIDUAL * RESIDUAL * dot_of(&vector[0], &vector[0], n)
        if self.n_read >= self.max_read:
            return False
        self.solution[:] = 0
        inner = self._scale(factor, vector)
        self.direction[:] = self.scaled
        for _ in range(MAX_PRODUCTS):
            self._multiply(factor)
            step = inner / dot_of(&self.direction[0], &self.image[0], n)
            if not isfinite(step):
                return False
            for i in range(n):
                self.solution[i] += step * self.direction[i]
                vector[i] -= step * self.image[i]
            if dot_of(&vector[0], &vector[0], n) <= tolerance or self.n_read >= self.max_read:
                break
            before, inner = inner, self._scale(factor, vector)
            for i in range(n):
                self.direction[i] = self.scaled[i] + inner / before * self.direction[i]
            PyErr_CheckSignals()
        vector[:] = self.solution
        return True

    cdef double _scale(self, double factor, const double[::1] residual) noexcept nogil:
        """Precondition a residual by the diagonal, and return the inner product of both."""
        cdef Py_ssize_t i
        for i in range(residual.shape[0]):
            self.scaled[i] = residual[i] / (self.ridge(i) + factor * self.diagonal[i])
        return dot_of(&residual[0], &self.scaled[0], residual.shape[0])

    cdef int _multiply(self, double factor) except -1:
        """Compute `image`, the product of the matrix and `direction`."""
        cdef Py_ssize_t i
        self.n_read += self.n_free
        if is_one_block(self.data):
            with nogil:
                self._set_product(self.data, self.free[:self.n_free], factor, self.image)
        else:
            self._share_product(factor)
        for i in range(self.image.shape[0]):
            self.image[i] += self.ridge(i) * self.direction[i]
        return 0

    def _share_product(self, double factor):
        """Set `image` to the product of the sum over the free samples, times a factor, and `direction`, in blocks."""
        free = np.asarray(self.free[:self.n_free])

        def of_block(block):
            part = np.empty(self.direction.shape[0])
            self._product(free[block], factor, part)
            return part

        blocks = blocks_of_rows(self.data.rows, len(free), self.direction.shape[0])
        self.image = sum_in_order(current_team().map(of_block, blocks))

    def _product(self, const int32_t[::1] samples, double factor, double[::1] out):
        with nogil:
            self._set_product(self.data, samples, factor, out)

    cdef void _set_product(
        self, BinaryData data, const int32_t[::1] samples, double factor, double[::1] out
    ) noexcept nogil:
        """Set `out` to the product of the sum over some samples, times a factor, and `direction`."""
        cdef Py_ssize_t i, k, d = data.rows.n_features
        cdef double c, total = 0, bias = self.rho * self.direction[d] if self.rho > 0 else 0
        out[:] = 0
        for i in range(samples.shape[0]):
            k = samples[i]
            c = factor * self.curvature[k] * (dot(data.rows, k, &self.direction[0]) + bias)
            axpy(data.rows, k, c, &out[0])
            total += c
        if self.rho > 0:
            out[d] += self.rho * total
