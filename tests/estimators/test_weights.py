"""Weights of samples and of classes."""

import math
from itertools import product

import exact_optima
import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, NAMES, NOISE_TOLERANT, REPRESENTATIVES, UNSCALED, VOTING, quiet
from numpy.testing import assert_allclose, assert_array_equal
from problems import assert_same_fit, clouds, make

from margins.estimators.maximum_margin import MaximumMarginClassifier

# A hard margin does not depend on weights; the others multiply updates by them.
HARD = [name for name in NAMES if ALGORITHMS[name].WEIGHTS_MULTIPLY == "C"]
WEIGHING = [name for name in NAMES if name not in HARD]


def objective(classifier, X, y, C, loss="squared_hinge"):
    """What the coefficients as returned cost on a binary problem, from its definition."""
    w, b = classifier.coef_[0], classifier.intercept_[0]
    slack = np.maximum(1 - np.where(y == classifier.classes_[1], 1, -1) * (X @ w + b), 0)
    bias_weight = b / classifier.intercept_scaling
    return 0.5 * (w @ w + bias_weight**2) + np.sum(C * (slack if loss == "hinge" else slack**2))


def assert_primal(name, classifier, X, y, C, loss):
    """The primal objectives stated are those of the coefficients and of their best multiple."""
    certificate = classifier.certificates_[0]
    assert_allclose(certificate.primal, objective(classifier, X, y, C, loss), rtol=1e-9)
    if name in UNSCALED:
        products = np.where(y == classifier.classes_[1], 1, -1) * classifier.decision_function(X)
        bias_weight = classifier.intercept_[0] / classifier.intercept_scaling
        sqnorm = np.sum(classifier.coef_**2) + bias_weight**2
        best = exact_optima.best_multiple(products, sqnorm, C)
        assert best * (1 - 1e-9) <= certificate.rescaled_primal <= best * (1 + 1e-6)


def assert_same_problem(name, one, other, X, y, C, loss="squared_hinge"):
    """Two fits have solved the problem (X, y, C), each as well as it has proven."""
    if name not in VOTING:
        assert_primal(name, one, X, y, C, loss)
        assert_primal(name, other, X, y, C, loss)
    for left, right in ((one, other), (other, one)):
        # Weak duality: if both speak of one problem, no dual value exceeds a primal one.
        assert left.certificates_[0].dual <= right.certificates_[0].primal * (1 + 1e-9)
        if isinstance(left, MaximumMarginClassifier):
            assert left.converged_
            most = 1 + left.eps if loss == "hinge" else (1 - left.eps) ** -2
            assert objective(left, X, y, C, loss) <= objective(right, X, y, C, loss) * most * (1 + 1e-9)


# By default the noise tolerant ones add a bias that depends on how many rows there are of which.
WEIGHTED = [
    pytest.param(name, {"intercept_scaling": 1.0} if name in NOISE_TOLERANT else {}, id=name)
    for name in NAMES
]
WEIGHTED.append(pytest.param("mpu", {"loss": "hinge"}, id="mpu-hinge"))


@quiet
@pytest.mark.parametrize(("name", "params"), WEIGHTED)
def test_an_integer_weight_equals_repeated_rows(name, params):
    X, y = clouds(distance=0.5)
    repeats = np.random.default_rng(1).integers(0, 5, len(y))
    weighted = make(name, C=1.0, random_state=0, **params).fit(X, y, repeats)
    repeated = make(name, C=1.0, random_state=0, **params).fit(
        X.repeat(repeats, axis=0), y.repeat(repeats)
    )
    assert_same_problem(
        name, weighted, repeated, X, y, repeats, params.get("loss", ALGORITHMS[name].loss)
    )


@quiet
@pytest.mark.parametrize(
    ("name", "params"),
    [weighted for weighted in WEIGHTED if weighted.values[0] in (*REPRESENTATIVES, "mpu")],
)
def test_weights_of_all_kinds_multiply_C(name, params):
    X, y = clouds()
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10]]  # 30 and 10
    X, y = X[few], y[few]

    def fit(sample_weight=None, C=1.0, **more):
        return make(name, C=C, random_state=0, **params, **more).fit(X, y, sample_weight)

    by_class = np.where(y == 1, 2.0, 2 / 3)  # 40 / (2 * count)
    expected = fit(by_class)
    assert_same_fit(fit(class_weight="balanced"), expected)
    assert_same_fit(fit(class_weight={0: 2 / 3, 1: 2.0}), expected)
    assert_same_fit(fit(np.where(y == 1, 1.0, 2 / 3), class_weight={1: 2.0}), expected)
    if ALGORITHMS[name].WEIGHTS_MULTIPLY == "updates":
        pass  # without a threshold the iterates of perceptrons are four times as long
    elif "loss" in params:  # for the hinge loss mpu sets b by C alone: one problem, two ways to it
        assert_same_problem(name, fit(np.full(len(y), 4.0)), fit(C=4.0), X, y, 4.0, **params)
    else:
        assert_same_fit(fit(np.full(len(y), 4.0)), fit(C=4.0))
    assert_same_fit(fit(np.ones(len(y))), fit())
    assert_same_fit(fit(by_class.tolist()), expected)
    assert fit().certificates_ != expected.certificates_


