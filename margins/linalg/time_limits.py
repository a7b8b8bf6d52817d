"""Time limits: loops that check for Ctrl-C also check whether the epoch of their thread must end.

Python delivers Ctrl-C only to the main thread. The threads that work for it share a `Cancellation`,
which the same checks read.
"""

import contextlib
import math
import threading
import time


class TimeLimitReached(Exception):
    """Exception for an epoch that has reached its time limit.

    It is raised between two chunks of samples, when the weight vector and its dual variables are
    consistent.
    """


class Cancelled(BaseException):
    """Exception for cancelled work of this thread, whose result will not be used."""


class Cancellation:
    """Flag that several threads share; once it is set, their checks end their work.

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
        """Context in which the checks of this thread raise Cancelled once the flag is set."""
        before, _limits.cancellation = _limits.cancellation, self
        try:
            yield
        finally:
            _limits.cancellation = before


class _Limits(threading.local):
    # Each thread has separate values.
    end = math.inf  # in seconds of `time.perf_counter`
    cancellation = Cancellation()  # never set


_limits = _Limits()


class time_limit:
    """Context in which `check_time` raises an error in this thread from a point in time on.

    Parameters
    ----------
    end : float
        Point in time, in seconds of `time.perf_counter`; inf: no limit, even inside another limit.

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


def time_is_over(reserve=0.0):
    """Return whether the time limit of this thread has been reached, or will be in `reserve` seconds."""
    check_cancelled()
    end = _limits.end
    return end < math.inf and time.perf_counter() + reserve >= end


def check_time():
    """Raise TimeLimitReached if the time limit of this thread has been reached."""
    if time_is_over():
        raise TimeLimitReached


class TimeBudget:
    """Time budget of a fit for all its binary problems.

    Each problem gets an equal share of the time that remains when it starts, so unused time goes to
    later problems.

    Parameters
    ----------
    n_problems, n_threads : int
        Number of problems, and number of threads that train them in parallel.

    Attributes
    ----------
    end : float
        End of the time for all problems, in seconds of `time.perf_counter`.

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
        """Return the end of the time of the problem that starts now (float)."""
        with self._lock:
            n_rounds = math.ceil(self._n_left / self._n_threads)
            self._n_left -= 1
        now = time.perf_counter()
        return now + max(self.end - now, 0.0) / max(n_rounds, 1)
