"""Several threads that work on one thing: parts of arrays, or blocks of a sum.

Compiled loops and BLAS release the GIL. Threads are kept between calls, of which a fit makes hundreds;
they end with the team.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor


class Team:
    """The calling thread and others.

    Parameters
    ----------
    n_threads : int
        1: the calling thread alone.

    Examples
    --------
    >>> Team(2).map(abs, [-1, -2, -3])
    [1, 2, 3]
    >>> Team(2).parts(10, multiple=4)
    [slice(0, 8, None), slice(8, 10, None)]
    """

    def __init__(self, n_threads):
        self._n_threads = n_threads
        self._others = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def map(self, function, items):
        """What a function returns for each of some items, in their order: list.

        Each thread takes the next item when it has finished one. After an error none begins another.
        """
        results, remaining = [None] * len(items), deque(enumerate(items))

        def work():
            while remaining:
                try:
                    index, item = remaining.popleft()
                except IndexError:  # another thread was faster
                    return
                results[index] = function(item)

        n_others = min(self._n_threads, len(items)) - 1
        others = [self._others.submit(work) for _ in range(n_others)]
        try:
            work()
        finally:
            remaining.clear()
            for other in others:
                other.result()
        return results

    def parts(self, n, multiple):
        """Slices of range(n), at most one for each thread, whose bounds are multiples of a number."""
        length = max(1, -(-n // (self._n_threads * multiple))) * multiple
        return [slice(begin, min(begin + length, n)) for begin in range(0, n, length)]
