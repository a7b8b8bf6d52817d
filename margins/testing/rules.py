"""Checks of rules: conditions, updates, shrinks and averagings."""

import itertools
import math
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.rules import (
    Additive,
    Averaging,
    Condition,
    FixedThreshold,
    Mistake,
    NoShrink,
    RuleError,
    Rules,
    Shrink,
    ShrunkThreshold,
    Unlearning,
    Update,
)
from margins.solvers.specification import Specification
from margins.testing.reports import Violation, check_of, require
from margins.training.training_set import binary_problem

Rule = Condition | Update | Shrink | Callable[[WeightVector], Averaging]
CHECKS: dict[type, list[Callable[..., None]]] = {Condition: [], Shrink: [], Update: [], Averaging: []}
SLACK = 1e-9  # relative
MOST = 300  # maximum number of single updates


def check_rule(rule: Rule, expected_failures: Mapping[str, str] | None = None) -> None:
    """Raise AssertionError unless a rule meets the requirements of the training loop for its kind."""
    for check, arguments in rule_checks(rule, expected_failures):
        check(*arguments)


def rule_checks(
    rule: Rule, expected_failures: Mapping[str, str] | None = None
) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """Return the checks of `check_rule`, to run them separately."""
    kind = next((kind for kind in (Condition, Shrink, Update) if isinstance(rule, kind)), None)
    if kind is None and (isinstance(rule, Averaging) or not callable(rule)):
        raise TypeError(
            "rule must be a Condition, an Update, a Shrink, or a callable that returns an Averaging for "
            f"the weight vector before any update. Got {rule!r}."
        )
    expected = expected_failures or {}
    return [(check, (rule,)) for check in CHECKS[kind or Averaging] if check.__name__ not in expected]


def check_for(*kinds):
    """Return a decorator that makes a function a check of some kinds of rules."""

    def decorate(function):
        check = check_of(lambda rule: getattr(rule, "__name__", type(rule).__name__))(function)
        for kind in kinds:
            CHECKS[kind].append(check)
        return check

    return decorate


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
    pairs = [(state, function(state)) for state in states()]
    for state, value in [*pairs, *reversed(pairs)]:
        again = function(state)
        got = f"{what} {again} {at_state(state)}, and {value} before"
        expected = "one value, because a rule must be stateless"
        require(again == value or math.isnan(value), got, expected)


def rules_of(rule, condition=None):
    """Return Rules with the rule, completed by the simplest rules of the other kinds."""
    parts = {Condition: condition or Mistake(), Update: Additive(), Shrink: NoShrink()}
    parts |= {kind: rule for kind in parts if isinstance(rule, kind)}
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


@check_for(Condition, Shrink, Update)
def check_repr(rule):
    """The repr describes the rule, and is always the same."""
    text = repr(rule)
    require(text != object.__repr__(rule), f"the repr {text!r}", "one that describes the rule")
    require(repr(rule) == repr(rule), "another repr each time", "the same")


@check_for(Condition, Shrink, Update)
def check_binary_interface(rule):
    """`Rules` accepts the rule, so it was compiled against the interface of the installed margins."""
    rules_of(rule)


@check_for(Condition)
def check_thresholds(condition):
    """Thresholds are numbers, so a sample with product +inf is not misclassified after an update."""
    for state, positive in itertools.product(states(), (False, True)):
        threshold = condition.py_threshold(state, positive)
        at_start = not state and threshold == math.inf  # at first, all samples are misclassified
        got = f"a threshold of {threshold} {at_state(state)}, label {'+1' if positive else '-1'}"
        expected = "a finite number (or inf before the first update)"
        require(math.isfinite(threshold) or at_start, got, expected)


