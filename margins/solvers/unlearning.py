"""The unlearning rules: their threshold b, and the phases of the margin perceptron with unlearning.

**Source**: Panagiotakopoulos & Tsampouka (2010), (10)-(12), (22)-(24), Remark 4, section 5.
"""

import math

import numpy as np

from margins.rules import Additive, NoShrink, Rules, Unlearning
from margins.solvers.base import Phase, RulesSolver
from margins.solvers.rounding import EPSILON
from margins.solvers.schedules import UNLEARNING, UNLEARNING_BOUNDED
from margins.tuning import TUNING


def threshold(loss, C, accuracy, delta_b):
    """Return the b that guarantees `accuracy` before the run; C belongs to a sample of weight 1."""
    if loss.has_upper_bounds:
        # Remark 4: b such that the largest dual variable is an integer multiple of 1 / b.
        return (math.floor(C * delta_b * (2 + accuracy) / accuracy) + 1) / C
    return delta_b * (1 - accuracy) / accuracy


def accuracy_before_run(loss, eps, tuning=TUNING.unlearning):
    """Return the accuracy that b guarantees before the run, by default."""
    accuracy = tuning.bounded_accuracy_ratio * eps if loss.has_upper_bounds else eps
    return max(accuracy, tuning.finest_accuracy)


def unlearning_rules(run, b, delta_b):
    """Return the rules of a threshold, to which upper bounds of the dual variables are proportional."""
    if run.loss.has_upper_bounds:
        run.bound_dual(b * run.loss.upper)
    return Rules(Unlearning(b, delta_b), Additive(), NoShrink())


def refined(run, b):
    """Double a and b, and return the new b; None if updates would be lost in rounded dual variables."""
    if b * EPSILON > max(run.sqradius, 1 / float(np.max(run.loss.upper))):
        return None
    run.rescale(2)
    return max(2 * b, run.sqradius)


def unlearning_phases(run, b, delta_b, name="rules"):
    """Yield phases of unlearning with nested active sets, b doubled until eps is confirmed."""
    while True:
        rules = unlearning_rules(run, b, delta_b)
        for last, levels in UNLEARNING_BOUNDED if run.loss.has_upper_bounds else UNLEARNING:
            if run.n_epochs < last:
                epochs = None if math.isinf(last) else last - run.n_epochs
                yield Phase(solver=RulesSolver(rules, levels, name=name), epochs=epochs)
                if run.reached_goal:
                    return
                if run.last_epoch_changed_nothing:
                    break
        b = refined(run, b)
        if b is None:
            return
