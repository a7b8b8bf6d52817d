"""Oracle of the noise-tolerant perceptrons: one access at a time, in the simplest way.

The samples are not reflected; weight vector and threshold are explicit and every hypothesis of the
run is kept. There are two implementations: `train` has weight vectors, and selects the longest survivor
and the pocket during the run; `train_dual` has only a Gram matrix and the number of updates of every
sample, and determines both afterwards from the votes. On small integers, with whole
eta, theta_init and C, all sums are exact, so that both agree to the last bit.

Symbols: samples x_j, labels y_j in {-1, +1}, hypotheses (w_i, theta_i), i = 0 .. k, of which the first
is (0, theta_init); alpha_j = updates on sample j; vote_i = correct accesses of hypothesis i.

Sources:
Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm (JMLR 8, 227-248):
Figures 1 and 2, with the sign of the threshold's update that goes with the decision w.x - theta.
Freund & Schapire (1999), Large Margin Classification Using the Perceptron Algorithm (voting).
Gallant (1990), Perceptron-Based Learning Algorithms (pocket with ratchet).
Li et al. (2002), The Perceptron Algorithm with Uneven Margins (PAUM).
"""

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Trace:
    """A run: all its hypotheses, and what averagings need of them.

    A hypothesis is a pair (w, theta). In a trace of `train_dual` its w holds the signed coefficients
    eta * alpha_j * y_j of the training samples; then the rows given to an averaging are rows of a Gram
    matrix, K(x, x_j), and everything below reads the same.
    """

    hypotheses: list = field(default_factory=list)  # k + 1 of them
    votes: list = field(default_factory=list)  # correct accesses, one number for each
    accesses: list = field(default_factory=list)  # all accesses while it was the current one
    mistakes: list = field(default_factory=list)  # the k samples updated on, in order
    mistakes_of_epoch: list = field(default_factory=list)  # those rejected by alpha_bound included
    updates_after_epoch: list = field(default_factory=list)
    longest: tuple | None = None
    pocket: tuple | None = None


# ------------------------------------------------------------------------------------------- training


def train(
    X,
    y,
    orders,
    *,
    tau=0.0,
    lam=0.0,
    alpha_bound=math.inf,
    eta=1.0,
    theta_init=0.0,
    C=1.0,
    unit=None,
    weight=None,
):
    """Replay the training loop on X (m, d), one epoch for each of `orders`; all of them.

    tau    the margin required, in units of `unit`; or one for each label, {-1: ..., +1: ...}
    C      the threshold's step: theta <- theta - eta * y * C
    unit   what tau is a multiple of; None: theta_init
    weight of every sample: it multiplies updates and votes; None: 1

    Source: Khardon & Wachman, Figure 2; the tallies are its variables, named as there. The pocket is
    Gallant's; tau for each label is PAUM's, there with theta_init = 0 and C = unit = R^2.
    """
    X = np.asarray(X, dtype=float)
    y = [int(label) for label in y]
    demanded = _demanded(tau, theta_init if unit is None else unit)
    alpha = [0] * len(X)
    weight = np.ones(len(X)) if weight is None else weight
    w, theta = np.zeros(X.shape[1]), theta_init
    trace = Trace([(w, theta)], [0], [0])
    tally, best_tally, trace.longest = 0, 0, (w, theta)
    pocket_run, pocket_count, trace.pocket = 0, -1, (w, theta)
    for order in orders:
        n_mistakes = 0
        for j in order:
            score = w @ X[j]
            if alpha[j] != 0:
                score += y[j] * lam * (X[j] @ X[j])
            if score < theta - demanded[y[j]]:
                yhat = -1
            elif score > theta + demanded[y[j]]:
                yhat = +1
            else:
                yhat = 0
            trace.accesses[-1] += weight[j]
            if yhat != y[j]:
                n_mistakes += 1
            if yhat != y[j] and alpha[j] < alpha_bound:
                w = w + eta * weight[j] * y[j] * X[j]
                theta = theta - eta * weight[j] * y[j] * C
                alpha[j] += 1
                trace.mistakes.append(int(j))
                trace.hypotheses.append((w, theta))
                trace.votes.append(0)
                trace.accesses.append(0)
                tally = 0
            elif yhat == y[j]:
                trace.votes[-1] += weight[j]
                tally += weight[j]
                if tally > best_tally:
                    best_tally, trace.longest = tally, (w, theta)
                if tally > pocket_run:
                    count = sum(y[i] * (w @ X[i] - theta) > 0 for i in range(len(X)))
                    if count > pocket_count:
                        pocket_run, pocket_count, trace.pocket = tally, count, (w, theta)
        trace.mistakes_of_epoch.append(n_mistakes)
        trace.updates_after_epoch.append(len(trace.mistakes))
    if (np.asarray(weight) != 1).any():
        trace.pocket = pocket_by_votes(trace, X, y, weight)
    return trace


