"""The dynamic margin (PDM): a <- a + y_k when a.y_k <= (1 - eps) |a|**2 / t."""

import math
import sys

from margins.bounds._arguments import requires, squared_ratio


@requires(R="(0, inf)", gamma="(0, R]", eps="(0, 1]")
def dynamic_margin_updates(R: float, gamma: float, eps: float) -> float:
    """Bound the updates of the perceptron with dynamic margin.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]
    eps : float in (0, 1]

    Returns
    -------
    float
        Updates until convergence, at most. With r = R / gamma, it grows as r**(1 / eps) below
        eps = 1/2, as r**2 log(r) there and as r**2 above; eps = 1 is the perceptron.

    Notes
    -----
    As eps approaches 1/2 from either side the formulas exceed the one for eps = 1/2 itself.
    Source: Panagiotakopoulos & Tsampouka (2011), The Perceptron with Dynamic Margin, Theorem 3.2.

    Examples
    --------
    >>> dynamic_margin_updates(R=10.0, gamma=1.0, eps=1.0)
    100.0
    >>> round(dynamic_margin_updates(R=10.0, gamma=1.0, eps=0.5), 1)
    809.6
    >>> dynamic_margin_updates(R=10.0, gamma=1.0, eps=0.003)
    inf
    """
    if eps < 0.5:
        # |a| <= R N after any N updates. The theorem takes N = [1 / eps].
        return _dynamic_margin_updates(R / gamma, eps, math.floor(min(1 / eps, 2.0**53)), 1.0)
    r2 = squared_ratio(R, gamma, b=0.0)
    if eps == 0.5:
        return (1 + 1 / math.e) * r2 * math.log((1 + math.e) * r2)
    power = 2 * eps - 1
    t0 = eps * (3 - 2 * eps) / power * r2
    # 1 - 2 (1 - eps) t0**(1 - 2 eps), without its cancellation near eps = 1/2
    exponent = -power * math.log(t0)
    return t0 * (power * math.exp(exponent) - math.expm1(exponent))


@requires(R="(0, inf)", gamma="(0, R]", eps="(0, 0.5)", n_updates="[1, inf)", norm="(0, inf)")
def dynamic_margin_updates_after(
    R: float, gamma: float, eps: float, n_updates: int, norm: float
) -> float:
    """Bound the updates of the perceptron with dynamic margin from what a run has reached.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]
    eps : float in (0, 0.5)
        Accuracy from now on; it may have been another before.
    n_updates : int in [1, inf)
        Updates so far, N.
    norm : float in (0, inf)
        |a| after them, or an upper bound on it (length). It is between gamma N and R N.

    Returns
    -------
    float
        Updates until convergence, those so far included, at most.

    Notes
    -----
    Source: Panagiotakopoulos & Tsampouka (2011), The Perceptron with Dynamic Margin, Theorem 3.2
    with (15).
    """
    norm = min(max(norm, gamma * n_updates), R * n_updates)
    return _dynamic_margin_updates(R / gamma, eps, n_updates, norm / R / n_updates)


@requires(
    R="(0, inf)",
    gamma="(0, R]",
    eps="(0, 0.5)",
    previous_eps="(eps, 1)",
    previous_updates="[1, inf)",
)
def successive_dynamic_margin_updates(
    R: float, gamma: float, eps: float, previous_eps: float, previous_updates: int
) -> float:
    """Bound the updates of one of PDM's successive runs from those of the run before.

    Parameters
    ----------
    R : float in (0, inf)
    gamma : float in (0, R]
    eps : float in (0, 0.5)
        Accuracy of this run.
    previous_eps : float in (eps, 1)
        Accuracy of the run before, which converged.
    previous_updates : int in [1, inf)
        Updates at its convergence, all earlier runs included.

    Returns
    -------
    float
        Updates until this run converges, all earlier runs included, at most.

    Notes
    -----
    Convergence of the run before implies |a| < gamma previous_updates / (1 - previous_eps).
    Source: Panagiotakopoulos & Tsampouka (2011), The Perceptron with Dynamic Margin, relation
    between successive runs, with Theorem 3.2's last factor.
    """
    norm = gamma * previous_updates / (1 - previous_eps)
    return dynamic_margin_updates_after(R, gamma, eps, previous_updates, norm)


def _dynamic_margin_updates(r: float, eps: float, n_updates: int, alpha: float) -> float:
    """Return Theorem 3.2's bound for eps < 1/2, given |a| <= alpha R N after N updates.

    With rest = 1 - 2 eps, t0 = N (alpha r)**(1 / eps) (1 + 1 / (alpha**2 N rest))**(1 / (2 eps)):
    t <= t0 (1 - r**2 / (rest t0))**(1 / (2 eps)). Here log(t / N) is regrouped, since t0 overflows
    for small eps and the difference cancels for eps near 1/2.
    """
    rest = 1 - 2 * eps
    log_r2 = 2 * math.log(r)
    log_t0 = (log_r2 + math.log(alpha * alpha + 1 / (n_updates * rest))) / (2 * eps)
    growth = alpha * alpha - math.expm1(-rest * log_t0) / (n_updates * rest)
    log_t = math.log(n_updates) + (log_r2 + math.log(growth)) / (2 * eps)
    return math.exp(log_t) if log_t <= math.log(sys.float_info.max) else math.inf
