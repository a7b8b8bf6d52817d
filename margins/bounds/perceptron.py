"""The perceptron: a <- a + y_k when a.y_k <= 0."""

import math

from margins.bounds._arguments import requires, squared_ratio


@requires(R="(0, inf)", gamma="(0, R]")
def perceptron_updates(R: float, gamma: float) -> float:
    """Bound the updates of the perceptron: (R / gamma)**2.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]

    Returns
    -------
    float
        Updates until convergence, at most. Every epoch but the last makes an update,
        so one more bounds the epochs.

    Notes
    -----
    Source: lecture on the perceptron and the margin perceptron, Theorem 1.

    Examples
    --------
    >>> perceptron_updates(R=10.0, gamma=0.5)
    400.0
    """
    return squared_ratio(R, gamma, b=0.0)


@requires(R="(0, inf)", gamma="(0, inf)", total_deviation="[0, inf)")
def mistakes_total_deviation(R: float, gamma: float, total_deviation: float) -> float:
    """Bound the perceptron's mistakes in one pass over any sequence, separable or not.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, inf)
        Any margin (length), which the samples need not have.
    total_deviation : float in [0, inf)
        Sum over the sequence of max(0, gamma - u.y_i), for any unit vector u (length).

    Returns
    -------
    float
        Mistakes, at most. It never exceeds (R / gamma)**2 + 2 total_deviation / gamma.

    Notes
    -----
    The largest M with gamma M - total_deviation <= u.a <= |a| <= R sqrt(M).
    Source: lecture on the perceptron and the margin perceptron, mistakes in terms of the hinge
    loss.
    """
    r, deviation = R / gamma, total_deviation / gamma
    root = (r + math.sqrt(r * r + 4 * deviation)) / 2
    return root * root


@requires(R="(0, inf)", gamma="(0, inf)", square_deviation="[0, inf)")
def mistakes_square_deviation(R: float, gamma: float, square_deviation: float) -> float:
    """Bound the perceptron's mistakes in one pass over any sequence: ((R + D) / gamma)**2.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, inf)
        Any margin (length), which the samples need not have.
    square_deviation : float in [0, inf)
        D, root of the sum over the sequence of max(0, gamma - u.y_i)**2, for any unit vector
        u (length).

    Returns
    -------
    float
        Mistakes, at most.

    Notes
    -----
    Source: Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm, bound in
    terms of the square deviation, here without a threshold (Freund & Schapire, 1999).
    """
    root = R / gamma + square_deviation / gamma
    return root * root


@requires(R="(0, inf)", gamma="(0, inf)", square_deviation="[0, inf)")
def mistakes_learned_threshold(R: float, gamma: float, square_deviation: float) -> float:
    """Bound the mistakes of a perceptron that learns its threshold: (2 (R + D) / gamma)**2.

    Parameters
    ----------
    R : float in (0, inf)
        Largest norm of a sample x_i, not augmented. Each mistake moves the threshold by R**2, as
        augmentation by rho = R does.
    gamma : float in (0, inf)
        Any margin (length), which the samples need not have.
    square_deviation : float in [0, inf)
        D, root of the sum over the sequence of max(0, gamma - l_i (u.x_i - theta))**2, for any unit
        vector u and threshold theta in [-R, R] (length); l_i = -1 or +1.

    Returns
    -------
    float
        Mistakes in one pass over any sequence, at most.

    Notes
    -----
    Source: Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm, bound in
    terms of the square deviation.
    """
    return 4 * mistakes_square_deviation(R, gamma, square_deviation)
