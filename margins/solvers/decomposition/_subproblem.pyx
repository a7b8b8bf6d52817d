"""The subproblem of a working set W, with all other dual variables fixed.

The problem: minimise over the steps d_i, i in W,

    f(d) = d.g + d.Q d / 2,   lower_i <= d_i <= upper_i,   Q_ij = l_i l_j (K(x_i, x_j) + rho^2) + [i = j] D_i,

where g is the gradient of the negative dual objective, and the bounds keep 0 <= alpha_i + d_i <= U_i.
Given: Q, g and the bounds. Left in place: d, and the gradient at d. Returned: the number of pairs.

Each iteration moves two variables to the best point of the plane that they span, or to its edge: first the one
whose own best step decreases f most, then the one that, with the first at its best, decreases f most. Pairs
matter where rows of Q are alike, or share the large term rho^2: moved singly, they take each other's step back.

Single precision suffices: steps are relative to the dual variables that the caller keeps in double precision.

Source: Fan, Chen & Lin (2005), Working set selection using second order information for training SVMs, with
bounds in place of the equality constraint; Glasmachers & Igel (2006), Maximum-gain working set selection.
"""

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t
from margins.linalg._vectorised cimport add_four_rows

import numpy as np

cdef enum:
    BLOCK = 2048        # columns that are summed at a time: they stay in the cache
    TILE = 32           # rows that are mirrored at a time

