"""Constant shrinking (MPCS).

a <- (1 - lam) a + y_k when (1 - lam) a.y_k <= b. kappa = 0 is the perceptron with margin; runs are
only certain to end if kappa < 1.
"""

import math
from collections.abc import Callable

from margins.bounds._theorem import SHRINKING, message, squared_ratio, theorem


@theorem(f"{SHRINKING}, constraint of Theorem 3.1")
def constant_shrinking_kappa(R: float, gamma: float, b: float, lam: float) -> float:
    """Return kappa = lam (R**2 + 2 b) / ((2 - lam) gamma**2), the shrinking on a relative scale.

    The run converges if kappa is below 1.
    """
    return lam / (2 - lam) * squared_ratio(R, gamma, b)


@theorem(f"{SHRINKING}, constraint of Theorem 3.1, Remark 3", kappa="[0, 1]")
def constant_shrinking_lambda(R: float, gamma: float, b: float, kappa: float) -> float:
    """Choose lam for kappa: 2 kappa gamma**2 / (R**2 + 2 b + kappa gamma**2).

    For kappa = 1 the result is the limit below which lam must stay. A lower bound on gamma gives a lam
    whose true kappa is smaller by the square of the ratio of bound and gamma.
    """
    return 2 * kappa / (squared_ratio(R, gamma, b) + kappa)


@theorem(f"{SHRINKING}, Theorem 3.1")
def constant_shrinking_updates(R: float, gamma: float, b: float, lam: float) -> float:
    """Bound the updates of the margin perceptron with constant shrinking, kappa < 1.

    It is log((1 + kappa) / (1 - kappa)) / -log(1 - lam), which never exceeds
    (R**2 + 2 b) / gamma**2 atanh(kappa) / kappa.
    """
    kappa = _convergent_kappa(constant_shrinking_updates, R, gamma, b, lam)
    if kappa == 0:
        return squared_ratio(R, gamma, b)
    return 2 * math.atanh(kappa) / -math.log1p(-lam)


@theorem(f"{SHRINKING}, Theorem 3.1, Remark 1")
def constant_shrinking_fraction(R: float, gamma: float, b: float, lam: float) -> float:
    """Bound the fraction of the margin perceptron with constant shrinking, kappa < 1.

    It is (1 + kappa) b / (R**2 + 2 b) (2 - lam) / (2 (1 - lam)), which tends to (1 + kappa) / 2 as b
    grows at constant kappa. It is too large if gamma is too small.
    """
    kappa = _convergent_kappa(constant_shrinking_fraction, R, gamma, b, lam)
    return (1 + kappa) * b / (R * R + 2 * b) * (2 - lam) / (2 * (1 - lam))


@theorem(f"{SHRINKING}, Remark 2")
def constant_shrinking_parameters(R: float, gamma: float, eps: float) -> tuple[float, float]:
    """Choose lam and b for the accuracy eps of constant shrinking.

    lam has kappa = 1 - eps; b is R**2 (1 / eps - 1 / 2) (length squared). The fraction exceeds
    (1 - eps / 2)**2 > 1 - eps. The number of updates is at most
    (R / gamma)**2 log((2 - eps) / eps) / (eps (1 - eps)), without R / gamma in the logarithm.
    With a lower bound on gamma instead of gamma, the run ends but may not reach the accuracy.
    """
    b = R * R * (1 / eps - 0.5)
    return constant_shrinking_lambda(R, gamma, b, 1 - eps), b


def _convergent_kappa(
    bound: Callable[..., float], R: float, gamma: float, b: float, lam: float
) -> float:
    kappa = constant_shrinking_kappa(R, gamma, b, lam)
    if kappa >= 1:
        limit = constant_shrinking_lambda(R, gamma, b, kappa=1.0)
        raise ValueError(message(bound, "lam", f"in [0, {limit})", lam))
    return kappa