@check_for(Condition)
def check_thresholds_are_pure(condition):
    """Thresholds depend only on the state, not on the representation of the weight vector."""
    for positive in (False, True):
        require_pure(lambda state, p=positive: condition.py_threshold(state, p), "a threshold of")
        require_pure(lambda state, p=positive: condition.py_ceiling(state, p), "a ceiling of")
        for state in states():
            threshold = condition.py_threshold(state, positive)
            rescaled = condition.py_threshold({**state, "scale": 0.5, "label_sum": 3.0}, positive)
            got = f"a threshold of {rescaled} with scale=0.5 and label_sum=3 {at_state(state)}"
            expected = f"{threshold}, as with scale=1: the weight vector is the same"
            require(threshold == rescaled, got, expected)


@check_for(Condition)
def check_ceilings(condition):
    """The unlearning threshold is above the learning threshold, or inf without unlearning."""
    require(isinstance(condition.unlearns, bool), f"unlearns = {condition.unlearns!r}", "True or False")
    for state, positive in itertools.product(states(), (False, True)):
        learn = condition.py_threshold(state, positive)
        unlearn = condition.py_ceiling(state, positive)
        got = f"an unlearning threshold of {unlearn} {at_state(state)}"
        if condition.unlearns:
            require(unlearn > learn, got, f"more than the learning threshold, {learn}")
        else:
            require(unlearn == math.inf, got, "inf, since `unlearns` is False")


def _misclassified(count, walk):
    """Return whether the sample is certainly, and perhaps, misclassified after `count` updates."""
    product, threshold, size = walk[count]
    slack = SLACK * (size + abs(threshold)) if math.isfinite(threshold) else 0.0
    return product <= threshold - slack, product <= threshold + slack


@check_for(Condition)
def check_repetitions(condition):
    """The number of updates computed at once equals the number of single updates."""
    require_repetitions(condition, shrink_of(condition))


def require_repetitions(condition, shrink):
    """Raise Violation unless repetitions equal single updates, for products of any sign."""
    rules = Rules(condition, Additive(), shrink)
    for state in states():
        # Rounding of t |y|^2 must leave the products their digits.
        if state.get("t", 0) > 1e4:
            continue
        A0 = state.get("sqnorm", 0.0)
        cases = itertools.product((1.0, 5.0, 16.0), (-1, -0.5, 0, 0.5), (False, True))
        for N, cosine, positive in cases:
            p, A, t = cosine * math.sqrt(A0 * N), A0, state.get("t", 0.0)
            size = abs(p) + N
            walk = []
            where = f"{at_state(state)} with a.y = {p:g}, |y|**2 = {N:g}"
            for _ in range(MOST + 1):
                now = {**state, "sqnorm": A, "t": t, "dual_sum": t}
                walk.append((p, condition.py_threshold(now, positive), size))
                if len(walk) > 1 and not _misclassified(len(walk) - 1, walk)[1]:
                    break
                s = shrink.py_factor({"t": t}) if t else 1.0
                p, A, t = s * p + N, s * s * A + 2 * s * p + N, t + 1
                size = max(size, abs(p))
            if not _misclassified(0, walk)[0]:
                continue
            got = rules.py_repetitions(walk[0][0], N, state, most=MOST, positive=positive)
            require(1 <= got <= MOST and got == math.floor(got), f"{got} repetitions {where}", "a count")
            ends = got < len(walk) and (not _misclassified(int(got), walk)[0] or got == MOST)
            begins = got <= len(walk) and (got == 1 or _misclassified(int(got) - 1, walk)[1])
            first = next((n for n in range(1, len(walk)) if not _misclassified(n, walk)[0]), MOST)
            expected = f"{first}, as by single updates" + " (the most allowed)" * (first == MOST)
            require(ends and begins, f"{got:g} repetitions of an update {where}", expected)


@check_for(Shrink)
def check_factors(shrink):
    """Factors are numbers from 0 to 1, and 1 if the shrink is the identity."""
    require(isinstance(shrink.is_identity, bool), f"is_identity = {shrink.is_identity!r}", "a bool")
    require(isinstance(shrink.decays, bool), f"decays = {shrink.decays!r}", "True or False")
    for state in states():
        factor = shrink.py_factor(state)
        require(0 <= factor <= 1, f"a factor of {factor} {at_state(state)}", "a number from 0 to 1")
        if state:
            require(factor > 0, f"a factor of 0 {at_state(state)}", "more, or all would be forgotten")
        if shrink.is_identity:
            require(factor == 1, f"a factor of {factor} {at_state(state)}", "1, since `is_identity`")
    require_pure(shrink.py_factor, "a factor of")


