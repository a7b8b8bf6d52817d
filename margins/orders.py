"""Random orders of the patterns.

A permutation of data that outgrow the cache waits for memory at every pattern: on Covertype 270 ns for
a pattern that takes 20 ns in file order. But file order, and every cyclic order, converges slowly: on
Covertype, whose neighbours in the file are alike, chunks of rows in random order need ten times the
visits of a permutation.

So an order of large data goes by tiles: chunks of consecutive rows are permuted, and a tile, many
chunks from all over the data that fit into the cache together, is presented in random order. A chunk
is longer than what memory delivers at once, and its rows are alike, but between two of them come many
others. Active sets inherit the order.
"""

import numpy as np

LARGE = 1 << 24  # bytes of rows, about what a cache holds
CHUNK = 1 << 13  # bytes of the rows that lie side by side
TILE = 1 << 12  # patterns


def by_tiles(generator, n, rows_per_chunk):
    """A random order in tiles: ndarray of int32, shape (n,).

    Parameters
    ----------
    generator : numpy.random.Generator
    n : int
    rows_per_chunk : int
    """
    chunks = np.arange(-(-n // rows_per_chunk), dtype=np.int32) * np.int32(rows_per_chunk)
    generator.shuffle(chunks)
    order = (chunks[:, np.newaxis] + np.arange(rows_per_chunk, dtype=np.int32)).ravel()
    if len(order) > n:
        order = order[order < n]
    # One order for all tiles: their patterns are others, and drawing costs more than presenting.
    n_full = n - n % TILE
    tiles = order[:n_full].reshape(-1, TILE)
    order[:n_full] = np.take(tiles, generator.permutation(TILE), axis=1).ravel()
    generator.shuffle(order[n_full:])
    return order


def rows_per_chunk(rows):
    """How many rows a chunk holds; 1 if a permutation serves as well."""
    if rows.nbytes < LARGE:
        return 1
    return min(max(CHUNK * rows.n_rows // rows.nbytes, 1), TILE // 16)
