"""The classifier that every algorithm inherits from, with scikit-learn's contract."""

import os
import threading
from contextlib import contextmanager
from typing import Any, Self, overload

from numpy.typing import ArrayLike

from margins.data.chunks import Chunks
from margins.data.types import LazyMatrix, MatrixLike
from margins.data.validation import Samples, is_plain, validate_samples, weighted_samples
from margins.estimators._typed import BaseEstimator
from margins.estimators.algorithm import Algorithm, PlannedAlgorithm
from margins.estimators.callbacks import (
    FRAMES,
    CallbackSupportMixin,
    FitTask,
    has_callbacks,
    with_callbacks,
)
from margins.estimators.fitted import (
    FITTED,
    StoredMixin,
    model_attributes,
    run_attributes,
    sample_attributes,
)
from margins.estimators.messages import name_rule_error, not_converged, warn_of
from margins.estimators.names import MessageName
from margins.estimators.notebook import fitted_block
from margins.estimators.partitioned import is_streamed, read_samples, why_not_streamed
from margins.estimators.predictions import PredictionsMixin
from margins.kernels import LINEAR
from margins.linalg.threads import n_threads_of, team_of
from margins.partitions.run import StreamedRun
from margins.partitions.streamed import StreamedMatrix
from margins.rules.errors import RuleError
from margins.solvers.driver import Run
from margins.training.fit import Fit, Training
from margins.training.training_set import TrainingSet

# What authors of algorithms define or call, and tab completion does not show; docs/extending.md.
HOOKS = {
    *("centre", "check_parameters", "chunk_rules", "describe", "falling_rate", "first_theta"),
    *("is_light", "is_online", "new_cache", "new_state", "online_averaging", "online_rules", "phases"),
    *("plan", "prefers_cached", "regulariser", "set_fitted", "specification", "thresholds"),
    *("training_set", "training_set_of", "units_of", "update_rule", "why_not_in_partitions"),
}


