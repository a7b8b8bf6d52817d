"""Variable shrinking (MPVS).

a <- s a + y_k when s a.y_k <= b, with s = (t / (t + 1))**n. n = 0 is the perceptron with margin.
"""

import math

from margins.bounds._arguments import requires, squared_ratio


@requires(R="(0, inf)", gamma="(0, R]", b="[0, inf)", n="[0, inf)")
def variable_shrinking_updates(R: float, gamma: float, b: float, n: int) -> float:
    """Bound the updates of the margin perceptron with variable shrinking.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]
    b : float in [0, inf)
    n : int in [0, inf)

    Returns
    -------
    float
        Updates until convergence, at most: (n + 1)**2 / (2 n + 1) (R**2 + 2 b) / gamma**2.

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2012), The Role of Weight Shrinking in Large Margin
    Perceptron Learning, Theorem 3.2, (23).

    Examples
    --------
    >>> variable_shrinking_updates(R=10.0, gamma=0.5, b=50.0, n=2)
    1440.0
    """
    return (n + 1) * (n + 1) / (2 * n + 1) * squared_ratio(R, gamma, b)


@requires(R="(0, inf)", gamma="(0, R]", b="[0, inf)", n="[0, inf)")
def variable_shrinking_least_updates(R: float, gamma: float, b: float, n: int) -> float:
    """Bound the updates of the margin perceptron with variable shrinking from below.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]
    b : float in [0, inf)
    n : int in [0, inf)

    Returns
    -------
    float
        Convergence takes more updates than this: (2 n + 1) b**2 / ((R**2 + 2 b) gamma**2).

    Notes
    -----
    Unlike the upper bounds it does not hold with a lower bound on gamma in gamma's place.
    Source: Panagiotakopoulos & Tsampouka (2012), The Role of Weight Shrinking in Large Margin
    Perceptron Learning, Remark 6.
    """
    return (2 * n + 1) * b / (R * R + 2 * b) * (b / gamma / gamma)


@requires(R="(0, inf)", b="[0, inf)", n="[0, inf)")
def variable_shrinking_fraction(R: float, b: float, n: int) -> float:
    """Bound the fraction of the margin perceptron with variable shrinking.

    Parameters
    ----------
    R : float in (0, inf)
    b : float in [0, inf)
    n : int in [0, inf)

    Returns
    -------
    float
        Fraction of the maximum margin that every solution exceeds:
        (2 n + 1) / (n + 1) b / (R**2 + 2 b).

    Notes
    -----
    It tends to 1 - 1 / (2 (n + 1)) as b grows.
    Source: Panagiotakopoulos & Tsampouka (2012), The Role of Weight Shrinking in Large Margin
    Perceptron Learning, Theorem 3.2, (24).
    """
    return (2 * n + 1) / (n + 1) * b / (R * R + 2 * b)


@requires(R="(0, inf)", eps="(0, 1]")
def variable_shrinking_parameters(R: float, eps: float) -> tuple[int, float]:
    """Choose n and b for the accuracy eps of variable shrinking, whatever gamma is.

    Parameters
    ----------
    R : float in (0, inf)
    eps : float in (0, 1]

    Returns
    -------
    n : int
        The least with n + 1 >= 1 / eps.
    b : float
        R**2 (1 / eps - 1 / 2) (length squared).

    Notes
    -----
    The fraction exceeds (1 - eps / 2)**2 > 1 - eps.
    Source: Panagiotakopoulos & Tsampouka (2012), The Role of Weight Shrinking in Large Margin
    Perceptron Learning, Theorem 3.2, Remark 5.

    Examples
    --------
    >>> variable_shrinking_parameters(R=10.0, eps=0.25)
    (3, 350.0)
    """
    return math.ceil(1 / eps) - 1, R * R * (1 / eps - 0.5)
