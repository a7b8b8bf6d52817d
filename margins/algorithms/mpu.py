"""The margin perceptron with unlearning."""

import math

import numpy as np

from margins.certificate import HardMargin, Hinge
from margins.estimators.soft_margin import SoftMarginClassifier
from margins.parameters import Interval, optional, parameter
from margins.rules import Additive, NoShrink, Rules, Unlearning
from margins.solvers._conjugate import gap_found
from margins.solvers.conjugate import ConjugatePasses, dual_value
from margins.solvers.driver import Stage
from margins.solvers.newton.newton import are_few, has_small_hessian
from margins.solvers.newton.stages import NewtonClassifier, opening_of, presentations_worth
from margins.solvers.schedules import UNLEARNING, UNLEARNING_BOUNDED

# The accuracy beyond which b would leave a double no digits for what is added to it.
FINEST = 1e-12

# With bounded dual variables, the ratio of the accuracies before and after the run: steps that are
# coarse beside the slacks of many patterns end, again and again, just short of the proof. Visits of a
# pattern until the proof of 1 %, with the paper's ratio, 1 / 10, and with this one: singh 277, 88;
# arcene 148, 82; pcmac 12, 12.
BOUNDED_BEFORE_RUN = 0.01

# The hinge loss takes many Newton steps: where the gap after the epoch before them is at most so many
# times eps, few more epochs of visits prove it (within 1 %: Web, 35 times, 17 ms instead of 29; shuttle,
# 16 to 19 times, 9.6 ms instead of 12.7; spambase, 15 times, 1.3 ms instead of 1.8; Adult: 360 times).
NEAR, NEAR_EPOCHS = 60, 3

# Conjugate passes go before Newton steps, and take their place if they do not need more presentations
# than these are worth, in some cases. Where patterns are few (gap 1e-3, C = 1, 2000 random patterns: of
# 1900 features 0.11 s instead of 2.6, of 1000 features 0.1 instead of 0.7). And where the first visits
# have found left to gain little beside the objective: then not many more are needed, if steps are worth
# more than a few of them. (C = 0.01: 1 to 3 times the objective, 8 to 10 of madelon and splice.
# Mushrooms took 0.77 of the time, usps 0.82; digits, steps of which are worth 6.1 visits, would take
# 0.97, satimage, 4.5, 1.25. C = 1: 3 to 900 times.) And without a small Hessian: steps may take long.
LITTLE_LEFT, WORTH = 3.0, 6.3


class UnlearningMarginPerceptron(NewtonClassifier, SoftMarginClassifier):
    """The margin perceptron with unlearning: learn below b, unlearn what was learned above b + delta_b.

    Unlike other perceptrons it takes back: a pattern that was added when it was hard and has become
    easy is subtracted again. With bounded dual variables it solves the L1-SVM, which has no hard
    margin to be reached through private coordinates.

    Runs start with b chosen so that the accuracy is guaranteed before the run; if the certificate
    should not confirm eps, b is doubled and the run goes on from where it is. Between two passes over
    the patterns whose dual variables are not settled, these go on, all at once, to the best point that
    the last pass and the two moves before it lead to.

    Where features are few, visits only begin: a part of the patterns is visited, to find which ones
    matter, and Newton steps finish what that has begun, many dual variables at once, unless visits seem
    to finish sooner. After such steps `coef_` and `dual_coef_` are a primal and a dual solution of their
    own, one at the optimum: half of the squared distance of `coef_` from the sum of alpha_k y_k is at
    most the difference of their objectives.

    With C = inf or ``stop="clean-pass"`` patterns are visited one at a time, as in the paper.

    **Source**: Panagiotakopoulos & Tsampouka (2010), (10)-(12), (22)-(24), Remark 4, section 5; the
    conjugate passes: `margins.solvers.conjugate`; the Newton steps: `margins.solvers.newton.newton`.
    """

    before_run: float | None = parameter(
        optional(Interval(0, 1, "right")),
        "Accuracy that the choice of b guarantees before the run. None: eps, or, for the hinge loss, "
        "eps / 100.",
        default=None,
    )
    delta_b: float = parameter(
        Interval(1, 1e12, "right"),
        "Width of the zone without learning or unlearning, in units of R**2.",
        default=3.0,
    )

    def stages(self, run):
        bounded = isinstance(run.problem, Hinge)
        accuracy = self.before_run
        if accuracy is None:
            accuracy = BOUNDED_BEFORE_RUN * self.eps if bounded else self.eps
        accuracy = max(accuracy, FINEST)
        delta_b = self.delta_b * (run.sqradius or 1.0)  # 0: all rows are, which the hinge loss allows
        if bounded:
            # Remark 4: b such that the largest dual variable is an integer multiple of 1 / b.
            most = math.floor(self.C * delta_b * (2 + accuracy) / accuracy) + 1
            b = most / self.C
        else:
            b = delta_b * (1 - accuracy) / accuracy
        unfinished = False
        for stage in self.newton_stages(run, _opening(run, b, delta_b)):
            yield stage
            unfinished = True
        if unfinished:
            # a.y_k = b where the margin is 1. Dual variables may now shrink by many powers of 10, and a
            # would keep their roundings.
            run.weights.rescale(b)
            run.sums_afresh = True
        while True:
            rules = _rules_for(run, b, delta_b)
            for stage in _visiting_stages(run, rules):
                yield stage
                if run.finished:
                    return
                if run.clean:
                    break
            # Twice as fine: a and b grow, delta_b does not.
            run.weights.rescale(2)
            b = max(2 * b, run.sqradius)


def _rules_for(run, b, delta_b):
    """The rules of a threshold; the upper bounds of the dual variables are in proportion to it."""
    if isinstance(run.problem, Hinge):
        run.bound_dual(b * run.problem.C)
    return Rules(Unlearning(b, delta_b), Additive(), NoShrink())


def _opening(run, b, delta_b):
    """The visits before Newton steps."""
    rules = _rules_for(run, b, delta_b)
    yield opening_of(run, Stage(rules))
    worth = presentations_worth(run.patterns, run.problem)
    if b > 0 and _passes_may_do(run, b, worth):
        run.sums_afresh = True
        passes = ConjugatePasses(run, rules, rival=worth)
        while not (passes.outpaced or run.clean):
            yield Stage(rules, presenter=passes, epochs=1)
        return
    if isinstance(run.problem, Hinge) and run.certificate.gap <= NEAR * run.eps:
        yield Stage(rules, UNLEARNING_BOUNDED[0][1], epochs=NEAR_EPOCHS)


def _passes_may_do(run, b, worth):
    """True if conjugate passes are to be tried before Newton steps, worth so many presentations."""
    patterns = run.patterns
    if are_few(patterns) or not has_small_hessian(patterns):
        return True
    if worth < WORTH:
        return False
    found = gap_found(patterns, run.weights, np.zeros(len(patterns)), b)
    return found <= LITTLE_LEFT * dual_value(run.weights, b)


def _visiting_stages(run, rules):
    """Visits, until a full epoch changes nothing."""
    if run.prove_early and rules.condition.b > 0 and not isinstance(run.problem, HardMargin):
        run.sums_afresh = True
        yield Stage(rules, presenter=ConjugatePasses(run, rules))
        return
    for last, levels in UNLEARNING_BOUNDED if isinstance(run.problem, Hinge) else UNLEARNING:
        if run.n_epochs < last:
            yield Stage(rules, levels, epochs=None if math.isinf(last) else last - run.n_epochs)
