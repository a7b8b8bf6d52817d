"""The state of a run: how far a fit of one binary problem has come, and what algorithms may change."""

import copy
import math

import numpy as np

from margins._sparse import Rows
from margins._update import BinaryData, WeightVector
from margins.certificate import Certificate, Standing, features_sqnorm
from margins.data.binary_data import of_each
from margins.data.permutations import Orders
from margins.losses import Loss
from margins.losses._scaling import largest_factor
from margins.solvers.balance import balanced, is_balanced
from margins.solvers.base import (
    Ending,
    EpochReport,
    PhaseRecord,
    Problem,
    Solver,
)
from margins.solvers.certification import bounds_of, proven_bounds, returned_bounds, returned_point
from margins.solvers.costs import rows_per_chunk
from margins.solvers.history import Epoch
from margins.solvers.indefinite import known_indefinite, why_indefinite, with_model
from margins.solvers.outcome import Outcome, upper_bound_of
from margins.solvers.progress import Progress
from margins.solvers.rounding import Rounding
from margins.solvers.specification import Specification

# Squared norms with a larger relative difference differ by more than rounding.
SAME = 1e-9
# Below this relative improvement over a constant classifier, differences of objectives are too inexact.
SMALL = 1e-4


class RunState:
    """The state of one fit of one binary problem. Algorithms read it, and change it with its methods.

    Parameters
    ----------
    watch : object or None
        Observes every full epoch and may end the run; see `margins.estimators.callbacks.Watch`.
    features : margins._sparse.Rows or None
        If the rows of `data` form a Gram matrix: X, on which the run must end.

    Attributes
    ----------
    data : BinaryData
        The samples of the problem.
    theta : float
        Threshold of the score; at first from the specification.
    orders : margins.data.permutations.Orders
        Orders in which the samples are accessed.
    averaging : Averaging or None
        Averages the iterates; None: the last iterate is the model.
    phases : list of PhaseRecord
        Records of the phases that have run.
    solver : Solver or None
        Solver of the last phase.
    certificate : Certificate or None
        Certificate of the last full epoch at whose end it was computed.
    products : ndarray of float64, shape (m,), or None
        Products of the certified hypothesis with all samples: w.y_k - theta l_k.
    primal_scale, dual_scale : float
        Factors with which the hypothesis and the dual variables attain the certified objectives.
    n_accesses : int
        Accesses of a sample, without epochs that the time limit ended.
    end_of_time : float
        Time limit of the run, in seconds of `time.perf_counter`; inf: no limit.
    clean : bool
        True if the last full epoch changed nothing.
    is_warm : bool
        True if the run started from the dual variables of an earlier fit.
    standstill : str or None
        Why the last full epoch is not convergence, although it changed nothing.
    """

    def __init__(
        self,
        problem: Problem,
        seed: int,
        specification: Specification,
        watch=None,
        features: Rows | None = None,
    ):
        self.data: BinaryData = problem.data
        self.loss: Loss = problem.loss
        self._gram, self._original = problem.gram, problem.original
        self.seed, self.specification, self.theta = seed, specification, specification.theta
        self.features, self._watch = features, watch
        data, m = self.data, len(self.data)
        self.indefinite = known_indefinite(data) if data.rows.is_kernel else None
        self.orders = Orders(
            m,
            seed,
            proven=specification.eps is not None,
            shuffle=specification.shuffle,
            n_held_out=math.ceil(specification.held_out * m),
            rows_per_chunk=rows_per_chunk(data.rows),
        )
        if specification.new_weights is None:
            self.weights = WeightVector(data.rows.n_features, m if self.keep_dual else 0)
        else:
            self.weights = specification.new_weights(data)
        averaging = specification.averaging
        self.averaging = self._averaging = None if averaging is None else averaging(self.weights)
        self._primal = None  # the model, if the solver of the last epoch reported one
        self._rounding: Rounding | None = None  # None: no solver requires its correction
        self.certificate, self.products, self.primal_scale, self.dual_scale = None, None, 1.0, 1.0
        self._best_dual, self._standing = 0.0, None
        scaling = math.inf if data.has_free_intercept else data.sq_intercept_scaling
        self._constant = self.loss.constant_objective(data.signs, scaling)
        # _is_as_returned: the certificate is for the rounded coefficients
        self._is_certified = self._is_as_returned = False
        self.history: list[Epoch] = []
        self.phases: list[PhaseRecord] = []
        self.solver: Solver | None = None
        self.n_epochs = self.n_accesses = 0
        self.end_of_time = math.inf
        self._progress = Progress(specification.patience) if specification.patience else None
        self._report: EpochReport | None = None  # report on the epoch, as far as it has run
        self._checks_gap, self.clean, self.is_warm = True, False, False  # at the end of the last epoch
        self.standstill: str | None = None
        self._stop: Ending | None = None  # the reason, if the last epoch ends the run
        self._why_infeasible: str | None = None

    def __copy__(self):  # a copy can be certified, or leave its Gram matrix, without changing this run
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.orders = copy.copy(self.orders)
        return copied

    @property
    def eps(self):
        """The accuracy to prove; None: only a full epoch without changes ends the run."""
        return self.specification.eps

    @property
    def max_iter(self):
        """The maximum number of full epochs."""
        return self.specification.max_iter

    @property
    def keep_dual(self):
        """True if the dual variables are kept."""
        return self.specification.keep_dual or self.data.rows.is_kernel

    @property
    def required_gap(self):
        """The relative duality gap that, as far as is known, proves the accuracy."""
        gap, share = self.loss.required_gap(self.eps), self.specification.required_improvement
        if share == 0 or not self._best_dual > 0:
            return gap
        return min(gap, self._standing.required_gap(share, self.certificate.primal, self._best_dual))

    @property
    def problem(self):
        """The samples and the loss, as a Problem."""
        return Problem(self.data, self.loss, self._gram)

    @property
    def sqradius(self):
        """R^2, the largest squared norm of a sample, including bias and slack term."""
        return self.data.max_sqnorm

    @property
    def hypothesis(self):
        """The weight vector of the model."""
        if self._primal is not None:
            return self._primal
        if self.averaging is None:
            return self.weights
        return self.averaging.hypothesis(self.weights, self.data)

    @property
    def upper_bound(self):
        """|a| / S, which no margin exceeds; inf before the first update."""
        return upper_bound_of(self.weights)

    @property
    def finished(self):
        """True if the accuracy is proven or, without an accuracy to prove, the run has converged."""
        if self.eps is None:
            return self.clean and self.standstill is None
        return (self.clean or not self.specification.needs_clean_pass) and self.is_proven

    @property
    def is_proven(self):
        """True if there is an accuracy to prove and the certificate proves it."""
        is_known = self.certificate is not None and self.eps is not None
        return is_known and self.specification.is_proven(self.loss, self.certificate)

    def bound_dual(self, upper):
        """Bound the dual variables from above by `upper`, a float or an array of shape (m,)."""
        self.data = self.data.with_limits(upper=of_each(upper, len(self.data)))

    def restart(self):
        """Restart from 0; epochs and updates stay counted."""
        self.weights.clear()
        self._primal, self._is_certified, self.products = None, False, None

    def resume(self, weights, averaging):
        """Start from the weights of an earlier run and its averaging, instead of 0."""
        self.weights = weights
        self.averaging = self._averaging = averaging

    def start_from(self, dual):
        """Start from dual variables, bounded or scaled to be feasible, and certify them.

        `rescale_to_feasible` gives solvers their scale, with functional margin 1.
        """
        upper = of_each(self.loss.upper, len(self.data))
        starts = [np.minimum(dual, upper)]
        if (dual > upper).any():
            starts.insert(0, dual * largest_factor(dual, upper))
        best = -math.inf
        for start in starts:
            self.weights.assign(self.data, start)
            self._best_dual = 0.0
            self.certify()
            value, best = self.certificate.dual, max(best, self.certificate.dual)
        if value < best:  # the first is better
            self.weights.assign(self.data, starts[0])
            self.certify()
        self.is_warm = self.weights.dual_sum > 0

    def set_threshold(self, theta):
        """Set the threshold theta of the score, which is then ``a.x - theta``."""
        self.theta = theta
        self._is_certified = False

    def rescale(self, factor):
        """Multiply the weight vector and its dual variables by `factor` > 0."""
        self.weights.rescale(factor)
        self._is_certified = False

    def rescale_to_feasible(self):
        """Rescale the dual variables to the best scale that the certificate has found."""
        if self.dual_scale > 0 and self.dual_scale != 1:
            self.rescale(self.dual_scale)
            self.dual_scale = 1.0

    def recentre(self, shift=0.0):
        """Balance the dual variables; a free intercept moves by rho^2 `shift`."""
        data = self.data
        dual = balanced(self.weights.dual, data.upper_bounds, data.signs)
        self.weights.recentre(data, dual, shift)

    def leave_gram(self):
        """Continue with X instead of its Gram matrix; return True if it was in use.

        If rows are long relative to the margin, the products with a weight vector are small sums of
        large inner products, and a certificate could not distinguish their rounding from a proof.
        """
        if self.features is None:
            return False
        sqnorm_before = self.weights.sqnorm
        self.data = self.data.over(self.features)
        self.weights = self.weights.over(self.data)
        self.orders.rows_per_chunk = rows_per_chunk(self.features)
        self.features = None
        self._forget_dual_unless(sqnorm_before)
        return True

    def certify(self, products=None):
        """Compute the certificate of the hypothesis, by a pass over all samples or its products."""
        is_model = self._primal is None and self.averaging is None
        if products is None and is_model and not is_balanced(self.weights, self.data):
            self.recentre()
        self.products = None  # so that memory holds only one such array at a time
        bounds, self.products = bounds_of(
            self.hypothesis,
            self.weights,
            self.data,
            self.loss,
            self.theta,
            self.specification.model_scale,
            products,
        )
        bounds = proven_bounds(bounds, self.data, self.weights, self._n_accesses_since_summed)
        if self.data.rows.is_kernel and not self.indefinite:
            self.indefinite = why_indefinite(self.data, self.weights)
        if self.indefinite:
            self._best_dual, bounds = 0.0, with_model(bounds, self.loss, self.products)
        self._best_dual = max(self._best_dual, bounds.dual)  # every dual value stays proven
        self.primal_scale, self.dual_scale = bounds.primal_scale, bounds.dual_scale
        self._standing = self._standing_of(bounds)
        self.certificate = self._certificate_of(bounds)
        self._is_certified, self._is_as_returned = True, False

    def _standing_of(self, bounds):
        """Return the standing of the hypothesis, whose products are known."""
        scale, constant = self.specification.model_scale, self._constant
        scale = bounds.primal_scale if scale is None else scale
        standing = Standing(constant, scale * math.sqrt(features_sqnorm(self.hypothesis, self.data)))
        if self.weights.dual is None or not constant - bounds.dual < SMALL * constant < math.inf:
            return standing
        from margins.solvers.improvement import accurate_gap  # few fits need it

        return standing._replace(accurate_gap=accurate_gap(self, bounds, scale))

    def _certificate_of(self, point, standing=None):
        """Return the certificate of `point`, Bounds or ReturnedPoint, and the best dual value so far."""
        dual, standing = self._best_dual, self._standing if standing is None else standing
        improvement = 0.0 if self.indefinite else standing.improvement(point.primal, dual)
        return Certificate.from_bounds(
            point.primal, dual, self.weights.n_updates, point.margin, improvement
        )

    @property
    def _sums_are_fresh(self):
        """True if the weight vector has just been summed from the dual variables."""
        return self.solver is not None and self.solver.sums_are_fresh

    @property
    def _n_accesses_since_summed(self):
        """Accesses that may have rounded the weight vector since it was last summed."""
        if self._sums_are_fresh:
            return 0
        return self.n_accesses - (0 if self._rounding is None else self._rounding.n_accesses_summed)

    def certify_as_returned(self):
        """Certify the primal value of the rounded coefficients, if rounding makes a difference."""
        if self._is_as_returned:
            return
        self._is_as_returned = True
        if self.data.rows.is_kernel and not self.indefinite:
            self.indefinite = why_indefinite(self.data, self.weights, closely=True)
        if self.indefinite:
            self._best_dual, self.certificate = 0.0, self.certificate.without_bound()
            return
        data, theta = self.data, self.theta
        if self._original is not None:  # the intercept is rounded when it moves back
            data, centre = self._original
            theta += float(self.hypothesis.weights @ centre)
        state = dict(theta=theta, products=self.products, n_accesses=self._n_accesses_since_summed)
        primal, scale = self.certificate.primal, self.specification.model_scale
        if scale is None:
            point = returned_point(
                self.loss,
                data,
                self.hypothesis,
                scale=self.primal_scale,
                primal=primal,
                sums_are_fresh=self._sums_are_fresh,
                **state,
            )
            if point is not None:
                self.primal_scale = point.scale
        else:
            point = returned_bounds(
                self.loss,
                self.data,
                self.hypothesis,
                self.weights,
                scale=scale,
                primals=[(scale, primal), (self.primal_scale, self.certificate.rescaled_primal)],
                **state,
            )
        if point is not None:
            self._standing = self._standing.raised(point.primal - primal)
            self.certificate = self._certificate_of(point)

    def outcome(self, ending=None, detail=None):
        """Return the outcome of the run, as if it ended now (Outcome)."""
        data, scale = self.data, self.specification.model_scale
        return Outcome(
            specification=self.specification,
            data=data.over(Rows(None, 0, 0)) if data.rows.is_kernel else data,  # no cache of rows
            hypothesis=self.hypothesis,
            weights=self.weights,
            certificate=self.certificate,
            ending=ending,
            detail=detail,
            history=self.history,
            phases=self.phases,
            loss=self.loss,
            scale=self.primal_scale if scale is None else scale,
            theta=self.theta,
            dual_scale=self.dual_scale,
            n_epochs=self.n_epochs,
            n_accesses=self.n_accesses,
            indefinite=self.indefinite,
            required_gap=None if self.eps is None else self.required_gap,
            averaging=self.averaging,
            orders=self.orders,
            loop=getattr(self.solver, "loop", None),
        )

    def _forget_dual_unless(self, sqnorm):
        """Forget the best dual value unless the weight vector still has this squared norm."""
        if not abs(self.weights.sqnorm - sqnorm) <= SAME * sqnorm:
            self._best_dual = 0.0
