"""Smooth losses of a working set, for Newton steps: dual variables, and derivatives along a step.

The problem: given a centre c_k >= 0, sigma_k > 0 and an upper bound U_k (inf: none), the loss of a
sample with slack s = 1 - w.y_k is

    h_k(s) = max over 0 <= alpha <= U_k of alpha s - (alpha - c_k)^2 / (2 sigma_k)

It is convex, differentiable and piecewise quadratic. The maximising alpha is the dual variable,

    alpha_k(s) = min(max(c_k + sigma_k s, 0), U_k)      its derivative
    sigma_k                                             its second one, where alpha_k is free: 0 < alpha_k < U_k

With c = 0 and sigma_k = 1 / D_k it is a smooth loss itself: with sigma_k = 2 C_k and no upper bounds the
squared hinge loss, with U_k = 4 C_k besides the modified Huber loss. A loss that is not smooth has D = 0:
the hinge loss, U_k = C_k, is smoothed around an estimate c of its dual variables (its Moreau envelope;
the augmented Lagrangian of the problem), the closer the larger sigma. All sigma_k grow together: each
is `factor` times a `curvature` of its own.

Loops over samples are written without branches (margins/linalg/_sums.pxd), so that compilers vectorise
them.

Source: Mangasarian (2002), A finite Newton method for classification; Yan & Li (2020), An efficient
augmented Lagrangian method for support vector machine.
"""

from libc.math cimport INFINITY, copysign, fabs, isfinite
from libc.stdint cimport int8_t
from margins.linalg._sums cimport BLOCK, sum_of

import numpy as np

# Growth of the `factor` of smoothed losses.
cdef double GROWTH = 2

# A line search ends when the derivative is this share of the one at its start, or after so many lengths.
cdef double SLOPE_REDUCTION = 0.1
cdef int MAX_DERIVATIVES = 30
max_derivatives = MAX_DERIVATIVES   # for callers in Python

# An intercept is at its best when sum_k l_k alpha_k is this share of sum_k alpha_k, or after so many changes.
cdef double BALANCED = 1e-10
cdef int MAX_SHIFTS = 100

# Samples with U_k |y_k|^2 above so many times the median have a wider smoothing.
cdef double MAX_CURVATURE_RATIO = 100
max_curvature_ratio = MAX_CURVATURE_RATIO   # for callers in Python


def smoothing_curvature(upper not None, sqnorms not None, median=None):
    """The curvature of every sample's smoothed loss, of which sigma_k is a multiple.

    It is U_k: then alpha_k goes from 0 to U_k over the same slack for all samples. For samples much longer
    than most it is less, and the slack in proportion to their length: otherwise the line search ends at
    their kinks, which outweigh all other samples.

    Parameters
    ----------
    upper, sqnorms : ndarrays of float64, shape (m,)
        U_k and |y_k|^2.
    median : float, optional
        That of U_k |y_k|^2 over the samples with U_k > 0, if these are a part of all samples.

    Returns
    -------
    ndarray of float64, shape (m,)
    """
    cdef const double[::1] C = upper, square = sqnorms
    cdef Py_ssize_t k, n_positive = 0, n_large = 0
    cdef double largest = 0, product
    with nogil:
        for k in range(C.shape[0]):
            largest = max(largest, C[k] * square[k])
        for k in range(C.shape[0]):
            product = C[k] * square[k]
            n_positive += product > 0
            n_large += MAX_CURVATURE_RATIO * product >= largest
    if median is None and 2 * n_large > n_positive:  # the median is among them
        return upper
    products = upper * sqnorms
    if median is None:
        median = np.median(products[products > 0])
    largest_allowed = MAX_CURVATURE_RATIO * median
    return upper * np.sqrt(largest_allowed / np.maximum(products, largest_allowed))


cdef inline double _positive(double x) noexcept nogil:
    """max(x, 0); of -inf NaN, which ends the steps."""
    return 0.5 * (x + fabs(x))


cdef inline double _clipped(double alpha, double upper) noexcept nogil:
    """alpha clipped to [0, upper]."""
    alpha = _positive(alpha)
    return upper if alpha >= upper else alpha


