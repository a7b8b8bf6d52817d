"""Newton steps: the dual variables of many patterns at once.

Visits of single patterns find out soon which patterns matter, and then settle slowly how much each
does. Where features are few, the second question is better answered for all patterns together: a
Newton step costs a few passes, and a handful of steps is all it takes. Where they are too many for a
Hessian to be written down, but patterns are many more, it still is answered so by products with it: a
step costs some tens of passes then. (50,000 patterns of 8 ones among 4000 features, squared hinge loss,
gap 1e-3, C = 1000: 25 ms, 394 by visits alone.)

An epoch here looks at all patterns once, as any full epoch does, and leaves out those that will most
likely stay where they are: the dual variable at a bound, and the margin further from 1 than the last
epoch has moved margins. Over the others it minimises the objective by Newton steps, until little is
left to gain. The steps move a weight vector w, the primal side; the dual variables that belong to w
become those of the run, so the certificate holds as after any other epoch, and at the optimum the two
sides are one. The squared hinge loss mostly needs one such epoch.

The hinge loss has a kink: it is rounded off around the dual variables found so far, less and less (the
augmented Lagrangian method).

**Source**: Keerthi & DeCoste (2005), A modified finite Newton method for fast solution of large scale
linear SVMs; Yan & Li (2020), An efficient augmented Lagrangian method for support vector machine.
"""

import math

import numpy as np

from margins.certificate import HardMargin, Hinge
from margins.data.binary_problem import of_each
from margins.linalg.threads import one_thread
from margins.losses._smoothed import Losses, steepness
from margins.solvers.newton._dense_hessian import SummedCurvature
from margins.solvers.newton._hessian_vector import ImplicitCurvature
from margins.solvers.newton._objective import Objective, combination, mean_distance, movable, products

# The hinge loss is rounded off over a width of 1 / factor around 1, that of long patterns over more; the
# first factor.
FIRST_FACTOR = 2.0

# An epoch ends when what is left to gain is this share of what is asked for. The rest is for what
# rounding, and patterns that the epoch has left out, may add; steps are few, and each one tells.
LEFT_OF_ASKED = 0.9
# Of the hinge loss, which takes many steps, an epoch may also end when so little is left of what was:
# the next one leaves out more patterns. Larger shares mean more epochs, smaller ones more steps over
# patterns that others will have replaced. Not so where a step over all of them costs less than an
# epoch does: where there are so few elements.
LEFT = 0.01
FEW_ELEMENTS = 20_000
MOST_STEPS = 50
# The proof is not looked for where an epoch leaves more than so many times the gap that is asked for: at
# most other multiples of w and of its dual variables could prove it. (Hinge loss within 1e-4: spambase
# 0.84 of the time, Adult 0.90, Web 0.92, 13 sets 0.96.)
FAR = 2.0
# So many epochs in a row that gain nothing are the end: what is left is rounding. Not fewer: what is
# left to gain is that of the patterns of the epoch, and grows when others join them. With 3 the hinge
# loss with C >= 1e4 was given up far from its optimum, one fit in ten.
PATIENCE = 10

# Without a small Hessian: passes over all patterns that steps take, those of the hinge loss more, and
# how often as many they may take before they are given up.
PASSES, PASSES_OF_HINGE, MORE_PASSES = 100, 300, 3

# Patterns are few if they are at most so many times the features.
FEW = 3

# Steps start at the best multiple of a weight vector, unless that is nearly w = 0: then slacks are large
# at any multiple, and the dual variables know more. (Hinge loss, C = 1000, columns from 1e-4 to 1e4: of
# 40 fits 20 did not converge from there, 5 from the scale of the dual variables.)
NOT_NOTHING = 0.1


def serves(patterns, problem):
    """True if Newton steps pay: if the Hessian is small, or patterns are many beside the features.

    Parameters
    ----------
    patterns : Patterns
    problem : HardMargin, SquaredHinge or Hinge
        A hard margin has no objective to step along.
    """
    if patterns.rows.is_kernel or isinstance(problem, HardMargin):
        return False
    return has_small_hessian(patterns) or not are_few(patterns)


def has_small_hessian(patterns):
    """True if the Hessian has no more elements than the patterns: features are few."""
    n = patterns.rows.n_features + (patterns.sqrho > 0)
    # Patterns are counted before their elements are.
    return n <= len(patterns) and patterns.rows.has_nonzeros(n**2)


def are_few(patterns):
    """True if patterns are few beside the features: they may well be separable.

    Many of them then are at the margin, visits settle them soon, and each Newton step changes which they
    are.

    **Source**: Cover (1965), Geometrical and statistical properties of systems of linear inequalities:
    of patterns in general position, labelled at random, twice as many as features are separable in one
    case of two.
    """
    return len(patterns) <= FEW * patterns.rows.n_features


def passes_of_products(problem):
    """About how many passes over all patterns steps take, where the Hessian is not small."""
    return PASSES_OF_HINGE if isinstance(problem, Hinge) else PASSES


