"""Time limits: loops that check for Ctrl-C also check whether the epoch of their thread is to end."""

import math
import threading
import time


class TimeLimitReached(Exception):
    """The time limit of an epoch has been reached.

    Raised between two chunks of samples, where the weight vector and its dual variables are consistent.
    """


class _Limits(threading.local):
    # In seconds of `time.perf_counter`; of each thread.
    end = math.inf


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


def time_is_over():
    """True if the time limit of this thread has been reached."""
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
