"""Unlearning (MPU).

a <- a + y_k when a.y_k <= b, a <- a - y_k when a.y_k >= b + delta_b. The soft margin adds no
sample more often than its upper bound, which is b times its C.
"""

import math

from margins.bounds._theorem import UNLEARNING, squared_ratio, theorem
from margins.bounds.fixed_margin import margin_perceptron_updates


@theorem(f"{UNLEARNING}, (10)", b="(0, inf)")
def unlearning_updates(R: float, gamma: float, b: float, delta_b: float) -> float:
    """Bound the learned plus the unlearned updates, hard margin.

    It is `margin_perceptron_updates` plus twice `unlearned_updates`.

    >>> unlearning_updates(R=10.0, gamma=0.5, b=50.0, delta_b=300.0)
    1000.0
    """
    return margin_perceptron_updates(R, gamma, b) + 2 * unlearned_updates(R, gamma, b, delta_b)


@theorem(f"{UNLEARNING}, in the proof of (10)", b="(0, inf)")
def unlearned_updates(R: float, gamma: float, b: float, delta_b: float) -> float:
    """Bound the unlearned updates, hard margin: (R**2 + 2 b)**2 / (8 gamma**2 (delta_b - R**2))."""
    return squared_ratio(R, gamma, b) * (R * R + 2 * b) / (8 * (delta_b - R * R))


@theorem(f"{UNLEARNING}, (11)", b="(0, inf)")
def unlearning_fraction(R: float, b: float, delta_b: float) -> float:
    """Bound the fraction, hard margin: 1 / (1 + min(delta_b, b + R**2) / b), which solutions exceed."""
    return b / (b + min(delta_b, b + R * R))


@theorem(f"{UNLEARNING}, (11) solved for b", delta_b="(0, inf)", eps="(0, 1)")
def unlearning_threshold(delta_b: float, eps: float) -> float:
    """Choose b for the accuracy eps of the hard margin: delta_b (1 - eps) / eps.

    `unlearning_fraction` is then at least 1 - eps.

    >>> unlearning_threshold(delta_b=300.0, eps=0.25)
    900.0
    """
    return delta_b * (1 - eps) / eps


@theorem(f"{UNLEARNING}, (22)", b="(0, inf)", total_upper="(0, inf)")
def soft_unlearning_updates(R: float, b: float, delta_b: float, total_upper: float) -> float:
    """Bound the updates, 1-norm soft margin: total_upper (2 b + delta_b) / (delta_b - R**2).

    `total_upper` is the sum of the samples' upper bounds: m times the bound if all are equal.
    """
    return total_upper * (1 + (R * R + 2 * b) / (delta_b - R * R))


@theorem(f"{UNLEARNING}, (23)", delta_b="(0, inf)", b="(delta_b, inf)")
def soft_unlearning_gap(b: float, delta_b: float) -> float:
    """Bound the relative objective gap, 1-norm soft margin: 2 delta_b / (b - delta_b).

    The gap is (J - J_opt) / J_opt at w = a / b of a converged run, for
    J = |w|**2 / 2 + sum_k C_k max(0, 1 - w.y_k).
    """
    return 2 * delta_b / (b - delta_b)


@theorem(f"{UNLEARNING}, Remark 4", delta_b="(0, inf)", eps="(0, inf)")
def soft_unlearning_parameters(C: float, delta_b: float, eps: float) -> tuple[int, float]:
    """Choose the samples' upper bound and b = upper / C for a relative gap of J below eps.

    The upper bound is the number of times that each sample may be added; b is a length squared.

    >>> soft_unlearning_parameters(C=0.5, delta_b=300.0, eps=0.1)
    (3151, 6302.0)
    """
    upper = math.floor(C * delta_b * (2 + eps) / eps) + 1
    return upper, upper / C