FACTORS = [2.0**-13, 2.0**13]  # 1e-4 and 1e4 without rounding
FEW = ["auto", "perceptron", *VOTING]
OTHERS = [name for name in NAMES if name not in FEW]


@quiet
@pytest.mark.parametrize(
    ("name", "factor"),
    [*product(FEW, FACTORS), *((name, FACTORS[k % 2]) for k, name in enumerate(OTHERS))],
)
def test_a_common_factor_of_weights_is_a_factor_of_C_and_changes_nothing_else(name, factor):
    X, y = clouds(n_classes=3, distance=1.0)
    weight = np.random.default_rng(4).uniform(0.5, 2, len(y))

    def scores(weight, C, chunks=0):
        classifier = make(name, C=C, random_state=0, max_iter=10)
        if not chunks:
            return classifier.fit(X, y, weight).decision_function(X)
        for rows in np.array_split(np.arange(len(y)), chunks):
            classifier.partial_fit(X[rows], y[rows], [0, 1, 2], weight[rows])
        return classifier.decision_function(X)

    def assert_same(one, other):
        # The scores of a model that is still 0 are 0.
        one, other = (each / np.maximum(np.linalg.norm(each, axis=0), 1e-99) for each in (one, other))
        assert_allclose(one, other, rtol=1e-6, atol=1e-9)

    assert_same(scores(factor * weight, 1.0), scores(weight, factor))
    if name != "pegasos":  # whose step is 1 / t after the t-th draw: no step without weights is neutral
        assert_same(scores(np.full(len(y), factor), math.inf), scores(np.ones(len(y)), math.inf))
    if name in HARD:
        return
    if name != "pegasos":
        assert_same(scores(factor * weight, math.inf), scores(weight, math.inf))
    if hasattr(make(name), "partial_fit"):
        assert_same(scores(factor * weight, 1.0, chunks=3), scores(weight, factor, chunks=3))
        assert_same(scores(factor * weight, math.inf, chunks=3), scores(weight, math.inf, chunks=3))


CASES = list(product([1.0, math.inf], [None, "balanced", {1: 3.0}]))


@quiet
@pytest.mark.parametrize(
    ("name", "case"),
    [
        *product(["mpu", *VOTING], CASES),
        *product(["pocket", "longest-survivor"], CASES[:1]),
        *((name, CASES[k % len(CASES)]) for k, name in enumerate(REPRESENTATIVES)),
    ],
)
def test_row_of_weight_zero_is_ignored(name, case):
    C, class_weight = case
    # Bit for bit: seeds are drawn for the classes, which stay, and orders permute the rows kept.
    X, y = clouds(n_classes=3, distance=6)
    weight = np.random.default_rng(2).choice([0.0, 0.5, 1.0], len(y))
    if math.isinf(C) and name in HARD:
        weight, class_weight = np.ceil(weight), None
    weight[:9] = 0
    kept = weight > 0
    params = {"C": C, "class_weight": class_weight, "random_state": 0, "max_iter": 50}
    zero = make(name, **params).fit(X, y, weight)
    left_out = make(name, **params).fit(X[kept], y[kept], weight[kept])
    assert_array_equal(zero.decision_function(X), left_out.decision_function(X))
    assert zero.certificates_ == left_out.certificates_
    if name in VOTING:
        assert_array_equal(zero.support_, np.flatnonzero(kept)[left_out.support_])
        assert_array_equal(zero.support_vectors_, X[zero.support_])
    else:
        assert_array_equal(zero.coef_, left_out.coef_)
        assert_array_equal(zero.intercept_, left_out.intercept_)
    if hasattr(left_out, "dual_coef_"):
        assert_array_equal(zero.dual_coef_[:, kept], left_out.dual_coef_)
        assert not zero.dual_coef_[:, ~kept].any()


@quiet
@pytest.mark.parametrize("name", ["mpu", "pdm", "dcd"])
def test_balanced_counts_samples_by_their_weight(name):
    X, y = clouds(distance=0.5)
    repeats = np.where(y == 1, 3, 1)
    params = {"C": 1.0, "class_weight": "balanced", "random_state": 0}
    weighted = make(name, **params).fit(X, y, repeats)
    repeated = make(name, **params).fit(X.repeat(repeats, axis=0), y.repeat(repeats))
    # 120 rows, 30 of class 0, 90 of class 1: 120 / 60 once and 120 / 180 three times.
    assert_same_problem(name, weighted, repeated, X, y, 2.0)


@pytest.mark.parametrize("name", HARD)
def test_weights_that_a_hard_margin_would_ignore_are_an_error(name):
    X, y = clouds(distance=6)
    weight = np.random.default_rng(2).uniform(0.5, 2, len(y))
    sentence = r"class_weight of .* same weight.* with C=inf: .* Use a finite C"
    with pytest.raises(ValueError, match=sentence):
        make(name, C=math.inf).fit(X, y, weight)
    with pytest.raises(ValueError, match=sentence):
        make(name, C=math.inf, class_weight={1: 9.0}).fit(X, y)
    if hasattr(ALGORITHMS[name](), "partial_fit"):
        with pytest.raises(ValueError, match=sentence):
            make(name, C=math.inf).partial_fit(X, y, [0, 1], weight)
        with pytest.raises(ValueError, match=sentence):  # others may follow
            make(name, C=math.inf).partial_fit(X, y, [0, 1], np.full(len(y), 5.0))


