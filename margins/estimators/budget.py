"""Perceptrons on a budget: what makes a cache of patterns a classifier, and a stream of one."""

import math
from dataclasses import dataclass

import numpy as np

from margins._update import WeightVector
from margins.data.binary_problem import binary_patterns, of_each, rows_of, stack_rows
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.multiclass import seeds_of
from margins.estimators.online import OnlineMixin, Stream
from margins.parameters import Interval, parameter
from margins.rules import Additive, FixedThreshold, NoShrink, Rules
from margins.solvers.base import EpochSolver, Phase
from margins.solvers.custom._budget import Cache


@dataclass
class BudgetStream(Stream):
    """One binary problem of a stream of which the members of a cache are kept.

    Attributes
    ----------
    cache : Cache
    X : ndarray or CSR matrix, shape (n_members, n_features), or None
        The members' rows, the oldest first.
    signs, extension, indices : ndarray, shape (n_members,)
        Their labels, -1.0 or 1.0; their Delta_k^2; and where in the stream they came.
    """

    cache: Cache | None = None
    X: object = None
    signs: object = ()
    extension: object = ()
    indices: object = ()

    @property
    def members(self):
        """The samples in the cache, the oldest first: ndarray of int64, shape (n_members,)."""
        return self.indices

    def present_rows(self, X, signs, extension, indices, sqrho, rules):
        """Present the patterns of a chunk, in order, and keep those that end in the cache."""
        n_kept = len(self.indices)
        if n_kept:
            X = stack_rows(self.X, X)
            signs = np.concatenate([self.signs, signs])
            extension = np.concatenate([self.extension, extension])
            indices = np.concatenate([self.indices, indices])
        rows = rows_of(X)
        patterns = binary_patterns(rows, rows.sqnorms() + sqrho, signs > 0, sqrho, extension, math.inf)
        self.patterns = patterns
        self.weights = self.weights.for_new_patterns(len(patterns))
        self.cache.begin_with(self.weights, n_kept)
        order = np.arange(n_kept, len(patterns), dtype=np.int32)
        n_added = self.cache.full_epoch(patterns, self.weights, rules, order)
        members = self.cache.members
        self.X, self.signs = X[members], signs[members]
        self.extension, self.indices = extension[members], indices[members]
        self.end_chunk(len(order), n_added)


class BudgetClassifier(OnlineMixin, BaseMarginClassifier):
    """A perceptron whose weight vector is the sum of the patterns in a cache.

    A subclass says how large the cache may be, and if members leave it at random.
    """

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Finite: every pattern has a private coordinate of size 1 / sqrt(2 C).",
        default=math.inf,
    )
    beta: float = parameter(
        Interval(0, 1e60),
        "Margin, in units of R**2: a pattern is added if its product a.y is at most that. R is the "
        "length of the longest pattern, augmented and extended; for a stream, of its first chunk.",
        default=0.0,
    )
    max_iter: int = parameter(
        Interval(1, math.inf, "left", integer=True),
        "Epochs. A fit ends earlier if one adds nothing.",
        default=100,
    )

    # Nobody asks these for a separating hyperplane, which a zero row could not have.
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

    def _present(self, stream, patterns, rules, samples):
        extension = self._loss(self._penalties(samples.weight)).diag
        stream.present_rows(
            samples.X,
            patterns.signs,
            of_each(extension, len(patterns)),
            samples.kept + self._n_seen,
            patterns.sqrho,
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
        """Nothing was promised."""


def _generator(seed):
    """Of what a cache loses: not that of the orders of presentation."""
    return np.random.default_rng((seed, 1))
