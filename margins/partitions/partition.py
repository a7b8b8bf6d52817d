"""One partition in one pass: its binary problems, and the states of their weight vectors.

A state is a function of the samples and of a `Point`, so a lost state can be computed again.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from margins.data._passes import combination, products
from margins.data.binary_data import array_of_each, augmented_sqnorms, make_binary_data, rows_of
from margins.data.validation import read_labels
from margins.linalg.threads import computed_once
from margins.losses import loss_of
from margins.losses._smoothed import SmoothLoss, smoothing_curvature
from margins.partitions.samples import FoldsOfRows, codes_among, read_matrix
from margins.partitions.vectors import AllColumns, compressed
from margins.tuning import TUNING

GROWTH = TUNING.partitions.growth


class Missing(Exception):
    """Raised if a partition does not have what a request refers to."""


class PartitionedProblem(NamedTuple):
    """A binary problem."""

    positive: int  # the positive class
    C: float
    fold: int | None = None  # the fold whose samples are left out


class Setting(NamedTuple):
    """The data that all partitions of a fit share."""

    key: str  # identifies the fit
    name: str  # name of the estimator, for errors
    n_features: int
    classes: np.ndarray  # all labels
    problems: tuple  # of PartitionedProblem
    folds: FoldsOfRows | None  # for problems that leave one out
    class_weights: np.ndarray | None  # float64, by class
    loss: Any  # str or subclass of Loss
    sq_intercept_scaling: float
    has_free_intercept: bool
    median: float | None  # median of U_k |y_k|^2 / C; None: the losses of all samples are smoothed alike
    is_stored: bool  # True: Hessians are stored; False: they are multiplied by vectors
    in_blocks: bool  # True: stored Hessians are summed from dense blocks of samples
    kept_bytes: float  # without stored Hessians: bytes of free samples that a partition keeps

    @property
    def n_weights(self):
        return self.n_features + (self.sq_intercept_scaling > 0)


class Point(NamedTuple):
    """A weight vector of a binary problem, with all that its dual variables depend on."""

    version: int  # within one problem, equal versions mean equal points
    factor: float  # the multiple of the curvature
    w: np.ndarray | None = None  # float64 or None
    # Weight vectors and factors whose dual variables became the centre. It and `w` are left out (None)
    # if the partition is expected to have the state.
    history: tuple | None = None

    @property
    def bare(self):
        """The point reduced to its version and factor."""
        return Point(self.version, self.factor)


class PointState(NamedTuple):
    """The numbers that a partition keeps of a point."""

    products: np.ndarray  # float64, shape (m,): w.y_k
    dual: np.ndarray | None  # float64, shape (m,): alpha_k; None for a smooth loss
    centre: np.ndarray | None  # the same of the centre
    free_rows: "KeptRows | None" = None


class KeptRows(NamedTuple):
    """The free samples of a partition, for Hessian-vector products."""

    data: Any  # BinaryData; None: no sample is free
    columns: Any  # Columns or AllColumns
    curvatures: tuple  # of these samples, for each way of smoothing; 0 where a sample is not free


class Partition:
    """A partition in one pass, which does not read it if X, y and weight are None."""

    def __init__(self, setting, index, stored, X=None, y=None, weight=None):
        self.setting, self._stored, self._index = setting, stored, index
        name = f"chunk {index} of {setting.name}"
        self.columns = AllColumns()
        self._X = None if X is None else read_matrix(X, f"X of {name}", setting.n_features)
        if sparse.issparse(self._X) and not setting.is_stored:
            self._X, self.columns = compressed(self._X, setting.sq_intercept_scaling > 0)
        if stored.labels is None:
            if y is None:
                raise Missing
            stored.labels = read_labels(self._X.shape[0], y, weight, name)
        labels = self._labels = stored.labels
        if X is not None and self._X.shape[0] != len(labels.codes):
            raise ValueError(
                f"X of {name} must be the same every time it is read. Got {self._X.shape[0]} rows, "
                f"and {len(labels.codes)} the first time."
            )
        self._codes = codes_among(setting.classes, labels.classes)
        self._sides = {}

    @property
    def n_samples(self):
        return len(self._labels.codes)

    @property
    def X(self):
        """The matrix, over the partition's `columns`; raises Missing if this pass does not read it."""
        if self._X is None:
            raise Missing
        return self._X

    @computed_once
    def rows(self):
        """The rows of the matrix, as margins._sparse.Rows."""
        return rows_of(self.X)

    @property
    def codes(self):
        """The classes of the samples, as an ndarray of int of shape (m,)."""
        return self._codes[self._labels.codes]

    @property
    def folds(self):
        """The folds of the samples, as an ndarray of int of shape (m,)."""
        if self._stored.folds is None:
            self._stored.folds = self.setting.folds.of(self._labels.codes, self._index)
        return self._stored.folds

    def penalties(self, problem):
        """Return C of every sample, 0 if it is left out: a float, or an ndarray of shape (m,)."""
        setting, labels = self.setting, self._labels
        _, C, fold = setting.problems[problem]
        if setting.class_weights is not None:
            C = (C * setting.class_weights[self._codes])[labels.codes]
        if labels.weight is not None:
            C = C * labels.weight
        return C if fold is None else C * (self.folds != fold)

    def signs(self, problem):
        """Return an ndarray of bool of shape (m,), True for samples of the positive class."""
        return (self._codes == self.setting.problems[problem].positive)[self._labels.codes]

    def release(self):
        """Break the reference cycle that would hold X until the next garbage collection."""
        self._sides.clear()

    def side(self, problem):
        if problem not in self._sides:
            self._sides[problem] = Side(self, problem, self._stored.states)
        return self._sides[problem]


