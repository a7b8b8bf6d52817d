"""Checks of rules: conditions, updates, shrinks and averagings."""

import itertools
import math
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.data.binary_data import augmented_sqnorms, make_binary_data, rows_of
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
from margins.testing.reports import Violation, check_of, require

SLACK = 1e-9  # relative
MOST = 300  # single updates that are walked through

check = check_of(lambda rule: getattr(rule, "__name__", type(rule).__name__))


def check_rule(
    rule: Condition | Update | Shrink | Callable[[WeightVector], Averaging],
    expected_failures: Mapping[str, str] | None = None,
) -> None:
    """Raise AssertionError unless a rule keeps all that the loop expects of its kind.

    Parameters
    ----------
    rule : Condition, Update or Shrink, or callable
        A callable is given the weight vector before any update, and makes an Averaging, as
        `OnlineMixin.online_averaging` does; an averaging itself belongs to one run, of one size.
    expected_failures : dict of str, optional
        {name of a check: reason}, of checks that do not apply: to an update, say, that knows no upper
        bounds, since its algorithm has none.

    Raises
    ------
    AssertionError
        Naming the class, the check, what it got and what it expected.
    """
    for one, arguments in rule_checks(rule, expected_failures):
        one(*arguments)


def rule_checks(
    rule: Condition | Update | Shrink | Callable[[WeightVector], Averaging],
    expected_failures: Mapping[str, str] | None = None,
) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """The single checks of `check_rule`.

    Parameters
    ----------
    rule, expected_failures
        As for `check_rule`.

    Returns
    -------
    list of (callable, tuple)
        Checks and their arguments: ``check(*arguments)``.
    """
    expected = expected_failures or {}
    for kind, checks in CHECKS.items():
        if isinstance(rule, kind):
            return [(one, (rule,)) for one in checks if one.__name__ not in expected]
    if isinstance(rule, Averaging) or not callable(rule):
        raise TypeError(
            "rule must be a Condition, an Update, a Shrink, or a callable that makes an Averaging of "
            f"the weight vector before any update. Got {rule!r}."
        )
    return [(one, (rule,)) for one in AVERAGING_CHECKS if one.__name__ not in expected]


# ------------------------------------------------------------------------------------------- the tools


def _states():
    """States that occur: |a| is between gamma t and R t for some 0 < gamma <= R."""
    yield {}
    for t, share in itertools.product((1.0, 2.0, 7.0, 100.0, 1e6), (1e-4, 0.3, 1.0)):
        yield {"t": t, "dual_sum": t, "n_updates": t, "sqnorm": share * 16 * t * t}


def _said(state):
    numbers = ", ".join(f"{key}={state[key]:g}" for key in ("t", "sqnorm", "dual_sum") if key in state)
    return f"at {numbers or 'the start'}"


def _require_pure(ask, what):
    """The same answer to the same question, whatever has been asked in between."""
    states = list(_states())
    first = [ask(state) for state in states]
    for order in (range(len(states)), reversed(range(len(states)))):
        for index in order:
            again = ask(states[index])
            require(
                again == first[index] or math.isnan(first[index]),
                f"{what} {again} {_said(states[index])}, and {first[index]} before",
                "one answer: a rule keeps no state of its own",
            )


def _rules_of(rule, condition=None):
    """The rule among others: Rules."""
    parts = {Condition: condition or Mistake(), Update: Additive(), Shrink: NoShrink()}
    for kind in parts:
        if isinstance(rule, kind):
            parts[kind] = rule
    if isinstance(rule, Condition):
        parts[Shrink] = _shrink_of(rule)
    return Rules(*parts.values())


def _shrink_of(condition):
    """The shrink that a condition is made for."""
    shrink = getattr(condition, "shrink", None)
    return shrink if isinstance(shrink, Shrink) else NoShrink()


def _data(upper=math.inf, diag=0.0):
    """Thirty samples of small integers in four dimensions, with a bias, not separable."""
    generator = np.random.default_rng(0)
    X = generator.integers(-4, 5, size=(30, 4)).astype(float)
    positive = X @ [1, -2, 1, 1] + 0.5 > 0
    positive[::7] = ~positive[::7]  # so that no hyperplane separates them
    rows = rows_of(X)
    sqnorms = augmented_sqnorms(rows.sqnorms(), 1.0, hard_margin=False)
    return make_binary_data(rows, sqnorms, positive, 1.0, diag, upper)


def _present(data, rules, n_epochs=5, make_averaging=None, keep_dual=True, between=None):
    """Present samples chunk by chunk: the weight vector and the averaging."""
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


def _numbers(weights):
    return [*weights.weights, weights.label_sum, weights.sqnorm, weights.dual_sum, weights.n_updates]


