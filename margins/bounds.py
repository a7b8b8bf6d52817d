"""Bounds on the number of updates and on the margin that are known before a run.

Every bound holds for any order of the samples, and therefore also with active sets and with multiple
updates; an update of multiplicity mu counts mu times.

======= ==========================================================================================
R       Largest norm |y_k| of the samples, signed, augmented and with slack. A length.
gamma   Maximum directional margin of the same y_k, max over unit u of min_k u.y_k. A length.
b       Threshold of the condition a.y_k <= b under which y_k is added. A length squared.
delta_b Distance from b to the threshold above which y_k is unlearned. A length squared.
eps     Accuracy: the required fraction of the maximum margin is 1 - eps. Dimensionless.
lam, n  Amount and power of the shrinking at each update. Dimensionless.
C       Cost of slack in the objective. One over a length squared.
======= ==========================================================================================

The docstring of a bound gives the formula, the range of each argument, other symbols and the source.

Functions named ``..._updates`` bound the updates until convergence from above. They decrease with
gamma, so they also hold with a lower bound on gamma instead of gamma. Functions named
``..._fraction`` bound from below the share of gamma that a solution's directional margin,
min_k a.y_k / |a|, must reach. ``..._parameters`` and similar functions choose parameters for an
accuracy. All are scale free: multiplying lengths by z and squared lengths by z**2 changes no
dimensionless result. A bound that exceeds the range of a double is ``math.inf``.

Every function raises ``TypeError`` for an argument that is not a number of the stated kind and
``ValueError`` for an argument outside the stated range.
"""

import functools
import inspect
import math
import sys
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeVar

__all__: list[str] = []  # every bound adds its name

Bound = TypeVar("Bound", bound=Callable[..., Any])

LECTURE = "lecture on the perceptron and the margin perceptron"
MARGITRON = "Panagiotakopoulos & Tsampouka (2008), The Margitron"
UNLEARNING = "Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning"
DYNAMIC_MARGIN = "Panagiotakopoulos & Tsampouka (2011), The Perceptron with Dynamic Margin"
SHRINKING = "Panagiotakopoulos & Tsampouka (2012), The Role of Weight Shrinking in Large Margin"
SHRINKING += " Perceptron Learning"
NOISE = "Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm"

# Ranges of the symbols that `margins.bounds` defines, unless a bound states another range.
RANGES = {
    "R": "(0, inf)",
    "gamma": "(0, R]",
    "b": "[0, inf)",
    "delta_b": "(R**2, inf]",
    "eps": "(0, 1]",
    "lam": "[0, 1)",
    "n": "[0, inf)",
    "C": "(0, inf)",
}


def _theorem(source: str, **ranges: str) -> Callable[[Bound], Bound]:
    """State the source of a bound and the ranges of its arguments, which may name earlier ones."""

    def decorate(bound: Bound) -> Bound:
        __all__.append(bound.__name__)
        signature = inspect.signature(bound)
        usual = {name: RANGES[name] for name in signature.parameters if name not in ranges}
        checks = usual | ranges

        @functools.wraps(bound)
        def checked(*args: Any, **kwargs: Any) -> Any:
            arguments = signature.bind(*args, **kwargs).arguments
            for name, interval in checks.items():
                kind = signature.parameters[name].annotation  # float or int
                if not isinstance(arguments[name], Integral if kind is int else Real):
                    raise TypeError(_message(bound, name, f"of type {kind.__name__}", arguments[name]))
                # Python's numbers, because NumPy's give a warning if a bound is infinite.
                arguments[name] = kind(arguments[name])
                if not _inside(arguments[name], interval, arguments):
                    raise ValueError(_message(bound, name, f"in {interval}", arguments[name]))
            return bound(**arguments)

        checked.ranges = checks  # type: ignore[attr-defined]
        text, separator, examples = inspect.cleandoc(bound.__doc__ or "").partition("\n\n>>> ")
        parameters = [
            f"{name} : {parameter.annotation.__name__} in {checks[name]}"
            for name, parameter in signature.parameters.items()
        ]
        returned = inspect.formatannotation(signature.return_annotation)
        checked.__doc__ = "\n".join(
            [text, "", "Parameters", "----------", *parameters, "", "Returns", "-------", returned]
            + ["", "Notes", "-----", "`margins.bounds` defines the symbols.", f"Source: {source}."]
            + (["", "Examples", "--------", f">>> {examples}"] if separator else [])
        )
        return checked  # type: ignore[return-value]

    return decorate


