"""One-vs-rest: one binary problem per class, over one shared matrix."""

import numpy as np
from joblib import Parallel, delayed


def one_vs_rest(train, codes, n_classes, generator, n_jobs):
    """Train one binary problem per class; for two classes, one problem altogether.

    Parameters
    ----------
    train : callable
        ``train(positive, seed)`` with `positive`, ndarray of bool, shape (m,).
    codes : ndarray of int, shape (m,)
        Class of every sample, 0 .. n_classes - 1.
    n_classes : int
    generator : numpy.random.RandomState
        Gives each problem its own seed before any of them starts, so that results do not depend on
        `n_jobs`.
    n_jobs : int or None
        Threads, as joblib counts them: the kernels release the GIL and share the matrix.

    Returns
    -------
    list
        What `train` returned, in the order of the classes.
    """
    positives = [1] if n_classes == 2 else list(range(n_classes))
    seeds = generator.randint(np.iinfo(np.int32).max, size=len(positives))
    # Shared memory is required, not preferred: a process backend around us would copy X.
    return Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(lambda code, seed: train(codes == code, seed))(code, int(seed))
        for code, seed in zip(positives, seeds, strict=True)
    )
