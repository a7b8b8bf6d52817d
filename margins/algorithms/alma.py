import copy
import math
from typing import Literal

import numpy as np

import margins.solvers.custom._alma as _alma
from margins.certificate import Certificate
from margins.estimators.custom import LoopState, OwnLoopClassifier
from margins.parameters import Interval, OneOf, parameter


class AlmaState(LoopState):
    """theta = scale * (v, beta_k Delta_k), and the powers of v; w = g(theta)."""

    def __init__(self, n_features, n_samples, p, eps):
        self.p, self.eps = p, eps
        self.v = np.zeros(n_features + 1)
        self.u = self.v if p == 2 else np.zeros(n_features + 1)
        self.beta = np.zeros(n_samples) if n_samples else None
        self.scalars = np.zeros(_alma.N)
        self.scalars[_alma.SCALE] = 1
        self.norms = None

    def __getstate__(self):
        return {**self.__dict__, "norms": None, "u": None}

    def __setstate__(self, state):
        super().__setstate__(state)
        self.u = self.v if self.p == 2 else np.sign(self.v) * np.abs(self.v) ** (self.p - 1)

    def without_dual(self):
        twin = copy.deepcopy(self)
        twin.beta = None  # the powers and sums of theta keep their slack terms
        return twin

    def begin(self, data):
        super().begin(data)
        rho = np.full(len(data), self.rho)
        parts = np.stack([data.rows.pnorms(self.p), rho, np.sqrt(data.diagonal)])
        largest = parts.max(axis=0)
        ratios = parts / np.where(largest > 0, largest, 1.0)
        self.norms = largest * np.sum(ratios**self.p, axis=0) ** (1 / self.p)

    def process(self, data, order):
        state = self.p, self.eps, self.v, self.u, self.beta, self.scalars
        return _alma.process(data, order, self.norms, *state)

    def recompute(self, data):
        _alma.recompute(data, self.p, self.v, self.u, self.beta, self.scalars)

    def _scalar(self, index):
        return float(self.scalars[index])

    @property
    def norm(self):
        """|theta|_p == |w|_q, slack terms included."""
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
        sqnorm = float(self.v @ self.v) + self._scalar(_alma.SLACK_SQNORM)
        return self._scalar(_alma.SCALE) ** 2 * sqnorm

    @property
    def n_updates(self):
        return int(self._scalar(_alma.UPDATES))

    @property
    def normalised_upper_bound(self):
        """Upper bound of every margin of the samples so far, divided by their p-norms."""
        # Two bounds hold at any time, one by weak duality and one by the number of updates.
        bound = math.sqrt(8 * (self.p - 1) / (self.n_updates + 1)) / self.eps
        total = self._scalar(_alma.SHARE_SUM)
        return min(bound, self.norm / total) if total > 0 else bound

    def normalised_certificate(self, data):
        """Return the Certificate of the samples divided by their p-norms."""
        bound = self.normalised_upper_bound
        products = np.empty(len(data))
        _alma.normalised_products(data, self.norms, self.p, self.u, self.beta, products)
        norm = self._scalar(_alma.POWER) ** (1 / self.p)
        margin = float(products.min()) / norm ** (self.p - 1) if norm > 0 else 0.0
        primal = 0.5 / margin / margin if margin > 0 else math.inf
        dual = 0.5 / bound / bound if bound > 0 else 0.0
        return Certificate.from_bounds(primal, dual, self.n_updates, margin)


class ApproximateLargeMarginClassifier(OwnLoopClassifier):
    """ALMA: the perceptron with p-norms, for sparse weight vectors.

    Samples are divided by their p-norms and added up; a link function maps the sum to the weight vector,
    whose q-norm is bounded, ``1/p + 1/q = 1``. With ``p=2`` both are the Euclidean norm; with p near
    2 ln(n_features), q is near 1, and irrelevant features have little influence. **Guarantee**: on
    separable data (on all data if C < inf) it ends, at the latest after an epoch without updates, with
    at least ``1 - eps`` of the maximum margin *of the normalised samples in that norm*. The fit proves
    this guarantee, to which `converged_` refers:

    - `normalised_certificates_`: a list of Certificate, about the samples divided by their p-norms
      (bias and slack terms included), so without a unit. `margin` is the smallest product of such a
      sample with w / |w|_q, and no w has a margin above `upper_bound`; `primal` and `dual` only restate
      them. `fraction` is at least ``1 - eps`` if the fit converged. Like `certificates_`, it is empty
      after `partial_fit`; `normalised_upper_bounds_` then has the bounds for all samples so far.
    - `certificates_`: as for all classifiers, about the samples themselves, in the 2-norm and in units
      of X. They are valid, but the algorithm optimises another margin, so `fraction` may be small.

    `dual_coef_`, available if C is finite, belongs to `certificates_`; `coef_` is proportional to the
    sum of alpha_k y_k x_k only if ``p=2``.

    **Use it for** few relevant features among many, with p = 2 ln(number of features). **Avoid it for**
    the margin of the 2-norm.

    **Source**: Gentile (2001), A New Approximate Maximal Margin Classification Algorithm, Theorem 3.

    See Also
    --------
    PerceptronWithMargin : A perceptron with a margin in the 2-norm.
    DynamicMarginPerceptron : The maximum margin in the 2-norm.
    """

    EXAMPLE = 'get("alma")(p=4, random_state=0)'

    p: float = parameter(
        Interval(2, 100), "The norm. 2 ln(n_features) suits sparse weights.", default=2.0
    )
    eps: float = parameter(
        Interval(0, 1, "right"),
        "Accuracy, the paper's alpha: the fit ends with at least 1 - eps of the maximum margin of the "
        "normalised samples in the q-norm. The number of updates grows as 1 / eps**2.",
        default=0.5,
    )
    stop: Literal["certificate", "clean-pass"] = parameter(
        OneOf("certificate", "clean-pass"),
        "When a fit ends: as soon as `normalised_certificates_` prove eps or, as in the paper, after a "
        "full epoch without updates.",
        default="certificate",
    )

    STREAM_STATE = (
        "theta, the number of updates and the sums of steps. Dual variables only with a warm start."
    )

    def specification(self, sqnorms, continues=False):
        # The number of updates bounds the margin of the samples that caused them, of no others.
        return super().specification(sqnorms, continues)._replace(needs_same_samples=True)

    def new_state(self, n_features, n_samples):
        return AlmaState(n_features, n_samples, float(self.p), float(self.eps))

    def phases(self, run):
        def proves(run):
            certificate = run.weights.normalised_certificate(run.data)
            return certificate.margin > 0 and certificate.fraction >= 1 - self.eps  # also with eps=1

        # The accuracy may be proven while samples still violate the threshold.
        until = proves if self.stop == "certificate" else None
        for phase in super().phases(run):
            yield phase._replace(converged_when=until)

    def describe(self, outcome):
        certificate = outcome.weights.normalised_certificate(outcome.data)
        return f"Samples divided by their {self.p:g}-norms: {outcome.loss.describe(certificate)}"

    def _attributes_of(self, fit):
        certificates = [end.weights.normalised_certificate(end.data) for end in fit.outcomes]
        return {**super()._attributes_of(fit), "normalised_certificates_": certificates}

    def _attributes_of_streams(self, fit, state):
        bounds = [outcome.weights.normalised_upper_bound for outcome in fit.outcomes]
        added = {"normalised_certificates_": [], "normalised_upper_bounds_": bounds}
        return super()._attributes_of_streams(fit, state) | added
