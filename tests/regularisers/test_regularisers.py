"""Regularisers: r, its conjugate and its gradient, against their definitions, and what they refuse."""

import copy
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import margins
from margins.kernels import RBF
from margins.regularisers import L1, L2, Bounded, ElasticNet, Prior, Weighted
from margins.regularisers._terms import bound, gap_of, movable, value_of

numbers = st.integers(-4, 4).map(lambda n: n / 2)
bounds = st.tuples(numbers, numbers).map(sorted)


@st.composite
def all_terms(draw, n=3):
    penalty = draw(st.sampled_from([L2(), L1(), ElasticNet(0.25)]))
    penalty = Weighted([draw(st.sampled_from([0.5, 1.0, 2.0])) for _ in range(n)], penalty)
    penalty = Prior([draw(numbers) for _ in range(n)], penalty)
    pairs = [draw(st.one_of(bounds, st.just((-np.inf, np.inf)))) for _ in range(n)]
    lower, upper = zip(*pairs, strict=True)
    return Bounded(lower, upper, penalty).terms(n)


vectors = st.lists(numbers, min_size=3, max_size=3).map(np.array)


@given(all_terms(), vectors)
def test_the_conjugate_is_the_largest_difference(terms, a):
    # The maximum is at a bound, at a centre, where the slope is a, or infinitely far.
    grid = np.linspace(-12, 12, 97)[:, None]
    differences = np.clip(grid, terms.lower, terms.upper)
    values = np.array([a * w - terms.values(w) for w in differences])
    best = terms.conjugates(a)
    assert np.all(values.max(axis=0) <= best + 1e-12)
    finite = np.isfinite(best)
    w = np.where(finite, terms.weights(a), 0)
    np.testing.assert_allclose((a * w - terms.values(w))[finite], best[finite], atol=1e-14)


@given(all_terms(), vectors, vectors)
def test_compiled_sums_equal_their_definitions(terms, w, a):
    w = np.clip(w, terms.lower, terms.upper)
    assert value_of(terms, w) == pytest.approx(terms.value(w), abs=1e-14)
    if np.isfinite(terms.conjugate(a)):
        expected = terms.value(w) + terms.conjugate(a) - float(a @ w)
        assert gap_of(terms, w, a) == pytest.approx(expected, abs=1e-12)


@given(all_terms(), vectors, vectors, st.sampled_from([0.0, 2.0, 50.0]), st.sampled_from([0.0, 3.0]))
def test_a_bound_is_the_dual_value_of_a_feasible_multiple(terms, w, a, dual_sum, square):
    w, most = np.clip(w, terms.lower, terms.upper), largest_multiple(terms, a)
    t, value, gap = bound(terms, w, a, dual_sum, square)

    def value_at(t):
        return t * dual_sum - 0.5 * t * t * square - terms.conjugate(t * (1 - 1e-14) * a)

    assert 0 <= t <= most * (1 + 1e-12)
    assert value == pytest.approx(value_at(t), abs=1e-11)
    assert value >= value_at(most) - 1e-11
    assert gap == pytest.approx(gap_of(terms, w, t * a), abs=1e-11)


def test_values_and_bounds_of_one_number_for_all():
    assert value_of(Bounded(1).terms(1), np.zeros(1)) == np.inf
    assert value_of(Prior(0.5).terms(2), np.zeros(2)) == 0.25
    terms, zero, half = ElasticNet(0.5).terms(1), np.zeros(1), np.full(1, 0.5)
    assert bound(terms, zero, half, 0.0, 0.0, 0.25)[1] == -terms.conjugate(half + 0.25) < 0
    for a in (1.0, -1.0):
        scale, value, _ = bound(L1().terms(1), zero, np.array([a]), 3.0, 4.0, 0.25)
        assert scale == pytest.approx(0.8) and value == pytest.approx(0.8 * 3 - 0.8**2 * 4 / 2)
    terms = Weighted(0.7, L1()).terms(1)
    values = [bound(terms, zero, np.array([1 + k / 7]), 1.0, 1.0)[1] for k in range(50)]
    assert np.isfinite(values).all()  # rounding would make r* infinite


def largest_multiple(terms, a):
    """The largest t <= 1 for which r* is finite at t a, by bisection."""
    if np.isfinite(terms.conjugate(a)):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        t = 0.5 * (low + high)
        low, high = (t, high) if np.isfinite(terms.conjugate(t * a)) else (low, t)
    return low


@given(all_terms(), vectors, vectors, st.sampled_from([1e-12, 0.1, 1.0]))
def test_an_error_gives_what_is_worst_within_it(terms, w, a, error):
    ends = [a + error * np.array(signs) for signs in product((-1, 1), repeat=3)]
    t, value, _ = bound(terms, w, a, 1.0, 0.0, error)
    assert np.isfinite(value) and t <= min(largest_multiple(terms, end) for end in ends)
    worst = t - max(terms.conjugate(t * end) for end in ends)
    assert value <= worst + 1e-12
    if t == 1:
        assert value == pytest.approx(worst, abs=1e-12)


