"""Fits of folds that share the inner products of all samples, for any labels.

A fit solves the dual of few samples (`margins.solvers.decomposition._whole`) with a part of the matrix
of all inner products. Its objectives, in double precision and less what rounding may have changed, must
prove what a fit of the classifier proves. Scores of the test set are sums of the same inner products.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from margins.certificate import Certificate, Standing
from margins.data.binary_data import array_of_each, check_lengths
from margins.data.centring import centred
from margins.data.validation import sample_weights, weighted_samples
from margins.estimators.callbacks import has_callbacks
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.names import MessageName, display_name
from margins.kernels.gram import inner_products_of
from margins.losses import Loss
from margins.model_selection.fold_paths import present_classes
from margins.model_selection.lockstep import reason_for_single_fits
from margins.model_selection.scoring import Decided
from margins.solvers.auto import shares_gram
from margins.solvers.balance import balance
from margins.solvers.decomposition._whole import minimise_whole
from margins.solvers.decomposition.single import MAX_SINGLE
from margins.solvers.proof import unit_of
from margins.training.schemes import scheme_of
from margins.tuning import TUNING

# Maximum number of sums in double precision; each continues from the last.
MAX_ROUNDS = 8
# Maximum number of training sets whose labels are kept.
MAX_KNOWN = 64


def reason_against(estimator, scoring):
    """Return the reason why the fits of an estimator cannot share inner products: str or None."""
    if type(estimator) is not MarginClassifier:
        return f"{display_name(estimator)} is not a MarginClassifier"
    if has_callbacks(estimator):
        return "callbacks are set"
    params = estimator.get_params(deep=False)
    if not (isinstance(params["kernel"], str) and params["kernel"] == "linear"):
        return f"kernel={params['kernel']!r} is not linear"
    if estimator.regulariser() is not None:
        return f"penalty={params['penalty']!r} is another one"
    if params["solver"] not in ("auto", "decomposition"):
        return f"solver={params['solver']!r} is another one"
    if not 1 / MAX_SINGLE <= params["C"] <= MAX_SINGLE:
        return f"C={params['C']!r} is outside the range of single precision"
    return reason_for_single_fits(params) or scoring.reason_against_lockstep


class GramFolds:
    """Inner products of validated samples, for fits of any labels; `reason`: why there are none."""

    def __init__(self, estimator, valid):
        # Errors of weights and lengths are raised before any work.
        weighted_samples(MessageName(estimator, "fit"), valid, None, estimator.class_weight)
        self.codes, self._classes, self._estimator = valid.codes, valid.classes, estimator
        X, centre, self.reason = valid.X, estimator.centre(valid.X), None
        if not shares_gram(X):
            self.reason = "there are more samples than features, or X is sparse"
            return
        self._gram = gram = inner_products_of(X if centre is None else centred(X, centre), np.float64)
        sqnorms = gram.diagonal().copy()
        check_lengths(sqnorms)
        self._specification = specification = estimator.specification(sqnorms)
        self._is_free = specification.has_free_intercept
        self._rho2 = 0.0 if self._is_free else specification.sq_intercept_scaling
        largest = float(sqnorms.max()) + self._rho2
        if not largest <= MAX_SINGLE:
            self.reason = "X is outside the range of single precision"
            return
        self._single = gram.astype(np.float32)
        self._known = {}  # the problems of labels, which many permutations share
        # The likely rounding of an objective, relative to the squared sum of the dual variables.
        self._rounding = 4 * unit_of(sum(X.shape)) * largest

    def model(self, train, test, codes):
        """Return the scores and labels of the test set by a fit (Decided), or None if it is unproven."""
        scheme, classes, problems = self._problems(codes)
        if problems is None:  # a weight is 0, or nearly so
            return None
        scores = np.empty((len(test), scheme.n_problems))
        for number, problem in enumerate(problems):
            solution = self._solution(train[problem.inside], problem)
            if solution is None:
                return None
            products, intercept = solution
            scores[:, number] = products[test] + intercept
        return Decided(scheme.decision(scores), classes, scheme.predict(scores, classes))

    def _problems(self, codes):
        """Return the scheme of the labels of a training set, its classes, and its binary problems."""
        key = codes.tobytes()
        known = self._known.get(key)
        if known is None:
            name, specification = MessageName(self._estimator, "fit"), self._specification
            classes, codes = present_classes(self._classes, codes)
            weight = sample_weights(name, codes, codes, classes, None, self._estimator.class_weight)
            scheme, problems = scheme_of(self._estimator.multi_class, len(classes)), None
            if specification.C * np.min(weight) * MAX_SINGLE >= 1:
                penalties = array_of_each(specification.penalties(weight), len(codes))
                signs, scaling = scheme.signs(codes), math.inf if self._is_free else self._rho2
                problems = [BinaryLabels.of(penalties, each, specification, scaling) for each in signs.T]
            if len(self._known) >= MAX_KNOWN:
                self._known = {}
            known = self._known[key] = scheme, classes, problems
        return known

    def _solution(self, rows, problem):
        """Return w.x of all samples, and the intercept, of a binary problem; None if it is unproven."""
        loss, signs, upper, diag = problem.loss, problem.signs, problem.upper, problem.diag
        m, specification, tuning, rho2 = len(rows), self._specification, TUNING.decomposition, self._rho2
        start = self._single.take(rows, axis=0).take(rows, axis=1), rho2, signs
        limits = upper, diag, self._is_free
        b, u, n_all = np.zeros(m), np.zeros(m), len(self._gram)
        required = min(loss.required_gap(specification.eps), 1.0)
        for _ in range(MAX_ROUNDS):
            options = tuning.gap_share * required, tuning.inner_reduction, tuning.max_pairs * m
            minimise_whole(*start, b, u, *limits, *options)
            if self._is_free:
                alpha = signs * b
                balance(alpha, upper, problem.labels)
                b = signs * alpha
            products = self._gram @ np.bincount(rows, b, n_all)  # rows may repeat
            v, own, total, label_sum = products[rows], diag * b, float(signs @ b), float(b.sum())
            u = v + own + rho2 * label_sum
            sqnorm, rounding = float(v @ b), self._rounding * total * total
            square = sqnorm + rho2 * label_sum * label_sum
            dual = total - 0.5 * (square + float(own @ b)) - rounding
            if not dual > 0:
                continue
            intercept = loss.best_intercept(v, problem.labels) if self._is_free else rho2 * label_sum
            primal = 0.5 * square + loss.value(signs * (v + intercept)) + rounding
            standing = Standing(problem.constant, math.sqrt(max(sqnorm, 0.0)))
            improvement = standing.improvement(primal, dual)
            certificate = Certificate.from_bounds(primal, dual, 0, improvement=improvement)
            if specification.is_proven(loss, certificate):
                return products, intercept
            share = specification.required_improvement
            required = min(required, standing.required_gap(share, primal, dual)) / 2
        return None


class BinaryLabels(NamedTuple):
    """What the fits of a binary problem share if they have the same labels, in the same order."""

    inside: Any  # ndarray of int: the samples of the training set that are in the problem
    labels: np.ndarray  # int8, -1 or 1
    signs: np.ndarray  # the same in float64
    loss: Loss
    upper: np.ndarray
    diag: np.ndarray
    constant: float  # objective of the best constant classifier

    @classmethod
    def of(cls, penalties, signs, specification, scaling):
        """Return the problem of signs, 0 for other samples, and penalties of all samples."""
        inside = np.flatnonzero(signs)
        labels, penalties = signs[inside].astype(np.int8), penalties[inside]
        loss, m = specification.loss_of(penalties), len(inside)
        upper, diag = array_of_each(loss.upper, m), array_of_each(loss.diag, m)
        constant = loss.constant_objective(labels, scaling)
        return cls(inside, labels, labels.astype(np.float64), loss, upper, diag, constant)
