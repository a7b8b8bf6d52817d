"""Newton steps: the dual variables of many patterns at once.

Visits of single patterns find out soon which patterns matter, and then settle slowly how much each
does. Where features are few, the second question is better answered for all patterns together: a
Newton step costs a few passes, and a handful of steps is all it takes.

An epoch here looks at all patterns once, as any full epoch does, and leaves out those that will most
likely stay where they are: the dual variable at a bound, and the margin further from 1 than the last
epoch has moved margins. Over the others it minimises the objective by Newton steps, until little is
left to gain. The steps move a weight vector w, the primal side; the dual variables
that belong to w become those of the run, so the certificate holds as after any other epoch, and at the
optimum the two sides are one.

The hinge loss has a kink: it is rounded off around the dual variables found so far, less and less (the
augmented Lagrangian method).

**Source**: Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large scale
linear SVMs; Yan & Li (2020), An efficient augmented Lagrangian method for support vector machine.
"""

import math

import numpy as np
from scipy.linalg.lapack import dposv

from margins._newton import (
    add_to_hessian,
    combination,
    dense_rows,
    dual_variables,
    movable,
    products,
    slope,
)
from margins.certificate import Hinge
from margins.threads import one_thread

# The hinge loss is rounded off over a width of 1 / factor around 1; the first factor, and its growth.
FIRST_FACTOR = 1.0
GROWTH = 2.0

# An epoch ends when what is left to gain is this share of what it was, or of what is asked for. Larger
# shares mean more epochs, smaller ones more steps over patterns that others will have replaced.
LEFT = 0.03
LEFT_OF_ASKED = 0.5
MOST_STEPS = 50
# So many epochs in a row that gain nothing are the end: what is left is rounding. Not fewer: what is
# left to gain is that of the patterns of the epoch, and grows when others join them. With 3 the hinge
# loss with C >= 1e4 was given up far from its optimum, one fit in ten.
PATIENCE = 10

# A line search ends when the slope is this share of what it was.
FLAT = 0.1
MOST_SLOPES = 30

# Patterns whose share of non-zero elements is larger are multiplied as dense ones, in blocks.
DENSE = 0.2
BLOCK = 256


def serves(patterns, problem):
    """True if features are few: if the Hessian has no more elements than the patterns.

    Parameters
    ----------
    patterns : Patterns
    problem : HardMargin, SquaredHinge or Hinge
        A hard margin has no objective to step along.
    """
    if patterns.rows.is_kernel or not hasattr(problem, "C"):
        return False
    n = patterns.rows.n_features + (patterns.sqrho > 0)
    # Patterns are counted before their elements are.
    return n <= len(patterns) and n**2 <= patterns.rows.n_nonzero()


