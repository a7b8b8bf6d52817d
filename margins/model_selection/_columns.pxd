"""One sample and all columns of a matrix of weights: products, comparison, addition.

The problem: V holds one weight vector w_i in each column, so that the weights of one feature are contiguous;
its width is a multiple of 8. A sample x has n stored values x[j]; `offsets[j]` is the start of the row of
x[j]'s feature in V. Compute w_i.x for all i, compare each product with the threshold of its column, and add a
multiple c_i of x to each w_i.

Every sum has the order of `margins._sparse.dot`, four partial sums for each column, so that a column equals,
bit for bit, the weight vector trained alone.
"""

from libc.stdint cimport int32_t, int64_t

cdef extern from *:
    r"""
    /* Products of one row with all columns: x holds its n values, offsets the positions in v of the rows
       of their features. The number of columns is a multiple of 8. Packs are explicit because compilers
       do not keep the sums in registers otherwise, which costs a factor of 2 to 4. */
    #define MARGINS_COLUMNS_DOTS(name, pack)                                                        \
        static void name(const double* x, const ptrdiff_t* offsets, ptrdiff_t n, const double* v,   \
                         ptrdiff_t n_columns, double* out)                                          \
        {                                                                                           \
            const ptrdiff_t size = sizeof(pack) / sizeof(double);                                   \
            for (ptrdiff_t column = 0; column < n_columns; column += 2 * size) {                    \
                const double* at = v + column;                                                      \
                pack a0 = {0}, b0 = {0}, c0 = {0}, d0 = {0}, a1 = {0}, b1 = {0}, c1 = {0}, d1 = {0};\
                ptrdiff_t j = 0;                                                                    \
                for (; j + 3 < n; j += 4) {                                                         \
                    const pack* p = (const pack*) (at + offsets[j]);                                \
                    const pack* q = (const pack*) (at + offsets[j + 1]);                            \
                    const pack* r = (const pack*) (at + offsets[j + 2]);                            \
                    const pack* s = (const pack*) (at + offsets[j + 3]);                            \
                    a0 += x[j] * p[0];                                                              \
                    a1 += x[j] * p[1];                                                              \
                    b0 += x[j + 1] * q[0];                                                          \
                    b1 += x[j + 1] * q[1];                                                          \
                    c0 += x[j + 2] * r[0];                                                          \
                    c1 += x[j + 2] * r[1];                                                          \
                    d0 += x[j + 3] * s[0];                                                          \
                    d1 += x[j + 3] * s[1];                                                          \
                }                                                                                   \
                for (; j < n; j++) {                                                                \
                    const pack* p = (const pack*) (at + offsets[j]);                                \
                    a0 += x[j] * p[0];                                                              \
                    a1 += x[j] * p[1];                                                              \
                }                                                                                   \
                ((pack*) (out + column))[0] = (a0 + b0) + (c0 + d0);                                \
                ((pack*) (out + column))[1] = (a1 + b1) + (c1 + d1);                                \
            }                                                                                       \
        }

    /* Add c times the row to all columns; the other arguments as above. */
    #define MARGINS_COLUMNS_ADD(name, pack)                                                         \
        static void name(const double* x, const ptrdiff_t* offsets, ptrdiff_t n, const double* c,   \
                         ptrdiff_t n_columns, double* v)                                            \
        {                                                                                           \
            const ptrdiff_t size = sizeof(pack) / sizeof(double);                                   \
            for (ptrdiff_t column = 0; column < n_columns; column += 2 * size) {                    \
                const pack c0 = ((const pack*) (c + column))[0], c1 = ((const pack*) (c + column))[1];\
                for (ptrdiff_t j = 0; j < n; j++) {                                                 \
                    pack* p = (pack*) (v + column + offsets[j]);                                    \
                    p[0] += c0 * x[j];                                                              \
                    p[1] += c1 * x[j];                                                              \
                }                                                                                   \
            }                                                                                       \
        }

    /* Mark the columns that misclassify a sample of class own_code; 0 if none does. Without branches, so
       that compilers vectorise it. */
    #define MARGINS_COLUMNS_COMPARE(name)                                                           \
        static int64_t name(const double* dots, const double* label_sum, const double* sq_intercept_scaling,       \
                            const double* code, const double* negative, const double* positive,     \
                            double own_code, ptrdiff_t n_columns, int64_t* wrong)                   \
        {                                                                                           \
            int64_t any_wrong = 0;                                                                  \
            for (ptrdiff_t i = 0; i < n_columns; i++) {                                             \
                const double score = dots[i] + sq_intercept_scaling[i] * label_sum[i];                             \
                const double signed_score = code[i] == own_code ? score : -score;                   \
                const double threshold = code[i] == own_code ? positive[i] : negative[i];           \
                wrong[i] = signed_score <= threshold ? 1 : 0;                                       \
                any_wrong |= wrong[i];                                                              \
            }                                                                                       \
            return any_wrong;                                                                       \
        }
    MARGINS_COLUMNS_COMPARE(margins_columns_compare2)
    #if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    __attribute__((target("avx2"))) MARGINS_COLUMNS_COMPARE(margins_columns_compare4)
    #define margins_columns_compare \
        (__builtin_cpu_supports("avx2") ? margins_columns_compare4 : margins_columns_compare2)
    #else
    #define margins_columns_compare margins_columns_compare2
    #endif

    #if defined(__GNUC__) || defined(__clang__)
    typedef double margins_pack2 __attribute__((vector_size(16), aligned(8), may_alias));
    MARGINS_COLUMNS_DOTS(margins_columns_dots2, margins_pack2)
    MARGINS_COLUMNS_ADD(margins_columns_add2, margins_pack2)
    #if defined(__x86_64__)
    typedef double margins_pack4 __attribute__((vector_size(32), aligned(8), may_alias));
    __attribute__((target("avx2"))) MARGINS_COLUMNS_DOTS(margins_columns_dots4, margins_pack4)
    __attribute__((target("avx2"))) MARGINS_COLUMNS_ADD(margins_columns_add4, margins_pack4)
    #define margins_columns_dots (__builtin_cpu_supports("avx2") ? margins_columns_dots4 : margins_columns_dots2)
    #define margins_columns_add (__builtin_cpu_supports("avx2") ? margins_columns_add4 : margins_columns_add2)
    #else
    #define margins_columns_dots margins_columns_dots2
    #define margins_columns_add margins_columns_add2
    #endif
    #else
    static void margins_columns_dots(const double* x, const ptrdiff_t* offsets, ptrdiff_t n, const double* v,
                             ptrdiff_t n_columns, double* out)
    {
        for (ptrdiff_t column = 0; column < n_columns; column++) {
            double sums[4] = {0, 0, 0, 0};
            for (ptrdiff_t j = 0; j < n; j++)
                sums[j < n / 4 * 4 ? j % 4 : 0] += x[j] * v[offsets[j] + column];
            out[column] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
    }
    MARGINS_COLUMNS_ADD(margins_columns_add, double)
    #endif
    """
    void products_with_columns "margins_columns_dots"(
        const double* x, const Py_ssize_t* offsets, Py_ssize_t n, const double* v, Py_ssize_t n_columns,
        double* out
    ) noexcept nogil
    # Adding 0 changes no column: no weight is ever -0.0.
    void add_to_all "margins_columns_add"(
        const double* x, const Py_ssize_t* offsets, Py_ssize_t n, const double* c, Py_ssize_t n_columns,
        double* v
    ) noexcept nogil
    int64_t compare "margins_columns_compare"(
        const double* dots, const double* label_sum, const double* sq_intercept_scaling, const double* code,
        const double* negative, const double* positive, double own_code, Py_ssize_t n_columns, int64_t* wrong
    ) noexcept nogil


cdef inline int64_t compare_with_self_score(
    const double* dots, const double* label_sum, const double* sq_intercept_scaling, const double* code,
    const double* negative, const double* positive, double own_code, Py_ssize_t n_columns, int64_t* wrong,
    const double* gain, double sqnorm, const int32_t* counts
) noexcept nogil:
    """As `compare`, with the lambda-trick for columns that have added the sample (`counts` times)."""
    cdef Py_ssize_t i
    cdef double score, self_score
    cdef int64_t any_wrong = 0
    for i in range(n_columns):
        score = dots[i] + sq_intercept_scaling[i] * label_sum[i]
        self_score = gain[i] * sqnorm if counts[i] > 0 else 0
        wrong[i] = (score if code[i] == own_code else -score) + self_score <= (
            positive[i] if code[i] == own_code else negative[i]
        )
        any_wrong |= wrong[i]
    return any_wrong
