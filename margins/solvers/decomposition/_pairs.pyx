"""Pairs of dual variables that move together: the loops of a subproblem.

The problem: minimise over the steps d_i

    f(d) = d.g + d.(Q + rho^2 + diag(D)) d / 2,   lower_i <= d_i <= upper_i,

or the same with the constraint sum_i d_i = 0, for which rho^2 does not matter. Given: Q, rho^2, D, g and the bounds.
Left in place: d, and the gradient at d without rho^2 sum_i d_i, which all its elements share. Returned: the number of
pairs that were moved.

Each iteration moves two variables to the best point of the plane that they span, or to its edge. The first is the
variable whose best step decreases f most; the second is the variable that, with the first at its best, decreases f
most. Pairs matter if rows of Q are alike, or share the large term rho^2: single moves would undo each other.

Single precision suffices: steps are relative to the dual variables that the caller keeps in double precision. rho^2 and
D are separate because sums with Q would round off Q, if kernel values are tiny, or D, if C is large, which is all the
curvature that equal samples with contrary labels have.

Source: Fan, Chen & Lin (2005), Working set selection using second order information for training SVMs, with
bounds instead of the equality constraint; Glasmachers & Igel (2006), Maximum-gain working set selection.
"""

from libc.math cimport isfinite
from libc.stdint cimport int64_t
from margins.linalg._vectorised cimport add_four_rows  # no-cython-lint: for its macro

import numpy as np

cdef double SINGULAR = 1e-6  # a smaller determinant of a pair, relative to both diagonal elements, is rounding
LEAST_DIAGONAL = 1e-30  # a zero row without a diagonal term has none; its step ends at a bound

