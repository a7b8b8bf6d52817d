"""Perceptrons on a budget, whose classifier is a cache of samples, for fits and streams."""

import copy
import math
from dataclasses import dataclass, replace

import numpy as np

from margins._update import WeightVector
from margins.data.binary_data import make_binary_data, rows_of, stack_rows
from margins.data.permutations import seeds_of
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.estimators.partitioned import IN_MEMORY
from margins.estimators.stream import Stream
from margins.parameters import Interval, parameter
from margins.rules import Additive, FixedThreshold, NoShrink, Rules
from margins.solvers.base import EpochSolver, Phase
from margins.solvers.custom._budget import Cache


@dataclass
class BudgetStream(Stream):
    """One binary problem of a stream that keeps the samples of a cache."""

    cache: Cache | None = None
    # ndarray or CSR matrix, shape (n_members, n_features), or None: the rows in the cache, the oldest
    # first.
    X: object = None
    # signs, diag, weight, indices: ndarray, shape (n_members,): for each row: its label, -1.0 or 1.0;
    # its D_k; the coefficient added; its index in the stream.
    signs: object = ()
    diag: object = ()
    weight: object = ()
    indices: object = ()
    # After a fit and before the first chunk: the weight vector of the fit, with its dual variables if it
    # had warm_start=True. None: the samples so far were a stream's.
    weights_of_fit: WeightVector | None = None

    @classmethod
    def of_fit(cls, learned, outcome, samples):
        """Return the stream after a fit, with the rows in its cache."""
        members, data = outcome.loop.members, outcome.data
        return replace(
            cls.after(learned, outcome.weights.copy().for_new_samples(1), None),
            cache=copy.deepcopy(outcome.loop),
            X=samples.X[members],
            signs=data.signs[members].astype(float),
            diag=data.diagonal[members],
            weight=data.weights[members],
            indices=samples.kept[members],
            weights_of_fit=learned.weights,
        )

    def as_stream(self, stream_type, keep_dual=False):
        return replace(self, weights=self.weights_of_fit) if keep_dual else self

    @property
    def members(self):
        """The samples in the cache, from the oldest on (ndarray of int64, shape (n_members,))."""
        return self.indices

    def process_rows(self, samples, data, segments):
        """Process the samples of a chunk, in order, and keep the samples that are then in the cache."""
        X, indices, n_cached = samples.X, samples.kept, len(self.indices)
        signs, diag, weight = data.signs, data.diagonal, data.weights
        sq_intercept_scaling = data.sq_intercept_scaling
        if n_cached:
            X = stack_rows(self.X, X)
            signs = np.concatenate([self.signs, signs])
            diag = np.concatenate([self.diag, diag])
            weight = np.concatenate([self.weight, weight])
            indices = np.concatenate([self.indices, indices])
        rows = rows_of(X)
        sqnorms = rows.sqnorms() + sq_intercept_scaling
        data = make_binary_data(
            rows, sqnorms, signs > 0, sq_intercept_scaling, diag, math.inf, weight=weight
        )
        self.weights = self.weights.for_new_samples(len(data))
        self.cache.begin_with(data, self.weights, n_cached)
        if self.weights_of_fit is not None:
            # A sample that was added twice is now two members, with separate slack terms.
            self.weights.recompute(data)
            self.weights_of_fit = None
        self.process(data, [(rules, n_cached + order) for rules, order in segments])
        members = self.cache.members
        self.X, self.signs = X[members], signs[members]
        self.diag, self.weight = diag[members], weight[members]
        self.indices = indices[members]

    def process_segments(self, segments):
        return sum(
            self.cache.full_epoch(self.data, self.weights, rules, order.astype(np.int32))
            for rules, order in segments
        )

    def copies(self):
        return {"weights": self.weights.copy(), "cache": copy.deepcopy(self.cache)}

    def resume(self, run):
        super().resume(run)
        run.cache = copy.deepcopy(self.cache)


CACHE = """list of ndarray of int64, shape (n_members,)
    For each binary problem, the samples in the cache, oldest first; a stream keeps only their rows."""


class BudgetClassifier(OnlineMixin, BaseMarginClassifier):
    """Perceptron whose weight vector is the sum of the samples in a cache.

    A subclass defines the size of the cache, and whether it removes samples at random.
    """

    WEIGHTS_MULTIPLY = "relative updates"
    DOCUMENTED = {"cache_": CACHE}

    C = math.inf
    max_iter = 100
    beta: float = parameter(
        Interval(0, 1e60),
        "Margin, in units of R**2: a sample is added if its product a.y is at most beta R**2. R is the "
        "norm of the longest sample (in a stream: so far), bias and slack term included.",
        default=0.0,
    )

    STREAM_STATE = (
        "the weight vector, the number of updates, and the samples in the cache: rows, labels and "
        "slack terms; the random state of removals. In `cache_`, the samples of a stream follow the "
        "samples of the fit."
    )

    def specification(self, sqnorms, continues=False):
        specification = super().specification(sqnorms, continues)
        return specification._replace(
            # Zero rows are allowed: they only rule out a separating hyperplane, which is not required.
            allows_zero_rows=True,
            model_scale=1.0,
            keep_dual=True,
            warns=False,
        )

    def why_not_in_partitions(self):
        return IN_MEMORY  # the caches hold rows

    def new_cache(self, generator):
        """Return an empty cache (Cache), the only user of `generator` (numpy.random.Generator)."""
        raise NotImplementedError(f"{type(self).__name__} must define new_cache(generator).")

    def online_rules(self, sqradius):
        return Rules(FixedThreshold(self.beta * sqradius), Additive(most=1), NoShrink())

    def phases(self, run):
        # A warm start continues with the cache of the last fit.
        cache = getattr(run, "cache", None) or self.new_cache(_generator(run.seed))
        yield Phase(solver=EpochSolver(self.online_rules(run.sqradius), cache, "rules"))

    def _new_stream(self, specification, n_features):
        (seed,) = seeds_of(self.random_state, 1)
        cache = self.new_cache(_generator(seed))
        return BudgetStream(WeightVector(n_features, 1), None, 0.0, cache=cache)

    def _process_chunk(self, stream, data, segments, samples):
        stream.process_rows(samples, data, segments)

    def _attributes_of(self, fit):
        attributes = super()._attributes_of(fit)
        samples, state = fit.training_set.samples, attributes["_state"]
        attributes["cache_"] = [samples.kept[outcome.loop.members] for outcome in fit.outcomes]
        if state is not None:
            fits = zip(state.problems, fit.outcomes, strict=True)
            streams = [BudgetStream.of_fit(learned, outcome, samples) for learned, outcome in fits]
            attributes["_state"] = state._replace(problems=streams)
        return attributes

    def _attributes_of_streams(self, fit, state):
        attributes = super()._attributes_of_streams(fit, state)
        return {**attributes, "cache_": [stream.members for stream in state.problems]}


def _generator(seed):
    """Return the random generator of removals, independent of the generator of sample orders."""
    return np.random.default_rng((seed, 1))
