"""Permutations of patterns: any order as likely as another.

The problem: given numbers, and 64 random bits to begin with, put the numbers into random order, in
place. One swap of a number with itself or one before it, from the last to the second, does it; where
each goes is told by the next bits of a generator that needs no more memory than one word, and by a
multiplication in place of a division, with a bias of at most 2^-32 n.

Source: Durstenfeld (1964), Algorithm 235; Steele, Lea & Flood (2014), Fast splittable pseudorandom
number generators; Lemire (2019), Fast random integer generation in an interval.
"""

from libc.stdint cimport int32_t, uint64_t


def permute(int32_t[::1] order not None, uint64_t state):
    """Put `order` into random order, which `state` determines.

    Parameters
    ----------
    order : ndarray of int32, shape (n,)
        Permuted in place.
    state : int in [0, 2^64)
    """
    cdef Py_ssize_t i, j
    cdef uint64_t bits
    cdef int32_t kept
    with nogil:
        for i in range(order.shape[0] - 1, 0, -1):
            state += 0x9E3779B97F4A7C15ULL
            bits = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ULL
            bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL
            bits = (bits ^ (bits >> 31)) >> 32
            j = <Py_ssize_t> ((bits * <uint64_t> (i + 1)) >> 32)
            kept = order[i]
            order[i] = order[j]
            order[j] = kept
