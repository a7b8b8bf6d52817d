"""Streams and warm starts: training that continues from a model.

A chunk is one epoch, in the order of its rows; a `Stream` keeps the state between chunks. The result is
bit for bit the same for any division into chunks. A fit leaves such a state, too.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from margins._update import Averaging, Rules, WeightVector
from margins.data._binary_data import SMALLEST_SQNORM
from margins.data.binary_data import rows_of
from margins.data.types import MatrixLike
from margins.data.validation import validate_chunk, weighted_samples
from margins.estimators._typed import available_if
from margins.estimators.base import exclusive, restored_on_error
from margins.estimators.continuation import StreamContinuation, digest_of
from margins.estimators.declared import Declared
from margins.estimators.fitted import sample_attributes
from margins.estimators.messages import name_rule_error
from margins.estimators.names import MessageName
from margins.estimators.stream import Learned, LearningState, SeenWeights, Stream, segments_of
from margins.kernels import LINEAR
from margins.linalg.memory import check_model_fits
from margins.parameters import BOOLEAN, COUNT, NON_NEGATIVE, optional, parameter
from margins.rules import RuleError
from margins.solvers.base import Phase
from margins.solvers.driver import Run
from margins.solvers.specification import Patience, Specification
from margins.training.fit import Fit
from margins.training.training_set import TrainingSet


class OnlineMixin(Declared):
    """`partial_fit` and `warm_start` for an algorithm that defines `online_rules`."""

    warm_start: bool = parameter(
        BOOLEAN,
        "True: `fit` continues from the model of the last fit or chunk, if there is one. X and y must "
        "then be the same if the fit keeps dual variables or proves an accuracy: both are about these "
        "samples.",
        default=False,
    )

    def online_rules(self, sqradius: float) -> Rules:
        """Return the rules of a stream.

        `sqradius` is R^2, the largest squared norm of a sample so far, bias and slack term included, in
        the stream and in the fit that it continues.
        """
        raise NotImplementedError(f"{type(self).__name__} must define online_rules(sqradius).")

    def phases(self, run: Run) -> Iterator[Phase]:
        """Yield the phases of a fit; by default, the rules of a stream, epoch after epoch."""
        yield Phase(self.online_rules(run.sqradius))

    def online_averaging(self, weights: WeightVector) -> Averaging | None:
        """Return the averaging of iterates, or None, for the weight vector before the first sample."""
        return None

    def chunk_rules(self, sqradius: float, specification: Specification, weight: Any) -> Rules:
        """Return the rules of a chunk; by default, the result of `online_rules`.

        `specification` is that of the stream, with its units; `weight` has the weights of the samples of
        the chunk (float, or ndarray of float64, shape (m,)).
        """
        return self.online_rules(sqradius)

    # Description of the state between chunks, for the docstring of an algorithm.
    STREAM_STATE = (
        "the weight vector, the number of updates, the squared norm of the weight vector and the sum of "
        "the dual variables; the norm of the longest sample so far. Dual variables are kept only with "
        "``warm_start=True``."
    )
    # False: the parameters need more than one pass, so there is no `partial_fit`.
    is_online = True

    @available_if(lambda self: self.is_online)
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Process the samples once, in order, continuing from the last call of `partial_fit` or `fit`.

        The result is the same for any division into chunks. `fit` computes some units (R, theta_init,
        intercept_scaling) from the training set. A stream uses the norm of the longest sample so far as
        R, and 1 for the others; after a fit, it uses the units of the fit. A clone starts a new stream.

        Afterwards `certificates_` is an empty list: computing the margin achieved would need another
        pass. `upper_bounds_` has the bound |a| / S of each binary problem; no margin of all samples so
        far exceeds it.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        classes : array-like, shape (n_classes,), optional
            All classes of the stream; required in the first call, unless a fit has seen them.
        sample_weight : array-like of float, shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data are not allowed, if `classes` are missing or change, with a kernel
            (a stream keeps no samples to evaluate it on), or if the model was loaded from a skops file,
            which keeps no streams. The stream is unchanged.
        RuntimeError
            If the estimator is in use by another thread.
        margins.rules.RuleError
            If a rule returns a number that is not finite. The model is unchanged; the next call starts a
            new stream.
        KeyboardInterrupt
            On Ctrl-C. The stream is then in the same state as before the call.
        """
        self.check_parameters()  # type: ignore[attr-defined]  # of the classifier
        self._check_stream()
        with exclusive(self, "partial_fit"):
            try:
                with restored_on_error(self):
                    self._partial_fit(X, y, classes, sample_weight)
            except RuleError:
                self._state = None  # its weight vectors may be NaN
                raise
        return self

    def _partial_fit(self, X, y, classes, sample_weight):
        """Process a chunk, and set the fitted attributes."""
        state, name = getattr(self, "_state", None), MessageName(self, "partial_fit")
        is_first = state is None
        state = LearningState([]) if is_first else state
        valid = validate_chunk(self, X, y, classes, is_first=is_first, name=name)
        samples = self._weighted(valid, sample_weight, all_classes=False)
        is_blank = len(samples.kept) == 0
        if is_blank:  # keep the shape and the labels of its samples, but do not process them
            samples = weighted_samples(name, valid, None, None, all_classes=False)
        means, seen = state.weights.followed_by(samples.weight, 0 if is_blank else len(samples.kept))
        if math.isinf(seen.total):
            raise ValueError(f"The sum of all weights that {name} has seen must be finite. Got inf.")
        training_set = TrainingSet(samples, LINEAR, rows_of, mean_weight=means)
        scheme = training_set.scheme
        if is_first:
            check_model_fits(name, scheme.n_problems, samples.n_features)
        # The units must not depend on the chunk.
        specification = self.specification(np.ones(1), continues=not is_first).for_stream()
        problems = [training_set.problem(code, specification) for code in scheme.positive]
        if is_first:
            streams = [self._new_stream(specification, samples.n_features) for _ in problems]
        else:
            streams = [problem.as_stream(self._stream_type) for problem in state.problems]
        segments, sqradius = [], state.sqradius
        if not is_blank:
            segments, sqradius = segments_of(
                training_set.augmented_sqnorms(specification) + problems[0].loss.diag,
                sqradius,
                # Zero rows alone cannot serve as a unit.
                lambda sqradius: self.chunk_rules(
                    sqradius if sqradius >= SMALLEST_SQNORM else 1.0, specification, samples.weight
                ),
            )
        in_stream = samples._replace(kept=samples.kept + state.n_seen)
        with self._model_restored_on_error(streams):
            for stream, problem in zip(streams, problems, strict=True):
                try:
                    self._process_chunk(stream, problem.data, segments, in_stream)
                except RuleError as error:
                    name_rule_error(error, self, samples.kept)
                    raise
            training_set = training_set.with_samples(in_stream)
            outcomes = [stream.outcome(specification) for stream in streams]
            fit = Fit(training_set, specification, outcomes, n_seen=state.n_seen)
            state = LearningState(streams, state.n_seen + samples.n_samples, sqradius, seen)
            self._set_attributes({**self._attributes_of_streams(fit, state), "_state": state})

    @contextmanager
    def _model_restored_on_error(self, streams):
        """Restore the state that a chunk changes in place if the chunk is interrupted."""
        saved = [stream.saved() for stream in streams]
        try:
            yield
        except BaseException:
            for stream, state in zip(streams, saved, strict=True):
                stream.restore(state)
            raise

    def _process_chunk(self, stream, data, segments, samples):
        """Process the samples of a chunk in one binary problem."""
        stream.process(data, segments)

    def _attributes_of_streams(self, fit, state):
        """Return the fitted attributes after a chunk (dict)."""
        outcomes = fit.outcomes
        return {
            **sample_attributes(fit),
            **self._model_attributes(fit),
            "certificates_": [],
            "upper_bounds_": [outcome.upper_bound for outcome in outcomes],
            "learning_curve_": [outcome.history for outcome in outcomes],
            "phases_": [outcome.phases for outcome in outcomes],
            "solver_": "rules",
            "n_iter_": max(outcome.n_epochs for outcome in outcomes),
            "n_updates_": sum(outcome.weights.n_updates for outcome in outcomes),
            "n_accesses_": sum(outcome.n_accesses for outcome in outcomes),
            "converged_": False,
        }

    # The state that a fit leaves, and that a warm start continues from.

    def _check_state_is_kept(self, method, advice):
        """Raise a ValueError for a model without the state that training continues from."""
        if hasattr(self, "classes_") and not hasattr(self, "_state"):
            raise ValueError(
                f"The model of {self._display_name(method)} must have the state of its stream to "
                f"continue. Got a model without it: skops files omit it, pickles of this version keep "
                f"it. {advice}."
            )

    def _continuation(self):
        self._check_state_is_kept("fit", "With warm_start=False, a fit starts from zero")
        state = getattr(self, "_state", None)
        self._check_warm_start(state)
        if state is None:
            return None
        return StreamContinuation(state, self._stream_type, self.classes_, self.n_features_in_)

    def _check_warm_start(self, state):
        """Raise a ValueError if a warm start from this state does not allow the parameters."""
        if not self._is_linear:
            raise ValueError(
                f"warm_start of {self._display_name('fit')} must be False with a kernel other than "
                f"'linear', whose products with the samples are not kept. Got kernel={self.kernel!r}."
            )

    def _attributes_of(self, fit):
        continuation, samples = fit.continuation, fit.training_set.samples
        attributes = super()._attributes_of(fit)
        if fit.training_set.is_kernel:
            return {**attributes, "_state": None}
        digest = None if continuation is None else continuation.digest
        if self.warm_start and continuation is None:
            digest = digest_of(samples)
        state = LearningState(
            [Learned.of(outcome, keep_dual=self.warm_start) for outcome in fit.outcomes],
            samples.n_samples + (0 if continuation is None else continuation.n_seen),
            max(outcome.data.max_sqnorm for outcome in fit.outcomes),
            SeenWeights().followed_by(samples.weight, len(samples.kept))[1],
            digest,
        )
        return {**attributes, "_state": state}

    _stream_type = Stream

    def _new_stream(self, specification, n_features):
        """Return the state of one binary problem before the first sample (Stream)."""
        weights = WeightVector(n_features)
        averaging = (specification.averaging or self.online_averaging)(weights)
        if averaging is not None:
            averaging = averaging.for_stream()
        return Stream(weights, averaging, specification.theta)

    def _check_stream(self):
        """Raise a ValueError if streams do not allow the parameters or the fitted model."""
        if not self._is_linear:
            raise ValueError(
                f"kernel of {self._display_name('partial_fit')} must be 'linear': a stream keeps no "
                f"samples to evaluate a kernel on. Got {self.kernel!r}."
            )
        fitted = getattr(self, "kernel_", LINEAR)
        if fitted != LINEAR:
            raise ValueError(
                f"kernel of {self._display_name('partial_fit')} must be 'linear', also in the model "
                f"that it continues from. Got a model fitted with kernel={fitted.label}; a clone "
                "starts a new stream."
            )
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight of {self._display_name('partial_fit')} must be a mapping or None: class "
                f"counts are unknown before a stream ends. Got {self.class_weight!r}."
            )
        self._check_state_is_kept("partial_fit", "A clone starts a new stream")


class PatienceMixin(Declared):
    """`tol` and `n_iter_no_change`, as in scikit-learn, for algorithms that prove no accuracy."""

    tol: float | None = parameter(
        optional(NON_NEGATIVE),
        "A problem ends after `n_iter_no_change` successive epochs whose loss is not below the smallest "
        "loss so far by at least `tol`; `converged_` is then True. The loss is the mean loss of the "
        "training samples after an epoch, which takes one more pass. Streams have no epochs. None: no "
        "loss is computed.",
        default=None,
    )
    n_iter_no_change: int = parameter(
        COUNT, "Number of epochs without progress that end a fit, if `tol` is set.", default=5
    )

    # The loss of a sample is max(0, LOSS_MARGIN - l (score)).
    LOSS_MARGIN: ClassVar[float]

    def specification(self, sqnorms, continues=False):
        specification = super().specification(sqnorms, continues)
        if self.tol is None:
            return specification
        patience = Patience(float(self.tol), self.n_iter_no_change, self.LOSS_MARGIN)
        return specification._replace(patience=patience)

    def why_not_in_partitions(self):
        if self.tol is not None:
            return "tol", "None", self.tol
        return super().why_not_in_partitions()
