"""What is proven of the model of a run, and what the proof rests on: immutable values.

A proof is about one weight vector and the dual variables beside it (`Claim`). It knows no run.

The slack 1 - p of a sample on the margin is a difference of nearly equal numbers. If C |x|^2 is large,
or rows are long relative to the margin, rounding p in the last place changes the objective, which is
then computed from the rounded coefficients, with products in twice the working precision.

If C |x|^2 is small, the primal value P of a model, the dual value D and the objective P0 of the best
constant classifier are nearly equal, and rounding hides their differences. `accurate_gap` then sums P -
D from terms that all vanish at the optimum,

    |w - a|^2 / 2   and for each sample   h_k - alpha_k s_k + D_k alpha_k^2 / 2,   with the slack s_k.

It proves what share of the possible improvement P0 - D the model has (`margins.certificate.Standing`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from margins._update import BinaryData, WeightVector
from margins.certificate import ACCURACY, Certificate, Standing, features_sqnorm
from margins.data._passes import combination, mean_of, products
from margins.data.binary_data import of_each
from margins.losses import Loss
from margins.losses._accurate import kernel_scores, label_sum, scores
from margins.losses.losses import NOTHING, Bounds
from margins.solvers.balance import balanced, dual_side_of
from margins.solvers.base import Original
from margins.solvers.indefinite import why_indefinite, with_model

# A smaller relative change of the primal value by rounding is ignored, even if the losses of all samples
# change in the same direction. docs/certificates.md says 1e-9.
NEGLIGIBLE = 1e-10
# The same for the change by one sample, if sums were just computed from the dual variables: then their
# roundings are independent.
NEGLIGIBLE_OF_ONE = 5e-10

UNIT = float(np.finfo(np.float64).eps) / 2


class PrimalPoint:
    """A weight vector from the primal side, in addition to the dual variables of a run.

    margins, shape (m,): w.y_k.
    rho: size of the constant feature of the intercept; 0: no intercept.
    """

    def __init__(self, w, margins, rho, dual_side):
        self.w, self.margins, self.rho, self._dual_side = w, margins, rho, dual_side

    def with_dual_side(self, dual_side):
        """Return this weight vector in addition to other dual variables (PrimalPoint)."""
        return PrimalPoint(self.w, self.margins, self.rho, dual_side)

    def moved(self, w, margins):
        """Return another weight vector in addition to the same dual variables (PrimalPoint)."""
        return PrimalPoint(w, margins, self.rho, self._dual_side)

    @property
    def weights(self):
        """The weights of the features, an ndarray of float64 of shape (n_features,)."""
        return self.w[:-1] if self.rho > 0 else self.w

    @property
    def dual(self):
        """The current dual variables of the run, an ndarray of float64 of shape (m,)."""
        return self._dual_side.dual

    @property
    def label_sum(self):
        """The intercept divided by rho^2."""
        return self.w[-1] / self.rho if self.rho > 0 else 0.0

    def products(self, data):
        """Return w.y_k of all samples, an ndarray of float64 of shape (m,)."""
        return self.margins

    def ordinary_sqnorm(self, data):
        """Return |w|^2 over features and a penalised intercept."""
        w = self.weights if data.has_free_intercept else self.w
        return float(w @ w)


def bounds_of(hypothesis, weights, data, loss, theta=0.0, scale=None, products=None):
    """Return bounds on the optimum from a model and dual variables, by one pass over all samples."""
    if products is None:
        products = hypothesis.products(data)
    sqnorm = hypothesis.ordinary_sqnorm(data)
    if data.has_free_intercept and data.sq_intercept_scaling > 0:
        weights = dual_side_of(weights, data)
    if theta != 0:
        products -= theta * data.signs
    if theta != 0 and not data.has_free_intercept:
        # The weight of the intercept is rho label_sum - theta / rho.
        length = theta / data.sq_intercept_scaling if data.sq_intercept_scaling > 0 else math.inf
        sqnorm = max(sqnorm + theta * (length - 2 * hypothesis.label_sum), 0.0)
        if not math.isfinite(sqnorm):
            return NOTHING, products
    bounds = loss.bounds(products, sqnorm, weights)
    bounds = _without_rounding(bounds, weights, data)
    if scale is not None:
        bounds = bounds.at_scale(scale, loss, products, sqnorm)
    return bounds, products


def _without_rounding(bounds, weights, data):
    """Return the bounds with a dual value that holds in spite of rounding.

    The sum of the alpha_k y_k may be far shorter than its terms, as for classes that are inseparable.
    If the intercept is free, the variables of one class are lowered by its excess over the other.
    """
    dual, dual_sum = weights.dual, weights.dual_sum
    if not bounds.dual > 0 or (dual is None and math.isfinite(bounds.dual)):
        return bounds
    error = 0.0
    if not data.rows.is_kernel:  # for kernels, `proven_bounds` does this
        error = _rounding_of_sum(dual, dual_sum, data)
    if data.has_free_intercept:
        excess = abs(label_sum(dual, data.signs))
        error += excess * math.sqrt(data.max_sqnorm)
        dual_sum -= excess
    # In algorithms with a separate loop, the weight vector is not the sum of the alpha_k y_k.
    length = math.sqrt(min(weights.ordinary_sqnorm(data), weights.sqnorm))
    change = error * (2 * length + error)
    if not change > 0.2 * NEGLIGIBLE * weights.sqnorm and math.isfinite(bounds.dual):
        return bounds
    return _lowered(bounds, dual_sum, weights.sqnorm + change)


def _lowered(bounds, dual_sum, sqnorm):
    """Return the bounds with a dual value for which |a|^2 may be as large as `sqnorm`."""
    if sqnorm == 0:  # all rows are 0
        return bounds._replace(dual=0.0, dual_scale=0.0)
    scale = min(bounds.dual_scale, max(dual_sum, 0.0) / sqnorm)
    value = scale * dual_sum - 0.5 * scale * scale * sqnorm
    return bounds._replace(dual=min(bounds.dual, value), dual_scale=scale)


def _rounding_of_sum(dual, dual_sum, data):
    """Return the likely rounding of the sum of the alpha_k y_k, if rounding is random."""
    largest = unit_of(len(data)) * dual_sum * math.sqrt(data.max_sqnorm)
    if dual is None:  # not kept
        return largest
    return min(largest, unit_of(np.count_nonzero(dual)) * float(dual @ np.sqrt(data.ordinary_sqnorms)))


class ReturnedPoint(NamedTuple):
    """The objective of rounded coefficients."""

    primal: float
    scale: float  # multiple of the weight vector whose rounded coefficients attain it
    margin: float | None  # directional margin; None: 1 / sqrt(2 primal)


def returned_point(
    loss, data, hypothesis, *, scale, theta, products, primal, n_accesses, sums_are_fresh
):
    """Return the objective of the coefficients as returned, if rounding may have changed it."""
    if _is_negligible(loss, data, primal):
        return None
    model = _Model(data, hypothesis, theta)
    negligible = NEGLIGIBLE_OF_ONE * math.sqrt(len(data)) if sums_are_fresh else NEGLIGIBLE
    error = model.relative_error(loss, scale, products, primal, n_accesses, negligible)
    if error == 0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        scales = [scale] if not error < 0.1 else [scale, scale * (1 + 2 * error)]
        points = [_point(loss, model, factor) for factor in scales]
        best = min(points, key=lambda point: point.primal)
        if best.scale not in scales:  # other roundings than those just tried
            best = _point(loss, model, best.scale)._replace(scale=best.scale)
    return best


def proven_bounds(bounds, data, weights, n_accesses):
    """Return bounds whose dual value holds in spite of the rounding of |a|^2 over kernel rows."""
    if not data.rows.is_kernel or not bounds.dual > 0:
        return bounds
    is_finite, share = math.isfinite(bounds.dual), 0.5 * float(bounds.dual_scale) ** 2
    # No sample is longer than the longest.
    longest = unit_of(len(data) + n_accesses) * weights.dual_sum**2 * data.max_sqnorm
    if is_finite and share * longest <= NEGLIGIBLE * bounds.dual:
        return bounds
    error = rounding_of_sqnorm(data, weights, n_accesses)
    if is_finite and not share * error > NEGLIGIBLE * bounds.dual:
        return bounds
    return _lowered(bounds, weights.dual_sum, weights.sqnorm + error)


def rounding_of_sqnorm(data, weights, n_accesses=0):
    """Return the likely rounding of |a|^2 over the rows of a kernel, if rounding is random."""
    dual = weights.dual
    size = float(dual @ np.sqrt(data.ordinary_sqnorms))
    return unit_of(np.count_nonzero(dual) + n_accesses) * size * size


def returned_bounds(loss, data, hypothesis, weights, *, scale, theta, products, primals, n_accesses):
    """Return the bounds of coefficients whose length does not minimise the objective."""
    model = _Model(data, hypothesis, theta)
    if not any(
        model.relative_error(loss, multiple, products, primal, n_accesses) > 0
        for multiple, primal in primals
    ):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        high, low, sqnorm = model.scores(scale)
        bounds = loss.bounds(data.signs * (high + low), sqnorm, weights)
        return bounds.with_primal(0.5 * sqnorm + loss.value_of_slacks(slacks_of(data, high, low)))


def _is_negligible(loss, data, primal):
    """Return True if rounding cannot matter, judging without the weight vector."""
    if data.rows.is_kernel or not 0 < primal < math.inf:
        return False
    # Twice the primal value is at least |w|^2, so |w| + |bias| / rho is at most twice its root.
    size = 2 * math.sqrt(primal)
    largest = unit_of(data.rows.n_features) * size * math.sqrt(data.max_sqnorm)
    return not loss.max_sensitivity(len(data), largest, primal) > NEGLIGIBLE


def unit_of(n_terms):
    """Return the rounding of a sum of products, relative to the lengths of the two vectors."""
    return (math.sqrt(n_terms) + 8) * UNIT


class _Model:
    """The coefficients and the intercept of a hypothesis, before scaling."""

    def __init__(self, data, hypothesis, theta):
        self.data = data
        is_kernel = data.rows.is_kernel
        self.coefficients = data.signs * hypothesis.dual if is_kernel else hypothesis.weights
        self.bias = data.sq_intercept_scaling * hypothesis.label_sum - theta

    def relative_error(self, loss, scale, products, primal, n_accesses, negligible=NEGLIGIBLE):
        """Return the part of margin 1 that may be rounding; 0 if the objective is unaffected."""
        if not 0 < primal < math.inf or not 0 < scale < math.inf:
            return 0.0
        sqnorms = self.data.ordinary_sqnorms
        relative = scale * _rounding(self.data, self.coefficients, self.bias, n_accesses)
        largest = relative * math.sqrt(float(sqnorms.max()))
        if not loss.max_sensitivity(len(self.data), largest, primal) > negligible:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            errors = relative * np.sqrt(sqnorms)
            matters = loss.sensitivity(scale * products, errors, primal) > negligible
        return largest if matters else 0.0

    def scores(self, scale):
        """Return scores in twice the working precision, and |w|^2 with bias, of rounded coefficients."""
        data, coefficients, bias = self.data, scale * self.coefficients, scale * self.bias
        if data.rows.is_kernel:
            blocks = data.rows.blocks
            matrix = None if blocks is None else blocks.matrix_in_memory
            high, low, sqnorm = kernel_scores(data.rows, coefficients, bias, matrix)
        else:
            high, low = scores(data.rows, coefficients, bias)
            sqnorm = float(coefficients @ coefficients)
        if data.sq_intercept_scaling > 0 and not data.has_free_intercept:
            sqnorm += bias * bias / data.sq_intercept_scaling
        return high, low, sqnorm


def model_in(claim):
    """Return the coefficients and the intercept of a claim about linear data, as passed."""
    if claim.original is None:
        return _Model(claim.data, claim.hypothesis, claim.theta)
    data, centre = claim.original
    return _Model(data, claim.hypothesis, claim.theta + float(claim.hypothesis.weights @ centre))


def _rounding(data, coefficients, bias, n_accesses):
    """Return the likely rounding of the product with a sample of length 1, if rounding is random."""
    if data.rows.is_kernel:
        size = float(np.abs(coefficients) @ np.sqrt(data.ordinary_sqnorms))
        n_terms = np.count_nonzero(coefficients) + n_accesses
    else:
        size = math.sqrt(float(coefficients @ coefficients))
        n_terms = data.rows.n_features
    if data.sq_intercept_scaling > 0:
        size += abs(bias) / math.sqrt(data.sq_intercept_scaling)
    elif data.has_free_intercept:
        mean = float(data.ordinary_sqnorms.sum()) / len(data)
        size += abs(bias) / math.sqrt(mean or 1.0)
    return unit_of(n_terms) * size


def _point(loss, model, scale):
    """Return the objective of rounded coefficients, in twice the working precision."""
    high, low, sqnorm = model.scores(scale)
    primal, margin, multiple = loss.objective(slacks_of(model.data, high, low), sqnorm)
    return ReturnedPoint(primal, scale * multiple, margin)


def slacks_of(data, high, low):
    """Return 1 - w.y_k from scores in twice the working precision: 1 - high is exact if it cancels."""
    return (1 - data.signs * high) - data.signs * low


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
    penalty: Any = None  # margins.solvers.penalised.Penalty; None: |w|^2 / 2

    @property
    def length(self):
        """|w| over the features, before scaling."""
        return math.sqrt(features_sqnorm(self.hypothesis, self.data))


def _certificate_of(point, best_dual, standing, indefinite, n_updates):
    """Return the certificate of a primal value and its margin with the best dual value so far."""
    improvement = 0.0 if indefinite else standing.improvement(point.primal, best_dual)
    return Certificate.from_bounds(point.primal, best_dual, n_updates, point.margin, improvement)


def easily_proven(claim, products, constant):
    """Return the proof of a claim with fresh sums if rounding does not matter to it; otherwise None."""
    data, loss, weights, theta = claim.data, claim.loss, claim.weights, claim.theta
    bounds, products = bounds_of(claim.hypothesis, weights, data, loss, theta, products=products)
    bounds = proven_bounds(bounds, data, weights, 0)
    primal, scale = bounds.primal, bounds.primal_scale
    if not (primal > 0 and scale > 0) or constant - bounds.dual < SMALL * constant:
        return None
    model, m, longest = _Model(data, claim.hypothesis, theta), len(data), math.sqrt(data.max_sqnorm)
    length = weights.dual_sum * longest if data.rows.is_kernel else claim.length
    largest = scale * (length * longest + abs(model.bias))  # of a sum of terms
    if loss.max_sensitivity(m, unit_of(m) * largest, primal) > NEGLIGIBLE:
        negligible = NEGLIGIBLE_OF_ONE * math.sqrt(m)
        if model.relative_error(loss, scale, products, primal, 0, negligible) > 0:
            return None
    standing = Standing(constant, scale * claim.length)
    certificate = _certificate_of(bounds, bounds.dual, standing, None, weights.n_updates)
    return Proof(constant, None, certificate, products, scale, bounds.dual_scale, bounds.dual, standing)


class Proof(NamedTuple):
    """The bounds that a run has proven, and the numbers that further steps start from."""

    constant: float  # objective of the best constant classifier
    indefinite: str | None = None  # evidence that no dual value is a bound
    certificate: Any = None  # Certificate; None: nothing has been certified
    # Products of the certified hypothesis with all samples: w.y_k - theta l_k, shape (m,).
    products: Any = None
    primal_scale: float = 1.0  # factor with which the hypothesis attains the certified objective
    dual_scale: float = 1.0  # factor with which the dual variables attain the certified objective
    best_dual: float = 0.0  # the largest dual value so far: every dual value stays proven
    standing: Any = None  # Standing of the certified hypothesis
    is_current: bool = False  # False: the weight vector has changed since
    is_as_returned: bool = False  # True: the certificate holds for the rounded coefficients

    def begun_again(self) -> Proof:
        """Return what stays proven whatever the model: the best dual value, or why there is none."""
        return Proof(self.constant, self.indefinite, best_dual=self.best_dual)

    def certified(self, claim: Claim, products: Any = None) -> Proof:
        """Return the proof of a claim, by a pass over all samples or its products."""
        if claim.penalty is not None:
            return claim.penalty.certified(self, claim, products)
        data, loss, weights = claim.data, claim.loss, claim.weights
        scale = claim.fixed_scale
        bounds, products = bounds_of(claim.hypothesis, weights, data, loss, claim.theta, scale, products)
        bounds = proven_bounds(bounds, data, weights, claim.n_accesses)
        best_dual, indefinite = self.best_dual, self.indefinite
        if data.rows.is_kernel and not indefinite:
            indefinite = why_indefinite(data, weights)
        if indefinite:
            best_dual, bounds = 0.0, with_model(bounds, loss, products)
        best_dual = max(best_dual, bounds.dual)
        standing = self._standing_of(claim, bounds, products)
        certificate = _certificate_of(bounds, best_dual, standing, indefinite, weights.n_updates)
        return Proof(  # at once, because a small run certifies hundreds of epochs
            self.constant,
            indefinite,
            certificate,
            products,
            bounds.primal_scale,
            bounds.dual_scale,
            best_dual,
            standing,
            is_current=True,
        )

    def _standing_of(self, claim: Claim, bounds: Bounds, products: Any) -> Standing:
        """Return the standing of a claim whose products are known."""
        constant, scale = self.constant, claim.fixed_scale
        scale = bounds.primal_scale if scale is None else scale
        standing = Standing(constant, scale * claim.length)
        is_small = constant - bounds.dual < SMALL * constant < math.inf
        if claim.weights.dual is None or not is_small:
            return standing
        gap = accurate_gap(claim, products, bounds, constant, scale)
        return standing._replace(accurate_gap=gap)

    def with_point(self, point: Bounds | ReturnedPoint | Certificate, n_updates: int) -> Proof:
        """Return the proof for a primal value and its margin, with the best dual value so far."""
        return self._replace(
            certificate=_certificate_of(point, self.best_dual, self.standing, self.indefinite, n_updates)
        )

    def as_returned(self, claim: Claim) -> Proof:
        """Return the proof with the primal value of the rounded coefficients, if it is another."""
        proof, data, theta = self._replace(is_as_returned=True), claim.data, claim.theta
        if claim.penalty is not None:
            return claim.penalty.as_returned(proof, claim)
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
            state |= dict(primal=primal, sums_are_fresh=claim.sums_are_fresh)
            scale = self.primal_scale
            point = returned_point(claim.loss, data, claim.hypothesis, scale=scale, **state)
            if point is not None:
                proof = proof._replace(primal_scale=point.scale)
        else:
            primals = (scale, primal), (self.primal_scale, self.certificate.rescaled_primal)
            point = returned_bounds(
                claim.loss,
                claim.data,
                claim.hypothesis,
                claim.weights,
                scale=scale,
                primals=primals,
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


# ------------------------------------------------------------ the improvement over a constant classifier

# Below this relative improvement, slacks are computed in twice the working precision.
TINY = 1e-8
# The constant classifier is optimal if its objective is this close to a bound, relative to it, and if
# the samples cancel in the weight vector up to this share: in small units, objectives are as close.
SAME_OBJECTIVE = 1e-11
CANCELLED = 1e-9
# With a free intercept an offset of the features cancels, too, so it is a share of their spread, or only
# this multiple of rounding counts; with a kernel, this multiple of the rounding of its values in |a|^2.
CANCELLED_OF_SPREAD = 1e-6
ROUNDINGS = 10
# With a kernel it is optimal, too, if no more can be won than by a signal of this share of the samples'
# spread, which noise in fewer than 1e8 samples hides: single precision does not prove more, and the
# interior-point solver takes 100 times as long. Objectives must be so close that gains are quadratic.
WEAKEST = 1e-4
CLOSE = 1e-4
ROUNDING = 1e-13  # of objectives
# With a free intercept, free dual variables are moved at most MAX_MOVES times, each in MOVE_STEPS steps
# of least squares, until the samples cancel; not if what is left of them exceeds FAR times its limit.
MAX_MOVES, MOVE_STEPS, FAR = 3, 50, 1e3
# A dual variable at most this share below its upper bound is at the bound.
NEAR = 1e-12


def accurate_gap(claim, products, bounds, constant, scale):
    """Return an accurate upper bound of P - D; 0 if no model is better than a constant classifier."""
    data, loss, weights, hypothesis = claim.data, claim.loss, claim.weights, claim.hypothesis
    dual = _snapped(bounds.dual_scale * weights.dual, of_each(loss.upper, len(data)), data)
    lengths = np.sqrt(data.ordinary_sqnorms)
    total, error = float(dual @ lengths), 0.0
    rounding, limit = unit_of(np.count_nonzero(dual)) * total, cancelled(dual, data)
    if not data.rows.is_kernel:
        w = scale * hypothesis.weights
        a = combination(data, np.arange(len(data), dtype=np.int32), dual)[: len(w)]
        length, distance = np.linalg.norm(a), np.linalg.norm(w - a)
        if data.has_free_intercept:
            limit = ROUNDINGS * rounding
            if constant - bounds.dual <= SAME_OBJECTIVE * constant:
                limit = max(limit, CANCELLED_OF_SPREAD * float(dual.sum()) * spread_of(data))
    elif _is_below_noise(constant, bounds.dual, dual, data):
        return 0.0
    elif hypothesis is weights:
        length = bounds.dual_scale * math.sqrt(features_sqnorm(weights, data))
        moved = float(np.abs(dual - bounds.dual_scale * weights.dual) @ lengths)
        distance = abs(scale / bounds.dual_scale - 1) * length + moved
        error = ROUNDINGS * bounds.dual_scale**2 * rounding_of_sqnorm(data, weights)
        limit = max(limit, math.sqrt(error))
    else:
        return math.inf
    if is_nothing(constant, bounds.dual, length, limit, error):
        return 0.0
    may_cancel = data.has_free_intercept and not (data.rows.is_kernel or np.any(loss.diag))
    may_cancel = may_cancel and constant - bounds.dual <= ACCURACY * constant
    if may_cancel and _cancels(constant, dual, data, of_each(loss.upper, len(data))):
        return 0.0
    if data.sq_intercept_scaling > 0 and not data.has_free_intercept:
        sums = scale * hypothesis.label_sum - label_sum(dual, data.signs)
        intercept = data.sq_intercept_scaling * sums - scale * claim.theta
        distance = math.hypot(distance, intercept / math.sqrt(data.sq_intercept_scaling))
    if constant - bounds.dual < TINY * constant:
        high, low, _ = _Model(data, hypothesis, claim.theta).scores(scale)
        slacks = slacks_of(data, high, low)
    else:
        slacks = 1 - scale * products
    return 0.5 * (distance + rounding) ** 2 + loss.gap_of_samples(slacks, dual)


def cancelled(dual, data):
    """Return up to what length a, over the features alone, counts as cancelled."""
    squares = np.maximum(data.ordinary_sqnorms - data.sq_intercept_scaling, 0.0)
    return CANCELLED * float(dual @ np.sqrt(squares))


def is_nothing(constant, dual, length, limit, error=0.0):
    """Return whether no model is better than the best constant classifier, as far as can be computed."""
    return constant - dual <= SAME_OBJECTIVE * constant + error and length <= limit


def _cancels(constant, dual, data, upper):
    """Return whether moves of free dual variables prove that no model is better than a constant one.

    The samples of the class with the smaller penalties then have a loss of 2 and are at their bounds.
    """
    is_at_bound, every = data.signs * (upper @ data.signs) < 0, np.arange(len(data), dtype=np.int32)
    dual, spread = np.where(is_at_bound, upper, dual), spread_of(data)
    for n_moves in range(MAX_MOVES + 1):
        a, total = combination(data, every, dual), float(dual.sum())
        length, limit = np.linalg.norm(a[: data.rows.n_features]), CANCELLED_OF_SPREAD * total * spread
        if n_moves > 0 and is_nothing(constant, total - 0.5 * length**2, length, limit):
            return True
        free = np.flatnonzero((dual > 0) & (dual < upper)).astype(np.int32)
        if length > FAR * limit or n_moves == MAX_MOVES or len(free) == 0:
            return False
        from scipy.sparse.linalg import LinearOperator, lsqr  # few fits need it

        sums = LinearOperator(
            (len(a), len(free)),
            matvec=lambda moves, free=free: combination(data, free, moves),
            rmatvec=lambda w, free=free: products(data, free, w),
            dtype=float,
        )
        dual[free] += lsqr(sums, -a, atol=0, btol=0, iter_lim=MOVE_STEPS)[0]
        dual = _snapped(np.clip(dual, 0, upper), upper, data)


def _is_below_noise(constant, dual_value, dual, data):
    """Return whether the shortest vector that could win P0 - D is within noise; see `WEAKEST`."""
    won = constant - dual_value + ROUNDING * constant
    if won > CLOSE * constant or data.rows.blocks is None:
        return False
    return math.sqrt(2 * max(won, 0.0)) <= WEAKEST * float(dual.sum()) * data.rows.blocks.spread


def spread_of(data):
    """Return the root mean square of the distances of samples from their mean; 0 if it is rounding."""
    mean = mean_of(data)
    square = float(data.ordinary_sqnorms.mean()) - data.sq_intercept_scaling
    variance = square - float(mean @ mean)
    return math.sqrt(variance) if variance > CANCELLED * square else 0.0


def _snapped(dual, upper, data):
    """Return dual variables, balanced, with those that rounding moved off their bound moved back."""
    dual = np.where(dual >= (1 - NEAR) * upper, upper, dual)
    return balanced(dual, upper, data.signs) if data.has_free_intercept else dual