# ---------------------------------------------------------------------------------------- of any rule


@check
def check_repr(rule):
    """The repr says what the rule is, in its own words and always the same."""
    require(repr(rule) != object.__repr__(rule), f"the repr {repr(rule)!r}", "one that says what it is")
    require(repr(rule) == repr(rule), "another repr each time", "the same")


@check
def check_binary_interface(rule):
    """`Rules` takes it: it was compiled against the interface of the margins installed."""
    _rules_of(rule)


# ----------------------------------------------------------------------------------------- conditions


@check
def check_thresholds(condition):
    """Thresholds are numbers, and a sample of product +inf is not misclassified after an update."""
    for state in _states():
        for positive in (False, True):
            threshold = condition._py_threshold(state, positive)
            at_start = not state and threshold == math.inf  # all are misclassified to begin with
            require(
                math.isfinite(threshold) or at_start,
                f"a threshold of {threshold} {_said(state)}, label {'+1' if positive else '-1'}",
                "a finite number (or inf before the first update)",
            )


@check
def check_thresholds_are_pure(condition):
    """Thresholds depend on the state alone, and not on how the weight vector is represented."""
    for positive in (False, True):
        _require_pure(lambda state, p=positive: condition._py_threshold(state, p), "a threshold of")
        _require_pure(lambda state, p=positive: condition._py_ceiling(state, p), "a ceiling of")
        for state in _states():
            one = condition._py_threshold(state, positive)
            other = condition._py_threshold({**state, "scale": 0.5, "label_sum": 3.0}, positive)
            require(
                one == other,
                f"a threshold of {other} with scale=0.5 and label_sum=3 {_said(state)}",
                f"{one}, as with scale=1: the weight vector is the same",
            )


@check
def check_ceilings(condition):
    """What is unlearned lies above what is learned; without unlearning nothing does."""
    require(isinstance(condition.unlearns, bool), f"unlearns = {condition.unlearns!r}", "True or False")
    for state in _states():
        for positive in (False, True):
            learn = condition._py_threshold(state, positive)
            unlearn = condition._py_ceiling(state, positive)
            if condition.unlearns:
                require(
                    unlearn > learn,
                    f"an unlearning threshold of {unlearn} {_said(state)}",
                    f"more than the learning threshold, {learn}",
                )
            else:
                require(
                    unlearn == math.inf,
                    f"an unlearning threshold of {unlearn} {_said(state)}",
                    "inf, since `unlearns` is False",
                )


def _misclassified(count, walk):
    """(surely, perhaps): is the sample still misclassified after so many updates, up to rounding?"""
    product, threshold, size = walk[count]
    slack = SLACK * (size + abs(threshold)) if math.isfinite(threshold) else 0.0
    return product <= threshold - slack, product <= threshold + slack


@check
def check_repetitions(condition):
    """The number of updates worked out at once is that of single updates, one after the other."""
    _require_repetitions(condition, _shrink_of(condition))


def _require_repetitions(condition, shrink):
    rules = Rules(condition, Additive(), shrink)
    for state in _states():
        # Rounding of t |y|^2 must leave the products their digits.
        if state.get("t", 0) > 1e4:
            continue
        A0 = state.get("sqnorm", 0.0)
        for N, cosine, positive in itertools.product(
            (1.0, 5.0, 16.0), (-1, -0.5, 0, 0.5), (False, True)
        ):
            p, A, t = cosine * math.sqrt(A0 * N), A0, state.get("t", 0.0)
            size = abs(p) + N
            walk = []
            given = f"{_said(state)} with a.y = {p:g}, |y|**2 = {N:g}"
            for _ in range(MOST + 1):
                now = {**state, "sqnorm": A, "t": t, "dual_sum": t}
                walk.append((p, condition._py_threshold(now, positive), size))
                if len(walk) > 1 and not _misclassified(len(walk) - 1, walk)[1]:
                    break
                s = shrink._py_factor({"t": t}) if t else 1.0
                p, A, t = s * p + N, s * s * A + 2 * s * p + N, t + 1
                size = max(size, abs(p))
            if not _misclassified(0, walk)[0]:
                continue
            got = rules._py_repetitions(walk[0][0], N, state, most=MOST, positive=positive)
            require(1 <= got <= MOST and got == math.floor(got), f"{got} repetitions {given}", "a count")
            ends = got < len(walk) and (not _misclassified(int(got), walk)[0] or got == MOST)
            begins = got <= len(walk) and (got == 1 or _misclassified(int(got) - 1, walk)[1])
            first = next((n for n in range(1, len(walk)) if not _misclassified(n, walk)[0]), MOST)
            require(
                ends and begins,
                f"{got:g} repetitions of an update {given}",
                f"{first}, as by single updates"
                + (" (the most that were asked for)" if first == MOST else ""),
            )