cdef float MIN_DIAGONAL = 1e-30
cdef double SINGULAR = 1e-6  # of both diagonal elements: a smaller determinant of a pair is rounding

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define MARGINS_RESTRICT __restrict__
    #else
    #define MARGINS_RESTRICT
    #endif

    /* Of finite numbers a compiler may vectorise a maximum, and a division whose result may not be needed. */
    #if defined(__GNUC__) && !defined(__clang__)
    #define MARGINS_MAXIMUM __attribute__((optimize("O3", "finite-math-only", "no-signed-zeros", "no-trapping-math")))
    #else
    #define MARGINS_MAXIMUM
    #endif

    /* The gain of each variable's own best step; returns the first with the largest gain, -1 if none is > 0. */
    MARGINS_VECTORISED MARGINS_MAXIMUM
    static int64_t margins_best_first(const float *g, const float *d, const float *lower, const float *upper,
                                      const float *diagonal, const float *inverse, int64_t n, float *gains)
    {
        float largest = 0;
        for (int64_t i = 0; i < n; i++) {
            float step = -g[i] * inverse[i];  /* also where d[i] + step is rounded to d[i] */
            step = step < lower[i] - d[i] ? lower[i] - d[i] : step;
            step = step > upper[i] - d[i] ? upper[i] - d[i] : step;
            gains[i] = -step * (g[i] + 0.5f * diagonal[i] * step);
        }
        for (int64_t i = 0; i < n; i++)
            largest = gains[i] > largest ? gains[i] : largest;
        for (int64_t i = 0; i < n && largest > 0; i++)
            if (gains[i] == largest)
                return i;
        return -1;
    }

    /* The same after a step of variable b to its best, whose row of Q is `row`. */
    MARGINS_VECTORISED MARGINS_MAXIMUM
    static int64_t margins_best_second(const float *g, const float *d, const float *lower, const float *upper,
                                       const float *diagonal, const float *row, int64_t n, int64_t b, float *gains)
    {
        float largest = 0, inverse = 1 / diagonal[b], ratio = g[b] * inverse;
        for (int64_t i = 0; i < n; i++) {
            float gradient = g[i] - row[i] * ratio;
            float curvature = diagonal[i] - row[i] * row[i] * inverse;
            float least = 1e-6f * diagonal[i];
            curvature = curvature < least ? least : curvature;
            float distance = gradient > 0 ? d[i] - lower[i] : upper[i] - d[i];
            gains[i] = distance > 0 ? gradient * gradient / curvature : 0;
        }
        gains[b] = 0;
        for (int64_t i = 0; i < n; i++)
            largest = gains[i] > largest ? gains[i] : largest;
        for (int64_t i = 0; i < n && largest > 0; i++)
            if (gains[i] == largest)
                return i;
        return -1;
    }

    /* With the constraint: the variable that can rise with the largest slope F, -1 if none can. */
    MARGINS_VECTORISED MARGINS_MAXIMUM
    static int64_t margins_best_riser(const float *F, const float *e, const float *upper, int64_t n, float *gains)
    {
        float largest = -1e37f;
        for (int64_t i = 0; i < n; i++)
            gains[i] = e[i] < upper[i] ? F[i] : -1e38f;
        for (int64_t i = 0; i < n; i++)
            largest = gains[i] > largest ? gains[i] : largest;
        for (int64_t i = 0; i < n && largest > -1e37f; i++)
            if (gains[i] == largest)
                return i;
        return -1;
    }

    /* The variable that can fall and gains most if b rises by as much, whose row of Q is `row`; -1 if none does. */
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
        for (int64_t i = 0; i < n && largest > 0; i++)
            if (gains[i] == largest)
                return i;
        return -1;
    }

    /* q_j <- (row[columns[j]] + sqrho) * factor * factors[j] */
    MARGINS_VECTORISED
    static void margins_gather(float *MARGINS_RESTRICT q, const float *MARGINS_RESTRICT row,
                               const int32_t *MARGINS_RESTRICT columns, const float *MARGINS_RESTRICT factors,
                               float factor, float sqrho, int64_t n)
    {
        for (int64_t j = 0; j < n; j++)
            q[j] = (row[columns[j]] + sqrho) * factor * factors[j];
    }

    MARGINS_VECTORISED
    static void margins_gather_as_it_is(float *MARGINS_RESTRICT q, const float *MARGINS_RESTRICT row,
                                        const int32_t *MARGINS_RESTRICT columns, int64_t n)
    {
        for (int64_t j = 0; j < n; j++)
            q[j] = row[columns[j]];
    }

    MARGINS_VECTORISED
    static void margins_add_two_rows(float *g, const float *p, const float *q, float a, float b, int64_t n)
    {
        for (int64_t i = 0; i < n; i++)
            g[i] += a * p[i] + b * q[i];
    }
    """
    int64_t best_first "margins_best_first"(
        const float* g, const float* d, const float* lower, const float* upper,
        const float* diagonal, const float* inverse, int64_t n, float* gains
    ) noexcept nogil
    int64_t best_second "margins_best_second"(
        const float* g, const float* d, const float* lower, const float* upper,
        const float* diagonal, const float* row, int64_t n, int64_t b, float* gains
    ) noexcept nogil
    int64_t best_riser "margins_best_riser"(
        const float* F, const float* e, const float* upper, int64_t n, float* gains
    ) noexcept nogil
    int64_t best_faller "margins_best_faller"(
        const float* F, const float* e, const float* lower, const float* diagonal, const float* row,
        int64_t n, int64_t b, float* gains
    ) noexcept nogil
    void gather "margins_gather"(
        float* q, const float* row, const int32_t* columns, const float* factors, float factor, float sqrho, int64_t n
    ) noexcept nogil
    void gather_as_it_is "margins_gather_as_it_is"(
        float* q, const float* row, const int32_t* columns, int64_t n
    ) noexcept nogil
    void add_two_rows "margins_add_two_rows"(
        float* g, const float* p, const float* q, float a, float b, int64_t n
    ) noexcept nogil


def sub_gram(
    const float[:, ::1] slots, const int32_t[::1] slots_of_set, const int32_t[::1] working_set,
    const float[::1] factors, const float[::1] diag, float sqrho,
    const float[:, ::1] last, const int32_t[::1] places, float[:, ::1] Q
):
    """Write Q. What the last working set shares with this one is copied, and only rows of the new samples are read.

    Parameters
    ----------
    slots : ndarray of float32, shape (n_slots, m)
        Cached rows of the kernel matrix.
    slots_of_set, working_set : ndarrays of int32, shape (n,)
        Where the rows of the working set are, and its samples: first those that the last one had.
    factors, diag : ndarrays of float32, shape (n,)
        l_i, or 1 if the subproblem has no labels, and D_i.
    sqrho : float
    last : ndarray of float32
        Q of the last working set, with the same factors.
    places : ndarray of int32, shape (n_kept,)
        Which of its samples these are.
    Q : ndarray of float32, shape (n, at least n)
        Overwritten; columns beyond n are not used.
    """
    cdef Py_ssize_t i, j, begin, end, n = working_set.shape[0], n_kept = places.shape[0]
    cdef const float* row
    with nogil:
        for i in range(n_kept):
            gather_as_it_is(&Q[i, 0], &last[places[i], 0], &places[0], n_kept)
        for i in range(n_kept, n):
            row = &slots[slots_of_set[i], 0]
            gather(&Q[i, 0], row, &working_set[0], &factors[0], factors[i], sqrho, i + 1)
            Q[i, i] += diag[i]
        # Q is symmetric: by squares, which stay in the cache.
        begin = n_kept
        while begin < n:
            end = min(begin + <Py_ssize_t> TILE, n)
            for i in range(end):
                for j in range(max(begin, i + 1), end):
                    Q[i, j] = Q[j, i]
            begin = end


def minimise(
    const float[:, ::1] Q, float[::1] g, float[::1] d, const float[::1] lower, const float[::1] upper,
    float reduction, Py_ssize_t max_pairs
):
    """Minimise f until no step decreases it by more than `reduction` times the first one: the pairs moved.

    Parameters
    ----------
    Q : ndarray of float32, shape (n, at least n)
    g, d : ndarrays of float32, shape (n,)
        The gradient at d, and d; changed in place.
    lower, upper : ndarrays of float32, shape (n,)
    reduction : float
    max_pairs : int
    """
    cdef Py_ssize_t n = g.shape[0], n_pairs = 0
    cdef int64_t first, second, last_first = -1, last_second = -1
    cdef float least = 0, step_first, step_second
    cdef double floor = SINGULAR
    cdef bint is_again
    # A zero row without a diagonal term has none; its step ends at a bound.
    cdef const float[::1] diagonal = np.maximum(np.diagonal(Q), np.float32(MIN_DIAGONAL))
    cdef const float[::1] inverse = 1 / np.asarray(diagonal)
    cdef float[::1] gains = np.empty(n, np.float32)
    with nogil:
        while n_pairs < max_pairs:
            first = best_first(
                &g[0], &d[0], &lower[0], &upper[0], &diagonal[0], &inverse[0], n, &gains[0]
            )
            if first < 0 or gains[first] <= least:
                break
            if n_pairs == 0:
                least = reduction * gains[first]
            second = best_second(
                &g[0], &d[0], &lower[0], &upper[0], &diagonal[0], &Q[first, 0], n, first, &gains[0]
            )
            if second < 0:
                second = first  # it moves alone
            # A pair that is chosen again has less curvature than its last step allowed for; where none is bounded,
            # it has that of a diagonal which single precision may not hold.
            is_again = first == last_first and second == last_second
            floor = 0.5 * floor if is_again and isfinite(upper[first]) and isfinite(upper[second]) else SINGULAR
            last_first, last_second = first, second
            _move(Q, g, d, lower, upper, first, second, floor, &step_first, &step_second)
            if step_first == 0 and step_second == 0:
                break  # in single precision this is the optimum
            add_two_rows(&g[0], &Q[first, 0], &Q[second, 0], step_first, step_second, n)
            n_pairs += 1
    return n_pairs


def minimise_balanced(
    const float[:, ::1] Q, float[::1] F, float[::1] e, const float[::1] lower, const float[::1] upper,
    float reduction, Py_ssize_t max_pairs
):
    """Minimise ``e.Q e / 2 - F.e`` with the constraint sum_i e_i = 0: the pairs moved.

    Here e_i = l_i d_i, Q has no labels, and F is the negative gradient. Each iteration raises one variable and lowers
    another by as much: the one with the largest F, and the one that then gains most.

    Parameters
    ----------
    Q : ndarray of float32, shape (n, n)
    F, e : ndarrays of float32, shape (n,)
        The negative gradient at e, and e; changed in place.
    lower, upper, reduction, max_pairs
        As of `minimise`.
    """
    cdef Py_ssize_t n = F.shape[0], n_pairs = 0
    cdef int64_t riser, faller, last_riser = -1, last_faller = -1
    cdef float least = 0, curvature, step
    cdef double floor = SINGULAR
    cdef bint is_again
    cdef const float[::1] diagonal = np.maximum(np.diagonal(Q), np.float32(MIN_DIAGONAL))
    cdef float[::1] gains = np.empty(n, np.float32)
    with nogil:
        while n_pairs < max_pairs:
            riser = best_riser(&F[0], &e[0], &upper[0], n, &gains[0])
            if riser < 0:
                break
            faller = best_faller(
                &F[0], &e[0], &lower[0], &diagonal[0], &Q[riser, 0], n, riser, &gains[0]
            )
            if faller < 0 or gains[faller] <= least:
                break
            if n_pairs == 0:
                least = reduction * gains[faller]
            # As in `minimise`.
            is_again = riser == last_riser and faller == last_faller
            floor = 0.5 * floor if is_again and isfinite(upper[riser]) and isfinite(lower[faller]) else SINGULAR
            last_riser, last_faller = riser, faller
            curvature = diagonal[riser] + diagonal[faller]
            curvature = max(curvature - 2 * Q[riser, faller], <float> (floor * curvature))
            step = min((F[riser] - F[faller]) / curvature, upper[riser] - e[riser], e[faller] - lower[faller])
            # At a bound exactly, or it could be chosen again for a step that is rounded to nothing.
            e[riser] = upper[riser] if step == upper[riser] - e[riser] else e[riser] + step
            e[faller] = lower[faller] if step == e[faller] - lower[faller] else e[faller] - step
            if step == 0:
                break
            add_two_rows(&F[0], &Q[riser, 0], &Q[faller, 0], -step, step, n)
            n_pairs += 1
    return n_pairs


cdef void _move(
    const float[:, ::1] Q, const float[::1] g, float[::1] d, const float[::1] lower, const float[::1] upper,
    Py_ssize_t i, Py_ssize_t j, double floor, float* step_i, float* step_j
) noexcept nogil:
    """Move d_i and d_j to the best point of their rectangle; their relative determinant counts as `floor` or more."""
    cdef double a = Q[i, i], b = Q[i, j], c = Q[j, j], determinant, best = 0, x, y
    cdef float x_before = d[i], y_before = d[j], bound
    cdef int side
    if i == j:
        d[i] = _between(x_before - g[i] / a, lower[i], upper[i])
        step_i[0], step_j[0] = d[i] - x_before, 0
        return
    # Rows that are alike, as of contrary duplicates, leave f almost linear: then the step is a long one.
    determinant = max(a * c - b * b, floor * a * c)
    x = x_before + (g[j] * b - g[i] * c) / determinant
    y = y_before + (g[i] * b - g[j] * a) / determinant
    if lower[i] <= x <= upper[i] and lower[j] <= y <= upper[j]:
        d[i], d[j] = <float> x, <float> y
    else:  # the best point of an edge
        for side in range(2):
            bound = upper[i] if side else lower[i]
            if isfinite(bound):
                y = _between(y_before - (g[j] + b * (bound - x_before)) / c, lower[j], upper[j])
                _take_better(g, a, b, c, i, j, x_before, y_before, bound, y, d, &best)
            bound = upper[j] if side else lower[j]
            if isfinite(bound):
                x = _between(x_before - (g[i] + b * (bound - y_before)) / a, lower[i], upper[i])
                _take_better(g, a, b, c, i, j, x_before, y_before, x, bound, d, &best)
    step_i[0], step_j[0] = d[i] - x_before, d[j] - y_before


cdef inline float _between(double value, float lower, float upper) noexcept nogil:
    return lower if value <= lower else upper if value >= upper else <float> value


cdef inline void _take_better(
    const float[::1] g, double a, double b, double c, Py_ssize_t i, Py_ssize_t j,
    double x_before, double y_before, double x, double y, float[::1] d, double* best
) noexcept nogil:
    """Make (x, y) the values of d_i and d_j, if that decreases f by more than the best point so far."""
    cdef double s = x - x_before, t = y - y_before
    cdef double change = s * (g[i] + 0.5 * a * s + b * t) + t * (g[j] + 0.5 * c * t)
    if change < best[0]:
        best[0] = change
        d[i], d[j] = <float> x, <float> y


def add_rows(
    const float[:, ::1] slots, const int32_t[::1] slots_of_rows, const double[::1] coefficients, double[::1] v,
    Py_ssize_t begin, Py_ssize_t end
):
    """v <- v + the sum of coefficients_i times row i, of the elements from `begin` until `end`.

    Parameters
    ----------
    slots : ndarray of float32, shape (n_slots, m)
    slots_of_rows : ndarray of int32, shape (n,)
    coefficients : ndarray of float64, shape (n,)
    v : ndarray of float64, shape (m,)
        Changed in place.
    begin, end : int
        Threads may change different elements at the same time.
    """
    cdef Py_ssize_t i, j, length, n = slots_of_rows.shape[0]
    cdef (const float*)[4] rows
    cdef double[4] c
    with nogil:
        while begin < end:
            length = min(<Py_ssize_t> BLOCK, end - begin)
            for i in range(0, n, 4):
                for j in range(4):
                    rows[j] = &slots[slots_of_rows[min(i + j, n - 1)], begin]
                    c[j] = coefficients[i + j] if i + j < n else 0
                add_four_rows(&v[begin], rows[0], rows[1], rows[2], rows[3], c[0], c[1], c[2], c[3], length)
            begin += length
