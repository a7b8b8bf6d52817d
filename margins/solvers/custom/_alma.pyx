"""ALMA's loop: a perceptron between two spaces, which adds in one and predicts in the other.

The problem: given samples y_k (augmented by rho l_k, with a slack term Delta_k), n_k = |y_k|_p and
1/p + 1/q = 1, find w in the q-norm ball with min_k w.y_k / n_k near its maximum. From theta = 0,

    if w.y_k / n_k <= (1 - eps) B sqrt((p - 1) / (t + 1)):
        theta <- theta + sqrt(2 / ((p - 1) (t + 1))) y_k / n_k,   theta <- theta / max(1, |theta|_p)
        t <- t + 1

where B = sqrt(8) / eps and w = g(theta), g(theta)_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2), so that
|w|_q = |theta|_p. Left in place: theta as scale * (v, beta_k Delta_k), with the weight of the bias as the last
coordinate of v, the powers u_i = sign(v_i) |v_i|^(p-1), and the scalars named below.

With p = 2 both spaces are the same, v is u, and an update changes only the coordinates of the sample.

Source: Gentile (2001), A New Approximate Maximal Margin Classification Algorithm, Figure 1.
"""

from libc.math cimport copysign, fabs, fmax, pow, sqrt
from libc.stdint cimport int32_t

from margins._sparse cimport axpy, dot
from margins._update cimport BinaryData, SampleLoop, Tally

# The scalars. Between folds scale is in [1/2, 1], so that no power leaves the range of a double.
cpdef enum:
    SCALE            # theta == scale * (v, beta_k Delta_k)
    POWER            # sum_i |v_i|^p, including slack terms
    SLACK_POWER    # the part of POWER from slack terms
    SLACK_SQNORM   # sum_k (beta_k Delta_k)^2
    DUAL_SUM         # sum_k alpha_k: theta == sum_k alpha_k y_k
    SHARE_SUM        # sum_k alpha_k n_k: theta == sum_k (alpha_k n_k) y_k / n_k
    UPDATES          # t
    N                # number of scalars


cdef double _power_of_v(const double[::1] v, double[::1] u, double p) noexcept nogil:
    """Compute u and sum_i |v_i|^p from v."""
    cdef double total = 0, size, power
    cdef Py_ssize_t j
    for j in range(v.shape[0]):
        if v[j] == 0:
            u[j] = 0
            continue
        size = fabs(v[j])
        power = pow(size, p - 1)
        u[j] = copysign(power, v[j])
        total += size * power
    return total


cdef void _fold(
    double[::1] v, double[::1] u, double[::1] beta, double[::1] scalars, double p, bint euclidean
) noexcept nogil:
    """Set scale to 1."""
    cdef double scale = scalars[SCALE], power = pow(scalars[SCALE], p)
    cdef Py_ssize_t j
    for j in range(v.shape[0]):
        v[j] *= scale
    if not euclidean:
        for j in range(u.shape[0]):
            u[j] *= power / scale
    if beta is not None:
        for j in range(beta.shape[0]):
            beta[j] *= scale
    scalars[POWER] *= power
    scalars[SLACK_POWER] *= power
    scalars[SLACK_SQNORM] *= scale * scale
    scalars[SCALE] = 1


cdef class AlmaLoop(SampleLoop):
    """ALMA's loop over samples, which updates all arrays but the norms, shape (m,), in place.

    v, u, shape (n_features + 1,): the same array if p is 2, otherwise two.
    beta, shape (m,): None: not kept, so every sample is processed as if for the first time.
    """

    def __init__(self, const double[::1] norms not None, double p, double eps, double[::1] v not None,
                 double[::1] u not None, double[::1] beta, double[::1] scalars not None):
        self.norms, self.p, self.eps = norms, p, eps
        self.v, self.u, self.beta, self.scalars = v, u, beta, scalars

    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil:
        _process(
            self.data, order, begin, end, self.norms, self.p, self.eps, self.v, self.u, self.beta, self.scalars, tally
        )
        return 0


