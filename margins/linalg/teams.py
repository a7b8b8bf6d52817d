"""Teams of threads that share parts of arrays, blocks of a sum, or problems.

Compiled loops and BLAS release the GIL. Threads live as long as their team, since a fit makes hundreds
of calls.

A sum over samples is computed over blocks of samples, which are added in order. Only sizes decide which
samples are in a block, so a sum is the same, bit for bit, for any number of threads.
"""

import contextlib
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from joblib.parallel import get_active_backend

from margins.linalg.time_limits import Cancellation

# Minimum number of elements in a block, which take about ten times as long as waking up a thread.
MIN_ELEMENTS = 1 << 20
# Fewer elements than this make one block.
MIN_SHARED = 2 * MIN_ELEMENTS
# Maximum size of the sum over a block, as a share of the block's elements: adding sums takes time.
MAX_SHARE_OF_SUM = 1 / 16
MAX_BLOCKS = 32


class Team:
    """Team of the calling thread and others.

    Parameters
    ----------
    n_threads : int
        Number of threads; 1: only the calling thread.

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
        """Return the results of a function for some items, in order (list).

        Each thread takes the next item when it has finished one. After an error, none starts another.
        """
        if self._n_threads == 1 or len(items) <= 1:
            return [function(item) for item in items]
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
        """Return slices of range(n), at most one per thread, with bounds divisible by `multiple`."""
        length = max(1, -(-n // (self._n_threads * multiple))) * multiple
        return [slice(begin, min(begin + length, n)) for begin in range(0, n, length)]


class _OfThread(threading.local):
    team = Team(1)


_of_thread = _OfThread()


def current_team():
    """Return the team of this thread (Team); outside a context of `team_of`, only the thread itself."""
    return _of_thread.team


@contextlib.contextmanager
def team_of(n_threads):
    """Context in which other threads share the sums of this thread."""
    before = _of_thread.team
    if n_threads > 1:
        _of_thread.team = Team(n_threads)
    try:
        yield
    finally:
        _of_thread.team = before


def blocks_of(n, n_elements, sum_length=0):
    """Return blocks of samples for sums, the same for any number of threads (list of slices)."""
    if n_elements < MIN_SHARED:
        return [slice(0, n)]
    least = max(MIN_ELEMENTS, sum_length / MAX_SHARE_OF_SUM)
    n_blocks = max(1, min(MAX_BLOCKS, int(n_elements // least), n))
    bounds = [i * n // n_blocks for i in range(n_blocks + 1)]
    return [slice(begin, end) for begin, end in pairwise(bounds)]


def blocks_of_rows(rows, n, sum_length=0):
    """Return the blocks of n rows of a matrix, by `blocks_of` (list of slices)."""
    return blocks_of(n, rows.n_stored * n // max(rows.n_rows, 1), sum_length)


def share_rows(rows, function, begin, end):
    """Call ``function(begin, end)`` for blocks of a range of rows, which the current team shares."""
    if rows.is_kernel or rows.n_stored < MIN_SHARED:
        function(begin, end)
        return
    blocks = blocks_of_rows(rows, end - begin)
    current_team().map(lambda block: function(begin + block.start, begin + block.stop), blocks)


def sum_in_order(sums):
    """Return the sum of arrays, added in order to the first array (ndarray)."""
    total = sums[0]
    for other in sums[1:]:
        total += other
    return total


def run_tasks(train, seeds, n_jobs, in_turn=False, names=None):
    """Train several problems in threads."""
    n_all = n_threads_of(n_jobs)
    n_threads = 1 if in_turn else min(n_all, len(seeds))

    def train_by_team(index, seed):
        try:
            with team_of(n_all // n_threads):
                return train(index, seed)
        except Exception as error:
            if names is not None and names[index]:
                error.add_note(f"This happened in the fit of {names[index]}.")
            raise

    if n_threads == 1:
        return [train_by_team(index, seed) for index, seed in enumerate(seeds)]
    return _in_threads(train_by_team, seeds, n_threads)


def n_threads_of(n_jobs, n_problems=None):
    """Return the number of threads that train `n_problems` problems (int)."""
    if n_problems == 1 or n_jobs == 1:
        return 1
    # Require shared memory: processes would copy X.
    backend, of_context = get_active_backend(require="sharedmem")
    n_threads = backend.effective_n_jobs(of_context if n_jobs is None else n_jobs)
    return n_threads if n_problems is None else min(n_threads, n_problems)


def _in_threads(train, seeds, n_threads):
    """Train in threads, including the calling thread; each takes the next problem when it is free.

    joblib.Parallel would poll at intervals that are longer than a small fit.
    """
    remaining, results, errors = deque(enumerate(seeds)), [None] * len(seeds), {}
    cancellation = Cancellation()

    def train_remaining(caught=Exception):
        while True:
            try:
                index, seed = remaining.popleft()
            except IndexError:
                return
            try:
                results[index] = train(index, seed)
            except caught as error:
                errors[index] = error
                remaining.clear()

    def train_in_background():
        with cancellation.of_this_thread():
            train_remaining(BaseException)

    others = [threading.Thread(target=train_in_background, daemon=True) for _ in range(n_threads - 1)]
    try:
        for thread in others:
            thread.start()
        train_remaining()
        for thread in others:
            thread.join()
    finally:
        # After Ctrl-C no problem starts, and threads that still train stop at their next check.
        remaining.clear()
        cancellation.is_set = True
    if errors:
        raise errors[min(errors)]
    return results
