"""Perceptrons on a budget, whose classifier is a cache of samples, for fits and streams."""

import copy
import math
from dataclasses import dataclass

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
    # ndarray of int32, shape (n_members,), or None: after a fit and before the first chunk: the indices
    # of the rows in the training set of the fit.
    members_of_fit: object = None

    @property
    def members(self):
        """The samples in the cache, from the oldest on (ndarray of int64, shape (n_members,))."""
        return self.indices

    def process_rows(self, X, signs, diag, weight, indices, sq_intercept_scaling, segments):
        """Process the samples of a chunk, in order, and keep the samples that are then in the cache."""
        n_cached = len(self.indices)
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
        if self.members_of_fit is not None:
            # A sample that was added twice is now two members, with separate slack terms.
            self.weights.recompute(data)
            self.members_of_fit = None
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

    def resume(self, run, same_samples):
        super().resume(run, same_samples)
        run.cache = copy.deepcopy(self.cache)


class BudgetClassifier(OnlineMixin, BaseMarginClassifier):
    """Perceptron whose weight vector is the sum of the samples in a cache.

    A subclass defines the size of the cache, and whether it removes samples at random.
    """

    WEIGHTS = "relative updates"

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Penalty of the 2-norm soft margin. inf: the hard margin.",
        default=math.inf,
    )
    beta: float = parameter(
        Interval(0, 1e60),
        "Margin, in units of R**2: a sample is added if its product a.y is at most beta R**2. R is the "
        "norm of the longest sample (in a stream: so far), bias and slack term included.",
        default=0.0,
    )
    max_iter: int = parameter(
        Interval(1, math.inf, "left", integer=True),
        "Number of epochs. A fit ends earlier after an epoch without updates.",
        default=100,
    )

    KEPT = (
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

    def _stream_after(self, run, samples):
        cache = copy.deepcopy(run.solver.loop)
        members, data = cache.members, run.data
        stream = BudgetStream(
            run.weights.copy().for_new_samples(1),
            None,
            run.theta,
            cache=cache,
            X=samples.X[members],
            signs=data.signs[members].astype(float),
            diag=data.diagonal[members],
            weight=data.weights[members],
            indices=samples.kept[members],
            members_of_fit=members,
        )
        stream.go_on_from(run, self.warm_start)
        return stream

    def _process_chunk(self, stream, data, segments, samples):
        stream.process_rows(
            samples.X,
            data.signs,
            data.diagonal,
            data.weights,
            samples.kept,
            data.sq_intercept_scaling,
            segments,
        )

    def _model_attributes(self, fit):
        kept = fit.training_set.samples.kept
        caches = [
            run.members if isinstance(run, BudgetStream) else kept[run.solver.loop.members]
            for run in fit.runs
        ]
        return {**super()._model_attributes(fit), "cache_": caches}


def _generator(seed):
    """Return the random generator of removals, independent of the generator of sample orders."""
    return np.random.default_rng((seed, 1))
