"""The curvature of a Newton step where features are many: a Hessian that is a product with vectors.

The problem: solve

    (I + factor * sum_k s_k y_k y_k^T) x = vector

where the matrix has more elements than the patterns. Conjugate gradients, preconditioned by the
diagonal, ask for its products with vectors only, each a pass over the free patterns, which are read once
for it: y_k.v, and then c y_k is added. They end when the residual is small beside the vector: far from
the optimum a Newton step need not be exact, and the line search that follows makes it a good one.

Source: Lin, Weng & Keerthi (2008), Trust region Newton method for large-scale logistic regression; Hsia,
Chiang & Lin (2018), Preconditioned conjugate gradient methods in truncated Newton frameworks for
large-scale linear classification.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport isfinite
from libc.stdint cimport int8_t, int32_t
from margins._sparse cimport axpy, dot
from margins.linalg._sums cimport dot_of
from margins._update cimport Patterns

import numpy as np

# The share of the vector's length that the residual's may be, and the most products until then: where
# they are not enough, the direction is one of descent all the same.
cdef double RESIDUAL = 0.1
cdef Py_ssize_t MOST_PRODUCTS = 300


cdef class HessianVectorProduct(Hessian):
    """The sum of s_k y_k y_k^T over the free patterns, never written down.

    Parameters
    ----------
    patterns : Patterns
    curvature : ndarray of float64, shape (m,)
        s_k > 0.
    most_read : int
        Products may read so many patterns altogether; from then on nothing is solved any more. (Where
        patterns are nearly separable and C is large, steps are many, each of hundreds of products: 15,000
        patterns of 8 elements among 4000 features, C = 1e4, 0.08 s by visits, 10.7 by such steps.)
    """

    def __init__(self, Patterns patterns not None, const double[::1] curvature, Py_ssize_t most_read):
        cdef Py_ssize_t m = patterns.rows.n_rows, n = patterns.rows.n_features + (patterns.sqrho > 0)
        Hessian.__init__(self, patterns, curvature)
        self.most_read = most_read
        self.free = np.empty(m, dtype=np.int32)
        self.diagonal, self.solution, self.scaled, self.direction, self.image = np.zeros((5, n))

    cdef void update(self, const int32_t[::1] members, const int8_t[::1] free) noexcept nogil:
        cdef Py_ssize_t i, j, k
        cdef double s
        self.n_free = 0
        self.diagonal[:] = 0
        for i in range(members.shape[0]):
            if not free[i]:
                continue
            k = members[i]
            s = self.curvature[k]
            self.free[self.n_free] = <int32_t> k
            self.n_free += 1
            # Of an element stored in parts the sum of squares, not the square of the sum: near enough.
            for j in range(self.elements(k)):
                self.diagonal[self.columns[j]] += s * self.values[j] * self.values[j]

    cdef int solve(self, double factor, double[::1] vector) except -1 nogil:
        """`vector` is the residual until it is the solution."""
        cdef Py_ssize_t i, _, n = vector.shape[0]
        cdef double share, before, inner, enough = RESIDUAL * RESIDUAL * dot_of(&vector[0], &vector[0], n)
        if self.n_read >= self.most_read:
            return 0
        self.solution[:] = 0
        inner = self._scale(factor, vector)
        self.direction[:] = self.scaled
        for _ in range(MOST_PRODUCTS):
            self._multiply(factor)
            share = inner / dot_of(&self.direction[0], &self.image[0], n)
            if not isfinite(share):
                return 0
            for i in range(n):
                self.solution[i] += share * self.direction[i]
                vector[i] -= share * self.image[i]
            if dot_of(&vector[0], &vector[0], n) <= enough or self.n_read >= self.most_read:
                break
            before, inner = inner, self._scale(factor, vector)
            for i in range(n):
                self.direction[i] = self.scaled[i] + inner / before * self.direction[i]
            with gil:
                PyErr_CheckSignals()
        vector[:] = self.solution
        return 1

    cdef double _scale(self, double factor, const double[::1] residual) noexcept nogil:
        """Divide a residual by the diagonal; their inner product is returned."""
        cdef Py_ssize_t i
        for i in range(residual.shape[0]):
            self.scaled[i] = residual[i] / (1 + factor * self.diagonal[i])
        return dot_of(&residual[0], &self.scaled[0], residual.shape[0])

    cdef void _multiply(self, double factor) noexcept nogil:
        """Make `image` the product of the matrix and `direction`."""
        cdef Py_ssize_t i, k, d = self.patterns.rows.n_features
        cdef double c, total = 0, bias = self.rho * self.direction[d] if self.rho > 0 else 0
        self.n_read += self.n_free
        self.image[:] = self.direction
        for i in range(self.n_free):
            k = self.free[i]
            c = factor * self.curvature[k] * (dot(self.patterns.rows, k, &self.direction[0]) + bias)
            axpy(self.patterns.rows, k, c, &self.image[0])
            total += c
        if self.rho > 0:
            self.image[d] += self.rho * total