# -------------------------------------------------------------------------------------------- shrinks


@check
def check_factors(shrink):
    """Factors are numbers from 0 to 1, and 1 if the shrink is the identity."""
    require(isinstance(shrink.is_identity, bool), f"is_identity = {shrink.is_identity!r}", "a bool")
    require(isinstance(shrink.decays, bool), f"decays = {shrink.decays!r}", "True or False")
    for state in _states():
        factor = shrink._py_factor(state)
        require(0 <= factor <= 1, f"a factor of {factor} {_said(state)}", "a number from 0 to 1")
        if state:
            require(factor > 0, f"a factor of 0 {_said(state)}", "more: all would be forgotten")
        if shrink.is_identity:
            require(factor == 1, f"a factor of {factor} {_said(state)}", "1, since `is_identity`")
    _require_pure(shrink._py_factor, "a factor of")


@check
def check_repeat(shrink):
    """Many updates as one step are as many single ones: a <- s a + y each time."""
    for state in _states():
        product, total, t = 1.0, 0.0, state.get("t", 0.0)
        for count in range(1, MOST + 1):
            factor = shrink._py_factor({**state, "t": t})
            product, total, t = product * factor, total * factor + 1, t + 1
            if count not in (1, 2, 3, 7, 64, MOST):
                continue
            shrunk, added = shrink._py_repeat(count, state)
            given = f"for {count} updates at once {_said(state)}"
            require(
                math.isclose(added, total, rel_tol=SLACK),
                f"a sample added {added} times {given}",
                f"{total}, as by single updates",
            )
            # At the start there is nothing to shrink, and the factor says nothing.
            require(
                not state or math.isclose(shrunk, product, rel_tol=SLACK, abs_tol=1e-300),
                f"a factor of {shrunk} {given}",
                f"{product}, as by single updates",
            )


@check
def check_repetitions_of_shrink(shrink):
    """The number of updates that `ShrunkThreshold` needs is that of single updates."""
    for b in (0.0, 2.0, 40.0):
        _require_repetitions(ShrunkThreshold(b, shrink), shrink)


@check
def check_runs(rule):
    """A run by the rule is finite and the same every time; nor do kept dual variables change it."""
    rules = _rules_of(rule, FixedThreshold(7))
    one, other = (_numbers(_present(_data(), rules)[0]) for _ in range(2))
    require(np.isfinite(one).all(), f"weights, sums and counts {one}", "finite numbers")
    require(one == other, f"{one} and {other} from two runs", "the same")
    if isinstance(rule, Update) or rules.condition.unlearns:
        return  # these may ask for dual variables
    without = _numbers(_present(_data(), rules, keep_dual=False)[0])
    same = np.allclose(one, without, rtol=SLACK, atol=SLACK * np.abs(one).max())
    require(same, f"{without} without dual variables", f"{one}, as with them")


# -------------------------------------------------------------------------------------------- updates


@check
def check_dual_variables_keep_their_bounds(update):
    """Learning and unlearning leave every dual variable between 0 and its upper bound."""
    for condition, upper in itertools.product(
        (FixedThreshold(7), FixedThreshold(40), Unlearning(7, 60)), (math.inf, 2.5, 1.0)
    ):
        rules = Rules(condition, update, NoShrink())
        dual = _present(_data(upper), rules)[0].dual
        require(
            dual.min() >= 0 and dual.max() <= upper,
            f"dual variables from {dual.min()} to {dual.max()} with {condition!r}",
            f"all of them in [0, {upper}]",
        )


@check
def check_sums_are_kept(update):
    """|a|^2 and the sum of the dual variables, kept by recursion, are those of the weight vector."""
    data = _data(diag=0.5)
    weights = _present(data, Rules(FixedThreshold(7), update, NoShrink()))[0]
    kept = np.array([weights.sqnorm, weights.dual_sum])
    weights.recompute(data)
    anew = np.array([weights.sqnorm, weights.dual_sum])
    require(np.isfinite(anew).all(), f"|a|**2 and S of {anew}", "finite numbers")
    require(
        np.allclose(kept, anew, rtol=1e-8),
        f"|a|**2 and S of {kept} by recursion",
        f"{anew}, as recomputed",
    )


@check
def check_counts(update):
    """Updates are counted in whole numbers; what is not misclassified is not updated."""

    def count(averaging, weights, data):
        require(
            weights.t == math.floor(weights.t), f"a clock of {weights.t}", "a whole number of updates"
        )

    rules = Rules(FixedThreshold(7), update, NoShrink())
    weights = _present(_data(), rules, between=count)[0]
    require(weights.n_updates >= 0, f"{weights.n_updates} updates", "0 or more")
    if weights.n_updates == 0:
        require(not weights.weights.any(), "weights changed by no update", "0 updates, weights of 0")


