"""Slacks: what a certificate needs to know of all patterns, in one pass without temporary arrays.

The problem: given the products p_k = w.y_k, the penalties C_k and a factor c, with the slacks
s_k = max(0, 1 - c p_k), return the loss at c w and the sums of which its derivatives in c are made:

    squared_hinge_sums   sum C_k s_k^2,   sum C_k s_k p_k,         sum over s_k > 0 of C_k p_k^2
    hinge_sums           sum C_k s_k,     sum over s_k > 0 of C_k p_k

Sums run over blocks, whose sums are added: rounding then is that of hundreds of additions, not of
hundreds of thousands.

Source: Panagiotakopoulos & Tsampouka (2010), (24); (2011), section 2.
"""

from libc.math cimport INFINITY

cdef Py_ssize_t BLOCK = 256


def squared_hinge_sums(const double[::1] products, const double[:] C, double factor):
    """Sums for the squared hinge loss at `factor` times the weight vector.

    Parameters
    ----------
    products : ndarray of float64, shape (m,)
        w.y_k.
    C : ndarray of float64, shape (m,)
        Penalties; may be a broadcast scalar.
    factor : float

    Returns
    -------
    loss, pull, curvature : float
        ``sum C s**2``, ``sum C s p`` and the sum of ``C p**2`` over the patterns with s > 0.
    """
    cdef double loss = 0, pull = 0, curvature = 0, a, b, c, p, slack
    cdef Py_ssize_t k = 0, end
    with nogil:
        while k < products.shape[0]:
            end = min(k + BLOCK, products.shape[0])
            a = b = c = 0
            while k < end:
                p = products[k]
                slack = 1 - factor * p
                if slack <= 0:
                    slack = p = 0
                a += C[k] * slack * slack
                b += C[k] * slack * p
                c += C[k] * p * p
                k += 1
            loss += a
            pull += b
            curvature += c
    return loss, pull, curvature


def hinge_sums(const double[::1] products, const double[:] C, double factor):
    """Sums for the hinge loss at `factor` times the weight vector.

    Parameters
    ----------
    products, C, factor
        As those of `squared_hinge_sums`.

    Returns
    -------
    loss, pull : float
        ``sum C s`` and the sum of ``C p`` over the patterns with s > 0.
    """
    cdef double loss = 0, pull = 0, a, b, p, slack
    cdef Py_ssize_t k = 0, end
    with nogil:
        while k < products.shape[0]:
            end = min(k + BLOCK, products.shape[0])
            a = b = 0
            while k < end:
                p = products[k]
                slack = 1 - factor * p
                if slack <= 0:
                    slack = p = 0
                a += C[k] * slack
                b += C[k] * p
                k += 1
            loss += a
            pull += b
    return loss, pull


def largest_factor(const double[::1] dual, const double[:] C):
    """The largest factor that keeps every ``factor * alpha_k <= C_k``; inf if all alpha_k are 0.

    Parameters
    ----------
    dual, C : ndarrays of float64, shape (m,)
    """
    cdef double least = INFINITY, ratio
    cdef Py_ssize_t k
    with nogil:
        for k in range(dual.shape[0]):
            if dual[k] > 0:
                ratio = C[k] / dual[k]
                if ratio < least:
                    least = ratio
    return least