def evaluated(losses, products):
    """Return dual variables, which of them are free (int8), and the residual and value of the losses."""
    dual, free = np.empty(len(products)), np.empty(len(products), dtype=np.int8)
    return dual, free, *losses.evaluate(products, dual, free)


class Side:
    """One binary problem in one partition; `states`, {(problem, version): PointState}, change."""

    def __init__(self, partition, problem, states):
        self._partition, self._problem, self._states = partition, problem, states
        self.indices = np.arange(partition.n_samples, dtype=np.int32)
        with np.errstate(divide="ignore"):  # samples of weight 0
            self.loss = loss_of(partition.setting.loss, partition.penalties(problem))
        self.upper = array_of_each(self.loss.upper, partition.n_samples)

    @computed_once
    def data(self):
        """The samples of the problem, as BinaryData."""
        return self._data_of(self._partition.rows, self._partition.signs(self._problem))

    def _data_of(self, rows, positive):
        # The squared norms are 0, because nothing here reads them.
        scaling = self._partition.setting.sq_intercept_scaling
        return make_binary_data(rows, np.zeros(len(positive)), positive, scaling, 0.0, 0.0)

    @computed_once
    def curvature(self):
        """The curvature of the losses, as an ndarray of float64 of shape (m,)."""
        setting = self._partition.setting
        if self.loss.is_smooth:  # a bound of 0, for the weight 0, holds with any curvature but 0
            return np.where(self.upper > 0, 1 / self.loss.diag, 1.0)
        if setting.median is None:
            return self.upper
        key = self._problem, "curvature"
        if key not in self._states:
            sqnorms = self._partition.rows.sqnorms()
            sqnorms = augmented_sqnorms(sqnorms, setting.sq_intercept_scaling, False)
            median = setting.problems[self._problem].C * setting.median
            self._states[key] = smoothing_curvature(self.upper, sqnorms, median)
        return self._states[key]

    def smoothed(self, centre, factor):
        """Return the losses, smoothed if necessary, as a SmoothLoss."""
        is_smoothed = not self.loss.is_smooth
        centre = centre if is_smoothed else np.zeros(len(self.upper))
        return SmoothLoss(centre, self.upper, self.curvature, factor, is_smoothed)

    def losses(self, state, point, sums_index):
        """Return the losses at a point, with its smoothing (`sums_index` 0) or the next one (1)."""
        if sums_index == 0:
            return self.smoothed(state.centre, point.factor)
        return self.smoothed(state.dual, point.factor * GROWTH)

    def free(self, state, point, sums_index):
        """Return an ndarray of int8 of shape (m,), 1 for samples that are free with these losses."""
        return evaluated(self.losses(state, point, sums_index), state.products)[1]

    def state(self, point):
        """Return the PointState of a point, if necessary computed again; may raise Missing."""
        key = self._problem, point.version
        if key not in self._states:
            if point.w is None:
                raise Missing
            self._states[key] = self.new_state(point, self._replayed(point.history))
        return self._states[key]

    def centre(self, base, point):
        """Return the centre of a point, from the state of `base` (Point, whether its dual variables)."""
        if self.loss.is_smooth:
            return None
        if base is not None:
            base_point, is_centre = base
            state = self._states.get((self._problem, base_point.version))
            if state is not None:
                return state.dual if is_centre else state.centre
        if point.history is None:
            raise Missing
        return self._replayed(point.history)

    def _replayed(self, history):
        """Return the centre after a sequence of weight vectors."""
        if self.loss.is_smooth:
            return None
        centre = 0.5 * self.upper  # the middle, because no dual variable is known yet
        for w, factor in history:
            centre = self._dual(centre, factor, self._products(w))
        return centre

    def new_state(self, point, centre):
        products_of_point = self._products(point.w)
        dual = None if self.loss.is_smooth else self._dual(centre, point.factor, products_of_point)
        return PointState(products_of_point, dual, centre)

    def keep(self, point, state):
        self._states[self._problem, point.version] = state

    def forget_before(self, version):
        """Forget the states of all points before `version`."""
        for problem, number in list(self._states):
            if problem == self._problem and number != "curvature" and number < version:
                del self._states[problem, number]

    def _products(self, w):
        return products(self.data, self.indices, self._partition.columns.gathered(w))

    def _dual(self, centre, factor, products_of_point):
        return evaluated(self.smoothed(centre, factor), products_of_point)[0]

    def combination(self, coefficients):
        """Return the sum of c_k y_k, as an ndarray of float64 or Scattered."""
        return self._partition.columns.scattered(combination(self.data, self.indices, coefficients))

    def rows_of_free(self, frees):
        """Return KeptRows of samples free in some way of smoothing; None if there are too many."""
        X, limit = self._partition.X, self._partition.setting.kept_bytes
        chosen = np.flatnonzero(np.any(frees, axis=0))
        n_stored = np.diff(X.indptr)[chosen].sum() if sparse.issparse(X) else len(chosen) * X.shape[1]
        if 12 * n_stored > limit:
            return None
        positive = self._partition.signs(self._problem)[chosen]
        if len(chosen) == 0:
            return KeptRows(None, None, ())
        data = self._data_of(rows_of(X[chosen]), positive)
        curvatures = tuple(self.curvature[chosen] * free[chosen] for free in frees)
        return KeptRows(data, self._partition.columns, curvatures)