class BaseMarginClassifier(
    StoredMixin, Algorithm, CallbackSupportMixin, PredictionsMixin, BaseEstimator
):
    """Base class of all classifiers: by default, a fit ends after a full epoch without updates.

    A subclass declares its parameters and defines `phases`. Its `specification` has everything else that
    a fit needs, except the samples.
    """

    @overload
    def fit(self, X: Chunks | LazyMatrix, y: Any = None, sample_weight: Any = None) -> Self: ...
    @overload
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train the classifier and compute its certificates.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or data frame, or Chunks, (n_samples, n_features)
            float32, float64 and CSR are used without a copy, in any memory layout; anything else is
            converted. `margins.data.chunks.Chunks` and dask collections are read one partition at a
            time: docs/larger_than_memory.md lists the algorithms that accept them.
        y : array-like, or dask array or series, shape (n_samples,)
            Labels of any type, of at least two classes. None only with Chunks, which hold the labels.
        sample_weight : like y, optional
            Multiplies C of each sample and, if `WEIGHTS_MULTIPLY` says so, what its updates add. Samples
            of weight 0 are left out; a class that has no other samples is never predicted.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data are not allowed, or if the weights differ but have no effect, as
            with a hard margin (C=inf). It is raised before training or, with chunks, when the chunk at
            fault is first read.
        RuntimeError
            If the estimator is in use by another thread.
        margins.rules.RuleError
            If a rule returns a number that is not finite. This ValueError names the rule, the algorithm
            and the sample. The estimator is unchanged.

        Warns
        -----
        ConvergenceWarning
            If the fit ends before its accuracy is proven. It states the certificate reached.
        """
        self.check_parameters()
        with exclusive(self, "fit"), restored_on_error(self):
            # Only here, a fit asks where its samples are.
            train = self._fit_in_memory if is_plain(X) else self._fit_anywhere
            fit = train(X, y, sample_weight)
            self.set_fitted(fit)
            if fit.task is not None:
                fit.task.end()
            if fit.specification.warns and not self.converged_:
                warn_of(not_converged(self, fit), 2 + FRAMES)
        return self

    def _fit_anywhere(self, X, y, sample_weight):
        """Return the finished fit (Fit) of samples that may be in partitions, without changing self."""
        if not is_streamed(self, X):
            return self._fit_in_memory(X, y, sample_weight)
        samples = read_samples(self, X, y, sample_weight)
        self._check_size(samples)
        training_set = TrainingSet(samples, LINEAR, StreamedMatrix.rows, is_in_parts=True)
        n_threads = n_threads_of(self.n_jobs)
        return self._trained(training_set, n_threads, X, y, sample_weight, run_type=StreamedRun)

    def _fit_in_memory(self, X, y, sample_weight):
        """Return the finished fit (Fit) of samples in memory, without changing the estimator."""
        continuation = self._continuation() if getattr(self, "warm_start", False) else None
        n_threads = n_threads_of(self.n_jobs)
        with team_of(n_threads):
            training_set = self.training_set(X, y, sample_weight)
        return self._trained(training_set, n_threads, X, y, sample_weight, continuation)

    def _trained(self, training_set, n_threads, X, y, sample_weight, continuation=None, run_type=Run):
        """Return the finished fit of a training set, made of these samples (Fit)."""
        specification = self.specification(training_set.sqnorms, continuation is not None)
        if continuation is not None:
            continuation.check(MessageName(self, "fit"), training_set, specification)
        task = None
        if has_callbacks(self):
            task = FitTask(self, X, y, sample_weight, training_set, specification, continuation)
        training = Training(
            training_set,
            specification,
            n_threads,
            run_type=run_type,
            watch=None if task is None else task.watch,
            continuation=continuation,
            prefers_cached=self.prefers_cached,
        )
        base, cls = BaseMarginClassifier, type(self)
        # Hooks of a subclass may read the weights of outcomes.
        has_hooks = cls.set_fitted is not base.set_fitted or cls.describe is not base.describe
        if isinstance(self, PlannedAlgorithm) and not has_hooks:
            training.store_model()
        try:
            outcomes = self._train(training)
        except RuleError as error:
            name_rule_error(error, self, training_set.samples.kept)
            raise
        n_seen = 0
        if continuation is not None:
            outcomes, n_seen = list(map(continuation.proven, outcomes)), continuation.n_seen
        return Fit(training_set, specification, outcomes, continuation, n_seen, task, training.model)

    def training_set(self, X: Any, y: Any, sample_weight: Any = None) -> TrainingSet:
        """Return the samples of `fit`, validated and weighted, with the rows that solvers read."""
        valid = validate_samples(self, X, y, MessageName(self, "fit"))
        return self.training_set_of(self._weighted(valid, sample_weight))

    def _weighted(self, valid, sample_weight, all_classes=True) -> Samples:
        """Return the samples of positive weight; `all_classes`: require at least two classes."""
        name, pairwise = MessageName(self, "fit" if all_classes else "partial_fit"), self._is_precomputed
        return weighted_samples(
            name, valid, sample_weight, self.class_weight, pairwise=pairwise, all_classes=all_classes
        )

    def _continuation(self):
        """Return the continuation of the last fit, or None; see `margins.estimators.continuation`."""
        return None

    def _attributes_of(self, fit):
        """Return the fitted attributes after a fit (dict)."""
        model = self._model_attributes(fit)
        return {**sample_attributes(fit), **model, **run_attributes(fit)}

    def _model_attributes(self, fit):
        """Return the attributes that predictions use (dict)."""
        return model_attributes(fit)

    def set_fitted(self, fit: Fit) -> None:
        """Replace the fitted attributes with the attributes of a fit."""
        self._set_attributes(self._attributes_of(fit))

    def _set_attributes(self, attributes):
        fitted = vars(self)
        fitted.update(attributes)  # in one step: another thread may be predicting
        for name in FITTED:
            if name not in attributes:
                fitted.pop(name, None)

    def why_not_in_partitions(self) -> tuple[str, str, Any] | None:
        """Return why partitions are not accepted, as (parameter, allowed, got), or None if they are."""
        return why_not_streamed(self)

    def __dir__(self):
        """Return what users need: no hooks of algorithms, and no class attributes of theirs."""
        return [name for name in super().__dir__() if name not in HOOKS and not name.isupper()]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    def to_sklearn(self) -> Any:
        """Return this classifier as a fitted LinearSVC or SVC of scikit-learn, with the same scores.

        Returns
        -------
        LinearSVC, SVC, OneVsRestClassifier or OneVsOneClassifier
            See `margins.interchange.to_sklearn`.
        """
        from margins.estimators.svms import to_sklearn  # it imports sklearn.svm

        return to_sklearn(self)

    # Notebooks call either method; in some versions of scikit-learn the second calls the first.

    def _repr_html_inner(self):
        return super()._repr_html_inner() + fitted_block(self)

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and "margins-certificates" not in bundle["text/html"]:
            bundle["text/html"] += fitted_block(self)
        return bundle


# Compiled loops release the GIL and write to the state of a fit, so two loops in one estimator would
# write to the same memory. The guard holds no lock: nothing blocks, and a forked process inherits none.
# The call that trains an estimator, as (thread, object of the call), by the identity of the estimator.
_OWNERS: dict[int, tuple[int, object]] = {}

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OWNERS.clear)  # the child has no other threads


@contextmanager
def exclusive(estimator, method):
    """Mark an estimator as in use while the body runs."""
    call = threading.get_ident(), object()
    owner = _OWNERS.setdefault(id(estimator), call)  # atomic
    if owner is not call:
        user = "a call that has not ended" if owner[0] == call[0] else "another thread"
        raise RuntimeError(
            f"{type(estimator).__name__}.{method} must be called by one thread at a time: this "
            f"estimator is in use by {user}."
        )
    try:
        yield
    finally:
        _OWNERS.pop(id(estimator), None)


@contextmanager
def restored_on_error(estimator):
    """Restore the attributes of an estimator if the body raises an error."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