@check
def check_updates_are_finite(update):
    """No number of an update is NaN or infinite, whatever the product, the state and the label."""
    data = _data()
    for beyond in (Mistake(), FixedThreshold(7)):
        try:
            _present(data, Rules(beyond, update, NoShrink()))
        except RuleError as error:
            raise Violation(
                f"{error.got} at sample {error.sample} with {beyond!r}", "finite numbers"
            ) from None


@check
def check_updates_move(update):
    """A sample of wrong sign, below the upper bound of its dual variable, changes the weight vector."""
    data = _data()
    weights, sets = WeightVector(data.rows.n_features, len(data)), ActiveSets((), len(data))
    rules = Rules(Mistake(), update, NoShrink())
    for seed in range(3):
        before, n_updates = _numbers(weights)[:-1], weights.n_updates
        order = np.random.default_rng(seed).permutation(len(data)).astype(np.int32)
        n_changed = sets.full_epoch(data, weights, rules, order)
        require(
            sets.n_unmoved == 0,
            f"no update at {sets.n_unmoved} of {len(data)} samples, all misclassified",
            "an update at each of them",
        )
        require(
            n_changed == 0 or _numbers(weights)[:-1] != before,
            f"{weights.n_updates - n_updates} updates that change nothing",
            "another weight vector after them",
        )


# ------------------------------------------------------------------------------------------- averagings


def _made(make, weights):
    averaging = make(weights)
    if not isinstance(averaging, Averaging):
        raise Violation(f"{averaging!r} from {make!r}", "an Averaging")
    return averaging


def _read(averaging, weights, data):
    hypothesis = averaging.hypothesis(weights, data)
    require(isinstance(hypothesis, WeightVector), f"{hypothesis!r} as a hypothesis", "a WeightVector")
    return _numbers(hypothesis)


AVERAGING_RULES = Rules(FixedThreshold(7), Additive(most=1), NoShrink())


@check
def check_averaging_looks_only(make):
    """A run with an averaging is bit for bit the run without, also if it is asked during the run."""

    def ask(averaging, weights, data):
        first, second = (_read(averaging, weights, data) for _ in range(2))
        require(first == second, f"the hypotheses {first} and {second}, asked twice", "one hypothesis")
        return averaging

    plain = _numbers(_present(_data(), AVERAGING_RULES)[0])
    for between in (None, ask):
        weights, averaging = _present(
            _data(), AVERAGING_RULES, make_averaging=lambda a: _made(make, a), between=between
        )
        require(_numbers(weights) == plain, f"{_numbers(weights)} at the end of a run", f"{plain}")
        read = _read(averaging, weights, _data())
        require(np.isfinite(read).all(), f"the hypothesis {read}", "finite numbers")
        if between is None:
            unasked = read
        else:
            require(
                read == unasked,
                f"the hypothesis {read}, if asked during the run",
                f"{unasked}, as if not",
            )


@check
def check_averaging_is_pickled(make):
    """An averaging that is pickled between two chunks goes on as if it were not."""

    def reads_of(pass_on):
        reads = []

        def between(averaging, weights, data):
            counts = [averaging.n_right, averaging.n_accesses]
            reads.append([*counts, *_read(averaging, weights, data)])
            return pass_on(averaging)

        _present(_data(), AVERAGING_RULES, make_averaging=lambda a: _made(make, a), between=between)
        return reads

    kept = reads_of(lambda averaging: averaging)
    pickled = reads_of(lambda averaging: pickle.loads(pickle.dumps(averaging)))
    for chunk, (expected, got) in enumerate(zip(kept, pickled, strict=True)):
        require(got == expected, f"{got} after pickling and chunk {chunk}", f"{expected}, as without")


CHECKS = {
    Condition: (
        check_repr,
        check_binary_interface,
        check_thresholds,
        check_thresholds_are_pure,
        check_ceilings,
        check_repetitions,
        check_runs,
    ),
    Shrink: (
        check_repr,
        check_binary_interface,
        check_factors,
        check_repeat,
        check_repetitions_of_shrink,
        check_runs,
    ),
    Update: (
        check_repr,
        check_binary_interface,
        check_updates_are_finite,
        check_updates_move,
        check_dual_variables_keep_their_bounds,
        check_sums_are_kept,
        check_counts,
        check_runs,
    ),
}
AVERAGING_CHECKS = (check_averaging_looks_only, check_averaging_is_pickled)
