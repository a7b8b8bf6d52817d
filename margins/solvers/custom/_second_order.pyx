"""The second-order perceptron's loop: a perceptron that whitens the patterns it has got wrong.

The problem: patterns x_k, augmented by rho, with labels l_k. Given a matrix T with T^T T = 1/a, w = v = 0,

    if l_k w.x_k <= 0:
        f = T x_k,   q = f.f,   r = T^T f = P x_k       where P = T^T T = (a + sum of x x^T)^-1
        v <- v + l_k x_k,   w <- w + r (l_k - w.x_k) / (1 + q),   T <- T - f r^T / (1 + q + sqrt(1 + q))

the sum running over the mistakes before. The last step is the root of P <- P - r r^T / (1 + q) (Potter's;
unlike that one it leaves P positive whatever is rounded), and the one before keeps w == P v, the
prediction of the paper but for a positive factor. Left in place: T, w, v and the dual variables alpha_k,
the numbers of mistakes, so that v == sum_k alpha_k l_k x_k.

An inspection costs a product with x_k; a mistake, d of them and two passes over T.

Source: Cesa-Bianchi, Conconi & Gentile (2005), A Second-Order Perceptron Algorithm, Figure 2.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t

import numpy as np

from margins._sparse cimport axpy, dot
from margins._update cimport Patterns


def present(
    Patterns patterns not None, const int32_t[::1] order, double[:, ::1] T, double[::1] w,
    double[::1] v, double[::1] alpha,
):
    """Present the patterns of `order`: how many were mistakes, and the sum of their Delta_k^2.

    Parameters
    ----------
    patterns : Patterns
        Not of a kernel; their private coordinates are left out.
    order : ndarray of int32
    T : ndarray of float64, shape (n_features + 1, n_features + 1)
    w, v : ndarrays of float64, shape (n_features + 1,)
        The last coordinate is that of the augmentation.
    alpha : ndarray of float64, shape (m,), or None
    """
    cdef double rho = sqrt(patterns.sqrho), score, label, q, c, fresh = 0
    cdef Py_ssize_t i, j, k, n, d = w.shape[0] - 1, n_changed = 0
    cdef double[::1] f = np.empty(d + 1)
    cdef double[::1] r = np.empty(d + 1)
    with nogil:
        for i in range(order.shape[0]):
            k = order[i]
            label = patterns.labels[k]
            score = dot(patterns.rows, k, &w[0]) + rho * w[d]
            if label * score > 0:
                continue
            n_changed += 1
            fresh += patterns.extension[k]
            q = 0
            r[:] = 0
            for j in range(d + 1):
                f[j] = dot(patterns.rows, k, &T[j, 0]) + rho * T[j, d]
                q += f[j] * f[j]
                for n in range(d + 1):
                    r[n] += f[j] * T[j, n]
            for j in range(d + 1):
                c = f[j] / (1 + q + sqrt(1 + q))
                for n in range(d + 1):
                    T[j, n] -= c * r[n]
                w[j] += r[j] * ((label - score) / (1 + q))
            axpy(patterns.rows, k, label, &v[0])
            v[d] += label * rho
            if alpha is not None:
                alpha[k] += 1
            n = 0
            while n <= d and v[n] == 0:
                n += 1
            if n > d:
                w[:] = 0   # exactly, as P v is
    return n_changed, fresh
