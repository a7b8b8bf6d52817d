"""What is proven of the model of a run, and what the proof rests on: immutable values.

A proof is about one weight vector and the dual variables beside it (`Claim`). It knows no run: a run
replaces its proof when it certifies, and keeps the proof of a model together with the model.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from margins._update import BinaryData, WeightVector
from margins.certificate import Certificate, Standing, features_sqnorm
from margins.losses import Loss
from margins.losses.base import Bounds
from margins.solvers.base import Original
from margins.solvers.certification import (
    ReturnedPoint,
    bounds_of,
    proven_bounds,
    returned_bounds,
    returned_point,
)
from margins.solvers.indefinite import why_indefinite, with_model

# Below this relative improvement over a constant classifier, differences of objectives are too inexact.
SMALL = 1e-4


class Claim(NamedTuple):
    """A weight vector and dual variables, of which something is to be proven."""

    data: BinaryData
    loss: Loss
    hypothesis: Any  # the weight vector of the model
    weights: WeightVector  # the weight vector with the dual variables
    theta: float  # threshold of the score
    fixed_scale: float | None  # factor from the hypothesis to the model; None: the best factor
    # Accesses of samples that may have rounded the weight vector since it was last summed.
    n_accesses: int = 0
    sums_are_fresh: bool = False  # True: it has just been summed from the dual variables
    original: Original | None = None  # the samples as passed, if features are measured from a centre

    @property
    def length(self):
        """|w| over the features, before scaling."""
        return math.sqrt(features_sqnorm(self.hypothesis, self.data))


class Proof(NamedTuple):
    """The bounds that a run has proven, and the numbers that further steps start from."""

    constant: float  # objective of the best constant classifier
    indefinite: str | None = None  # evidence that no dual value is a bound
    certificate: Certificate | None = None  # None: nothing has been certified
    # Products of the certified hypothesis with all samples: w.y_k - theta l_k, shape (m,).
    products: Any = None
    primal_scale: float = 1.0  # factor with which the hypothesis attains the certified objective
    dual_scale: float = 1.0  # factor with which the dual variables attain the certified objective
    best_dual: float = 0.0  # the largest dual value so far: every dual value stays proven
    standing: Standing | None = None
    is_current: bool = False  # False: the weight vector has changed since
    is_as_returned: bool = False  # True: the certificate holds for the rounded coefficients

    def certified(self, claim: Claim, products: Any = None) -> Proof:
        """Return the proof of a claim, by a pass over all samples or its products."""
        data, loss, weights = claim.data, claim.loss, claim.weights
        bounds, products = bounds_of(
            claim.hypothesis, weights, data, loss, claim.theta, claim.fixed_scale, products
        )
        bounds = proven_bounds(bounds, data, weights, claim.n_accesses)
        best_dual, indefinite = self.best_dual, self.indefinite
        if data.rows.is_kernel and not indefinite:
            indefinite = why_indefinite(data, weights)
        if indefinite:
            best_dual, bounds = 0.0, with_model(bounds, loss, products)
        proof = self._replace(
            indefinite=indefinite,
            products=products,
            primal_scale=bounds.primal_scale,
            dual_scale=bounds.dual_scale,
            best_dual=max(best_dual, bounds.dual),
            is_current=True,
            is_as_returned=False,
        )
        proof = proof._replace(standing=proof._standing_of(claim, bounds))
        return proof.with_point(bounds, weights.n_updates)

    def _standing_of(self, claim: Claim, bounds: Bounds) -> Standing:
        """Return the standing of a claim whose products are known."""
        constant, scale = self.constant, claim.fixed_scale
        scale = bounds.primal_scale if scale is None else scale
        standing = Standing(constant, scale * claim.length)
        is_small = constant - bounds.dual < SMALL * constant < math.inf
        if claim.weights.dual is None or not is_small:
            return standing
        from margins.solvers.improvement import accurate_gap  # few fits need it

        gap = accurate_gap(claim, self.products, bounds, constant, scale)
        return standing._replace(accurate_gap=gap)

    def with_point(self, point: Bounds | ReturnedPoint | Certificate, n_updates: int) -> Proof:
        """Return the proof for a primal value and its margin, with the best dual value so far."""
        improvement = 0.0
        if not self.indefinite:
            improvement = self.standing.improvement(point.primal, self.best_dual)
        certificate = Certificate.from_bounds(
            point.primal, self.best_dual, n_updates, point.margin, improvement
        )
        return self._replace(certificate=certificate)

    def as_returned(self, claim: Claim) -> Proof:
        """Return the proof with the primal value of the rounded coefficients, if it is another."""
        if self.is_as_returned:
            return self
        proof, data, theta = self._replace(is_as_returned=True), claim.data, claim.theta
        if data.rows.is_kernel and not self.indefinite:
            proof = proof._replace(indefinite=why_indefinite(data, claim.weights, closely=True))
        if proof.indefinite:
            return proof._replace(best_dual=0.0, certificate=self.certificate.without_bound())
        if claim.original is not None:  # the intercept is rounded when it moves back
            data, centre = claim.original
            theta += float(claim.hypothesis.weights @ centre)
        primal, scale = self.certificate.primal, claim.fixed_scale
        state = dict(theta=theta, products=self.products, n_accesses=claim.n_accesses)
        if scale is None:
            point = returned_point(
                claim.loss,
                data,
                claim.hypothesis,
                scale=self.primal_scale,
                primal=primal,
                sums_are_fresh=claim.sums_are_fresh,
                **state,
            )
            if point is not None:
                proof = proof._replace(primal_scale=point.scale)
        else:
            point = returned_bounds(
                claim.loss,
                claim.data,
                claim.hypothesis,
                claim.weights,
                scale=scale,
                primals=[(scale, primal), (self.primal_scale, self.certificate.rescaled_primal)],
                **state,
            )
        if point is None:
            return proof
        proof = proof._replace(standing=self.standing.raised(point.primal - primal))
        return proof.with_point(point, claim.weights.n_updates)

    def with_best_dual(self, best_dual: float, n_updates: int) -> Proof:
        """Return the proof of the same model with a dual value that has been proven since."""
        return self._replace(best_dual=best_dual).with_point(self.certificate, n_updates)

    def with_primal(self, value: float, scale: float, length: float, n_updates: int) -> Proof:
        """Return the proof with the objective that a multiple of the hypothesis attains."""
        standing = self.standing
        if standing.accurate_gap > 0:  # otherwise the constant classifier is optimal
            standing = Standing(self.constant, length)
        proof = self._replace(primal_scale=scale, standing=standing)
        return proof.with_point(ReturnedPoint(value, scale, None), n_updates)

    def required_gap(self, gap: float, share: float) -> float:
        """Return the relative duality gap that proves a gap and a share of the possible improvement."""
        if share == 0 or not self.best_dual > 0:
            return gap
        estimate = self.standing.required_gap(share, self.certificate.primal, self.best_dual)
        return min(gap, estimate)
