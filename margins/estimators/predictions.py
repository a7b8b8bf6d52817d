"""Predictions, also of samples that are not in memory, and checks of models that are exported."""

import math
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from margins.data.chunks import Chunks, is_in_parts, read_chunk
from margins.data.types import LazyMatrix, MatrixLike
from margins.data.validation import (
    check_labels,
    checked_labels,
    codes_of,
    n_rows_of,
    read_labels,
    validate_points,
)
from margins.estimators._typed import ClassifierMixin, available_if
from margins.estimators.algorithm import JOBS
from margins.estimators.declared import Declared
from margins.estimators.fitted import dense_coef, fitted_model, n_features_of
from margins.estimators.names import display_name
from margins.linalg.threads import n_threads_of, team_of
from margins.parameters import check
from margins.partitions.samples import named
from margins.partitions.sources import check_dimensions, check_held_by_chunks, dask_parts
from margins.training.fit import LinearModel
from margins.training.schemes import fitted_scheme

# Values of `averaging` whose model is not a weight vector.
VOTING = ("voted", "tail")
# The kernels that libsvm has, and whose formulas this package writes in ONNX.
KERNELS = ("rbf", "poly", "sigmoid", "precomputed")


def accuracy_of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the accuracy of a fitted classifier, also on samples in parts."""
    if is_in_parts(X):
        return accuracy_in_parts(estimator, X, y, sample_weight)
    labels = checked_labels(y, f"y of {type(estimator).__name__}.score")
    return float(ClassifierMixin.score(estimator, X, labels, sample_weight))


def _has_weights(classifier):
    """Return whether a fit sets `coef_`: with the linear kernel, unless hypotheses vote."""
    return classifier._is_linear and getattr(classifier, "averaging", None) not in VOTING


class PredictionsMixin(ClassifierMixin, Declared):
    """Scores, predicted classes and accuracy of a fitted classifier."""

    @overload
    def decision_function(self, X: LazyMatrix) -> Any: ...
    @overload
    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]: ...
    def decision_function(self, X: Any) -> Any:
        """Return signed scores: ``X @ coef_.T + intercept_`` or, with a kernel, the kernel expansion.

        With ``multi_class="ovo"`` of `MarginClassifier`, the score of a class is its number of votes,
        plus less than half a vote that grows with the sum of its scores in all pairs, as in SVC.

        Parameters
        ----------
        X : array-like, sparse matrix, Chunks, or dask array or data frame, (n_samples, n_features)
            The labels in Chunks are not read. A dict by column is one row. With
            ``kernel="precomputed"``: K(x, training sample), shape (n_samples, n_training_samples).

        Returns
        -------
        ndarray of float64, shape (n_samples,) for two classes, else (n_samples, n_classes)
            For a dask collection: a dask array, not computed yet.
        """
        check_is_fitted(self)
        if is_in_parts(X):
            n_classes = len(self.classes_)
            columns = n_classes if n_classes > 2 else None
            return in_parts(self, "decision_function", X, np.float64, columns)
        return fitted_scheme(self).decision(self._scores(validate_points(self, X)))

    def _scores(self, X):
        """Return the scores of validated X (ndarray of float64, shape (n_samples, n_problems))."""
        model = fitted_model(self)
        if isinstance(model, LinearModel):
            return model.scores(X)
        check("n_jobs", self._display_name("predict"), self.n_jobs, JOBS)
        with team_of(n_threads_of(self.n_jobs)):
            return model.scores(X)

    @overload
    def predict(self, X: LazyMatrix) -> Any: ...
    @overload
    def predict(self, X: MatrixLike) -> NDArray[Any]: ...
    def predict(self, X: Any) -> Any:
        """Return the class with the largest score; of two classes, the second if the score is positive.

        With ``multi_class="ovo"`` of `MarginClassifier`, it is the class with the most votes, and the
        first one of equal classes.

        Parameters
        ----------
        X : array-like, sparse matrix, Chunks, or dask array or data frame, (n_samples, n_features)
            A dict by column is one row.

        Returns
        -------
        ndarray, shape (n_samples,)
            For a dask collection: a dask array, not computed yet.
        """
        check_is_fitted(self)
        if is_in_parts(X):
            return in_parts(self, "predict", X, self.classes_.dtype)
        scores = self._scores(validate_points(self, X))
        labels: NDArray[Any] = fitted_scheme(self).predict(scores, self.classes_)
        return labels

    @property
    def n_features_(self) -> int:
        """The number of features with a weight that is not 0 in some binary problem; with `coef_`."""
        self._own_coef("n_features_")
        return int(n_features_of(self))

    @available_if(_has_weights)
    def sparsify(self) -> Self:
        """Store `coef_` as a CSR matrix, without its zeros.

        The weight of a feature is 0 if the feature is 0 in all support vectors. A CSR matrix saves
        memory only if more than half of the weights are 0. The next fit stores an array again.

        With scikit-learn 1.9 or newer, its setting `sparse_interface` decides between a csr_matrix (its
        default) and a csr_array; before, it is a csr_array.

        Returns
        -------
        self

        Raises
        ------
        AttributeError
            If the classifier has no `coef_`.
        """
        wants_matrix = get_config().get("sparse_interface") == "spmatrix"
        kind = sparse.csr_matrix if wants_matrix else sparse.csr_array
        self.coef_: Any = kind(self._own_coef("sparsify"))
        return self

    @available_if(_has_weights)
    def densify(self) -> Self:
        """Store `coef_` as an array again.

        Returns
        -------
        self
        """
        self._own_coef("densify")
        self.coef_ = dense_coef(self)
        return self

    def _own_coef(self, method):
        """Return `coef_`; raise an AttributeError if there is none."""
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            name = self._display_name(method)
            raise AttributeError(f"{name} needs a linear classifier, with coef_. Got one without.")
        return self.coef_

    def geometric_margin(self, X: MatrixLike, y: ArrayLike) -> NDArray[np.float64]:
        """Return the distance of the closest sample from the hyperplane of each binary problem.

        With ``C=inf`` and ``penalize_intercept=False``, the margin of the certificate is this distance.
        If the intercept is penalised, the certificate counts it as one more weight, and the margin of a
        fit with ``C=inf`` is smaller.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
            Labels, each one of `classes_`.

        Returns
        -------
        ndarray of float64, shape (n_problems,)
            In the units of X; negative if the closest sample is on the wrong side, 0 if `coef_` is 0,
            inf if X has no sample of a pair of classes.

        Raises
        ------
        AttributeError
            If the classifier has no `coef_`, as with a kernel or with votes.
        ValueError
            If a label is not one of `classes_`.

        Examples
        --------
        >>> import math, margins
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> setosa = margins.MarginClassifier(C=math.inf, eps=1e-4).fit(X, y == 0)
        >>> round(setosa.certificates_[0].margin, 3), setosa.geometric_margin(X, y == 0).round(3)
        (0.749, array([0.755]))
        """
        self._own_coef("geometric_margin")
        name = self._display_name("geometric_margin")
        scores = self._scores(validate_points(self, X))
        labels = read_labels(len(scores), y, None, name)
        codes = codes_of(labels.classes, self.classes_, name, "fit")[labels.codes]
        signs = fitted_scheme(self).signs(codes)
        signed = np.where(signs == 0, np.inf, signs * scores)
        lengths = np.linalg.norm(dense_coef(self), axis=1)
        margins = np.zeros(len(lengths))
        return np.divide(signed.min(axis=0), lengths, out=margins, where=lengths > 0)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of the samples that are classified correctly.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or data frame, or Chunks
        y : array-like, or dask array or series, shape (n_samples,)
            None with Chunks, which hold the labels.
        sample_weight : like y, optional

        Returns
        -------
        float
            Computed at once, also for dask collections.
        """
        check_is_fitted(self)
        return accuracy_of(self, X, y, sample_weight)


