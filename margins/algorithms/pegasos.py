import math
from typing import Literal

import numpy as np

from margins.data.binary_data import of_each
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.estimators.partitioned import IN_MEMORY
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
from margins.solvers.specification import LARGEST_C, SMALLEST_C


class Pegasos(OnlineMixin, BaseMarginClassifier):
    """Pegasos: stochastic subgradient steps on the L1-SVM, on samples drawn with replacement.

    Step t draws k samples. With ``lam = 1 / (m C)`` it shrinks the weight vector by ``1 - 1 / t``, adds
    ``1 / (k lam t)`` of every drawn sample with ``a.y < 1``, and projects the result onto the ball of
    radius ``1 / sqrt(lam)``, which contains the optimum.

    **Guarantee**: the objective ``lam / 2 |a|**2 + mean hinge loss`` of one of the first T weight
    vectors, chosen at random, exceeds the optimum in expectation by at most ``(sqrt(lam) + R)**2 (1 + ln
    T) / (2 lam T)``, for any m. There is no stopping rule: `converged_` stays False, and the certificate
    states the duality gap reached in the L1-SVM.

    C = inf is the limit, a perceptron on random draws, which adds samples with ``a.y <= 0``. The size of
    a stream is unknown, so `partial_fit` requires `lam`; every sample then counts as a draw, and the
    certificate states the upper bound |a| / S of the hard margin.

    **Use it for** comparisons of stochastic subgradient steps. **Avoid it for** the solution alone:
    ``MarginClassifier(loss="hinge")`` comes within 1 % before Pegasos comes within 5 %.

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

    WEIGHTS_MULTIPLY = "C or updates"

    C: float = parameter(
        Interval(0, math.inf, "right"), "Penalty of the hinge loss. inf: the hard margin.", default=1.0
    )
    loss: Literal["hinge"] = parameter(OneOf("hinge"), "The L1-SVM.", default="hinge")
    lam: float | None = parameter(
        optional(Interval(1e-60, 1e60)),
        "Regularisation; if given, C is 1 / (m lam). None: 1 / (m C), and `partial_fit` is not "
        "available; if the C of samples differ, m C is their sum.",
        default=None,
    )
    max_iter = 100
    batch_size: int = parameter(
        Interval(1, 2**31 - 1, integer=True),
        "k, the number of samples in a step. The draws left over in an epoch of m draws belong to the "
        "first step of the next epoch. Streams require 1.",
        default=1,
    )
    project: bool = parameter(BOOLEAN, "Project onto the ball after every step.", default=True)
    shuffle: bool = parameter(
        BOOLEAN,
        "Draw the m samples of an epoch at random, with replacement. False: process them in the order "
        "of X.",
        default=True,
    )

    @property
    def is_online(self):
        return self.lam is not None and self.batch_size == 1

    def specification(self, sqnorms, continues=False):
        C = float(self.C) if self.lam is None else self._mean_penalty(len(sqnorms))
        options = {"C": C, "keep_dual": True, "shuffle": "draws" if self.shuffle else "never"}
        specification = super().specification(sqnorms, continues)
        return specification._replace(**options, warns=False)  # the algorithm does not converge

    def _mean_penalty(self, n_samples):
        """Return the C that corresponds to lam for a sample of weight 1."""
        with np.errstate(over="ignore", under="ignore"):
            C = float(1 / np.float64(float(self.lam) * n_samples))
        if not SMALLEST_C <= C <= LARGEST_C:
            raise ValueError(
                f"lam of {self._display_name()} must give a C = 1 / (m lam) in "
                f"[{SMALLEST_C:g}, {LARGEST_C:g}]. Got {C}."
            )
        return C

    def why_not_in_partitions(self):
        return IN_MEMORY  # samples are drawn independently of each other

    def phases(self, run):
        rules = self._rules_of(run)
        if self.batch_size > 1:
            yield Phase(solver=EpochSolver(rules, MiniBatches(self.batch_size), "rules"))
        else:
            yield Phase(rules)

    def _rules_of(self, run):
        if not run.loss.is_finite:
            # As lam -> 0, lam a has a limit, and a.y < 1 becomes a.y <= 0. With batch_size=1, t times
            # the limit is a plain sum, so ties are exact.
            if self.batch_size == 1:
                return Rules(Mistake(), Additive(most=1), ConstantDecay(0.0))
            return Rules(Mistake(), SubgradientStep(1.0), HarmonicDecay())
        C = of_each(run.loss.C, len(run.data))
        mean = float(np.mean(C))
        weight = None if np.all(mean == C) else C / mean
        # The mean of C_k, because the optimum has |w|^2 <= sum_k C_k.
        step = SubgradientStep(1 / (mean * len(C)), self.project, weight)
        return Rules(MarginError(), step, HarmonicDecay())

    def chunk_rules(self, sqradius, specification, weight):
        weights = weight if isinstance(weight, np.ndarray) else None
        return Rules(MarginError(), SubgradientStep(self.lam, self.project, weights), HarmonicDecay())
