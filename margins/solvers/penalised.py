"""Problems with a regulariser: what all classes share, and what is proven of their models.

With w feasible for r and alpha feasible for the losses, a = sum_k alpha_k y_k and t <= 1 such that
r*(t a) is finite, the optimum is between

    r(w) + sum_k h_k(w.y_k)   and   t sum_k alpha_k - t^2 sum_k D_k alpha_k^2 / 2 - r*(t a).

Their difference is a sum of terms that vanish at the optimum: for each weight r_j + r_j* - t a_j w_j,
and for each sample what `Loss.gap_of_samples` adds.
"""

import math

import numpy as np

from margins.certificate import Certificate, Standing
from margins.data._passes import combination
from margins.data._passes import products as products_of
from margins.data.binary_data import of_each
from margins.losses._accurate import label_sum
from margins.regularisers import Terms
from margins.regularisers._terms import bound
from margins.solvers.improvement import minimum
from margins.solvers.newton._coordinates import Columns
from margins.solvers.proof import (
    CANCELLED,
    SAME_OBJECTIVE,
    TINY,
    PrimalPoint,
    ReturnedPoint,
    cancelled,
    is_nothing,
    model_in,
    slacks_of,
    unit_of,
)

# The share of P0, the objective of the best constant classifier, that may be left of P0 - D if it is
# optimal: dual variables are as accurate as that.
LEFT = 2e-8
# Nor can be won by a feature whose values cancel in a up to this share of their own spread: noise in
# fewer than 1e10 samples exceeds it.
NOISE = 1e-5