def in_parts(estimator, method, X, dtype, n_columns=None):
    """Return the result of a method for samples in parts: an array or, for dask, a dask array."""
    name, function = estimator._display_name(method), getattr(estimator, method)
    if isinstance(X, Chunks):
        return by_chunks(X, function, name)
    # A data frame may have columns of vectors or categories: its features are checked in each part.
    check_dimensions(name, X, None if hasattr(X, "columns") else estimator.n_features_in_)
    return by_blocks(X, function, dtype, n_columns)


def by_blocks(X, function, dtype, n_columns=None):
    """Apply a function of rows lazily to the parts of a dask collection, and return a dask array."""
    import dask
    import dask.array as da

    lengths = [math.nan] * X.npartitions
    if hasattr(X, "chunks"):
        X = X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})
        lengths = X.chunks[0]
    columns = () if n_columns is None else (n_columns,)

    def apply(part):
        if part.shape[0] == 0:
            return np.empty((0, *columns), dtype)
        return function(part)

    delayed = dask.delayed(apply, pure=False, traverse=False)
    parts = [
        da.from_delayed(delayed(part), (length, *columns), dtype=dtype)
        for part, length in zip(np.ravel(X.to_delayed()), lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def by_chunks(chunks, function, name):
    """Apply a function of rows to one chunk at a time, and return all results (ndarray)."""
    parts = []
    for index in range(len(chunks)):
        X, _, _ = read_chunk(chunks, index, name)
        with named(f"chunk {index} of {name}"):
            if n_rows_of(X) > 0:
                parts.append(function(X))
        del X
        chunks.release(index)
    if not parts:
        raise ValueError(f"X of {name} must hold samples. Got only empty chunks.")
    return np.concatenate(parts)


def accuracy_in_parts(estimator, X, y, sample_weight):
    """Return the accuracy of a fitted classifier on a dask collection or on chunks (float)."""
    name = estimator._display_name("score")
    if isinstance(X, Chunks):
        check_held_by_chunks(name, y, sample_weight)
        sums = [
            _correct_weight(estimator, f"chunk {index} of {name}", *read_chunk(X, index, name))
            for index in range(len(X))
        ]
    else:
        import dask

        parts = dask_parts(name, X, y, sample_weight)
        delayed = dask.delayed(_correct_weight, pure=False, traverse=False)
        sums = dask.compute(
            *[delayed(estimator, f"chunk {index} of {name}", *part) for index, part in enumerate(parts)]
        )
    correct, total = np.sum(sums, axis=0)
    if not total > 0:
        raise ValueError(f"{name} must be given a sample of positive weight. Got none.")
    return float(correct / total)


def _correct_weight(estimator, chunk, X, y, weight):
    """Return the weight of the correctly classified samples, and the weight of all samples."""
    with named(chunk):
        if n_rows_of(X) == 0:
            return 0.0, 0.0
        labels = read_labels(n_rows_of(X), y, weight, chunk)
        both = [*labels.classes.tolist(), *estimator.classes_.tolist()]
        check_labels(np.array(both, object), f"y of {chunk}, with the classes of the model,")
        is_correct = estimator.predict(X) == labels.classes[labels.codes]
    weight = np.ones(len(is_correct)) if labels.weight is None else labels.weight
    return float(weight @ is_correct), float(weight.sum())


def selected(model: Any) -> Any:
    """Return the classifier that a selection of C fitted to all samples; other models unchanged."""
    if isinstance(model, Declared) and not isinstance(model, PredictionsMixin):
        check_is_fitted(model, "classes_")
        if not hasattr(model, "estimator_"):
            raise NotFittedError(
                f"{type(model).__name__} needs a fit with refit=True to predict. Got refit=False."
            )
        return model.estimator_
    return model


def is_calibrated(model: Any) -> bool:
    """Return True for a selection of C that predicts by calibrated probabilities."""
    return isinstance(model, Declared) and hasattr(model, "_calibrated")


def check_exportable(classifier: Any, caller: str) -> None:
    """Raise an error unless a classifier is fitted, with scores that other libraries can compute."""
    if not isinstance(classifier, PredictionsMixin):
        raise TypeError(
            f"classifier of {caller} must be a classifier of margins. Got an object of type "
            f"{type(classifier).__name__}."
        )
    check_is_fitted(classifier)
    kernel = getattr(classifier, "kernel_", None)
    if hasattr(classifier, "votes_"):
        raise TypeError(
            f"classifier of {caller} must have a weight vector. Got {display_name(classifier)}, whose "
            "model is a list of hypotheses that vote. Fit it with averaging='averaged'."
        )
    if not hasattr(classifier, "coef_") and getattr(kernel, "name", None) not in KERNELS:
        raise TypeError(
            f"kernel of {caller} must be 'linear' or one of {', '.join(map(repr, KERNELS))}. "
            f"Got {kernel!r}."
        )
