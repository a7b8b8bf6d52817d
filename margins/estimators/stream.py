"""The state kept between two chunks of a stream, and between a fit and the training that continues it.

It holds everything that further updates read: a weight vector, its counters and the averaging over its
iterates. It keeps neither samples nor dual variables: a sample of a later chunk is a new sample, with a
separate slack term and dual variable.
"""

import copy
import math
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from margins._activeset import ActiveSets
from margins._update import Averaging, WeightVector
from margins.rules import Average, LongestSurvivor, MistakeHistory, Pocket
from margins.solvers.base import PhaseRecord
from margins.solvers.custom._budget import Cache
from margins.solvers.driver import Epoch


class SeenWeights(NamedTuple):
    """The number and the sum of the sample weights of a stream so far."""

    n_samples: int = 0
    total: float = 0.0

    def followed_by(self, weight, n):
        """Return the mean weights up to each of n more samples (None: all are 1) and the sums after."""
        if n == 0 or (not isinstance(weight, np.ndarray) and self.total == self.n_samples):
            return None, SeenWeights(self.n_samples + n, self.total + n)
        with np.errstate(over="ignore"):  # one after the other, so that chunks do not change the sum
            totals = np.cumsum(np.append(self.total, np.broadcast_to(weight, n)))[1:]
        seen = SeenWeights(self.n_samples + n, float(totals[-1]))
        return totals / np.arange(self.n_samples + 1, seen.n_samples + 1), seen


@dataclass
class Stream:
    """One binary problem of a stream, between two chunks.

    Attributes have the same names as in `margins.solvers.driver.Run`.
    """

    weights: WeightVector  # The weight vector, without dual variables
    averaging: Averaging | None
    theta: float  # As in a run
    data: object = None
    history: list = field(default_factory=list)
    n_epochs: int = 0
    n_accesses: int = 0
    seconds: float = 0.0
    # Factor from the hypothesis to `coef_`, taken from the fit that the stream continues; without a fit
    # 1, because scaling to functional margin 1 would need another pass over the samples.
    primal_scale: float = 1.0
    earlier: list = field(default_factory=list)  # Phases of the fit that the stream continues
    counts: tuple = (0, 0, 0)  # Epochs, updates and accesses before the first chunk
    # State of that fit, including its dual variables, for a warm start on the same samples.
    of_fit: tuple | None = None
    converged = False

    def go_on_from(self, run, warm_start):
        """Take over the counters and the scale of a run that has ended."""
        self.history, self.earlier = list(run.history), list(run.phases)
        self.n_epochs, self.n_accesses = run.n_epochs, run.n_accesses
        self.counts = run.n_epochs, run.weights.n_updates, run.n_accesses
        if math.isfinite(run.primal_scale) and run.primal_scale > 0:
            self.primal_scale = run.primal_scale
        if warm_start:
            averaging = run.averaging
            if isinstance(averaging, MistakeHistory):
                averaging = averaging.for_stream()  # the model has its mistakes
            self.of_fit = copy.deepcopy((run.weights, averaging))

    @property
    def phases(self):
        """The phases of the fit before, and the stream as one more phase (list of PhaseRecord)."""
        totals = self.n_epochs, self.weights.n_updates, self.n_accesses
        counts = (total - before for total, before in zip(totals, self.counts, strict=True))
        return [*self.earlier, PhaseRecord("rules", *counts, self.seconds)]

    @property
    def hypothesis(self):
        if self.averaging is None:
            return self.weights
        return self.averaging.hypothesis(self.weights, self.data)

    @property
    def upper_bound(self):
        """The bound |a| / S, which no margin of all samples so far exceeds; inf before any update."""
        total = self.weights.dual_sum
        return math.sqrt(self.weights.sqnorm) / total if total > 0 else math.inf

    def process(self, data, segments):
        """Process the samples of a chunk, in order."""
        start = time.perf_counter()
        self.data, self.of_fit = data, None
        n_mistakes = self.process_segments(segments)
        self.n_epochs += 1
        self.n_accesses += sum(len(order) for _, order in segments)
        self.history.append(Epoch(self.n_epochs, self.weights.n_updates, n_mistakes, None))
        self.seconds += time.perf_counter() - start

    def process_segments(self, segments):
        """Process the samples of `data`, and return the number of mistakes."""
        if isinstance(self.averaging, MistakeHistory):
            self.averaging.forget()  # the model already has the mistakes of earlier chunks
        sets, n_mistakes = ActiveSets((), len(self.data)), 0
        for rules, order in segments:
            n_changed = sets.full_epoch(self.data, self.weights, rules, order, None, self.averaging)
            n_mistakes += n_changed + sets.n_rejected
        return n_mistakes

    def saved(self):
        """Return the state before a chunk, for `restore` (dict)."""
        # The history only grows, so its length is enough.
        return {**vars(self), **self.copies(), "history": len(self.history)}

    def copies(self):
        """Return copies of the state that a chunk changes in place (dict)."""
        averaging = None if self.averaging is None else self.averaging.for_stream()
        return {"weights": self.weights.without_dual(), "averaging": averaging}

    def restore(self, saved):
        """Restore the state from before an interrupted chunk."""
        history = self.history
        del history[saved["history"] :]
        vars(self).update(saved, history=history)

    def resume(self, run, same_samples):
        """Make a new run start where the last fit or chunk ended."""
        is_of_fit = same_samples and self.of_fit is not None
        state = self.of_fit if is_of_fit else (self.weights, self.averaging)
        weights, averaging = copy.deepcopy(state)
        if isinstance(averaging, MistakeHistory):
            averaging.forget()
        run.resume(weights, averaging)
        if is_of_fit:
            weights.recompute(run.data)  # C may have changed

    def __getstate__(self):
        state = {key: as_plain(value) for key, value in vars(self).items()}
        return {**state, "data": None}  # its arrays belong to the caller

    def __setstate__(self, state):
        vars(self).update({key: from_plain(value) for key, value in state.items()})