class NewtonEpochs:
    """Full epochs by Newton steps, for `Stage.joint`, and the weight vector that they have reached.

    They start from the weight vector that the run's certificate has found best; the run's own is
    brought to the same scale, w.y_k = 1 at the margin, whether or not a step is made.

    Parameters
    ----------
    run : margins.solvers.driver.Run
        With a certificate of the weight vector as it is, or before its first epoch.
    """

    def __init__(self, run):
        self.patterns, weights = run.patterns, run.weights
        m = len(self.patterns)
        self._dual_side = weights
        self._rho = math.sqrt(self.patterns.sqrho)
        self._everyone = np.arange(m, dtype=np.int32)
        self.bounded = isinstance(run.problem, Hinge)
        self.C = np.ascontiguousarray(of_each(run.problem.C, m))
        self.w = np.empty(self.patterns.rows.n_features + (self._rho > 0))
        start, scale = run.hypothesis, run.primal_scale
        if self.bounded and scale < NOT_NOTHING * run.dual_scale:
            scale = run.dual_scale
        np.multiply(start.weights, scale, out=self.weights)
        if self._rho > 0:
            self.w[-1] = scale * self._rho * start.label_sum
        self.margins = np.zeros(m) if run.products is None else scale * run.products
        if run.dual_scale > 0:
            weights.rescale(run.dual_scale)
            run.dual_scale = 1.0
        if self.bounded:
            self.factor = FIRST_FACTOR
            self.steepness = steepness(self.C, self.patterns.ordinary_sqnorms)
            self.alpha = np.minimum(weights.dual, self.C)
            self._left = LEFT if self.patterns.rows.has_nonzeros(FEW_ELEMENTS + 1) else 0.0
        else:
            self.factor, self._left = 2.0, 0.0
            self.steepness = self.C
            self.alpha = None  # before the first epoch, nobody asks for those of w
        self._band = math.inf
        self.curvature = None  # large: not before an epoch is played
        self._least, self._n_vain = math.inf, 0
        self._best_value = -math.inf
        self._best = None  # dual variables, and by what they are to be multiplied

    def _keep_best(self, weights, scale):
        """Keep these dual variables, which `scale` makes feasible, if none have proven more."""
        value = scale * weights.dual_sum - 0.5 * scale * scale * weights.sqnorm
        if value > self._best_value and weights.dual_sum > 0:
            self._best_value, self._best = value, (weights.dual, scale)

    def _end(self, run):
        """Leave the run the best dual variables: those of a w lost in rounding may be anything."""
        if self._best is not None:
            dual, scale = self._best
            best = scale * dual
            run.weights.assign(self.patterns, np.minimum(best, self.C) if self.bounded else best)

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
            it is worth: one of every pattern, at each step one of each pattern concerned, and of those
            that products with the Hessian read.
        """
        m = len(self.patterns)
        if self.curvature is None:
            self.curvature = self._new_curvature(run.problem)
        self._keep_best(run.weights, run.dual_scale)
        members, others, others_sum = self._members()
        n_read = self.curvature.n_read
        with one_thread:
            losses = self._losses(members)
            objective = Objective(
                self.patterns,
                members,
                others,
                others_sum,
                self.w,
                self._copy_of(self.margins, members),
                losses,
                self.curvature,
            )
            asked = run.problem.gap_of(run.eps)
            n_steps = objective.minimise(LEFT_OF_ASKED * asked, self._left * objective.gap, MOST_STEPS)
        if members is self._everyone and objective.is_exact:
            margins = objective.margins
        else:
            margins = products(self.patterns, self._everyone, objective.w)
        band = mean_distance(margins, self.margins)
        n_visits = m + n_steps * len(members) + self.curvature.n_read - n_read
        if not math.isfinite(objective.gap + band):
            self._end(run)
            return 0, n_visits
        self._band = band
        self.w, self.margins, self.factor = objective.w, margins, losses.factor
        if members is self._everyone:
            self.alpha = objective.dual
        else:
            self.alpha[members] = objective.dual
        # Their sums, not w less the gradient, which holds what sums and differences of earlier vectors
        # have lost: the certificate would be false.
        run.weights.assign(self.patterns, self.alpha, others + objective.combination)
        run.dual_scale = 1.0
        self._n_vain = 0 if objective.gap < self._least else self._n_vain + 1
        self._least = min(self._least, objective.gap)
        # Without a step w may be the optimum, which its dual variables are to prove.
        if n_steps > 0 and self._n_vain < PATIENCE:
            run.proof_is_far = objective.gap > FAR * asked * objective.value
            return len(members), n_visits
        self._keep_best(run.weights, 1.0)
        self._end(run)
        return 0, n_visits

    def _new_curvature(self, problem):
        if has_small_hessian(self.patterns):
            return SummedCurvature(self.patterns, self.steepness)
        most_read = MORE_PASSES * passes_of_products(problem) * len(self.patterns)
        return ImplicitCurvature(self.patterns, self.steepness, most_read)

    def _members(self):
        """The patterns that the epoch concerns, and what the others and their alpha sum to."""
        if math.isinf(self._band):
            return self._everyone, np.zeros(len(self.w)), 0.0
        members = movable(
            self.margins, self.alpha, self.C, self.bounded, self.curvature.held, self._band
        )
        rest = self.alpha.copy()
        rest[members] = 0
        return members, combination(self.patterns, self._everyone, rest), float(rest.sum())

    def _losses(self, members):
        """The members' losses, of the hinge loss rounded off around their dual variables."""
        centre = self._copy_of(self.alpha, members) if self.bounded else np.zeros(len(members))
        penalty, steepness = self._of(self.C, members), self._of(self.steepness, members)
        return Losses(centre, penalty, steepness, self.factor, self.bounded)

    def _of(self, values, members):
        """The members' values; of everyone they are not copied."""
        return values if members is self._everyone else values[members]

    def _copy_of(self, values, members):
        """The same, which steps may change."""
        return values.copy() if members is self._everyone else values[members]
