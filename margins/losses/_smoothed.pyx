"""Smooth losses of a working set, for Newton steps: dual variables, and derivatives along a step.

The problem: given a centre c_k >= 0, sigma_k > 0 and an upper bound U_k (inf: none), the loss of a
sample with slack s = 1 - w.y_k is

    h_k(s) = max over 0 <= alpha <= U_k of alpha s - (alpha - c_k)^2 / (2 sigma_k)

It is convex, differentiable and piecewise quadratic. The maximising alpha is the dual variable,

    alpha_k(s) = min(max(c_k + sigma_k s, 0), U_k)      its derivative
    sigma_k                                             its second one, where alpha_k is free: 0 < alpha_k < U_k

With c = 0 and sigma_k = 1 / D_k, h_k is itself a smooth loss: if sigma_k = 2 C_k, it is the squared hinge
loss without upper bounds, and the modified Huber loss with U_k = 4 C_k. A loss that is not smooth has D = 0.
The hinge loss, U_k = C_k, is smoothed around an estimate c of its dual variables (its Moreau envelope; the
augmented Lagrangian of the problem); a larger sigma is closer to it. All sigma_k grow together: each is
`factor` times the `curvature` of the sample.

Loops over samples are written without branches (margins/linalg/_sums.pxd), so that compilers vectorise them.

Source: Mangasarian (2002), A finite Newton method for classification; Yan & Li (2020), An efficient
augmented Lagrangian method for support vector machine.
"""

from libc.math cimport INFINITY, copysign, fabs, isfinite
from libc.stdint cimport int8_t
from margins.linalg._sums cimport BLOCK, sum_of
from margins.losses._line_search cimport MAX_DERIVATIVES, Bracket, bracket_of, is_long_enough, next_length

import numpy as np

from margins.linalg.threads import MIN_SHARED, blocks_of, current_team

cdef Py_ssize_t ONE_BLOCK = MIN_SHARED

# How many numbers of a sample a sum reads; a pass over many samples is split into blocks, which threads share.
cdef Py_ssize_t N_READ = 6

# Growth of the `factor` of smoothed losses.
cdef double GROWTH = 2
smoothing_growth = GROWTH   # for callers in Python

# The best intercept is found when sum_k l_k alpha_k is this share of sum_k alpha_k, or after MAX_SHIFTS changes.
cdef double BALANCED = 1e-10
cdef int MAX_SHIFTS = 100

# Samples with U_k |y_k|^2 above this multiple of the median have a wider smoothing.
cdef double MAX_CURVATURE_RATIO = 100
max_curvature_ratio = MAX_CURVATURE_RATIO   # for callers in Python


def smoothing_curvature(upper not None, sqnorms not None, median=None):
    """Return the curvature of every sample's smoothed loss, U_k: alpha_k goes from 0 to U_k over the same slack.

    Samples much longer than most have a smaller one: their kinks, which outweigh all others, would end line searches.
    """
    cdef const double[:] C = upper
    cdef const double[::1] square = sqnorms
    cdef Py_ssize_t k, n_positive = 0, n_large = 0
    cdef double largest = 0, product
    with nogil:
        for k in range(C.shape[0]):
            largest = max(largest, C[k] * square[k])
        for k in range(C.shape[0]):
            product = C[k] * square[k]
            n_positive += product > 0
            n_large += MAX_CURVATURE_RATIO * product >= largest
    if median is None and 2 * n_large > n_positive:  # the median is among the large ones
        return upper
    products = upper * sqnorms
    if median is None:
        median = np.median(products[products > 0])
    largest_allowed = MAX_CURVATURE_RATIO * median
    return upper * np.sqrt(largest_allowed / np.maximum(products, largest_allowed))


cdef inline double _positive(double x) noexcept nogil:
    """Return max(x, 0), or NaN for -inf, which ends the steps."""
    return 0.5 * (x + fabs(x))


cdef inline double _clipped(double alpha, double upper) noexcept nogil:
    """Return alpha clipped to [0, upper]."""
    alpha = _positive(alpha)
    return upper if alpha >= upper else alpha


cdef inline double _one_if(bint condition) noexcept nogil:
    return 1.0 if condition else 0.0


cdef double[BLOCK] NOUGHT   # C sets it to 0


def _stored(values):
    """Return values and 1 or, if they are all the same in memory, BLOCK of them and 0."""
    if values.strides[0] == 0 and len(values):
        return np.full(BLOCK, values[0]), 0
    return values, 1


