"""One partition in one pass: its binary problems, and the states of their weight vectors.

A state is a function of the samples and of a `Point`: the products w.y_k, the dual variables that belong
to them, and the centre around which a loss is smoothed, which is made of dual variables at the weight
vectors before. So a state that is lost can be made again.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from margins.data._passes import combination, products
from margins.data.binary_data import array_of_each, augmented_sqnorms, make_binary_data, rows_of
from margins.losses import loss_of
from margins.losses._smoothed import SmoothLoss, smoothing_curvature
from margins.partitions.samples import FoldsOfRows, codes_of, read_labels, read_matrix
from margins.partitions.vectors import AllColumns, compressed
from margins.tuning import TUNING

GROWTH = TUNING.partitions.growth


class Missing(Exception):
    """A partition does not have what a request refers to."""


class PartitionedProblem(NamedTuple):
    """A binary problem."""

    positive: int  # the positive class
    C: float
    fold: int | None = None  # the fold whose samples are left out


class Setting(NamedTuple):
    """What all partitions of a fit have in common."""

    key: str  # identifies the fit
    name: str  # the estimator's, for errors
    n_features: int
    classes: np.ndarray  # all labels
    problems: tuple  # of PartitionedProblem
    folds: FoldsOfRows | None  # of the problems that leave one out
    class_weights: np.ndarray | None  # float64 or None: by class
    loss: Any  # str or subclass of Loss
    sqrho: float
    has_free_intercept: bool
    median: float | None  # of U_k |y_k|^2 / C; None: the losses of all samples are smoothed alike
    is_stored: bool  # True: Hessians are stored, else multiplied by vectors
    in_blocks: bool  # True: stored ones are summed from dense blocks of samples
    kept_bytes: float  # where they are not: so many bytes of free samples are kept by a partition

    @property
    def n_weights(self):
        return self.n_features + (self.sqrho > 0)


class Point(NamedTuple):
    """A weight vector of a binary problem, and what its dual variables depend on."""

    version: int  # its number; equal numbers of one problem, equal points
    factor: float  # the multiple of the curvature
    w: np.ndarray | None = None  # float64 or None
    # The weight vectors and factors whose dual variables have successively become the centre. None, and
    # None for `w`: left out, because the partition is expected to have the state.
    history: tuple | None = None

    @property
    def bare(self):
        """The point by its number alone."""
        return Point(self.version, self.factor)


class PointState(NamedTuple):
    """What a partition keeps of a point."""

    # products, dual, centre: float64, shape (m,): w.y_k; alpha_k; the centre, None for a loss that is
    # smooth
    products: np.ndarray
    dual: np.ndarray | None
    centre: np.ndarray | None
    kept: "KeptRows | None" = None


class KeptRows(NamedTuple):
    """The free samples of a partition, for Hessian-vector products."""

    data: Any  # BinaryData or None: there are none
    columns: Any  # Columns or AllColumns
    # tuple of ndarrays of float64: of each way of smoothing: the curvature of these samples, 0 where one
    # is not free
    curvatures: tuple


class Partition:
    """One partition in one pass.

    Parameters
    ----------
    setting : Setting
    index : int
    kept : margins.partitions.store.Kept
    X, y, weight : array-like or None
        None: the partition is not read in this pass.
    """

    def __init__(self, setting, index, kept, X=None, y=None, weight=None):
        self.setting, self._kept, self._index = setting, kept, index
        name = f"chunk {index} of {setting.name}"
        self.columns = AllColumns()
        self._X = None if X is None else read_matrix(X, f"X of {name}", setting.n_features)
        if sparse.issparse(self._X) and not setting.is_stored:
            self._X, self.columns = compressed(self._X, setting.sqrho > 0)
        if kept.labels is None:
            if y is None:
                raise Missing
            kept.labels = read_labels(self._X.shape[0], y, weight, name)
        labels = self._labels = kept.labels
        if X is not None and self._X.shape[0] != len(labels.codes):
            raise ValueError(
                f"X of {name} must be the same whenever it is read. Got {self._X.shape[0]} rows after "
                f"{len(labels.codes)}."
            )
        self._codes = codes_of(setting.classes, labels.classes)
        self._rows, self._sides = None, {}

    @property
    def n_samples(self):
        return len(self._labels.codes)

    @property
    def X(self):
        """The matrix, over its own `columns`; Missing if it is not read in this pass."""
        if self._X is None:
            raise Missing
        return self._X

    @property
    def rows(self):
        """Its rows: margins._sparse.Rows."""
        if self._rows is None:
            self._rows = rows_of(self.X)
        return self._rows

    @property
    def codes(self):
        """The classes of the samples: ndarray of int, shape (m,)."""
        return self._codes[self._labels.codes]

    @property
    def folds(self):
        """The folds of the samples: ndarray of int, shape (m,)."""
        if self._kept.folds is None:
            self._kept.folds = self.setting.folds.of(self._labels.codes, self._index)
        return self._kept.folds

    def penalties(self, problem):
        """C of every sample, 0 of one that is left out: float or ndarray of float64, shape (m,)."""
        setting, labels = self.setting, self._labels
        _, C, fold = setting.problems[problem]
        if setting.class_weights is not None:
            C = (C * setting.class_weights[self._codes])[labels.codes]
        if labels.weight is not None:
            C = C * labels.weight
        return C if fold is None else C * (self.folds != fold)

    def signs(self, problem):
        """Which samples are of the positive class: ndarray of bool, shape (m,)."""
        return (self._codes == self.setting.problems[problem].positive)[self._labels.codes]

    def release(self):
        """End the cycle of references to its sides, which would hold X until the next collection."""
        self._sides.clear()

    def side(self, problem):
        """One of its binary problems: Side."""
        if problem not in self._sides:
            self._sides[problem] = Side(self, problem, self._kept.states)
        return self._sides[problem]


class Side:
    """A binary problem of a partition.

    Parameters
    ----------
    partition : Partition
    problem : int
    states : dict
        {(problem, version): PointState}, changed in place.
    """

    def __init__(self, partition, problem, states):
        self._partition, self._problem, self._states = partition, problem, states
        self._data = self._curvature = None
        self.indices = np.arange(partition.n_samples, dtype=np.int32)
        with np.errstate(divide="ignore"):  # samples of weight 0
            self.loss = loss_of(partition.setting.loss, partition.penalties(problem))
        self.upper = array_of_each(self.loss.upper, partition.n_samples)

    @property
    def data(self):
        """Its samples: BinaryData."""
        if self._data is None:
            partition, m = self._partition, self._partition.n_samples
            positive = partition.signs(self._problem)
            sqrho = partition.setting.sqrho
            # Nothing here reads squared norms.
            self._data = make_binary_data(partition.rows, np.zeros(m), positive, sqrho, 0.0, 0.0)
        return self._data

    @property
    def curvature(self):
        """The curvature of the losses: ndarray of float64, shape (m,)."""
        if self._curvature is None:
            self._curvature = self._new_curvature()
        return self._curvature

    def _new_curvature(self):
        m, setting = self._partition.n_samples, self._partition.setting
        if self.loss.is_smooth:
            return array_of_each(1 / self.loss.diag, m)
        if setting.median is None:
            return self.upper
        key = self._problem, "curvature"
        if key not in self._states:
            sqnorms = augmented_sqnorms(self._partition.rows.sqnorms(), setting.sqrho, False)
            median = setting.problems[self._problem].C * setting.median
            self._states[key] = smoothing_curvature(self.upper, sqnorms, median)
        return self._states[key]

    def smoothed(self, centre, factor):
        """The losses: SmoothLoss."""
        is_smoothed = not self.loss.is_smooth
        centre = centre if is_smoothed else np.zeros(len(self.upper))
        return SmoothLoss(centre, self.upper, self.curvature, factor, is_smoothed)

    def losses(self, state, point, which):
        """The smooth losses at a point: SmoothLoss.

        `which` is 0 for those of the point; 1 for those with its dual variables as the centre, and a
        factor that has grown.
        """
        if which == 0:
            return self.smoothed(state.centre, point.factor)
        return self.smoothed(state.dual, point.factor * GROWTH)

    def free(self, state, point, which):
        """Which samples are free with these losses: ndarray of int8, shape (m,)."""
        dual, free = np.empty(len(self.indices)), np.empty(len(self.indices), dtype=np.int8)
        self.losses(state, point, which).evaluate(state.products, dual, free)
        return free

    def state(self, point):
        """What is kept of a point, or made again of it; Missing if it cannot be: PointState."""
        key = self._problem, point.version
        if key not in self._states:
            if point.w is None:
                raise Missing
            self._states[key] = self.new_state(point, self._replayed(point.history))
        return self._states[key]

    def centre(self, base, point):
        """The centre of a point: of the state of `base`, (Point, whether its dual variables are the
        centre), if there is one; None for a loss that is smooth."""
        if self.loss.is_smooth:
            return None
        if base is not None:
            before, is_centre = base
            state = self._states.get((self._problem, before.version))
            if state is not None:
                return state.dual if is_centre else state.centre
        if point.history is None:
            raise Missing
        return self._replayed(point.history)

    def _replayed(self, history):
        """The centre that successive weight vectors have left."""
        if self.loss.is_smooth:
            return None
        centre = 0.5 * self.upper  # between the bounds, since no dual variable is known
        for w, factor in history:
            centre = self._dual(centre, factor, self._products(w))
        return centre

    def new_state(self, point, centre):
        """The state of a point: PointState."""
        found = self._products(point.w)
        dual = None if self.loss.is_smooth else self._dual(centre, point.factor, found)
        return PointState(found, dual, centre)

    def keep(self, point, state):
        """Keep the state of a point."""
        self._states[self._problem, point.version] = state

    def forget_before(self, version):
        """Forget the states of points before a version, but the one of `version` itself."""
        for problem, number in list(self._states):
            if problem == self._problem and number != "curvature" and number < version:
                del self._states[problem, number]

    def _products(self, w):
        return products(self.data, self.indices, self._partition.columns.gathered(w))

    def _dual(self, centre, factor, found):
        dual, free = np.empty(len(found)), np.empty(len(found), dtype=np.int8)
        self.smoothed(centre, factor).evaluate(found, dual, free)
        return dual

    def combination(self, coefficients):
        """The sum of c_k y_k: ndarray of float64, or Scattered."""
        return self._partition.columns.scattered(combination(self.data, self.indices, coefficients))

    def rows_of_free(self, frees):
        """The samples that are free in some way of smoothing: KeptRows; None if there are too many."""
        X, limit = self._partition.X, self._partition.setting.kept_bytes
        chosen = np.flatnonzero(np.any(frees, axis=0))
        n_stored = np.diff(X.indptr)[chosen].sum() if sparse.issparse(X) else len(chosen) * X.shape[1]
        if 12 * n_stored > limit:
            return None
        positive = self._partition.signs(self._problem)[chosen]
        if len(chosen) == 0:
            return KeptRows(None, None, ())
        rows, sqrho = rows_of(X[chosen]), self._partition.setting.sqrho
        data = make_binary_data(rows, np.zeros(len(chosen)), positive, sqrho, 0.0, 0.0)
        curvatures = tuple(self.curvature[chosen] * free[chosen] for free in frees)
        return KeptRows(data, self._partition.columns, curvatures)