@given(all_terms(), vectors, vectors)
def test_a_weight_is_movable_unless_its_gradient_is_a_subgradient(terms, w, a):
    w = np.clip(w, terms.lower, terms.upper)
    left, right = terms.slopes(w)
    stays = (left <= a) & (a <= right)
    is_corner = (w == terms.lower) | (w == terms.upper) | ((w == terms.centre) & (np.abs(a) < terms.l1))
    expected = np.flatnonzero(~(stays & is_corner))
    assert movable(terms, w, a, 1.0)[0].tolist() == expected.tolist()


def test_the_limits_of_a_kink_and_the_share_of_it_that_is_sure():
    zero, one = np.zeros(1), np.ones(1)
    assert movable(Bounded(0, penalty=L1()).terms(1), zero, one, 1.0)[0].size == 0
    assert movable(Bounded(upper=0, penalty=L1()).terms(1), zero, -one, 1.0)[0].size == 0
    assert movable(L1().terms(1), zero, 0.75 * one, 1.0)[0].size == 0
    assert movable(L1().terms(1), zero, 0.75 * one, 0.5)[1].tolist() == [-0.25]
    assert movable(L1().terms(1), one, 0.75 * one, 0.5)[1].tolist() == [np.inf]


LESS = "lower of Bounded must be a number less than inf, or one for each feature. Got "
WRONG = [
    (lambda: ElasticNet(1.5), "l1_ratio of ElasticNet must be in [0, 1]. Got 1.5."),
    (lambda: ElasticNet("a"), "l1_ratio of ElasticNet must be in [0, 1]. Got 'a'."),
    (
        lambda: Bounded([0, 2], 1),
        "lower of Bounded must be at most upper. Got 2.0 and 1.0 for feature 1.",
    ),
    (lambda: Bounded([0, 0], [1]), "lower and upper of Bounded must have the same length. Got 2 and 1."),
    (lambda: Bounded(lower="x"), LESS + "'x'."),
    (lambda: Bounded(lower="0"), LESS + "'0'."),
    (lambda: Bounded(lower={"a": "0"}), LESS + "{'a': '0'}."),
    (lambda: Bounded(np.inf), LESS + "inf."),
    (lambda: Bounded(upper=-np.inf), "greater than -inf, or one for each feature. Got -inf."),
    (lambda: Weighted(np.inf), "must be a positive, finite number, or one for each feature. Got inf."),
    (lambda: Bounded(None), "Got None."),
    (lambda: Bounded({"a": True}), "Got {'a': True}."),
    (lambda: Prior([True, 2.0]), "Got [True, 2.0]."),
    (lambda: ElasticNet(True), "Got True."),
    (lambda: Bounded(upper=np.nan), "upper of Bounded must be a number greater than -inf, or one"),
    (lambda: Weighted([1, 0]), "weights of Weighted must be a positive, finite number, or one for each"),
    (lambda: Prior([0, np.inf]), "Got inf for feature 1."),
    (lambda: Prior(np.zeros((2, 2))), "Got an array of shape (2, 2)."),
    (
        lambda: Prior({"a": 0, "b": np.inf}),
        "finite number, or one for each feature. Got {'a': 0, 'b': inf}",
    ),
    (
        lambda: Prior({"a": [1, 2]}),
        "coef of Prior must be a finite number, or one for each feature. Got {",
    ),
    (lambda: Prior({0: 1}).for_features(["a"]), "names of features of X as keys. Got 0. X has ['a']."),
    (
        lambda: Bounded({"a": 1}, 0).for_features(["a"]),
        "at most upper. Got 1.0 and 0.0 for feature 'a'.",
    ),
    (lambda: Weighted({"a": 1}).terms(1), "weights of Weighted has names of features, so X must"),
    (
        lambda: Bounded({"agee": 0}).for_features(["age", "income"]),
        "lower of Bounded must have names of features of X as keys. Got 'agee'. Did you mean 'age'?",
    ),
    (lambda: Prior({"size": 0}).for_features(["age"]), "Got 'size'. X has ['age']."),
    (lambda: Prior([1, 2]).terms(3), "one number for each of the 3 features of X. Got 2 numbers."),
    (lambda: Prior([1, 2]).terms(1), "one number for each of the 1 features of X. Got 2 numbers."),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_wrong_numbers_are_errors_with_their_place(make, message):
    with pytest.raises(ValueError) as error:
        make()
    assert message in str(error.value)


def test_a_penalty_must_be_an_object():
    with pytest.raises(TypeError, match=r"must be a Regulariser, as L1\(\). Got 'l1'"):
        Bounded(penalty="l1")


def test_features_without_a_number_keep_the_number_of_the_penalty():
    inner = Weighted({"b": 2}, Prior({"a": 1}, Prior(3)))
    named = Bounded({"a": -np.inf, None: 0}, {"b": 4, "c": 5}, inner)
    assert copy.deepcopy(named) == named != Bounded({"a": -np.inf, None: 0}, {"b": 4, "c": 6}, inner)
    assert repr(named).startswith(
        "Bounded(lower={'a': -inf, None: 0.0}, upper={'b': 4.0, 'c': 5.0}, pen"
    )
    assert len(repr(Bounded({f"gene{j}": 0 for j in range(20000)}))) < 200  # messages have it
    ridge, _, centre, lower, upper = named.for_features(["b", "a", "c"]).terms(3)
    assert ridge.tolist() == [2, 1, 1] and centre.tolist() == [3, 1, 3]
    assert lower.tolist() == [0, -np.inf, 0] and upper.tolist() == [4, np.inf, 5]


def test_a_series_with_names_is_taken_by_name():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, 2.0], index=["b", "a"])
    assert Prior(series) == Prior({"b": 1, "a": 2}) and Bounded(series) == Bounded(dict(series))
    assert Weighted(pandas.Series([1.0, 2.0])) == Weighted([1, 2]) == Weighted(np.array([[1, 2]]))
    for wrong in (pandas.Series([1.0, 2.0], index=["a", "a"]), pandas.DataFrame([[1.0, 2.0]])):
        with pytest.raises(ValueError, match="must be a finite number, or one for each feature"):
            Prior(wrong)


