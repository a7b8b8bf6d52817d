"""Time limits: loops that check for Ctrl-C also check whether the epoch of their thread is to end.

Python delivers Ctrl-C to the main thread only. The threads that work for it share a `Cancellation`,
which the same checks look at.
"""

import contextlib
import math
import threading
import time


class TimeLimitReached(Exception):
    """The time limit of an epoch has been reached.

    Raised between two chunks of samples, where the weight vector and its dual variables are consistent.
    """


class Cancelled(BaseException):
    """The work of this thread has been cancelled: its result will not be used."""


class Cancellation:
    """A flag that several threads share: once it is set, their checks end their work.

    Attributes
    ----------
    is_set : bool

    Examples
    --------
    >>> cancellation = Cancellation()
    >>> with cancellation.of_this_thread():
    ...     check_cancelled()
    ...     cancellation.is_set = True
    ...     check_cancelled()
    Traceback (most recent call last):
    margins.linalg.time_limits.Cancelled
    """

    def __init__(self):
        self.is_set = False

    @contextlib.contextmanager
    def of_this_thread(self):
        """A context in which the checks of this thread raise Cancelled, once this is set."""
        before, _limits.cancellation = _limits.cancellation, self
        try:
            yield
        finally:
            _limits.cancellation = before


class _Limits(threading.local):
    # Of each thread.
    end = math.inf  # in seconds of `time.perf_counter`
    cancellation = Cancellation()  # never set


_limits = _Limits()


class time_limit:
    """A context in which `check_time` raises an error from a point in time on, in this thread.

    Parameters
    ----------
    end : float
        Seconds, as `time.perf_counter` counts them; inf: no limit, whatever limit is around it.

    Examples
    --------
    >>> with time_limit(time.perf_counter() - 1):
    ...     time_is_over()
    True
    >>> time_is_over()
    False
    """

    def __init__(self, end):
        self._end = end

    def __enter__(self):
        self._before, _limits.end = _limits.end, self._end

    def __exit__(self, kind, error, traceback):
        _limits.end = self._before


def check_cancelled():
    """Raise Cancelled if the work of this thread has been cancelled."""
    if _limits.cancellation.is_set:
        raise Cancelled


def time_is_over():
    """True if the time limit of this thread has been reached.

    Raises
    ------
    Cancelled
        The work of this thread has been cancelled.
    """
    check_cancelled()
    end = _limits.end
    return end < math.inf and time.perf_counter() >= end


def check_time():
    """Raise TimeLimitReached if the time limit of this thread has been reached."""
    if time_is_over():
        raise TimeLimitReached


class TimeBudget:
    """The time that a fit has for all its binary problems.

    What one problem leaves is for those after it: each that begins has an equal share of what remains.

    Parameters
    ----------
    seconds : float
    n_problems, n_threads : int
        How many problems are trained, and by how many threads at a time.

    Attributes
    ----------
    end : float
        When the time of all of them is over, in seconds of `time.perf_counter`.

    Examples
    --------
    >>> budget = TimeBudget(10.0, n_problems=5, n_threads=1)
    >>> round(budget.end_of_next() - time.perf_counter())
    2
    """

    def __init__(self, seconds, n_problems, n_threads):
        self.seconds = seconds
        self.end = time.perf_counter() + seconds
        self._n_left, self._n_threads = n_problems, n_threads
        self._lock = threading.Lock()

    def end_of_next(self):
        """When the time of the problem that begins now is over: float."""
        with self._lock:
            n_rounds = math.ceil(self._n_left / self._n_threads)
            self._n_left -= 1
        now = time.perf_counter()
        return now + max(self.end - now, 0.0) / max(n_rounds, 1)