def _inside(value: float, interval: str, arguments: dict[str, Any]) -> bool:
    def end(text: str) -> float:
        if text == "R**2":
            return float(arguments["R"]) * float(arguments["R"])
        return float(arguments.get(text, text))

    low, high = map(end, interval[1:-1].split(", "))
    return (low <= value if interval[0] == "[" else low < value) and (
        value <= high if interval[-1] == "]" else value < high
    )


def _message(bound: Callable[..., Any], name: str, allowed: str, value: object) -> str:
    return f"{name} of {bound.__name__} must be {allowed}. Got {value!r}."


def _squared_ratio(R: float, gamma: float, b: float) -> float:
    """Return (R**2 + 2 b) / gamma**2, which may be finite even if gamma**2 underflows."""
    r = R / gamma
    return r * r + 2 * b / gamma / gamma


# The perceptron: a <- a + y_k when a.y_k <= 0.


@_theorem(f"{LECTURE}, Theorem 1")
def perceptron_updates(R: float, gamma: float) -> float:
    """Bound the updates of the perceptron: (R / gamma)**2.

    Every epoch except the last makes an update, so the number of epochs is at most one more.

    >>> perceptron_updates(R=10.0, gamma=0.5)
    400.0
    """
    return _squared_ratio(R, gamma, b=0.0)


@_theorem(
    f"{LECTURE}, mistakes in terms of the hinge loss", gamma="(0, inf)", total_deviation="[0, inf)"
)
def mistakes_total_deviation(R: float, gamma: float, total_deviation: float) -> float:
    """Bound the perceptron's mistakes in one pass over any sequence, separable or not.

    It is the largest M with gamma M - total_deviation <= u.a <= |a| <= R sqrt(M), which never exceeds
    (R / gamma)**2 + 2 total_deviation / gamma. `gamma` is any length; the samples need not have this
    margin. `total_deviation` is the sum over the sequence of max(0, gamma - u.y_i), for any unit vector
    u (length).
    """
    r, deviation = R / gamma, total_deviation / gamma
    root = (r + math.sqrt(r * r + 4 * deviation)) / 2
    return root * root


@_theorem(
    f"{NOISE}, square deviation, here without a threshold (Freund & Schapire, 1999)",
    gamma="(0, inf)",
    square_deviation="[0, inf)",
)
def mistakes_square_deviation(R: float, gamma: float, square_deviation: float) -> float:
    """Bound the perceptron's mistakes in one pass over any sequence: ((R + D) / gamma)**2.

    `gamma` is as for `mistakes_total_deviation`. `square_deviation` is D, the root of the sum over the
    sequence of max(0, gamma - u.y_i)**2, for any unit vector u (length).
    """
    root = R / gamma + square_deviation / gamma
    return root * root


@_theorem(f"{NOISE}, square deviation", gamma="(0, inf)", square_deviation="[0, inf)")
def mistakes_learned_threshold(R: float, gamma: float, square_deviation: float) -> float:
    """Bound the mistakes of a perceptron that learns its threshold: (2 (R + D) / gamma)**2.

    It holds for one pass over any sequence. `R` is the largest norm of a sample x_i, not augmented: each
    mistake moves the threshold by R**2, as augmentation by rho = R does. `gamma` is as for
    `mistakes_total_deviation`. `square_deviation` is D, the root of the sum over the sequence of
    max(0, gamma - l_i (u.x_i - theta))**2, for any unit vector u and threshold theta in [-R, R]
    with l_i = -1 or +1.
    """
    return 4 * mistakes_square_deviation(R, gamma, square_deviation)


# Fixed thresholds: a <- a + y_k when a.y_k <= b, or when a.y_k <= (1 - eps) gamma |a|.