class Penalty:
    """A regulariser of n features, with what the problems of all classes share.

    columns: the features that X has kept, ndarray of int; None: all.
    names: of the features, shape (n_features,); None: they have none.
    """

    def __init__(self, regulariser, n_features, columns=None, names=None):
        if names is not None:
            regulariser = regulariser.for_features(names)
        terms = regulariser.terms(n_features)
        if not isinstance(terms, Terms):
            raise TypeError(f"terms of {regulariser!r} must return Terms. Got {terms!r}.")
        arrays = (np.array(values, dtype=np.float64, ndmin=1) for values in terms)
        terms = Terms(*(values[:, 0] if values.shape[1:] == (1,) else values for values in arrays))
        wrong = {len(values) if values.ndim == 1 else values.shape for values in terms} - {n_features}
        if wrong:
            raise ValueError(
                f"terms of {regulariser!r} must have {n_features} numbers, one for each feature. "
                f"Got {sorted(wrong, key=str)}."
            )
        self.regulariser, self._all, self._columns = regulariser, None, None
        self._check(terms, lambda j: f"feature {j if names is None else repr(names[j])}")
        if columns is not None:
            terms = Terms(*(values[columns] for values in terms))
        self.features = terms
        # The weights with the least r, which a model without samples has.
        self.start = terms.weights(np.zeros(len(terms.ridge)))

    def terms_of(self, data):
        """Return the Terms of all weights but a free intercept."""
        if data.has_free_intercept or not data.sq_intercept_scaling > 0:
            return self.features
        if self._all is None:
            shared = self.regulariser.ridge, self.regulariser.l1, 0.0, -np.inf, np.inf
            place = "a penalised intercept: its ridge and l1 are those of the class"
            self._check(Terms(*map(np.atleast_1d, shared)), lambda j: place)
            self._all = Terms(*map(np.append, self.features, shared))
        return self._all

    def _check(self, terms, place_of):
        """Raise a ValueError if the numbers of a regulariser are not as `Terms` says."""
        ridge, l1, centre, lower, upper = terms
        is_bounded = np.isfinite(lower) & np.isfinite(upper)
        is_right = (ridge >= 0) & (l1 >= 0) & ((ridge > 0) | (l1 > 0) | is_bounded)
        is_right &= np.isfinite(ridge + l1 + centre)
        is_right &= (lower <= upper) & (lower < np.inf) & (upper > -np.inf)
        if not is_right.all():
            j = int(np.flatnonzero(~is_right)[0])
            numbers = ", ".join(f"{name}={values[j]:g}" for name, values in terms._asdict().items())
            raise ValueError(
                f"terms of {self.regulariser!r} must have a finite ridge >= 0 and l1 >= 0, one of them "
                "> 0 or two finite bounds, a finite centre, and lower <= upper with a number between. "
                f"Got {numbers} for {place_of(j)}."
            )

    def columns_of(self, data):
        """Return the columns of the samples, which all problems share (Columns)."""
        if self._columns is None:
            self._columns = Columns(data)
        return self._columns

    def constant_objective(self, loss, data):
        """Return the objective of `start` with the best intercept: of the best constant classifier."""
        signs, start, value = data.signs, self.start, self.features.value(self.start)
        ridge, l1, scaling = self.regulariser.ridge, self.regulariser.l1, data.sq_intercept_scaling
        if data.has_free_intercept:
            ridge = l1 = 0.0
        rho, square = math.sqrt(scaling), scaling / ridge if ridge > 0 else math.inf
        if not start.any():
            penalties = (l1 / rho,) if l1 > 0 and rho > 0 else ()
            return value + loss.constant_objective(signs, square if rho > 0 else 0.0, *penalties)
        w = np.append(start, np.zeros(int(data.sq_intercept_scaling > 0)))
        scores = signs * products_of(data, np.arange(len(data), dtype=np.int32), w)
        if rho == 0:
            return value + loss.value(signs * scores)

        def objective(b):
            return 0.5 * b * b / square + l1 * abs(b) / rho + loss.value(signs * (scores + b))

        best = loss.best_intercept(scores, signs)  # without a penalty, which moves it towards 0
        intercepts = [0.0, best]
        if best != 0 and not data.has_free_intercept:
            inside, points = minimum(objective, *sorted((0.0, best))), signs - scores
            # A loss that is not smooth may end at a kink.
            intercepts += [inside, points[np.abs(points - inside).argmin()]]
        return value + float(min(map(objective, intercepts)))

    def length(self, w):
        """Return sqrt(2 r), of the ridge alone, at w minus `start`: see `Standing`."""
        moved = w[: len(self.start)] - self.start
        return math.sqrt(float(self.features.ridge @ (moved * moved)))

    def _noise(self, data, dual_sum):
        """Return up to what size each element of a is noise, for dual variables with this sum."""
        n = len(self.start)
        shares = np.full(len(data), 1 / len(data))
        means, squares = self.columns_of(data).moments(shares, np.arange(n, dtype=np.int32), n)
        variances = squares - means * means
        return NOISE * dual_sum * np.sqrt(np.where(variances > CANCELLED * squares, variances, 0.0))

    def is_start_best(self, constant, value, a, limit, noise=0.0):
        """Return whether, as far as can be computed, no model is better than the best constant one.

        value: a dual value, of dual variables whose sum a counts as cancelled up to `limit`.
        noise: or all of whose elements do up to these, shape (n,).
        """
        if constant - value > LEFT * constant:
            return False
        low, high = self.features.slopes(self.start)
        a = a[: len(low)]
        excess = np.abs(a - np.clip(a, low, high))
        length = float(np.linalg.norm(excess))
        # If the start is stationary, P0 - D is what scaling dual variables and the losses leave.
        left = LEFT * constant if length == 0 else 0.0
        if (excess <= noise).all():
            length = 0.0
        return is_nothing(constant, value, length, limit, left)

    def certified(self, proof, claim, products):
        """Return the proof of a claim about a problem with a penalty."""
        data, loss, weights, hypothesis = claim.data, claim.loss, claim.weights, claim.hypothesis
        terms = self.terms_of(data)
        n, dual = len(terms.ridge), np.minimum(weights.dual, of_each(loss.upper, len(data)))
        a = combination(data, np.arange(len(data), dtype=np.int32), dual)[:n]
        error = unit_of(np.count_nonzero(dual)) * float(dual @ np.sqrt(data.ordinary_sqnorms))
        dual_sum, square = float(dual.sum()), float(dual @ (loss.diag * dual))
        if data.has_free_intercept:
            excess = abs(label_sum(dual, data.signs))
            dual_sum, error = dual_sum - excess, error + excess * math.sqrt(data.max_sqnorm)
        w = hypothesis.w[:n] if isinstance(hypothesis, PrimalPoint) else np.zeros(n)
        scale, value, gap = bound(terms, w, a, dual_sum, square, error)
        best_dual = max(proof.best_dual, value if math.isfinite(value) else 0.0)
        proof = proof._replace(
            primal_scale=1.0, dual_scale=scale, best_dual=best_dual, is_current=True, products=products
        )
        if not isinstance(hypothesis, PrimalPoint):  # no step has been made
            standing = Standing(proof.constant, 0.0)
            certificate = Certificate.from_bounds(math.inf, best_dual, weights.n_updates)
            return proof._replace(certificate=certificate, standing=standing)
        products = hypothesis.margins if products is None else products
        primal = terms.value(w) + loss.value(products)
        if proof.constant - value < TINY * proof.constant:
            high, low, _ = model_in(claim).scores(1.0)
            slacks = slacks_of(data, high, low)
        else:
            slacks = 1 - products
        gap += error * float(np.abs(w).sum())
        gap += loss.gap_of_samples(slacks, scale * dual)
        limit, noise = cancelled(dual, data), 0.0
        if proof.constant - value <= SAME_OBJECTIVE * proof.constant:
            noise = self._noise(data, float(dual.sum()))
        if self.is_start_best(proof.constant, value, scale * a, limit, noise):
            gap = 0.0
        proof = proof._replace(products=products, standing=Standing(proof.constant, self.length(w), gap))
        return proof.with_point(ReturnedPoint(primal, 1.0, None), weights.n_updates)

    def as_returned(self, proof, claim):
        """Return the proof with the primal value of rounded coefficients, if rounding may matter."""
        primal, hypothesis = proof.certificate.primal, claim.hypothesis
        if not isinstance(hypothesis, PrimalPoint):
            return proof
        model = model_in(claim)
        if model.relative_error(claim.loss, 1.0, proof.products, primal, claim.n_accesses) == 0:
            return proof
        terms = self.terms_of(claim.data)
        high, low, _ = model.scores(1.0)
        losses = claim.loss.value_of_slacks(slacks_of(claim.data, high, low))
        exact = terms.value(hypothesis.w[: len(terms.ridge)]) + losses
        proof = proof._replace(standing=proof.standing.raised(exact - primal))
        return proof.with_point(ReturnedPoint(exact, 1.0, None), claim.weights.n_updates)
