"""One-vs-rest: one binary problem per class, over one shared matrix."""

import functools
import threading
from collections import deque
from numbers import Integral

import numpy as np
from joblib.parallel import get_active_backend
from sklearn.utils import check_random_state

from margins.linalg.teams import team_of
from margins.linalg.threads import one_thread
from margins.linalg.time_limits import Cancellation


def positive_codes(n_classes):
    """The positive class of each binary problem; two classes make one problem."""
    return [1] if n_classes == 2 else list(range(n_classes))


def labels_of_scores(scores, classes):
    """The class with the largest score; of two classes, the second if its score is positive.

    Parameters
    ----------
    scores : ndarray of float64, shape (..., n_samples) for two classes, else (..., n_classes)
    classes : ndarray, shape (n_classes,)

    Returns
    -------
    ndarray, shape (..., n_samples)
    """
    return classes[(scores > 0).astype(int) if len(classes) == 2 else scores.argmax(axis=-1)]


def seeds_of(random_state, n_problems):
    """A seed for each binary problem, drawn in advance, so that results do not depend on threads.

    Parameters
    ----------
    random_state : int, numpy.random.RandomState or None
        As scikit-learn's.
    n_problems : int

    Returns
    -------
    list of int
    """
    if type(random_state) is int or isinstance(random_state, Integral):
        return list(_seeds_of_integer(int(random_state), n_problems))
    return _draw(check_random_state(random_state), n_problems)


@functools.lru_cache
def _seeds_of_integer(seed, n_problems):
    # Creating a generator takes longer than an epoch of a small fit.
    return tuple(_draw(check_random_state(seed), n_problems))


def _draw(generator, n_problems):
    with one_thread.no_fork():  # NumPy's global generator has a lock
        return generator.randint(np.iinfo(np.int32).max, size=n_problems).tolist()


def one_vs_rest(train, seeds, n_jobs, in_turn=False):
    """Train one binary problem per class; with two classes, a single problem.

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

    Returns
    -------
    list
        The values that `train` returned, in the order of the problems.
    """
    n_all = n_threads_of(n_jobs)
    n_threads = 1 if in_turn else min(n_all, len(seeds))

    def train_by_team(index, seed):
        with team_of(n_all // n_threads):
            return train(index, seed)

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
    if n_problems == 1:
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
