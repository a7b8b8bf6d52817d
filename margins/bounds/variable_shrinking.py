"""Variable shrinking (MPVS).

a <- s a + y_k when s a.y_k <= b, with s = (t / (t + 1))**n. n = 0 is the perceptron with margin.
"""

import math

from margins.bounds._theorem import SHRINKING, squared_ratio, theorem


@theorem(f"{SHRINKING}, Theorem 3.2, (23)")
def variable_shrinking_updates(R: float, gamma: float, b: float, n: int) -> float:
    """Bound the updates: (n + 1)**2 / (2 n + 1) (R**2 + 2 b) / gamma**2.

    >>> variable_shrinking_updates(R=10.0, gamma=0.5, b=50.0, n=2)
    1440.0
    """
    return (n + 1) * (n + 1) / (2 * n + 1) * squared_ratio(R, gamma, b)


@theorem(f"{SHRINKING}, Remark 6")
def variable_shrinking_least_updates(R: float, gamma: float, b: float, n: int) -> float:
    """Bound the updates from below: more than (2 n + 1) b**2 / ((R**2 + 2 b) gamma**2).

    Unlike the upper bounds, it does not hold with a lower bound on gamma instead of gamma.
    """
    return (2 * n + 1) * b / (R * R + 2 * b) * (b / gamma / gamma)


@theorem(f"{SHRINKING}, Theorem 3.2, (24)")
def variable_shrinking_fraction(R: float, b: float, n: int) -> float:
    """Bound the fraction: (2 n + 1) / (n + 1) b / (R**2 + 2 b), which solutions exceed.

    It tends to 1 - 1 / (2 (n + 1)) as b grows.
    """
    return (2 * n + 1) / (n + 1) * b / (R * R + 2 * b)


@theorem(f"{SHRINKING}, Theorem 3.2, Remark 5")
def variable_shrinking_parameters(R: float, eps: float) -> tuple[int, float]:
    """Choose n and b for the accuracy eps of variable shrinking, regardless of gamma.

    n is the smallest with n + 1 >= 1 / eps; b is R**2 (1 / eps - 1 / 2) (length squared). The fraction
    exceeds (1 - eps / 2)**2 > 1 - eps.

    >>> variable_shrinking_parameters(R=10.0, eps=0.25)
    (3, 350.0)
    """
    return math.ceil(1 / eps) - 1, R * R * (1 / eps - 0.5)
