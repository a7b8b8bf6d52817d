"""Requests for sums over partitions, each for one binary problem, and their answers.

A request is sent to every partition, where `answer` computes the partition's part of the sums. Requests
refer to numbers that a partition keeps by the version of their point. `sent` is the request without the
data to compute them again, which only a partition that lacks them needs.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from margins.data._passes import combination, products
from margins.losses._accurate import scores
from margins.partitions.partition import Point, evaluated
from margins.partitions.vectors import Scattered, finished
from margins.solvers.newton._dense_hessian import DenseHessian
from margins.training.schemes import OneVsRest


class Sums(NamedTuple):
    """Sums over the samples at a weight vector, with one way of smoothing the loss."""

    residual: float  # the complementarity residual
    value: float  # contribution of the alpha_k to the dual objective
    dual_sum: float  # sum of the alpha_k
    combination: np.ndarray  # float64, shape (n,): sum of alpha_k y_k
    # float64: the sum of s_k y_k y_k^T over the free samples, either its lower triangle, shape (n, n),
    # or the change of that since the base; without stored Hessians its diagonal, shape (n,)
    hessian: np.ndarray

    def with_hessian(self, base):
        """Return the sums with the complete Hessian: the base's Hessian plus the change since."""
        return self if base is None else self._replace(hessian=base + self.hessian)


class Evaluation(NamedTuple):
    """The answer to `Evaluate`."""

    loss: float  # sum of the losses, not smoothed
    n_positive: int  # number of samples with alpha_k > 0
    n_unkept: int  # number of partitions that do not keep their free samples
    sums: tuple  # of Sums, at this smoothing and, for a loss that is not smooth, at the next


class Evaluate(NamedTuple):
    """Request for values, gradients and (changes of) Hessians at a point: one pass over the samples."""

    problem: int
    point: Point
    base: tuple | None  # (Point, bool): it has the same centre or, if True, its dual variables are it

    @property
    def reads(self):
        return True  # answering reads the samples

    @property
    def sent(self):
        """The short form, without what partitions are expected to have."""
        if self.base is None:
            return self
        base_point, is_centre = self.base
        return self._replace(point=self.point._replace(history=None), base=(base_point.bare, is_centre))

    def answer(self, partition):
        side = partition.side(self.problem)
        if self.base is not None:
            side.forget_before(self.base[0].version)
        centre, free_at_base = side.centre(self.base, self.point), self._free_before(partition, side)
        state, summed, frees, n_positive = side.new_state(self.point, centre), [], [], 0
        for sums_index in range(1 if side.loss.is_smooth else 2):
            losses = side.losses(state, self.point, sums_index)
            dual, free, residual, value = evaluated(losses, state.products)
            hessian = self._hessian(partition, side, free_at_base, free)
            summed.append(Sums(residual, value, float(dual.sum()), side.combination(dual), hessian))
            frees.append(free)
            n_positive = n_positive or int(np.count_nonzero(dual))
        free_rows = None if partition.setting.is_stored else side.rows_of_free(frees)
        side.keep(self.point, state._replace(free_rows=free_rows))
        with np.errstate(over="ignore", invalid="ignore"):
            loss = float(side.loss.value(state.products))
        return Evaluation(loss, n_positive, int(free_rows is None), tuple(summed))

    def _free_before(self, partition, side):
        """Return the samples in the Hessian of the base, as an ndarray of int8; all 0 without a base."""
        if self.base is None or not partition.setting.is_stored:
            return np.zeros(partition.n_samples, dtype=np.int8)
        base_point, is_centre = self.base
        return side.free(side.state(base_point), base_point, int(is_centre))

    def _hessian(self, partition, side, free_at_base, free):
        setting = partition.setting
        if setting.is_stored:
            hessian = DenseHessian(side.data, side.curvature, setting.in_blocks, is_double=True)
            return hessian.change(free_at_base, free)
        diagonal = _diagonal(partition.X, side.curvature * free, setting.sq_intercept_scaling)
        return partition.columns.scattered(diagonal)


