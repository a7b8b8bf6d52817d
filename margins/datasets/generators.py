"""Artificial data whose margin is known: halfspaces, and a disc in a ring; labels may be noisy."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from margins.data.types import RandomState
from margins.parameters import BOOLEAN, COUNT, NON_NEGATIVE, POSITIVE, Interval, check

LARGEST_ATTRIBUTE = 10

# With the paper's margins, at least seven of ten draws are kept. A margin that keeps fewer than one in a
# hundred is close to the margins, 5 to 10, that keep none.
DRAWS_PER_SAMPLE = 100

PAIR = Interval(2, np.inf, "left", integer=True)


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


def make_separable(
    n_features: int = 2, *, margin: float = 0.1, n_samples: int = 100, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw samples on both sides of a hyperplane through 0, with a given maximum margin.

    Coordinates along the hyperplane are normal, and distances from it `margin` plus the size of a normal
    number. One sample of each class is at `margin` from the same point of the hyperplane, so that no
    hyperplane has a larger margin, with or without an intercept, penalised or free.

    Parameters
    ----------
    n_features : int in [1, inf), default=2
    margin : float in (0, inf), default=0.1
        The maximum margin, exact except for rounding.
    n_samples : int in [2, inf), default=100
        Number of samples, half of them in each class.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of float64, shape (n_samples, n_features)
    y : ndarray of int64, shape (n_samples,)
        Labels -1 and 1, in turn.

    Raises
    ------
    ValueError
        If a parameter is not allowed.

    Examples
    --------
    >>> import margins
    >>> X, y = make_separable(margin=0.2, random_state=0)
    >>> classifier = margins.MarginClassifier(C=np.inf, eps=1e-4).fit(X, y)
    >>> print(f"{classifier.certificates_[0].margin:.3f}")
    0.200
    """
    name = "make_separable"
    check("n_features", name, n_features, COUNT)
    check("margin", name, margin, POSITIVE)
    check("n_samples", name, n_samples, PAIR)
    generator = check_random_state(random_state)
    w = generator.normal(size=n_features)
    w /= np.linalg.norm(w)
    X = generator.normal(size=(n_samples, n_features))
    X[1] = X[0]  # the closest pair
    distances = margin + np.abs(generator.normal(size=n_samples))
    distances[:2] = margin
    y = np.where(np.arange(n_samples) % 2, np.int64(1), np.int64(-1))
    return X + np.outer(y * distances - X @ w, w), y


def make_noisy_ring(
    n_samples: int = 200, *, margin: float = 0.1, noise: float = 0.1, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw a disc and a ring around it, which no line separates, and flip some of their labels.

    Samples of the disc are uniform up to the radius ``1 - margin``, samples of the ring uniform from
    ``1 + margin`` to ``1 + margin + sqrt(2)``. One sample of each is at `margin` from the unit circle.

    Parameters
    ----------
    n_samples : int in [2, inf), default=200
        Number of samples, half of them in the disc.
    margin : float in [0, 1), default=0.1
        Smallest distance of a sample from the unit circle.
    noise : float in [0, 1], default=0.1
        Probability that a label is flipped.
    random_state : int, RandomState instance or None, default=None
        The same int gives the same X with another `noise`.

    Returns
    -------
    X : ndarray of float64, shape (n_samples, 2)
    y : ndarray of int64, shape (n_samples,)
        Before labels are flipped, 1 in the disc and -1 in the ring, in turn.

    Raises
    ------
    ValueError
        If a parameter is not allowed.

    Examples
    --------
    >>> X, y = make_noisy_ring(noise=0, random_state=0)
    >>> radii = np.hypot(*X.T)
    >>> bool(np.all((radii < 1) == (y == 1))), round(float(np.abs(radii - 1).min()), 12)
    (True, 0.1)
    """
    name = "make_noisy_ring"
    check("n_samples", name, n_samples, PAIR)
    check("margin", name, margin, Interval(0, 1, "left"))
    check("noise", name, noise, Interval(0, 1))
    generator = check_random_state(random_state)
    angles, shares = 2 * np.pi * generator.uniform(size=n_samples), generator.uniform(size=n_samples)
    shares[:2] = 1, 0  # the samples closest to the circle
    y = np.where(np.arange(n_samples) % 2, np.int64(-1), np.int64(1))
    ends = np.where(y == 1, 0, 1 + margin), np.where(y == 1, 1 - margin, 1 + margin + np.sqrt(2))
    radii = np.sqrt(ends[0] ** 2 + shares * (ends[1] ** 2 - ends[0] ** 2))
    y[generator.uniform(size=n_samples) < noise] *= -1
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]), y
