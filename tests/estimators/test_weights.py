"""Weights of samples and of classes."""

import math
from itertools import product

import exact_optima
import numpy as np
import pytest
from algorithm_groups import (
    ALGORITHMS,
    NAMES,
    NOISE_TOLERANT,
    REPRESENTATIVES,
    UNSCALED,
    VOTING,
    quiet,
)
from fitted_clouds import assert_same_fit, clouds, make
from numpy.testing import assert_allclose, assert_array_equal

from margins.estimators.maximum_margin import MaximumMarginClassifier


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
def test_sample_weight_is_that_many_rows(name, params):
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
    [weighted for weighted in WEIGHTED if weighted.values[0] in ("mpu", "pa-i", "dcd")],
)
def test_class_weight_is_that_many_rows(name, params):
    X, y = clouds(distance=0.5)
    repeats = np.where(y == 1, 3, 2)
    weighted = make(name, C=1.0, random_state=0, class_weight={0: 2, 1: 3}, **params).fit(X, y)
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
    if "loss" in params:  # mpu sets b for the hinge loss by C alone: one problem, but another way to it
        assert_same_problem(name, fit(np.full(len(y), 4.0)), fit(C=4.0), X, y, 4.0, **params)
    else:
        assert_same_fit(fit(np.full(len(y), 4.0)), fit(C=4.0))
    assert_same_fit(fit(np.ones(len(y))), fit())
    assert_same_fit(fit(by_class.tolist()), expected)
    assert fit().certificates_ != expected.certificates_


@quiet
@pytest.mark.parametrize("name", ["auto", "pdm", *VOTING])
def test_class_weight_names_the_classes_by_their_labels(name):
    X, codes = clouds(n_classes=3)
    expected = make(name, C=1.0, random_state=0, class_weight={2: 5.0}).fit(X, codes)
    for labels in (np.array(["a", "b", "c"]), np.array([-3.0, 0.0, 2.0]), np.array(["1", "2", "3"])):
        named = make(name, C=1.0, random_state=0, class_weight={labels[2].item(): 5.0})
        named.fit(X, labels[codes])
        assert_array_equal(named.decision_function(X), expected.decision_function(X))
        assert named.certificates_ == expected.certificates_


CASES = list(product([1.0, math.inf], [None, "balanced", {1: 3.0}]))


@quiet
@pytest.mark.parametrize(
    ("name", "case"),
    [
        *product(["mpu", *VOTING], CASES),
        *((name, CASES[k % len(CASES)]) for k, name in enumerate(REPRESENTATIVES)),
    ],
)
def test_row_of_weight_zero_is_a_row_left_out(name, case):
    C, class_weight = case
    # Bit for bit: seeds are drawn for the classes, which stay, and orders permute the rows kept.
    X, y = clouds(n_classes=3, distance=6)
    weight = np.random.default_rng(2).choice([0.0, 0.5, 1.0], len(y))
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


@quiet
@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_weights_mean_nothing_to_the_hard_margin(name):
    X, y = clouds(distance=6)
    weight = np.random.default_rng(2).uniform(0.5, 2, len(y))
    plain = make(name, C=math.inf, random_state=0).fit(X, y)
    assert_same_fit(make(name, C=math.inf, random_state=0).fit(X, y, weight), plain)
    balanced = make(name, C=math.inf, random_state=0, class_weight={1: 9.0})
    assert_same_fit(balanced.fit(X, y), plain)