def test_bounds_inside_others_hold_too():
    terms = Bounded({"a": 0}, penalty=Weighted(2, Bounded(-1, {None: 0.5}))).for_features("ab").terms(2)
    assert terms.lower.tolist() == [0, -1] and terms.upper.tolist() == [0.5, 0.5]
    nested = Bounded([0, 0], 1, Weighted(2, Bounded([0, 2])))
    with pytest.raises(
        ValueError, match=r"lower of Bounded .* at most upper. Got 2.0 and 1.0 for feature 1"
    ):
        nested.terms(2)
    with pytest.raises(ValueError, match=r"Got 2.0 and 1.0 for feature 'b'"):
        nested.for_features("ab")


def test_parameters_are_nested_as_those_of_estimators():
    penalty = Bounded(0, 1, ElasticNet(0.25))
    classifier = margins.MarginClassifier(penalty=penalty)
    assert classifier.get_params()["penalty__penalty__l1_ratio"] == 0.25
    changed = clone(classifier).set_params(
        penalty__lower=2, penalty__upper=3, penalty__penalty__l1_ratio=1
    )
    assert changed.penalty == Bounded(2, 3, ElasticNet(1)) and penalty == Bounded(0, 1, ElasticNet(0.25))
    Bounded(0, 1, inner := ElasticNet(0.25)).set_params(penalty__l1_ratio=1)
    assert inner == ElasticNet(0.25)  # others may have it
    for wrong, error in (
        ({"penalty__l1_ratio": 0.5, "lower": 2}, ValueError),
        ({"penalty__l1_ratio": 2}, ValueError),
        ({"penalty": "l1", "penalty__l1_ratio": 0.5}, TypeError),
        ({"low": 0}, ValueError),
        ({"penalty__penalty__lower": 0}, ValueError),
        ({"penalty": None, "penalty__l1_ratio": 0.5}, ValueError),
    ):
        with pytest.raises(error):
            penalty.set_params(**wrong)
        assert penalty == Bounded(0, 1, ElasticNet(0.25))


@pytest.mark.parametrize(
    ("name", "value"),
    [("penalty", None), ("penalty", "l2"), ("penalty", L1), ("loss", "hinge"), ("kernel", RBF())],
)
@pytest.mark.parametrize("make", [margins.MarginClassifier, margins.MarginClassifierCV])
def test_parameters_of_what_has_none_are_errors_before_any_is_set(make, name, value):
    classifier = make(penalty=Bounded())
    message = rf"^Invalid parameter '{name}__x' of {make.__name__}.set_params. .*loss, .* Got {name}="
    with pytest.raises(ValueError, match=message):
        classifier.set_params(max_iter=7, **{name: value, f"{name}__x": 1})
    assert classifier.get_params(deep=False) == make(penalty=Bounded()).get_params(deep=False)


def test_regularisers_are_values():
    one = Bounded([0, 1], 2, Prior([1, 2], ElasticNet(0.5)))
    assert one == copy.deepcopy(one)
    assert one != Bounded([0, 1], 3, Prior([1, 2], ElasticNet(0.5)))
    assert one != L1() and L1() == L1() and hash(L1()) == hash(L1())
    assert (
        repr(one)
        == "Bounded(lower=[0., 1.], upper=2., penalty=Prior(coef=[1., 2.], penalty=ElasticNet(0.5)))"
    )
