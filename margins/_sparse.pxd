from libc.stdint cimport int32_t, int64_t
from margins.linalg._vectorised cimport dots_of_columns

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    /* gcc assumes that a function of prefetches has no effects, and would omit its calls. */
    #define margins_prefetch(address) do { __builtin_prefetch(address); __asm__ volatile (""); } while (0)
    #else
    #define margins_prefetch(address) ((void)0)
    #endif
    #ifdef MARGINS_BOUNDSCHECK
    #define MARGINS_CHECKS 1
    #else
    #define MARGINS_CHECKS 0
    #endif
    """
    void margins_prefetch(const void* address) noexcept nogil
    enum:
        MARGINS_CHECKS   # 1 in a build that checks bounds

ctypedef fused value_t:
    float
    double

ctypedef fused index_t:
    int32_t
    int64_t


cdef class Rows:
    # The arrays that exist tell the storage: without `columns` the matrix is dense, CSR without `values` has only
    # ones, and without both the rows belong to a kernel, and a subclass computes them. At most one array of each
    # 32/64 pair exists.
    cdef const double[::1] values64
    cdef const float[::1] values32
    cdef const int32_t[::1] columns32
    cdef const int64_t[::1] columns64
    # Row k of CSR has elements starts[k] to ends[k]. For a whole matrix, `ends` is `starts` without its first number.
    cdef const int32_t[::1] starts32
    cdef const int64_t[::1] starts64
    cdef const int32_t[::1] ends32
    cdef const int64_t[::1] ends64
    cdef const int64_t[::1] chosen   # dense: indices of the rows in the array; None: all rows, in order
    cdef readonly Py_ssize_t n_rows
    cdef Py_ssize_t n_of_part   # number of elements stored in a part of a matrix; -1: this is a whole matrix
    cdef readonly Py_ssize_t n_features   # length of a weight vector over these rows
    cdef readonly bint is_kernel
    cdef Py_ssize_t row_step      # dense: element (k, j) is values[k * row_step + j * column_step]
    cdef Py_ssize_t column_step   # 1 for CSR
    # CSR: number of elements of a row that stores all columns in order, so that columns need not be read.
    # -1: there is no such row, or another row of this length is not in order.
    cdef readonly Py_ssize_t n_dense_row
    cdef tuple nonzero_count   # rows whose non-zeros have been counted so far, and their number
    cdef Py_ssize_t prefetch_step   # bytes between the addresses that `prefetch` requests
    cdef bint expect(self, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t n_spare_rows(self) noexcept nogil
    cdef bint is_missing(self, Py_ssize_t k) noexcept nogil
    cdef void kernel_axpy(self, Py_ssize_t k, double c, double* v) noexcept nogil
    cdef double kernel_sqnorm(self, Py_ssize_t k) noexcept nogil
    cdef int check(self) except -1


cdef inline Py_ssize_t dense_start(Rows rows, Py_ssize_t k) noexcept nogil:
    """Return the position of the first element of row k in a dense matrix."""
    return (k if rows.chosen is None else rows.chosen[k]) * rows.row_step


cdef inline void extent(Rows rows, Py_ssize_t k, Py_ssize_t* start, Py_ssize_t* n) noexcept nogil:
    """Set the start and the number of the stored elements of row k, which are `column_step` apart."""
    if rows.columns32 is not None:
        start[0] = rows.starts32[k]
        n[0] = rows.ends32[k] - start[0]
    elif rows.columns64 is not None:
        start[0] = rows.starts64[k]
        n[0] = rows.ends64[k] - start[0]
    else:
        start[0] = dense_start(rows, k)
        n[0] = rows.n_features


cdef inline bint is_dense(Rows rows) noexcept nogil:
    """Return True if the rows of a matrix store all elements, in order."""
    return not rows.is_kernel and rows.columns32 is None and rows.columns64 is None


cdef inline double _dense_dot(
    const value_t[::1] values, Py_ssize_t start, Py_ssize_t step, Py_ssize_t n, const double* v
) noexcept nogil:
    # Four sums, because additions to a single sum would be serial.
    cdef double a = 0, b = 0, c = 0, d = 0
    cdef Py_ssize_t j = 0
    while j + 3 < n:
        a += values[start] * v[j]
        b += values[start + step] * v[j + 1]
        c += values[start + 2 * step] * v[j + 2]
        d += values[start + 3 * step] * v[j + 3]
        start += 4 * step
        j += 4
    while j < n:
        a += values[start] * v[j]
        start += step
        j += 1
    return (a + b) + (c + d)


cdef inline double _csr_dot(
    const value_t[::1] values, const index_t[::1] columns, Py_ssize_t i, Py_ssize_t stop, Py_ssize_t n_dense_row,
    const double* v
) noexcept nogil:
    cdef double a = 0, b = 0, c = 0, d = 0
    if stop - i == n_dense_row:
        return _dense_dot(values, i, 1, n_dense_row, v)
    while i + 3 < stop:
        a += values[i] * v[columns[i]]
        b += values[i + 1] * v[columns[i + 1]]
        c += values[i + 2] * v[columns[i + 2]]
        d += values[i + 3] * v[columns[i + 3]]
        i += 4
    while i < stop:
        a += values[i] * v[columns[i]]
        i += 1
    return (a + b) + (c + d)


cdef inline double _ones_dot(const index_t[::1] columns, Py_ssize_t i, Py_ssize_t stop, const double* v) noexcept nogil:
    cdef double a = 0, b = 0, c = 0, d = 0
    while i + 3 < stop:
        a += v[columns[i]]
        b += v[columns[i + 1]]
        c += v[columns[i + 2]]
        d += v[columns[i + 3]]
        i += 4
    while i < stop:
        a += v[columns[i]]
        i += 1
    return (a + b) + (c + d)


# Loops take the address of a vector's first element instead of a memoryview: calls that are not inlined copy
# the view, which costs as much as a short row. `check_columns` checks the bounds.


cdef void check_columns(Rows rows, Py_ssize_t k) noexcept nogil


cdef inline double dot(Rows rows, Py_ssize_t k, const double* v) noexcept nogil:
    """Return the inner product of row k with v, which has `n_features` elements."""
    if MARGINS_CHECKS:
        check_columns(rows, k)
    if rows.columns32 is not None:
        if rows.values64 is not None:
            return _csr_dot(rows.values64, rows.columns32, rows.starts32[k], rows.ends32[k], rows.n_dense_row, v)
        if rows.values32 is not None:
            return _csr_dot(rows.values32, rows.columns32, rows.starts32[k], rows.ends32[k], rows.n_dense_row, v)
        return _ones_dot(rows.columns32, rows.starts32[k], rows.ends32[k], v)
    if rows.columns64 is not None:
        if rows.values64 is not None:
            return _csr_dot(rows.values64, rows.columns64, rows.starts64[k], rows.ends64[k], rows.n_dense_row, v)
        if rows.values32 is not None:
            return _csr_dot(rows.values32, rows.columns64, rows.starts64[k], rows.ends64[k], rows.n_dense_row, v)
        return _ones_dot(rows.columns64, rows.starts64[k], rows.ends64[k], v)
    if rows.values64 is not None:
        if rows.column_step == 1:
            return _dense_dot(rows.values64, dense_start(rows, k), 1, rows.n_features, v)
        return _dense_dot(rows.values64, dense_start(rows, k), rows.column_step, rows.n_features, v)
    if rows.values32 is not None:
        if rows.column_step == 1:
            return _dense_dot(rows.values32, dense_start(rows, k), 1, rows.n_features, v)
        return _dense_dot(rows.values32, dense_start(rows, k), rows.column_step, rows.n_features, v)
    return v[k]  # a kernel's weight vector is stored as its products with all rows


cdef inline void _dense_axpy(
    const value_t[::1] values, Py_ssize_t start, Py_ssize_t step, Py_ssize_t n, double c, double* v
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        v[j] += c * values[start + j * step]


cdef inline void _csr_axpy(
    const value_t[::1] values, const index_t[::1] columns, Py_ssize_t i, Py_ssize_t stop, Py_ssize_t n_dense_row,
    double c, double* v
) noexcept nogil:
    # Four elements are read before one is written, because the compiler must assume that a write changes them.
    cdef Py_ssize_t j, k, l, m
    cdef double w, x, y, z
    if stop - i == n_dense_row:
        _dense_axpy(values, i, 1, n_dense_row, c, v)
        return
    while i + 3 < stop:
        j, k, l, m = columns[i], columns[i + 1], columns[i + 2], columns[i + 3]
        w, x, y, z = c * values[i], c * values[i + 1], c * values[i + 2], c * values[i + 3]
        v[j] += w
        v[k] += x
        v[l] += y
        v[m] += z
        i += 4
    while i < stop:
        v[columns[i]] += c * values[i]
        i += 1


cdef inline void _ones_axpy(
    const index_t[::1] columns, Py_ssize_t i, Py_ssize_t stop, double c, double* v
) noexcept nogil:
    while i < stop:
        v[columns[i]] += c
        i += 1


cdef inline void axpy(Rows rows, Py_ssize_t k, double c, double* v) noexcept nogil:
    """Add c times row k to v, which has `n_features` elements, in place."""
    if MARGINS_CHECKS:
        check_columns(rows, k)
    if rows.columns32 is not None:
        if rows.values64 is not None:
            _csr_axpy(rows.values64, rows.columns32, rows.starts32[k], rows.ends32[k], rows.n_dense_row, c, v)
        elif rows.values32 is not None:
            _csr_axpy(rows.values32, rows.columns32, rows.starts32[k], rows.ends32[k], rows.n_dense_row, c, v)
        else:
            _ones_axpy(rows.columns32, rows.starts32[k], rows.ends32[k], c, v)
    elif rows.columns64 is not None:
        if rows.values64 is not None:
            _csr_axpy(rows.values64, rows.columns64, rows.starts64[k], rows.ends64[k], rows.n_dense_row, c, v)
        elif rows.values32 is not None:
            _csr_axpy(rows.values32, rows.columns64, rows.starts64[k], rows.ends64[k], rows.n_dense_row, c, v)
        else:
            _ones_axpy(rows.columns64, rows.starts64[k], rows.ends64[k], c, v)
    elif rows.values64 is not None:
        if rows.column_step == 1:
            _dense_axpy(rows.values64, dense_start(rows, k), 1, rows.n_features, c, v)
        else:
            _dense_axpy(rows.values64, dense_start(rows, k), rows.column_step, rows.n_features, c, v)
    elif rows.values32 is not None:
        if rows.column_step == 1:
            _dense_axpy(rows.values32, dense_start(rows, k), 1, rows.n_features, c, v)
        else:
            _dense_axpy(rows.values32, dense_start(rows, k), rows.column_step, rows.n_features, c, v)
    else:
        rows.kernel_axpy(k, c, v)


cdef inline Py_ssize_t _gather(
    const value_t* values, Py_ssize_t step, Py_ssize_t n, double* kept, int32_t* columns
) noexcept nogil:
    """Copy the non-zero elements and their columns, and return their number."""
    cdef Py_ssize_t j, n_kept = 0
    for j in range(n):
        kept[n_kept] = values[j * step]
        columns[n_kept] = <int32_t> j
        n_kept += values[j * step] != 0
    return n_kept


cdef inline void _copy_all(const value_t* values, Py_ssize_t step, Py_ssize_t n, double* kept) noexcept nogil:
    cdef Py_ssize_t j
    if step == 1:
        for j in range(n):
            kept[j] = values[j]
    else:
        for j in range(n):
            kept[j] = values[j * step]


cdef inline void _copy_columns(const index_t* columns, Py_ssize_t n, int32_t* kept) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        kept[i] = <int32_t> columns[i]


cdef inline Py_ssize_t nonzeros(Rows rows, Py_ssize_t k, double* kept, int32_t* columns) noexcept nogil:
    """Copy the stored elements of row k, or the non-zeros of a dense row, and their columns; return their number.

    The arrays must hold one more element than `longest()`. For loops that read each element often; not for kernels.
    """
    cdef Py_ssize_t start, n, i
    extent(rows, k, &start, &n)
    if n == 0:
        return 0
    if is_dense(rows):
        if rows.values64 is not None:
            return _gather(&rows.values64[start], rows.column_step, n, kept, columns)
        return _gather(&rows.values32[start], rows.column_step, n, kept, columns)
    if rows.values64 is not None:
        _copy_all(&rows.values64[start], 1, n, kept)
    elif rows.values32 is not None:
        _copy_all(&rows.values32[start], 1, n, kept)
    else:
        for i in range(n):
            kept[i] = 1
    if rows.columns32 is not None:
        _copy_columns(&rows.columns32[start], n, columns)
    else:
        _copy_columns(&rows.columns64[start], n, columns)
    return n


cdef inline void elements(Rows rows, Py_ssize_t k, double* kept) noexcept nogil:
    """Copy all elements of row k of a dense matrix, including zeros."""
    cdef Py_ssize_t start = dense_start(rows, k)
    if rows.values64 is not None:
        _copy_all(&rows.values64[start], rows.column_step, rows.n_features, kept)
    else:
        _copy_all(&rows.values32[start], rows.column_step, rows.n_features, kept)


cdef inline void dots(
    Rows rows, Py_ssize_t k, const double* vectors, Py_ssize_t width, double* out, double* kept, int32_t* columns
) noexcept nogil:
    """Compute the inner products of row k with several vectors, which have coordinate i at vectors[i * width].

    Each sum is in the order of the stored elements. `kept` and `columns` are work arrays for one row.
    """
    cdef Py_ssize_t start, n
    if rows.columns32 is not None and rows.values64 is not None:
        extent(rows, k, &start, &n)
        if n > 0:
            dots_of_columns(&rows.values64[start], &rows.columns32[start], n, vectors, width, out)
            return
    dots_of_columns(kept, columns, nonzeros(rows, k, kept, columns), vectors, width, out)


cdef double sqnorm(Rows rows, Py_ssize_t k) noexcept nogil

cdef double pnorm(Rows rows, Py_ssize_t k, double p) noexcept nogil


cdef inline void _prefetch(const void* begin, Py_ssize_t n_bytes, Py_ssize_t step) noexcept nogil:
    """Prefetch the first byte, the last byte, and the bytes `step` apart between them."""
    cdef Py_ssize_t i = 0
    while i < n_bytes:
        margins_prefetch(<const char*> begin + i)
        i += step
    margins_prefetch(<const char*> begin + n_bytes - 1)


cdef inline void prefetch(Rows rows, Py_ssize_t k) noexcept nogil:
    """Prefetch row k, which is read soon; otherwise a permuted pass would wait for memory at every row."""
    cdef Py_ssize_t start, n
    extent(rows, k, &start, &n)
    if n == 0:
        return
    if n != rows.n_dense_row:   # otherwise its columns are not read
        if rows.columns32 is not None:
            _prefetch(&rows.columns32[start], n * sizeof(int32_t), rows.prefetch_step)
        elif rows.columns64 is not None:
            _prefetch(&rows.columns64[start], n * sizeof(int64_t), rows.prefetch_step)
    if rows.column_step > 1:
        return   # every element is on another cache line
    if rows.values64 is not None:
        _prefetch(&rows.values64[start], n * sizeof(double), rows.prefetch_step)
    elif rows.values32 is not None:
        _prefetch(&rows.values32[start], n * sizeof(float), rows.prefetch_step)
