"""Algorithms with a custom compiled loop in place of rules.

Their state is more than one weight vector that samples are added to. Such an algorithm declares its
parameters and makes a `State`, which processes samples in its own loop; epochs, permutations,
one-vs-rest, streams, callbacks and certificates are the common ones. In every state an update adds a
sample with a positive coefficient to one vector, theta = sum_k alpha_k y_k, so |theta| / S bounds the
maximum margin from above, whatever predicts.
"""

import math
from typing import Literal

import numpy as np

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.estimators.partitioned import IN_MEMORY
from margins.estimators.stream import Stream
from margins.parameters import Interval, OneOf, parameter
from margins.solvers.base import EpochSolver, Phase


class State:
    """The state of a run with a custom loop, in place of a `WeightVector`; a subclass has:

    Attributes
    ----------
    coordinates : ndarray of float64, shape (n_features + 1,)
        The weight vector that predicts; last, the weight of the constant feature.
    dual : ndarray of float64, shape (m,), or None
        alpha, if it is kept.
    dual_sum, sqnorm : float
        S and |theta|^2, bias and slack terms included.
    n_updates : int
    """

    def process(self, data, order):
        """Process the samples of `order`, ndarray of int32; return the number of updates."""
        raise NotImplementedError(f"{type(self).__name__} must define process(samples, order).")

    n_rejected = n_unmoved = 0  # every misclassified sample makes an update
    n_accesses = 0

    def full_epoch(self, data, weights, rules, order, full_pass_rules=None, averaging=None):
        """One full epoch, by `process`, with the interface of `margins.solvers.base.EpochSolver`.

        Parameters
        ----------
        data : BinaryData
        order : ndarray of int32
        weights, rules, full_pass_rules, averaging : object
            For loops of rules; unused here.

        Returns
        -------
        int
            The number of updates.
        """
        n_changed = self.process(data, order)
        self.n_accesses += len(order)
        return n_changed

    def recompute(self, data):
        """Recompute values in which updates have accumulated rounding."""

    def without_dual(self):
        """A copy that keeps no dual variables, for samples of which each is accessed once."""
        raise NotImplementedError(f"{type(self).__name__} must define without_dual().")

    def __setstate__(self, state):
        # Writable arrays: a pickle may be memory-mapped.
        for name, value in state.items():
            state[name] = np.require(value, requirements="W") if isinstance(value, np.ndarray) else value
        vars(self).update(state)

    def begin(self, data):
        """Compute what depends on the samples, before these are processed."""
        self.rho = math.sqrt(data.sqrho)

    @property
    def weights(self):
        """The weights of the features: ndarray of float64, shape (n_features,)."""
        return self.coordinates[:-1]

    @property
    def label_sum(self):
        """The bias is rho^2 times it."""
        return float(self.coordinates[-1]) / self.rho if self.rho > 0 else 0.0

    def products(self, data):
        """w.y_k, without slack terms: ndarray of float64, shape (m,)."""
        coordinates = self.coordinates
        return data.signs * (data.rows.products(coordinates) + self.rho * coordinates[-1])

    def ordinary_sqnorm(self, data):
        """|w|^2 over features and bias."""
        coordinates = self.coordinates
        return float(coordinates @ coordinates)


class OwnLoopStream(Stream):
    """A stream whose samples are processed by the loop of its state."""

    def process_segments(self, segments):
        self.weights.begin(self.data)
        return sum(self.weights.process(self.data, order) for _, order in segments)

    def copies(self):
        return {"weights": self.weights.without_dual()}

    def resume(self, run, same_samples):
        super().resume(run, same_samples)
        run.weights.begin(run.data)


class OwnLoopClassifier(OnlineMixin, BaseMarginClassifier):
    """A linear classifier with a custom loop over its samples."""

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Penalty of the 2-norm soft margin, by slack terms with D_k = 1 / (2 C). inf: the hard margin.",
        default=math.inf,
    )
    kernel: Literal["linear"] = parameter(
        OneOf("linear"),
        "Only 'linear'; the parameters of kernels are unused.",
        default="linear",
    )

    def why_not_in_partitions(self):
        return IN_MEMORY  # their loops read samples by themselves

    def new_state(self, n_features, n_samples):
        """The state before the first sample.

        Parameters
        ----------
        n_features, n_samples : int
            n_samples 0: dual variables are not kept.

        Returns
        -------
        State
        """
        raise NotImplementedError(f"{type(self).__name__} must define new_state.")

    def specification(self, sqnorms, continues=False):
        specification = super().specification(sqnorms, continues)

        def new_weights(data):
            n_samples = len(data) if specification.keep_dual else 0
            state = self.new_state(data.rows.n_features, n_samples)
            state.begin(data)
            return state

        return specification._replace(new_weights=new_weights)

    def phases(self, run):
        yield Phase(solver=EpochSolver(None, run.weights, "rules"))

    def online_rules(self, sqradius):
        """There are none."""

    def _new_stream(self, specification, n_features):
        return OwnLoopStream(self.new_state(n_features, 0), None, specification.theta)

    def _stream_after(self, run, samples):
        stream = OwnLoopStream(run.weights.without_dual(), None, run.theta)
        stream.go_on_from(run, self.warm_start)
        return stream
