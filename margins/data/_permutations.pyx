"""Uniform random permutations of samples.

The problem: given n indices and 64 random bits as a seed, permute the indices in place. Each index, from
the last to the second, is swapped with an index at a random position up to this one, drawn from a generator
with one word of state. A multiplication replaces the division, which causes a bias of at most 2^-32 n.

Source: Durstenfeld (1964), Algorithm 235; Steele, Lea & Flood (2014), Fast splittable pseudorandom
number generators; Lemire (2019), Fast random integer generation in an interval.
"""

from libc.stdint cimport int32_t, uint64_t


def permute(int32_t[::1] order not None, uint64_t state):
    """Permute `order` at random; `state` determines the permutation."""
    cdef Py_ssize_t i, j
    cdef uint64_t bits
    cdef int32_t swapped
    with nogil:
        for i in range(order.shape[0] - 1, 0, -1):
            state += 0x9E3779B97F4A7C15ULL
            bits = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ULL
            bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL
            bits = (bits ^ (bits >> 31)) >> 32
            j = <Py_ssize_t> ((bits * <uint64_t> (i + 1)) >> 32)
            swapped = order[i]
            order[i] = order[j]
            order[j] = swapped
