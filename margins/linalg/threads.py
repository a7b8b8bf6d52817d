"""Threads: of BLAS, of teams that share work, and their time limits.

On small matrices, threads spend more time waiting than working, so `one_thread` limits BLAS to one.
A process that is forked while another thread is in BLAS would inherit locked locks of BLAS.

Loops that check for Ctrl-C also check whether the epoch of their thread must end (`time_limit`). Python
delivers Ctrl-C only to the main thread; its other threads share a `Cancellation` that checks read.

The threads of a `Team` share parts of arrays, blocks of a sum, or problems, and live as long as their
team, since a fit makes hundreds of calls. Only sizes decide which samples are in a block of a sum, and
blocks are added in order, so a sum is the same, bit for bit, for any number of threads.
"""

import contextlib
import functools
import math
import os
import threading
import time
from collections import deque
from itertools import pairwise

from margins.linalg._context import Context

# Seconds that a fork waits for other threads to leave `one_thread`, longer than most Newton epochs.
MAX_WAIT = 10.0
# Sums of so few products are computed by one thread anyway: OpenBLAS shares from 9,216 on.
MAX_UNSHARED = 1 << 12
NO_LIMIT = contextlib.nullcontext()


class computed_once:
    """Property that is computed on first use, without the lock of `functools.cached_property`.

    Until Python 3.11 all objects of a class share that lock, and a child that is forked while another
    thread holds it waits forever. Two threads may both compute the value; the second stays.
    """

    def __init__(self, method):
        self._method, self.__doc__ = method, method.__doc__

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        value = vars(instance)[self._name] = self._method(instance)
        return value


