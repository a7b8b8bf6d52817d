"""Perceptrons on a budget: a cache of samples as a classifier, for fits and streams."""

import math
from dataclasses import dataclass

import numpy as np

from margins._update import WeightVector
from margins.data.binary_data import make_binary_data, of_each, rows_of, stack_rows
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.multiclass import seeds_of
from margins.estimators.online import OnlineMixin, Stream
from margins.parameters import Interval, parameter
from margins.rules import Additive, FixedThreshold, NoShrink, Rules
from margins.solvers.base import EpochSolver, Phase
from margins.solvers.custom._budget import Cache


@dataclass
class BudgetStream(Stream):
    """One binary problem of a stream that keeps the samples of a cache.

    Attributes
    ----------
    cache : Cache
    X : ndarray or CSR matrix, shape (n_members, n_features), or None
        The rows in the cache, the oldest first.
    signs, diag, indices : ndarray, shape (n_members,)
        Their labels, -1.0 or 1.0; their D_k; and their indices in the stream.
    """

    cache: Cache | None = None
    X: object = None
    signs: object = ()
    diag: object = ()
    indices: object = ()

    @property
    def members(self):
        """The samples in the cache, the oldest first: ndarray of int64, shape (n_members,)."""
        return self.indices

    def process_rows(self, X, signs, diag, indices, sqrho, rules):
        """Process the samples of a chunk, in order, and keep those that are then in the cache."""
        n_kept = len(self.indices)
        if n_kept:
            X = stack_rows(self.X, X)
            signs = np.concatenate([self.signs, signs])
            diag = np.concatenate([self.diag, diag])
            indices = np.concatenate([self.indices, indices])
        rows = rows_of(X)
        data = make_binary_data(rows, rows.sqnorms() + sqrho, signs > 0, sqrho, diag, math.inf)
        self.data = data
        self.weights = self.weights.for_new_samples(len(data))
        self.cache.begin_with(self.weights, n_kept)
        order = np.arange(n_kept, len(data), dtype=np.int32)
        n_added = self.cache.full_epoch(data, self.weights, rules, order)
        members = self.cache.members
        self.X, self.signs = X[members], signs[members]
        self.diag, self.indices = diag[members], indices[members]
        self.end_chunk(len(order), n_added)


class BudgetClassifier(OnlineMixin, BaseMarginClassifier):
    """A perceptron whose weight vector is the sum of the samples in a cache.

    A subclass defines the size of the cache, and whether samples are removed at random.
    """

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Penalty of the 2-norm soft margin. inf: the hard margin.",
        default=math.inf,
    )
    beta: float = parameter(
        Interval(0, 1e60),
        "Margin, in units of R**2: a sample is added if its product a.y is at most that. R is the norm "
        "of the longest sample, bias and slack term included; for a stream, of its first chunk.",
        default=0.0,
    )
    max_iter: int = parameter(
        Interval(1, math.inf, "left", integer=True),
        "Epochs. A fit ends earlier after an epoch without updates.",
        default=100,
    )

    # No separating hyperplane, which zero rows would rule out, is required.
    _takes_zero_rows = True
    _keeps_dual = True

    def _cache(self, generator):
        """An empty cache: Cache. `generator`, numpy.random.Generator, is its own."""
        raise NotImplementedError(f"{type(self).__name__} must define _cache(generator).")

    def online_rules(self, sqradius):
        return Rules(FixedThreshold(self.beta * sqradius), Additive(most=1), NoShrink())

    def phases(self, run):
        cache = self._cache(_generator(run.seed))
        yield Phase(solver=EpochSolver(self.online_rules(run.sqradius), cache, "rules"))

    def _stream(self, n_features):
        (seed,) = seeds_of(self.random_state, 1)
        cache = self._cache(_generator(seed))
        return BudgetStream(WeightVector(n_features, 1), None, 0.0, cache=cache)

    def _process_chunk(self, stream, data, rules, samples):
        diag = self._loss(self._penalties(samples.weight)).diag
        stream.process_rows(
            samples.X,
            data.signs,
            of_each(diag, len(data)),
            samples.kept + self._n_seen,
            data.sqrho,
            rules,
        )

    def _scale(self, run):
        return 1.0

    def _collect_model(self, runs, samples):
        super()._collect_model(runs, samples)
        self.cache_ = [
            run.members if isinstance(run, BudgetStream) else samples.kept[run.solver.loop.members]
            for run in runs
        ]

    def _warn(self, runs):
        """No warning: there is no guarantee of convergence."""


def _generator(seed):
    """The generator of removals, independent of that of the orders."""
    return np.random.default_rng((seed, 1))
