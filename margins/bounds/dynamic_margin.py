"""The dynamic margin (PDM): a <- a + y_k when a.y_k <= (1 - eps) |a|**2 / t."""

import math
import sys

from margins.bounds._theorem import DYNAMIC_MARGIN, squared_ratio, theorem


@theorem(f"{DYNAMIC_MARGIN}, Theorem 3.2")
def dynamic_margin_updates(R: float, gamma: float, eps: float) -> float:
    """Bound the updates of the perceptron with dynamic margin.

    With r = R / gamma, it grows as r**(1 / eps) for eps < 1/2, as r**2 log(r) for eps = 1/2 and as r**2
    for eps > 1/2; eps = 1 is the perceptron. As eps approaches 1/2 from either side, the formulas exceed
    the formula for eps = 1/2.

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


@theorem(
    f"{DYNAMIC_MARGIN}, Theorem 3.2 with (15)", eps="(0, 0.5)", n_updates="[1, inf)", norm="(0, inf)"
)
def dynamic_margin_updates_after(
    R: float, gamma: float, eps: float, n_updates: int, norm: float
) -> float:
    """Bound the updates of the perceptron with dynamic margin from the state of a run.

    The bound includes the updates so far, `n_updates` or N. `eps` is the accuracy from now on, which may
    have changed. `norm` is |a| after the N updates, or an upper bound on it (length); |a| is between
    gamma N and R N.
    """
    norm = min(max(norm, gamma * n_updates), R * n_updates)
    return _dynamic_margin_updates(R / gamma, eps, n_updates, norm / R / n_updates)


@theorem(
    f"{DYNAMIC_MARGIN}, relation between successive runs, with Theorem 3.2's last factor",
    eps="(0, 0.5)",
    previous_eps="(eps, 1)",
    previous_updates="[1, inf)",
)
def successive_dynamic_margin_updates(
    R: float, gamma: float, eps: float, previous_eps: float, previous_updates: int
) -> float:
    """Bound the updates of one of PDM's successive runs from the updates of the previous run.

    The bound includes the updates of all earlier runs. The previous run converged with accuracy
    `previous_eps` at `previous_updates` updates, so |a| < gamma previous_updates / (1 - previous_eps).
    """
    norm = gamma * previous_updates / (1 - previous_eps)
    return dynamic_margin_updates_after(R, gamma, eps, previous_updates, norm)


def _dynamic_margin_updates(r: float, eps: float, n_updates: int, alpha: float) -> float:
    """Return Theorem 3.2's bound for eps < 1/2, given |a| <= alpha R N after N updates.

    With rest = 1 - 2 eps, t0 = N (alpha r)**(1 / eps) (1 + 1 / (alpha**2 N rest))**(1 / (2 eps)):
    t <= t0 (1 - r**2 / (rest t0))**(1 / (2 eps)). Here log(t / N) is regrouped, because t0 overflows for
    small eps and the difference cancels for eps near 1/2.
    """
    rest = 1 - 2 * eps
    log_r2 = 2 * math.log(r)
    log_t0 = (log_r2 + math.log(alpha * alpha + 1 / (n_updates * rest))) / (2 * eps)
    growth = alpha * alpha - math.expm1(-rest * log_t0) / (n_updates * rest)
    log_t = math.log(n_updates) + (log_r2 + math.log(growth)) / (2 * eps)
    return math.exp(log_t) if log_t <= math.log(sys.float_info.max) else math.inf
