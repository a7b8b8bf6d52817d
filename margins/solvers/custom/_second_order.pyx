"""The second-order perceptron's loop: a perceptron that whitens the misclassified samples.

The problem: samples x_k, augmented by rho, with labels l_k. Given a matrix T with T^T T = 1/a, w = v = 0,

    if l_k w.x_k <= 0:
        f = T x_k,   q = f.f,   r = T^T f = P x_k       where P = T^T T = (a + sum of x x^T)^-1
        v <- v + l_k x_k,   w <- w + r (l_k - w.x_k) / (1 + q),   T <- T - f r^T / (1 + q + sqrt(1 + q))

where the sum is over the earlier mistakes. The last step is the root of P <- P - r r^T / (1 + q) (Potter's method);
unlike that recursion it keeps P positive definite under rounding. The step before it keeps w == P v, the paper's
prediction up to a positive factor. Left in place: T, w, v and the dual variables alpha_k, the numbers of mistakes, so
that v == sum_k alpha_k l_k x_k. A mistake of weight c counts as c mistakes: it adds c l_k x_k to v, and c x x^T to the
matrix.

Each sample costs one product with x_k; a mistake costs d of them and two passes over T.

Source: Cesa-Bianchi, Conconi & Gentile (2005), A Second-Order Perceptron Algorithm, Figure 2.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t

import numpy as np

from margins._sparse cimport axpy, dot
from margins._update cimport BinaryData, SampleLoop, Tally
from margins.rules._weight_vector cimport weight_of


cdef class SecondOrderLoop(SampleLoop):
    """The second-order perceptron's loop over samples, which updates all arrays in place.

    T, shape (n_features + 1, n_features + 1)
    w, v, shape (n_features + 1,): the last coordinate belongs to the augmentation.
    alpha, shape (m,): None: not kept.
    """

    def __init__(self, double[:, ::1] T not None, double[::1] w not None, double[::1] v not None, double[::1] alpha):
        self.T, self.w, self.v, self.alpha = T, w, v, alpha
        self.f, self.r = np.empty((2, w.shape[0]))

    cdef Py_ssize_t chunk_size(self) noexcept nogil:
        # A mistake takes two passes over T.
        return max(SampleLoop.chunk_size(self) // self.w.shape[0], 1)

    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil:
        cdef Py_ssize_t before = tally.n_changed
        self.slack_sqnorm += _process(
            self.data, order, begin, end, self.T, self.w, self.v, self.alpha, self.f, self.r, &self.dual_sum, tally
        )
        self.n_mistakes += tally.n_changed - before
        return 0


cdef double _process(
    BinaryData data, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, double[:, ::1] T, double[::1] w,
    double[::1] v, double[::1] alpha, double[::1] f, double[::1] r, double* dual_sum, Tally* tally
) noexcept nogil:
    """Process order[begin:end]; return the contribution of slack terms to |v|^2. `f` and `r` are work arrays."""
    cdef double rho = sqrt(data.sq_intercept_scaling), score, label, weight, q, c, slack_sqnorm = 0
    cdef Py_ssize_t i, j, k, n, d = w.shape[0] - 1
    for i in range(begin, end):
        k = order[i]
        label = data.labels[k]
        score = dot(data.rows, k, &w[0]) + rho * w[d]
        if label * score > 0:
            continue
        tally.n_changed += 1
        weight = weight_of(data, k)
        slack_sqnorm += data.diag[k] * weight * weight
        dual_sum[0] += weight
        q = 0
        r[:] = 0
        for j in range(d + 1):
            f[j] = dot(data.rows, k, &T[j, 0]) + rho * T[j, d]
            q += f[j] * f[j]
            for n in range(d + 1):
                r[n] += f[j] * T[j, n]
        for j in range(d + 1):
            # A mistake of weight c is added as sqrt(c) x to the matrix.
            c = f[j] * weight / (1 + weight * q + sqrt(1 + weight * q))
            for n in range(d + 1):
                T[j, n] -= c * r[n]
            w[j] += r[j] * (weight * (label - score) / (1 + weight * q))
        axpy(data.rows, k, weight * label, &v[0])
        v[d] += weight * label * rho
        if alpha is not None:
            alpha[k] += weight
        n = 0
        while n <= d and v[n] == 0:
            n += 1
        if n > d:
            w[:] = 0   # exactly, as is P v
    return slack_sqnorm
