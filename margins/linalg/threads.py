"""Linear algebra in one thread, and forks that do not inherit its locks in a locked state.

On small matrices, threads spend more time waiting than working, so `one_thread` limits BLAS to one
thread. A process that is forked while another thread is in BLAS would inherit locked locks of BLAS.
"""

import functools
import os
import threading
import time

from threadpoolctl import ThreadpoolController

from margins.linalg._context import Context

# Seconds that a fork waits for other threads to leave `one_thread`, longer than most Newton epochs.
MAX_WAIT = 10.0


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