cdef extern from *:
    """
    /* With finite numbers a compiler may vectorise a maximum, and a division whose result may not be needed. */
    #if defined(__GNUC__) && !defined(__clang__)
    #define MARGINS_MAXIMUM __attribute__((optimize("O3", "finite-math-only", "no-signed-zeros", "no-trapping-math")))
    #define MARGINS_INLINED static inline __attribute__((always_inline))
    #else
    #define MARGINS_MAXIMUM
    #define MARGINS_INLINED static inline
    #endif

    /* The index of a value; -1 if it does not occur. Groups of 32 values are compared without a branch. */
    MARGINS_INLINED int64_t margins_first_equal(const float *values, float value, int64_t n) {
        int64_t i = 0;
        for (; i + 32 <= n; i += 32) {
            int is_here = 0;
            for (int64_t j = 0; j < 32; j++)
                is_here |= values[i + j] == value;
            if (is_here)
                break;
        }
        for (; i < n; i++)
            if (values[i] == value)
                return i;
        return -1;
    }

    /* Sets the gain of each variable's best step; returns the first with the largest gain, -1 if no gain is > 0. */
    MARGINS_VECTORISED MARGINS_MAXIMUM
    static int64_t margins_best_first(const float *g, float shift, const float *d, const float *lower,
                                      const float *upper, const float *diagonal, const float *inverse, int64_t n,
                                      float *gains)
    {
        float largest = 0;
        for (int64_t i = 0; i < n; i++) {
            float slope = g[i] + shift;
            float step = -slope * inverse[i];  /* also where d[i] + step is rounded to d[i] */
            step = step < lower[i] - d[i] ? lower[i] - d[i] : step;
            step = step > upper[i] - d[i] ? upper[i] - d[i] : step;
            gains[i] = -step * (slope + 0.5f * diagonal[i] * step);
        }
        for (int64_t i = 0; i < n; i++)
            largest = gains[i] > largest ? gains[i] : largest;
        return largest > 0 ? margins_first_equal(gains, largest, n) : -1;
    }

    /* The same after variable b, whose row of Q is `row`, has moved to its best point. */
    MARGINS_VECTORISED MARGINS_MAXIMUM
    static int64_t margins_best_second(const float *g, float shift, const float *d, const float *lower,
                                       const float *upper, const float *diagonal, const float *row, float rho2,
                                       int64_t n, int64_t b, float *gains)
    {
        float largest = 0, inverse = 1 / diagonal[b], ratio = (g[b] + shift) * inverse;
        for (int64_t i = 0; i < n; i++) {
            float element = row[i] + rho2;
            float gradient = (g[i] + shift) - element * ratio;
            float curvature = diagonal[i] - element * element * inverse;
            float least = 1e-6f * diagonal[i];
            curvature = curvature < least ? least : curvature;
            float distance = gradient > 0 ? d[i] - lower[i] : upper[i] - d[i];
            gains[i] = distance > 0 ? gradient * gradient / curvature : 0;
        }
        gains[b] = 0;
        for (int64_t i = 0; i < n; i++)
            largest = gains[i] > largest ? gains[i] : largest;
        return largest > 0 ? margins_first_equal(gains, largest, n) : -1;
    }

    /* With the constraint: the variable that can rise with the largest slope F; -1 if none can rise. */
    MARGINS_VECTORISED MARGINS_MAXIMUM
    static int64_t margins_best_riser(const float *F, const float *e, const float *upper, int64_t n, float *gains)
    {
        float largest = -1e37f;
        for (int64_t i = 0; i < n; i++)
            gains[i] = e[i] < upper[i] ? F[i] : -1e38f;
        for (int64_t i = 0; i < n; i++)
            largest = gains[i] > largest ? gains[i] : largest;
        return largest > -1e37f ? margins_first_equal(gains, largest, n) : -1;
    }

    /* The variable that can fall and gains most if b, with the row `row` of Q, rises by as much; -1 if none gains. */
    MARGINS_VECTORISED MARGINS_MAXIMUM
    static int64_t margins_best_faller(const float *F, const float *e, const float *lower, const float *diagonal,
                                       const float *row, int64_t n, int64_t b, float *gains)
    {
        float largest = 0, slope = F[b], curvature_b = diagonal[b];
        for (int64_t i = 0; i < n; i++) {
            float difference = slope - F[i];
            float sum = curvature_b + diagonal[i], curvature = sum - 2 * row[i], least = 1e-6f * sum;
            curvature = curvature < least ? least : curvature;
            gains[i] = e[i] > lower[i] && difference > 0 ? difference * difference / curvature : 0;
        }
        gains[b] = 0;
        for (int64_t i = 0; i < n; i++)
            largest = gains[i] > largest ? gains[i] : largest;
        return largest > 0 ? margins_first_equal(gains, largest, n) : -1;
    }

    MARGINS_VECTORISED
    static void margins_add_two_rows(float *g, const float *p, const float *q, float a, float b, int64_t n)
    {
        for (int64_t i = 0; i < n; i++)
            g[i] += a * p[i] + b * q[i];
    }
    """
    int64_t best_first "margins_best_first"(
        const float* g, float shift, const float* d, const float* lower, const float* upper,
        const float* diagonal, const float* inverse, int64_t n, float* gains
    ) noexcept nogil
    int64_t best_second "margins_best_second"(
        const float* g, float shift, const float* d, const float* lower, const float* upper,
        const float* diagonal, const float* row, float rho2, int64_t n, int64_t b, float* gains
    ) noexcept nogil
    int64_t best_riser "margins_best_riser"(
        const float* F, const float* e, const float* upper, int64_t n, float* gains
    ) noexcept nogil
    int64_t best_faller "margins_best_faller"(
        const float* F, const float* e, const float* lower, const float* diagonal, const float* row,
        int64_t n, int64_t b, float* gains
    ) noexcept nogil
    void add_two_rows "margins_add_two_rows"(
        float* g, const float* p, const float* q, float a, float b, int64_t n
    ) noexcept nogil


cdef const float[::1] diagonal_of(Q, float rho2, D):
    """Return the diagonal of Q + rho^2 + diag(D), in which no element is 0."""
    return np.maximum(np.diagonal(Q) + np.float32(rho2) + D, np.float32(LEAST_DIAGONAL))