class Slopes(NamedTuple):
    """Request for derivatives of the losses along a step, from what partitions keep."""

    problem: int
    base: Point  # start of the step
    trial: Point  # end of the step
    sums_index: int  # index of the sums at the base that the step was computed from
    t: float  # the step length

    @property
    def reads(self):
        return False

    @property
    def sent(self):
        return self._replace(base=self.base.bare, trial=self.trial.bare)

    def answer(self, partition):
        side = partition.side(self.problem)
        base, trial = side.state(self.base), side.state(self.trial)
        losses = side.losses(base, self.base, self.sums_index)
        return losses.slopes(base.products, trial.products, self.t)


class Multiply(NamedTuple):
    """Request for the product of a Hessian, without its identity, and a vector."""

    problem: int
    point: Point
    sums_index: int  # index of the sums in the point's `Evaluation`
    vector: np.ndarray  # float64, shape (n,)
    reads: bool  # True: the samples are read again, because a partition does not keep its free samples

    @property
    def sent(self):
        return self._replace(point=self.point.bare)

    def answer(self, partition):
        side = partition.side(self.problem)
        state = side.state(self.point)
        if state.free_rows is not None:
            data = state.free_rows.data
            if data is None:
                return (Scattered(partition.setting.n_weights, np.zeros(0, np.intp), np.zeros(0)),)
            indices, columns = np.arange(len(data), dtype=np.int32), state.free_rows.columns
            curvature = state.free_rows.curvatures[self.sums_index]
        else:
            data, indices, columns = side.data, side.indices, partition.columns
            curvature = side.curvature * side.free(state, self.point, self.sums_index)
        coefficients = curvature * products(data, indices, columns.gathered(self.vector))
        return (columns.scattered(combination(data, indices, coefficients)),)


class Accurate(NamedTuple):
    """Request for the loss at a weight vector, from scores in twice the working precision."""

    problem: int
    w: np.ndarray  # float64, shape (n,)

    @property
    def reads(self):
        return True

    @property
    def sent(self):
        return self

    def answer(self, partition):
        side, d = partition.side(self.problem), partition.rows.n_features
        w = partition.columns.gathered(self.w)
        bias = math.sqrt(partition.setting.sq_intercept_scaling) * w[d] if len(w) > d else 0.0
        high, low = scores(partition.rows, w[:d], bias)
        signs = side.data.signs
        return (side.loss.value_of_slacks((1 - signs * high) - signs * low),)


class Confusion(NamedTuple):
    """Request for predictions of one fold's samples: numbers of samples, by class and prediction."""

    fold: int
    coef: np.ndarray  # float64, shape (n_problems, n_features)
    intercept: np.ndarray  # float64, shape (n_problems,)

    @property
    def reads(self):
        return True

    @property
    def sent(self):
        return self

    def answer(self, partition):
        chosen, n_classes = np.flatnonzero(partition.folds == self.fold), len(partition.setting.classes)
        X = partition.X[chosen]
        coef = [partition.columns.gathered(np.append(weights, 0.0)) for weights in self.coef]
        scores = X @ np.array(coef)[:, : X.shape[1]].T + self.intercept
        predicted = OneVsRest(n_classes).predict(scores, np.arange(n_classes))
        pairs = partition.codes[chosen] * n_classes + predicted
        counts = np.bincount(pairs, minlength=n_classes * n_classes)
        return counts.reshape(n_classes, n_classes)


def _diagonal(X, curvature, sq_intercept_scaling):
    """Return the diagonal of the sum of s_k y_k y_k^T, as an ndarray of float64 of shape (n,)."""
    if sparse.issparse(X):
        curvature_of_stored = np.repeat(curvature, np.diff(X.indptr))
        n_stored = len(curvature_of_stored)
        weights = curvature_of_stored * np.square(X.data[:n_stored], dtype=np.float64)
        diagonal = np.bincount(X.indices[:n_stored], weights=weights, minlength=X.shape[1])
    else:
        diagonal = curvature @ np.square(X, dtype=np.float64)
    if sq_intercept_scaling > 0:
        diagonal = np.append(diagonal, sq_intercept_scaling * curvature.sum())
    return diagonal


def added(one, other):
    """Return the sum of two answers: numbers and vectors are added, tuples element by element."""
    if isinstance(one, tuple):
        parts = [added(a, b) for a, b in zip(one, other, strict=True)]
        return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
    if isinstance(one, Scattered) != isinstance(other, Scattered):  # dense and sparse chunks
        return finished(one) + finished(other)
    return one + other
