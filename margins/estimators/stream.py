"""What training continues from: streams between two chunks, and the outcomes of a fit.

A stream keeps neither samples nor dual variables: a sample of a later chunk is new, with a separate
slack term and dual variable.
"""

import copy
import math
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from margins._activeset import ActiveSets
from margins._update import Averaging, WeightVector
from margins.rules import Average, LongestSurvivor, MistakeHistory, Pocket
from margins.solvers.base import PhaseRecord
from margins.solvers.custom._budget import Cache
from margins.solvers.history import Epoch
from margins.solvers.outcome import Outcome, hypothesis_of


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


class LearningState(NamedTuple):
    """The state of an estimator from which `partial_fit` and a warm start continue."""

    problems: list[Any]  # of each binary problem: `Learned` after a fit, a Stream after a chunk
    n_seen: int = 0  # samples so far, those of weight 0 included
    sqradius: float = 0.0  # R^2, the largest squared norm of a sample so far
    weights: SeenWeights = SeenWeights()
    digest: str | None = None  # identifies the samples of the last fit, if it had warm_start=True


@dataclass
class Learned:
    """What a fit keeps of a binary problem for training that continues."""

    weights: WeightVector
    averaging: Averaging | None
    theta: float  # threshold of the score
    # Factor from the hypothesis to `coef_`, taken from the fit that a stream continues; without a fit 1,
    # because scaling to functional margin 1 would need another pass over the samples.
    scale: float = 1.0
    history: list = field(default_factory=list)
    earlier: list = field(default_factory=list)  # phases that have ended
    n_epochs: int = 0
    n_accesses: int = 0

    @classmethod
    def of(cls, outcome, keep_dual):
        """Return what the outcome of a fit leaves, without dual variables that nothing needs."""
        weights, averaging = outcome.weights, outcome.averaging
        drops_dual = not keep_dual and weights.dual is not None
        if drops_dual:
            weights = weights.without_dual()
        if averaging is not None and (drops_dual or isinstance(averaging, MistakeHistory)):
            averaging = averaging.for_stream()  # the model has its mistakes
        scale = outcome.scale if math.isfinite(outcome.scale) and outcome.scale > 0 else 1.0
        history, phases = list(outcome.history), list(outcome.phases)
        counts = outcome.n_epochs, outcome.n_accesses
        return cls(weights, averaging, outcome.theta, scale, history, phases, *counts)

    def as_stream(self, stream_type, keep_dual=False):
        """Return a stream that continues the fit, with a copy of its weights."""
        weights, averaging = self.weights, self.averaging
        if keep_dual:  # for the same samples
            weights, averaging = copy.deepcopy((weights, averaging))
        else:
            weights = weights.without_dual()
            averaging = None if averaging is None else averaging.for_stream()
        return stream_type.after(self, weights, averaging)

    def __getstate__(self):
        return {key: as_plain(value) for key, value in vars(self).items()}

    def __setstate__(self, state):
        vars(self).update({key: from_plain(value) for key, value in state.items()})


@dataclass
class Stream(Learned):
    """One binary problem of a stream, between two chunks; its weights have no dual variables."""

    data: object = None
    seconds: float = 0.0
    counts: tuple = (0, 0, 0)  # epochs, updates and accesses before the first chunk

    @classmethod
    def after(cls, learned, weights, averaging):
        """Return a stream that continues a fit, with these copies of its weights."""
        counts = learned.n_epochs, weights.n_updates, learned.n_accesses
        changed = {"weights": weights, "averaging": averaging, "history": list(learned.history)}
        return cls(**{**vars(learned), **changed}, counts=counts)

    def as_stream(self, stream_type, keep_dual=False):
        """Return this stream, whose samples were another's."""
        return self

    @property
    def phases(self):
        """The phases of the fit before, and the stream as one more phase (list of PhaseRecord)."""
        totals = self.n_epochs, self.weights.n_updates, self.n_accesses
        counts = (total - before for total, before in zip(totals, self.counts, strict=True))
        return [*self.earlier, PhaseRecord("rules", *counts, self.seconds)]

    def outcome(self, specification):
        """Return the outcome of the samples so far (Outcome)."""
        scale = specification.model_scale
        return Outcome(
            specification,
            self.data,
            hypothesis_of(self.weights, self.averaging, self.data),
            self.weights,
            certificate=None,
            ending=None,
            history=self.history,
            phases=self.phases,
            scale=self.scale if scale is None else scale,
            theta=self.theta,
            n_epochs=self.n_epochs,
            n_accesses=self.n_accesses,
            averaging=self.averaging,
        )

    def process(self, data, segments):
        """Process the samples of a chunk, in order."""
        start = time.perf_counter()
        self.data = data
        n_mistakes = self.process_segments(segments)
        self.n_epochs += 1
        self.n_accesses += sum(len(order) for _, order in segments)
        counts = self.n_epochs, self.weights.n_updates, n_mistakes
        self.history.append(Epoch(*counts, None, accesses=self.n_accesses))
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

    def resume(self, run):
        """Make a new run start where the stream is."""
        weights, averaging = copy.deepcopy((self.weights, self.averaging))
        if isinstance(averaging, MistakeHistory):
            averaging.forget()
        run.resume(weights, averaging)

    def __getstate__(self):
        return {**super().__getstate__(), "data": None}  # its arrays belong to the caller


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
