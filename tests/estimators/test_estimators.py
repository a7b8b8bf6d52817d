"""What every fitted classifier has: labels, scores, dual variables, progress, convergence, seeds."""

import math
import warnings
from itertools import product

import joblib
import numpy as np
import pytest
from algorithm_groups import (
    AVERAGE,
    NAMES,
    NOISE_TOLERANT,
    REPRESENTATIVES,
    STOPPING,
    VOTING,
    WHITENING,
    each_representative,
    quiet,
)
from numpy.testing import assert_allclose, assert_array_equal
from problems import assert_same_fit, by_rules, clouds, make
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.parameters import BOOLEAN, parameter

LABELS = {
    "str": np.array(["ham", "spam", "zebra"]),
    "object": np.array(["ham", "spam", "zebra"], dtype=object),
    "negative int": np.array([-7, -2, 0]),
    "int8": np.array([-128, 3, 127], dtype=np.int8),
    "uint64": np.array([0, 3, 2**63], dtype=np.uint64),
    "float": np.array([-1.0, 0.0, 4.0]),
    "bool": np.array([False, True]),
    "list": ["ham", "spam", "zebra"],
}


CASES = [(n, kind) for kind in LABELS for n in (2, 3) if n <= len(LABELS[kind])]


@quiet
@pytest.mark.parametrize(
    ("name", "case"),
    [
        *(("perceptron", case) for case in CASES),
        *((name, CASES[k % len(CASES)]) for k, name in enumerate(REPRESENTATIVES)),
    ],
)
def test_labels_may_be_of_any_type(name, case):
    n_classes, labels = case[0], LABELS[case[1]]
    X, codes = clouds(n_classes=n_classes)
    plain = make(name, random_state=0, max_iter=20).fit(X, codes)
    y = [labels[code] for code in codes] if isinstance(labels, list) else labels[codes]
    classifier = make(name, random_state=0, max_iter=20).fit(X, y)
    assert_array_equal(classifier.classes_, labels[:n_classes])
    assert_array_equal(classifier.decision_function(X), plain.decision_function(X))
    prediction = classifier.predict(X)
    assert prediction.dtype == np.asarray(y).dtype
    assert_array_equal(prediction, np.asarray(labels)[plain.predict(X)])


@quiet
@each_representative
def test_second_class_of_two_has_the_positive_scores(name):
    X, y = clouds(distance=4)
    X -= X.mean(axis=0)  # for the one that has no bias
    classifier = make(name, random_state=0).fit(X, y)
    scores = classifier.decision_function(X)
    assert scores.shape == (60,)
    if name in VOTING:
        assert not hasattr(classifier, "coef_") and not hasattr(classifier, "intercept_")
        assert_array_equal(scores, np.rint(scores))
    else:
        assert classifier.coef_.shape == (1, 4)
        assert classifier.intercept_.shape == (1,)
        assert_allclose(scores, X @ classifier.coef_[0] + classifier.intercept_[0], rtol=1e-12)
    assert_array_equal(classifier.predict(X), scores > 0)
    assert classifier.score(X, y) > 0.9


@quiet
@pytest.mark.parametrize("name", [*REPRESENTATIVES, "mpu", "pdm", "random-budget-perceptron"])
def test_each_row_of_many_classes_is_a_binary_problem(name):
    X, y = clouds(n_classes=3)
    classifier = make(name, random_state=0).fit(X, y)
    seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=3)
    if name in NOISE_TOLERANT:  # all classes take one way through the data
        seeds[:] = seeds[0]
    for code, seed in enumerate(seeds):

        class Seed(np.random.RandomState):
            def randint(self, *args, seed=seed, **kwargs):
                return np.array([seed])

        alone = make(name, random_state=Seed()).fit(X, y == code)
        if name in VOTING:
            assert_array_equal(alone.votes_[0], classifier.votes_[code])
            mistaken = alone.support_[alone.mistakes_[0]]
            assert_array_equal(mistaken, classifier.support_[classifier.mistakes_[code]])
        else:
            assert_array_equal(alone.coef_[0], classifier.coef_[code])
            assert alone.intercept_[0] == classifier.intercept_[code]
        assert alone.certificates_[0] == classifier.certificates_[code]
        assert alone.learning_curve_[0] == classifier.learning_curve_[code]


