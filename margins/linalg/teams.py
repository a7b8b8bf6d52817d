"""Several threads that work on one thing: parts of arrays, blocks of a sum, or one problem each.

Compiled loops and BLAS release the GIL. Threads are kept between calls, of which a fit makes hundreds;
they end with the team.

A sum over samples is one over blocks of them, added in order. Which samples a block has depends on sizes
alone, so a sum is the same, bit for bit, whichever threads compute it.
"""

import contextlib
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from joblib.parallel import get_active_backend

from margins.linalg.time_limits import Cancellation

# Elements of a block, at least: they take about ten times as long as it takes to wake up a thread.
MIN_ELEMENTS = 1 << 20
# Fewer elements are one block.
MIN_SHARED = 2 * MIN_ELEMENTS
# The sum over a block, which is added to the others, has at most this share of the block's elements.
MAX_SHARE_OF_SUM = 1 / 16
MAX_BLOCKS = 32


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
        """Slices of range(n), at most one for each thread, whose bounds are multiples of a number."""
        length = max(1, -(-n // (self._n_threads * multiple))) * multiple
        return [slice(begin, min(begin + length, n)) for begin in range(0, n, length)]


class _OfThread(threading.local):
    team = Team(1)


_of_thread = _OfThread()


def current_team():
    """The team of this thread: Team; the thread alone unless it is in a context of `team_of`."""
    return _of_thread.team


@contextlib.contextmanager
def team_of(n_threads):
    """A context in which other threads share the sums of this one.

    Parameters
    ----------
    n_threads : int
        This one among them; 1: no more than there are already.

    Examples
    --------
    >>> with team_of(2):
    ...     current_team().map(abs, [-1, -2])
    [1, 2]
    """
    before = _of_thread.team
    if n_threads > 1:
        _of_thread.team = Team(n_threads)
    try:
        yield
    finally:
        _of_thread.team = before


def blocks_of(n, n_elements, sum_length=0):
    """The blocks of samples of which sums are made, the same for any number of threads: list of slices.

    Parameters
    ----------
    n : int
        Number of samples.
    n_elements : int or float
        Number of elements that a pass over them reads, each as often as it does.
    sum_length : int or float
        The number of elements of a sum.

    Examples
    --------
    >>> blocks_of(1000, 1000 * 50)
    [slice(0, 1000, None)]
    >>> len(blocks_of(1_000_000, 1_000_000 * 50))
    32
    """
    if n_elements < MIN_SHARED:
        return [slice(0, n)]
    least = max(MIN_ELEMENTS, sum_length / MAX_SHARE_OF_SUM)
    n_blocks = max(1, min(MAX_BLOCKS, int(n_elements // least), n))
    bounds = [i * n // n_blocks for i in range(n_blocks + 1)]
    return [slice(begin, end) for begin, end in pairwise(bounds)]


def blocks_of_rows(rows, n, sum_length=0):
    """The blocks of n rows of a matrix, as `blocks_of` has them: list of slices.

    Parameters
    ----------
    rows : margins._sparse.Rows
    n, sum_length : int
    """
    return blocks_of(n, rows.n_stored * n // max(rows.n_rows, 1), sum_length)


def share_rows(rows, function, begin, end):
    """Call ``function(begin, end)`` for the blocks of a range of rows, which the current team shares.

    Parameters
    ----------
    rows : margins._sparse.Rows
    function : callable
    begin, end : int
    """
    if rows.is_kernel or rows.n_stored < MIN_SHARED:
        function(begin, end)
        return
    blocks = blocks_of_rows(rows, end - begin)
    current_team().map(lambda block: function(begin + block.start, begin + block.stop), blocks)


def sum_in_order(sums):
    """The sum of arrays, added to the first one from the left: ndarray."""
    total = sums[0]
    for other in sums[1:]:
        total += other
    return total


def run_tasks(train, seeds, n_jobs, in_turn=False, names=None):
    """Train several problems, each in one of the threads.

    Parameters
    ----------
    train : callable
        ``train(index, seed)`` trains the problem of this index.
    seeds : list of int
        One for each problem.
    n_jobs : int or None
        The number of threads, in joblib's convention: the kernels release the GIL and share the matrix.
        Those that are more than there are problems share the sums of a problem.
    in_turn : bool
        True: one problem after the other, all of whose sums are shared by all threads.
    names : list of str, optional
        What a note calls the problem whose training raises an error; an empty one is left out.

    Returns
    -------
    list
        The values that `train` returned, in the order of the problems.
    """
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
    """The number of threads that train so many problems: int.

    Parameters
    ----------
    n_jobs : int or None
        In joblib's convention.
    n_problems : int, optional
        None: any number.
    """
    if n_problems == 1 or n_jobs == 1:
        return 1
    # Shared memory is required, not preferred: processes would copy X.
    backend, of_context = get_active_backend(require="sharedmem")
    n_threads = backend.effective_n_jobs(of_context if n_jobs is None else n_jobs)
    return n_threads if n_problems is None else min(n_threads, n_problems)


def _in_threads(train, seeds, n_threads):
    """Train in threads, the calling one among them; each takes the next problem when one is finished.

    joblib.Parallel is not used: it polls at intervals that are longer than a small fit.
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
        # After Ctrl-C no problem is started, and threads that still train stop at their next check.
        remaining.clear()
        cancellation.is_set = True
    if errors:
        raise errors[min(errors)]
    return results
