"""Linear algebra by one thread, and forks that leave no lock of it locked.

On small matrices threads spend more time waiting than working, so `one_thread` limits BLAS to one. And a
process that is forked while another thread is within BLAS inherits BLAS's locks as they are, for good.
"""

import functools
import os
import threading
import time

from threadpoolctl import ThreadpoolController

from margins.linalg._context import Context

# Seconds that a fork waits for other threads to leave `one_thread`: longer than most Newton epochs take.
MAX_WAIT = 10.0


@functools.cache
def _libraries():
    """The BLAS libraries of this process, cached: finding them takes longer than a small fit."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


class _OneThread:
    """Contexts, ``with one_thread():``, in which linear algebra uses one thread.

    The number of BLAS threads is global, and binary problems are trained in threads: the first one to
    enter sets it, the last one to leave restores it. Contexts of threadpoolctl, which restore what each
    has found, would leave one thread for good where two of them overlap.

    A fork waits until other threads have left, at most `MAX_WAIT`; meanwhile none enters. If one has not
    left the child process does without it, and the number is restored there.
    """

    def __init__(self):
        self._begin()
        self._users = {}  # the thread of every context that has been entered
        self._before = []  # libraries of more than one thread, and their numbers
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before_fork,
                after_in_parent=self._after_fork,
                after_in_child=self._after_fork_in_child,
            )

    def _begin(self):
        # Of a Condition, a Python class, an interrupt may skip the release; of its lock none does.
        self._lock = threading.RLock()
        self._condition = threading.Condition(self._lock)
        self._is_forking = False

    def __call__(self):
        return Context(self)

    def enter(self, context):
        """Enter a context of this thread, given by its identity."""
        thread = threading.get_ident()
        with self._lock:
            while self._is_forking and thread not in self._users.values():
                self._condition.wait()
            is_first = not self._users
            self._users[context] = thread  # at first, so that `leave` undoes what follows
            if is_first:
                # `ThreadpoolController.limit` would read more than these numbers, in each epoch.
                before = [(library, library.get_num_threads()) for library in _libraries()]
                self._before = [(library, n_threads) for library, n_threads in before if n_threads != 1]
                for library, _ in self._before:
                    set_n_threads(library, 1)

    def leave(self, context):
        """Leave a context, in any thread, or what an interrupted call of it has left to do."""
        with self._lock:
            self._users.pop(context, None)
            self._restore_after_last()
            self._condition.notify_all()

    def no_fork(self):
        """A context, reentrant and short, during which no other thread forks or enters."""
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
        while self._is_forking and time.monotonic() < end:  # another thread
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
    # Otherwise, from threadpoolctl 3.8 on, other threads could not change it.
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()


one_thread = _OneThread()
