"""Random orders of the samples.

With data larger than the cache, a pass in random order waits for memory at every sample. File order
converges slowly, since neighbours are similar. So large data can be permuted in blocks: a block consists
of many chunks of consecutive rows, from all parts of the data, that fit into the cache together, and is
processed in random order. Active sets inherit the order.
"""

import functools
from numbers import Integral

import numpy as np
from numpy.random.bit_generator import ISeedSequence, SeedSequence

from margins.data._permutations import permute
from margins.linalg.threads import computed_once, one_thread
from margins.tuning import TUNING

PERMUTATION = TUNING.permutation
END_OF_SEEDS = 2**31 - 1


class Orders:
    """Orders in which a run processes n samples; of `proven` runs they affect only the speed."""

    def __init__(self, n, seed, proven, shuffle="epochs", n_held_out=0, rows_per_chunk=1):
        self.shuffle, self.n_held_out = shuffle, n_held_out
        self._n, self._ends_with_proof, self._seed = n, proven, seed
        self._is_first, self.rows_per_chunk = True, rows_per_chunk

    @computed_once  # on demand, because Newton steps need neither
    def _generator(self):
        return generator_of(self._seed)

    @computed_once
    def _order(self):
        return np.arange(self._n, dtype=np.int32)

    @property
    def held_out(self):
        """The first samples, which are never processed (ndarray of int32, shape (n_held_out,))."""
        return self._order[: self.n_held_out]

    def next(self, size=None):
        """Return the order of the next epoch, full or of `size` samples (ndarray of int32)."""
        if self.shuffle == "draws":
            return self._generator.integers(self._n, size=self._n, dtype=np.int32)
        if self._ends_with_proof and self.shuffle == "epochs" and self.n_held_out == 0:
            if self.rows_per_chunk > 1:
                return in_blocks(self._generator, self._n, self.rows_per_chunk, size)
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

    def of(self, samples):
        """Return ascending indices in random order, for runs that end with a proof (int32)."""
        if self.rows_per_chunk > 1:
            return samples[in_blocks(self._generator, len(samples), self.rows_per_chunk)]
        order = samples.copy()
        mix(self._generator, order)
        return order

    def sample(self, size):
        """Return at most `size` samples, spread over the data (ndarray of int32, ascending)."""
        is_sampled = np.zeros(self._n, dtype=bool)  # np.unique takes many times as long
        is_sampled[spread(self._generator, self._n, size)] = True
        return np.flatnonzero(is_sampled).astype(np.int32)


class _Seed(ISeedSequence):
    """Seed sequence of an integer that computes the words of a bit generator only once."""

    def __init__(self, seed):
        self._words = SeedSequence(seed).generate_state(4, np.uint64)

    def generate_state(self, n_words, dtype=np.uint32):
        """Return the words of PCG64."""
        return self._words


_seed = functools.lru_cache(_Seed)


def generator_of(seed):
    """Return ``numpy.random.default_rng(seed)`` for an integer, with a cached seed sequence."""
    return np.random.Generator(np.random.PCG64(_seed(seed)))


def shuffle(generator, order):
    """Shuffle an int32 order in place, like ``generator.shuffle``, but by faster intp elements."""
    wide = order.astype(np.intp)
    generator.shuffle(wide)
    order[:] = wide


def mix(generator, order):
    """Permute an int32 order in place, faster than NumPy, with one number from the generator."""
    permute(order, generator.bit_generator.random_raw())


def spread(generator, n, size):
    """Return a sample of each of `size` <= n equal parts, in random order (int32, shape (size,))."""
    order = generator.random(size)
    order += np.arange(size)
    order *= n / size
    order = np.minimum(order, n - 1).astype(np.int32)
    mix(generator, order)
    return order


def in_blocks(generator, n, rows_per_chunk, size=None):
    """Return a random order in blocks, of all n samples or of `size` of them (ndarray of int32)."""
    size = n if size is None else size
    chunks = np.arange(-(-n // rows_per_chunk), dtype=np.int32) * np.int32(rows_per_chunk)
    mix(generator, chunks)
    # Take one spare chunk: the last chunk of the file may be shorter.
    chunks = chunks[: size // rows_per_chunk + 2]
    order = (chunks[:, np.newaxis] + np.arange(rows_per_chunk, dtype=np.int32)).ravel()
    if n % rows_per_chunk:
        order = order[order < n]
    order = order[:size]
    # Use one order for all blocks: drawing an order costs more than an epoch over it.
    block = PERMUTATION.block_samples
    n_full = size - size % block
    blocks = order[:n_full].reshape(-1, block)
    order[:n_full] = np.take(blocks, generator.permutation(block), axis=1).ravel()
    mix(generator, order[n_full:])
    return order


def seeds_of(random_state, n_problems):
    """Return a seed for each binary problem, drawn in advance: results do not depend on threads."""
    if type(random_state) is int or isinstance(random_state, Integral):
        return list(_seeds_of_integer(int(random_state), n_problems))
    from sklearn.utils import check_random_state

    return _draw(check_random_state(random_state), n_problems)


@functools.lru_cache
def _seeds_of_integer(seed, n_problems):
    # Creating a generator takes longer than an epoch of a small fit.
    return tuple(_draw(np.random.RandomState(seed), n_problems))


def _draw(generator, n_problems):
    with one_thread.no_fork():  # NumPy's global generator has a lock
        return generator.randint(END_OF_SEEDS, size=n_problems).tolist()


# Data sizes assume CSR with float64 and int32, for any storage, so that orders and therefore results do
# not depend on the storage.
BYTES_PER_NONZERO = 12


def rows_per_chunk(rows, tuning=TUNING.permutation):
    """Return the number of rows per chunk if rows are permuted in blocks; 1: not in blocks."""
    if rows.is_kernel or BYTES_PER_NONZERO * rows.n_stored < tuning.min_bytes:
        return 1
    bytes_per_row = BYTES_PER_NONZERO * rows.mean_nonzeros(tuning.sampled_rows)
    if bytes_per_row * rows.n_rows < tuning.min_bytes:
        return 1
    return min(max(int(tuning.chunk_bytes / bytes_per_row), 1), tuning.block_samples // 16)
