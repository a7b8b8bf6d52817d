"""Newton steps: what one of them needs to know of the patterns.

The problem: given some of the patterns, a fixed vector r that stands for the others, for each pattern a
centre c_k >= 0, a width sigma_k > 0 and an upper bound U_k (inf: none), minimise

    f(w) = |w|^2 / 2 - r.w + sum_k h_k(1 - w.y_k)
    h_k(s) = max over 0 <= alpha <= U_k of alpha s - (alpha - c_k)^2 / (2 sigma_k)

f is convex, differentiable and piecewise quadratic. The alpha that attains h_k is a dual variable,

    alpha_k(w) = min(max(c_k + sigma_k (1 - w.y_k), 0), U_k)
    gradient   = w - r - sum_k alpha_k(w) y_k
    Hessian    = I + sum over the free k of sigma_k y_k y_k^T      (free: 0 < alpha_k(w) < U_k)

With c = 0, sigma_k = 2 C_k and no upper bounds f is the objective of the squared hinge loss. With
U_k = C_k, and dual variables as centre, it is that of the hinge loss, rounded off at its kinks; the
closer the centre to the optimum, or the larger sigma, the less.

Vectors have an element for every feature and, with an augmentation, one more: y_k = l_k [x_k, rho].
Private coordinates are left out, the loss stands for them. Arrays hold the given patterns only, whose
numbers are in `members`, ascending.

Source: Mangasarian (2002), A finite Newton method for classification; Keerthi & DeCoste (2005), A
modified finite Newton method for fast solution of large scale linear SVMs; Yan & Li (2020), An
efficient augmented Lagrangian method for support vector machine.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int8_t, int32_t
from margins._sparse cimport add_outer, axpy, dot, nonzeros
from margins._update cimport Patterns

import numpy as np

cdef Py_ssize_t BLOCK = 256  # sums of sums: rounding of hundreds of additions, not of millions


def products(Patterns patterns not None, const int32_t[::1] members, const double[::1] vector):
    """w.y_k of every member: ndarray of float64."""
    result = np.empty(members.shape[0])
    cdef double[::1] out = result
    cdef const double[::1] v = vector[:patterns.rows.n_features]
    cdef double bias = 0
    cdef Py_ssize_t i
    if patterns.sqrho > 0:
        bias = sqrt(patterns.sqrho) * vector[patterns.rows.n_features]
    with nogil:
        for i in range(members.shape[0]):
            out[i] = patterns.labels[members[i]] * (dot(patterns.rows, members[i], v) + bias)
    return result


def combination(Patterns patterns not None, const int32_t[::1] members, const double[::1] dual):
    """sum_k alpha_k y_k over the members: ndarray of float64."""
    cdef Py_ssize_t i, k, d = patterns.rows.n_features
    result = np.zeros(d + (patterns.sqrho > 0))
    cdef double[::1] out = result, v = out[:d]
    cdef double c, label_sum = 0
    with nogil:
        for i in range(members.shape[0]):
            if dual[i] > 0:
                k = members[i]
                c = dual[i] * patterns.labels[k]
                axpy(patterns.rows, k, c, v)
                label_sum += c
        if patterns.sqrho > 0:
            out[d] = sqrt(patterns.sqrho) * label_sum
    return result


def movable(const double[::1] products, const double[::1] dual, const double[::1] penalty, bint bounded,
            const int8_t[::1] held, double band):
    """The patterns that a step may concern: ndarray of int32, ascending.

    Left out are those whose dual variable is at a bound where it belongs, and whose w.y_k is further
    than `band` from 1; unless they are `held`.
    """
    cdef Py_ssize_t k, n = 0
    cdef double slack
    members = np.empty(products.shape[0], dtype=np.int32)
    cdef int32_t[::1] out = members
    with nogil:
        for k in range(products.shape[0]):
            slack = 1 - products[k]
            if not held[k] and (
                (slack < -band and dual[k] == 0) or (bounded and slack > band and dual[k] == penalty[k])
            ):
                continue
            out[n] = <int32_t> k
            n += 1
    return members[:n]


def dual_variables(const double[::1] products, const double[::1] centre, const double[::1] penalty,
                   double factor, bint bounded, double[::1] dual, int8_t[::1] free):
    """Compute the dual variables that belong to a weight vector, and say which are free.

    Parameters
    ----------
    products : ndarray of float64
        w.y_k.
    centre, penalty : ndarrays of float64
        c_k and C_k.
    factor : float
        sigma_k is so many C_k.
    bounded : bool
        True: U_k is C_k; False: inf.
    dual : ndarray of float64
        Gets alpha_k.
    free : ndarray of int8
        Gets 1 where alpha_k is free, else 0.

    Returns
    -------
    float
        ``sum_k U_k max(0, 1 - w.y_k) - alpha_k (1 - w.y_k)``, what the dual variables lack of
        complementarity; 0 without upper bounds, where alpha_k = sigma_k max(0, 1 - w.y_k).
    """
    cdef double distance = 0, slack, alpha, C
    cdef Py_ssize_t i
    with nogil:
        for i in range(products.shape[0]):
            slack, C = 1 - products[i], penalty[i]
            alpha = centre[i] + factor * C * slack
            free[i] = False
            if alpha <= 0:
                alpha = 0
            elif bounded and alpha >= C:
                alpha = C
            else:
                free[i] = True
            dual[i] = alpha
            if bounded:
                distance += (C - alpha if slack > 0 else -alpha) * slack
    return distance


def slope(const double[::1] products, const double[::1] ahead, const double[::1] centre,
          const double[::1] penalty, double factor, bint bounded, double t):
    """What the members add to the derivatives of f from one weight vector towards another.

    Parameters
    ----------
    products, ahead : ndarrays of float64
        w.y_k and (w + s).y_k.
    centre, penalty, factor, bounded
        As those of `dual_variables`.
    t : float
        Where: at w + t s.

    Returns
    -------
    pull, curvature : float
        What is taken from the first and added to the second derivative in t.
    """
    cdef double pull = 0, curvature = 0, a, b, step, alpha, C
    cdef Py_ssize_t i = 0, end
    with nogil:
        while i < products.shape[0]:
            end = min(i + BLOCK, products.shape[0])
            a = b = 0
            while i < end:
                step, C = ahead[i] - products[i], penalty[i]
                alpha = centre[i] + factor * C * (1 - products[i] - t * step)
                if alpha > 0:
                    if bounded and alpha >= C:
                        alpha = C
                    else:
                        b += C * step * step
                    a += alpha * step
                i += 1
            pull += a
            curvature += b
    return pull, factor * curvature


def add_to_hessian(Patterns patterns not None, const int32_t[::1] members, const double[::1] width,
                   double[:, ::1] out):
    """Add sum_k sigma_k y_k y_k^T over the members to the lower triangle of a matrix.

    Parameters
    ----------
    patterns : Patterns
    members : ndarray of int32
    width : ndarray of float64
        sigma_k of every member; negative: it is taken away.
    out : ndarray of float64, shape (n, n)
    """
    cdef Py_ssize_t i, n, d = patterns.rows.n_features
    cdef Py_ssize_t room = patterns.rows.longest() + 1
    cdef double[::1] values = np.empty(room)
    cdef int32_t[::1] columns = np.empty(room, dtype=np.int32)
    cdef double rho = sqrt(patterns.sqrho)
    with nogil:
        for i in range(members.shape[0]):
            n = nonzeros(patterns.rows, members[i], &values[0], &columns[0])
            if rho > 0:
                values[n], columns[n] = rho, <int32_t> d
                n += 1
            add_outer(&values[0], &columns[0], n, width[i], &out[0, 0], out.shape[1])


def dense_rows(Patterns patterns not None, const int32_t[::1] members, const double[::1] factor,
               double[:, ::1] out):
    """Write factor_k [x_k, rho] of every member, zeros included, into the first rows of a matrix."""
    cdef Py_ssize_t i, j, n, d = patterns.rows.n_features
    cdef Py_ssize_t room = patterns.rows.longest() + 1
    cdef double[::1] values = np.empty(room)
    cdef int32_t[::1] columns = np.empty(room, dtype=np.int32)
    with nogil:
        out[:members.shape[0]] = 0
        for i in range(members.shape[0]):
            n = nonzeros(patterns.rows, members[i], &values[0], &columns[0])
            for j in range(n):
                out[i, columns[j]] += factor[i] * values[j]
            if patterns.sqrho > 0:
                out[i, d] = factor[i] * sqrt(patterns.sqrho)
