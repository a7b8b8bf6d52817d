"""Fixed thresholds: a <- a + y_k when a.y_k <= b, or when a.y_k <= (1 - eps) gamma |a|."""

import math

from margins.bounds._arguments import requires, squared_ratio


@requires(R="(0, inf)", gamma="(0, R]", b="[0, inf)")
def margin_perceptron_updates(R: float, gamma: float, b: float) -> float:
    """Bound the updates of the perceptron with margin: (R**2 + 2 b) / gamma**2.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]
    b : float in [0, inf)

    Returns
    -------
    float
        Updates until convergence, at most. With unlearning: learned minus unlearned updates.

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning, (17).

    Examples
    --------
    >>> margin_perceptron_updates(R=10.0, gamma=0.5, b=50.0)
    800.0
    """
    return squared_ratio(R, gamma, b)


@requires(R="(0, inf)", b="[0, inf)")
def margin_perceptron_fraction(R: float, b: float) -> float:
    """Bound the fraction of the perceptron with margin: b / (R**2 + 2 b), less than 1/2.

    Parameters
    ----------
    R : float in (0, inf)
    b : float in [0, inf)

    Returns
    -------
    float
        Fraction of the maximum margin that every solution exceeds.

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning, (11) as
    delta_b grows without limit.
    """
    return b / (R * R + 2 * b)


@requires(R="(0, inf)", gamma="(0, R]", eps="(0, 1]")
def lecture_updates(R: float, gamma: float, eps: float) -> float:
    """Bound the updates of Margin Perceptron(gamma).

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]
        Known margin of the samples, the algorithm's parameter.
    eps : float in (0, 1]

    Returns
    -------
    float
        Updates until convergence, at most: 2 (R / (eps gamma))**2 + 2 R / (eps gamma).

    Notes
    -----
    The lecture states eps = 1/2, 8 (R / gamma)**2 + 4 R / gamma; its proof covers every eps.
    Source: lecture on the perceptron and the margin perceptron, Theorem 2.
    """
    r = R / gamma / eps
    return 2 * r * r + 2 * r


@requires(R="(0, inf)", gamma="(0, R]", eps="(0, 1]")
def fixed_margin_updates(R: float, gamma: float, eps: float) -> float:
    """Bound the updates of the perceptron with fixed margin (PFM), beta = (1 - eps) gamma.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]
    eps : float in (0, 1]

    Returns
    -------
    float
        Updates until convergence, at most; dynamic_margin_updates bounds them, too.

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2011), The Perceptron with Dynamic Margin, Theorem 3.1.

    Examples
    --------
    >>> round(fixed_margin_updates(R=10.0, gamma=1.0, eps=0.5), 1)
    634.4
    """
    r = R / gamma
    excess = r - 1 + eps
    logarithm = math.log((1 + math.e) / eps) + math.log(excess)
    return (1 + 1 / math.e) / (2 * eps) * (4 * excess + r * r * logarithm)
