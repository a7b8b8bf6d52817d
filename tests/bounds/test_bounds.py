"""The bounds as functions: the papers' statements, ranges of arguments, units."""

import inspect
import math
import re
from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from bounded_problems import SLACK
from hypothesis import assume, given
from hypothesis import strategies as st
from properties import examples

from margins import bounds

# --------------------------------------------------------------------- what the papers say of the bounds

E = math.e
INF = math.inf
# With (R**2 + 2 b) / gamma**2 = 64.
MARGIN_PERCEPTRON = [("updates", (2, 0.5, 6), 64), ("fraction", (2, 6), 6 / 16)]
KAPPA = 0.1 * (4 + 12) / (1.9 * 1)
FORMULAS = [
    ("perceptron_updates", (6, 2), 9),
    ("lecture_updates", (6, 2, 0.5), 8 * 9 + 4 * 3),
    ("mistakes_total_deviation", (6, 2, 0), 9),
    ("mistakes_square_deviation", (6, 2, 0), 9),
    ("mistakes_square_deviation", (6, 2, 4), 25),
    ("mistakes_learned_threshold", (6, 2, 4), 4 * 25),
    ("fixed_margin_updates", (6, 2, 0.5), (1 + 1 / E) * (4 * 2.5 + 9 * math.log((1 + E) / 0.5 * 2.5))),
    ("dynamic_margin_updates", (7, 2, 1), 49 / 4),
    ("dynamic_margin_updates", (6, 2, 0.5), (1 + 1 / E) * 9 * math.log((1 + E) * 9)),
    *[(f"margin_perceptron_{kind}", arguments, value) for kind, arguments, value in MARGIN_PERCEPTRON],
    *[(f"unlearning_{kind}", (*arguments, INF), value) for kind, arguments, value in MARGIN_PERCEPTRON],
    *[
        (f"variable_shrinking_{kind}", (*arguments, 0), value)
        for kind, arguments, value in MARGIN_PERCEPTRON
    ],
    *[
        (f"constant_shrinking_{kind}", (2, 0.5, 6, lam), value)
        for kind, _, value in MARGIN_PERCEPTRON
        for lam in (0, 5e-324, 1e-320, 1e-17)
    ],
    ("unlearned_updates", (2, 0.5, 6, INF), 0),
    ("unlearning_updates", (2, 0.5, 10, 12), (4 + 20) / 0.25 * (1 + (4 + 20) / (4 * (12 - 4)))),
    ("unlearning_fraction", (2, 10, 12), 1 / (1 + 12 / 10)),
    ("soft_unlearning_updates", (2, 10, 12, 7), 7 * (2 * 10 + 12) / (12 - 4)),
    ("soft_unlearning_gap", (20, 12), 2 * (12 / 20) / (1 - 12 / 20)),
    ("constant_shrinking_kappa", (2, 1, 6, 0.1), KAPPA),
    ("constant_shrinking_fraction", (2, 1, 6, 0.1), (1 + KAPPA) * 6 / 16 * 1.9 / 1.8),
    ("variable_shrinking_updates", (2, 0.5, 6, 2), 9 / 5 * 16 / 0.25),
    ("variable_shrinking_fraction", (2, 6, 2), 5 / 3 * 6 / 16),
    ("variable_shrinking_least_updates", (2, 0.5, 6, 2), 5 * 36 / (16 * 0.25)),
    ("aggressive_romma_updates", (6, 2, 0.5), 36),
    ("ballseptron_updates", (6, 4, 1), (36 + 1) / (4 - 1) ** 2),
    ("shifting_updates", (6, 2, 1.5), 1.5**2 / 2 * 9),
]


@pytest.mark.parametrize(("name", "arguments", "value"), FORMULAS)
def test_bound_is_the_printed_formula(name, arguments, value):
    assert getattr(bounds, name)(*arguments) == pytest.approx(value, rel=1e-14)