class NewtonEpochs:
    """Full epochs by Newton steps, for `Stage.joint`, and the weight vector that they have reached.

    They start from the weight vector that the run's certificate has found best; the run's own is
    brought to the same scale, w.y_k = 1 at the margin, whether or not a step is made.

    Parameters
    ----------
    run : margins.training.Run
        With a certificate.
    """

    def __init__(self, run):
        self.patterns, weights = run.patterns, run.weights
        m = len(self.patterns)
        self._dual_side = weights
        self._rho = math.sqrt(self.patterns.sqrho)
        self._everyone = np.arange(m, dtype=np.int32)
        self.bounded = isinstance(run.problem, Hinge)
        self.C = np.ascontiguousarray(np.broadcast_to(np.asarray(run.problem.C, dtype=float), m))
        self.w = run.primal_scale * weights.weights
        if self._rho > 0:
            self.w = np.append(self.w, run.primal_scale * self._rho * weights.label_sum)
        self.margins = products(self.patterns, self._everyone, self.w)
        if run.dual_scale > 0:
            weights.rescale(run.dual_scale)
        if self.bounded:
            self.factor = FIRST_FACTOR
            self.alpha = np.minimum(weights.dual, self.C)
        else:
            self.factor = 2.0
            self.alpha = self.factor * self.C * np.maximum(1 - self.margins, 0)
        self._band = math.inf
        self.curvature = Curvature(self.patterns, self.C)
        self._least, self._n_vain = math.inf, 0
        self._best_value, self._best, self._has_begun = -math.inf, None, False
        self._keep_best(weights, 1.0)

    def _keep_best(self, weights, scale):
        """Keep these dual variables, which `scale` makes feasible, if none have proven more."""
        value = scale * weights.dual_sum - 0.5 * scale * scale * weights.sqnorm
        if value > self._best_value:
            self._best_value, self._best = value, scale * weights.dual

    def _end(self, run):
        """Leave the run the best dual variables: those of a w lost in rounding may be anything."""
        if self._best is not None:
            best = np.minimum(self._best, self.C) if self.bounded else self._best
            run.weights.assign(self.patterns, best)

    # What a run asks of the weight vector that it reads out.

    @property
    def weights(self):
        """The weights of the features: ndarray of float64, shape (n_features,)."""
        return self.w[: self.patterns.rows.n_features]

    @property
    def dual(self):
        """The run's dual variables: those of w, unless no step was made, or the run has gone on."""
        return self._dual_side.dual

    @property
    def label_sum(self):
        """The bias is rho^2 times it."""
        return self.w[-1] / self._rho if self._rho > 0 else 0.0

    def products(self, patterns):
        """w.y_k of all patterns: ndarray of float64, shape (m,)."""
        return self.margins

    def ordinary_sqnorm(self, patterns):
        """|w|^2 over features and bias."""
        return float(self.w @ self.w)

    def __call__(self, run):
        """Play one epoch.

        Returns
        -------
        n_changed, n_visits : int
            How many patterns it has concerned, 0: nothing is left to gain; and how many presentations
            it is worth: one of every pattern, and at each step one of each pattern concerned.
        """
        m = len(self.patterns)
        if self._has_begun:
            self._keep_best(run.weights, run.dual_scale)
        self._has_begun = True
        members = movable(
            self.margins, self.alpha, self.C, self.bounded, self.curvature.held, self._band
        )
        rest = self.alpha.copy()
        rest[members] = 0
        others = combination(self.patterns, self._everyone, rest)
        # What is asked for, in units of the objective.
        gap = run.eps if self.bounded else 1 / (1 - run.eps) ** 2 - 1
        with np.errstate(all="ignore"), one_thread:  # what is not finite is refused
            objective = Objective(self, members, others)
            n_steps = objective.minimise(LEFT_OF_ASKED * gap * run.certificate.dual)
            margins = products(self.patterns, self._everyone, objective.w)
            band = float(np.abs(margins - self.margins).mean())
        n_visits = m + n_steps * len(members)
        if n_steps == 0 or not math.isfinite(objective.gap + band):
            self._end(run)
            return 0, n_visits
        self._band = band
        self.w, self.margins, self.factor = objective.w, margins, objective.factor
        self.alpha[members] = objective.dual
        # Summed afresh: `objective.w - objective.gradient` holds what sums and differences of earlier
        # vectors have lost, and the certificate would be false.
        run.weights.assign(self.patterns, self.alpha)
        self._n_vain = 0 if objective.gap < self._least else self._n_vain + 1
        self._least = min(self._least, objective.gap)
        if self._n_vain < PATIENCE:
            return len(members), n_visits
        self._end(run)
        return 0, n_visits