cdef class SmoothLoss:
    """Smooth losses of some samples.

    centre, shape (m,): c_k, which `recentre` changes; None: 0, for a loss that is smooth itself.
    upper, shape (m,): u_k; inf: no upper bound.
    curvature, shape (m,): sigma_k is `factor` times this.
    is_smoothed: True: the loss approximates a loss that is not smooth.
    """

    def __init__(self, centre, upper not None, curvature not None, double factor, bint is_smoothed):
        cdef Py_ssize_t m = len(upper)
        self.centre, self.factor, self.is_smoothed = centre, factor, is_smoothed
        self.upper, self.upper_step = _stored(upper)
        self.curvature, self.curvature_step = _stored(curvature)
        self.has_upper_bounds = m > 0 and isfinite(self.upper[0])
        if N_READ * m >= ONE_BLOCK:
            self.parts = []
            for block in blocks_of(m, N_READ * m):
                part = None if centre is None else centre[block]
                self.parts.append((block, SmoothLoss(part, upper[block], curvature[block], factor, is_smoothed)))

    cdef const double* upper_of(self, Py_ssize_t begin) noexcept nogil:
        """The upper bounds of at most BLOCK samples from `begin` on."""
        return &self.upper[begin * self.upper_step]

    cdef const double* curvature_of(self, Py_ssize_t begin) noexcept nogil:
        """Their curvature."""
        return &self.curvature[begin * self.curvature_step]

    cdef const double* centre_of(self, Py_ssize_t begin) noexcept nogil:
        """Their centre."""
        return &self.centre[begin] if self.centre is not None else NOUGHT

    def recentre(self, const double[::1] dual not None):
        """Set the centre to these dual variables, and multiply `factor`: the loss is smoothed less."""
        cdef SmoothLoss part
        self.centre[:] = dual
        self.factor *= GROWTH
        if self.parts is not None:  # the parts share its arrays
            for _, part in self.parts:
                part.factor = self.factor

    def _sums_of_parts(self, method, *arrays):
        """Return the sums of the results of a method of all parts, for their blocks of arrays (ndarray)."""
        def call(pair):
            block, part = pair
            return method(part, *[array[block] for array in arrays])

        arrays = list(map(np.asarray, arrays))
        return np.sum(current_team().map(call, self.parts), axis=0)

    cdef double dual_variables(
        self, const double[::1] products, double[::1] dual, int8_t[::1] free, double* total
    ) except? -1 nogil:
        """Set `dual` to alpha_k, `free` to 1 if alpha_k is free, `total` to their part of the dual objective.

        Return the complementarity residual of a smoothed loss, sum_k U_k max(0, 1 - w.y_k) - alpha_k (1 - w.y_k), or 0.
        """
        cdef double residual = 0
        cdef Py_ssize_t begin = 0
        total[0] = 0
        if self.parts is not None:
            with gil:
                residual, total[0] = self._sums_of_parts(SmoothLoss.evaluate, products, dual, free)
            return residual
        while begin < products.shape[0]:
            residual += self.dual_of_block(begin, min(BLOCK, products.shape[0] - begin), products, dual, free, total)
            begin += BLOCK
        return residual

    cdef double dual_of_block(
        self, Py_ssize_t begin, Py_ssize_t n, const double[::1] products, double[::1] dual, int8_t[::1] free,
        double* total
    ) noexcept nogil:
        """Do the same for n samples from `begin` on, at most BLOCK; add to `total`, and return the residual."""
        cdef double[BLOCK] wanted, residuals, totals
        cdef const double* centre = self.centre_of(begin)
        cdef const double* upper = self.upper_of(begin)
        cdef const double* curvature = self.curvature_of(begin)
        cdef double slack, alpha, U, factor = self.factor
        cdef double half = 0 if self.is_smoothed else 0.5
        cdef Py_ssize_t i, k
        for i in range(n):
            k = begin + i
            slack = 1 - products[k]
            U = upper[i]
            wanted[i] = centre[i] + factor * curvature[i] * slack
            alpha = _clipped(wanted[i], U)
            dual[k] = alpha
            residuals[i] = (U - alpha) * _positive(slack) + alpha * _positive(-slack)
            totals[i] = alpha - half * alpha * slack  # less alpha^2 / (2 sigma) where it is not clipped
        for i in range(n):
            k = begin + i
            free[k] = (wanted[i] > 0) & (wanted[i] < upper[i])
        total[0] += sum_of(totals, n)
        if self.is_smoothed:
            return sum_of(residuals, n)
        if self.has_upper_bounds:
            for i in range(n):
                k = begin + i
                if dual[k] == upper[i]:
                    total[0] += half * upper[i] * (1 - products[k] - upper[i] / (factor * curvature[i]))
        return 0

    cdef int derivatives(
        self, const double[::1] products, const double[::1] trial, double t, double* first, double* second
    ) except -1 nogil:
        """Subtract the losses' first derivative in t along w + t s from `first`, and add the second one to `second`."""
        cdef double[BLOCK] firsts, seconds
        cdef const double* centre
        cdef const double* upper
        cdef const double* curvature
        cdef double step, sigma, wanted, U, factor = self.factor
        cdef Py_ssize_t i, k, n, begin = 0
        if self.parts is not None:
            with gil:
                first[0], second[0] = self._sums_of_parts(
                    lambda part, *arrays: part.slopes(*arrays, t), products, trial
                )
            return 0
        first[0] = second[0] = 0
        while begin < products.shape[0]:
            n = min(BLOCK, products.shape[0] - begin)
            centre, upper, curvature = self.centre_of(begin), self.upper_of(begin), self.curvature_of(begin)
            for i in range(n):
                k = begin + i
                step = trial[k] - products[k]
                U = upper[i]
                sigma = factor * curvature[i]
                wanted = centre[i] + sigma * (1 - products[k] - t * step)
                firsts[i] = step * _clipped(wanted, U)
                seconds[i] = sigma * step * step * (_one_if(wanted > 0) - _one_if(wanted >= U))
            first[0] += sum_of(firsts, n)
            second[0] += sum_of(seconds, n)
            begin += n
        return 0

    cdef double best_shift(self, const double[::1] products, const int8_t[::1] labels, double excess) except? -1 nogil:
        """Return the change b of a free intercept for which excess + sum_k l_k alpha_k(w.y_k + b l_k) is about 0.

        This sum is continuous and falls with b. Of an interval of such b, the middle is returned.
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

    cdef double _to_middle(self, const double[::1] products, const int8_t[::1] labels, double shift) noexcept nogil:
        """Return the shift from an intercept without free samples to the middle of its interval, or 0."""
        cdef double sigma, wanted, U, rise, fall, up = INFINITY, down = INFINITY
        cdef Py_ssize_t k
        for k in range(products.shape[0]):
            sigma, U = self.factor * self.curvature_of(k)[0], self.upper_of(k)[0]
            wanted = self.centre_of(k)[0] + sigma * (1 - products[k] - labels[k] * shift)
            # Decrease or increase of the slack at which the sample becomes free.
            fall = (wanted - U) / sigma if wanted >= U else INFINITY
            rise = -wanted / sigma if wanted <= 0 else INFINITY
            up = min(up, fall if labels[k] > 0 else rise)
            down = min(down, rise if labels[k] > 0 else fall)
        return 0.5 * (up - down) if isfinite(up + down) else 0

    cdef int _balance(
        self, const double[::1] products, const int8_t[::1] labels, double shift, double* balance,
        double* total, double* second
    ) except -1 nogil:
        """Compute the sums of l_k alpha_k, of alpha_k, and of sigma_k of free alpha_k, at an intercept."""
        cdef double[BLOCK] balances, totals, seconds
        cdef const double* centre
        cdef const double* upper
        cdef const double* curvature
        cdef double sigma, wanted, alpha, factor = self.factor
        cdef Py_ssize_t i, k, n, begin = 0
        if self.parts is not None:
            with gil:
                balance[0], total[0], second[0] = self._sums_of_parts(
                    lambda part, *arrays: part.balance(*arrays, shift), products, labels
                )
            return 0
        balance[0] = total[0] = second[0] = 0
        while begin < products.shape[0]:
            n = min(BLOCK, products.shape[0] - begin)
            centre, upper, curvature = self.centre_of(begin), self.upper_of(begin), self.curvature_of(begin)
            for i in range(n):
                k = begin + i
                sigma = factor * curvature[i]
                wanted = centre[i] + sigma * (1 - products[k] - labels[k] * shift)
                alpha = _clipped(wanted, upper[i])
                balances[i] = labels[k] * alpha
                totals[i] = alpha
                seconds[i] = sigma * (_one_if(wanted > 0) - _one_if(wanted >= upper[i]))
            balance[0] += sum_of(balances, n)
            total[0] += sum_of(totals, n)
            second[0] += sum_of(seconds, n)
            begin += n
        return 0

    cdef double line_search(
        self, const double[::1] products, const double[::1] trial, double linear, double square, double slope
    ) except? -1 nogil:
        """Return a step length at which the growing derivative of |w|^2 / 2 - r.w + sum_k h_k is about 0.

        `linear` is (w - r).s, `square` is |s|^2, and `slope` is the derivative at w.
        """
        cdef Bracket bracket = bracket_of(slope)
        cdef double t = 1, now, first, second
        cdef int _
        for _ in range(MAX_DERIVATIVES):
            self.derivatives(products, trial, t, &first, &second)
            now = linear + t * square - first
            if is_long_enough(t, &bracket, slope, now, square + second):
                break
            t = next_length(t, &bracket, now, square + second)
        return t

    def evaluate(self, const double[::1] products not None, double[::1] dual not None, int8_t[::1] free not None):
        """Call `dual_variables` from Python; return (complementarity residual, total)."""
        cdef double total, residual
        with nogil:
            residual = self.dual_variables(products, dual, free, &total)
        return residual, total

    def slopes(self, const double[::1] products not None, const double[::1] trial not None, double t):
        """Call `derivatives` from Python; return (first, second)."""
        cdef double first, second
        with nogil:
            self.derivatives(products, trial, t, &first, &second)
        return first, second

    def balance(self, const double[::1] products not None, const int8_t[::1] labels not None, double shift):
        """Call `_balance` from Python; return (balance, total, second derivative)."""
        cdef double balance, total, second
        with nogil:
            self._balance(products, labels, shift, &balance, &total, &second)
        return balance, total, second

    def shift(self, const double[::1] products not None, const int8_t[::1] labels not None):
        """Call `best_shift` from Python."""
        cdef double shift
        with nogil:
            shift = self.best_shift(products, labels, 0)
        return shift

    # For tests.
    def py_line_search(self, const double[::1] products, const double[::1] trial, double linear,
                       double square, double slope):
        return self.line_search(products, trial, linear, square, slope)