@quiet
@pytest.mark.parametrize(
    ("name", "n_classes"), [*product(REPRESENTATIVES, [3]), *product(["auto", "pdm", *VOTING], [2])]
)
def test_fitted_attributes_have_their_types_and_ranges(name, n_classes):
    X, y = clouds(n_classes=n_classes)
    classifier = make(name, random_state=0).fit(X, y)
    rows = 1 if n_classes == 2 else n_classes
    if name in VOTING:
        for votes, mistakes in zip(classifier.votes_, classifier.mistakes_, strict=True):
            assert votes.dtype == np.float64 and mistakes.dtype == np.int32
            assert votes.shape == (len(mistakes) + 1,) and (votes >= 0).all()
        assert len(classifier.votes_) == rows
        assert_array_equal(classifier.support_vectors_, X[classifier.support_])
    else:
        assert classifier.coef_.shape == (rows, 4) and classifier.intercept_.shape == (rows,)
        assert classifier.coef_.dtype == classifier.intercept_.dtype == np.float64
        assert np.isfinite(classifier.coef_).all() and np.isfinite(classifier.intercept_).all()
    assert type(classifier.n_iter_) is int and 1 <= classifier.n_iter_ <= classifier.max_iter
    assert type(classifier.n_updates_) is int and classifier.n_updates_ >= 1
    assert type(classifier.n_accesses_) is int and classifier.n_accesses_ >= len(X)
    assert type(classifier.converged_) is bool
    assert classifier.n_features_in_ == 4
    assert len(classifier.certificates_) == len(classifier.learning_curve_) == rows
    assert max(len(curve) for curve in classifier.learning_curve_) == classifier.n_iter_
    for curve, certificate in zip(classifier.learning_curve_, classifier.certificates_, strict=True):
        assert [epoch.epoch for epoch in curve] == list(range(1, len(curve) + 1))
        assert curve[-1].updates == certificate.n_updates
        assert all(type(number) is int for epoch in curve for number in epoch[:3])
    assert (
        sum(certificate.n_updates for certificate in classifier.certificates_) == classifier.n_updates_
    )
    for certificate in classifier.certificates_:
        for field in ("margin", "upper_bound", "fraction", "primal", "dual", "gap"):
            assert type(getattr(certificate, field)) is float, field
        assert type(certificate.n_updates) is int
        assert 0 <= certificate.fraction <= 1
        assert certificate.margin <= certificate.upper_bound
        assert certificate.gap >= 0
        assert certificate.dual <= certificate.primal


WITH_DUAL_VARIABLES = [
    (name, {"C": 10.0 if k % 2 else 0.1})
    for k, name in enumerate(NAMES)
    if name not in (*VOTING, WHITENING)
]
WITH_DUAL_VARIABLES += [(name, {"C": math.inf}) for name in ("alpha-bound", "lambda-trick")]
WITH_DUAL_VARIABLES += [("mpu", {"C": C, "loss": "hinge"}) for C in (0.1, 10.0)]


# Newton steps leave a primal and a dual solution, which are one at the optimum only: test_newton.py.
WITH_DUAL_VARIABLES = [(name, {**params, **by_rules(name)}) for name, params in WITH_DUAL_VARIABLES]


@quiet
@pytest.mark.parametrize(
    ("name", "params", "n_classes", "weighted"),
    [
        *((name, params, 3, True) for name, params in WITH_DUAL_VARIABLES),
        ("mpu", {"C": math.inf, "max_iter": 20, **by_rules("mpu")}, 3, False),
        ("mpu", {"C": 10.0}, 2, False),
        ("perceptron", {"C": 0.1}, 2, False),
        ("pa-i", {"C": 0.1}, 2, True),
        ("dcd", {"C": 10.0}, 2, True),
    ],
)
def test_coefficients_are_the_sum_of_the_samples_times_their_dual_variables(
    name, params, n_classes, weighted
):
    X, y = clouds(n_classes=n_classes)
    weight = np.random.default_rng(1).integers(0, 4, len(y)) * 0.7 if weighted else np.ones(len(y))
    classifier = make(name, random_state=0, intercept_scaling=2.0, **params).fit(X, y, weight)
    dual = classifier.dual_coef_
    assert dual.shape == (len(classifier.coef_), len(y))
    assert (dual >= 0).all() and dual.any(axis=1).all()
    assert not dual[:, weight == 0].any()
    if params.get("loss") == "hinge":
        # alpha * min(C / alpha) may round up.
        assert (dual <= params["C"] * weight * (1 + 4e-16)).all()
    rho = 2.0 * classifier.fit_intercept
    theta_init = getattr(classifier, "theta_init_", 0.0)  # where the bias starts
    for row, alpha in enumerate(dual):
        labels = np.where(y == (1 if n_classes == 2 else row), 1, -1)
        combination = np.append(alpha * labels @ X, rho * np.sum(alpha * labels))
        weights = np.append(classifier.coef_[row], (classifier.intercept_[row] + theta_init) / 2.0)
        scale = weights @ combination / (combination @ combination)
        assert scale > 0
        assert_allclose(weights, scale * combination, atol=1e-9 * np.linalg.norm(weights), rtol=0)


