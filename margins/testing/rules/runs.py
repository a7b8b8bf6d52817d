"""Common parts of the checks of rules: states, samples and short runs."""

import itertools
import math

import numpy as np

from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.rules import Additive, Condition, Mistake, NoShrink, Rules, Shrink, Update
from margins.solvers.specification import Specification
from margins.testing.reports import check_of, require
from margins.training.training_set import binary_problem

SLACK = 1e-9  # relative

check = check_of(lambda rule: getattr(rule, "__name__", type(rule).__name__))


def states():
    """Yield possible states as dicts: |a| is between gamma t and R t for some 0 < gamma <= R."""
    yield {}
    for t, share in itertools.product((1.0, 2.0, 7.0, 100.0, 1e6), (1e-4, 0.3, 1.0)):
        yield {"t": t, "dual_sum": t, "n_updates": t, "sqnorm": share * 16 * t * t}


def at_state(state):
    """Return the text of a state, for a message."""
    numbers = ", ".join(f"{key}={state[key]:g}" for key in ("t", "sqnorm", "dual_sum") if key in state)
    return f"at {numbers or 'the start'}"


def require_pure(function, what):
    """Raise Violation unless the value at a state is always the same, regardless of other calls."""
    all_states = list(states())
    first = [function(state) for state in all_states]
    for order in (range(len(all_states)), reversed(range(len(all_states)))):
        for index in order:
            again = function(all_states[index])
            require(
                again == first[index] or math.isnan(first[index]),
                f"{what} {again} {at_state(all_states[index])}, and {first[index]} before",
                "one value, because a rule must be stateless",
            )


def rules_of(rule, condition=None):
    """Return Rules with the rule, completed by the simplest rules of the other kinds."""
    parts = {Condition: condition or Mistake(), Update: Additive(), Shrink: NoShrink()}
    for kind in parts:
        if isinstance(rule, kind):
            parts[kind] = rule
    if isinstance(rule, Condition):
        parts[Shrink] = shrink_of(rule)
    return Rules(*parts.values())


def shrink_of(condition):
    """Return the shrink for which a condition is made."""
    shrink = getattr(condition, "shrink", None)
    return shrink if isinstance(shrink, Shrink) else NoShrink()


def samples(upper=math.inf, diag=0.0):
    """Return thirty samples of small integers in four dimensions, with a bias, not separable."""
    generator = np.random.default_rng(0)
    X = generator.integers(-4, 5, size=(30, 4)).astype(float)
    positive = X @ [1, -2, 1, 1] + 0.5 > 0
    positive[::7] = ~positive[::7]  # so that no hyperplane separates them
    C = math.inf if diag == 0 else 0.5 / diag
    return binary_problem(X, positive, Specification(C=C, sq_intercept_scaling=1.0, max_dual=upper)).data


def run(data, rules, n_epochs=5, make_averaging=None, keep_dual=True, between=None):
    """Process the samples in chunks, and return the final weight vector and averaging.

    `between` is called after each chunk with the averaging, the weight vector and the samples, and
    returns the averaging for the next chunk.
    """
    weights = WeightVector(data.rows.n_features, len(data) if keep_dual else 0)
    averaging = make_averaging(weights) if make_averaging else None
    for seed in range(n_epochs):
        order = np.random.default_rng(seed).permutation(len(data)).astype(np.int32)
        for begin in range(0, len(data), 10):
            chunk = order[begin : begin + 10]
            ActiveSets((), len(data)).full_epoch(data, weights, rules, chunk, None, averaging)
            if between:
                averaging = between(averaging, weights, data)
    return weights, averaging


def numbers_of(weights):
    """Return weights, sums and update count of a weight vector: list of float."""
    return [*weights.weights, weights.label_sum, weights.sqnorm, weights.dual_sum, weights.n_updates]
