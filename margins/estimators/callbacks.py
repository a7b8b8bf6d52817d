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
    """Observer that calls the callbacks for the epochs of one binary problem of a fit (FitTask).

    With several classes, the problem is a task, too: it ends with its run and provides no estimator.
    """

    def __init__(self, fit, index):
        name, context = fit.names[index], fit.context
        self._task = (index, fit.labels[index], f", {name}" if name else "", fit.scheme.has_pairs)
        self._is_task, self._fit, self._index, self._epoch = bool(name), fit, index, None
        if name:
            context = context.subcontext(task_name=name, task_id=index, max_subtasks=None)
            fit.call_begin(context)
        self._context = context

    def begin_epoch(self, number):
        """Call the callbacks at the start of an epoch."""
        self._epoch = self._context.subcontext(task_name=f"epoch {number}")
        self._epoch.epoch_task = EpochTask(*self._task)
        self._fit.call_begin(self._epoch)

    def end_epoch(self, run):
        """Call the callbacks at the end of an epoch; return whether one of them asks to stop."""
        fit, task = self._fit, self._epoch.epoch_task
        task.record, task.model = run.history[-1], lambda: fit.binary_model(run, self._index)
        return fit.call_end(self._epoch, None if self._is_task else lambda: fit.fitted(run))

    def end(self):
        """Call the callbacks at the end of a run."""
        if self._is_task:
            self._fit.call_end(self._context, None)


class FitTask:
    """Task that calls the callbacks of an estimator for one fit, of X, y and sample_weight."""

    def __init__(self, estimator, X, y, sample_weight, training_set, specification, continuation):
        self._estimator, self._continuation = estimator, continuation
        self._training_set, self._specification = training_set, specification
        self.scheme, classes = training_set.scheme, training_set.classes
        self.labels, self.names = self.scheme.labels(classes), self.scheme.names(classes)
        n_problems = self.scheme.n_problems
        self.context = estimator._init_callback_context(
            max_subtasks=None if n_problems == 1 else n_problems, sequential_subtasks=n_problems == 1
        )
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.context.classes_of_fit = classes
        self.call_begin(self.context)

    def call_begin(self, context):
        context.call_on_fit_task_begin(**self._data)

    def call_end(self, context, attributes):
        return context.call_on_fit_task_end(reconstruction_attributes=attributes, **self._data)

    def watch(self, index):
        """Return the observer of binary problem `index` (Watch)."""
        return Watch(self, index)

    def end(self):
        """Call the callbacks at the end of the fit."""
        self.call_end(self.context, {})

    def binary_model(self, run, index):
        of_problem, positive = self.scheme.binary(self._training_set, index)
        return self._model(run, of_problem.binary(positive, np.array([False, True])))

    def fitted(self, run):
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


def has_callbacks(estimator: Any) -> bool:
    """Return whether callbacks are set on an estimator; one that contains it has set its own, too."""
    return bool(getattr(estimator, "_skl_callbacks", None))
