"""What every run returns: the model of one binary problem, its proof, and how the run ended."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from margins.data.binary_data import array_of_each
from margins.solvers.balance import balanced
from margins.solvers.base import Ending, PhaseRecord, solver_path
from margins.solvers.history import Epoch
from margins.solvers.specification import Specification


class Outcome(NamedTuple):
    """The outcome of a run: of samples in memory or in partitions, of a stream, of many runs at once."""

    specification: Specification
    # The samples without rows of a kernel: labels, weights, slack terms and intercept. For samples in
    # partitions, a summary.
    data: Any
    hypothesis: Any  # the weight vector of the model before scaling: `weights`, `dual`, `label_sum`
    weights: Any  # the last iterate, from which training may continue
    certificate: Any  # Certificate, or None of a stream
    ending: Ending | None  # None: the run has not ended
    history: list[Epoch]
    phases: list[PhaseRecord]
    detail: str | None = None  # reason for a standstill or an infeasible problem
    loss: Any = None  # Loss; None: nothing was trained, because a class has no samples
    scale: float = 1.0  # factor from the hypothesis to the model
    theta: float = 0.0  # threshold of the score of the hypothesis
    dual_scale: float = 1.0  # factor from the dual variables to those of the certificate
    n_epochs: int = 0
    n_accesses: int = 0
    # Evidence that the kernel is not positive semidefinite, so that no dual value is a bound.
    indefinite: str | None = None
    # The relative duality gap that would have proven the accuracy; None: it is proven, or there is none.
    required_gap: float | None = None
    averaging: Any = None  # the averaging or selection of iterates, with its votes
    orders: Any = None  # the orders in which the samples were accessed
    loop: Any = None  # the state of a solver with a separate loop
    # Once the weights are stored elsewhere: all that is left of the vectors above.
    dual_of_stored: Any = None

    @property
    def converged(self):
        """True if the run has ended and reached its goal."""
        return self.ending is not None and self.ending.has_converged

    @property
    def message(self):
        """The reason why the run ended without the proof; None if it converged or has not ended."""
        if self.ending is None or self.converged:
            return None
        limits = dict(max_iter=self.specification.max_iter, max_time=self.specification.max_time)
        return self.ending.describe(**limits, detail=self.detail)

    @property
    def solver_path(self):
        """The names of the solvers that ran, in order, joined by ' + '."""
        return solver_path(self.phases)

    @property
    def upper_bound(self):
        """|a| / S, which no margin exceeds; inf before the first update."""
        return upper_bound_of(self.weights)

    def intercept(self, centre=None):
        """Return the intercept of the model; `centre`: the point from which features are measured."""
        theta = self.theta if centre is None else self.theta + float(self.hypothesis.weights @ centre)
        bias = self.data.sq_intercept_scaling * self.hypothesis.label_sum
        return float(self.scale * (bias - theta))


def dual_of(outcome):
    """Return the dual variables that the certificate of a linear run uses (ndarray, shape (m,))."""
    if outcome.hypothesis is None:
        return outcome.dual_of_stored
    dual, data = outcome.dual_scale * outcome.hypothesis.dual, outcome.data
    if not data.has_free_intercept:
        return dual
    # Take the bounds of the loss: the bounds in the data belong to the solver's multiple of the dual.
    return balanced(dual, array_of_each(outcome.loss.upper, len(dual)), data.signs)


def without_weights(outcome):
    """Return an outcome that has only dual variables, because its weights are stored elsewhere."""
    freed = dict.fromkeys(("hypothesis", "weights", "averaging", "orders", "loop"))
    dual = dual_of(outcome) if outcome.specification.keep_dual else None
    return outcome._replace(dual_of_stored=dual, **freed)


def hypothesis_of(weights, averaging, data):
    """Return the weight vector that predicts: the average of the iterates or, without one, the last."""
    return weights if averaging is None else averaging.hypothesis(weights, data)


def upper_bound_of(weights):
    """Return |a| / S, which no margin exceeds; inf before the first update."""
    total = weights.dual_sum
    return math.sqrt(weights.sqnorm) / total if total > 0 else math.inf
