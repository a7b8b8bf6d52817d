"""One binary problem, from the first full epoch to the proof.

An algorithm is a generator of stages: each says by which rules and active sets to go on, and the run
goes on by them, from where it is, until a full pass changes nothing, or until the certificate proves
what was asked.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from margins._activeset import ActiveSets, Level
from margins._update import Patterns, Rules, WeightVector
from margins.certificate import Certificate


@dataclass(frozen=True)
class Stage:
    """How to go on.

    Attributes
    ----------
    rules : Rules
    levels : tuple of Level
        The nested active sets; empty: plain epochs.
    full_pass_rules : Rules, optional
        Rules of the pass over all patterns, where they differ from those of the active sets.
    epochs : int, optional
        End the stage after so many full epochs, also without a clean one.
    hopeless : callable, optional
        Called with the run after every full epoch; a sentence (why going on cannot help) ends the
        fit, None lets it go on.
    """

    rules: Rules
    levels: tuple[Level, ...] = ()
    full_pass_rules: Rules | None = None
    epochs: int | None = None
    hopeless: Callable[["Run"], str | None] = lambda run: None


@dataclass
class Run:
    """The state of one fit of one binary problem; what a generator of stages may look at and change.

    Attributes
    ----------
    patterns : Patterns
    problem : HardMargin, SquaredHinge or Hinge
    eps : float or None
        Accuracy to prove; None: only a clean full pass ends the fit.
    prove_early : bool
        True: end as soon as `eps` is proven; False: only after a clean full pass.
    max_iter : int
        The most full epochs.
    seed : int
    report : callable or None
        Called with a line of progress after every full epoch.
    keep_dual : bool
        True: keep the dual variables.
    weights : WeightVector
    certificate : Certificate or None
        Of the last full epoch at whose end it was computed.
    n_epochs, n_visits : int
    clean : bool
        True if the last full epoch changed nothing.
    converged : bool
    trouble : str or None
        Why the fit ended without the proof.
    """

    patterns: Patterns
    problem: object
    eps: float | None
    prove_early: bool
    max_iter: int
    seed: int
    report: Callable[[str], None] | None
    keep_dual: bool
    weights: WeightVector = field(init=False)
    certificate: Certificate | None = field(init=False, default=None)
    n_epochs: int = field(init=False, default=0)
    n_visits: int = field(init=False, default=0)
    clean: bool = field(init=False, default=False)
    converged: bool = field(init=False, default=False)
    trouble: str | None = field(init=False, default=None)
    primal_scale: float = field(init=False, default=1.0)
    dual_scale: float = field(init=False, default=1.0)

    def __post_init__(self):
        m = len(self.patterns)
        self.weights = WeightVector(self.patterns.rows.n_features, m if self.keep_dual else 0)
        self._order = np.arange(m, dtype=np.int32)
        self._generator = np.random.default_rng(self.seed)
        self._best_dual = 0.0

    @property
    def sqradius(self):
        """R^2, the largest squared norm of an augmented and extended pattern."""
        return self.patterns.max_sqnorm

    @property
    def finished(self):
        """True if nothing is left to do: the accuracy is proven, and a clean pass made if it must be."""
        if self.eps is None:
            return self.clean
        return (
            (self.prove_early or self.clean)
            and self.certificate is not None
            and self.certificate.proves(self.eps, self.problem.loss)
        )

    def bound_dual(self, upper):
        """Bound the dual variables from above by `upper`, a float or an array of shape (m,)."""
        self.patterns = self.patterns.with_upper(np.broadcast_to(upper, len(self.patterns)))

    def certify(self):
        """Compute the certificate of the weight vector as it is: one pass over all patterns."""
        weights = self.weights
        products = weights.products(self.patterns)
        sqnorm = float(weights.weights @ weights.weights) + weights.bias_weight**2
        bounds = self.problem.bounds(products, sqnorm, weights, refit_slacks=self.prove_early)
        self._best_dual = max(self._best_dual, bounds.dual)  # every dual value stays proven
        self.primal_scale, self.dual_scale = bounds.primal_scale, bounds.dual_scale
        self.certificate = Certificate.from_bounds(
            bounds.primal, self._best_dual, weights.n_updates, bounds.margin
        )

    def train(self, stages: Iterable[Stage]):
        """Play the stages until the end."""
        for stage in stages:
            if self._play(stage):
                break
        if self.eps is None or not (self.prove_early and self.finished):
            self.certify()  # there is none yet, or it is of earlier weights
        if self.trouble is None:
            self.converged = self.finished
            if not self.converged:
                self.trouble = "the algorithm ended before its accuracy was proven"

    def _play(self, stage):
        """Go on by one stage; True: this was the last one."""
        sets = ActiveSets(stage.levels, len(self.patterns))
        last = math.inf if stage.epochs is None else self.n_epochs + stage.epochs
        while self.n_epochs < self.max_iter:
            self._generator.shuffle(self._order)
            visits_before = sets.n_visits
            n_changed = sets.full_epoch(
                self.patterns, self.weights, stage.rules, self._order, stage.full_pass_rules
            )
            self.n_visits += sets.n_visits - visits_before
            self.n_epochs += 1
            self.clean = n_changed == 0
            self.weights.recompute(self.patterns)
            if self.eps is not None and (self.prove_early or self.clean):
                self.certify()
            if self.report is not None:
                self.report(self._progress(n_changed))
            if self.prove_early and self.finished:
                return True
            if self.clean:
                return False
            self.trouble = stage.hopeless(self)
            if self.trouble is not None:
                return True
            if last <= self.n_epochs < self.max_iter:
                return False
        self.trouble = f"max_iter={self.max_iter} full epochs came first"
        return True

    def _progress(self, n_changed):
        line = f"epoch {self.n_epochs}: {n_changed} patterns updated, {self.weights.n_updates} updates"
        if self.certificate is not None:
            line += f", proven fraction {self.certificate.fraction:.6g}, gap {self.certificate.gap:.3g}"
        return line

    @property
    def upper_bound(self):
        """|a| / S, which no margin exceeds; inf before the first update."""
        total = self.weights.dual_sum
        return math.sqrt(self.weights.sqnorm) / total if total > 0 else math.inf
