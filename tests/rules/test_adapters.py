"""Rules that are functions: they run as the built-in rule that says the same."""

import copy
import ctypes
import functools
import pickle
import re

import numpy as np
import pytest
import sample_problems
from scipy import LowLevelCallable

from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.rules import (
    Additive,
    ConstantShrink,
    DynamicMargin,
    FixedThreshold,
    Native,
    NoShrink,
    Python,
    Rules,
    UnevenThreshold,
    condition,
    shrink,
    update,
)

DOUBLE, POINTER = ctypes.c_double, ctypes.c_void_p


def c_function(n_doubles, function, *more):
    """A C function pointer to a Python function: ctypes takes the GIL where it is called."""
    return ctypes.CFUNCTYPE(DOUBLE, *[DOUBLE] * n_doubles, *more)(function)


def dynamic(sqnorm, t, dual_sum, label):
    return 0.75 * sqnorm / t if t else 0.0


def forgetful(sqnorm, t, dual_sum):
    return 0.75


def whole(product, sample_sqnorm, dual, upper, sqnorm, t):
    return 1.0


def run(rules, delta2=0.0, upper=np.inf, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.integers(-4, 5, size=(30, 4)).astype(float)
    y = np.where(X @ [1, -2, 1, 1] + 0.5 > 0, 1, -1)
    data = sample_problems.data_of(X, y, 1.0, delta2, upper)
    weights, *end = sample_problems.run(data, rules, sample_problems.orders_of(30, 50, 1))
    return [*weights.weights, weights.label_sum, *weights.dual, weights.n_updates, *end]


BUILT_IN = {
    "condition": Rules(DynamicMargin(0.25), Additive(most=1), NoShrink()),
    "shrink": Rules(FixedThreshold(7), Additive(most=1), ConstantShrink(0.25)),
    "update": Rules(FixedThreshold(7), Additive(most=1), NoShrink()),
}
FUNCTIONS = {"condition": dynamic, "shrink": forgetful, "update": whole}
N_DOUBLES = {"condition": 4, "shrink": 3, "update": 6}


def with_rule(kind, rule):
    parts = [getattr(BUILT_IN[kind], name) for name in ("condition", "update", "shrink")]
    parts[("condition", "update", "shrink").index(kind)] = rule
    return Rules(*parts)


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_python_function_runs_as_the_built_in(kind):
    rule = Python(FUNCTIONS[kind], kind)
    assert run(with_rule(kind, rule)) == run(BUILT_IN[kind])


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_c_function_runs_as_the_built_in_and_is_given_its_user_data(kind):
    function = c_function(N_DOUBLES[kind], FUNCTIONS[kind])
    assert run(with_rule(kind, Native(LowLevelCallable(function)))) == run(BUILT_IN[kind])
    number = ctypes.c_double(0.5)
    seen = set()

    def with_data(*arguments):
        seen.add(ctypes.cast(arguments[-1], ctypes.POINTER(ctypes.c_double)).contents.value)
        return FUNCTIONS[kind](*arguments[:-1])

    function = c_function(N_DOUBLES[kind], with_data, POINTER)
    data = ctypes.cast(ctypes.pointer(number), POINTER)
    assert run(with_rule(kind, Native(LowLevelCallable(function, data)))) == run(BUILT_IN[kind])
    assert seen == {0.5}


@pytest.mark.parametrize("coefficient", [-3.0, 100.0])
def test_an_update_keeps_dual_variables_within_their_bounds(coefficient):
    rule = Python(lambda: coefficient, "update")
    result = run(Rules(FixedThreshold(7), rule, NoShrink()), upper=2.0)
    dual = np.array(result[5:-3])
    assert dual.min() >= 0 and dual.max() <= 2
    assert (result[-3] == 0) == (coefficient < 0)


def test_a_coefficient_of_0_does_not_count_as_an_update():
    result = run(Rules(FixedThreshold(7), Python(lambda: 0.0, "update"), NoShrink()))
    assert not any(result[:-2]) and result[-2:] == [1, True]


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_what_a_python_function_raises_reaches_the_caller(kind):
    def broken():
        raise ZeroDivisionError("in a rule")

    with pytest.raises(ZeroDivisionError, match="in a rule"):
        run(with_rule(kind, Python(broken, kind)))


@pytest.mark.parametrize(
    "types", [[], [DOUBLE] * 2, [DOUBLE] * 5, [ctypes.c_int] * 4, [DOUBLE] * 2 + [POINTER]]
)
def test_a_wrong_signature_is_rejected(types):
    function = LowLevelCallable(ctypes.CFUNCTYPE(DOUBLE, *types)(lambda *_: 0.0))
    with pytest.raises(ValueError, match="The function of Native must be"):
        Native(function)


def test_a_wrong_result_is_rejected():
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[DOUBLE] * 4)(lambda *_: 0)
    with pytest.raises(ValueError, match="Got `int"):
        Native(LowLevelCallable(function))


