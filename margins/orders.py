"""Random orders of the patterns.

A permutation of data that outgrow the cache waits for memory at every pattern, although rows are asked
for in advance: on Covertype 260 ns a visit, by tiles 90, in file order 30. But neighbours in a file are
alike, and any fixed order converges slowly: where plain epochs in permuted order prove 99 % of the
maximum margin on Covertype after 9 of them, and after 10 by tiles, 60 in file order prove next to
nothing.

So an order of large data goes by tiles: chunks of consecutive rows are permuted, and a tile, many
chunks from all over the data that fit into the cache together, is presented in random order. A chunk
is longer than what memory delivers at once, and its rows are alike, but between two of them come many
others. Active sets inherit the order.
"""

import functools

import numpy as np
from numpy.random.bit_generator import ISeedSequence, SeedSequence

from margins._orders import permute

LARGE = 1 << 24  # bytes of rows, about what a cache holds
CHUNK = 1 << 13  # bytes of the rows that lie side by side
TILE = 1 << 12  # patterns


class _Seed(ISeedSequence):
    """What a bit generator asks of the seed sequence of an integer, computed once."""

    def __init__(self, seed):
        self._words = SeedSequence(seed).generate_state(4, np.uint64)

    def generate_state(self, n_words, dtype=np.uint32):
        """The words, which are those that PCG64 asks for."""
        return self._words


_seed = functools.lru_cache(_Seed)


def generator_of(seed):
    """``numpy.random.default_rng(seed)`` of an integer, in half of the time, which small fits feel."""
    return np.random.Generator(np.random.PCG64(_seed(seed)))


def shuffle(generator, order):
    """``generator.shuffle(order)``, in less time.

    Parameters
    ----------
    generator : numpy.random.Generator
    order : ndarray of int32
        Shuffled in place. NumPy swaps elements as wide as a pointer in two thirds of the time.
    """
    wide = order.astype(np.intp)
    generator.shuffle(wide)
    order[:] = wide


def mix(generator, order):
    """Put an order that is a matter of speed alone into random order, a few times as fast as NumPy does.

    Parameters
    ----------
    generator : numpy.random.Generator
        Only one number is drawn.
    order : ndarray of int32
        Permuted in place.
    """
    permute(order, generator.bit_generator.random_raw())


def spread(generator, n, size):
    """Some of n patterns, spread evenly over them, in random order: ndarray of int32, shape (size,).

    One out of each of `size` parts, so that no part of a sorted file is left out; neighbouring parts
    may share a pattern.

    Parameters
    ----------
    generator : numpy.random.Generator
    n : int
    size : int
        At most n.
    """
    order = generator.random(size)
    order += np.arange(size)
    order *= n / size
    order = np.minimum(order, n - 1).astype(np.int32)
    mix(generator, order)
    return order


def by_tiles(generator, n, rows_per_chunk, size=None):
    """A random order in tiles, of all patterns or of some: ndarray of int32, shape (n,) or (size,).

    Parameters
    ----------
    generator : numpy.random.Generator
    n : int
    rows_per_chunk : int
    size : int, optional
        At most n.
    """
    size = n if size is None else size
    chunks = np.arange(-(-n // rows_per_chunk), dtype=np.int32) * np.int32(rows_per_chunk)
    mix(generator, chunks)
    # One chunk more: that at the end of the file may be shorter.
    chunks = chunks[: size // rows_per_chunk + 2]
    order = (chunks[:, np.newaxis] + np.arange(rows_per_chunk, dtype=np.int32)).ravel()
    if n % rows_per_chunk:
        order = order[order < n]
    order = order[:size]
    # One order for all tiles: their patterns are others, and drawing costs more than presenting.
    n_full = size - size % TILE
    tiles = order[:n_full].reshape(-1, TILE)
    order[:n_full] = np.take(tiles, generator.permutation(TILE), axis=1).ravel()
    mix(generator, order[n_full:])
    return order


def rows_per_chunk(rows):
    """How many rows a chunk holds; 1 if a permutation serves as well."""
    if rows.nbytes < LARGE:
        return 1
    return min(max(CHUNK * rows.n_rows // rows.nbytes, 1), TILE // 16)
