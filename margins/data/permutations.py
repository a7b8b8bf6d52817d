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

from margins.data._permutations import permute
from margins.tuning import TUNING

PERMUTATION = TUNING.permutation


class Orders:
    """The orders in which a run presents its patterns.

    Parameters
    ----------
    n : int
        How many patterns there are.
    rows : Rows
        Theirs: large data go by tiles.
    seed : int
    proven : bool
        True: a proof ends the run, so that orders are a matter of speed alone: blocks of large data, and
        a permutation that need not be NumPy's.
    shuffle : {"epochs", "once", "never", "draws"}
        When the order is permuted; "draws": an epoch is as many draws with replacement as there are
        samples.
    n_held_out : int
        So many samples, the first of the first order, are never accessed.
    """

    def __init__(self, n, rows, seed, proven, shuffle="epochs", n_held_out=0):
        self.shuffle, self.n_held_out = shuffle, n_held_out
        self._n, self._seed, self._proven = n, seed, proven
        self._is_first = True
        self.look_at(rows)

    def look_at(self, rows):
        """From now on, the patterns are these rows."""
        self._chunk = rows_per_chunk(rows)

    # Made when first asked for: Newton steps need neither, and small fits feel it.

    @functools.cached_property
    def _order(self):
        return np.arange(self._n, dtype=np.int32)

    @functools.cached_property
    def _generator(self):
        return generator_of(self._seed)

    @property
    def held_out(self):
        """The patterns that are never presented: ndarray of int32, shape (n_held_out,)."""
        return self._order[: self.n_held_out]

    def next(self, size=None):
        """The order of the next full epoch, or of one of `size` patterns only: ndarray of int32."""
        if self.shuffle == "draws":
            return self._generator.integers(self._n, size=self._n, dtype=np.int32)
        if self._proven and self.shuffle == "epochs" and self.n_held_out == 0:
            if self._chunk > 1:
                return by_tiles(self._generator, self._n, self._chunk, size)
            if size is not None and size < self._n:
                return spread(self._generator, self._n, size)
            mix(self._generator, self._order)
            return self._order
        if self._is_first and self.shuffle != "never":
            shuffle(self._generator, self._order)
        order = self._order[self.n_held_out :]
        if not self._is_first and self.shuffle == "epochs":
            shuffle(self._generator, order)
        self._is_first = False
        return order

    def of(self, some):
        """Some patterns in a random order that is a matter of speed alone: ndarray of int32.

        Parameters
        ----------
        some : ndarray of int32
            Ascending.
        """
        if self._chunk > 1:
            return some[by_tiles(self._generator, len(some), self._chunk)]
        order = some.copy()
        mix(self._generator, order)
        return order

    def sample(self, size):
        """Some patterns, at most `size`, from all over the data: ndarray of int32, ascending."""
        return np.unique(spread(self._generator, self._n, size))


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
    block = PERMUTATION.block_samples
    n_full = size - size % block
    tiles = order[:n_full].reshape(-1, block)
    order[:n_full] = np.take(tiles, generator.permutation(block), axis=1).ravel()
    mix(generator, order[n_full:])
    return order


def rows_per_chunk(rows):
    """How many rows a chunk holds; 1 if a permutation serves as well."""
    if rows.nbytes < PERMUTATION.min_bytes:
        return 1
    rows_of_chunk = PERMUTATION.chunk_bytes * rows.n_rows // rows.nbytes
    return min(max(rows_of_chunk, 1), PERMUTATION.block_samples // 16)
