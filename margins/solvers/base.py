"""The interface between solvers, phases and the driver: the problem, one epoch, its report.

A fit of one binary problem is a sequence of phases (`margins.solvers.driver.Run`). Each phase has
one solver, which updates the weight vector of a run by one epoch at a time, and reports. The driver owns
epochs, history, callbacks, stopping and certificates; a solver does not write to them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, ClassVar, NamedTuple

from margins._activeset import ActiveSets, Level
from margins._update import Averaging, BinaryData, Rules, WeightVector
from margins.losses import Loss


class Problem(NamedTuple):
    """The samples of one binary problem, and a loss.

    Attributes
    ----------
    data : margins._update.BinaryData
    loss : margins.losses.Loss
    gram : margins.kernels.gram.WholeGram or None
        Inner products of linear data, of a pair of classes.
    """

    data: BinaryData
    loss: Loss
    gram: Any = None

    @property
    def n_samples(self):
        return len(self.data)

    @property
    def n_features(self):
        """Number of features; with a kernel, of samples."""
        return self.data.rows.n_features

    @property
    def n_weights(self):
        """Number of weights: features, and the intercept if there is one."""
        return self.data.rows.n_features + (self.data.sqrho > 0)

    @property
    def is_kernel(self):
        return self.data.rows.is_kernel

    @property
    def has_free_intercept(self):
        """True if the intercept is not penalised."""
        return self.data.has_free_intercept


class EpochReport(NamedTuple):
    """The report of a solver on one epoch.

    Attributes
    ----------
    n_changed : int
        Samples whose dual variable has changed; 0: the solver has converged.
    n_accesses : int
        Samples accessed.
    n_rejected : int
        Misclassified samples without an update.
    check_gap : bool
        False: the estimated gap is above the tolerance, so a certificate would not prove it.
    is_exhausted : bool
        True: the solver ends the phase, perhaps before the accuracy is proven.
    primal : margins.solvers.certification.PrimalPoint or None
        The weight vector of the model, if it is not the run's own.
    dual_is_feasible : bool
        True: the run's dual variables are feasible as they are, at scale 1.
    n_unmoved : int
        Of `n_rejected`: samples below the upper bounds of their dual variables. With any, an epoch that
        changes nothing is no convergence.
    is_cut : bool
        True: the time limit has ended the epoch before the solver could.
    """

    n_changed: int
    n_accesses: int
    n_rejected: int = 0
    check_gap: bool = True
    is_exhausted: bool = False
    primal: Any = None
    dual_is_feasible: bool = False
    n_unmoved: int = 0
    is_cut: bool = False

    def followed_by(self, other):
        """The report on two parts of an epoch, this one's and the next: EpochReport."""
        return other._replace(
            n_changed=self.n_changed + other.n_changed,
            n_accesses=self.n_accesses + other.n_accesses,
            n_rejected=self.n_rejected + other.n_rejected,
            n_unmoved=self.n_unmoved + other.n_unmoved,
        )


class Solver(ABC):
    """Base class of solvers, which update the weight vector of a run, one epoch at a time."""

    # As `solver_` and the phases of a fit report it.
    name: ClassVar[str]
    # True: rounding of its updates is corrected after epochs, before a proof could depend on it.
    corrects_rounding: ClassVar[bool] = False
    # True: every access of a sample shrinks the weight vector, so no epoch leaves it unchanged.
    decays: bool = False
    # True: it changes many dual variables at once, whether or not their samples are misclassified.
    moves_together: bool = False
    # True: the sums of the run have just been computed from its dual variables, in double precision.
    sums_are_fresh: bool = False
    # By which rules a pass over all samples is made; None: by no rules.
    rules: Rules | None = None
    full_pass_rules: Rules | None = None

    @classmethod
    def why_not(cls, problem):
        """Why the solver is not applicable to a problem: str; None if it is."""
        return None

    def start(self, run):
        """Start from the hypothesis of the run, which the phase before has reached."""
        return None

    @abstractmethod
    def epoch(self, run):
        """Update the weight vector of a run by one epoch: EpochReport."""

    def make_exact(self, run):
        """Before a certificate: correct what the last epoch has left rounded in the weight vector."""
        return None

    def release(self):
        """Release, after the last epoch, memory that only another one would need."""
        return None

    def __repr__(self):
        return f"{type(self).__name__}()"


