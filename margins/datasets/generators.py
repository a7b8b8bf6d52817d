"""Artificial data: a halfspace with a margin and noisy labels."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from margins.data.types import RandomState
from margins.parameters import BOOLEAN, COUNT, NON_NEGATIVE, Interval, check

LARGEST_ATTRIBUTE = 10

# With the paper's margins, at least seven of ten draws are kept. A margin that keeps fewer than one in a
# hundred is close to the margins, 5 to 10, that keep none.
DRAWS_PER_SAMPLE = 100


def make_noisy_halfspace(
    n_features: int = 50,
    *,
    margin: float = 0.05,
    noise: float = 0.0,
    n_samples: int = 600,
    replace_discarded: bool = True,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw samples on both sides of a random hyperplane, and flip some of their labels.

    A pool of `n_samples` samples with independent, uniform integer attributes fixes the hyperplane:
    the weight vector w is the sum of a random half of the pool (a coin for each sample), the
    threshold theta is half the mean of |w.x| over the pool. The label of x is the sign of
    w.x - theta. Samples with ``|w.x - theta| < margin * theta`` are discarded. Finally, every label
    is flipped with probability `noise`.

    Parameters
    ----------
    n_features : int in [1, inf), default=50
    margin : float in [0, inf), default=0.05
        Smallest distance of w.x from theta, as a share of theta. Dimensionless. The paper uses 0.05 to
        0.75.
    noise : float in [0, 1], default=0.0
        Probability that a label is flipped. The paper uses 0 to 0.25.
    n_samples : int in [1, inf), default=600
        Number of samples in the pool, and in the result if discarded samples are replaced.
    replace_discarded : bool, default=True
        True: draw further samples until `n_samples` remain. False: return the remaining samples of the
        pool; for the paper's margins (up to 0.75), about seven of ten samples or more.
    random_state : int, RandomState instance or None, default=None
        The same int gives the same data, and with another `noise` the same X.

    Returns
    -------
    X : ndarray of float64, shape (n_samples, n_features)
        Integers in [-10, 10].
    y : ndarray of int64, shape (n_samples,)
        Labels -1 and 1. Label 1 is usually the minority, because theta is positive. With few samples, a
        label may be missing.

    Raises
    ------
    ValueError
        If a parameter is not allowed, or if `margin` is so large that 100 draws per sample are not
        enough or, without replacement, that no sample remains.

    Notes
    -----
    The paper does not say whether its 600 examples are counted before or after discarding. Its Table 2
    is closer to the results with ``replace_discarded=False``, that is, before (see docs/papers.md). In
    both cases, w and theta come from the pool. A pool whose w is 0 has no hyperplane and is drawn again.

    Source: Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm, artificial
    data.

    Examples
    --------
    >>> X, y = make_noisy_halfspace(3, margin=0.5, n_samples=5, random_state=1)
    >>> X
    array([[ -5.,   1.,   2.],
           [ -2.,  -1.,   1.],
           [ -5.,   5., -10.],
           [  6.,  -9.,   2.],
           [ -3.,   3.,  -4.]])
    >>> y
    array([ 1, -1,  1, -1,  1])
    """
    name = "make_noisy_halfspace"
    check("n_features", name, n_features, COUNT)
    check("margin", name, margin, NON_NEGATIVE)
    check("noise", name, noise, Interval(0, 1))
    check("n_samples", name, n_samples, COUNT)
    check("replace_discarded", name, replace_discarded, BOOLEAN)
    n_features, n_samples = int(n_features), int(n_samples)
    generator = check_random_state(random_state)

    def draw() -> NDArray[np.float64]:
        attributes = (-LARGEST_ATTRIBUTE, LARGEST_ATTRIBUTE + 1)
        integers: NDArray[np.int64] = generator.randint(*attributes, size=(n_samples, n_features))
        return integers.astype(np.float64)

    # All scores are integers, exact in double precision, so the order of summation does not matter.
    w = np.zeros(n_features)
    while not w.any():
        pool = draw()
        heads = generator.randint(2, size=n_samples) == 1
        w = pool[heads].sum(axis=0)
    theta = float(np.abs(pool @ w).mean() / 2)
    nearest = float(margin) * theta

    batches, batch, n_kept, n_drawn = [], pool, 0, 0
    while True:
        batch = batch[np.abs(batch @ w - theta) >= nearest]
        batches.append(batch)
        n_kept += len(batch)
        n_drawn += n_samples
        if n_kept >= n_samples or (n_kept and not replace_discarded):
            break
        if not replace_discarded:
            raise ValueError(
                "margin of make_noisy_halfspace must be small enough to keep at least one of "
                f"{n_samples} samples. Got {margin!r}, which keeps none."
            )
        if n_drawn >= DRAWS_PER_SAMPLE * n_samples:
            raise ValueError(
                f"margin of make_noisy_halfspace must be small enough to keep {n_samples} of {n_drawn} "
                f"samples drawn. Got {margin!r}, which keeps {n_kept}."
            )
        batch = draw()
    X = np.concatenate(batches)[:n_samples]

    y = np.where(X @ w > theta, np.int64(1), np.int64(-1))
    y[generator.uniform(size=len(y)) < noise] *= -1
    return X, y
