"""One binary problem, from the first full epoch to the proof.

An algorithm is a generator of stages: each says by which rules and active sets to go on, and the run
goes on by them, from where it is, until a full pass changes nothing, or until the certificate proves
what was asked.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from margins._activeset import ActiveSets, Level
from margins._sparse import Rows
from margins._update import Patterns, Readout, Rules, WeightVector
from margins.certificate import NOTHING, Certificate
from margins.data.binary_problem import of_each
from margins.data.permutations import Orders
from margins.estimators.callbacks import Watch

EPSILON = np.finfo(np.float64).eps

# Squared norms that differ more are not the same but for rounding.
SAME = 1e-9

# What updates have rounded off is put right before it may be this share of the gap to be proven. (Not
# after every epoch: text took 0.93 to 0.98 of the time, with C = 0.01 0.88 to 0.95.)
NEGLIGIBLE = 1e-4
# A conjugate step, of which there are fewer than visits, may round off so many times what a visit does.
ROUNDED_BY_STEP = 100


class Stage(NamedTuple):
    """How to go on.

    Attributes
    ----------
    rules : Rules or None
        None: `loop` presents the patterns.
    levels : tuple of Level
        The nested active sets; empty: plain epochs.
    full_pass_rules : Rules, optional
        Rules of the pass over all patterns, where they differ from those of the active sets.
    epochs : int, optional
        End the stage after so many full epochs, also without a clean one.
    n_patterns : int, optional
        Present only so many patterns in what counts as a full epoch: they are drawn from all over the
        data, of large data in chunks of rows, and few may come twice. Only where orders are permuted in
        every epoch.
    presenter : object, optional
        Presents the patterns of an epoch in its own way instead of `ActiveSets`, whose `full_epoch`,
        `n_refused` and `n_visits` it must have, and `n_unmoved` if its update may leave a misclassified
        pattern where it is.
    hopeless : callable, optional
        Called with the run after every full epoch; a sentence (why going on cannot help) ends the
        fit, None lets it go on.
    loop : callable, optional
        ``loop(order)`` presents the patterns of `order`, ndarray of int32, in place of rules and active
        sets, and returns how many made an update: for algorithms outside the mould of the rules.
    joint : callable, optional
        ``joint(run)`` plays a full epoch on many patterns at once, and returns how many it has changed
        and how many presentations it is worth. It also is the hypothesis that is read out after it.
    """

    rules: Rules | None = None
    levels: tuple[Level, ...] = ()
    full_pass_rules: Rules | None = None
    epochs: int | None = None
    n_patterns: int | None = None
    presenter: object | None = None
    hopeless: Callable[["Run"], str | None] = lambda run: None
    loop: Callable[[np.ndarray], int] | None = None
    joint: Callable[["Run"], tuple[int, int]] | None = None


class Epoch(NamedTuple):
    """One full epoch of a run.

    Attributes
    ----------
    epoch : int
        From 1.
    updates : int
        Since the start of the run, multiplicities counted.
    mistakes : int
        Misclassified patterns of the full pass, by the rules' condition, those included that an upper
        bound kept from being updated. Of an epoch that moved many dual variables at once: how many.
    certificate : Certificate or None
        What was proven at its end, if it was asked then: not where the proof is known to be far.
    """

    epoch: int
    updates: int
    mistakes: int
    certificate: Certificate | None


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
    watch : margins.estimators.callbacks.Watch or None
        Told of every full epoch; may end the run.
    features : margins._sparse.Rows or None
        Of `patterns` that are rows of their Gram matrix: X, by which the run is to end.
    theta : float
        The score of a pattern is ``l_k (a.y_k) - theta``; the rules must say the same.
    sums_afresh : bool
        True: sum the weight vector again from its dual variables after a full epoch, where a proof could
        tell the difference; over the rows of a kernel, which may have to be computed for it, only before
        a proof.
    orders : margins.data.permutations.Orders
        In which the patterns are presented; when they change is to be set before training.
    weights : WeightVector
    readout : Readout or None
        Chooses among the run's hypotheses; None: the last one. To be set before training.
    history : list of Epoch
    certificate : Certificate or None
        Of the last full epoch at whose end it was computed.
    proof_is_far : bool
        True: whoever presents the patterns takes the epoch's proof to be far; nobody looks for it.
    products : ndarray of float64, shape (m,), or None
        Those of the hypothesis it is of, with all patterns: w.y_k - theta l_k, private coordinates left
        out.
    n_epochs : int
    n_visits : int
        Presentations of a pattern.
    clean : bool
        True if the last full epoch changed nothing.
    converged : bool
    standstill : str or None
        Why the last full epoch, which changed nothing, is no convergence: misclassified patterns that
        the update rule does not move.
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
    watch: Watch | None = None
    features: Rows | None = None
    theta: float = 0.0
    sums_afresh: bool = False
    orders: Orders = field(init=False)
    weights: WeightVector = field(init=False)
    readout: Readout | None = field(init=False, default=None)
    history: list[Epoch] = field(init=False, default_factory=list)
    certificate: Certificate | None = field(init=False, default=None)
    proof_is_far: bool = field(init=False, default=False)
    products: np.ndarray | None = field(init=False, default=None)
    n_epochs: int = field(init=False, default=0)
    n_visits: int = field(init=False, default=0)
    clean: bool = field(init=False, default=False)
    converged: bool = field(init=False, default=False)
    standstill: str | None = field(init=False, default=None)
    trouble: str | None = field(init=False, default=None)
    primal_scale: float = field(init=False, default=1.0)
    dual_scale: float = field(init=False, default=1.0)

    def __post_init__(self):
        m = len(self.patterns)
        self.weights = WeightVector(self.patterns.rows.n_features, m if self.keep_dual else 0)
        self._best_dual = 0.0
        self._n_changed = self._n_refused = self._n_unmoved = 0
        self._n_visits_summed = 0  # before the weight vector was last summed
        self._primal = None
        self.orders = Orders(
            m, self.patterns.rows, self.seed, proven=self.eps is not None, early=self.prove_early
        )

    @property
    def sqradius(self):
        """R^2, the largest squared norm of an augmented and extended pattern."""
        return self.patterns.max_sqnorm

    @property
    def finished(self):
        """True if nothing is left to do: the accuracy is proven, and a clean pass made if it must be."""
        if self.eps is None:
            return self.clean and self.standstill is None
        return (
            (self.prove_early or self.clean)
            and self.certificate is not None
            and self.certificate.proves(self.eps, self.problem.loss)
        )

    @property
    def hypothesis(self):
        """The weight vector that is read out."""
        if self._primal is not None:
            return self._primal
        if self.readout is None:
            return self.weights
        return self.readout.hypothesis(self.weights, self.patterns)

    def bound_dual(self, upper):
        """Bound the dual variables from above by `upper`, a float or an array of shape (m,)."""
        self.patterns = self.patterns.with_limits(upper=of_each(upper, len(self.patterns)))

    def leave_gram(self):
        """Go on over X itself, if it was its Gram matrix so far: True if it was.

        Where rows are long beside the margin, the products with a weight vector are small sums of large
        inner products, whose rounding no certificate could tell from a proof.
        """
        if self.features is None:
            return False
        before = self.weights.sqnorm
        self.patterns = self.patterns.over(self.features)
        self.weights = self.weights.over(self.patterns)
        self.orders.look_at(self.features)
        self.features = None
        self._forget_dual_unless(before)
        return True

    def _leave_rounding(self):
        """Leave what no proof rests on: a Gram matrix, sums of a kernel's rows. True if it was one."""
        if self.leave_gram():
            return True
        if not (self.sums_afresh and self.patterns.rows.is_kernel):
            return False
        if self._n_visits_summed == self.n_visits:  # just now
            return False
        before = self.weights.sqnorm
        self.weights.sum_afresh(self.patterns)
        self._n_visits_summed = self.n_visits
        self._forget_dual_unless(before)
        return True

    def _forget_dual_unless(self, sqnorm):
        """Forget the best dual value, unless the weight vector had this squared length all the time."""
        if not abs(self.weights.sqnorm - sqnorm) <= SAME * sqnorm:
            self._best_dual = 0.0

    def certify(self):
        """Compute the certificate of the hypothesis as it is: one pass over all patterns."""
        weights, hypothesis, patterns = self.weights, self.hypothesis, self.patterns
        self.products = None  # not two of them at a time
        self.products = products = hypothesis.products(patterns)
        sqnorm = hypothesis.ordinary_sqnorm(patterns)
        if self.theta == 0:
            bounds = self.problem.bounds(products, sqnorm, weights, refit_slacks=self.prove_early)
        else:
            products -= self.theta * patterns.signs
            # The augmentation's weight is rho label_sum - theta / rho.
            length = self.theta / patterns.sqrho if patterns.sqrho > 0 else math.inf
            sqnorm = max(sqnorm + self.theta * (length - 2 * hypothesis.label_sum), 0.0)
            bounds = NOTHING
            if math.isfinite(sqnorm):
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
        self.conclude()

    def conclude(self):
        """Say what has been reached."""
        if self.proof_is_far:
            self._sum_afresh()
        if self._leave_rounding() or self.eps is None or not (self.prove_early and self.finished):
            self.certify()  # there is none yet, or it is of earlier weights
        if self.proof_is_far:  # whoever stopped the run did so where nobody had looked for the proof
            self.history[-1] = self.history[-1]._replace(certificate=self.certificate)
            if self.finished:
                self.trouble = None
        if self.trouble is None:
            self.converged = self.finished
            if not self.converged:
                self.trouble = self.standstill or "the algorithm ended before its accuracy was proven"
        if self.watch is not None:
            self.watch.end()

    def _play(self, stage):
        """Go on by one stage; True: this was the last one."""
        sets = stage.presenter
        if sets is None:
            sets = ActiveSets(stage.levels, len(self.patterns))
        last = math.inf if stage.epochs is None else self.n_epochs + stage.epochs
        while self.n_epochs < self.max_iter:
            self.begin_epoch()
            self._primal = stage.joint
            if stage.joint is None:
                self.present(stage, sets, self.orders.next(stage.n_patterns))
            else:
                n_changed, n_visits = stage.joint(self)
                self._n_changed += n_changed
                self.n_visits += n_visits
            self.end_epoch()
            decays = stage.rules is not None and stage.rules.decays
            # Where every presentation shrinks, a full epoch without updates is no end.
            if self.prove_early and self.finished and not (decays and self.eps is None):
                self.trouble = None
                return True
            if self.clean and self.trouble is None and not decays:
                return False
            if self.trouble is None:
                self.trouble = stage.hopeless(self)
            if self.trouble is not None:
                return True
            if last <= self.n_epochs:
                return False
        self.out_of_epochs()
        return True

    def out_of_epochs(self):
        """Note that `max_iter` was what ended the run."""
        self.trouble = f"max_iter={self.max_iter} full epochs came first"

    def begin_epoch(self):
        """Tell whom it concerns that a full epoch begins."""
        self.proof_is_far = False
        if self.watch is not None:
            self.watch.begin_epoch(self.n_epochs + 1)

    def present(self, stage, sets, order):
        """Present the patterns of `order`, all of a full epoch or the next of them."""
        if stage.loop is not None:
            self._n_changed += stage.loop(order)
            self.n_visits += len(order)
            return
        visits_before = sets.n_visits
        n_changed = sets.full_epoch(
            self.patterns, self.weights, stage.rules, order, stage.full_pass_rules, self.readout
        )
        self._n_changed += n_changed
        self._n_refused += sets.n_refused
        n_unmoved = getattr(
            sets, "n_unmoved", 0
        )  # a presenter of rules that always move has no such count
        if n_unmoved:
            self._n_unmoved += n_unmoved
            self._unmoved_by = stage.full_pass_rules or stage.rules
        self.n_visits += sets.n_visits - visits_before

    def end_epoch(self):
        """Take stock after a full epoch."""
        self.n_epochs += 1
        self.clean = self._n_changed == 0
        self._note_standstill()
        self.proof_is_far = self.proof_is_far and self.n_epochs < self.max_iter
        certified = self.eps is not None and (self.prove_early or self.clean) and not self.proof_is_far
        if not self.proof_is_far:
            self._sum_afresh()
        if certified:
            self.certify()
            if self.finished and self._leave_rounding():
                self.certify()
        mistakes = self._n_changed + self._n_refused
        self.history.append(
            Epoch(
                self.n_epochs, self.weights.n_updates, mistakes, self.certificate if certified else None
            )
        )
        if self.report is not None:
            self.report(self._progress())
        if self.clean and self.readout is not None:
            # The epochs that are left would be like this one: their presentations count.
            # (No more of them than a double counts exactly.)
            left = min(self.max_iter - self.n_epochs, 2**53 // len(self.patterns))
            n_presented = len(self.patterns) - self.orders.n_held_out
            self.readout.n_presented += left * n_presented
            self.readout.n_right += left * (n_presented - self._n_refused)
        self._n_changed = self._n_refused = 0
        if self.watch is not None and self.watch.end_epoch(self):
            self.trouble = "a callback stopped it"

    def _note_standstill(self):
        """Tell an epoch that could change nothing from one that had nothing to change."""
        self.standstill = None
        if self.clean and self._n_unmoved:
            rules, n = self._unmoved_by, self._n_unmoved
            self.standstill = (
                f"{n} sample{'s' if n > 1 else ''} below the upper bound of the dual variable "
                f"{'are' if n > 1 else 'is'} misclassified by {rules.condition!r}, and {rules.update!r} "
                "does not move the weight vector"
            )
            if not rules.decays and self.trouble is None:
                self.trouble = self.standstill
        self._n_unmoved = 0

    def _sum_afresh(self):
        """Put right what updates have rounded off."""
        self.weights.recompute(self.patterns)
        if not self.sums_afresh or self.patterns.rows.is_kernel:
            return
        if not self._rounded_off() <= NEGLIGIBLE * self.problem.gap_of(self.eps):
            self.weights.sum_afresh(self.patterns)
            self._n_visits_summed = self.n_visits

    def _rounded_off(self):
        """What share of |a| updates may have rounded off at most, since it was last summed.

        Each rounds a, and its dual variable, which may have been as large as its bound, or as its
        private coordinate may be in an `a` of this length. To be asked after `recompute`.
        """
        patterns, n_visits = self.patterns, self.n_visits - self._n_visits_summed
        length = math.sqrt(self.weights.sqnorm)
        if length == 0:
            return math.inf
        extension = float(patterns.extension_sqnorms.min())
        dual = 1 / math.sqrt(extension) if extension > 0 else patterns.max_upper / length
        return EPSILON * n_visits * (ROUNDED_BY_STEP + 2 * dual * math.sqrt(self.sqradius))

    def _progress(self):
        epoch = self.history[-1]
        what = "misclassified" if self._primal is None else "moved at once"
        line = f"epoch {epoch.epoch}: {epoch.mistakes} patterns {what}, {epoch.updates} updates"
        certificate = epoch.certificate
        if certificate is not None:
            line += f", proven fraction {certificate.fraction:.6g}, gap {certificate.gap:.3g}"
        return line

    @property
    def upper_bound(self):
        """|a| / S, which no margin exceeds; inf before the first update."""
        total = self.weights.dual_sum
        return math.sqrt(self.weights.sqnorm) / total if total > 0 else math.inf
