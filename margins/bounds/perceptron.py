"""The perceptron: a <- a + y_k when a.y_k <= 0."""

import math

from margins.bounds._theorem import LECTURE, NOISE, squared_ratio, theorem


@theorem(f"{LECTURE}, Theorem 1")
def perceptron_updates(R: float, gamma: float) -> float:
    """Bound the updates of the perceptron: (R / gamma)**2.

    Every epoch except the last makes an update, so the number of epochs is at most one more.

    >>> perceptron_updates(R=10.0, gamma=0.5)
    400.0
    """
    return squared_ratio(R, gamma, b=0.0)


@theorem(f"{LECTURE}, mistakes in terms of the hinge loss", gamma="(0, inf)", total_deviation="[0, inf)")
def mistakes_total_deviation(R: float, gamma: float, total_deviation: float) -> float:
    """Bound the perceptron's mistakes in one pass over any sequence, separable or not.

    It is the largest M with gamma M - total_deviation <= u.a <= |a| <= R sqrt(M), which never exceeds
    (R / gamma)**2 + 2 total_deviation / gamma. `gamma` is any length; the samples need not have this
    margin. `total_deviation` is the sum over the sequence of max(0, gamma - u.y_i), for any unit vector
    u (length).
    """
    r, deviation = R / gamma, total_deviation / gamma
    root = (r + math.sqrt(r * r + 4 * deviation)) / 2
    return root * root


@theorem(
    f"{NOISE}, square deviation, here without a threshold (Freund & Schapire, 1999)",
    gamma="(0, inf)",
    square_deviation="[0, inf)",
)
def mistakes_square_deviation(R: float, gamma: float, square_deviation: float) -> float:
    """Bound the perceptron's mistakes in one pass over any sequence: ((R + D) / gamma)**2.

    `gamma` is as for `mistakes_total_deviation`. `square_deviation` is D, the root of the sum over the
    sequence of max(0, gamma - u.y_i)**2, for any unit vector u (length).
    """
    root = R / gamma + square_deviation / gamma
    return root * root


@theorem(f"{NOISE}, square deviation", gamma="(0, inf)", square_deviation="[0, inf)")
def mistakes_learned_threshold(R: float, gamma: float, square_deviation: float) -> float:
    """Bound the mistakes of a perceptron that learns its threshold: (2 (R + D) / gamma)**2.

    It holds for one pass over any sequence. `R` is the largest norm of a sample x_i, not augmented: each
    mistake moves the threshold by R**2, as augmentation by rho = R does. `gamma` is as for
    `mistakes_total_deviation`. `square_deviation` is D, the root of the sum over the sequence of
    max(0, gamma - l_i (u.x_i - theta))**2, for any unit vector u and threshold theta in [-R, R]
    with l_i = -1 or +1.
    """
    return 4 * mistakes_square_deviation(R, gamma, square_deviation)