@_theorem(f"{UNLEARNING}, (17)")
def margin_perceptron_updates(R: float, gamma: float, b: float) -> float:
    """Bound the updates of the perceptron with margin: (R**2 + 2 b) / gamma**2.

    With unlearning, it bounds the learned minus the unlearned updates.

    >>> margin_perceptron_updates(R=10.0, gamma=0.5, b=50.0)
    800.0
    """
    return _squared_ratio(R, gamma, b)


@_theorem(f"{UNLEARNING}, (11) as delta_b grows without limit")
def margin_perceptron_fraction(R: float, b: float) -> float:
    """Bound the fraction of the perceptron with margin: b / (R**2 + 2 b), less than 1/2."""
    return b / (R * R + 2 * b)


@_theorem(f"{LECTURE}, Theorem 2")
def lecture_updates(R: float, gamma: float, eps: float) -> float:
    """Bound the updates of Margin Perceptron(gamma): 2 (R / (eps gamma))**2 + 2 R / (eps gamma).

    `gamma` is the known margin of the samples, the algorithm's parameter. The lecture states eps = 1/2,
    8 (R / gamma)**2 + 4 R / gamma; its proof covers every eps.
    """
    r = R / gamma / eps
    return 2 * r * r + 2 * r


@_theorem(f"{DYNAMIC_MARGIN}, Theorem 3.1")
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


# The dynamic margin (PDM): a <- a + y_k when a.y_k <= (1 - eps) |a|**2 / t.


@_theorem(f"{DYNAMIC_MARGIN}, Theorem 3.2")
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
    r2 = _squared_ratio(R, gamma, b=0.0)
    if eps == 0.5:
        return (1 + 1 / math.e) * r2 * math.log((1 + math.e) * r2)
    power = 2 * eps - 1
    t0 = eps * (3 - 2 * eps) / power * r2
    # 1 - 2 (1 - eps) t0**(1 - 2 eps), without its cancellation near eps = 1/2
    exponent = -power * math.log(t0)
    return t0 * (power * math.exp(exponent) - math.expm1(exponent))