def test_objects_other_than_functions_are_rejected():
    with pytest.raises(TypeError, match="Native must be given a scipy.LowLevelCallable"):
        Native(dynamic)
    with pytest.raises(TypeError, match="Python must be given a function. Got 1"):
        Python(1)
    with pytest.raises(TypeError, match="Python must be given a function. Got <class"):
        Python(NoShrink)
    with pytest.raises(TypeError, match="does not tell its parameters, so it cannot be a condition"):
        Python(max)
    with pytest.raises(ValueError, match="kind of Python must be one of 'condition'"):
        Python(dynamic, "averaging")


def test_representations_name_the_function():
    assert "dynamic" in repr(Python(dynamic))
    assert repr(Native(LowLevelCallable(c_function(4, dynamic)))).startswith("Native('double (double")


# ---------------------------------------------------------------------------------- names of parameters


def test_an_update_is_called_with_what_its_parameters_name():
    seen = []

    def update(index, upper, threshold, label, dual, product, sample_sqnorm, *, factor, dual_sum, t):
        assert index in range(30) and upper == 3 and factor == 0.75 and sample_sqnorm >= 1
        assert threshold == (5 if label == 1 else 2) and label in (-1, 1)
        assert product <= threshold and 0 <= dual < upper
        assert dual_sum >= dual and t == len(seen)
        seen.append(t)
        return 1.0

    run(Rules(UnevenThreshold(2, 5), update, ConstantShrink(0.25)), upper=3.0)
    assert len(seen) > 30


def test_the_condition_is_not_computed_again_for_an_update():
    calls = []

    def counted(t):
        calls.append(t)
        return 7.0

    n_updates = run(Rules(counted, lambda threshold: threshold / 7, NoShrink()))[-3]
    assert n_updates > 30 and len(calls) <= n_updates + 50  # one after each update, one for each epoch


def test_a_condition_without_label_is_computed_once_for_both():
    labels = []
    run(Rules(lambda label: labels.append(label) or 7.0, Additive(most=1), NoShrink()))
    assert labels[:4] == [-1, 1, -1, 1]


def test_names_may_come_in_any_order_and_by_keyword():
    expected = run(BUILT_IN["condition"])
    for function in (
        lambda t, sqnorm: dynamic(sqnorm, t, 0, 0),
        lambda t, *, sqnorm: dynamic(sqnorm, t, 0, 0),
        lambda t, /, sqnorm: dynamic(sqnorm, t, 0, 0),
        lambda half=0.75, *, t, sqnorm: half * sqnorm / t if t else 0.0,
        lambda half=0.75, t=None, sqnorm=None: half * sqnorm / t if t else 0.0,
        functools.partial(lambda share, sqnorm, t: share * sqnorm / t if t else 0.0, 0.75),
        functools.partial(lambda sqnorm, t, share: share * sqnorm / t if t else 0.0, share=0.75),
    ):
        assert run(Rules(function, Additive(most=1), NoShrink())) == expected


