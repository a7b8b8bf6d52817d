"""Checks of updates: bounds of the dual variables, sums, counts, and that they change the weights."""

import itertools
import math

import numpy as np

from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.rules import FixedThreshold, Mistake, NoShrink, RuleError, Rules, Unlearning
from margins.testing.reports import Violation, require
from margins.testing.rules.runs import check, numbers_of, run, samples


@check
def check_dual_variables_keep_their_bounds(update):
    """Learning and unlearning leave every dual variable between 0 and its upper bound."""
    for condition, upper in itertools.product(
        (FixedThreshold(7), FixedThreshold(40), Unlearning(7, 60)), (math.inf, 2.5, 1.0)
    ):
        rules = Rules(condition, update, NoShrink())
        dual = run(samples(upper), rules)[0].dual
        require(
            dual.min() >= 0 and dual.max() <= upper,
            f"dual variables from {dual.min()} to {dual.max()} with {condition!r}",
            f"all of them in [0, {upper}]",
        )


@check
def check_sums_are_kept(update):
    """|a|^2 and the sum of the dual variables, computed by recursion, fit the weight vector."""
    data = samples(diag=0.5)
    weights = run(data, Rules(FixedThreshold(7), update, NoShrink()))[0]
    recursive = np.array([weights.sqnorm, weights.dual_sum])
    weights.recompute(data)
    recomputed = np.array([weights.sqnorm, weights.dual_sum])
    require(np.isfinite(recomputed).all(), f"|a|**2 and S of {recomputed}", "finite numbers")
    require(
        np.allclose(recursive, recomputed, rtol=1e-8),
        f"|a|**2 and S of {recursive} by recursion",
        f"{recomputed}, as recomputed",
    )


@check
def check_counts(update):
    """Updates are counted in whole numbers, and only they change the weights."""

    def count(averaging, weights, data):
        require(
            weights.t == math.floor(weights.t), f"a clock of {weights.t}", "a whole number of updates"
        )

    rules = Rules(FixedThreshold(7), update, NoShrink())
    weights = run(samples(), rules, between=count)[0]
    require(weights.n_updates >= 0, f"{weights.n_updates} updates", "0 or more")
    if weights.n_updates == 0:
        require(not weights.weights.any(), "weights changed by no update", "0 updates, weights of 0")


@check
def check_updates_are_finite(update):
    """No number of an update is NaN or infinite, for any product, state and label."""
    data = samples()
    for condition in (Mistake(), FixedThreshold(7)):
        try:
            run(data, Rules(condition, update, NoShrink()))
        except RuleError as error:
            raise Violation(
                f"{error.got} at sample {error.sample} with {condition!r}", "finite numbers"
            ) from None


@check
def check_updates_move(update):
    """A misclassified sample below the upper bound of its dual variable changes the weight vector."""
    data = samples()
    weights, sets = WeightVector(data.rows.n_features, len(data)), ActiveSets((), len(data))
    rules = Rules(Mistake(), update, NoShrink())
    for seed in range(3):
        before, n_updates = numbers_of(weights)[:-1], weights.n_updates
        order = np.random.default_rng(seed).permutation(len(data)).astype(np.int32)
        n_changed = sets.full_epoch(data, weights, rules, order)
        require(
            sets.n_unmoved == 0,
            f"no update at {sets.n_unmoved} of {len(data)} samples, all misclassified",
            "an update at each of them",
        )
        require(
            n_changed == 0 or numbers_of(weights)[:-1] != before,
            f"{weights.n_updates - n_updates} updates that change nothing",
            "a different weight vector after them",
        )
