"""Callbacks for the epochs of a fit, by the protocol of scikit-learn.

A fit is a task. Its subtasks are the epochs or, with several classes, the binary problems, whose
subtasks are the epochs. For the callbacks of this package, the context of a fit has its labels in the
attribute `classes_of_fit`, and the context of an epoch has an `EpochTask` in `epoch_task`.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import _safe_indexing

from margins.solvers.history import Epoch
from margins.training.fit import Fit

# Stack frames that `with_callbacks` adds between a method and its caller, for the location of warnings.
FRAMES = 1

if TYPE_CHECKING:
    from margins.estimators._typed import CallbackSupportMixin as CallbackSupportMixin
    from margins.estimators._typed import with_callbacks as with_callbacks
else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # scikit-learn before 1.9
        FRAMES = 0

        class CallbackSupportMixin:
            """Stand-in without callbacks."""

        def with_callbacks(method):
            """Return the method unchanged: there are no callbacks."""
            return method


@dataclass
class EpochTask:
    """Epoch of one binary problem, as callbacks see it."""

    index: int  # Index of the binary problem
    # object: label of the positive class; for a pair of classes, both labels, the positive one first.
    label: Any
    which: str  # Suffix that names the binary problem in messages; empty with two classes
    is_pair: bool = False  # True: the problem separates a pair of classes
    record: Epoch | None = None  # Record of the epoch, from its end on
    # From the end of the epoch on, ``model()`` returns a classifier with the classes False and True, the
    # positive class against the rest or the other class, as if the fit had stopped here.
    model: Callable[[], Any] | None = None

    def samples(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Select the samples of the problem, and tell which of them are positive."""
        if not self.is_pair:
            return X, y == self.label
        positive, negative = self.label
        chosen = np.flatnonzero((y == positive) | (y == negative))
        return _safe_indexing(X, chosen), y[chosen] == positive


class Watch:
    """Observer that calls the callbacks for the epochs of one binary problem.

    context: context of the task whose subtasks are the epochs. data: X, y and metadata for callbacks.
    fitted: ``fitted(run)`` returns the attributes that the estimator would have if the fit stopped now.
        None: the task trains one of several classes; it ends with its run and provides no estimator.
    task: the first arguments of `EpochTask`, which describe the binary problem.
    model: ``model(run)`` returns a classifier for the binary problem alone.
    """

    def __init__(self, estimator, context, data, fitted, task, model):
        self._task, self._model, self._fitted = task, model, fitted
        self._estimator, self._context, self._data = estimator, context, data
        self._epoch = None

    def begin_epoch(self, number):
        """Call the callbacks at the start of an epoch."""
        self._epoch = self._context.subcontext(task_name=f"epoch {number}")
        self._epoch.epoch_task = EpochTask(*self._task)
        self._epoch.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end_epoch(self, run):
        """Call the callbacks at the end of an epoch; return whether one of them asks to stop."""
        fitted, task = self._fitted, self._epoch.epoch_task
        task.record, task.model = run.history[-1], lambda: self._model(run)
        return self._epoch.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=None if fitted is None else lambda: fitted(run),
            **self._data,
        )

    def end(self):
        """Call the callbacks at the end of a run."""
        if self._fitted is None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=None, **self._data
            )


class FitTask:
    """Task that calls the callbacks of an estimator for one fit, of X, y and sample_weight."""

    def __init__(self, estimator, X, y, sample_weight, training_set, specification, continuation):
        self._estimator, self._continuation = estimator, continuation
        self._training_set, self._specification = training_set, specification
        self._scheme, classes = training_set.scheme, training_set.classes
        self._labels, self._names = self._scheme.labels(classes), self._scheme.names(classes)
        n_problems = self._scheme.n_problems
        self._context = estimator._init_callback_context(
            max_subtasks=None if n_problems == 1 else n_problems, sequential_subtasks=n_problems == 1
        )
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": metadata}
        self._context.classes_of_fit = classes
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def watch(self, index):
        """Return the observer of binary problem `index` (Watch)."""
        name, context, fitted = self._names[index], self._context, self._fitted
        if name:
            context = context.subcontext(task_name=name, task_id=index, max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            fitted = None
        task = (index, self._labels[index], f", {name}" if name else "", self._scheme.has_pairs)

        def model(run):
            of_problem, positive = self._scheme.binary(self._training_set, index)
            return self._model(run, of_problem.binary(positive, np.array([False, True])))

        return Watch(self._estimator, context, self._data, fitted, task, model)

    def end(self):
        """Call the callbacks at the end of the fit."""
        self._context.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes={}, **self._data
        )

    def _fitted(self, run):
        return vars(self._model(run, self._training_set))

    def _model(self, run, training_set):
        """Return an estimator for one binary problem, as if the fit had stopped."""
        run = copy.copy(run)  # callbacks must not change the run, nor the run their model
        run.weights, run.averaging = copy.deepcopy((run.weights, run.averaging))
        run.history, run.phases = list(run.history), list(run.phases)
        run.leave_gram()
        run.certify()
        estimator = copy.copy(self._estimator)
        outcome, n_seen = run.outcome(), 0
        if self._continuation is not None:
            outcome, n_seen = self._continuation.proven(outcome), self._continuation.n_seen
        fit = Fit(training_set, self._specification, [outcome], self._continuation, n_seen)
        estimator.set_fitted(fit)
        return estimator