@examples(25)
@given(R=st.floats(0.1, 10), gamma=st.floats(0.1, 10), total=st.floats(0, 100))
def test_total_deviation_bound_is_the_root_and_below_the_sum(R, gamma, total):
    most = bounds.mistakes_total_deviation(R, gamma, total)
    assert gamma * most - total == pytest.approx(R * math.sqrt(most), abs=1e-9 * (R + total))
    assert most <= ((R / gamma) ** 2 + 2 * total / gamma) * (1 + SLACK)


@pytest.mark.parametrize(
    "eps", [0.01, 0.1, 0.25, 0.4, 0.499999, 0.5 - 2**-40, 0.5 + 2**-40, 0.51, 0.75, 0.99]
)
def test_dynamic_margin_bound_agrees_with_its_formula_in_many_digits(eps):
    with localcontext() as context:
        context.prec = 80
        for r in (1.0, 1.5, 3.0, 100.0):
            e, x = Decimal(eps), Decimal(r)
            if eps < 0.5:
                whole = Decimal(math.floor(1 / eps))
                half_power = 1 / (2 * e)
                t0 = whole * x ** (1 / e) * (1 + 1 / (whole * (1 - 2 * e))) ** half_power
                expected = t0 * (1 - x * x / ((1 - 2 * e) * t0)) ** half_power
            else:
                t0 = e * (3 - 2 * e) / (2 * e - 1) * x * x
                expected = t0 * (1 - 2 * (1 - e) * t0 ** (1 - 2 * e))
            found = bounds.dynamic_margin_updates(r, 1.0, eps)
            assert found == pytest.approx(float(expected), rel=1e-11)


def test_dynamic_margin_bound_is_infinite_only_beyond_doubles():
    assert 1e307 < bounds.dynamic_margin_updates(10.0, 1.0, 1 / 305) < math.inf
    assert bounds.dynamic_margin_updates(10.0, 1.0, 1 / 310) == math.inf
    assert bounds.dynamic_margin_updates(10.0, 1.0, 1e-300) == math.inf
    assert bounds.dynamic_margin_updates(1.0, 1.0, 1e-3) < 3e3


@pytest.mark.parametrize("eps", [0.1, 0.3, 0.45])
def test_dynamic_margin_bound_after_updates_uses_norms_between_their_limits(eps):
    def after(norm):
        return bounds.dynamic_margin_updates_after(5.0, 1.0, eps, 10, norm)

    assert after(1e-3) == after(10.0) < after(20.0) < after(50.0) == after(1e3)
    n_updates = math.floor(1 / eps)
    found = bounds.dynamic_margin_updates_after(5.0, 1.0, eps, n_updates, 5.0 * n_updates)
    assert found == pytest.approx(bounds.dynamic_margin_updates(5.0, 1.0, eps), rel=1e-13)


@pytest.mark.parametrize(("eps", "previous_eps"), [(0.0625, 0.5), (0.01, 0.0625), (0.3, 0.6)])
def test_successive_bound_is_the_printed_relation_with_the_last_factor(eps, previous_eps):
    r, n_updates = 3.0, 100
    relation = n_updates * (1 / (1 - previous_eps)) ** (1 / eps)
    growth = 1 + (1 - previous_eps) ** 2 / (1 - 2 * eps) * r * r / n_updates
    relation *= growth ** (1 / (2 * eps))
    expected = relation * (1 - r * r / ((1 - 2 * eps) * relation)) ** (1 / (2 * eps))
    bound = bounds.successive_dynamic_margin_updates(r, 1.0, eps, previous_eps, n_updates)
    assert bound == pytest.approx(expected, rel=1e-11)


@examples(25)
@given(eps=st.floats(0.001, 0.999), factor=st.floats(1.01, 10))
def test_unlearning_threshold_attains_the_accuracy(eps, factor):
    b = bounds.unlearning_threshold(factor, eps)
    assert bounds.unlearning_fraction(1.0, b, factor) >= (1 - eps) * (1 - 1e-14)


@examples(25)
@given(kappa=st.floats(0, 1), b=st.floats(0, 100), gamma=st.floats(0.1, 2))
def test_constant_shrinking_lambda_inverts_kappa(kappa, b, gamma):
    lam = bounds.constant_shrinking_lambda(2.0, gamma, b, kappa)
    assume(lam < 1)
    found = bounds.constant_shrinking_kappa(2.0, gamma, b, lam)
    assert found == pytest.approx(kappa, rel=1e-12, abs=1e-300)


