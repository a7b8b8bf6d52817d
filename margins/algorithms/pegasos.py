"""Pegasos, the primal estimated subgradient solver of the L1-SVM."""

import math
from typing import Literal

import numpy as np

from margins.data.binary_problem import of_each
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
    """Pegasos: stochastic subgradient steps on the L1-SVM, from patterns drawn with replacement.

    The t-th step draws k patterns. With ``lam = 1 / (m C)`` it shrinks the weight vector by
    ``1 - 1 / t``, adds ``1 / (k lam t)`` of every drawn pattern with ``a.y < 1``, and brings the result
    back into the ball of radius ``1 / sqrt(lam)``, in which the optimum lies.

    The objective ``lam / 2 |a|**2 + mean hinge loss`` of a random one of the first T weight vectors
    exceeds the optimum, in expectation, by at most ``(sqrt(lam) + R)**2 (1 + ln T) / (2 lam T)``,
    whatever m. The steps never come to rest: `converged_` stays False, and the certificate, the duality
    gap of the L1-SVM, says what was reached.

    With C = inf only its limit is left, a perceptron on random draws, which adds patterns with
    ``a.y <= 0``. A stream has no size, so `partial_fit` needs `lam`, takes each pattern as its draw, and
    its certificate, the |a| / S that no margin exceeds, is one about the hard margin.

    **Source**: Shalev-Shwartz, Singer & Srebro (2007), Figure 1, Theorem 1.
    """

    C: float = parameter(
        Interval(0, math.inf, "right"), "Penalty of the hinge loss. inf: the hard margin.", default=1.0
    )
    loss: Literal["hinge"] = parameter(OneOf("hinge"), "The L1-SVM.", default="hinge")
    lam: float | None = parameter(
        optional(Interval(1e-60, 1e60)),
        "Regularisation; given, it takes the place of C, as C = 1 / (m lam). None: 1 / (m C), with the "
        "sum of the C of all patterns for m C if they differ; and there is no `partial_fit`.",
        default=None,
    )
    batch_size: int = parameter(
        Interval(1, 2**31 - 1, integer=True),
        "k, the patterns of a step. What an epoch, of m draws, leaves over begins the next. 1 for "
        "streams.",
        default=1,
    )
    project: bool = parameter(BOOLEAN, "Come back into the ball after every step.", default=True)
    max_iter: int = parameter(
        Interval(1, math.inf, "left", integer=True), "Epochs: so many times m draws.", default=100
    )

    _keeps_dual = True

    @property
    def _online(self):
        return self.lam is not None and self.batch_size == 1

    def _settle(self, sqnorms):
        self._n_patterns = len(sqnorms)

    def _penalties(self, weight):
        self._weight = weight  # of the chunk, if this is a stream
        if self.lam is None:
            return super()._penalties(weight)
        with np.errstate(over="ignore", under="ignore"):
            C = weight / (float(self.lam) * self._n_patterns)
        for value in (np.min(C), np.max(C)):
            if not SMALLEST_C <= value <= LARGEST_C:
                raise ValueError(
                    f"lam of Pegasos must leave every 1 / (m lam), times the weight of the pattern, in "
                    f"[{SMALLEST_C:g}, {LARGEST_C:g}]. Got {value}."
                )
        return C

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
            # As lam -> 0, lam a has a limit, and a.y < 1 becomes a.y <= 0. Of single patterns t times
            # the limit is their plain sum, in which ties are not rounded away.
            if self.batch_size == 1:
                return Rules(Mistake(), Additive(most=1), ConstantDecay(0.0))
            return Rules(Mistake(), SubgradientStep(1.0), HarmonicDecay())
        C = of_each(run.loss.C, len(run.patterns))
        mean = float(np.mean(C))
        weight = None if np.all(mean == C) else C / mean
        # The mean, because |w|^2 <= sum_k C_k is what is known of the optimum.
        step = SubgradientStep(1 / (mean * len(C)), self.project, weight)
        return Rules(MarginError(), step, HarmonicDecay())

    def online_rules(self, sqradius):
        weight = None if np.ndim(self._weight) == 0 else self._weight
        return Rules(MarginError(), SubgradientStep(self.lam, self.project, weight), HarmonicDecay())

    def _warn(self, runs):
        """It has no end of its own, and nobody expects it."""