cdef Py_ssize_t move_pairs(
    const float[:, ::1] Q, float rho2, const float[::1] D, float[::1] g, float[::1] d,
    const float[::1] lower, const float[::1] upper, const float[::1] diagonal,
    const float[::1] inverse, float[::1] gains, float reduction, Py_ssize_t max_pairs, const LazyRows* lazy=NULL
) noexcept nogil:
    """Move pairs until no step decreases f by more than `reduction` times the first step."""
    cdef Py_ssize_t n = g.shape[0], n_pairs = 0
    cdef int64_t first, second, last_first = -1, last_second = -1
    cdef float least = 0, step_first, step_second
    cdef double shift = 0  # rho^2 sum_i d_i, which all elements of the gradient have in common
    cdef double floor = SINGULAR
    cdef bint is_again, is_limited
    while n_pairs < max_pairs:
        first = best_first(&g[0], <float> shift, &d[0], &lower[0], &upper[0], &diagonal[0], &inverse[0], n, &gains[0])
        if first < 0 or gains[first] <= least:
            break
        if n_pairs == 0:
            least = reduction * gains[first]
        _need_row(Q, first, lazy)
        second = best_second(
            &g[0], <float> shift, &d[0], &lower[0], &upper[0], &diagonal[0], &Q[first, 0], rho2, n, first, &gains[0]
        )
        if second < 0:
            second = first  # the first moves alone
        # A pair that is chosen again has less curvature than its last step assumed, so the floor is halved. Not if
        # nothing else limits the step.
        is_again = first == last_first and second == last_second
        is_limited = isfinite(upper[first]) and isfinite(upper[second]) or D[first] + D[second] > 0
        floor = 0.5 * floor if is_again and is_limited else SINGULAR
        last_first, last_second = first, second
        _need_row(Q, second, lazy)
        _move(Q, rho2, D, g, shift, d, lower, upper, first, second, floor, &step_first, &step_second)
        if step_first == 0 and step_second == 0:
            break  # in single precision this is the optimum
        add_two_rows(&g[0], &Q[first, 0], &Q[second, 0], step_first, step_second, n)
        g[first] += D[first] * step_first
        g[second] += D[second] * step_second
        shift += <double> rho2 * (<double> step_first + step_second)
        n_pairs += 1
    return n_pairs


cdef Py_ssize_t move_balanced_pairs(
    const float[:, ::1] Q, const float[::1] D, float[::1] F, float[::1] e, const float[::1] lower,
    const float[::1] upper, const float[::1] diagonal, float[::1] gains, float reduction, Py_ssize_t max_pairs,
    const LazyRows* lazy=NULL
) noexcept nogil:
    """Do so with the constraint: the largest negative gradient F rises, the variable that gains most falls."""
    cdef Py_ssize_t n = F.shape[0], n_pairs = 0
    cdef int64_t riser, faller, last_riser = -1, last_faller = -1
    cdef float least = 0, curvature, step
    cdef double floor = SINGULAR
    cdef bint is_again, is_limited
    while n_pairs < max_pairs:
        riser = best_riser(&F[0], &e[0], &upper[0], n, &gains[0])
        if riser < 0:
            break
        _need_row(Q, riser, lazy)
        faller = best_faller(&F[0], &e[0], &lower[0], &diagonal[0], &Q[riser, 0], n, riser, &gains[0])
        if faller < 0 or gains[faller] <= least:
            break
        if n_pairs == 0:
            least = reduction * gains[faller]
        # See `move_pairs`.
        is_again = riser == last_riser and faller == last_faller
        is_limited = isfinite(upper[riser]) and isfinite(lower[faller]) or D[riser] + D[faller] > 0
        floor = 0.5 * floor if is_again and is_limited else SINGULAR
        last_riser, last_faller = riser, faller
        _need_row(Q, faller, lazy)
        curvature = max(Q[riser, riser] + Q[faller, faller], 2 * LEAST_DIAGONAL)
        curvature = max(curvature - 2 * Q[riser, faller], <float> (floor * curvature)) + (D[riser] + D[faller])
        step = min((F[riser] - F[faller]) / curvature, upper[riser] - e[riser], e[faller] - lower[faller])
        # Exactly at a bound, or it could be chosen again for a step that is rounded to nothing.
        e[riser] = upper[riser] if step == upper[riser] - e[riser] else e[riser] + step
        e[faller] = lower[faller] if step == e[faller] - lower[faller] else e[faller] - step
        if step == 0:
            break
        add_two_rows(&F[0], &Q[riser, 0], &Q[faller, 0], -step, step, n)
        F[riser] -= D[riser] * step
        F[faller] += D[faller] * step
        n_pairs += 1
    return n_pairs