cdef inline double _one_if(bint condition) noexcept nogil:
    return 1.0 if condition else 0.0


cdef struct Bracket:
    # The ends of an interval with the minimum, and the derivatives there. Of an end that stays while the
    # other one moves twice, half the derivative (the Illinois rule), so that it moves, too.
    double low, high, derivative_low, derivative_high
    int moved   # 1: the last end that moved is the high one; -1: the low one


cdef inline Bracket _bracket(double slope) noexcept nogil:
    """All step lengths, given the derivative at 0."""
    cdef Bracket bracket
    bracket.low, bracket.high, bracket.moved = 0, INFINITY, 0
    bracket.derivative_low, bracket.derivative_high = slope, INFINITY
    return bracket


cdef inline bint _is_long_enough(
    double t, const Bracket* bracket, double slope, double derivative, double curvature
) noexcept nogil:
    """True if the derivative at t is small beside the one at 0, and the objective not larger than there.

    Or if the squares of a very short step underflow, so that Newton's method gives no other length.
    By convexity, f(low) <= f(0) + low f'(low) and f(t) <= f(low) + (t - low) f'(t). A whole step is taken
    without this proof.
    """
    cdef double decrease = -bracket.low * bracket.derivative_low
    if not curvature > 0:
        return True
    if fabs(derivative) > SLOPE_REDUCTION * fabs(slope):
        return False
    return derivative <= 0 or t == 1 or (t - bracket.low) * derivative <= decrease


cdef inline double _next_length(
    double t, Bracket* bracket, double derivative, double curvature
) noexcept nogil:
    """The next step length of a line search, given the two derivatives at t; the bracket gets closer.

    Newton's, or if it is outside the bracket, where the line through the derivatives at its ends is 0.
    """
    if derivative > 0:
        bracket.high, bracket.derivative_high = t, derivative
        if bracket.moved == 1:
            bracket.derivative_low *= 0.5
        bracket.moved = 1
    else:
        bracket.low, bracket.derivative_low = t, derivative
        if bracket.moved == -1:
            bracket.derivative_high *= 0.5
        bracket.moved = -1
    t -= derivative / curvature
    if bracket.low < t < bracket.high:
        return t
    if bracket.high == INFINITY:
        return 2 * bracket.low
    t = bracket.derivative_low / (bracket.derivative_low - bracket.derivative_high)
    t = bracket.low + (bracket.high - bracket.low) * t
    return t if bracket.low < t < bracket.high else 0.5 * (bracket.low + bracket.high)


cdef class StepLengths:
    """The step lengths of a line search whose derivatives are sums over parts of the data.

    Parameters
    ----------
    slope : float
        The derivative at 0, negative.
    """

    cdef Bracket bracket
    cdef double slope

    def __init__(self, double slope):
        self.bracket, self.slope = _bracket(slope), slope

    def is_long_enough(self, double t, double derivative, double curvature):
        """True if the search may end at t, given the two derivatives there."""
        return _is_long_enough(t, &self.bracket, self.slope, derivative, curvature)

    def after(self, double t, double derivative, double curvature):
        """The next step length, given the two derivatives at t: float."""
        return _next_length(t, &self.bracket, derivative, curvature)


