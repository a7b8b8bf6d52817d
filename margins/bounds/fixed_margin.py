"""Fixed thresholds: a <- a + y_k when a.y_k <= b, or when a.y_k <= (1 - eps) gamma |a|."""

import math

from margins.bounds._theorem import DYNAMIC_MARGIN, LECTURE, UNLEARNING, squared_ratio, theorem


@theorem(f"{UNLEARNING}, (17)")
def margin_perceptron_updates(R: float, gamma: float, b: float) -> float:
    """Bound the updates of the perceptron with margin: (R**2 + 2 b) / gamma**2.

    With unlearning, it bounds the learned minus the unlearned updates.

    >>> margin_perceptron_updates(R=10.0, gamma=0.5, b=50.0)
    800.0
    """
    return squared_ratio(R, gamma, b)


@theorem(f"{UNLEARNING}, (11) as delta_b grows without limit")
def margin_perceptron_fraction(R: float, b: float) -> float:
    """Bound the fraction of the perceptron with margin: b / (R**2 + 2 b), less than 1/2."""
    return b / (R * R + 2 * b)


@theorem(f"{LECTURE}, Theorem 2")
def lecture_updates(R: float, gamma: float, eps: float) -> float:
    """Bound the updates of Margin Perceptron(gamma): 2 (R / (eps gamma))**2 + 2 R / (eps gamma).

    `gamma` is the known margin of the samples, the algorithm's parameter. The lecture states eps = 1/2,
    8 (R / gamma)**2 + 4 R / gamma; its proof covers every eps.
    """
    r = R / gamma / eps
    return 2 * r * r + 2 * r


@theorem(f"{DYNAMIC_MARGIN}, Theorem 3.1")
def fixed_margin_updates(R: float, gamma: float, eps: float) -> float:
    """Bound the updates of the perceptron with fixed margin (PFM), beta = (1 - eps) gamma.

    `dynamic_margin_updates` also bounds them.

    >>> round(fixed_margin_updates(R=10.0, gamma=1.0, eps=0.5), 1)
    634.4
    """
    r = R / gamma
    excess = r - 1 + eps
    logarithm = math.log((1 + math.e) / eps) + math.log(excess)
    return (1 + 1 / math.e) / (2 * eps) * (4 * excess + r * r * logarithm)