@_theorem(
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


@_theorem(
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


# Unlearning (MPU): a <- a + y_k when a.y_k <= b, a <- a - y_k when a.y_k >= b + delta_b. The soft margin
# adds no sample more often than its upper bound, which is b times its C.


@_theorem(f"{UNLEARNING}, (10)", b="(0, inf)")
def unlearning_updates(R: float, gamma: float, b: float, delta_b: float) -> float:
    """Bound the learned plus the unlearned updates, hard margin.

    It is `margin_perceptron_updates` plus twice `unlearned_updates`.

    >>> unlearning_updates(R=10.0, gamma=0.5, b=50.0, delta_b=300.0)
    1000.0
    """
    return margin_perceptron_updates(R, gamma, b) + 2 * unlearned_updates(R, gamma, b, delta_b)


@_theorem(f"{UNLEARNING}, in the proof of (10)", b="(0, inf)")
def unlearned_updates(R: float, gamma: float, b: float, delta_b: float) -> float:
    """Bound the unlearned updates, hard margin: (R**2 + 2 b)**2 / (8 gamma**2 (delta_b - R**2))."""
    return _squared_ratio(R, gamma, b) * (R * R + 2 * b) / (8 * (delta_b - R * R))


@_theorem(f"{UNLEARNING}, (11)", b="(0, inf)")
def unlearning_fraction(R: float, b: float, delta_b: float) -> float:
    """Bound the fraction, hard margin: 1 / (1 + min(delta_b, b + R**2) / b), which solutions exceed."""
    return b / (b + min(delta_b, b + R * R))


@_theorem(f"{UNLEARNING}, (11) solved for b", delta_b="(0, inf)", eps="(0, 1)")
def unlearning_threshold(delta_b: float, eps: float) -> float:
    """Choose b for the accuracy eps of the hard margin: delta_b (1 - eps) / eps.

    `unlearning_fraction` is then at least 1 - eps.

    >>> unlearning_threshold(delta_b=300.0, eps=0.25)
    900.0
    """
    return delta_b * (1 - eps) / eps


@_theorem(f"{UNLEARNING}, (22)", b="(0, inf)", total_upper="(0, inf)")
def soft_unlearning_updates(R: float, b: float, delta_b: float, total_upper: float) -> float:
    """Bound the updates, 1-norm soft margin: total_upper (2 b + delta_b) / (delta_b - R**2).

    `total_upper` is the sum of the samples' upper bounds: m times the bound if all are equal.
    """
    return total_upper * (1 + (R * R + 2 * b) / (delta_b - R * R))


@_theorem(f"{UNLEARNING}, (23)", delta_b="(0, inf)", b="(delta_b, inf)")
def soft_unlearning_gap(b: float, delta_b: float) -> float:
    """Bound the relative objective gap, 1-norm soft margin: 2 delta_b / (b - delta_b).

    The gap is (J - J_opt) / J_opt at w = a / b of a converged run, for
    J = |w|**2 / 2 + sum_k C_k max(0, 1 - w.y_k).
    """
    return 2 * delta_b / (b - delta_b)


@_theorem(f"{UNLEARNING}, Remark 4", delta_b="(0, inf)", eps="(0, inf)")
def soft_unlearning_parameters(C: float, delta_b: float, eps: float) -> tuple[int, float]:
    """Choose the samples' upper bound and b = upper / C for a relative gap of J below eps.

    The upper bound is the number of times that each sample may be added; b is a length squared.

    >>> soft_unlearning_parameters(C=0.5, delta_b=300.0, eps=0.1)
    (3151, 6302.0)
    """
    upper = math.floor(C * delta_b * (2 + eps) / eps) + 1
    return upper, upper / C


# Constant shrinking (MPCS): a <- (1 - lam) a + y_k when (1 - lam) a.y_k <= b. kappa = 0 is the
# perceptron with margin; runs are only certain to end if kappa < 1.


@_theorem(f"{SHRINKING}, constraint of Theorem 3.1")
def constant_shrinking_kappa(R: float, gamma: float, b: float, lam: float) -> float:
    """Return kappa = lam (R**2 + 2 b) / ((2 - lam) gamma**2), the shrinking on a relative scale.

    The run converges if kappa is below 1.
    """
    return lam / (2 - lam) * _squared_ratio(R, gamma, b)


@_theorem(f"{SHRINKING}, constraint of Theorem 3.1, Remark 3", kappa="[0, 1]")
def constant_shrinking_lambda(R: float, gamma: float, b: float, kappa: float) -> float:
    """Choose lam for kappa: 2 kappa gamma**2 / (R**2 + 2 b + kappa gamma**2).

    For kappa = 1 the result is the limit below which lam must stay. A lower bound on gamma gives a lam
    whose true kappa is smaller by the square of the ratio of bound and gamma.
    """
    return 2 * kappa / (_squared_ratio(R, gamma, b) + kappa)


@_theorem(f"{SHRINKING}, Theorem 3.1")
def constant_shrinking_updates(R: float, gamma: float, b: float, lam: float) -> float:
    """Bound the updates of the margin perceptron with constant shrinking, kappa < 1.

    It is log((1 + kappa) / (1 - kappa)) / -log(1 - lam), which never exceeds
    (R**2 + 2 b) / gamma**2 atanh(kappa) / kappa.
    """
    kappa = _convergent_kappa(constant_shrinking_updates, R, gamma, b, lam)
    if kappa == 0:
        return _squared_ratio(R, gamma, b)
    return 2 * math.atanh(kappa) / -math.log1p(-lam)


@_theorem(f"{SHRINKING}, Theorem 3.1, Remark 1")
def constant_shrinking_fraction(R: float, gamma: float, b: float, lam: float) -> float:
    """Bound the fraction of the margin perceptron with constant shrinking, kappa < 1.

    It is (1 + kappa) b / (R**2 + 2 b) (2 - lam) / (2 (1 - lam)), which tends to (1 + kappa) / 2 as b
    grows at constant kappa. It is too large if gamma is too small.
    """
    kappa = _convergent_kappa(constant_shrinking_fraction, R, gamma, b, lam)
    return (1 + kappa) * b / (R * R + 2 * b) * (2 - lam) / (2 * (1 - lam))


@_theorem(f"{SHRINKING}, Remark 2")
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
        raise ValueError(_message(bound, "lam", f"in [0, {limit})", lam))
    return kappa


# Variable shrinking (MPVS): a <- s a + y_k when s a.y_k <= b, with s = (t / (t + 1))**n. n = 0 is the
# perceptron with margin.


@_theorem(f"{SHRINKING}, Theorem 3.2, (23)")
def variable_shrinking_updates(R: float, gamma: float, b: float, n: int) -> float:
    """Bound the updates: (n + 1)**2 / (2 n + 1) (R**2 + 2 b) / gamma**2.

    >>> variable_shrinking_updates(R=10.0, gamma=0.5, b=50.0, n=2)
    1440.0
    """
    return (n + 1) * (n + 1) / (2 * n + 1) * _squared_ratio(R, gamma, b)


@_theorem(f"{SHRINKING}, Remark 6")
def variable_shrinking_least_updates(R: float, gamma: float, b: float, n: int) -> float:
    """Bound the updates from below: more than (2 n + 1) b**2 / ((R**2 + 2 b) gamma**2).

    Unlike the upper bounds, it does not hold with a lower bound on gamma instead of gamma.
    """
    return (2 * n + 1) * b / (R * R + 2 * b) * (b / gamma / gamma)


@_theorem(f"{SHRINKING}, Theorem 3.2, (24)")
def variable_shrinking_fraction(R: float, b: float, n: int) -> float:
    """Bound the fraction: (2 n + 1) / (n + 1) b / (R**2 + 2 b), which solutions exceed.

    It tends to 1 - 1 / (2 (n + 1)) as b grows.
    """
    return (2 * n + 1) / (n + 1) * b / (R * R + 2 * b)


@_theorem(f"{SHRINKING}, Theorem 3.2, Remark 5")
def variable_shrinking_parameters(R: float, eps: float) -> tuple[int, float]:
    """Choose n and b for the accuracy eps of variable shrinking, regardless of gamma.

    n is the smallest with n + 1 >= 1 / eps; b is R**2 (1 / eps - 1 / 2) (length squared). The fraction
    exceeds (1 - eps / 2)**2 > 1 - eps.

    >>> variable_shrinking_parameters(R=10.0, eps=0.25)
    (3, 350.0)
    """
    return math.ceil(1 / eps) - 1, R * R * (1 / eps - 0.5)


# Bounds for the margitron, aggressive ROMMA, the Ballseptron and the shifting perceptron.


@_theorem(f"{MARGITRON}; our derivation", exponent="(0, 1]")
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


@_theorem(f"{MARGITRON}; our derivation", exponent="(0, 1]")
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


@_theorem("Li & Long (2002), The relaxed online maximum margin algorithm")
def aggressive_romma_updates(R: float, gamma: float, eps: float) -> float:
    """Bound the updates of aggressive ROMMA, condition a.y_k <= 1 - eps: (R / (eps gamma))**2.

    A solution has a margin of at least 1 - eps of gamma. eps = 1 is ROMMA.

    >>> aggressive_romma_updates(R=10.0, gamma=0.5, eps=0.5)
    1600.0
    """
    r = R / gamma / eps
    return r * r


@_theorem("Shalev-Shwartz & Singer (2005), the Ballseptron; our derivation", radius="[0, gamma)")
def ballseptron_updates(R: float, gamma: float, radius: float) -> float:
    """Bound the updates of the Ballseptron: (R**2 + radius**2) / (gamma - radius)**2.

    A solution has a margin above `radius`.

    >>> ballseptron_updates(R=10.0, gamma=1.0, radius=0.0)
    100.0
    """
    r, s = R / (gamma - radius), radius / (gamma - radius)
    return r * r + s * s


@_theorem("Cavallanti, Cesa-Bianchi & Gentile (2007); our derivation", shift="(0.5, inf)")
def shifting_updates(R: float, gamma: float, shift: float) -> float:
    """Bound the updates of the shifting perceptron: shift**2 / (2 shift - 1) * (R / gamma)**2.

    `shift` is its lam. The weight vector is a convex combination of the y_k, so |a| >= gamma, and
    |a_(t+1)|**2 (shift + t)**2 <= t**2 |a_t|**2 + shift**2 R**2 at a mistake.

    >>> shifting_updates(R=10.0, gamma=0.5, shift=1.0)
    400.0
    """
    r = R / gamma
    return shift * (shift / (2 * shift - 1)) * (r * r)
