"""Linear algebra in one thread: on small matrices several threads mostly wait for each other."""

import functools
import threading

from threadpoolctl import ThreadpoolController


@functools.cache
def _libraries():
    """The BLAS libraries of this process, cached: finding them takes longer than a small fit."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


class _OneThread:
    """A context in which linear algebra uses one thread.

    The number of BLAS threads is global, and binary problems are trained in several threads: the first
    one that enters sets the number, the last one that leaves restores it.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._n_users = 0

    def __enter__(self):
        with self._lock:
            if self._n_users == 0:
                # Not by `ThreadpoolController.limit`, which reads more than these numbers in every
                # epoch.
                before = [(library, library.get_num_threads()) for library in _libraries()]
                self._before = [(library, n_threads) for library, n_threads in before if n_threads != 1]
                for library, _ in self._before:
                    set_n_threads(library, 1)
            self._n_users += 1

    def __exit__(self, *error):
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0:
                for library, n_threads in self._before:
                    set_n_threads(library, n_threads)


def set_n_threads(library, n_threads):
    """Set the number of threads of a threadpoolctl.LibController, from any thread."""
    library.set_num_threads(n_threads)
    # Otherwise, from threadpoolctl 3.8 on, other threads could not change it.
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()


one_thread = _OneThread()
