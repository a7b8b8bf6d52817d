"""Bounds for the margitron, aggressive ROMMA, the Ballseptron and the shifting perceptron."""

import math

from margins.bounds._theorem import MARGITRON, theorem


@theorem(f"{MARGITRON}; our derivation", exponent="(0, 1]")
def margitron_updates(R: float, gamma: float, b: float, exponent: float) -> float:
    """Bound the updates of the margitron, condition a.y_k <= b t**(1 - exponent).

    It is the largest root t of gamma**2 t = R**2 + 2 b t**(1 - exponent) / (2 - exponent), from
    gamma t <= |a_t| and |a_(t+1)|**2 <= |a_t|**2 + R**2 + 2 b t**(1 - exponent).

    >>> margitron_updates(R=10.0, gamma=0.5, b=50.0, exponent=1.0)
    800.0
    """
    r = R / gamma
    linear, factor = r * r, 2 * b / gamma / gamma / (2 - exponent)
    if exponent == 1:
        return linear + factor
    t: float
    try:
        t = max(2 * linear, (2 * factor) ** (1 / exponent))  # at least the root
    except OverflowError:
        return math.inf
    while t < math.inf:  # Newton's method on a convex function, from above
        grown = factor * t**-exponent
        excess = t - linear - grown * t
        lower = t - excess / (1 - (1 - exponent) * grown)
        if not lower < t * (1 - 1e-15):
            break
        t = lower
    return t


@theorem(f"{MARGITRON}; our derivation", exponent="(0, 1]")
def margitron_fraction(R: float, gamma: float, b: float, exponent: float) -> float:
    """Bound the fraction of the margitron, condition a.y_k <= b t**(1 - exponent).

    It is 1 / (2 / (2 - exponent) + R**2 / (b t**(1 - exponent))) at the smallest number t of updates,
    (b / (R gamma))**(1 / exponent). It tends to 1 - exponent / 2 as b grows. It also holds with an upper
    bound on gamma.
    """
    if b == 0:
        return 0.0
    # R**2 / (b t**(1 - exponent)), in logarithms because t may exceed double's range.
    least = max(math.log(b / R / gamma) / exponent, 0.0)
    rest = math.exp(min(math.log(R * (R / b)) - (1 - exponent) * least, 700.0))
    return 1 / (2 / (2 - exponent) + rest)


@theorem("Li & Long (2002), The relaxed online maximum margin algorithm")
def aggressive_romma_updates(R: float, gamma: float, eps: float) -> float:
    """Bound the updates of aggressive ROMMA, condition a.y_k <= 1 - eps: (R / (eps gamma))**2.

    A solution has a margin of at least 1 - eps of gamma. eps = 1 is ROMMA.

    >>> aggressive_romma_updates(R=10.0, gamma=0.5, eps=0.5)
    1600.0
    """
    r = R / gamma / eps
    return r * r


@theorem("Shalev-Shwartz & Singer (2005), the Ballseptron; our derivation", radius="[0, gamma)")
def ballseptron_updates(R: float, gamma: float, radius: float) -> float:
    """Bound the updates of the Ballseptron: (R**2 + radius**2) / (gamma - radius)**2.

    A solution has a margin above `radius`.

    >>> ballseptron_updates(R=10.0, gamma=1.0, radius=0.0)
    100.0
    """
    r, s = R / (gamma - radius), radius / (gamma - radius)
    return r * r + s * s


@theorem("Cavallanti, Cesa-Bianchi & Gentile (2007); our derivation", shift="(0.5, inf)")
def shifting_updates(R: float, gamma: float, shift: float) -> float:
    """Bound the updates of the shifting perceptron: shift**2 / (2 shift - 1) * (R / gamma)**2.

    `shift` is its lam. The weight vector is a convex combination of the y_k, so |a| >= gamma, and
    |a_(t+1)|**2 (shift + t)**2 <= t**2 |a_t|**2 + shift**2 R**2 at a mistake.

    >>> shifting_updates(R=10.0, gamma=0.5, shift=1.0)
    400.0
    """
    r = R / gamma
    return shift * (shift / (2 * shift - 1)) * (r * r)