cdef void _process(
    BinaryData data, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, const double[::1] norms, double p,
    double eps, double[::1] v, double[::1] u, double[::1] beta, double[::1] scalars, Tally* tally
) noexcept nogil:
    """Process order[begin:end]."""
    cdef bint euclidean = p == 2
    cdef double rho = sqrt(data.sq_intercept_scaling), bound = (1 - eps) * sqrt(8 * (p - 1)) / eps
    cdef double threshold, product, label, delta, own, eta, c, norm
    cdef Py_ssize_t i, k, d = v.shape[0] - 1
    norm = pow(scalars[POWER], 1 / p)
    threshold = bound / sqrt(scalars[UPDATES] + 1) * pow(norm, p - 2) / scalars[SCALE]
    for i in range(begin, end):
        k = order[i]
        label = data.labels[k]
        delta = sqrt(data.diag[k])
        own = 0 if beta is None else beta[k] * delta
        product = label * (dot(data.rows, k, &u[0]) + rho * u[d]) + delta * pow(own, p - 1)
        if product > threshold * norms[k] or norms[k] == 0:
            continue  # a zero row has no direction
        tally.n_changed += 1
        scalars[UPDATES] += 1
        eta = sqrt(2 / ((p - 1) * scalars[UPDATES]))
        c = eta / (scalars[SCALE] * norms[k])
        axpy(data.rows, k, label * c, &v[0])
        v[d] += label * c * rho
        if beta is not None:
            beta[k] += c
        scalars[SLACK_SQNORM] += (own + c * delta) * (own + c * delta) - own * own
        if euclidean:
            scalars[POWER] = fmax(scalars[POWER] + 2 * c * product + c * c * norms[k] * norms[k], 0)
        else:
            scalars[SLACK_POWER] += pow(own + c * delta, p) - pow(own, p)
            scalars[POWER] = _power_of_v(v, u, p) + scalars[SLACK_POWER]
        scalars[DUAL_SUM] += eta / norms[k]
        scalars[SHARE_SUM] += eta
        norm = scalars[SCALE] * pow(scalars[POWER], 1 / p)
        if norm > 1:
            scalars[SCALE] /= norm
            scalars[DUAL_SUM] /= norm
            scalars[SHARE_SUM] /= norm
            if scalars[SCALE] < 0.5:
                _fold(v, u, beta, scalars, p, euclidean)
        norm = pow(scalars[POWER], 1 / p)
        threshold = bound / sqrt(scalars[UPDATES] + 1) * pow(norm, p - 2) / scalars[SCALE]


def process(BinaryData data not None, const int32_t[::1] order, norms, p, eps, v, u, beta, scalars):
    """Process the samples of `order` by an `AlmaLoop`, and return the number of updates."""
    return AlmaLoop(norms, p, eps, v, u, beta, scalars).full_epoch(data, None, None, order)


def recompute(
    BinaryData data not None, double p, const double[::1] v, double[::1] u, const double[::1] beta, double[::1] scalars
):
    """Recompute the powers and the sums of squares of theta, because their recursions accumulate rounding."""
    cdef double own, power = 0, sqnorm = 0, dual_sum = 0
    cdef Py_ssize_t k
    with nogil:
        if beta is not None:
            for k in range(beta.shape[0]):
                own = beta[k] * sqrt(data.diag[k])
                power += pow(own, p)
                sqnorm += own * own
                dual_sum += beta[k]
            scalars[SLACK_POWER] = power
            scalars[SLACK_SQNORM] = sqnorm
            scalars[DUAL_SUM] = scalars[SCALE] * dual_sum
        if p == 2:
            scalars[POWER] = scalars[SLACK_SQNORM]
            for k in range(v.shape[0]):
                scalars[POWER] += v[k] * v[k]
        else:
            scalars[POWER] = scalars[SLACK_POWER] + _power_of_v(v, u, p)


def normalised_products(
    BinaryData data not None, const double[::1] norms, double p, const double[::1] u,
    const double[::1] beta, double[::1] out,
):
    """Set `out` to u.y_k / n_k, including slack terms: |v|_p^(p-2) w.y_k / n_k with theta = v."""
    cdef double rho = sqrt(data.sq_intercept_scaling), own, delta
    cdef Py_ssize_t k, d = u.shape[0] - 1
    with nogil:
        for k in range(norms.shape[0]):
            out[k] = data.labels[k] * (dot(data.rows, k, &u[0]) + rho * u[d])
            if beta is not None:
                delta = sqrt(data.diag[k])
                own = beta[k] * delta
                out[k] += delta * pow(own, p - 1)
            out[k] /= norms[k]
