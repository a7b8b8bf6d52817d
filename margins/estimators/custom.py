"""Algorithms with a custom compiled loop instead of rules.

Their state, a `LoopState`, is more than a weight vector to which samples are added. But an update always
adds a sample with a positive coefficient to one vector, theta = sum_k alpha_k y_k. So |theta| / S bounds
the maximum margin from above, even if another vector predicts.
"""

import math
from typing import Literal

import numpy as np

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.estimators.partitioned import IN_MEMORY
from margins.estimators.stream import Stream
from margins.parameters import OneOf, parameter
from margins.solvers.base import EpochSolver, Phase


class LoopState:
    """State of a run with a custom loop, used instead of a `WeightVector`. A subclass has:

    coordinates, shape (n_features + 1,): the weight vector that predicts, with the weight of the
        constant feature last.
    dual, shape (m,): the dual variables alpha, if they are kept.
    dual_sum, sqnorm: S and |theta|^2, bias and slack terms included.
    """

    def process(self, data, order):
        """Process the samples of `order` (ndarray of int32), and return the number of updates."""
        raise NotImplementedError(f"{type(self).__name__} must define process(samples, order).")

    n_rejected = n_unmoved = 0  # every misclassified sample makes an update
    n_accesses = 0

    def full_epoch(self, data, weights, rules, order, full_pass_rules=None, averaging=None):
        """Run a full epoch by `process`, with the interface of `margins.solvers.base.EpochSolver`."""
        n_changed = self.process(data, order)
        self.n_accesses += len(order)
        return n_changed

    def recompute(self, data):
        """Recompute the values in which updates have accumulated rounding errors."""

    def without_dual(self):
        """Return a copy that keeps no dual variables, for samples that are accessed only once."""
        raise NotImplementedError(f"{type(self).__name__} must define without_dual().")

    def __setstate__(self, state):
        # Make arrays writable: a pickle may be memory-mapped.
        for name, value in state.items():
            state[name] = np.require(value, requirements="W") if isinstance(value, np.ndarray) else value
        vars(self).update(state)

    def begin(self, data):
        """Compute the values that depend on the samples, before processing them."""
        self.rho = math.sqrt(data.sq_intercept_scaling)

    @property
    def weights(self):
        """The weights of the features (ndarray of float64, shape (n_features,))."""
        return self.coordinates[:-1]

    @property
    def label_sum(self):
        """The bias divided by rho^2."""
        return float(self.coordinates[-1]) / self.rho if self.rho > 0 else 0.0

    def products(self, data):
        """Return w.y_k, without slack terms (ndarray of float64, shape (m,))."""
        coordinates = self.coordinates
        return data.signs * (data.rows.products(coordinates) + self.rho * coordinates[-1])

    def ordinary_sqnorm(self, data):
        """Return |w|^2 over features and bias."""
        coordinates = self.coordinates
        return float(coordinates @ coordinates)


class OwnLoopStream(Stream):
    """Stream whose samples are processed by the loop of its state."""

    def process_segments(self, segments):
        self.weights.begin(self.data)
        return sum(self.weights.process(self.data, order) for _, order in segments)

    def copies(self):
        return {"weights": self.weights.without_dual()}

    def resume(self, run):
        super().resume(run)
        run.weights.begin(run.data)


class OwnLoopClassifier(OnlineMixin, BaseMarginClassifier):
    """Linear classifier with a custom loop over its samples."""

    C = math.inf
    kernel: Literal["linear"] = parameter(
        OneOf("linear"), "Only 'linear'; the kernel parameters are unused.", default="linear"
    )

    def why_not_in_partitions(self):
        return IN_MEMORY  # the loops read samples directly

    def new_state(self, n_features, n_samples):
        """Return the state before the first sample (LoopState); n_samples 0: without dual variables."""
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
        """Return None: there are no rules."""

    def _new_stream(self, specification, n_features):
        return OwnLoopStream(self.new_state(n_features, 0), None, specification.theta)

    _stream_type = OwnLoopStream
