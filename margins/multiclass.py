"""One-vs-rest: one binary problem per class, over one shared matrix."""

import functools
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state


def positive_codes(n_classes):
    """The class that each binary problem has as its positive one; two classes make one problem."""
    return [1] if n_classes == 2 else list(range(n_classes))


def seeds_of(random_state, n_problems):
    """A seed for each binary problem, drawn before any starts: results do not depend on threads.

    Parameters
    ----------
    random_state : int, numpy.random.RandomState or None
        As scikit-learn's.
    n_problems : int

    Returns
    -------
    list of int
    """
    if isinstance(random_state, Integral):
        return list(_seeds_of_integer(int(random_state), n_problems))
    return _draw(check_random_state(random_state), n_problems)


@functools.lru_cache
def _seeds_of_integer(seed, n_problems):
    # Making a generator takes longer than an epoch of a small fit.
    return tuple(_draw(check_random_state(seed), n_problems))


def _draw(generator, n_problems):
    return generator.randint(np.iinfo(np.int32).max, size=n_problems).tolist()


def one_vs_rest(train, seeds, n_jobs):
    """Train one binary problem per class; for two classes, one problem altogether.

    Parameters
    ----------
    train : callable
        ``train(index, seed)``, `index` being the problem's.
    seeds : list of int
        One for each problem.
    n_jobs : int or None
        Threads, as joblib counts them: the kernels release the GIL and share the matrix.

    Returns
    -------
    list
        What `train` returned, in the order of the problems.
    """
    if len(seeds) == 1:
        return [train(0, seeds[0])]
    # Shared memory is required, not preferred: a process backend around us would copy X.
    return Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(train)(index, seed) for index, seed in enumerate(seeds)
    )
