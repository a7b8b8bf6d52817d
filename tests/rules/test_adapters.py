"""Rules that are somebody's function: they run as the built-in rule that says the same."""

import ctypes

import numpy as np
import pytest
import sample_problems
from scipy import LowLevelCallable

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
)

DOUBLE, POINTER = ctypes.c_double, ctypes.c_void_p


def c_function(n_doubles, function, *more):
    """A C function pointer to a Python function: ctypes takes the GIL where it is called."""
    return ctypes.CFUNCTYPE(DOUBLE, *[DOUBLE] * n_doubles, *more)(function)


def dynamic(sqnorm, t, dual_sum, label):
    return 0.75 * sqnorm / t if t else 0.0


def forgetful(sqnorm, t, dual_sum):
    return 0.75


def whole(product, pattern_sqnorm, dual, upper, sqnorm, t):
    return 1.0


def run(rules, delta2=0.0, upper=np.inf, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.integers(-4, 5, size=(30, 4)).astype(float)
    y = np.where(X @ [1, -2, 1, 1] + 0.5 > 0, 1, -1)
    patterns = sample_problems.patterns_of(X, y, 1.0, delta2, upper)
    weights, *end = sample_problems.run(patterns, rules, sample_problems.orders_of(30, 50, 1))
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
def test_a_c_function_runs_as_the_built_in(kind):
    function = c_function(N_DOUBLES[kind], FUNCTIONS[kind])
    assert run(with_rule(kind, Native(LowLevelCallable(function)))) == run(BUILT_IN[kind])


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_c_function_is_given_its_user_data(kind):
    number = ctypes.c_double(0.5)
    seen = set()

    def with_data(*arguments):
        seen.add(ctypes.cast(arguments[-1], ctypes.POINTER(ctypes.c_double)).contents.value)
        return FUNCTIONS[kind](*arguments[:-1])

    function = c_function(N_DOUBLES[kind], with_data, POINTER)
    data = ctypes.cast(ctypes.pointer(number), POINTER)
    assert run(with_rule(kind, Native(LowLevelCallable(function, data)))) == run(BUILT_IN[kind])
    assert seen == {0.5}


def test_a_condition_is_told_the_label():
    rule = Python(lambda sqnorm, t, dual_sum, label: 5.0 if label > 0 else 2.0)
    expected = Rules(UnevenThreshold(negative=2, positive=5), Additive(most=1), NoShrink())
    assert run(Rules(rule, Additive(most=1), NoShrink())) == run(expected)


@pytest.mark.parametrize("coefficient", [-3.0, 100.0])
def test_an_update_keeps_dual_variables_within_their_bounds(coefficient):
    rule = Python(lambda *_: coefficient, "update")
    *_, n_updates, n_epochs, converged = result = run(
        Rules(FixedThreshold(7), rule, NoShrink()), upper=2.0
    )
    dual = np.array(result[5:-3])
    assert dual.min() >= 0 and dual.max() <= 2
    assert (n_updates == 0) == (coefficient < 0)


@pytest.mark.parametrize("nothing", [0.0, float("nan")])
def test_a_coefficient_of_nothing_is_no_update(nothing):
    result = run(Rules(FixedThreshold(7), Python(lambda *_: nothing, "update"), NoShrink()))
    assert not any(result[:-2]) and result[-2:] == [1, True]


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_what_a_python_function_raises_reaches_the_caller(kind):
    def broken(*arguments):
        raise ZeroDivisionError("of somebody's")

    with pytest.raises(ZeroDivisionError, match="of somebody's"):
        run(with_rule(kind, Python(broken, kind)))


@pytest.mark.parametrize(
    "types",
    [[], [DOUBLE] * 2, [DOUBLE] * 5, [ctypes.c_int] * 4, [DOUBLE] * 2 + [POINTER]],
)
def test_a_wrong_signature_is_refused(types):
    function = LowLevelCallable(ctypes.CFUNCTYPE(DOUBLE, *types)(lambda *_: 0.0))
    with pytest.raises(ValueError, match="The function of Native must be"):
        Native(function)


def test_a_wrong_result_is_refused():
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[DOUBLE] * 4)(lambda *_: 0)
    with pytest.raises(ValueError, match="Got `int"):
        Native(LowLevelCallable(function))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="Native must be given a scipy.LowLevelCallable"):
        Native(dynamic)
    with pytest.raises(TypeError, match="Python must be given a callable"):
        Python(1)
    with pytest.raises(ValueError, match="kind of Python must be one of 'condition'"):
        Python(dynamic, "readout")


def test_rules_say_whose_function_they_are():
    assert "dynamic" in repr(Python(dynamic))
    assert repr(Native(LowLevelCallable(c_function(4, dynamic)))).startswith("Native('double (double")