@check_for(Shrink)
def check_repeat(shrink):
    """Several updates in one step equal as many single updates a <- s a + y."""
    for state in states():
        product, total, t = 1.0, 0.0, state.get("t", 0.0)
        for count in range(1, MOST + 1):
            factor = shrink.py_factor({**state, "t": t})
            product, total, t = product * factor, total * factor + 1, t + 1
            if count not in (1, 2, 3, 7, 64, MOST):
                continue
            shrunk, added = shrink.py_repeat(count, state)
            description = f"for {count} updates at once {at_state(state)}"
            is_right = math.isclose(added, total, rel_tol=SLACK)
            got = f"a sample added {added} times {description}"
            require(is_right, got, f"{total}, as by single updates")
            # At the start there is nothing to shrink, so any factor is correct.
            is_right = not state or math.isclose(shrunk, product, rel_tol=SLACK, abs_tol=1e-300)
            got = f"a factor of {shrunk} {description}"
            require(is_right, got, f"{product}, as by single updates")


@check_for(Shrink)
def check_repetitions_of_shrink(shrink):
    """The number of updates that `ShrunkThreshold` computes equals the number of single updates."""
    for b in (0.0, 2.0, 40.0):
        require_repetitions(ShrunkThreshold(b, shrink), shrink)


@check_for(Update)
def check_updates_are_finite(update):
    """No number of an update is NaN or infinite, for any product, state and label."""
    data = samples()
    for condition in (Mistake(), FixedThreshold(7)):
        try:
            run(data, Rules(condition, update, NoShrink()))
        except RuleError as error:
            got = f"{error.got} at sample {error.sample} with {condition!r}"
            raise Violation(got, "finite numbers") from None


@check_for(Update)
def check_updates_move(update):
    """A misclassified sample below the upper bound of its dual variable changes the weight vector."""
    data = samples()
    weights, sets = WeightVector(data.rows.n_features, len(data)), ActiveSets((), len(data))
    rules = Rules(Mistake(), update, NoShrink())
    for seed in range(3):
        before, n_updates = numbers_of(weights)[:-1], weights.n_updates
        order = np.random.default_rng(seed).permutation(len(data)).astype(np.int32)
        n_changed = sets.full_epoch(data, weights, rules, order)
        got = f"no update at {sets.n_unmoved} of {len(data)} samples, all misclassified"
        require(sets.n_unmoved == 0, got, "an update at each of them")
        has_changed = n_changed == 0 or numbers_of(weights)[:-1] != before
        got = f"{weights.n_updates - n_updates} updates that change nothing"
        require(has_changed, got, "a different weight vector after them")


@check_for(Update)
def check_dual_variables_keep_their_bounds(update):
    """Learning and unlearning leave every dual variable between 0 and its upper bound."""
    conditions = FixedThreshold(7), FixedThreshold(40), Unlearning(7, 60)
    for condition, upper in itertools.product(conditions, (math.inf, 2.5, 1.0)):
        dual = run(samples(upper), Rules(condition, update, NoShrink()))[0].dual
        got = f"dual variables from {dual.min()} to {dual.max()} with {condition!r}"
        require(dual.min() >= 0 and dual.max() <= upper, got, f"all of them in [0, {upper}]")


@check_for(Update)
def check_sums_are_kept(update):
    """|a|^2 and the sum of the dual variables, computed by recursion, fit the weight vector."""
    data = samples(diag=0.5)
    weights = run(data, Rules(FixedThreshold(7), update, NoShrink()))[0]
    recursive = np.array([weights.sqnorm, weights.dual_sum])
    weights.recompute(data)
    recomputed = np.array([weights.sqnorm, weights.dual_sum])
    require(np.isfinite(recomputed).all(), f"|a|**2 and S of {recomputed}", "finite numbers")
    is_same = np.allclose(recursive, recomputed, rtol=1e-8)
    require(is_same, f"|a|**2 and S of {recursive} by recursion", f"{recomputed}, as recomputed")