def train_dual(
    gram,
    y,
    orders,
    *,
    tau=0.0,
    lam=0.0,
    alpha_bound=math.inf,
    eta=1.0,
    theta_init=0.0,
    C=1.0,
    unit=None,
    weight=None,
):
    """The same run in dual variables, from the Gram matrix (m, m) alone.

    score(x) = eta * sum_i alpha_i y_i K(x_i, x) and theta = theta_init - eta * C * sum_i alpha_i y_i.

    Source: Khardon & Wachman, section 2 (the dual form); K(x, x) takes the place of |x|^2.
    """
    gram, y = np.asarray(gram, dtype=float), np.asarray(y, dtype=float)
    demanded = _demanded(tau, theta_init if unit is None else unit)
    alpha = np.zeros(len(gram))
    weight = np.ones(len(gram)) if weight is None else weight

    def hypothesis():
        coefficients = eta * alpha * weight * y
        return coefficients, theta_init - C * np.sum(coefficients)

    trace = Trace([hypothesis()], [0], [0])
    for order in orders:
        correct = 0
        for j in order:
            coefficients, theta = trace.hypotheses[-1]
            offset = lam * gram[j, j] if alpha[j] > 0 else 0.0
            margin = y[j] * (coefficients @ gram[:, j] - theta) + offset
            trace.accesses[-1] += weight[j]
            if margin > demanded[int(y[j])]:
                trace.votes[-1] += weight[j]
                correct += 1
            elif alpha[j] < alpha_bound:
                alpha[j] += 1
                trace.mistakes.append(int(j))
                trace.hypotheses.append(hypothesis())
                trace.votes.append(0)
                trace.accesses.append(0)
        trace.mistakes_of_epoch.append(len(order) - correct)
        trace.updates_after_epoch.append(int(alpha.sum()))
    trace.longest = longest_by_votes(trace)
    trace.pocket = pocket_by_votes(trace, gram, y, weight)
    return trace


def _demanded(tau, unit):
    """y (score - theta) must exceed this: {-1: ..., +1: ...}."""
    if not isinstance(tau, dict):
        tau = {-1: tau, +1: tau}
    return {label: value * unit for label, value in tau.items()}


def servedio_average(X, y):
    """Return (w, theta): every sample is added exactly once, whatever is predicted; no threshold.

    Source: Khardon & Wachman, section 2, on Servedio (1999).
    """
    w = np.zeros(np.shape(X)[1])
    for x, label in zip(X, y, strict=True):
        w = w + int(label) * np.asarray(x, dtype=float)
    return w, 0.0


# ------------------------------------------------------------------- averagings that are one hypothesis


def last(trace):
    """Return the last hypothesis (w, theta), the classical perceptron's.

    Source: Khardon & Wachman, section 2.
    """
    return trace.hypotheses[-1]


def longest(trace):
    """Return the hypothesis (w, theta) with the longest tally, the first of equals.

    Source: Khardon & Wachman, Figure 2; after Kearns, Li, Pitt & Valiant (1987), and Gallant's pocket.
    """
    return trace.longest


def longest_by_votes(trace):
    """The same, after the run: a mistake that is rejected interrupts no tally, so tallies are votes."""
    return trace.hypotheses[trace.votes.index(max(trace.votes))]


def pocket(trace):
    """Return the hypothesis (w, theta) in Gallant's pocket with ratchet.

    Source: Gallant (1990), the pocket algorithm with ratchet.
    """
    return trace.pocket


def pocket_by_votes(trace, rows, labels, weight):
    """The same, after the run: a hypothesis challenges once, when its votes exceed the pocket's run.

    With weights that differ it does so with all its votes.
    """
    is_weighted = np.ptp(weight) > 0
    best, run, count = trace.hypotheses[0], 0, -1
    for hypothesis, vote in zip(trace.hypotheses, trace.votes, strict=True):
        w, theta = hypothesis
        n_correct = np.sum(weight * (np.asarray(labels) * (np.asarray(rows) @ w - theta) > 0))
        if vote > run and n_correct > count:
            best, run, count = hypothesis, vote if is_weighted else run + np.max(weight), n_correct
    return best


def averaged(trace, weighting="votes"):
    """Return the mean (w, theta) of all hypotheses, weighted by their votes or their accesses.

    If all weights are 0 it is the last hypothesis.

    Source: Khardon & Wachman, section 2 ("averaging version of voting"); Freund & Schapire (1999).
    """
    weights = {"votes": trace.votes, "accesses": trace.accesses}[weighting]
    if sum(weights) == 0:
        return last(trace)
    w, theta = np.zeros_like(trace.hypotheses[0][0]), 0.0
    for weight, (w_i, theta_i) in zip(weights, trace.hypotheses, strict=True):
        w = w + weight * w_i
        theta = theta + weight * theta_i
    return w / sum(weights), theta / sum(weights)


def scores(hypothesis, rows):
    """Return w.x - theta of every row: (n,)."""
    w, theta = hypothesis
    return np.asarray(rows, dtype=float) @ w - theta


# -------------------------------------------------------------------------------- averagings that vote


def voted_scores(trace, rows, start=0):
    """Return VOTES(x) = sum_{i >= start} vote_i sign(w_i.x - theta_i) of every row, sign(0) = 0: (n,).

    Source: Freund & Schapire (1999), Figure 1; Khardon & Wachman, section 2.
    """
    votes = np.zeros(len(rows))
    for i in range(start, len(trace.hypotheses)):
        votes += trace.votes[i] * np.sign(scores(trace.hypotheses[i], rows))
    return votes


def tail_start(trace, rows, labels):
    """Return the start s of the tail with the fewest errors on these samples; the least such s.

    VOTES > 0 predicts +1, everything else -1.

    Source: Khardon & Wachman describe Li's (2000) tail only in words: "voting is done on a tail of the
    sequence of hypotheses which is chosen adaptively".
    """
    errors = []
    for start in range(len(trace.hypotheses)):
        predicted = np.where(voted_scores(trace, rows, start) > 0, 1, -1)
        errors.append(int(np.sum(predicted != np.asarray(labels))))
    return errors.index(min(errors))


# ---------------------------------------------------------------------------------------- many classes


def one_vs_rest(y):
    """Return the labels in {-1, +1} of every binary problem; for two classes the second is +1.

    Source: Khardon & Wachman, section 2 (multi-class data).
    """
    classes = np.unique(y)
    positives = classes[1:] if len(classes) == 2 else classes
    return [np.where(np.asarray(y) == positive, 1, -1) for positive in positives]