@quiet
@pytest.mark.parametrize("name", sorted({*REPRESENTATIVES, *WEIGHING}))
def test_equal_weights_of_a_hard_margin_change_no_bit(name):
    X, y = clouds(distance=6)
    plain = make(name, C=math.inf, random_state=0).fit(X, y)
    assert_same_fit(make(name, C=math.inf, random_state=0).fit(X, y, np.ones(len(y))), plain)
    if name in HARD:
        assert_same_fit(make(name, C=math.inf, random_state=0).fit(X, y, np.full(len(y), 3.0)), plain)


def perceptron_step(a, y, c, p):
    return a + c * y if p <= 0 else a


def pa_step(most=math.inf, slack=0.0):
    def step(a, y, c, p):
        return a + c * min(most, max(1 - p, 0) / (y @ y + slack)) * y

    return step


def norma_step(a, y, c, p):
    return 0.99 * a + (0.1 * c * y if p <= 1 else 0)


def ball_step(a, y, c, p):
    length = math.sqrt(a @ a)
    if p > 0.5 * length:
        return a
    return a + c * (y - 0.5 * a / length) if p > 0 else a + c * y


def shifting_steps():
    t = 0

    def step(a, y, c, p):
        nonlocal t
        if p > 0:
            return a
        t += 1
        return c * y if t == 1 else ((t - 1) * a + 2 * c * y) / (t + 1)

    return step


def second_order(Y, weight):
    """The weight vector by its definition: w = (I + sum of c x x^T)^-1 v."""
    P, v = np.eye(Y.shape[1]), np.zeros(Y.shape[1])
    for y, c in zip(Y, weight, strict=True):
        if y @ np.linalg.solve(P, v) <= 0:
            P, v = P + c * np.outer(y, y), v + c * y
    return np.linalg.solve(P, v)


def budget_of_ten(Y, weight):
    """The sum of a cache that loses the member with the largest product without itself."""
    members = []
    for k, y in enumerate(Y):
        a = sum((weight[i] * Y[i] for i in members), np.zeros(Y.shape[1]))
        if y @ a > 0:
            continue
        if len(members) == 10:
            members.pop(int(np.argmax([Y[i] @ (a - weight[i] * Y[i]) for i in members])))
        members.append(k)
    return sum(weight[i] * Y[i] for i in members)


STEPS = {
    "perceptron": ({}, lambda: perceptron_step),
    "pa-i": ({"aggressiveness": 0.05, "radius": 1.0, "min_loss": 0.0}, lambda: pa_step(most=0.05)),
    "pa-ii": ({"aggressiveness": 0.05, "radius": 1.0, "min_loss": 0.0}, lambda: pa_step(slack=10.0)),
    "norma": ({"eta": 0.1, "lam": 0.1, "radius": 1.0}, lambda: norma_step),
    "ballseptron": ({"radius": 0.5}, lambda: ball_step),
    "spa": ({"lam": 2.0}, shifting_steps),
    "servedio-average": ({"fit_intercept": True}, lambda: lambda a, y, c, p: a + c * y),
}
WHOLE_STREAMS = {
    "second-order-perceptron": ({"a": 1.0}, second_order),
    "budget-perceptron": ({"size": 10}, budget_of_ten),
}


@pytest.mark.parametrize("name", [*STEPS, *WHOLE_STREAMS])
@pytest.mark.parametrize("n_chunks", [1, 3])
def test_weights_of_a_stream_multiply_its_updates(name, n_chunks):
    X, y = clouds(distance=1.0, m=90)
    weight = np.random.default_rng(3).choice([0.5, 1.0, 2.0, 5.0], len(y))
    Y = np.where(y == 1, 1, -1)[:, None] * np.c_[X, np.ones(len(y))]
    params, oracle = {**STEPS, **WHOLE_STREAMS}[name]
    counted = weight
    if ALGORITHMS[name].WEIGHTS_MULTIPLY == "relative updates":
        counted = weight / (np.cumsum(weight) / np.arange(1, len(y) + 1))
    classifier = make(name, intercept_scaling=1.0, **params)
    for rows in np.array_split(np.arange(len(y)), n_chunks):
        classifier.partial_fit(X[rows], y[rows], [0, 1], weight[rows])
    if name in STEPS:
        a, step = np.zeros(Y.shape[1]), oracle()
        for sample, c in zip(Y, counted, strict=True):
            a = step(a, sample, c, sample @ a)
    else:
        a = oracle(Y, counted)
    found = np.r_[classifier.coef_[0], classifier.intercept_]
    assert_allclose(found / np.linalg.norm(found), a / np.linalg.norm(a), rtol=1e-8, atol=1e-10)
