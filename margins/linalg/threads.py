"""Linear algebra by one thread: on small matrices threads wait for each other longer than they work."""

import functools
import threading

from threadpoolctl import ThreadpoolController


@functools.cache
def _libraries():
    """The linear algebra libraries of this process; looking for them takes longer than a small fit."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


class _OneThread:
    """Linear algebra by one thread, as long as anybody is within.

    The number of threads belongs to the process, and classes are trained in threads: the first to come
    sets it, the last to go restores it. If each did both, the last would restore what the first had set.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._n_within = 0

    def __enter__(self):
        with self._lock:
            if self._n_within == 0:
                # `ThreadpoolController.limit` would look at more than these numbers, at each epoch.
                before = [(library, library.get_num_threads()) for library in _libraries()]
                self._before = [(library, n_threads) for library, n_threads in before if n_threads != 1]
                for library, _ in self._before:
                    set_n_threads(library, 1)
            self._n_within += 1

    def __exit__(self, *trouble):
        with self._lock:
            self._n_within -= 1
            if self._n_within == 0:
                for library, n_threads in self._before:
                    set_n_threads(library, n_threads)


def set_n_threads(library, n_threads):
    """Set the threads of a threadpoolctl.LibController, whichever thread has done so before."""
    library.set_num_threads(n_threads)
    # From threadpoolctl 3.8 on, OpenBLAS then belongs to this thread, and others would set it in vain.
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()


one_thread = _OneThread()
