"""Streams and warm starts: training that continues from a model.

An algorithm with streams defines their rules (`online_rules`). A chunk is one epoch in the order given;
between chunks the state of a `Stream` is kept. The result is bit for bit the same for any division into
chunks. A fit leaves such a state, too: `partial_fit` continues from it, and so does the next `fit` with
``warm_start=True``. docs/streams.md lists what each algorithm keeps.
"""

import math
from contextlib import contextmanager
from typing import NamedTuple, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.multiclass import _check_partial_fit_first_call

from margins._update import Averaging, Rules, WeightVector
from margins.certificate import Certificate
from margins.data._binary_data import SMALLEST_SQNORM
from margins.data.binary_data import augmented_sqnorms, csr_arrays, make_binary_data, rows_of
from margins.data.types import MatrixLike
from margins.data.validation import check_labels, validate_chunk
from margins.estimators._typed import available_if
from margins.estimators.declared import Declared
from margins.estimators.exclusive import exclusive, restored_on_error
from margins.estimators.messages import rule_errors_named
from margins.estimators.multiclass import positive_codes
from margins.estimators.stream import Stream, segments_of
from margins.kernels import LINEAR
from margins.parameters import BOOLEAN, parameter
from margins.rules import RuleError


class _Resumed(NamedTuple):
    """What a fit with ``warm_start=True`` continues from: the state of the last fit or chunk."""

    streams: list
    classes: np.ndarray
    n_features: int
    n_seen: int
    digest: str | None


