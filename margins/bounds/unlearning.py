"""Unlearning (MPU).

a <- a + y_k when a.y_k <= b, a <- a - y_k when a.y_k >= b + delta_b. The soft margin adds no
sample more often than its upper bound, which is b times its C.
"""

import math

from margins.bounds._arguments import requires, squared_ratio
from margins.bounds.fixed_margin import margin_perceptron_updates


@requires(R="(0, inf)", gamma="(0, R]", b="(0, inf)", delta_b="(R**2, inf]")
def unlearning_updates(R: float, gamma: float, b: float, delta_b: float) -> float:
    """Bound the updates of the margin perceptron with unlearning, hard margin.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]
    b : float in (0, inf)
    delta_b : float in (R**2, inf]

    Returns
    -------
    float
        Learned plus unlearned updates until convergence, at most.

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning, (10).

    Examples
    --------
    >>> unlearning_updates(R=10.0, gamma=0.5, b=50.0, delta_b=300.0)
    1000.0
    """
    return margin_perceptron_updates(R, gamma, b) + 2 * unlearned_updates(R, gamma, b, delta_b)


@requires(R="(0, inf)", gamma="(0, R]", b="(0, inf)", delta_b="(R**2, inf]")
def unlearned_updates(R: float, gamma: float, b: float, delta_b: float) -> float:
    """Bound those of the margin perceptron's updates that unlearn, hard margin.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]
    b : float in (0, inf)
    delta_b : float in (R**2, inf]

    Returns
    -------
    float
        Unlearned updates until convergence, at most:
        (R**2 + 2 b)**2 / (8 gamma**2 (delta_b - R**2)).

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning, in the
    proof of (10).
    """
    return squared_ratio(R, gamma, b) * (R * R + 2 * b) / (8 * (delta_b - R * R))


@requires(R="(0, inf)", b="(0, inf)", delta_b="(R**2, inf]")
def unlearning_fraction(R: float, b: float, delta_b: float) -> float:
    """Bound the fraction of the margin perceptron with unlearning, hard margin.

    Parameters
    ----------
    R : float in (0, inf)
    b : float in (0, inf)
    delta_b : float in (R**2, inf]

    Returns
    -------
    float
        Fraction of the maximum margin that every solution exceeds:
        1 / (1 + min(delta_b, b + R**2) / b).

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning, (11).
    """
    return b / (b + min(delta_b, b + R * R))


@requires(delta_b="(0, inf)", eps="(0, 1)")
def unlearning_threshold(delta_b: float, eps: float) -> float:
    """Choose b for the accuracy eps of the hard margin: delta_b (1 - eps) / eps.

    Parameters
    ----------
    delta_b : float in (0, inf)
    eps : float in (0, 1)

    Returns
    -------
    float
        b, at which unlearning_fraction is at least 1 - eps.

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning, (11) solved
    for b.

    Examples
    --------
    >>> unlearning_threshold(delta_b=300.0, eps=0.25)
    900.0
    """
    return delta_b * (1 - eps) / eps


@requires(R="(0, inf)", b="(0, inf)", delta_b="(R**2, inf]", total_upper="(0, inf)")
def soft_unlearning_updates(R: float, b: float, delta_b: float, total_upper: float) -> float:
    """Bound the updates of the margin perceptron with unlearning, 1-norm soft margin.

    Parameters
    ----------
    R : float in (0, inf)
    b : float in (0, inf)
    delta_b : float in (R**2, inf]
    total_upper : float in (0, inf)
        Sum of the samples' upper bounds; m times the bound if all are equal.

    Returns
    -------
    float
        Updates until convergence, at most: total_upper (2 b + delta_b) / (delta_b - R**2).

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning, (22).
    """
    return total_upper * (1 + (R * R + 2 * b) / (delta_b - R * R))


@requires(delta_b="(0, inf)", b="(delta_b, inf)")
def soft_unlearning_gap(b: float, delta_b: float) -> float:
    """Bound the relative objective gap of the margin perceptron with unlearning.

    Parameters
    ----------
    b : float in (delta_b, inf)
    delta_b : float in (0, inf)

    Returns
    -------
    float
        (J - J_opt) / J_opt, at most, at w = a / b of a converged run, for
        J = |w|**2 / 2 + sum_k C_k max(0, 1 - w.y_k).

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning, (23).
    """
    return 2 * delta_b / (b - delta_b)


@requires(C="(0, inf)", delta_b="(0, inf)", eps="(0, inf)")
def soft_unlearning_parameters(C: float, delta_b: float, eps: float) -> tuple[int, float]:
    """Choose the upper bound and b for a relative objective gap below eps.

    Parameters
    ----------
    C : float in (0, inf)
        Cost of slack in J (1 / length squared).
    delta_b : float in (0, inf)
    eps : float in (0, inf)
        Required relative gap of J.

    Returns
    -------
    upper : int
        How often each sample may be added.
    b : float
        upper / C (length squared).

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning, Remark 4.

    Examples
    --------
    >>> soft_unlearning_parameters(C=0.5, delta_b=300.0, eps=0.1)
    (3151, 6302.0)
    """
    upper = math.floor(C * delta_b * (2 + eps) / eps) + 1
    return upper, upper / C
