"""ALMA, the approximate large margin algorithm."""

import math
from typing import Literal

import numpy as np

import margins.solvers.custom._alma as _alma
from margins.certificate import Certificate
from margins.estimators.custom import OwnLoopClassifier, State
from margins.estimators.online import Stream
from margins.parameters import Interval, OneOf, parameter


class AlmaState(State):
    """theta = scale * (v, beta_k Delta_k) and the powers of v, by which w = g(theta) is found."""

    def __init__(self, n_features, n_patterns, p, eps):
        self.p, self.eps = p, eps
        self.v = np.zeros(n_features + 1)
        self.u = self.v if p == 2 else np.zeros(n_features + 1)
        self.beta = np.zeros(n_patterns) if n_patterns else None
        self.scalars = np.zeros(_alma.N)
        self.scalars[_alma.SCALE] = 1
        self.norms = None

    def __getstate__(self):
        return {**self.__dict__, "norms": None, "u": None}

    def __setstate__(self, state):
        self.__dict__ |= state
        self.u = self.v if self.p == 2 else np.sign(self.v) * np.abs(self.v) ** (self.p - 1)

    def settle(self, patterns):
        super().settle(patterns)
        parts = np.stack(
            [
                patterns.rows.pnorms(self.p),
                np.full(len(patterns), self.rho),
                np.sqrt(patterns.extension_sqnorms),
            ]
        )
        largest = parts.max(axis=0)
        self.norms = largest * np.sum((parts / largest) ** self.p, axis=0) ** (1 / self.p)

    def present(self, patterns, order):
        return _alma.present(
            patterns, order, self.norms, self.p, self.eps, self.v, self.u, self.beta, self.scalars
        )

    def recompute(self, patterns):
        _alma.recompute(patterns, self.p, self.v, self.u, self.beta, self.scalars)

    def _scalar(self, index):
        return float(self.scalars[index])

    @property
    def norm(self):
        """|theta|_p == |w|_q, private coordinates included."""
        return self._scalar(_alma.SCALE) * self._scalar(_alma.POWER) ** (1 / self.p)

    @property
    def coordinates(self):
        norm = self._scalar(_alma.POWER) ** (1 / self.p)
        return self.u * (self._scalar(_alma.SCALE) / norm ** (self.p - 2)) if norm > 0 else self.u

    @property
    def dual(self):
        return None if self.beta is None else self._scalar(_alma.SCALE) * self.beta

    @property
    def dual_sum(self):
        return self._scalar(_alma.DUAL_SUM)

    @property
    def sqnorm(self):
        return self._scalar(_alma.SCALE) ** 2 * (
            float(self.v @ self.v) + self._scalar(_alma.SLACK_SQNORM)
        )

    @property
    def n_updates(self):
        return int(self._scalar(_alma.UPDATES))

    def normalised_certificate(self, patterns=None):
        """What is proven of patterns / |pattern|_p; without patterns, of those that have come."""
        # Both bounds hold at any time: weak duality, and the theorem, read backwards.
        bound = math.sqrt(8 * (self.p - 1) / (self.n_updates + 1)) / self.eps
        total = self._scalar(_alma.SHARE_SUM)
        bound = min(bound, self.norm / total) if total > 0 else bound
        margin = -math.inf
        if patterns is not None:
            products = np.empty(len(patterns))
            _alma.normalised_products(patterns, self.norms, self.p, self.u, self.beta, products)
            norm = self._scalar(_alma.POWER) ** (1 / self.p)
            margin = float(products.min()) / norm ** (self.p - 1) if norm > 0 else 0.0
        primal = 0.5 / margin / margin if margin > 0 else math.inf
        dual = 0.5 / bound / bound if bound > 0 else 0.0
        return Certificate.from_bounds(primal, dual, self.n_updates, margin)


class ApproximateLargeMarginClassifier(OwnLoopClassifier):
    """ALMA: the perceptron with p-norms, for weight vectors of which few coordinates matter.

    Patterns are divided by their p-norms, added up, and the sum is bent into the weight vector, whose
    q-norm is what counts, ``1/p + 1/q = 1``. With ``p=2`` both are Euclid's; with p near
    2 ln(n_features) q is near 1, and features that do not matter cost little. On separable data (and
    with C < inf all data are) it ends, with a clean epoch at the latest, and then has ``1 - eps`` of the
    maximum margin *of the normalised patterns in that norm*, of which a fit leaves a proof:

    - `normalised_certificates_`: a list of Certificate, about the patterns divided by their p-norms
      (bias and private coordinates included), so without a unit. `margin` is the least product of such a
      pattern with w / |w|_q, `upper_bound` exceeds what any w can have; `primal` and `dual` only restate
      them. `fraction` is at least ``1 - eps`` if the fit has converged.
    - `certificates_`: as everybody's, about the patterns as they are, in the 2-norm and in units of X.
      True, and comparable, but not what the algorithm strives for; its `fraction` may be small.

    `dual_coef_`, with a finite C, belongs to `certificates_`; `coef_` is proportional to the sum of
    alpha_k y_k x_k with ``p=2``, and otherwise bent.

    **Source**: Gentile (2001), A New Approximate Maximal Margin Classification Algorithm, Theorem 3.
    """

    p: float = parameter(
        Interval(2, 100), "The norm. 2 ln(n_features) suits sparse weights.", default=2.0
    )
    eps: float = parameter(
        Interval(0, 1, "right"),
        "Accuracy, the paper's alpha: the margin of the normalised patterns in the q-norm is to be "
        "1 - eps of its maximum. The number of updates may grow as 1 / eps**2, and does: this is no "
        "algorithm for small eps.",
        default=0.5,
    )

    stop: Literal["certificate", "clean-pass"] = parameter(
        OneOf("certificate", "clean-pass"),
        "When a fit ends: as soon as `normalised_certificates_` prove eps, or, as in the paper, only "
        "when a full epoch has changed nothing.",
        default="certificate",
    )

    def new_state(self, n_features, n_patterns):
        return AlmaState(n_features, n_patterns, float(self.p), float(self.eps))

    def phases(self, run):
        # The margin may be proven while samples are still within the threshold.
        until = self._proves if self.stop == "certificate" else None
        for phase in super().phases(run):
            yield phase._replace(until=until)

    def _proves(self, run):
        certificate = run.weights.normalised_certificate(run.patterns)
        return certificate.margin > 0 and certificate.fraction >= 1 - self.eps  # also with eps=1

    def _collect(self, runs, samples):
        super()._collect(runs, samples)
        self.normalised_certificates_ = [
            run.weights.normalised_certificate(None if isinstance(run, Stream) else run.patterns)
            for run in runs
        ]
