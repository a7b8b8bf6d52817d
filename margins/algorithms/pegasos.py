"""Pegasos, the primal estimated subgradient solver of the L1-SVM."""

import math
from typing import Literal

import numpy as np

from margins.data.binary_data import of_each
from margins.estimators.base import LARGEST_C, SMALLEST_C, BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.losses import HardMargin, Hinge
from margins.parameters import BOOLEAN, Interval, OneOf, optional, parameter
from margins.rules import (
    Additive,
    ConstantDecay,
    HarmonicDecay,
    MarginError,
    Mistake,
    Rules,
    SubgradientStep,
)
from margins.solvers._mini_batch import MiniBatches
from margins.solvers.base import EpochSolver, Phase


class Pegasos(OnlineMixin, BaseMarginClassifier):
    """Pegasos: stochastic subgradient steps on the L1-SVM, on samples drawn with replacement.

    Step t draws k samples. With ``lam = 1 / (m C)`` it shrinks the weight vector by ``1 - 1 / t``, adds
    ``1 / (k lam t)`` of every drawn sample with ``a.y < 1``, and projects the result onto the ball of
    radius ``1 / sqrt(lam)``, which contains the optimum.

    The objective ``lam / 2 |a|**2 + mean hinge loss`` of one of the first T weight vectors, chosen at
    random, exceeds the optimum in expectation by at most ``(sqrt(lam) + R)**2 (1 + ln T) / (2 lam T)``,
    for any m. Steps do not end by themselves: `converged_` stays False, and the certificate states the
    duality gap of the L1-SVM that was reached.

    C = inf is the limit, a perceptron on random draws, which adds samples with ``a.y <= 0``. The size of
    a stream is unknown, so `partial_fit` requires `lam`; every sample then counts as a draw, and the
    certificate, the upper bound |a| / S, is that of the hard margin.

    **Source**: Shalev-Shwartz, Singer & Srebro (2007), Figure 1, Theorem 1.

    See Also
    --------
    Norma : Steps of constant size.
    DualCoordinateDescent : The L1-SVM with a proven accuracy.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("pegasos")(max_iter=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    C: float = parameter(
        Interval(0, math.inf, "right"), "Penalty of the hinge loss. inf: the hard margin.", default=1.0
    )
    loss: Literal["hinge"] = parameter(OneOf("hinge"), "The L1-SVM.", default="hinge")
    lam: float | None = parameter(
        optional(Interval(1e-60, 1e60)),
        "Regularisation; if given, it replaces C, as C = 1 / (m lam). None: 1 / (m C), where m C is the "
        "sum of the samples' C if they differ; `partial_fit` is not available.",
        default=None,
    )
    batch_size: int = parameter(
        Interval(1, 2**31 - 1, integer=True),
        "k, the number of samples in a step. Draws that an epoch of m draws leaves over belong to the "
        "first step of the next. Streams require 1.",
        default=1,
    )
    project: bool = parameter(BOOLEAN, "Project onto the ball after every step.", default=True)
    max_iter: int = parameter(
        Interval(1, math.inf, "left", integer=True), "Epochs of m draws each.", default=100
    )

    _keeps_dual = True

    @property
    def _online(self):
        return self.lam is not None and self.batch_size == 1

    def _prepare_scales(self, sqnorms):
        self._n_samples = len(sqnorms)

    def _penalties(self, weight):
        self._weight = weight  # of the chunk, if this is a stream
        if self.lam is None:
            return super()._penalties(weight)
        with np.errstate(over="ignore", under="ignore"):
            C = weight / (float(self.lam) * self._n_samples)
        for value in (np.min(C), np.max(C)):
            if not SMALLEST_C <= value <= LARGEST_C:
                raise ValueError(
                    f"lam of {self._display_name()} must leave every 1 / (m lam), times the weight of "
                    f"the sample, in [{SMALLEST_C:g}, {LARGEST_C:g}]. Got {value}."
                )
        return C

    # Samples are drawn independently of each other.
    _streams_partitions = False

    def _options(self, rows):
        return super()._options(rows)._replace(shuffle="draws")

    def _loss(self, C):
        return HardMargin() if self.lam is None and math.isinf(self.C) else Hinge(C)

    def phases(self, run):
        rules = self._rules(run)
        if self.batch_size > 1:
            yield Phase(solver=EpochSolver(rules, MiniBatches(self.batch_size), "rules"))
        else:
            yield Phase(rules)

    def _rules(self, run):
        if not run.loss.is_finite:
            # As lam -> 0, lam a has a limit, and a.y < 1 becomes a.y <= 0. With batch_size=1, t times
            # the limit is a plain sum, so ties are exact.
            if self.batch_size == 1:
                return Rules(Mistake(), Additive(most=1), ConstantDecay(0.0))
            return Rules(Mistake(), SubgradientStep(1.0), HarmonicDecay())
        C = of_each(run.loss.C, len(run.data))
        mean = float(np.mean(C))
        weight = None if np.all(mean == C) else C / mean
        # The mean of C_k: the optimum has |w|^2 <= sum_k C_k.
        step = SubgradientStep(1 / (mean * len(C)), self.project, weight)
        return Rules(MarginError(), step, HarmonicDecay())

    def online_rules(self, sqradius):
        weight = None if np.ndim(self._weight) == 0 else self._weight
        return Rules(MarginError(), SubgradientStep(self.lam, self.project, weight), HarmonicDecay())

    def _warn(self, runs):
        """No warning: the algorithm does not converge."""