cdef class SmoothLoss:
    """The smooth losses of some samples.

    Parameters
    ----------
    centre : ndarray of float64, shape (m,)
        c_k; changed by `reduce_smoothing`. 0 for a loss that is smooth itself.
    upper : ndarray of float64, shape (m,)
        U_k, inf where there is none.
    curvature : ndarray of float64, shape (m,)
        sigma_k is `factor` times this.
    factor : float
    is_smoothed : bool
        True: the loss is an approximation of one that is not smooth.
    """

    def __init__(self, double[::1] centre not None, const double[::1] upper not None,
                 const double[::1] curvature not None, double factor, bint is_smoothed):
        self.centre, self.upper, self.curvature = centre, upper, curvature
        self.factor, self.is_smoothed = factor, is_smoothed
        self.has_upper_bounds = upper.shape[0] > 0 and isfinite(upper[0])

    cdef void reduce_smoothing(self, const double[::1] dual) noexcept nogil:
        """Smooth less, with these dual variables as the centre."""
        self.centre[:] = dual
        self.factor *= GROWTH

    cdef double dual_variables(
        self, const double[::1] products, double[::1] dual, int8_t[::1] free, double* total
    ) noexcept nogil:
        """The dual variables that belong to a weight vector, and which of them are free.

        `products` are w.y_k. `dual` gets alpha_k, `free` 1 where it is free, else 0, and `total` what
        the alpha_k add to the dual objective. Returned is the complementarity residual of a smoothed
        loss, sum_k U_k max(0, 1 - w.y_k) - alpha_k (1 - w.y_k); that of a smooth loss is 0.
        """
        cdef double wanted[BLOCK]
        cdef double residuals[BLOCK]
        cdef double totals[BLOCK]
        cdef const double[::1] centre = self.centre, upper = self.upper, curvature = self.curvature
        cdef double slack, alpha, U, residual = 0, factor = self.factor
        cdef double half = 0 if self.is_smoothed else 0.5
        cdef Py_ssize_t i, k, n, begin = 0
        total[0] = 0
        while begin < products.shape[0]:
            n = min(BLOCK, products.shape[0] - begin)
            for i in range(n):
                k = begin + i
                slack = 1 - products[k]
                U = upper[k]
                wanted[i] = centre[k] + factor * curvature[k] * slack
                alpha = _clipped(wanted[i], U)
                dual[k] = alpha
                residuals[i] = (U - alpha) * _positive(slack) + alpha * _positive(-slack)
                totals[i] = alpha - half * alpha * slack  # less alpha^2 / (2 sigma) where it is not clipped
            for i in range(n):
                k = begin + i
                free[k] = (wanted[i] > 0) & (wanted[i] < upper[k])
            residual += sum_of(residuals, n)
            total[0] += sum_of(totals, n)
            begin += n
        if self.is_smoothed:
            return residual
        if self.has_upper_bounds:
            for k in range(products.shape[0]):
                if dual[k] == upper[k]:
                    total[0] += half * upper[k] * (1 - products[k] - upper[k] / (factor * curvature[k]))
        return 0

    cdef void derivatives(
        self, const double[::1] products, const double[::1] trial, double t, double* first, double* second
    ) noexcept nogil:
        """The derivatives of the losses along a step, w + t s.

        `products` are w.y_k, `trial` (w + s).y_k. `first` is to be subtracted from the first derivative in
        t, `second` to be added to the second.
        """
        cdef double firsts[BLOCK]
        cdef double seconds[BLOCK]
        cdef const double[::1] centre = self.centre, upper = self.upper, curvature = self.curvature
        cdef double step, sigma, wanted, U, factor = self.factor
        cdef Py_ssize_t i, k, n, begin = 0
        first[0] = second[0] = 0
        while begin < products.shape[0]:
            n = min(BLOCK, products.shape[0] - begin)
            for i in range(n):
                k = begin + i
                step = trial[k] - products[k]
                U = upper[k]
                sigma = factor * curvature[k]
                wanted = centre[k] + sigma * (1 - products[k] - t * step)
                firsts[i] = step * _clipped(wanted, U)
                seconds[i] = sigma * step * step * (_one_if(wanted > 0) - _one_if(wanted >= U))
            first[0] += sum_of(firsts, n)
            second[0] += sum_of(seconds, n)
            begin += n

    cdef double best_shift(
        self, const double[::1] products, const int8_t[::1] labels, double excess
    ) noexcept nogil:
        """The change of an intercept that is not penalised for which the dual variables balance.

        Of b in ``w.y_k + b l_k``: where excess + sum_k l_k alpha_k, which is continuous and falls with b, is
        0 but for rounding; where it is 0 in an interval, the middle. `products` are w.y_k before the change,
        `excess` is the sum over all other samples.
        """
        cdef double balance, total, second, before, shift = 0, move = 1, low = -INFINITY, high = INFINITY
        cdef int _
        for _ in range(MAX_SHIFTS):
            self._balance(products, labels, shift, &balance, &total, &second)
            balance += excess
            if not fabs(balance) > BALANCED * total:
                return shift if second > 0 else shift + self._to_middle(products, labels, shift)
            if balance > 0:
                low = shift
            else:
                high = shift
            before = shift
            shift += balance / second if second > 0 else copysign(move, balance)
            if not low < shift < high:
                shift = 0.5 * (low + high) if isfinite(low + high) else before + copysign(move, balance)
            if shift == before:
                break
            move *= 2
        return shift

    cdef double _to_middle(
        self, const double[::1] products, const int8_t[::1] labels, double shift
    ) noexcept nogil:
        """From an intercept at which no sample is free, to the middle of those around it; 0 if unbounded."""
        cdef double sigma, wanted, rise, fall, up = INFINITY, down = INFINITY
        cdef Py_ssize_t k
        for k in range(products.shape[0]):
            sigma = self.factor * self.curvature[k]
            wanted = self.centre[k] + sigma * (1 - products[k] - labels[k] * shift)
            # The decrease of the slack, or its increase, at which the sample becomes free.
            fall = (wanted - self.upper[k]) / sigma if wanted >= self.upper[k] else INFINITY
            rise = -wanted / sigma if wanted <= 0 else INFINITY
            up = min(up, fall if labels[k] > 0 else rise)
            down = min(down, rise if labels[k] > 0 else fall)
        return 0.5 * (up - down) if isfinite(up + down) else 0

    cdef void _balance(
        self, const double[::1] products, const int8_t[::1] labels, double shift, double* balance,
        double* total, double* second
    ) noexcept nogil:
        """The sums of l_k alpha_k, of alpha_k, and of sigma_k where alpha_k is free, at an intercept."""
        cdef double balances[BLOCK]
        cdef double totals[BLOCK]
        cdef double seconds[BLOCK]
        cdef const double[::1] centre = self.centre, upper = self.upper, curvature = self.curvature
        cdef double sigma, wanted, alpha, factor = self.factor
        cdef Py_ssize_t i, k, n, begin = 0
        balance[0] = total[0] = second[0] = 0
        while begin < products.shape[0]:
            n = min(BLOCK, products.shape[0] - begin)
            for i in range(n):
                k = begin + i
                sigma = factor * curvature[k]
                wanted = centre[k] + sigma * (1 - products[k] - labels[k] * shift)
                alpha = _clipped(wanted, upper[k])
                balances[i] = labels[k] * alpha
                totals[i] = alpha
                seconds[i] = sigma * (_one_if(wanted > 0) - _one_if(wanted >= upper[k]))
            balance[0] += sum_of(balances, n)
            total[0] += sum_of(totals, n)
            second[0] += sum_of(seconds, n)
            begin += n

    cdef double line_search(
        self, const double[::1] products, const double[::1] trial, double linear, double square, double slope
    ) noexcept nogil:
        """The step length: where the derivative, which is continuous and grows, is about 0.

        Of |w|^2 / 2 - r.w + sum_k h_k, with `products` and `trial` as those of `derivatives`, `linear`
        (w - r).s, `square` |s|^2, and `slope` the derivative at w.
        """
        cdef Bracket bracket = _bracket(slope)
        cdef double t = 1, now, first, second
        cdef int _
        for _ in range(MAX_DERIVATIVES):
            self.derivatives(products, trial, t, &first, &second)
            now = linear + t * square - first
            if _is_long_enough(t, &bracket, slope, now, square + second):
                break
            t = _next_length(t, &bracket, now, square + second)
        return t

    def evaluate(self, const double[::1] products not None, double[::1] dual not None,
                 int8_t[::1] free not None):
        """`dual_variables`, for callers in Python: (complementarity residual, total)."""
        cdef double total, residual
        with nogil:
            residual = self.dual_variables(products, dual, free, &total)
        return residual, total

    def slopes(self, const double[::1] products not None, const double[::1] trial not None, double t):
        """`derivatives`, for callers in Python: (first, second)."""
        cdef double first, second
        with nogil:
            self.derivatives(products, trial, t, &first, &second)
        return first, second

    # For tests.
    def py_line_search(self, const double[::1] products, const double[::1] trial, double linear,
                       double square, double slope):
        return self.line_search(products, trial, linear, square, slope)
