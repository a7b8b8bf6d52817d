"""The state of a run: what a fit of one binary problem has reached, and what algorithms may change."""

import copy
import math

from margins._sparse import Rows
from margins._update import BinaryData, WeightVector
from margins.data.binary_data import of_each
from margins.data.permutations import Orders
from margins.losses import Loss
from margins.solvers.base import EpochReport, PhaseRecord, Problem, Solver, solver_path
from margins.solvers.certification import Certifier
from margins.solvers.history import Epoch
from margins.solvers.options import RunOptions
from margins.solvers.rounding import Rounding

# Squared norms with a larger relative difference are not the same but for rounding.
SAME = 1e-9


class RunState:
    """The state of one fit of one binary problem. Algorithms read it, and change it by its methods.

    Parameters
    ----------
    data : BinaryData
    loss : margins.losses.Loss
    seed : int
    options : RunOptions
    watch : object or None
        Observes every full epoch; may end the run: see `margins.estimators.callbacks.Watch`.
    features : margins._sparse.Rows or None
        Of `data` that are rows of their Gram matrix: X, by which the run is to end.

    Attributes
    ----------
    data, loss, seed, options, features
        As given.
    orders : margins.data.permutations.Orders
        In which the samples are accessed.
    weights : WeightVector
    averaging : Averaging or None
        What averages iterates; None: the last one is the model.
    history : list of Epoch
    phases : list of PhaseRecord
        Those that have run.
    solver : Solver or None
        Of the last phase.
    n_epochs : int
    n_accesses : int
        Accesses of a sample.
    clean : bool
        True if the last full epoch changed nothing.
    converged : bool
    standstill : str or None
        Why the last full epoch, which changed nothing, is no convergence: misclassified samples that the
        update rule does not add.
    message : str or None
        Why the fit ended without the proof.
    """

    def __init__(
        self,
        data: BinaryData,
        loss: Loss,
        seed: int,
        options: RunOptions,
        watch=None,
        features: Rows | None = None,
    ):
        self.data, self.loss, self.seed, self.options = data, loss, seed, options
        self.features, self._watch = features, watch
        m = len(data)
        self.orders = Orders(
            m,
            data.rows,
            seed,
            proven=options.eps is not None,
            shuffle=options.shuffle,
            n_held_out=math.ceil(options.held_out * m),
        )
        if options.new_weights is None:
            self.weights = WeightVector(data.rows.n_features, m if options.keep_dual else 0)
        else:
            self.weights = options.new_weights(data)
        self._averaging = None if options.averaging is None else options.averaging(self.weights)
        self.averaging = self._averaging
        self._primal = None  # the model, if the solver of the last epoch has reported one
        self._certifier, self._rounding = Certifier(), Rounding()
        self.history: list[Epoch] = []
        self.phases: list[PhaseRecord] = []
        self.solver: Solver | None = None
        self.n_epochs = self.n_accesses = 0
        self._report: EpochReport | None = None  # of the epoch, as far as it has run
        self._checks_gap = True  # at the end of the last epoch
        self.clean = self.converged = False
        self.standstill = self.message = None

    def __copy__(self):
        """A run that may be certified and may leave its Gram matrix without a change of this one."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied._certifier, copied.orders = copy.copy(self._certifier), copy.copy(self.orders)
        return copied

    # What is solved, and what has been reached.

    @property
    def problem(self):
        """The samples and the loss: Problem."""
        return Problem(self.data, self.loss)

    @property
    def sqradius(self):
        """R^2, the largest squared norm of an augmented and extended sample."""
        return self.data.max_sqnorm

    @property
    def eps(self):
        """The accuracy to prove: float; None: only an epoch without changes ends the run."""
        return self.options.eps

    @property
    def max_iter(self):
        """The maximum number of full epochs: int."""
        return self.options.max_iter

    @property
    def theta(self):
        """The threshold of the score: float."""
        return self.options.theta

    @property
    def keep_dual(self):
        """True if the dual variables are kept."""
        return self.options.keep_dual

    @property
    def hypothesis(self):
        """The weight vector of the model."""
        if self._primal is not None:
            return self._primal
        if self.averaging is None:
            return self.weights
        return self.averaging.hypothesis(self.weights, self.data)

    @property
    def certificate(self):
        """That of the last full epoch at whose end it was computed: Certificate, or None."""
        return self._certifier.certificate

    @property
    def products(self):
        """w.y_k - theta l_k of the certified hypothesis: ndarray of float64, shape (m,), or None."""
        return self._certifier.products

    @property
    def primal_scale(self):
        """The factor by which the hypothesis attains the certified objective: float."""
        return self._certifier.primal_scale

    @property
    def dual_scale(self):
        """The factor by which the dual variables attain the certified objective: float."""
        return self._certifier.dual_scale

    @property
    def upper_bound(self):
        """|a| / S, which no margin exceeds; inf before the first update."""
        total = self.weights.dual_sum
        return math.sqrt(self.weights.sqnorm) / total if total > 0 else math.inf

    @property
    def finished(self):
        """True if the accuracy is proven, and an epoch has changed nothing if one must; or, without an
        accuracy to prove, if the run has converged."""
        if self.eps is None:
            return self.clean and self.standstill is None
        return (
            (self.clean or not self.options.needs_clean_pass)
            and self.certificate is not None
            and self.loss.is_proven(self.certificate, self.eps)
        )

    @property
    def solver_path(self):
        """The solvers that have run, in order: str."""
        return solver_path(self.phases)

    # What an algorithm may do between its phases.

    def bound_dual(self, upper):
        """Bound the dual variables from above by `upper`, a float or an array of shape (m,)."""
        self.data = self.data.with_limits(upper=of_each(upper, len(self.data)))

    def restart(self):
        """Begin again from 0; epochs and updates stay counted."""
        self.weights.clear()
        self._primal = None
        self._certifier.expire()

    def rescale(self, factor):
        """Multiply the weight vector and its dual variables by `factor` > 0."""
        self.weights.rescale(factor)
        self._certifier.expire()

    def rescale_to_feasible(self):
        """Rescale the dual variables to the best scale that the certificate has found."""
        if self.dual_scale > 0 and self.dual_scale != 1:
            self.rescale(self.dual_scale)
            self._certifier.note_feasible()

    def leave_gram(self):
        """Continue over X itself, if it was its Gram matrix until now: True if it was.

        Where rows are long beside the margin, the products with a weight vector are small sums of large
        inner products, and a certificate could not distinguish their rounding from a proof.
        """
        if self.features is None:
            return False
        before = self.weights.sqnorm
        self.data = self.data.over(self.features)
        self.weights = self.weights.over(self.data)
        self.orders.use(self.features)
        self.features = None
        self._forget_dual_unless(before)
        return True

    def certify(self):
        """Compute the certificate of the hypothesis as it is: one pass over all samples."""
        self._certifier.certify(self)

    def _forget_dual_unless(self, sqnorm):
        """Forget the best dual value, unless the weight vector had this squared norm all the time."""
        if not abs(self.weights.sqnorm - sqnorm) <= SAME * sqnorm:
            self._certifier.forget_dual()