class Objective:
    """The objective as a function of what some patterns contribute, the others' dual variables held.

    Parameters
    ----------
    epochs : NewtonEpochs
        From where it starts.
    members : ndarray of int32
        The patterns, ascending.
    others : ndarray of float64, shape (n,)
        sum_k alpha_k y_k over the other patterns.

    Attributes
    ----------
    w : ndarray of float64, shape (n,)
    factor : float
    dual : ndarray of float64
        The members' dual variables that belong to w.
    gradient : ndarray of float64, shape (n,)
    gap : float
        Distance of the primal and the dual value.
    """

    def __init__(self, epochs, members, others):
        self._patterns, self._members, self._others = epochs.patterns, members, others
        self._bounded, self._curvature = epochs.bounded, epochs.curvature
        self.w, self.factor = epochs.w, epochs.factor
        self._margins, self._C = epochs.margins[members], epochs.C[members]
        self._centre = epochs.alpha[members] if self._bounded else np.zeros(len(members))
        self.dual = np.empty(len(members))
        self._free = np.empty(len(members), dtype=np.int8)
        self._settle()

    def minimise(self, goal):
        """Make Newton steps until the gap is small: how many."""
        goal = max(goal, LEFT * self.gap)
        for n_steps in range(MOST_STEPS):
            if self.gap <= goal:
                return n_steps
            # Rounded off as it is, the loss has little left to lose: round it off less.
            if self._bounded and 0.5 * self.gradient @ self.gradient <= self._distance:
                self._centre = self.dual.copy()
                self.factor *= GROWTH
                self._settle()
            if not self._step():
                return n_steps
        return MOST_STEPS

    def _settle(self):
        """Find what belongs to w."""
        self._distance = dual_variables(
            self._margins, self._centre, self._C, self.factor, self._bounded, self.dual, self._free
        )
        combined = combination(self._patterns, self._members, self.dual)
        self.gradient = self.w - self._others - combined
        self.gap = 0.5 * float(self.gradient @ self.gradient) + self._distance

    def _step(self):
        """Make one Newton step: False if there is none downwards."""
        self._curvature.update(self._members, self._free)
        step = self._curvature.solve(self.factor, -self.gradient)
        if step is None or not self.gradient @ step < 0:
            return False
        ahead = self.w + step
        margins = products(self._patterns, self._members, ahead)
        t = self._line_search(step, margins)
        if t == 1:
            self.w, self._margins = ahead, margins
        else:
            self.w = self.w + t * step
            self._margins = (1 - t) * self._margins + t * margins
        self._settle()
        return True

    def _line_search(self, step, ahead):
        """How far to go: where the slope, which grows along the step and jumps nowhere, is about 0."""
        linear, square = float((self.w - self._others) @ step), float(step @ step)
        flat = FLAT * abs(float(self.gradient @ step))
        low, high, t = 0.0, math.inf, 1.0
        for _ in range(MOST_SLOPES):
            pull, curvature = slope(
                self._margins, ahead, self._centre, self._C, self.factor, self._bounded, t
            )
            now = linear + t * square - pull
            if abs(now) <= flat:
                break
            low, high = (low, t) if now > 0 else (t, high)
            if not square + curvature > 0:  # squares of a step that is too short for them
                break
            t -= now / (square + curvature)
            if not low < t < high:
                t = 0.5 * (low + high) if high < math.inf else 2 * low
        return t


class Curvature:
    """The sum of C_k y_k y_k^T over the free patterns, kept from step to step.

    Parameters
    ----------
    patterns : Patterns
    C : ndarray of float64, shape (m,)

    Attributes
    ----------
    held : ndarray of int8, shape (m,)
        1 for the patterns in the sum.
    """

    def __init__(self, patterns, C):
        self._patterns, self._C = patterns, C
        n = patterns.rows.n_features + (patterns.sqrho > 0)
        self.held = np.zeros(len(patterns), dtype=np.int8)
        self._sum, self._room = np.zeros((n, n)), np.empty((n, n))  # the lower triangle counts
        self._is_dense = patterns.rows.n_nonzero() > DENSE * len(patterns) * n

    def update(self, members, free):
        """Add the members that have become free, and take away those that no longer are."""
        changed = np.flatnonzero(free != self.held[members])
        members, free = members[changed], free[changed]
        self.held[members] = free
        for sign, chosen in ((1, members[free == 1]), (-1, members[free == 0])):
            if self._is_dense:
                self._add_blocks(sign, chosen)
            else:
                add_to_hessian(self._patterns, chosen, sign * self._C[chosen], self._sum)

    def _add_blocks(self, sign, members):
        block = np.empty((min(BLOCK, len(members)), len(self._sum)))
        for begin in range(0, len(members), BLOCK):
            some = members[begin : begin + BLOCK]
            rows = block[: len(some)]
            dense_rows(self._patterns, some, np.sqrt(self._C[some]), rows)
            self._sum += sign * (rows.T @ rows)

    def solve(self, factor, vector):
        """Solve (I + factor * the sum) x = vector; None if rounding does not allow it."""
        np.multiply(self._sum, factor, out=self._room)
        self._room.flat[:: len(self._room) + 1] += 1
        # The lower triangle by rows is the upper one by columns, as LAPACK wants it.
        _, x, trouble = dposv(self._room.T, vector, lower=0, overwrite_a=1)
        return x if trouble == 0 and np.isfinite(x).all() else None