class RulesSolver(Solver):
    """The rules of a perceptron, sample by sample, with nested active sets.

    Parameters
    ----------
    rules : margins.rules.Rules
    levels : sequence of margins.solvers.schedules.Level
        The nested active sets; empty: plain epochs.
    full_pass_rules : margins.rules.Rules, optional
        Rules of the pass over all samples, where they differ from those of the active sets.
    n_samples : int, optional
        Access only so many samples in what counts as an epoch, spread over the data.
    name : str
        As records of phases and epochs report it.

    **Source**: Panagiotakopoulos & Tsampouka (2010), section 5; (2011), section 4.
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
        """Access the samples of `order`, ndarray of int32, then the active sets: EpochReport."""
        if self._sets is None:
            passes = ActiveSets
            if run.data.rows.is_kernel:
                # The package of kernels imports SciPy, which a fit of linear data does not need.
                from margins.solvers._waiting_passes import WaitingPasses as passes
            self._sets = passes(self.levels, len(run.data))
        sets = self._sets
        before = sets.n_accesses
        n_changed = sets.full_epoch(
            run.data, run.weights, self.rules, order, self.full_pass_rules, run.averaging
        )
        return EpochReport(
            n_changed, sets.n_accesses - before, sets.n_rejected, n_unmoved=sets.n_unmoved
        )

    def __repr__(self):
        return f"RulesSolver({self.rules!r}, levels={self.levels!r})"


class EpochSolver(Solver):
    """A loop over samples, as `margins._update.SampleLoop` describes it, and its rules.

    Parameters
    ----------
    rules : margins.rules.Rules or None
        None: the loop needs none.
    loop : object
        ``loop.full_epoch(data, weights, rules, order, None, averaging)`` returns how many samples
        made an update in the pass over all of them, and leaves `n_rejected`, `n_unmoved` and
        `n_accesses`.
    name : str
    """

    def __init__(self, rules, loop, name):
        self.rules, self.loop, self.name = rules, loop, name
        self.decays = rules is not None and rules.decays

    def epoch(self, run):
        loop = self.loop
        before = loop.n_accesses
        n_changed = loop.full_epoch(
            run.data, run.weights, self.rules, run.orders.next(), None, run.averaging
        )
        return EpochReport(
            n_changed, loop.n_accesses - before, loop.n_rejected, n_unmoved=loop.n_unmoved
        )


class Phase(NamedTuple):
    """One phase of a run: a solver, or the rules of a perceptron, and when it ends.

    Attributes
    ----------
    rules : margins.rules.Rules or None
        None: `solver` is given.
    levels : tuple of margins.solvers.schedules.Level
        The nested active sets; empty: plain epochs.
    full_pass_rules : margins.rules.Rules, optional
        Rules of the pass over all samples, where they differ from those of the active sets.
    epochs : int, optional
        End the phase after so many full epochs, also without one free of updates.
    n_samples : int, optional
        Access only so many samples in what counts as a full epoch. Only where orders are permuted in
        every epoch.
    solver : Solver, optional
        In place of rules and active sets.
    infeasible : callable, optional
        Called with the run after every full epoch; a message (why the problem is infeasible) ends the
        fit, None continues it.
    until : callable, optional
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
    until: Callable[..., bool] | None = None
    is_last: bool = True
    averaging: Callable[[WeightVector], Averaging] | None = None

    def make_solver(self):
        """The solver of the phase, that of its rules if none is given: Solver."""
        if self.solver is not None:
            return self.solver
        return RulesSolver(self.rules, self.levels, self.full_pass_rules, self.n_samples)


class Ending(Enum):
    """How a run ended. It has converged if it is PROVEN, UNCHANGED or NO_PROGRESS.

    Examples
    --------
    >>> Ending.MAX_ITER.describe(max_iter=7)
    'max_iter=7 full epochs came first'
    >>> Ending.UNCHANGED.has_converged, Ending.EXHAUSTED.has_converged
    (True, False)
    """

    PROVEN = auto()  # the certificate proves the accuracy
    UNCHANGED = auto()  # without an accuracy to prove: a full epoch changed nothing
    NO_PROGRESS = auto()  # the loss has ceased to fall, by the `tol` of the algorithm
    STANDSTILL = auto()  # nothing changes any more, though the accuracy is not proven
    EXHAUSTED = auto()  # the algorithm has no further phase
    MAX_ITER = auto()
    MAX_TIME = auto()
    CALLBACK = auto()
    INFEASIBLE = auto()  # the algorithm has shown that its problem has no solution

    @property
    def has_converged(self):
        """True if the run reached what it was to reach: bool."""
        return self in (Ending.PROVEN, Ending.UNCHANGED, Ending.NO_PROGRESS)

    def describe(self, *, max_iter=None, max_time=None, detail=None):
        """Return the sentence about a run that has not converged: str.

        Parameters
        ----------
        max_iter : int, optional
        max_time : float, optional
        detail : str, optional
            The reason of a standstill or of an infeasible problem.
        """
        if self is Ending.EXHAUSTED:
            return "the algorithm ended before its accuracy was proven"
        if self is Ending.MAX_ITER:
            return f"max_iter={max_iter} full epochs came first"
        if self is Ending.MAX_TIME:
            return f"max_time={max_time:g} seconds came first"
        return "a callback stopped it" if self is Ending.CALLBACK else str(detail)


class HasEnding:
    """What a run says of its end, whether its samples are in memory or in partitions."""

    specification: Any  # margins.training.specification.Specification
    ending: Ending | None = None  # None: it has not ended
    _detail: str | None = None  # the reason of a standstill or of an infeasible problem
    # What shows that the kernel is not positive semidefinite, so that no dual value is a bound.
    indefinite: str | None = None

    @property
    def converged(self):
        """True if the run has ended with what it was to reach."""
        return self.ending is not None and self.ending.has_converged

    @property
    def message(self):
        """Why the run ended without the proof: str; None if it converged, or has not ended."""
        if self.ending is None or self.ending.has_converged:
            return None
        limits = self.specification
        return self.ending.describe(
            max_iter=limits.max_iter, max_time=limits.max_time, detail=self._detail
        )


@dataclass
class PhaseRecord:
    """A phase that has run.

    Attributes
    ----------
    solver : str
    epochs : int
    updates : int
        Multiplicities counted.
    accesses : int
        Samples accessed.
    seconds : float
        Wall time; two records are equal whatever it is.
    """

    solver: str
    epochs: int
    updates: int
    accesses: int
    seconds: float = field(compare=False)


def solver_path(records):
    """The names of the solvers that ran, in order, each once where it ran on: str, joined by ' + '."""
    names, before = [], None
    for record in records:
        if record.epochs > 0 and record.solver != before:
            before = record.solver
            names.append(before)
    return " + ".join(names)