@examples(25)
@given(eps=st.floats(0.01, 1), r=st.floats(1, 100))
def test_constant_shrinking_parameters_attain_the_accuracy_within_the_bound_on_updates(eps, r):
    lam, b = bounds.constant_shrinking_parameters(r, 1.0, eps)
    assert bounds.constant_shrinking_kappa(r, 1.0, b, lam) == pytest.approx(1 - eps, abs=1e-12)
    fraction = bounds.constant_shrinking_fraction(r, 1.0, b, lam)
    assert fraction >= (1 - eps / 2) ** 2 * (1 - 1e-14)
    updates = bounds.constant_shrinking_updates(r, 1.0, b, lam)
    assume(eps < 1)
    assert updates <= r * r * math.log((2 - eps) / eps) / (eps * (1 - eps)) * (1 + SLACK)


@examples(25)
@given(eps=st.floats(0.001, 1), R=st.floats(0.1, 10))
def test_variable_shrinking_parameters_attain_the_accuracy(eps, R):
    n, b = bounds.variable_shrinking_parameters(R, eps)
    fraction = bounds.variable_shrinking_fraction(R, b, n)
    assert fraction >= (1 - eps / 2) ** 2 * (1 - 1e-14)


# ----------------------------------------------------------------------------------- all functions alike


BOUNDS = [getattr(bounds, name) for name in bounds.__all__]
VALID = {
    "R": 2.0,
    "gamma": 1.0,
    "b": 12.0,
    "delta_b": 8.0,
    "eps": 0.25,
    "previous_eps": 0.5,
    "lam": 0.01,
    "kappa": 0.5,
    "n": 2,
    "n_updates": 10,
    "previous_updates": 10,
    "norm": 15.0,
    "total_deviation": 3.0,
    "square_deviation": 3.0,
    "total_upper": 30.0,
    "C": 0.5,
    "exponent": 0.5,
    "radius": 0.25,
    "shift": 2.0,
}


# Powers of length in which arguments and results are measured; 0 unless listed.
DIMENSIONS = {
    "R": 1,
    "gamma": 1,
    "norm": 1,
    "radius": 1,
    "total_deviation": 1,
    "square_deviation": 1,
    "b": 2,
    "delta_b": 2,
    "C": -2,
    "unlearning_threshold": 2,
    "soft_unlearning_parameters": (0, 2),
    "constant_shrinking_parameters": (0, 2),
    "variable_shrinking_parameters": (0, 2),
}


def valid_arguments(bound):
    return {name: VALID[name] for name in bound.ranges}


def ends(bound, name):
    """Return the range of an argument as numbers and whether they belong to it."""
    interval = bound.ranges[name]
    values = {**VALID, "R**2": VALID["R"] ** 2}
    low, high = (float(values.get(text, text)) for text in interval[1:-1].split(", "))
    return low, high, interval[0] == "[", interval[-1] == "]"


def rejected(bound, name, value, error):
    """The error of a call with one wrong argument, without the names that it begins with: str."""
    with pytest.raises(error) as raised:
        bound(**{**valid_arguments(bound), name: value})
    text = str(raised.value)
    assert text.startswith(f"{name} of {bound.__name__} must be ")
    return text.removeprefix(f"{name} of {bound.__name__} must be ")


def test_docstrings_have_the_ranges_and_the_source():
    for bound in BOUNDS:
        parameters = inspect.signature(bound).parameters
        assert set(bound.ranges) == set(parameters), bound
        listed = "\n".join(
            f"{name} : {each.annotation.__name__} in " for name, each in parameters.items()
        )
        text = inspect.getdoc(bound)
        section = text.partition("Parameters\n----------\n")[2].partition("\n\nReturns\n-------\n")[0]
        assert re.sub(r" in .*", " in ", section) == listed, bound
        assert all(f"in {interval}\n" in section + "\n" for interval in bound.ranges.values()), bound
        assert re.search(r"\nNotes\n-----\n(.*\n)?Source: \w.+\.", text), bound


