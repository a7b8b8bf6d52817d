"""The interface between solvers, phases and the driver: the problem, one epoch, its report.

A fit of one binary problem is a sequence of phases (`margins.solvers.driver.Run`). Each phase has one
solver, which updates the weight vector of a run by one epoch at a time, and reports. Epochs, history,
callbacks, stopping and certificates belong to the driver; a solver does not write to them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, ClassVar, NamedTuple

from margins._activeset import ActiveSets, Level
from margins._update import Averaging, BinaryData, Rules, WeightVector
from margins.losses import Loss


class Original(NamedTuple):
    """The samples as they were passed, if solvers measure the features from a centre."""

    data: BinaryData
    centre: Any  # array, shape (n_features,)


class Problem(NamedTuple):
    """The samples of one binary problem, and a loss."""

    data: BinaryData
    loss: Loss
    # margins.kernels.gram.WholeGram or None: inner products of linear data, for a pair of classes.
    gram: Any = None
    original: Original | None = None  # None: `data` holds the samples as they were passed
    penalty: Any = None  # margins.solvers.penalised.Penalty; None: |w|^2 / 2
    pairs_are_slow: bool = False  # True: pairs of samples have been moved, and took too long

    @property
    def constant_objective(self):
        """The objective of the best constant classifier."""
        data = self.data
        if self.penalty is not None:
            return self.penalty.constant_objective(self.loss, data)
        scaling = math.inf if data.has_free_intercept else data.sq_intercept_scaling
        return self.loss.constant_objective(data.signs, scaling)

    @property
    def n_samples(self):
        return len(self.data)

    @property
    def n_features(self):
        """The number of features; with a kernel, the number of samples."""
        return self.data.rows.n_features

    @property
    def n_weights(self):
        """The number of weights: features, and the intercept if there is one."""
        return self.data.rows.n_features + (self.data.sq_intercept_scaling > 0)

    @property
    def is_kernel(self):
        return self.data.rows.is_kernel

    @property
    def has_free_intercept(self):
        """True if the intercept is not penalised."""
        return self.data.has_free_intercept


class EpochReport(NamedTuple):
    """The report of a solver on one epoch."""

    n_changed: int  # Number of samples whose dual variable changed; 0: the solver has converged
    n_accesses: int  # Number of samples accessed
    n_rejected: int = 0  # Number of misclassified samples without an update
    # False: the estimated gap is above the tolerance, so a certificate would not prove the accuracy.
    check_gap: bool = True
    is_exhausted: bool = False  # True: the solver ends the phase, possibly before the proof
    primal: Any = None  # PrimalPoint: weight vector of the model, if it differs from the run's
    dual_is_feasible: bool = False  # True: the run's dual variables are feasible at scale 1
    # Number of rejected samples below the upper bounds of their dual variables: with any, an epoch that
    # changes nothing does not mean convergence.
    n_unmoved: int = 0
    is_cut: bool = False  # True: the time limit ended the epoch before the solver could

    def followed_by(self, other):
        """Return the report on two parts of an epoch, this part and the next."""
        counts = "n_changed", "n_accesses", "n_rejected", "n_unmoved"
        return other._replace(**{name: getattr(self, name) + getattr(other, name) for name in counts})


class Solver(ABC):
    """The base class of solvers, which update the weight vector of a run, one epoch at a time."""

    name: ClassVar[str]  # the name in `solver_` and in the phases of a fit
    # True: rounding of its updates is corrected after epochs, before a proof could depend on it.
    corrects_rounding: ClassVar[bool] = False
    # True: every access of a sample shrinks the weight vector, so no epoch leaves it unchanged.
    decays: bool = False
    # True: it changes many dual variables at once, whether their samples are misclassified or not.
    moves_together: bool = False
    # True: the sums of the run have just been computed from its dual variables, in double precision.
    sums_are_fresh: bool = False
    rules: Rules | None = None  # the rules of a pass over all samples; None: the solver has no rules
    full_pass_rules: Rules | None = None

    @classmethod
    def why_not(cls, problem):
        """Return why the solver is not applicable to a problem; None if it is."""
        return None

    def start(self, run):
        """Start from the hypothesis of the run, which the previous phase reached."""
        return None

    @abstractmethod
    def epoch(self, run):
        """Update the weight vector of a run by one epoch, and return an EpochReport."""

    def make_exact(self, run):
        """Correct rounding that the last epoch left in the weight vector, before a certificate."""
        return None

    def release(self):
        """Release memory that only another epoch would need."""
        return None

    def __repr__(self):
        return f"{type(self).__name__}()"


class RulesSolver(Solver):
    """The rules of a perceptron, sample by sample, with nested active sets.

    levels: the nested active sets; empty: plain epochs.
    full_pass_rules: rules of the pass over all samples, if they differ from those of the active sets.
    n_samples: number of samples per epoch, spread over the data. None: all samples.
    name: name in the records of phases and epochs.
    """

    def __init__(self, rules, levels=(), full_pass_rules=None, n_samples=None, name="rules"):
        self.rules, self.full_pass_rules, self.n_samples = rules, full_pass_rules, n_samples
        self.name = name
        self.levels = tuple(levels)
        self.decays = rules.decays
        self._sets = None

    def epoch(self, run):
        return self.process(run, run.orders.next(self.n_samples))

    def process(self, run, order):
        """Process the samples of `order`, then the active sets, and return an EpochReport."""
        if self._sets is None:
            passes = ActiveSets
            if run.data.rows.is_kernel:
                # The package of kernels imports SciPy, which a fit of linear data does not need.
                from margins.solvers._waiting_passes import WaitingPasses as passes
            self._sets = passes(self.levels, len(run.data))
        return _epoch_of(self._sets, run, self.rules, order, self.full_pass_rules)

    def __repr__(self):
        return f"RulesSolver({self.rules!r}, levels={self.levels!r})"


class EpochSolver(Solver):
    """A `margins._update.SampleLoop` and its rules; None: the loop needs no rules."""

    def __init__(self, rules, loop, name):
        self.rules, self.loop, self.name = rules, loop, name
        self.decays = rules is not None and rules.decays

    def epoch(self, run):
        return _epoch_of(self.loop, run, self.rules, run.orders.next())


def _epoch_of(loop, run, rules, order, full_pass_rules=None):
    """Make one full epoch of a loop over samples, and return an EpochReport."""
    before = loop.n_accesses
    n_changed = loop.full_epoch(run.data, run.weights, rules, order, full_pass_rules, run.averaging)
    return EpochReport(n_changed, loop.n_accesses - before, loop.n_rejected, n_unmoved=loop.n_unmoved)


class Phase(NamedTuple):
    """One phase of a run: a solver, or the rules of a perceptron, and when it ends.

    Attributes
    ----------
    rules : margins.rules.Rules or None
        None: `solver` is passed.
    levels : tuple of margins.solvers.schedules.Level
        The nested active sets; empty: plain epochs.
    full_pass_rules : margins.rules.Rules, optional
        Rules of the pass over all samples, if they differ from the rules of the active sets.
    epochs : int, optional
        Maximum number of full epochs; the phase ends then even if every epoch made updates.
    n_samples : int, optional
        Number of samples per full epoch, spread over the data. Only allowed if orders are permuted in
        every epoch.
    solver : Solver, optional
        Replaces rules and active sets.
    infeasible : callable, optional
        Called with the run after every full epoch. A message (why the problem is infeasible) ends the
        fit, None continues it.
    converged_when : callable, optional
        Called with the run after every full epoch; True ends the run as converged.
    is_last : bool
        False: without an accuracy to prove, an epoch without updates ends the phase, but not the run.
    averaging : callable, optional
        ``averaging(weights)`` makes the averaging or selection over the iterates of this phase.
    """

    rules: Rules | None = None
    levels: tuple[Level, ...] = ()
    full_pass_rules: Rules | None = None
    epochs: int | None = None
    n_samples: int | None = None
    solver: Solver | None = None
    infeasible: Callable[..., str | None] | None = None
    converged_when: Callable[..., bool] | None = None
    is_last: bool = True
    averaging: Callable[[WeightVector], Averaging] | None = None

    def make_solver(self):
        """Return the solver of the phase, or a solver for its rules."""
        if self.solver is not None:
            return self.solver
        if not isinstance(self.rules, Rules):
            raise TypeError(
                "Phase needs rules, Rules(condition, update, shrink), or a solver. "
                f"Got rules={self.rules!r}."
            )
        return RulesSolver(self.rules, self.levels, self.full_pass_rules, self.n_samples)


class Ending(Enum):
    """The way a run ended. It converged if this is PROVEN, UNCHANGED or NO_PROGRESS.

    Examples
    --------
    >>> Ending.MAX_ITER.describe(max_iter=7)
    'max_iter=7 full epochs came first'
    >>> Ending.UNCHANGED.has_converged, Ending.EXHAUSTED.has_converged
    (True, False)
    """

    PROVEN = auto()  # the certificate proves the accuracy
    UNCHANGED = auto()  # without an accuracy to prove: a full epoch changed nothing
    NO_PROGRESS = auto()  # the loss has stopped falling, according to the algorithm's `tol`
    STANDSTILL = auto()  # further steps change nothing, but the accuracy is not proven
    EXHAUSTED = auto()  # the algorithm has no further phase
    MAX_ITER = auto()
    MAX_TIME = auto()
    CALLBACK = auto()
    INFEASIBLE = auto()  # the algorithm has shown that its problem has no solution

    @property
    def has_converged(self):
        """True if the run reached its goal."""
        return self in (Ending.PROVEN, Ending.UNCHANGED, Ending.NO_PROGRESS)

    def describe(self, *, max_iter=None, max_time=None, detail=None):
        """Return the message about a run that did not converge, for the reason `detail`."""
        if self is Ending.EXHAUSTED:
            return "the algorithm ended before its accuracy was proven"
        if self is Ending.MAX_ITER:
            return f"max_iter={max_iter} full epochs came first"
        if self is Ending.MAX_TIME:
            return f"max_time={max_time:g} seconds came first"
        return "a callback stopped it" if self is Ending.CALLBACK else str(detail)


@dataclass
class PhaseRecord:
    """The record of a phase that ran."""

    solver: str
    epochs: int
    updates: int  # Number of updates, counting multiplicities
    accesses: int  # Number of samples accessed
    seconds: float = field(compare=False)  # Wall time, which comparisons of records ignore


def solver_path(records):
    """Return the names of the solvers that ran, in order, joined by ' + '; repeats count once."""
    names, last_name = [], None
    for record in records:
        if record.epochs > 0 and record.solver != last_name:
            last_name = record.solver
            names.append(last_name)
    return " + ".join(names)