@functools.cache
def _libraries():
    """Return the BLAS libraries of this process, cached: finding them takes longer than a small fit."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


class _OneThread:
    """Contexts, ``with one_thread():``, in which linear algebra uses one thread.

    The number of BLAS threads is global, and binary problems are trained in threads. The first thread to
    enter sets the number, and the last to leave restores it. Contexts of threadpoolctl each restore the
    number that they have seen, so overlapping contexts would leave one thread permanently.

    A fork waits at most `MAX_WAIT` until other threads have left; meanwhile no thread enters. The child
    process forgets a thread that has not left, and restores the number.
    """

    def __init__(self):
        self._begin()
        self._users = {}  # the thread of every context that has been entered
        self._before = []  # libraries with several threads, and their numbers of threads
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before_fork,
                after_in_parent=self._after_fork,
                after_in_child=self._after_fork_in_child,
            )

    def _begin(self):
        # An interrupt may skip the release of a Condition, a Python class, but not of its lock.
        self._lock = threading.RLock()
        self._condition = threading.Condition(self._lock)
        self._is_forking = False

    def __call__(self):
        return Context(self)

    def enter(self, context):
        """Enter a context, given by its identity, in this thread."""
        thread = threading.get_ident()
        with self._lock:
            while self._is_forking and thread not in self._users.values():
                self._condition.wait()
            is_first = not self._users
            self._users[context] = thread  # first, so that `leave` undoes the steps below
            if is_first:
                # `ThreadpoolController.limit` would read more than these numbers in each epoch.
                before = [(library, library.get_num_threads()) for library in _libraries()]
                self._before = [(library, n_threads) for library, n_threads in before if n_threads != 1]
                for library, _ in self._before:
                    set_n_threads(library, 1)

    def leave(self, context):
        """Leave a context, in any thread, or finish an interrupted call of this method."""
        with self._lock:
            self._users.pop(context, None)
            self._restore_after_last()
            self._condition.notify_all()

    def no_fork(self):
        """Return a reentrant context, for short use, in which no other thread forks or enters."""
        return self._lock

    def _restore_after_last(self):
        if not self._users:
            for library, n_threads in self._before:
                set_n_threads(library, n_threads)
            self._before = []

    def _others(self):
        thread = threading.get_ident()
        return [user for user in self._users.values() if user != thread]

    def _before_fork(self):
        self._condition.acquire()
        end = time.monotonic() + MAX_WAIT
        while self._is_forking and time.monotonic() < end:  # another thread is forking
            self._condition.wait(max(end - time.monotonic(), 0))
        self._is_forking = True
        self._condition.wait_for(lambda: not self._others(), MAX_WAIT)

    def _after_fork(self):
        self._is_forking = False
        self._condition.notify_all()
        self._condition.release()

    def _after_fork_in_child(self):
        thread = threading.get_ident()
        self._begin()
        self._users = {context: user for context, user in self._users.items() if user == thread}
        self._restore_after_last()


def set_n_threads(library, n_threads):
    """Set the number of threads of a threadpoolctl.LibController, from any thread."""
    library.set_num_threads(n_threads)
    # Without this, from threadpoolctl 3.8 on, other threads could not change the number.
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()


one_thread = _OneThread()


def on_one_thread(function):
    """Return the function, in which linear algebra uses one thread."""

    @functools.wraps(function)
    def limited(*args, **kwargs):
        with one_thread():
            return function(*args, **kwargs)

    return limited


def one_thread_for(n_products):
    """Return `one_thread` as a context for a sum of this many products; no library shares few."""
    return one_thread() if n_products > MAX_UNSHARED else NO_LIMIT


class TimeLimitReached(Exception):
    """Exception for an epoch at its time limit, between two chunks of samples: all is consistent."""


class Cancelled(BaseException):
    """Exception for cancelled work of this thread, whose result will not be used."""


class Cancellation:
    """Flag that several threads share; once it is set, their checks end their work."""

    def __init__(self):
        self.is_set = False

    @contextlib.contextmanager
    def of_this_thread(self):
        """Context in which the checks of this thread raise Cancelled once the flag is set."""
        before, _of_thread.cancellation = _of_thread.cancellation, self
        try:
            yield
        finally:
            _of_thread.cancellation = before


class time_limit:
    """Context in which `check_time` raises an error in this thread from `end` on; inf: no limit."""

    def __init__(self, end):
        self._end = end

    def __enter__(self):
        self._before, _of_thread.end = _of_thread.end, self._end

    def __exit__(self, kind, error, traceback):
        _of_thread.end = self._before


def check_cancelled():
    """Raise Cancelled if the work of this thread has been cancelled."""
    if _of_thread.cancellation.is_set:
        raise Cancelled


def time_is_over(reserve=0.0):
    """Return whether the time limit of this thread has been reached, or will be in `reserve` seconds."""
    check_cancelled()
    end = _of_thread.end
    return end < math.inf and time.perf_counter() + reserve >= end


def check_time():
    """Raise TimeLimitReached if the time limit of this thread has been reached."""
    if time_is_over():
        raise TimeLimitReached


class TimeBudget:
    """Time budget of a fit; each problem that starts gets an equal share of what remains."""

    def __init__(self, seconds, n_problems, n_threads):
        self.seconds = seconds
        self.end = time.perf_counter() + seconds
        self._n_left, self._n_threads = n_problems, n_threads
        self._lock = threading.Lock()

    def end_of_next(self):
        """Return the end of the time of the problem that starts now (float)."""
        with self._lock:
            n_rounds = math.ceil(self._n_left / self._n_threads)
            self._n_left -= 1
        now = time.perf_counter()
        return now + max(self.end - now, 0.0) / max(n_rounds, 1)


# Minimum number of elements in a block, which take about ten times as long as waking up a thread.
MIN_ELEMENTS = 1 << 20
# Fewer elements than this make one block.
MIN_SHARED = 2 * MIN_ELEMENTS
# Maximum size of the sum over a block, as a share of the block's elements: adding sums takes time.
MAX_SHARE_OF_SUM = 1 / 16
MAX_BLOCKS = 32


class Team:
    """Team of the calling thread and others."""

    def __init__(self, n_threads):
        self._n_threads, self._others = n_threads, None
        if n_threads > 1:
            from concurrent.futures import ThreadPoolExecutor

            self._others = ThreadPoolExecutor(n_threads - 1)

    def map(self, function, items):
        """Return the results of a function for items, in order; after an error no thread goes on."""
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


class _OfThread(threading.local):  # each thread has separate values
    team = Team(1)
    end = math.inf  # in seconds of `time.perf_counter`
    cancellation = Cancellation()  # never set


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
    from joblib.parallel import get_active_backend

    # Require shared memory: processes would copy X.
    backend, of_context = get_active_backend(require="sharedmem")
    n_threads = backend.effective_n_jobs(of_context if n_jobs is None else n_jobs)
    return n_threads if n_problems is None else min(n_threads, n_problems)


def _in_threads(train, seeds, n_threads):
    """Train in threads, without joblib, whose polling takes longer than a small fit."""
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