@pytest.mark.parametrize("bound", BOUNDS)
def test_arguments_in_their_ranges_are_accepted_and_all_others_rejected(bound):
    for name, parameter in inspect.signature(bound).parameters.items():
        kind, interval = parameter.annotation, bound.ranges[name]
        low, high, with_low, with_high = ends(bound, name)
        for end in [low] * with_low + [high] * with_high:
            accepted = end if end == INF else kind(end)
            assert np.all(np.isfinite(bound(**{**valid_arguments(bound), name: accepted})))
        for value in (low - 1 if with_low else low, high + 1 if with_high else high):
            if value != INF or not (with_high or kind is int):  # else nothing is beyond, or no int is
                text = rejected(bound, name, kind(value), ValueError)
                assert text == f"in {interval}. Got {kind(value)!r}."
        for value in ("3", None, [3.0], 1j, *([math.nan, 1.5] if kind is int else [])):
            text = rejected(bound, name, value, TypeError)
            assert text == f"of type {kind.__name__}. Got {value!r}."
        if kind is float:
            assert rejected(bound, name, math.nan, ValueError) == f"in {interval}. Got nan."


@pytest.mark.parametrize(
    "bound", [bounds.constant_shrinking_updates, bounds.constant_shrinking_fraction]
)
def test_shrinking_too_strong_to_converge_is_rejected(bound):
    with pytest.raises(ValueError) as raised:
        bound(2.0, 1.0, 1.5, 0.25)  # 2 gamma**2 / (R**2 + 2 b + gamma**2) is 1/4, too
    assert str(raised.value) == f"lam of {bound.__name__} must be in [0, 0.25). Got 0.25."


def test_numpy_scalars_are_numbers():
    for bound in BOUNDS:
        arguments = valid_arguments(bound)
        scalars = {
            name: np.int64(value) if isinstance(value, int) else np.float32(value)
            for name, value in arguments.items()
        }
        result = bound(**scalars)
        assert result == pytest.approx(bound(**arguments), rel=1e-5), bound
        assert all(type(number) in (int, float) for number in np.atleast_1d(result).tolist()), bound


def test_bounds_do_not_depend_on_the_unit_of_length():
    for bound, z in product(BOUNDS, (2.0**-60, 0.5, 2.0**60)):
        arguments, power = valid_arguments(bound), DIMENSIONS.get(bound.__name__, 0)
        scaled = {
            name: value * z ** DIMENSIONS[name] if name in DIMENSIONS else value
            for name, value in arguments.items()
        }
        expected = np.multiply(bound(**arguments), np.power(z, power))
        assert bound(**scaled) == pytest.approx(expected, rel=1e-14), (bound, z)


FALLING = [
    bound
    for bound in BOUNDS
    if "gamma" in bound.ranges and re.search("(?<!least)_updates$", bound.__name__)
]


@pytest.mark.parametrize("bound", FALLING)
def test_update_bounds_fall_with_the_margin(bound):
    arguments = valid_arguments(bound)
    for eps in (0.1, 0.25, 0.45, 0.5, 0.6, 0.9) if "eps" in arguments else (0,):
        if "eps" in arguments:
            arguments["eps"] = min(eps, 0.49) if ends(bound, "eps")[1] == 0.5 else eps
        values = [bound(**{**arguments, "gamma": gamma}) for gamma in np.linspace(0.7, 2, 27)]
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("R", [1e-200, 1e200])
def test_extreme_units_neither_overflow_nor_vanish(R):
    assert bounds.perceptron_updates(R, R / 4) == 16
    for bound in (bounds.lecture_updates, bounds.fixed_margin_updates):
        assert bound(R, R / 4, 0.5) == pytest.approx(bound(4.0, 1.0, 0.5))
    for eps in (0.4, 0.5, 0.6):
        usual = bounds.dynamic_margin_updates(4.0, 1.0, eps)
        assert bounds.dynamic_margin_updates(R, R / 4, eps) == pytest.approx(usual)