@pytest.mark.parametrize(
    ("function", "kind", "known"),
    [
        (lambda sqnorm, product: 0.0, "condition", "n_updates, dual_sum, label, or have .*product"),
        (lambda label: 1.0, "shrink", "a shrink, must be among sqnorm, .* dual_sum, or .*label"),
        (lambda sample: 1.0, "update", "an update, .* product, threshold, .* dual, .*sample"),
        (lambda *rest: 1.0, "update", r"Got \*rest"),
        (lambda **rest: 1.0, "update", r"Got \*\*rest"),
        (lambda half=1, t=0, /: 1.0, "shrink", "Parameter t of .* must come before"),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(function, kind, known):
    with pytest.raises(ValueError, match=known):
        Python(function, kind)


def test_plain_functions_are_wrapped_by_their_place():
    rules = Rules(lambda: 7.0, lambda: 1.0, lambda: 0.75)
    built_in = Rules(FixedThreshold(7), Additive(most=1), ConstantShrink(0.25))
    assert run(rules) == run(built_in)
    assert re.fullmatch(r"Python\(test_plain\w+.<locals>.<lambda>, 'update'\)", repr(rules.update))
    for wrong in (NoShrink, NoShrink(), 3, None):
        with pytest.raises(TypeError, match="condition of Rules must be a Condition or a Python fun"):
            Rules(wrong, Additive(), NoShrink())
    with pytest.raises(TypeError, match="update of Rules must be an Update or"):
        Rules(FixedThreshold(7), NoShrink(), NoShrink())


@condition
def decorated(sqnorm, t):
    return dynamic(sqnorm, t, 0, 0)


@update()
def decorated_update():
    return 1.0


@shrink
def decorated_shrink():
    return 0.75


def test_decorators_set_the_kind_and_rules_are_callable():
    assert run(Rules(decorated, decorated_update, NoShrink())) == run(BUILT_IN["condition"])
    assert run(with_rule("shrink", decorated_shrink)) == run(BUILT_IN["shrink"])
    assert decorated(sqnorm=4.0, t=2.0) == decorated(4.0, 2.0) == 1.5
    assert (decorated_update(), decorated_shrink()) == (1.0, 0.75)


def test_rules_are_pickled_and_copied():
    for rule in (decorated, decorated_update, decorated_shrink):
        assert pickle.loads(pickle.dumps(rule)) is rule and copy.deepcopy(rule) is rule
    for kind, function in FUNCTIONS.items():
        again = pickle.loads(pickle.dumps(Python(function, kind)))
        assert again.function is function and run(with_rule(kind, again)) == run(BUILT_IN[kind])


def test_results_that_are_not_numbers_are_rejected():
    with pytest.raises(TypeError, match=r"Python\(.*, 'update'\) must return a float. Got None"):
        run(Rules(FixedThreshold(7), lambda: None, NoShrink()))


def test_dual_variables_that_are_named_must_be_kept():
    X, y = np.eye(3), np.array([1, -1, 1])
    rules = Rules(FixedThreshold(7), lambda dual: 1.0, NoShrink())
    with pytest.raises(ValueError, match="need dual variables"):
        data, order = sample_problems.data_of(X, y), np.arange(3, dtype=np.int32)
        ActiveSets((), 3).full_epoch(data, WeightVector(3), rules, order)


def test_a_c_update_of_nine_doubles_gets_sum_label_and_threshold():
    seen = []

    def update(product, sqnorm, dual, upper, sqlength, t, dual_sum, label, threshold, *data):
        seen.append((t, dual_sum, threshold - (5 if label == 1 else 2), product <= threshold))
        return 1.0

    expected = run(Rules(UnevenThreshold(2, 5), Additive(most=1), NoShrink()))
    for function in (c_function(9, update), c_function(9, update, POINTER)):
        rule = Native(LowLevelCallable(function))
        assert run(Rules(UnevenThreshold(2, 5), rule, NoShrink())) == expected
    assert all(t == dual_sum and off == 0 and wrong for t, dual_sum, off, wrong in seen)


@pytest.mark.parametrize("make", [Python, condition, update, shrink])
def test_functions_are_not_compiled(make):
    with pytest.raises(TypeError, match="compile must be None. Got 'numba'. .*rules.Native"):
        make(dynamic, compile="numba")
