"""The training set: samples, with the values that are computed once for all fits and all classes.

    samples -> TrainingSet -> scheme.binary -> problem(code, specification) -> Run

Only this class makes the binary problems of fits in memory. It never changes, except for its caches.
"""

import copy
import functools
import threading

import numpy as np

from margins.data.binary_data import augmented_sqnorms, make_binary_data, require_zeros, rows_of
from margins.data.centring import centred
from margins.data.validation import Samples
from margins.kernels import LINEAR, Precomputed
from margins.kernels.gram import WholeGram
from margins.kernels.shared_blocks import ClassBlocks
from margins.solvers.auto import most_of_pair
from margins.solvers.base import Original, Problem
from margins.training.schemes import scheme_of


class TrainingSet:
    """Training samples of positive weight, with their classes and the rows that solvers read.

    make_rows: ``make_rows(X)`` makes the rows that a solver reads: of X, of its Gram matrix, or of a
        kernel.
    is_in_parts: True: X is in partitions, only one of which is in memory at a time.
    centre, shape (d,): centre from which solvers measure the features; see `margins.data.centring`.
    mean_weight, shape (m,): in a stream: the mean weight of all samples up to each one. None: the mean
        of these samples.
    sqnorms, shape (m,): k(x_k, x_k).
    features: the rows of X, less the centre, if solvers read the rows of its Gram matrix.
    columns: the features that X has kept, ndarray of int; None: all.
    """

    def __init__(
        self,
        samples,
        kernel,
        make_rows,
        *,
        is_in_parts=False,
        multi_class="ovr",
        centre=None,
        mean_weight=None,
        columns=None,
    ):
        self.samples, self.kernel, self.is_in_parts = samples, kernel, is_in_parts
        self.multi_class, self._make_rows = multi_class, make_rows
        self.centre, self._mean_weight, self.columns = centre, mean_weight, columns
        X = self._X = samples.X if centre is None else centred(samples.X, centre)
        rows = make_rows(X)
        is_shared = kernel == LINEAR and not is_in_parts
        self._get_rows = (lambda: rows) if is_shared else RowsOfThread(rows, lambda: make_rows(X)).get
        measured, sqnorms = samples.lengths
        self.sqnorms = sqnorms if measured is X and is_shared and not rows.is_kernel else rows.sqnorms()
        is_gram = kernel == LINEAR and rows.is_kernel
        self.features = rows_of(X) if is_gram else None
        self._original = None if centre is None else rows_of(samples.X)
        self._original_sqnorms = None if centre is None else self._original.sqnorms()
        self._augmented, self._last_loss = {}, (None, None)
        self._class_blocks = self._gram = None
        self._penalty = None, None

    def share_products(self):
        """Let the problems of all samples share inner products of linear data."""
        self._gram = WholeGram(self._X)

    @property
    def original(self):
        """The rows of X as it was passed, unless a kernel reads them (Rows)."""
        if self._original is not None:
            return self._original
        return self.rows if self.features is None else self.features

    @property
    def X(self):
        """The samples that solvers read, less the centre (array or CSR matrix); None: part of others."""
        return self._X

    @property
    def n_features(self):
        """The number of features that X has kept."""
        return self.samples.n_features if self.columns is None else len(self.columns)

    @property
    def classes(self):
        """The labels (ndarray, shape (n_classes,))."""
        return self.samples.classes

    @property
    def rows(self):
        """The rows of this thread (Rows)."""
        return self._get_rows()

    @property
    def is_kernel(self):
        """True if the rows are rows of a kernel other than the linear one."""
        return self.kernel != LINEAR

    @property
    def scheme(self):
        """The scheme that makes binary problems from the classes (OneVsRest or OneVsOne)."""
        return scheme_of(self.multi_class, len(self.classes))

    @property
    def has_left_out(self):
        """True if the rows of a kernel include samples of weight 0, which are not in a fold."""
        weight = self.samples.weight
        return self.is_kernel and isinstance(weight, np.ndarray) and bool(weight.min() == 0)

    def penalties(self, specification):
        """Return C of every sample, 0 if its weight is 0 (float or ndarray of float64, shape (m,))."""
        weight = self.samples.weight
        if not self.has_left_out:
            return specification.penalties(weight)
        used = np.flatnonzero(weight)
        penalties = np.zeros(len(weight))
        penalties[used] = specification.penalties(weight[used])
        return penalties

    def problem(self, code, specification, loss=None):
        """Return the binary problem of one class against all others."""
        if loss is None:
            loss = self._loss_of(specification)
        codes, weight = self.samples.codes, self.samples.weight
        if specification.weights == "relative updates":
            weight = relative(weight, self._mean_weight)
        if not (specification.weighs_updates and isinstance(weight, np.ndarray)):
            weight = None
        arguments = (
            np.ones(len(codes), dtype=bool) if code is None else codes == code,
            specification.sq_intercept_scaling,
            loss.diag,
            specification.max_dual if weight is None else specification.max_dual * weight,
            specification.has_free_intercept,
            weight,
        )
        data = make_binary_data(self.rows, self.augmented_sqnorms(specification), *arguments)
        if specification.offset_ratio > 0:
            data = data.with_limits(offset=specification.offset_ratio * self.sqnorms)
        penalty = self._penalty_of(specification)
        if self.centre is None:
            return Problem(data, loss, self._gram, penalty=penalty)
        sqnorms = self._original_sqnorms + specification.sq_intercept_scaling
        original = Original(make_binary_data(self._original, sqnorms, *arguments), self.centre)
        return Problem(data, loss, self._gram, original, penalty)

    def _penalty_of(self, specification):
        """Return the penalty of a specification, which the problems of all classes share, or None."""
        regulariser = specification.regulariser
        if regulariser is None:
            return None
        known, penalty = self._penalty
        if known is not regulariser:
            from margins.solvers.penalised import Penalty  # few fits need it

            n_features, names = self.samples.n_features, self.samples.feature_names
            penalty = Penalty(regulariser, n_features, self.columns, names)
            self._penalty = regulariser, penalty
        return penalty

    def _loss_of(self, specification):
        """Return the loss of a specification, which the problems of all classes share (Loss)."""
        key = specification.C, specification.loss
        last_key, loss = self._last_loss  # read both at once: threads may use different values of C
        if last_key != key:
            loss = specification.loss_of(self.penalties(specification))
            self._last_loss = key, loss
        return loss

    def augmented_sqnorms(self, specification):
        """Return K(x_k, x_k) + rho^2, checked for the problem (ndarray of float64, shape (m,))."""
        allows_zero_rows = specification.has_free_intercept or specification.allows_zero_rows
        is_checked = specification.is_hard_margin and specification.checks_lengths
        key = specification.sq_intercept_scaling, is_checked, allows_zero_rows
        if key not in self._augmented:
            if is_checked and not self.sqnorms.any():
                X = self.samples.X
                for matrix in X.matrices() if self.is_in_parts else [X]:
                    require_zeros(matrix)
            self._augmented[key] = augmented_sqnorms(self.sqnorms, *key)
        return self._augmented[key]

    def support(self, numbers):
        """Return some of the samples as support vectors."""
        X = self.samples.X
        vectors = X[:0, :0] if isinstance(self.kernel, Precomputed) else X[numbers]
        return vectors, self.samples.kept[numbers]

    def part(self, indices, weight, classes=None, codes=None):
        """Return the training set of some of the samples, which shares the rows."""
        whole = self.samples
        codes = whole.codes[indices] if codes is None else codes
        other, classes = copy.copy(self), self.classes if classes is None else classes
        other._last_loss, other._gram, other._penalty = (None, None), None, (None, None)
        whole = whole._replace(classes=classes, absent=())
        if self.is_kernel:
            n_samples = len(whole.codes)
            all_codes, all_weights = np.full(n_samples, -1), np.zeros(n_samples)
            all_codes[indices] = codes
            np.add.at(all_weights, indices, weight)
            other.samples = whole._replace(codes=all_codes, weight=all_weights)
            return other
        other.samples = whole._replace(X=None, codes=codes, weight=weight, kept=indices)
        rows = self.rows.part(indices)
        other._X, other._get_rows = None, lambda: rows
        other.features = None if self.features is None else self.features.part(indices)
        if self._original is not None:
            other._original = self._original.part(indices)
            other._original_sqnorms = self._original_sqnorms[indices]
        other.sqnorms, other._augmented = self.sqnorms[indices], {}
        return other

    def of_classes(self, codes, same_rows=False):
        """Return the training set of the samples of some classes, sorted by class."""
        whole = self.samples
        samples_by_class = [np.flatnonzero(whole.codes == code) for code in codes]
        indices = np.concatenate(samples_by_class)
        weight = whole.weight[indices] if isinstance(whole.weight, np.ndarray) else whole.weight
        classes = self.classes[list(codes)]
        new_codes = np.repeat(np.arange(len(codes)), list(map(len, samples_by_class)))
        if same_rows or not self.is_kernel:
            part = self.part(indices, weight, classes, new_codes)
            are_few = len(indices) <= most_of_pair(part.rows.n_features)
            if are_few and not (same_rows or part.rows.is_kernel or self._X is None):
                part._gram = WholeGram(self._X, indices)
            return part
        X = self.kernel.samples_of(whole.X, indices)
        samples = whole._replace(
            X=X, codes=new_codes, classes=classes, weight=weight, kept=whole.kept[indices], absent=()
        )
        part = TrainingSet(samples, self.kernel, self._make_rows)
        self._share_blocks(part, codes)
        return part

    def _share_blocks(self, part, codes):
        """Let a part of some classes, with its separate kernel rows, share kernel values with others."""
        samples, blocks = self.samples, part.rows.blocks
        if not ClassBlocks.may_serve(self.kernel, len(samples.codes), blocks.cache_size):
            return
        if self._class_blocks is None or self._class_blocks.codes is not samples.codes:
            self._class_blocks = ClassBlocks(self.kernel, samples.X, samples.codes)
        blocks.take_from(functools.partial(self._class_blocks.blocks, codes))

    def binary(self, code, classes):
        """Return the training set of one class against the others, with two new class names."""
        codes = (self.samples.codes == code).astype(np.intp)
        return self.with_samples(self.samples._replace(codes=codes, classes=classes, absent=()))

    def with_samples(self, samples):
        """Return a training set of the same rows with other labels or indices (TrainingSet)."""
        other = copy.copy(self)
        other.samples = samples
        return other


def binary_problem(X, positive, specification, loss=None):
    """Return the binary problem of validated samples, all of weight 1 (Problem)."""
    codes, classes = positive.astype(np.intp), np.array([False, True])
    samples = Samples(X, codes, classes, 1.0, np.arange(len(codes)), *X.shape)
    return TrainingSet(samples, LINEAR, rows_of).problem(1, specification, loss)


def relative(weight, mean=None):
    """Return weights relative to their mean, so that a common factor changes nothing."""
    if mean is not None:
        return weight / mean
    if not isinstance(weight, np.ndarray):
        return 1.0
    weight = np.ldexp(weight, -np.frexp(weight.max())[1])  # exact, and no sum overflows
    return weight / weight.mean()


class RowsOfThread:
    """Rows with a cache, separate for each thread: `first` for the first thread, else ``make()``.

    It does not rely on joblib's number of threads, which may be wrong, as in a daemonic process.
    """

    def __init__(self, first, make):
        self._unused, self._make, self._threads = [first], make, threading.local()

    def get(self):
        if not hasattr(self._threads, "rows"):
            try:
                self._threads.rows = self._unused.pop()
            except IndexError:
                self._threads.rows = self._make()
        return self._threads.rows