cdef inline void _need_row(const float[:, ::1] Q, Py_ssize_t k, const LazyRows* lazy) noexcept nogil:
    """Fill row k of Q unless it is filled."""
    if lazy != NULL and not lazy.is_filled[k]:
        lazy.fill(lazy.source, k, <float*> &Q[k, 0])
        lazy.is_filled[k] = True


cdef void _move(
    const float[:, ::1] Q, double rho2, const float[::1] D, const float[::1] g, double shift, float[::1] d,
    const float[::1] lower, const float[::1] upper, Py_ssize_t i, Py_ssize_t j, double floor,
    float* step_i, float* step_j
) noexcept nogil:
    """Move d_i and d_j to the best point of their rectangle; Q's relative determinant is at least `floor`."""
    cdef double q = Q[i, i], p = Q[i, j], r = Q[j, j], a = q + rho2 + D[i], b = p + rho2, c = r + rho2 + D[j]
    cdef double s = g[i] + shift, t = g[j] + shift, determinant, best = 0, x, y
    cdef float x_before = d[i], y_before = d[j], bound
    cdef int side
    if i == j:
        d[i] = _between(x_before - s / a, lower[i], upper[i])
        step_i[0], step_j[0] = d[i] - x_before, 0
        return
    # Rows that are alike, as for contrary duplicates, leave f almost linear, so the step is long.
    # The determinant is expanded, so that rho^4 cancels exactly.
    determinant = q * r - p * p + rho2 * (q + r - 2 * p)
    determinant = max(determinant, floor * (q * r + rho2 * (q + r))) + (q + rho2) * D[j] + c * D[i]
    x = x_before + (t * b - s * c) / determinant
    y = y_before + (s * b - t * a) / determinant
    if lower[i] <= x <= upper[i] and lower[j] <= y <= upper[j]:
        d[i], d[j] = <float> x, <float> y
    else:  # the best point of an edge
        for side in range(2):
            bound = upper[i] if side else lower[i]
            if isfinite(bound):
                y = _between(y_before - (t + b * (bound - x_before)) / c, lower[j], upper[j])
                _take_better(s, t, a, b, c, i, j, x_before, y_before, bound, y, d, &best)
            bound = upper[j] if side else lower[j]
            if isfinite(bound):
                x = _between(x_before - (s + b * (bound - y_before)) / a, lower[i], upper[i])
                _take_better(s, t, a, b, c, i, j, x_before, y_before, x, bound, d, &best)
    step_i[0], step_j[0] = d[i] - x_before, d[j] - y_before


cdef inline float _between(double value, float lower, float upper) noexcept nogil:
    return lower if value <= lower else upper if value >= upper else <float> value


cdef inline void _take_better(
    double slope_i, double slope_j, double a, double b, double c, Py_ssize_t i, Py_ssize_t j,
    double x_before, double y_before, double x, double y, float[::1] d, double* best
) noexcept nogil:
    """Set d_i and d_j to (x, y) if that decreases f by more than the best point so far."""
    cdef double s = x - x_before, t = y - y_before
    cdef double change = s * (slope_i + 0.5 * a * s + b * t) + t * (slope_j + 0.5 * c * t)
    if change < best[0]:
        best[0] = change
        d[i], d[j] = <float> x, <float> y
