"""Loops over arrays that compilers vectorise, for the instruction set of the machine."""

from libc.stdint cimport int32_t, int64_t


cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* The same code for several instruction sets, chosen when the module is loaded. Without contractions
       (setup.py) all of them round alike. */
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    #define MARGINS_VECTORISED __attribute__((unused, target_clones("avx512f", "avx2", "default")))
    #elif defined(__GNUC__)
    #define MARGINS_VECTORISED __attribute__((unused))
    #else
    #define MARGINS_VECTORISED
    #endif

    /* exp(-gamma |x - z_j|^2) from the inner products x.z_j and the squared norms. exp(x) = 2^n exp(r) with n an
       integer and |r| <= log(2) / 2, exp(r) by its Taylor polynomial of degree 13, whose remainder is below 5e-18; its
       parts do not wait for each other. Adding SHIFT rounds x / log(2) to n and leaves n in the low bits. Bounds come
       first, in a loop of their own: of a loop with a branch on x compilers make no vectors. */
    MARGINS_VECTORISED
    static void margins_radial(double *values, double gamma, double sqnorm, const double *sqnorms, int64_t n_values)
    {
        static const double SHIFT = 6755399441055744.0, LOG2_HIGH = 6.93145751953125e-1,
                            LOG2_LOW = 1.42860682030941723212e-6, INVERSE_LOG2 = 1.4426950408889634;
        for (int64_t i = 0; i < n_values; i++) {
            double sqdistance = sqnorms[i] + sqnorm - 2 * values[i];
            double x = -gamma * (sqdistance <= 0 ? 0 : sqdistance);  /* rounding may make it negative */
            values[i] = x < -709.0 ? -709.0 : x;
        }
        for (int64_t i = 0; i < n_values; i++) {
            double x = values[i];
            double shifted = x * INVERSE_LOG2 + SHIFT;
            double n = shifted - SHIFT;
            double r = (x - n * LOG2_HIGH) - n * LOG2_LOW, s = r * r, t = s * s;
            double first = (s * (0.5 + r * (1.0 / 6.0)) + r) + 1.0;
            double second = (1.0 / 24.0 + r * (1.0 / 120.0)) + s * (1.0 / 720.0 + r * (1.0 / 5040.0));
            double third = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + s * (1.0 / 3628800.0 + r * (1.0 / 39916800.0));
            double fourth = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0);
            double y = first + t * (second + t * (third + t * fourth));
            uint64_t bits;
            memcpy(&bits, &shifted, sizeof bits);
            bits = x < -708.0 ? 0 : (bits + 1023) << 52;
            double power;
            memcpy(&power, &bits, sizeof power);
            values[i] = y * power;
        }
    }

    /* The same in single precision, with the polynomial of degree 7, whose remainder is below 6e-9. */
    MARGINS_VECTORISED
    static void margins_single_radial(float *values, float gamma, double sqnorm, const double *sqnorms,
                                      int64_t n_values)
    {
        static const float SHIFT = 12582912.0f, LOG2_HIGH = 0.693359375f, LOG2_LOW = -2.12194440e-4f,
                           INVERSE_LOG2 = 1.44269504f;
        float own = (float)sqnorm;
        gamma = gamma > 3e38f ? 3e38f : gamma;  /* finite, so that its product with 0 is 0 */
        for (int64_t i = 0; i < n_values; i++) {
            float sqdistance = ((float)sqnorms[i] + own) - 2 * values[i];
            float x = -gamma * (sqdistance <= 0 ? 0.0f : sqdistance);  /* rounding may make it negative */
            values[i] = x < -88.0f ? -88.0f : x;
        }
        for (int64_t i = 0; i < n_values; i++) {
            float x = values[i];
            float shifted = x * INVERSE_LOG2 + SHIFT;
            float n = shifted - SHIFT;
            float r = (x - n * LOG2_HIGH) - n * LOG2_LOW;
            float y = 1.0f / 5040.0f;
            y = y * r + 1.0f / 720.0f;
            y = y * r + 1.0f / 120.0f;
            y = y * r + 1.0f / 24.0f;
            y = y * r + 1.0f / 6.0f;
            y = y * r + 0.5f;
            y = y * r + 1.0f;
            y = y * r + 1.0f;
            uint32_t bits;
            memcpy(&bits, &shifted, sizeof bits);
            bits = x < -87.0f ? 0 : (bits + 127) << 23;
            float power;
            memcpy(&power, &bits, sizeof power);
            values[i] = y * power;
        }
    }

    /* Eight numbers side by side, which compilers keep in registers. */
    #if defined(__GNUC__)
    typedef double margins_eight __attribute__((vector_size(64), aligned(8), may_alias));
    #define MARGINS_ADD(sum, x, v) sum += x * *(const margins_eight *)(v)
    #define MARGINS_ZERO {0}
    #else
    typedef struct { double of[8]; } margins_eight;
    #define MARGINS_ADD(sum, x, v) do { for (int l = 0; l < 8; l++) sum.of[l] += x * (v)[l]; } while (0)
    #define MARGINS_ZERO {{0}}
    #endif

    /* Each sum is in the order of the elements, whatever is beside it. */
    MARGINS_VECTORISED
    static void margins_dots(const double *values, const int32_t *columns, int64_t n, const double *vectors,
                             int64_t width, double *out)
    {
        int64_t j = 0;
        for (; j + 32 <= width; j += 32) {
            margins_eight a = MARGINS_ZERO, b = MARGINS_ZERO, c = MARGINS_ZERO, d = MARGINS_ZERO;
            for (int64_t i = 0; i < n; i++) {
                double x = values[i];
                const double *v = vectors + columns[i] * width + j;
                MARGINS_ADD(a, x, v);
                MARGINS_ADD(b, x, v + 8);
                MARGINS_ADD(c, x, v + 16);
                MARGINS_ADD(d, x, v + 24);
            }
            memcpy(out + j, &a, sizeof a);
            memcpy(out + j + 8, &b, sizeof b);
            memcpy(out + j + 16, &c, sizeof c);
            memcpy(out + j + 24, &d, sizeof d);
        }
        for (; j + 8 <= width; j += 8) {
            margins_eight a = MARGINS_ZERO;
            for (int64_t i = 0; i < n; i++)
                MARGINS_ADD(a, values[i], vectors + columns[i] * width + j);
            memcpy(out + j, &a, sizeof a);
        }
        for (; j < width; j++) {
            double a = 0;
            for (int64_t i = 0; i < n; i++)
                a += values[i] * vectors[columns[i] * width + j];
            out[j] = a;
        }
    }

    /* Inner products of rows with v, in eight partial sums. `starts` are the positions of the rows' first elements. */
    #define MARGINS_DOTS_OF_ROWS(name, number)                                                                     \
        MARGINS_VECTORISED                                                                                         \
        static void name(const number *values, const int64_t *starts, int64_t n_rows, int64_t n, const double *v,  \
                         double *out)                                                                              \
        {                                                                                                          \
            for (int64_t i = 0; i < n_rows; i++) {                                                                 \
                const number *x = values + starts[i];                                                              \
                double sums[8] = {0}, rest = 0;                                                                    \
                int64_t j = 0;                                                                                     \
                for (; j + 8 <= n; j += 8)                                                                         \
                    for (int l = 0; l < 8; l++)                                                                    \
                        sums[l] += x[j + l] * v[j + l];                                                            \
                for (; j < n; j++)                                                                                 \
                    rest += x[j] * v[j];                                                                           \
                out[i] = (((sums[0] + sums[4]) + (sums[2] + sums[6])) +                                            \
                          ((sums[1] + sums[5]) + (sums[3] + sums[7]))) + rest;                                     \
            }                                                                                                      \
        }
    MARGINS_DOTS_OF_ROWS(margins_dots_of_rows, double)
    MARGINS_DOTS_OF_ROWS(margins_dots_of_single_rows, float)

    /* v <- v + the sum of c_i times row i, four rows at a time. */
    #define MARGINS_ADD_ROWS(name, number)                                                                         \
        MARGINS_VECTORISED                                                                                         \
        static void name(const number *values, const int64_t *starts, int64_t n_rows, int64_t n, const double *c,  \
                         double *restrict v)                                                                       \
        {                                                                                                          \
            int64_t i = 0;                                                                                         \
            for (; i + 4 <= n_rows; i += 4) {                                                                      \
                const number *p = values + starts[i], *q = values + starts[i + 1];                                 \
                const number *r = values + starts[i + 2], *s = values + starts[i + 3];                             \
                double e = c[i], f = c[i + 1], g = c[i + 2], h = c[i + 3];                                         \
                for (int64_t j = 0; j < n; j++)                                                                    \
                    v[j] += (e * p[j] + f * q[j]) + (g * r[j] + h * s[j]);                                         \
            }                                                                                                      \
            for (; i < n_rows; i++)                                                                                \
                for (int64_t j = 0; j < n; j++)                                                                    \
                    v[j] += c[i] * values[starts[i] + j];                                                          \
        }
    MARGINS_ADD_ROWS(margins_add_rows, double)
    MARGINS_ADD_ROWS(margins_add_single_rows, float)

    MARGINS_VECTORISED
    static void margins_add_four_rows(double *v, const float *p, const float *q, const float *r, const float *s,
                                      double a, double b, double c, double d, int64_t n)
    {
        for (int64_t j = 0; j < n; j++)
            v[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j]);
    }
    """
    # Inner products x.z_j <- exp(-gamma |x - z_j|^2); relative error of the exponential below 4e-16; 0 below exp(-708).
    void radial "margins_radial"(
        double* values, double gamma, double sqnorm, const double* sqnorms, Py_ssize_t n
    ) noexcept nogil
    # The same in single precision. With u = 2**-24, the sums round |x - z_j|^2 by 4 u (|x|^2 + |z_j|^2) at most, as
    # half of it added to x.z_j would; the rest rounds the value by less than 4 u.
    void single_radial "margins_single_radial"(
        float* values, float gamma, double sqnorm, const double* sqnorms, Py_ssize_t n
    ) noexcept nogil
    # out[j] <- the sum of values[i] * vectors[columns[i] * width + j] over i, in this order
    void dots_of_columns "margins_dots"(
        const double* values, const int32_t* columns, Py_ssize_t n, const double* vectors, Py_ssize_t width, double* out
    ) noexcept nogil
    # v <- v + a p + b q + c r + d s
    void add_four_rows "margins_add_four_rows"(
        double* v, const float* p, const float* q, const float* r, const float* s,
        double a, double b, double c, double d, Py_ssize_t n
    ) noexcept nogil
    # out[i] <- the sum of values[starts[i] + j] * v[j] over j
    void dots_of_rows "margins_dots_of_rows"(
        const double* values, const int64_t* starts, Py_ssize_t n_rows, Py_ssize_t n, const double* v, double* out
    ) noexcept nogil
    void dots_of_single_rows "margins_dots_of_single_rows"(
        const float* values, const int64_t* starts, Py_ssize_t n_rows, Py_ssize_t n, const double* v, double* out
    ) noexcept nogil
    # v[j] <- v[j] + the sum of c[i] * values[starts[i] + j] over i
    void add_rows "margins_add_rows"(
        const double* values, const int64_t* starts, Py_ssize_t n_rows, Py_ssize_t n, const double* c, double* v
    ) noexcept nogil
    void add_single_rows "margins_add_single_rows"(
        const float* values, const int64_t* starts, Py_ssize_t n_rows, Py_ssize_t n, const double* c, double* v
    ) noexcept nogil
