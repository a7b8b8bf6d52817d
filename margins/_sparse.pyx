"""One sample of a matrix: dot, axpy, squared norm. The only module that distinguishes dense from CSR.

Dense is CSR without columns, and CSR without values holds only ones. CSR rows that store all columns, as in
many dense data sets, are read as dense rows. Data may be float32 or float64 with int32 or int64 indices,
read-only or memory-mapped; the kernels always compute in double precision. Nothing here allocates memory, and
nothing needs the GIL once a `Rows` exists.

The rows of a kernel (`margins.kernels`) are rows of the kernel matrix. Over them, "adding row k" adds the
products of sample k with all samples, so that v holds the products themselves and `dot` reads one number.
"""

import sys

import numpy as np

from margins.linalg.threads import share_rows

from libc.math cimport fabs, fmax, pow
from libc.stdlib cimport abort

# If data are larger than a core's own caches, all cache lines of a row are prefetched; otherwise only the first
# and the last, because the processor then fetches the others nearly as fast by itself.
cdef Py_ssize_t LARGE = 2 << 20
cdef Py_ssize_t CACHE_LINE = 64


cdef class Rows:
    """A matrix, row by row, over arrays that the caller owns.

    Parameters
    ----------
    values : ndarray of float64 or float32, shape (n_stored,), or None
        The stored numbers, contiguous. None: CSR, and all stored numbers are 1.
    n_rows, n_features : int
    columns, starts : ndarrays of one dtype, int32 or int64, or None
        `indices` and `indptr` of CSR. None: dense. The columns must be in [0, n_features), which
        `margins.data.structure.checked` ensures; they are not read here.
    row_step, column_step : int
        Dense: element (k, j) is ``values[k * row_step + j * column_step]``. In CSR, the stored numbers of a row
        are contiguous.

    Raises
    ------
    ValueError
        If an array is too short for the shape and the other arrays, if `starts` decreases, or if an array
        is not aligned.
    """

    def __init__(
        self, values: NDArray[np.float64] | NDArray[np.float32] | None, Py_ssize_t n_rows, Py_ssize_t n_features,
        columns: NDArray[np.int32] | NDArray[np.int64] | None = None,
        starts: NDArray[np.int32] | NDArray[np.int64] | None = None,
        Py_ssize_t row_step=0, Py_ssize_t column_step=1,
    ):
        # A memoryview attribute that was never assigned is neither an array nor None.
        self.values64 = self.values32 = None
        self.columns32 = self.columns64 = None
        self.starts32 = self.starts64 = None
        self.ends32 = self.ends64 = None
        self.chosen = None
        self.n_of_part = self.n_dense_row = -1
        self.nonzero_count = 0, 0
        _check_arrays(values, n_rows, n_features, columns, starts, row_step, column_step)
        self.n_rows, self.n_features, self.row_step, self.column_step = n_rows, n_features, row_step, column_step
        if values is not None:
            if values.dtype == np.float64:
                self.values64 = values
            else:
                self.values32 = values
        if columns is not None:
            if columns.dtype == np.int32:
                self.columns32, self.starts32, self.ends32 = columns, starts, starts[1:]
            else:
                self.columns64, self.starts64, self.ends64 = columns, starts, starts[1:]
            if values is not None and has_whole_rows(columns, starts, n_features):
                self.n_dense_row = n_features
        n_bytes = sum(array.nbytes for array in (values, columns) if array is not None)
        self.prefetch_step = CACHE_LINE if n_bytes > LARGE else LARGE

    @property
    def n_stored(self) -> int:
        """The number of stored elements, including zeros."""
        if self.n_of_part >= 0:
            return self.n_of_part
        if self.columns32 is not None:
            return self.columns32.shape[0]
        if self.columns64 is not None:
            return self.columns64.shape[0]
        return self.n_rows * self.n_features

    def longest(self) -> int:
        """Return the largest number of elements that a row stores, which counts duplicates."""
        cdef Py_ssize_t k, start, n, most = 0
        if self.columns32 is None and self.columns64 is None:
            return self.n_features
        with nogil:
            for k in range(self.n_rows):
                extent(self, k, &start, &n)
                most = max(most, n)
        return most

    def has_nonzeros(self, Py_ssize_t least) -> bool:
        """Return True if at least `least` elements are not 0, counting none beyond or twice. Not for kernels."""
        return self.n_stored >= least and self._count(least) >= least

    def mean_nonzeros(self, Py_ssize_t n_sampled) -> float:
        """Return the mean number of non-zeros of `n_sampled` rows, spread evenly, or of all. Not for kernels."""
        cdef Py_ssize_t i, total = 0, n = min(n_sampled, self.n_rows)
        with nogil:
            for i in range(n):
                total += n_nonzero(self, i * self.n_rows // n)
        return <double> total / max(n, 1)

    def _count(self, Py_ssize_t least):
        """Return the non-zeros of the first rows, as many rows as hold `least` of them, or of all rows."""
        cdef Py_ssize_t k, total
        k, total = self.nonzero_count
        with nogil:
            while k < self.n_rows and total < least:
                total += n_nonzero(self, k)
                k += 1
        self.nonzero_count = k, total   # one object: of threads that count at the same time, one leaves its count
        return total

    def part(self, indices not None) -> Rows:
        """Return some rows of this matrix, in the order of `indices`, which share its arrays. Not for kernels."""
        cdef Rows result
        if self.is_kernel:
            raise ValueError("part of Rows must be of a stored matrix: the rows of a kernel depend on all samples.")
        indices = np.asarray(indices, dtype=np.int64)
        if len(indices) and not 0 <= indices.min() <= indices.max() < self.n_rows:
            raise ValueError(
                f"indices of Rows.part must be in [0, {self.n_rows}). Got {indices.min()} to {indices.max()}."
            )
        result = Rows.__new__(Rows)
        result.values64, result.values32 = self.values64, self.values32
        result.columns32, result.columns64 = self.columns32, self.columns64
        result.starts32 = result.ends32 = result.starts64 = result.ends64 = result.chosen = None
        result.n_rows, result.n_features = len(indices), self.n_features
        result.row_step, result.column_step = self.row_step, self.column_step
        result.n_dense_row, result.nonzero_count = self.n_dense_row, (0, 0)
        result.prefetch_step = self.prefetch_step
        if self.starts32 is not None:
            starts, ends = np.asarray(self.starts32)[indices], np.asarray(self.ends32)[indices]
            result.starts32, result.ends32 = starts, ends
        elif self.starts64 is not None:
            starts, ends = np.asarray(self.starts64)[indices], np.asarray(self.ends64)[indices]
            result.starts64, result.ends64 = starts, ends
        else:
            result.chosen = indices if self.chosen is None else np.asarray(self.chosen)[indices]
            result.n_of_part = result.n_rows * result.n_features
            return result
        result.n_of_part = int(np.sum(ends - starts, dtype=np.int64))
        return result

    def parts(self) -> Iterable[tuple[int, int]]:
        """Return ranges [begin, end) of rows, in order, each in memory until the next; a matrix has one range."""
        return ((0, self.n_rows),)

    def sqnorms(self) -> NDArray[np.float64]:
        """Return the squared norm of every row, as an ndarray of float64 of shape (n_rows,)."""
        result = np.empty(self.n_rows)
        share_rows(self, lambda begin, end: self._set_sqnorms(begin, end, result), 0, self.n_rows)
        return result

    def _set_sqnorms(self, Py_ssize_t begin, Py_ssize_t end, double[::1] out):
        cdef Py_ssize_t k
        with nogil:
            for k in range(begin, end):
                out[k] = sqnorm(self, k)

    def pnorms(self, double p) -> NDArray[np.float64]:
        """Return the p-norm of every row, p >= 1, as an ndarray of float64 of shape (n_rows,). Not for kernels."""
        result = np.empty(self.n_rows)
        cdef double[::1] out = result
        cdef Py_ssize_t k
        with nogil:
            for k in range(self.n_rows):
                out[k] = pnorm(self, k, p)
        return result

    def products(self, const double[::1] v) -> NDArray[np.float64]:
        """Return the inner product of every row with v, as an ndarray of float64 of shape (n_rows,)."""
        _check_length(self, v)
        result = np.empty(self.n_rows)
        cdef double[::1] out = result
        cdef Py_ssize_t k, begin, end
        for begin, end in self.parts():
            with nogil:
                for k in range(begin, end):
                    out[k] = dot(self, k, &v[0])
        return result

    cdef bint is_missing(self, Py_ssize_t k) noexcept nogil:
        """Return True if row k of the kernel matrix must be computed before it can be read."""
        return False

    cdef bint expect(self, Py_ssize_t k) noexcept nogil:
        """Plan to compute row k together with the next row, because it will soon be read; False: no more rows."""
        return False

    cdef Py_ssize_t n_spare_rows(self) noexcept nogil:
        """Return how many more rows cost little if they are computed together with the expected rows."""
        return 0

    cdef void kernel_axpy(self, Py_ssize_t k, double c, double* v) noexcept nogil:
        """Add c times row k of the kernel matrix to v, in place; defined by subclasses."""

    cdef double kernel_sqnorm(self, Py_ssize_t k) noexcept nogil:
        """Return K(x_k, x_k); defined by subclasses."""
        return 0

    cdef int check(self) except -1:
        """Raise the error, if any, of a row since the last check: the C functions cannot raise."""
        return 0

    # These are for tests in Python; the loops call the C functions.
    def py_dot(self, Py_ssize_t k, const double[::1] v) -> float:
        _check_length(self, v)
        return dot(self, k, &v[0])

    def py_axpy(self, Py_ssize_t k, double c, double[::1] v) -> None:
        _check_length(self, v)
        axpy(self, k, c, &v[0])


def _check_arrays(values, n_rows, n_features, columns, starts, row_step, column_step):
    """Raise ValueError if the arguments of `Rows` do not match each other."""
    if n_rows < 0 or n_features < 0:
        raise ValueError(f"Rows must have a shape of numbers >= 0. Got ({n_rows}, {n_features}).")
    arrays = {"values": values, "columns": columns, "starts": starts}
    for name, array in arrays.items():
        if array is not None and not array.flags.aligned:
            raise ValueError(f"{name} of Rows must be aligned. Got an array at {array.ctypes.data:#x}.")
    if (columns is None) != (starts is None):
        raise ValueError("columns and starts of Rows must both be arrays or both be None. Got one array.")
    if columns is not None:
        if columns.dtype != starts.dtype or starts.dtype not in (np.int32, np.int64):
            raise ValueError(
                "columns and starts of Rows must both be of int32 or both of int64. "
                f"Got {columns.dtype} and {starts.dtype}."
            )
        if len(starts) != n_rows + 1 or starts[0] < 0 or (starts[1:] < starts[:-1]).any():
            raise ValueError(
                f"starts of Rows must be {n_rows + 1} numbers >= 0 that do not decrease. Got {len(starts)}, {starts!r}."
            )
        n_stored = int(starts[n_rows])
        what = f"where starts ends, {n_stored}"
        if len(columns) < n_stored:
            raise ValueError(f"columns of Rows must reach to {what}. Got {len(columns)}.")
    elif values is not None:
        if (n_rows > 1 and row_step < 0) or (n_features > 1 and column_step < 0):
            raise ValueError(f"Steps of Rows must be >= 0. Got {row_step} and {column_step}.")
        is_empty = n_rows == 0 or n_features == 0
        n_stored = 0 if is_empty else (n_rows - 1) * row_step + (n_features - 1) * column_step + 1
        what = f"the last element, {n_stored}"
    if values is not None and len(values) < n_stored:
        raise ValueError(f"values of Rows must reach to {what}. Got {len(values)}.")


def has_whole_rows(const index_t[::1] columns, const index_t[::1] starts, Py_ssize_t n_features) -> bool:
    """Return True if a CSR matrix has rows of `n_features` elements, and all these rows are in order."""
    cdef Py_ssize_t j, k, begin
    cdef index_t differences = 0   # of the columns' own type, so that many are compared at once
    cdef bint found = False
    with nogil:
        for k in range(starts.shape[0] - 1):
            begin = starts[k]
            if starts[k + 1] - begin == n_features:
                found = True
                for j in range(n_features):
                    differences |= columns[begin + j] ^ <index_t> j
                if differences != 0:
                    break
    return found and differences == 0


cdef int _check_length(Rows rows, const double[::1] v) except -1:
    if v.shape[0] < rows.n_features:
        raise ValueError(f"A vector of {rows.n_features} features was expected. Got {v.shape[0]}.")
    return 0


cdef void check_columns(Rows rows, Py_ssize_t k) noexcept nogil:
    """End the process if row k stores an invalid column, because nothing can be raised here."""
    cdef Py_ssize_t i, start, n, column = 0
    if rows.is_kernel:
        return
    extent(rows, k, &start, &n)
    for i in range(start, start + n):
        if rows.columns32 is not None:
            column = rows.columns32[i]
        elif rows.columns64 is not None:
            column = rows.columns64[i]
        if not 0 <= column < rows.n_features:
            with gil:
                print(f"Row {k} stores column {column} of {rows.n_features}.", file=sys.stderr, flush=True)
            abort()


cdef inline double _sqnorm(const value_t[::1] values, Py_ssize_t start, Py_ssize_t step, Py_ssize_t n) noexcept nogil:
    cdef double a = 0, b = 0, c = 0, d = 0  # four sums, as in an inner product
    cdef Py_ssize_t j = 0
    while j + 3 < n:
        a += (<double> values[start]) * values[start]
        b += (<double> values[start + step]) * values[start + step]
        c += (<double> values[start + 2 * step]) * values[start + 2 * step]
        d += (<double> values[start + 3 * step]) * values[start + 3 * step]
        start += 4 * step
        j += 4
    while j < n:
        a += (<double> values[start]) * values[start]
        start += step
        j += 1
    return (a + b) + (c + d)


cdef double sqnorm(Rows rows, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t start, n
    if rows.is_kernel:
        return rows.kernel_sqnorm(k)
    extent(rows, k, &start, &n)
    if rows.values64 is not None:
        return _sqnorm(rows.values64, start, rows.column_step, n)
    if rows.values32 is not None:
        return _sqnorm(rows.values32, start, rows.column_step, n)
    return n  # all ones


cdef inline Py_ssize_t _n_nonzero(
    const value_t[::1] values, Py_ssize_t start, Py_ssize_t step, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t j, total = 0
    for j in range(n):
        total += values[start + j * step] != 0
    return total


cdef Py_ssize_t n_nonzero(Rows rows, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t start, n
    extent(rows, k, &start, &n)
    if rows.values64 is not None:
        if rows.column_step == 1:
            return _n_nonzero(rows.values64, start, 1, n)
        return _n_nonzero(rows.values64, start, rows.column_step, n)
    if rows.values32 is not None:
        if rows.column_step == 1:
            return _n_nonzero(rows.values32, start, 1, n)
        return _n_nonzero(rows.values32, start, rows.column_step, n)
    return n  # all ones


cdef inline double _pnorm(
    const value_t[::1] values, Py_ssize_t start, Py_ssize_t step, Py_ssize_t n, double p
) noexcept nogil:
    cdef double largest = 0, total = 0
    cdef Py_ssize_t j
    for j in range(n):
        largest = fmax(largest, fabs(values[start + j * step]))
    if largest == 0:
        return 0
    for j in range(n):
        if values[start + j * step] != 0:
            total += pow(fabs(values[start + j * step]) / largest, p)
    return largest * pow(total, 1 / p)


cdef double pnorm(Rows rows, Py_ssize_t k, double p) noexcept nogil:
    """Return the p-norm of row k, without overflow or underflow of the powers."""
    cdef Py_ssize_t start, n
    extent(rows, k, &start, &n)
    if rows.values64 is not None:
        return _pnorm(rows.values64, start, rows.column_step, n, p)
    if rows.values32 is not None:
        return _pnorm(rows.values32, start, rows.column_step, n, p)
    return pow(n, 1 / p)  # all ones
