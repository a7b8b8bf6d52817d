"""The specification of a fit: one record that all binary problems of the fit share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from margins.losses import LOSSES, HardMargin, Loss
from margins.losses.checks import checked

# Between these limits, adding 1 / (2 C) to a squared norm in double range keeps its precision.
SMALLEST_C = 1e-100
LARGEST_C = 1e100


class Patience(NamedTuple):
    """Stopping rule of a fit that proves no accuracy: it ends when the loss no longer falls."""

    # Progress means that the mean loss falls below its smallest value so far by at least `tol`.
    tol: float
    n_iter_no_change: int  # Number of successive epochs without progress that end the fit
    # Margin in the loss ``max(0, margin - l (score))``: 0 for the perceptron, 1 for the hinge loss.
    margin: float


class Specification(NamedTuple):
    """Description of a fit: the problem, when the fit ends, and what it keeps.

    An estimator makes it from its parameters and the squared norms of the samples
    (`margins.estimators.base.BaseMarginClassifier.specification`).

    Attributes
    ----------
    name : object
        ``str(name)`` names the estimator in messages.
    C : float
        Penalty of a sample of weight 1; inf: the hard margin.
    loss : {"squared_hinge", "hinge"} or subclass of margins.losses.Loss
    sq_intercept_scaling : float
        Square of the constant feature of the intercept; 0 without a penalised intercept.
    has_free_intercept : bool
        True: the intercept is not penalised.
    allows_zero_rows : bool
        True: zero rows are allowed, even without intercept and slack terms.
    offset_ratio : float
        The lambda-trick: the product of a sample that has been added is increased by this multiple of
        K(x, x).
    max_dual : float
        Upper bound of the dual variables in rules.
    checks_lengths : bool
        False: with a hard margin, rows may have any length, because more samples follow.
    theta : float
        Threshold before the first update, in units of updates: the score of a sample is
        ``l_k (a.y_k) - theta``, and the rules must contain the same threshold.
    units : mapping of str to float
        Fitted attributes with the units of thresholds, from the training set.
    eps : float or None
        Accuracy to prove; None: only a full epoch without changes ends the fit.
    required_improvement : float
        Share of the possible improvement over the best constant classifier that must be proven, too.
    needs_clean_pass : bool
        True: a proof ends the fit only after a full epoch without updates.
    max_iter : int
        Maximum number of full epochs.
    max_time : float or None
        Time limit for all binary problems, in seconds; None: no limit.
    warns : bool
        True: a fit that does not converge warns.
    keep_dual : bool
        True: keep the dual variables. With a kernel they are always kept.
    model_scale : float or None
        Factor from the hypothesis to the model; None: the factor with the smallest objective.
    shuffle : {"epochs", "once", "never", "draws"}
        When to permute samples: see `margins.data.permutations.Orders`.
    held_out : float
        Share of the samples, from the start of the first order, that are never accessed.
    averaging : callable or None
        ``averaging(weights)`` returns the averaging over the iterates of the whole run.
    new_weights : callable or None
        ``new_weights(data)`` returns the state to train instead of a `WeightVector`.
    weights : {"C", "C or updates", "updates", "relative updates"}
        What the weight of a sample multiplies. "C": its C (nothing if C=inf); "updates": its C, what an
        update adds, and its vote; "C or updates": "updates" if C=inf, otherwise "C". "relative updates":
        as "updates", but there it counts relative to the mean weight, because a rule has a threshold or
        another length in units of updates.
    in_stream : bool
        True: more samples may follow.
    patience : Patience or None
        When a fit without progress ends; None: never.
    needs_same_samples : bool
        True: a warm start needs the samples of the last fit.
    report : callable or None
        Called with a line of progress after every full epoch.
    regulariser : margins.regularisers.Regulariser or None
        None: |w|^2 / 2.
    """

    name: object = "the fit"
    C: float = math.inf
    loss: str | type[Loss] = "squared_hinge"
    sq_intercept_scaling: float = 0.0
    has_free_intercept: bool = False
    allows_zero_rows: bool = False
    offset_ratio: float = 0.0
    max_dual: float = math.inf
    checks_lengths: bool = True
    theta: float = 0.0
    units: Mapping[str, float] = {}
    eps: float | None = None
    required_improvement: float = 0.0
    needs_clean_pass: bool = False
    max_iter: int = 1000
    max_time: float | None = None
    warns: bool = True
    keep_dual: bool = False
    model_scale: float | None = None
    shuffle: str = "epochs"
    held_out: float = 0.0
    averaging: Callable[[Any], Any] | None = None
    new_weights: Callable[[Any], Any] | None = None
    weights: str = "C"
    in_stream: bool = False
    patience: Patience | None = None
    needs_same_samples: bool = False
    report: Callable[[str], object] | None = None
    regulariser: Any = None

    @property
    def is_hard_margin(self) -> bool:
        """True if there are no slack terms."""
        return math.isinf(self.C)

    @property
    def weighs_updates(self) -> bool:
        """True if the weight of a sample multiplies its updates and its vote."""
        return self.weights in ("updates", "relative updates") or (
            self.weights == "C or updates" and self.is_hard_margin
        )

    def is_proven(self, loss: Loss, certificate: Any) -> bool:
        """Return whether a certificate proves the accuracy and the improvement."""
        has_improvement = certificate.improvement >= self.required_improvement
        return has_improvement and loss.is_proven(certificate, self.eps)

    def for_stream(self) -> Specification:
        """Return the specification for chunks, which keeps no dual variables: samples are read once."""
        return self._replace(
            keep_dual=False, offset_ratio=0.0, max_dual=math.inf, checks_lengths=False, in_stream=True
        )

    def penalties(self, weight: Any) -> Any:
        """Return C of every sample: a float, or an array if they differ.

        Parameters
        ----------
        weight : float or ndarray of float64, shape (m,)
            Positive sample weights.

        Raises
        ------
        ValueError
            If C times a weight is too small or too large for double arithmetic, or if weights differ but
            affect neither C nor updates.
        """
        if isinstance(weight, float):
            C = smallest = largest = float(self.C) * weight
        else:
            with np.errstate(over="ignore"):
                C = float(self.C) * weight
            smallest, largest = C.min(), C.max()
            # In a stream, other weights may follow, so all must be 1.
            differ = (weight != 1).any() if self.in_stream else np.ptp(weight) > 0
            if self.is_hard_margin and not self.weighs_updates and differ:
                raise ValueError(
                    f"sample_weight and class_weight of {self.name} must leave all samples the same "
                    f"weight{', 1 in a stream,' if self.in_stream else ''} with C=inf: a hard margin "
                    f"does not depend on weights. Got weights from {weight.min():g} to "
                    f"{weight.max():g}. Use a finite C, which they multiply."
                )
        if not (self.is_hard_margin or (smallest >= SMALLEST_C and largest <= LARGEST_C)):
            raise ValueError(
                f"C of {self.name}, times the weight of a sample, must be in "
                f"[{SMALLEST_C:g}, {LARGEST_C:g}], or C must be inf. "
                f"Got {largest if smallest >= SMALLEST_C else smallest}."
            )
        return C

    def loss_of(self, penalties: Any) -> Loss:
        """Return the loss with these penalties."""
        if self.is_hard_margin:
            return HardMargin()
        if isinstance(self.loss, str):
            return LOSSES[self.loss](penalties)
        return checked(self.loss(penalties), penalties)