class OnlineMixin(Declared):
    """`partial_fit` and `warm_start` for an algorithm that defines `online_rules`."""

    warm_start: bool = parameter(
        BOOLEAN,
        "True: `fit` continues from the model of the last fit or chunk, if there is one. With dual "
        "variables or an accuracy to prove, which are about the samples, only with the same X and y.",
        default=False,
    )

    def online_rules(self, sqradius: float) -> Rules:
        """The rules of a stream.

        Parameters
        ----------
        sqradius : float
            R^2, the largest squared norm of a sample so far, bias and slack term included: of the
            stream, and of the fit that it continues.

        Returns
        -------
        margins.rules.Rules
        """
        raise NotImplementedError(f"{type(self).__name__} must define online_rules(sqradius).")

    def online_averaging(self, weights: WeightVector) -> Averaging | None:
        """Averaging or selection over iterates, given the weight vector before the first sample."""
        return None

    # What the docstring of an algorithm says of its state.
    _kept = (
        "the weight vector, the number of updates, the squared norm of the weight vector and the sum of "
        "the dual variables; the longest sample so far. Dual variables only with ``warm_start=True``."
    )
    # False: the parameters need more than one pass, so there is no `partial_fit`.
    _online = True
    # True: a fit compares or proves something about its own samples, so a warm start needs these again.
    _needs_same_samples = False
    # During a fit with a warm start: _Resumed.
    _resumed = None

    @available_if(lambda self: self._online)
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Process the samples once, in order, continuing from the last call of `partial_fit` or `fit`.

        The result is the same for any division into chunks. Where `fit` computes a unit from the
        training set, R, theta_init or intercept_scaling, a stream uses the longest sample so far for R,
        and 1 for the others; after a fit, those of the fit. A clone begins a new stream.

        Afterwards `certificates_` is an empty list, since a margin achieved would need another pass.
        `upper_bounds_` has, for each binary problem, the bound |a| / S, which no margin of all samples
        so far exceeds.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        classes : array-like, shape (n_classes,), optional
            All classes of the stream; needed in the first call, unless a fit has seen them.
        sample_weight : array-like of float, shape (n_samples,), optional
            Multiplies C of every sample. Samples of weight 0 are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data are not allowed, if `classes` are missing or change, or with a
            kernel: a stream keeps no samples to evaluate it on. The stream is then unchanged.
        RuntimeError
            If the estimator is in use by another thread.
        margins.rules.RuleError
            If a rule returns a number that is not finite. The model stays; the next call begins a new
            stream.
        KeyboardInterrupt
            On Ctrl-C. The stream is then as before the call.
        """
        self._check_parameters()  # type: ignore[attr-defined]  # of the classifier
        self._check_stream()
        with exclusive(self, "partial_fit"):
            try:
                with restored_on_error(self):
                    self._partial_fit(X, y, classes, sample_weight)
            except RuleError:
                self._streams = None  # their weight vectors may be NaN
                raise
        return self

    def _partial_fit(self, X, y, classes, sample_weight):
        streams = getattr(self, "_streams", None)
        if streams is None and classes is not None:
            self.__dict__.pop("classes_", None)  # of a stream that a rule has ended
        X, y = validate_chunk(self, X, y, is_first=streams is None)
        if classes is not None:
            check_labels(classes, f"classes of {self._display_name('partial_fit')}")
        _check_partial_fit_first_call(self, classes)
        codes = self._codes(y)
        samples = self._weigh(X, codes, sample_weight, all_classes=False)
        if len(samples.kept) == 0:
            raise ValueError("X of partial_fit must have a sample of positive weight. Got none.")
        rows = rows_of(samples.X)
        if streams is None:
            self._prepare_scales(np.ones(1))  # no chunk decides the units
        sqrho = self._sqrho
        sqnorms = augmented_sqnorms(rows.sqnorms(), sqrho, hard_margin=False)
        diag = self._loss(self._penalties(samples.weight)).diag
        positives = positive_codes(len(self.classes_))
        if streams is None:  # no error is raised from here on
            self._forget()
            self.kernel_ = LINEAR
            self._streams = streams = [self._stream(rows.n_features) for _ in positives]
        segments, self._sqradius = segments_of(sqnorms + diag, self._sqradius, self._rules_of)
        with self._model_restored_on_error(streams):
            for stream, code in zip(streams, positives, strict=True):
                data = make_binary_data(rows, sqnorms, samples.codes == code, sqrho, diag, math.inf)
                with rule_errors_named(self, samples.kept):
                    self._process_chunk(stream, data, segments, samples)
            self._collect(streams, samples._replace(kept=samples.kept + self._n_seen))
            self._n_seen += samples.n_samples
            self._digest = None

    @contextmanager
    def _model_restored_on_error(self, streams):
        """Restore what a chunk changes in place, if it is interrupted."""
        saved = [stream.saved() for stream in streams]
        try:
            yield
        except BaseException:
            for stream, state in zip(streams, saved, strict=True):
                stream.restore(state)
            raise

    def _rules_of(self, sqradius):
        """The rules of a stream; zero rows alone are no unit."""
        return self.online_rules(sqradius if sqradius >= SMALLEST_SQNORM else 1.0)

    def _process_chunk(self, stream, data, segments, samples):
        """Process the samples of a chunk in one binary problem."""
        stream.process(data, segments)

    # What a fit leaves, and what a warm start begins from.

    def _begin_fit(self):
        streams = self.__dict__.pop("_streams", None)
        if self.warm_start:
            self._check_warm_start(streams)
            if streams is not None:
                self._resumed = _Resumed(
                    streams, self.classes_, self.n_features_in_, self._n_seen, self._digest
                )

    def _run_maker(self, samples, fit):
        resumed = self._resumed
        if resumed is not None:
            self._check_resumed(samples)
        make = super()._run_maker(samples, fit)
        if resumed is None:
            return make
        same_samples = self._digest == resumed.digest

        def resume(index, seed):
            run = make(index, seed)
            resumed.streams[index].resume(run, same_samples)
            return run

        return resume

    def _check_resumed(self, samples):
        """Raise ValueError unless training may continue from the last model with these samples."""
        name, resumed = self._display_name("fit"), self._resumed
        if not np.array_equal(self.classes_, resumed.classes) or (
            samples.X.shape[1] != resumed.n_features
        ):
            raise ValueError(
                f"X and y of {name} must have the features and classes of the last fit, with "
                f"warm_start=True: {resumed.n_features} features, classes {resumed.classes.tolist()}. "
                f"Got {samples.X.shape[1]} features, classes {self.classes_.tolist()}."
            )
        self._digest = _digest_of(samples)
        if self._digest == resumed.digest:
            if self._leaves_dual and resumed.streams[0].of_fit[0].dual is None:
                raise ValueError(
                    f"The last fit of {name} must have kept dual variables, with warm_start=True and "
                    f"parameters that need them, C={self.C}. Got one with C=inf, which has kept none."
                )
            return
        if self._needs_same_samples or self._accuracy is not None or self._leaves_dual:
            raise ValueError(
                f"X and y of {name} must be those of the last fit, with warm_start=True, because "
                "its dual variables or its accuracy are about these samples. Got other samples, or "
                "another storage of them. Use partial_fit, or warm_start=False."
            )

    def _check_warm_start(self, streams):
        """Raise ValueError for parameters that a warm start, from these streams, does not allow."""
        if not (isinstance(self.kernel, str) and self.kernel == "linear"):
            raise ValueError(
                f"warm_start of {self._display_name('fit')} must be False with a kernel other than "
                f"'linear': the products with its samples are not kept. Got kernel={self.kernel!r}."
            )

    def _collect(self, runs, samples):
        if isinstance(runs[0], Stream):
            self._collect_streams(runs, samples)
            return
        resumed = self._resumed
        if resumed is not None and self._digest != resumed.digest:
            # The sum that a bound divides by has other samples in it.
            for run in runs:
                proven = run.certificate
                run.certificate = Certificate.from_bounds(
                    proven.primal, 0.0, proven.n_updates, proven.margin
                )
        super()._collect(runs, samples)
        self.__dict__.pop("_resumed", None)
        if self.kernel_ != LINEAR:
            return
        if self.warm_start and resumed is None:
            self._digest = _digest_of(samples)
        self._streams = [self._stream_after(run, samples) for run in runs]
        self._sqradius = max(run.sqradius for run in runs)
        self._n_seen = samples.n_samples + (0 if resumed is None else resumed.n_seen)

    def _collect_streams(self, streams, samples):
        """Set the fitted attributes after a chunk."""
        self._collect_model(streams, samples)
        self.certificates_ = []
        self.upper_bounds_ = [stream.upper_bound for stream in streams]
        self.learning_curve_ = [stream.history for stream in streams]
        self.phases_ = [stream.phases for stream in streams]
        self.solver_ = "rules"
        self.n_iter_ = max(stream.n_epochs for stream in streams)
        self.n_updates_ = sum(stream.weights.n_updates for stream in streams)
        self.n_accesses_ = sum(stream.n_accesses for stream in streams)
        self.converged_ = False

    def _forget(self):
        super()._forget()
        self.__dict__.pop("upper_bounds_", None)
        self._streams, self._n_seen, self._sqradius = None, 0, 0.0
        if self._resumed is None:
            self._digest = None

    def _stream(self, n_features):
        """The state of one binary problem before the first sample: Stream."""
        weights = WeightVector(n_features)
        averaging = self.online_averaging(weights)
        if averaging is not None:
            averaging = averaging.for_stream()
        return Stream(weights, averaging, self._theta)

    def _stream_after(self, run, samples):
        """The state of one binary problem after a fit: Stream."""
        averaging = None if run.averaging is None else run.averaging.for_stream()
        stream = Stream(run.weights.without_dual(), averaging, run.theta)
        stream.go_on_from(run, self.warm_start)
        return stream

    def _codes(self, y):
        """Indices of labels in `classes_`: ndarray of int, shape (m,)."""
        if len(self.classes_) < 2:
            raise ValueError(
                f"classes of {self._display_name('partial_fit')} must be at least 2. "
                f"Got {self.classes_.tolist()}."
            )
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = np.flatnonzero(self.classes_[codes] != y)
        if len(unknown):
            raise ValueError(
                f"y of {self._display_name('partial_fit')} must hold classes of the stream, "
                f"{self.classes_.tolist()}. Got {y[unknown[0]].item()!r}."
            )
        return codes

    def _check_stream(self):
        """Raise ValueError for parameters, or a fitted model, that streams do not allow."""
        if not (isinstance(self.kernel, str) and self.kernel == "linear"):
            raise ValueError(
                f"kernel of {self._display_name('partial_fit')} must be 'linear': a stream keeps no "
                f"samples to evaluate a kernel on. Got {self.kernel!r}."
            )
        fitted = getattr(self, "kernel_", LINEAR)
        if fitted != LINEAR:
            raise ValueError(
                f"kernel of {self._display_name('partial_fit')} must be 'linear', also that of the "
                f"model it goes on from. Got one fitted with kernel={fitted.label}; a clone begins a "
                "new stream."
            )
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight of {self._display_name('partial_fit')} must be a mapping or None: the "
                f"balance of a stream is not known before its end. Got {self.class_weight!r}."
            )


def _digest_of(samples):
    """A digest of samples and labels, by which the same ones are recognised: str."""
    X = samples.X
    arrays = (*csr_arrays(X), X.shape) if sparse.issparse(X) else X
    return joblib.hash((arrays, samples.codes))
