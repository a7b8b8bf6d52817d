"""Algorithms outside the mould: a compiled loop of their own, everything else as for all others.

Their state is more than one weight vector that patterns are added to, so rules cannot say what they do.
Such an algorithm declares its parameters and makes a `State`, which presents patterns by a loop of its
own; epochs, permutations, one-vs-rest, streams, callbacks and certificates are the common ones. What is
common to the states: every update adds a pattern with a positive coefficient to one vector,
theta = sum_k alpha_k y_k, so |theta| / S bounds the maximum margin from above, whatever predicts.
"""

import math
from typing import Literal

import numpy as np

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin, Stream
from margins.parameters import Interval, OneOf, parameter
from margins.solvers.base import EpochSolver, Phase


class State:
    """What a run of an algorithm with a loop of its own has in place of a `WeightVector`.

    The arrays belong to the subclass; what it must have:

    Attributes
    ----------
    coordinates : ndarray of float64, shape (n_features + 1,)
        The weight vector that predicts; last, the augmentation's weight.
    dual : ndarray of float64, shape (m,), or None
        alpha, where it is kept.
    dual_sum, sqnorm : float
        S and |theta|^2, bias and private coordinates included.
    n_updates : int
    """

    def present(self, patterns, order):
        """Present the patterns of `order`, ndarray of int32: the number of updates."""
        raise NotImplementedError(f"{type(self).__name__} must define present(patterns, order).")

    n_refused = n_unmoved = 0  # every misclassified sample makes an update
    n_visits = 0

    def full_epoch(self, patterns, weights, rules, order, full_pass_rules=None, readout=None):
        """The interface of `margins.solvers.driver.Stage.presenter`, by `present`.

        Parameters
        ----------
        patterns : Patterns
        order : ndarray of int32
        weights, rules, full_pass_rules, readout : object
            For loops of rules; unused here.

        Returns
        -------
        int
            The number of updates.
        """
        n_changed = self.present(patterns, order)
        self.n_visits += len(order)
        return n_changed

    def recompute(self, patterns):
        """Recompute what recursions have collected rounding in."""

    def release(self):
        """Drop what only further updates would need."""

    def settle(self, patterns):
        """Settle what depends on the patterns that are about to be presented."""
        self.rho = math.sqrt(patterns.sqrho)

    @property
    def weights(self):
        """The weights of the features: ndarray of float64, shape (n_features,)."""
        return self.coordinates[:-1]

    @property
    def label_sum(self):
        """The bias is rho^2 times it."""
        return float(self.coordinates[-1]) / self.rho if self.rho > 0 else 0.0

    def products(self, patterns):
        """w.y_k, private coordinates left out: ndarray of float64, shape (m,)."""
        coordinates = self.coordinates
        return patterns.signs * (patterns.rows.products(coordinates) + self.rho * coordinates[-1])

    def ordinary_sqnorm(self, patterns):
        """|w|^2 over features and bias."""
        coordinates = self.coordinates
        return float(coordinates @ coordinates)


class OwnLoopStream(Stream):
    """A stream whose patterns are presented by the state itself."""

    def present(self, patterns, rules):
        self.patterns = patterns
        self.weights.settle(patterns)
        order = np.arange(len(patterns), dtype=np.int32)
        self.end_chunk(len(order), self.weights.present(patterns, order))


class OwnLoopClassifier(OnlineMixin, BaseMarginClassifier):
    """A linear classifier that presents its patterns by a loop of its own."""

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Penalty of the 2-norm soft margin, by a private coordinate of size 1 / sqrt(2 C) for every "
        "pattern. inf: the hard margin.",
        default=math.inf,
    )
    kernel: Literal["linear"] = parameter(
        OneOf("linear"),
        "Only 'linear', and so the parameters of kernels mean nothing.",
        default="linear",
    )

    def new_state(self, n_features, n_patterns):
        """The state before the first pattern.

        Parameters
        ----------
        n_features, n_patterns : int
            n_patterns 0: the dual variables are not kept.

        Returns
        -------
        State
        """
        raise NotImplementedError(f"{type(self).__name__} must define new_state.")

    def _options(self, rows):
        options = super()._options(rows)

        def new_weights(patterns):
            n_patterns = len(patterns) if options.keep_dual else 0
            state = self.new_state(patterns.rows.n_features, n_patterns)
            state.settle(patterns)
            return state

        return options._replace(new_weights=new_weights)

    def phases(self, run):
        state = run.weights
        try:
            yield Phase(solver=EpochSolver(None, state, "rules"))
        finally:
            state.release()

    def online_rules(self, sqradius):
        """There are none."""

    def _stream(self, n_features):
        return OwnLoopStream(self.new_state(n_features, 0), None, self._theta)
