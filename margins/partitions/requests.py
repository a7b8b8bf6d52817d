"""What is summed over partitions, for one binary problem: requests, and their answers.

A request is sent to every partition, and `answer` computes its part of the sums there. Numbers that a
partition keeps are referred to by the version of their point: `sent` is the request without the rest,
which is needed only where these numbers are missing.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from margins.data._passes import combination, products
from margins.losses._accurate import scores
from margins.partitions.partition import Point
from margins.partitions.vectors import Scattered, finished
from margins.solvers.newton._dense_hessian import DenseHessian
from margins.training.schemes import OneVsRest


class Sums(NamedTuple):
    """Sums over samples at a weight vector, with one way of smoothing the loss."""

    residual: float  # the complementarity residual
    value: float  # what the alpha_k add to the dual objective
    dual_sum: float  # the sum of the alpha_k
    combination: np.ndarray  # float64, shape (n,): the sum of alpha_k y_k
    # float64: of the sum of s_k y_k y_k^T over the free samples: the lower triangle, shape (n, n), or
    # its change since the base; or, where Hessians are not stored, the diagonal, shape (n,)
    hessian: np.ndarray

    def with_hessian(self, base):
        """The same sums, the Hessian of the base added to the change since it."""
        return self if base is None else self._replace(hessian=base + self.hessian)


class Evaluation(NamedTuple):
    """The answer to `Evaluate`."""

    loss: float  # the sum of the losses themselves
    n_positive: int  # the number of samples with alpha_k > 0
    n_unkept: int  # the number of partitions that do not keep their free samples
    # tuple of Sums: with the centre and factor of the point; and, for a loss that is not smooth, with
    # its dual variables as the centre, and the next factor
    sums: tuple


class Evaluate(NamedTuple):
    """Values, gradients and Hessians at a point: one pass over the samples.

    Of a stored Hessian, the change since the base is summed, for which only the samples that have become
    free, or are no longer free, are multiplied.
    """

    problem: int
    point: Point
    # the point whose centre this one has, or, if True, whose dual variables are its centre
    base: tuple | None

    @property
    def reads(self):
        """True if the samples are read."""
        return True

    @property
    def sent(self):
        """As it is sent at first, without what partitions are expected to have."""
        if self.base is None:
            return self
        before, is_centre = self.base
        return self._replace(point=self.point._replace(history=None), base=(before.bare, is_centre))

    def answer(self, partition):
        side = partition.side(self.problem)
        if self.base is not None:
            side.forget_before(self.base[0].version)
        centre, before = side.centre(self.base, self.point), self._free_before(partition, side)
        state, summed, frees, n_positive = side.new_state(self.point, centre), [], [], 0
        for which in range(1 if side.loss.is_smooth else 2):
            losses = side.losses(state, self.point, which)
            dual, free = np.empty(partition.n_samples), np.empty(partition.n_samples, dtype=np.int8)
            residual, value = losses.evaluate(state.products, dual, free)
            hessian = self._hessian(partition, side, before, free)
            summed.append(Sums(residual, value, float(dual.sum()), side.combination(dual), hessian))
            frees.append(free)
            n_positive = n_positive or int(np.count_nonzero(dual))
        kept = None if partition.setting.is_stored else side.rows_of_free(frees)
        side.keep(self.point, state._replace(kept=kept))
        with np.errstate(over="ignore", invalid="ignore"):
            loss = float(side.loss.value(state.products))
        return Evaluation(loss, n_positive, int(kept is None), tuple(summed))

    def _free_before(self, partition, side):
        """The samples of the Hessian of the base: ndarray of int8; none without a base."""
        if self.base is None or not partition.setting.is_stored:
            return np.zeros(partition.n_samples, dtype=np.int8)
        before, is_centre = self.base
        return side.free(side.state(before), before, int(is_centre))

    def _hessian(self, partition, side, before, free):
        setting = partition.setting
        if setting.is_stored:
            hessian = DenseHessian(side.data, side.curvature, setting.in_blocks, is_double=True)
            return hessian.change(before, free)
        diagonal = _diagonal(partition.X, side.curvature * free, setting.sqrho)
        return partition.columns.scattered(diagonal)


class Slopes(NamedTuple):
    """The derivatives of the losses along a step, from what partitions keep."""

    problem: int
    # base, trial: beginning and end of the step
    base: Point
    trial: Point
    which: int  # which of the sums at the base it is a step for
    t: float  # the step length

    @property
    def reads(self):
        """True if the samples are read."""
        return False

    @property
    def sent(self):
        """As `Evaluate.sent`."""
        return self._replace(base=self.base.bare, trial=self.trial.bare)

    def answer(self, partition):
        side = partition.side(self.problem)
        base, trial = side.state(self.base), side.state(self.trial)
        losses = side.losses(base, self.base, self.which)
        return losses.slopes(base.products, trial.products, self.t)


class Multiply(NamedTuple):
    """The product of a Hessian, without its identity, and a vector."""

    problem: int
    point: Point
    which: int  # which of the sums of its `Evaluation`
    vector: np.ndarray  # float64, shape (n,)
    reads: bool  # True: the samples are read again, because some partition does not keep its free ones

    @property
    def sent(self):
        """As `Evaluate.sent`."""
        return self._replace(point=self.point.bare)

    def answer(self, partition):
        side = partition.side(self.problem)
        state = side.state(self.point)
        if state.kept is not None:
            data = state.kept.data
            if data is None:
                return (Scattered(partition.setting.n_weights, np.zeros(0, np.intp), np.zeros(0)),)
            curvature, indices = state.kept.curvatures[self.which], np.arange(len(data), dtype=np.int32)
            columns = state.kept.columns
        else:
            data, indices, columns = side.data, side.indices, partition.columns
            curvature = side.curvature * side.free(state, self.point, self.which)
        coefficients = curvature * products(data, indices, columns.gathered(self.vector))
        return (columns.scattered(combination(data, indices, coefficients)),)


class Accurate(NamedTuple):
    """The loss at a weight vector, from scores in twice the working precision."""

    problem: int
    w: np.ndarray  # float64, shape (n,)

    @property
    def reads(self):
        """True if the samples are read."""
        return True

    @property
    def sent(self):
        return self

    def answer(self, partition):
        side, d = partition.side(self.problem), partition.rows.n_features
        w = partition.columns.gathered(self.w)
        bias = math.sqrt(partition.setting.sqrho) * w[d] if len(w) > d else 0.0
        high, low = scores(partition.rows, w[:d], bias)
        signs = side.data.signs
        return (side.loss.value_of_slacks((1 - signs * high) - signs * low),)


class Confusion(NamedTuple):
    """What a model predicts of the samples of one fold: numbers of samples, by class and prediction."""

    fold: int
    coef: np.ndarray  # float64, shape (n_problems, n_features)
    intercept: np.ndarray  # float64, shape (n_problems,)

    @property
    def reads(self):
        """True if the samples are read."""
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


def _diagonal(X, curvature, sqrho):
    """The diagonal of the sum of s_k y_k y_k^T: ndarray of float64, shape (n,)."""
    if sparse.issparse(X):
        each = np.repeat(curvature, np.diff(X.indptr))
        n_stored = len(each)
        weights = each * np.square(X.data[:n_stored], dtype=np.float64)
        diagonal = np.bincount(X.indices[:n_stored], weights=weights, minlength=X.shape[1])
    else:
        diagonal = curvature @ np.square(X, dtype=np.float64)
    return np.append(diagonal, sqrho * curvature.sum()) if sqrho > 0 else diagonal


def added(one, other):
    """The sum of two answers: numbers and vectors are added, tuples element by element."""
    if isinstance(one, tuple):
        parts = [added(a, b) for a, b in zip(one, other, strict=True)]
        return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
    if isinstance(one, Scattered) != isinstance(other, Scattered):  # dense and sparse chunks
        return finished(one) + finished(other)
    return one + other
