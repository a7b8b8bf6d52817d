"""Checks of the arrays of matrices, in one pass: are sparse indices valid, and are all values 1?

Given `starts` and `indices` (the `indptr` and `indices` of a CSR matrix): are the starts in order, and is
every index in [0, n_minor)? Compiled loops read and write at these indices without checking them.

Negative numbers have their highest bit set. So, in unsigned arithmetic, neither j nor n_minor - 1 - j has
it if j is valid. Any processor combines the bits of many indices at once. The position of an invalid index
is searched only if there is one.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from margins._sparse cimport index_t

import numpy as np
from numpy.typing import NDArray

ctypedef fused unsigned_t:
    uint32_t
    uint64_t

ctypedef fused start_t:
    int32_t
    int64_t

cdef Py_ssize_t BLOCK = 1 << 20   # indices, whose count fits into 32 bits


def first_decrease(const start_t[::1] starts):
    """Return the first k with ``starts[k + 1] < starts[k]``, or -1; ``starts[0]`` must be at least 0."""
    if starts.shape[0] < 2:
        return -1
    if start_t is int32_t:
        return _first_decrease[uint32_t](<const uint32_t*> &starts[0], starts.shape[0] - 1)
    else:
        return _first_decrease[uint64_t](<const uint64_t*> &starts[0], starts.shape[0] - 1)


cdef Py_ssize_t _first_decrease(const unsigned_t* starts, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    cdef unsigned_t bits = 0, highest = <unsigned_t> 1 << (8 * sizeof(unsigned_t) - 1)
    for k in range(n):
        bits |= starts[k + 1] | (starts[k + 1] - starts[k])
    if not bits & highest:
        return -1
    k = 0
    while not (starts[k + 1] | (starts[k + 1] - starts[k])) & highest:
        k += 1
    return k


def first_outside(const index_t[::1] indices, Py_ssize_t n_minor):
    """Return the position of the first index that is not in [0, n_minor), or -1."""
    return _scan(indices, n_minor)[0]


def scan(const start_t[::1] starts, const index_t[::1] indices, Py_ssize_t n_minor):
    """Check the indices of a compressed matrix."""
    cdef const index_t[::1] stored = indices[:starts[starts.shape[0] - 1]]
    cdef Py_ssize_t k, n_not_increasing, outside
    outside, n_not_increasing = _scan(stored, n_minor)
    if outside >= 0:
        return outside, False
    with nogil:
        for k in range(1, starts.shape[0] - 1):
            # The last index of a row and the first of the next row were compared, too: do not count them.
            if starts[k - 1] < starts[k] < stored.shape[0] and starts[k] > 0:
                n_not_increasing -= stored[starts[k]] <= stored[starts[k] - 1]
    return -1, n_not_increasing == 0


def is_sorted(const start_t[::1] starts, const index_t[::1] indices):
    """Return whether no row of a compressed matrix stores an index before a smaller index."""
    cdef Py_ssize_t k, i
    cdef bint decreases = False
    with nogil:
        for k in range(starts.shape[0] - 1):
            for i in range(starts[k] + 1, starts[k + 1]):
                decreases |= indices[i] < indices[i - 1]
    return not decreases


cdef tuple _scan(const index_t[::1] indices, Py_ssize_t n_minor):
    """Return (as `first_outside`, the number of indices that are not larger than their predecessor)."""
    cdef Py_ssize_t outside, n_not_increasing = 0
    if indices.shape[0] == 0:
        return -1, 0
    with nogil:
        if index_t is int32_t:
            outside = _scan_bits[uint32_t](
                <const uint32_t*> &indices[0], indices.shape[0],
                <uint32_t> (min(n_minor, <Py_ssize_t> 0x80000000) - 1), &n_not_increasing
            )
        else:
            outside = _scan_bits[uint64_t](
                <const uint64_t*> &indices[0], indices.shape[0], <uint64_t> (n_minor - 1), &n_not_increasing
            )
    return outside, n_not_increasing


cdef Py_ssize_t _scan_bits(
    const unsigned_t* indices, Py_ssize_t n, unsigned_t last, Py_ssize_t* n_not_increasing
) noexcept nogil:
    cdef Py_ssize_t i, n_pairs, begin = 0
    cdef int highest = 8 * sizeof(unsigned_t) - 1
    cdef unsigned_t bits, count
    while begin < n:
        n_pairs = min(BLOCK, n - 1 - begin)
        bits = count = 0
        for i in range(begin, begin + n_pairs):
            bits |= indices[i] | (last - indices[i])
            count += <unsigned_t> (indices[i + 1] - indices[i] - 1) >> highest  # 1 if it does not increase
        if begin + n_pairs == n - 1:  # the last index starts no pair
            bits |= indices[n - 1] | (last - indices[n - 1])
            n_pairs += 1
        if bits >> highest:
            for i in range(begin, n):
                if (indices[i] | (last - indices[i])) >> highest:
                    return i
        n_not_increasing[0] += <Py_ssize_t> count
        begin += n_pairs
    return -1


def all_ones(values: NDArray[np.float64] | NDArray[np.float32]) -> bool:
    """Return whether every value, contiguous and of float64 or float32, is exactly 1."""
    if values.dtype == np.float64:
        return _all_are[int64_t](values.view(np.int64), 0x3FF0000000000000)
    return _all_are[int32_t](values.view(np.int32), 0x3F800000)


cdef bint _all_are(const index_t[::1] bits, index_t one) noexcept:
    cdef Py_ssize_t i, end, begin = 0, n = bits.shape[0]
    cdef index_t differences = 0   # integers, so that many are compared at once
    with nogil:
        while begin < n and differences == 0:
            end = min(begin + 256, n)
            for i in range(begin, end):
                differences |= bits[i] ^ one
            begin = end
    return differences == 0


def stores_twice(const index_t[::1] columns, const index_t[::1] starts, Py_ssize_t n_features) -> bool:
    """Return whether some row of a CSR matrix, sorted or not, stores an element more than once."""
    cdef int64_t[::1] last_row = np.full(n_features, -1, dtype=np.int64)
    cdef Py_ssize_t i, k
    cdef bint found = False
    with nogil:
        for k in range(starts.shape[0] - 1):
            for i in range(starts[k], starts[k + 1]):
                found = found or last_row[columns[i]] == k
                last_row[columns[i]] = k
    return found