# Compiled classes of a state, and the functions that make their instances from arguments.
_COMPILED = {
    "WeightVector": (WeightVector, WeightVector(1).__reduce__()[0]),
    "LongestSurvivor": (LongestSurvivor, LongestSurvivor),
    "Pocket": (Pocket, Pocket),
    "Average": (Average, Average),
    "MistakeHistory": (MistakeHistory, MistakeHistory),
    "Cache": (Cache, Cache().__reduce__()[0]),
}


def as_plain(value):
    """Return a compiled object, or a tuple of such objects, as arrays, numbers and dicts.

    Files that run no code cannot contain compiled objects.
    """
    if type(value) is tuple:
        return tuple(map(as_plain, value))
    for name, (kind, _) in _COMPILED.items():
        if type(value) is kind:
            _, arguments, *state = value.__reduce__()
            return {"compiled": name, "arguments": as_plain(arguments), "state": as_plain(tuple(state))}
    return value


def from_plain(value):
    """Return the inverse of `as_plain`."""
    if type(value) is tuple:
        return tuple(map(from_plain, value))
    if not (isinstance(value, dict) and "compiled" in value):
        return value
    result = _COMPILED[value["compiled"]][1](*from_plain(value["arguments"]))
    for state in from_plain(value["state"]):
        result.__setstate__(state)
    return result


def segments_of(sqnorms, largest, rules_of):
    """Split a chunk at each new longest sample, so that the division into chunks does not matter."""
    order = np.arange(len(sqnorms), dtype=np.int32)
    running = np.maximum(np.maximum.accumulate(sqnorms), largest)
    starts = [0, *(np.flatnonzero(np.diff(running)) + 1).tolist()]
    ends = [*starts[1:], len(order)]
    segments = [
        (rules_of(float(running[start])), order[start:end])
        for start, end in zip(starts, ends, strict=True)
    ]
    return segments, float(running[-1])
