"""Streams: learning from samples that are accessed once, in chunks, and not kept.

An algorithm with streams defines their rules (`online_rules`). A chunk is one epoch in the order given;
between chunks only weight vectors and averages are kept. The result is bit for bit the same for any
division into chunks.
"""

import math
import time
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets
from sklearn.utils.validation import validate_data

from margins._activeset import ActiveSets
from margins._update import Averaging, Rules, WeightVector
from margins.certificate import Certificate
from margins.data.binary_data import augmented_sqnorms, make_binary_data, rows_of
from margins.data.types import MatrixLike
from margins.data.validation import DTYPES
from margins.estimators._typed import available_if
from margins.estimators.base import restored_on_error
from margins.estimators.messages import rule_errors_named
from margins.estimators.multiclass import positive_codes
from margins.kernels import LINEAR
from margins.rules import MistakeHistory, RuleError
from margins.solvers.base import PhaseRecord
from margins.solvers.driver import Epoch


@dataclass
class Stream:
    """One binary problem of a stream, between two chunks.

    Attributes that it shares with `margins.solvers.driver.Run` have the same names.
    """

    weights: WeightVector
    averaging: Averaging | None
    theta: float
    data: object = None
    history: list = field(default_factory=list)
    n_epochs: int = 0
    n_accesses: int = 0
    seconds: float = 0.0
    converged: bool = False
    keep_dual = False

    @property
    def phases(self):
        """A stream is one phase: list of PhaseRecord."""
        return [
            PhaseRecord("rules", self.n_epochs, self.weights.n_updates, self.n_accesses, self.seconds)
        ]

    @property
    def hypothesis(self):
        if self.averaging is None:
            return self.weights
        return self.averaging.hypothesis(self.weights, self.data)

    @property
    def primal_scale(self):
        """1: functional margin 1 would need another pass over the samples."""
        return 1.0

    @property
    def certificate(self):
        """The bound |a| / S of the margin of all samples so far; no margin achieved is known."""
        weights = self.weights
        dual = 0.5 * weights.dual_sum**2 / weights.sqnorm if weights.sqnorm > 0 else 0.0
        return Certificate.from_bounds(math.inf, dual, weights.n_updates, -math.inf)

    def process(self, data, rules):
        """Process the samples of a chunk, in order."""
        self.data = data
        if isinstance(self.averaging, MistakeHistory):
            self.averaging.forget()  # the model has the mistakes of the chunk before
        sets = ActiveSets((), len(data))
        order = np.arange(len(data), dtype=np.int32)
        n_changed = sets.full_epoch(data, self.weights, rules, order, None, self.averaging)
        self.end_chunk(len(order), n_changed + sets.n_rejected)

    def end_chunk(self, n_accesses, n_mistakes):
        """Record a chunk."""
        self.n_epochs += 1
        self.n_accesses += n_accesses
        self.history.append(Epoch(self.n_epochs, self.weights.n_updates, n_mistakes, None))

    def __getstate__(self):
        return {**self.__dict__, "data": None}  # the caller's arrays


class OnlineMixin:
    """`partial_fit` for an algorithm that defines `online_rules`."""

    def online_rules(self, sqradius: float) -> Rules:
        """The rules of a stream.

        Parameters
        ----------
        sqradius : float
            R^2, the largest squared norm of a sample of the first chunk.

        Returns
        -------
        margins.rules.Rules
        """
        raise NotImplementedError(f"{type(self).__name__} must define online_rules(sqradius).")

    def online_averaging(self, weights: WeightVector) -> Averaging | None:
        """Averaging or selection over iterates, given the weight vector before the first sample."""
        return None

    # False: the parameters need more than one pass, so there is no `partial_fit`.
    _online = True

    @available_if(lambda self: self._online)
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Process the samples once, in order, continuing from the last call.

        The result does not depend on the division into chunks, unless a parameter depends on the first
        chunk. The first call, and the first after `fit`, begins a new stream.

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
        margins.rules.RuleError
            If a rule returns a number that is not finite. The model stays; the next call begins a new
            stream.
        """
        self._check_parameters()  # type: ignore[attr-defined]  # of the classifier
        self._check_stream()
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
            self.__dict__.pop("classes_", None)  # a fit's
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=DTYPES, reset=streams is None)
        check_classification_targets(y)
        _check_partial_fit_first_call(self, classes)
        codes = self._codes(y)
        samples = self._weigh(X, codes, sample_weight, all_classes=False)
        if len(samples.kept) == 0:
            raise ValueError("X of partial_fit must have a sample of positive weight. Got none.")
        rows = rows_of(samples.X)
        sqnorms = rows.sqnorms()
        if streams is None:
            self._prepare_scales(sqnorms)
        sqrho = self._sqrho
        sqnorms = augmented_sqnorms(sqnorms, sqrho, hard_margin=False)
        diag = self._loss(self._penalties(samples.weight)).diag
        positives = positive_codes(len(self.classes_))
        if streams is None:  # no error is raised from here on
            self._forget()
            self.kernel_ = LINEAR
            self._sqradius = float(np.max(sqnorms + diag))
            self._streams = streams = [self._stream(rows.n_features) for _ in positives]
        rules = self.online_rules(self._sqradius)
        for stream, code in zip(streams, positives, strict=True):
            positive = samples.codes == code
            data = make_binary_data(rows, sqnorms, positive, sqrho, diag, math.inf)
            begin = time.perf_counter()
            with rule_errors_named(self, samples.kept):
                self._process_chunk(stream, data, rules, samples)
            stream.seconds += time.perf_counter() - begin
        self._collect(streams, samples._replace(kept=samples.kept + self._n_seen))
        self._n_seen += samples.n_samples

    def _process_chunk(self, stream, data, rules, samples):
        """Process the samples of a chunk in one binary problem."""
        stream.process(data, rules)

    def _forget(self):
        super()._forget()
        self._streams = None
        self._n_seen = 0

    def _codes(self, y):
        """Indices of labels in `classes_`: ndarray of int, shape (m,)."""
        if len(self.classes_) < 2:
            raise ValueError(
                f"classes of {type(self).__name__}.partial_fit must be at least 2. "
                f"Got {self.classes_.tolist()}."
            )
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = np.flatnonzero(self.classes_[codes] != y)
        if len(unknown):
            raise ValueError(
                f"y of {type(self).__name__}.partial_fit must hold classes of the stream, "
                f"{self.classes_.tolist()}. Got {y[unknown[0]].item()!r}."
            )
        return codes

    def _stream(self, n_features):
        weights = WeightVector(n_features)
        return Stream(weights, self.online_averaging(weights), self._theta)

    def _check_stream(self):
        """Raise ValueError for parameters that streams do not allow."""
        if not (isinstance(self.kernel, str) and self.kernel == "linear"):
            raise ValueError(
                f"kernel of {type(self).__name__}.partial_fit must be 'linear': a stream keeps no "
                f"samples to evaluate a kernel on. Got {self.kernel!r}."
            )
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight of {type(self).__name__}.partial_fit must be a mapping or None: the "
                f"balance of a stream is not known before its end. Got {self.class_weight!r}."
            )
