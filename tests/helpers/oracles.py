"""Oracles: the algorithms replayed one single update at a time, slowly and obviously.

Everything is materialised: a sample is a row that is already reflected (multiplied by its label),
augmented by the column rho and by one column per sample, its slack term. The weight vector is a
plain array, its squared norm is recomputed at every access, and a multiple update *is* the single
update repeated. On samples of small integers all sums are therefore exact as long as the rule
does not shrink.

Symbols: samples y_k, weight vector a = sum_k alpha_k y_k, p = a.y_k, A = |a|^2, t = updates so far
(each repetition counts), R = max_k |y_k|, gamma_d = maximum margin of a hyperplane through the
origin.

Sources:
Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning (MPU).
Panagiotakopoulos & Tsampouka (2011), The Perceptron with Dynamic Margin (PFM, PDM, active sets).
Panagiotakopoulos & Tsampouka (2012), The Role of Weight Shrinking in Large Margin Perceptron
Learning (MPCS, MPVS).
Lecture on the perceptron and the margin perceptron (Perceptron, MarginPerceptron).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np

PATIENCE = 1_000_000  # single updates; a run that gets there has no end


def mixed(order, state):
    """`order` as margins.data.permutations.mix permutes it, `state` being the number drawn.

    Steele, Lea & Flood (2014), SplitMix64; Durstenfeld (1964), algorithm 235.
    """
    order, word = list(order), 2**64
    for i in reversed(range(1, len(order))):
        state = (state + 0x9E3779B97F4A7C15) % word
        bits = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % word
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % word
        j = ((bits ^ bits >> 31) >> 32) * (i + 1) >> 32
        order[i], order[j] = order[j], order[i]
    return np.array(order, dtype=np.int32)


# ----------------------------------------------------------------------------------------- samples


def data_of(X, y, rho=1.0, delta2=0.0):
    """Return the (m, D) samples l_k * [x_k, rho, Delta_k e_k] of X (m, d) and labels y in {-1, 1}.

    rho = 0 or None adds no column. delta2 holds the squares Delta_k^2, one for all or (m,); if all
    are 0 no private columns are added.
    """
    X = np.asarray(X, dtype=float)
    labels = np.asarray(y, dtype=float)
    columns = [X]
    if rho:
        columns.append(np.full((len(X), 1), float(rho)))
    if np.any(delta2):
        columns.append(np.diag(np.sqrt(np.broadcast_to(np.asarray(delta2, dtype=float), len(X)))))
    return labels[:, None] * np.hstack(columns)


# -------------------------------------------------------------------------------------------- rules


class Rule:
    """Misclassified iff p <= threshold(A, t); then a <- shrink(t) * a + y_k and t <- t + 1."""

    def threshold(self, A, t):
        raise NotImplementedError

    def shrink(self, t):
        return 1.0

    def misclassified(self, p, A, t):
        return p <= self.threshold(A, t)

    def direction(self, p, A, t, k, alpha_k):
        """Return 1 to add sample k once, -1 to take it away once, 0 to leave a as it is."""
        return 1 if self.misclassified(p, A, t) else 0


@dataclass
class MarginPerceptron(Rule):
    """p <= b."""

    b: float

    def threshold(self, A, t):
        return self.b


class Perceptron(MarginPerceptron):
    """p <= 0."""

    def __init__(self):
        super().__init__(0.0)


@dataclass
class PFM(Rule):
    """p <= beta |a|."""

    beta: float

    def threshold(self, A, t):
        return self.beta * math.sqrt(A)


@dataclass
class PDM(Rule):
    """p <= (1 - eps) |a|^2 / t, and p <= 0 at t = 0."""

    eps: float

    def threshold(self, A, t):
        return (1 - self.eps) * A / t if t else 0.0


@dataclass
class MPU(Rule):
    """Learn on p <= b while alpha_k < upper_k, unlearn on p >= b + delta_b while alpha_k > 0.

    upper is one bound for all samples, possibly inf, or an array (m,).
    """

    b: float
    delta_b: float = math.inf
    upper: float | np.ndarray = math.inf

    def threshold(self, A, t):
        return self.b

    def direction(self, p, A, t, k, alpha_k):
        upper_k = self.upper if np.ndim(self.upper) == 0 else self.upper[k]
        if self.misclassified(p, A, t) and alpha_k < upper_k:
            return 1
        if p >= self.b + self.delta_b and alpha_k > 0:
            return -1
        return 0


@dataclass
class MPCS(Rule):
    """p <= b / (1 - lam), a <- (1 - lam) a + y_k."""

    lam: float
    b: float

    def threshold(self, A, t):
        return self.b / (1 - self.lam)

    def shrink(self, t):
        return 1 - self.lam


@dataclass
class MPVS(Rule):
    """p <= b ((t + 1) / t)^n, always true at t = 0; a <- (t / (t + 1))^n a + y_k."""

    n: int
    b: float

    def threshold(self, A, t):
        return self.b * ((t + 1) / t) ** self.n if t else math.inf

    def shrink(self, t):
        return (t / (t + 1)) ** self.n if t else 1.0


# -------------------------------------------------------------------------------------- active sets


@dataclass
class Access:
    """What memberships depend on: the state of the sample before and after its access."""

    sample: int
    p: float
    threshold: float
    alpha_before: float
    alpha_after: float
    multiplicity: int  # 0: no update; negative: unlearned


@dataclass
class Level:
    """An active set: up to `passes` passes over the `member` samples of a pass one level above."""

    passes: int
    member: Callable[[Access], bool]


def below(factor):
    """p <= factor * threshold, both as they were before the update."""
    return lambda access: access.p <= factor * access.threshold


def below_or_supporting(factor):
    """Level 1 of MPU: p <= factor * b or alpha_k > 0, both before the update."""
    return lambda access: access.p <= factor * access.threshold or access.alpha_before > 0


def changed_and_supporting(access):
    """Level 2 of MPU: updated in the pass one level above and alpha_k > 0 afterwards."""
    return access.multiplicity != 0 and access.alpha_after > 0


# ----------------------------------------------------------------------------------------- the loop


@dataclass
class Trace:
    """A run: its weight vector over [features, (rho), (private columns)], and how it came about."""

    a: np.ndarray
    alpha: np.ndarray  # (m,); a == alpha @ samples always
    # (sample, multiplicity; negative if unlearned), in order
    updates: list[tuple[int, int]] = field(default_factory=list)
    n_updates: int = 0  # sum of |multiplicity|, the t of the rules
    converged: bool = False  # the last full pass made no update
    epochs: int = 0  # full passes, including that without updates


def run(
    data: np.ndarray,
    rule: Rule,
    orders: Iterable[Sequence[int]],
    *,
    levels: Sequence[Level] = (),
    multiple: bool = False,
    cap: float = math.inf,
    first_pass_single: bool = False,
    first_levels: Sequence[Level] | None = None,
    start: Trace | None = None,
    observe: Callable[[Trace], None] = lambda trace: None,
) -> Trace:
    """Replay `rule`, from a = 0 unless it continues `start`, one full epoch for each of `orders`.

    The run ends at a full pass without updates or with the orders.

    multiple          repeat a misclassified sample's single update until the sample is not
                      misclassified any more, or for `cap` times
    first_pass_single single updates in the first full pass, not in the active sets that follow it
    first_levels      the levels of the first full epoch, if they differ
    start             a trace to continue, left as it is; its first full epoch is over
    observe           called with the growing trace after every single update
    """
    if start is None:
        start = Trace(a=np.zeros(data.shape[1]), alpha=np.zeros(len(data)))
    replay = _Replay(data, rule, observe, deepcopy(start))
    most = cap if multiple else 1
    for order in orders:
        first = replay.trace.epochs == 0
        accesses = replay.sweep(order, 1 if first and first_pass_single else most)
        replay.trace.epochs += 1
        replay.trace.converged = _clean(accesses)
        replay.process(first_levels if first and first_levels is not None else levels, accesses, most)
        if replay.trace.converged:
            break
    return replay.trace


class _Replay:
    def __init__(self, data, rule, observe, trace):
        self.data = data
        self.rule = rule
        self.observe = observe
        self.trace = trace

    def process(self, levels, accesses_above, most):
        """Collect the first of `levels` from the pass one level above, then pass over it."""
        if not levels:
            return
        members = [access.sample for access in accesses_above if levels[0].member(access)]
        for _ in range(levels[0].passes):
            accesses = self.sweep(members, most)
            if _clean(accesses):
                return
            self.process(levels[1:], accesses, most)

    def sweep(self, order, most):
        return [self.present(int(k), most) for k in order]

    def present(self, k, most):
        """Test sample k, update it up to `most` times, and say what happened."""
        trace = self.trace
        threshold = self.rule.threshold(self.sqnorm(), trace.n_updates)
        access = Access(k, self.product(k), threshold, trace.alpha[k], trace.alpha[k], 0)
        direction = self.direction(k)
        repetitions = 0
        while direction != 0 and repetitions < most:
            self.update_once(k, direction)
            repetitions += 1
            if self.direction(k) != direction:
                break
        if repetitions:
            access.alpha_after = trace.alpha[k]
            access.multiplicity = direction * repetitions
            trace.updates.append((k, access.multiplicity))
        return access

    def update_once(self, k, direction):
        trace = self.trace
        shrink = self.rule.shrink(trace.n_updates)
        trace.a = shrink * trace.a + direction * self.data[k]
        trace.alpha = shrink * trace.alpha
        trace.alpha[k] += direction
        trace.n_updates += 1
        self.observe(trace)
        if trace.n_updates > PATIENCE:
            raise RuntimeError(f"{self.rule} made {PATIENCE} updates without an end in sight.")

    def direction(self, k):
        return self.rule.direction(
            self.product(k), self.sqnorm(), self.trace.n_updates, k, self.trace.alpha[k]
        )

    def product(self, k):
        return float(self.trace.a @ self.data[k])

    def sqnorm(self):
        return float(self.trace.a @ self.trace.a)


def _clean(accesses):
    return all(access.multiplicity == 0 for access in accesses)