@check_for(Update)
def check_counts(update):
    """Updates are counted in whole numbers, and only they change the weights."""

    def count(averaging, weights, data):
        t = weights.t
        require(t == math.floor(t), f"a clock of {t}", "a whole number of updates")

    rules = Rules(FixedThreshold(7), update, NoShrink())
    weights = run(samples(), rules, between=count)[0]
    require(weights.n_updates >= 0, f"{weights.n_updates} updates", "0 or more")
    if weights.n_updates == 0:
        require(not weights.weights.any(), "weights changed by no update", "0 updates, weights of 0")


@check_for(Condition, Shrink, Update)
def check_runs(rule):
    """A run with the rule is finite and always the same, with dual variables and without."""
    rules = rules_of(rule, FixedThreshold(7))
    first, second = (numbers_of(run(samples(), rules)[0]) for _ in range(2))
    require(np.isfinite(first).all(), f"weights, sums and counts {first}", "finite numbers")
    require(first == second, f"{first} and {second} from two runs", "the same")
    if isinstance(rule, Update) or rules.condition.unlearns:
        return  # these may need dual variables
    without = numbers_of(run(samples(), rules, keep_dual=False)[0])
    same = np.allclose(first, without, rtol=SLACK, atol=SLACK * np.abs(first).max())
    require(same, f"{without} without dual variables", f"{first}, as with them")


RULES = Rules(FixedThreshold(7), Additive(most=1), NoShrink())


def _run_with(make, between):
    """Run with an averaging that `make` returns, and return the weight vector and the averaging."""

    def made(weights):
        averaging = make(weights)
        require(isinstance(averaging, Averaging), f"{averaging!r} from {make!r}", "an Averaging")
        return averaging

    return run(samples(), RULES, make_averaging=made, between=between)


def _read(averaging, weights, data):
    hypothesis = averaging.hypothesis(weights, data)
    require(isinstance(hypothesis, WeightVector), f"{hypothesis!r} as a hypothesis", "a WeightVector")
    return numbers_of(hypothesis)


@check_for(Averaging)
def check_averaging_looks_only(make):
    """An averaging changes no bit of a run, even if hypotheses are read during the run."""

    def read_twice(averaging, weights, data):
        first, second = (_read(averaging, weights, data) for _ in range(2))
        require(first == second, f"the hypotheses {first} and {second}, read twice", "one hypothesis")
        return averaging

    plain, expected = numbers_of(run(samples(), RULES)[0]), None
    for between in (None, read_twice):
        weights, averaging = _run_with(make, between)
        require(numbers_of(weights) == plain, f"{numbers_of(weights)} at the end of a run", f"{plain}")
        read = _read(averaging, weights, samples())
        require(np.isfinite(read).all(), f"the hypothesis {read}", "finite numbers")
        expected = read if expected is None else expected
        got = f"the hypothesis {read}, if others are read during the run"
        require(read == expected, got, f"{expected}, as without")


@check_for(Averaging)
def check_averaging_is_pickled(make):
    """An averaging that is pickled between two chunks continues as without pickling."""

    def reads_of(pass_on):
        reads = []

        def between(averaging, weights, data):
            counts = [averaging.n_right, averaging.n_accesses]
            reads.append([*counts, *_read(averaging, weights, data)])
            return pass_on(averaging)

        _run_with(make, between)
        return reads

    direct = reads_of(lambda averaging: averaging)
    pickled = reads_of(lambda averaging: pickle.loads(pickle.dumps(averaging)))
    for chunk, (expected, got) in enumerate(zip(direct, pickled, strict=True)):
        require(got == expected, f"{got} after pickling and chunk {chunk}", f"{expected}, as without")