@quiet
@pytest.mark.parametrize("name", ["auto", "pdm", AVERAGE, *VOTING, "alma", "budget-perceptron"])
def test_verbose_fit_prints_a_line_for_every_epoch(name, capsys):
    X, y = clouds()
    for verbose in (0, False):
        make(name, random_state=0, verbose=verbose).fit(X, y)
        assert capsys.readouterr() == ("", "")
    for verbose in (1, True, 3):
        classifier = make(name, random_state=0, verbose=verbose).fit(X, y)
        out, err = capsys.readouterr()
        assert err == ""
        lines = out.splitlines()
        short = "MarginClassifier" if name == "auto" else name
        assert len(lines) == classifier.n_iter_
        for number, line in enumerate(lines, start=1):
            assert line.startswith(f"{short}: epoch {number} (")
        assert str(classifier.n_updates_) in lines[-1]


@pytest.mark.parametrize(
    ("name", "stop"), [*product(STOPPING, ["certificate"]), *product(["mpu", "pdm"], ["clean-pass"])]
)
def test_warning_names_the_class_without_a_proof(name, stop):
    X, y = clouds(n_classes=3)
    y = np.array(["ant", "bee", "cat"])[y]
    # One epoch of Newton steps is enough for data as small.
    params = {"C": 100.0, "eps": 1e-6, "max_iter": 1, "stop": stop, **by_rules(name)}
    classifier = make(name, random_state=0, **params)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(X, y)
    assert not classifier.converged_
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert warning.filename == __file__  # of the caller of fit
    worst = np.argmax([certificate.gap for certificate in classifier.certificates_])
    who, label = classifier._display_name(), classifier.classes_[worst]
    assert str(warning.message).startswith(f"{who} did not converge for class '{label}': max_iter=1 ")
    assert str(warning.message).endswith("Nor did 2 of the other 2 problems.")


@quiet
def test_fit_ignores_a_process_backend_that_surrounds_it():
    X, y = clouds(n_classes=4)
    alone = make("pdm", random_state=3).fit(X, y)
    with joblib.parallel_config("loky", n_jobs=2):
        together = make("pdm", random_state=3).fit(X, y)
    assert_same_fit(together, alone)


@quiet
@each_representative
def test_random_state_decides_the_result(name):
    X, y = clouds(n_classes=3)
    params = {"max_iter": 30, **by_rules(name)}
    one = make(name, random_state=7, **params).fit(X, y)
    generator = np.random.RandomState(7)
    assert_same_fit(make(name, random_state=generator, **params).fit(X, y), one)
    # A generator keeps its state between fits; and each seed gives an order of its own.
    for random_state in (generator, 8):
        other = make(name, random_state=random_state, **params).fit(X, y)
        if name == AVERAGE:  # a sum has no order but that of its roundings
            assert_allclose(other.coef_, one.coef_, rtol=1e-12)
        else:
            assert not np.array_equal(other.decision_function(X), one.decision_function(X))


def test_newton_steps_over_few_samples_have_no_order():
    X, y = clouds(n_classes=3)
    one, other = (make("auto", random_state=seed).fit(X, y) for seed in (7, 8))
    assert_same_fit(other, one)


def test_values_that_a_class_assigns_to_parameters_are_defaults_and_checked():
    class Longer(margins.get("pdm")):
        """More epochs."""

        max_iter = 7

    assert Longer().max_iter == 7 and Longer(max_iter=8).max_iter == 8
    with pytest.raises(ValueError, match=r"max_iter of Wrong must be an integer in .* Got 2\.5"):
        type("Wrong", (margins.MarginClassifier,), {"max_iter": 2.5})
    untyped = parameter(BOOLEAN, "Without a type.", default=True)
    with pytest.raises(TypeError, match="no type annotation"):
        type("Untyped", (margins.MarginClassifier,), {"verbose": untyped})


def test_threads_of_predictions_are_checked_where_they_are_used():
    X, y = clouds(m=60, n_classes=2)
    linear = margins.MarginClassifier(random_state=0).fit(X, y)
    kernel = margins.MarginClassifier(kernel="rbf", random_state=0).fit(X, y)
    expected = kernel.decision_function(X)
    assert (linear.set_params(n_jobs="x").predict(X) == y).mean() > 0.5
    np.testing.assert_array_equal(kernel.set_params(n_jobs=3).decision_function(X), expected)
    with pytest.raises(ValueError, match=r"n_jobs of MarginClassifier.predict must be .* Got 0"):
        kernel.set_params(n_jobs=0).predict(X)
