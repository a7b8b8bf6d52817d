"""Khardon & Wachman's noise-tolerant perceptrons replay their oracle, by their public interface."""

import math
import re

import numpy as np
import pytest
import sample_problems
from hypothesis import given
from hypothesis import strategies as st
from noise_tolerant_replay import (
    AVERAGINGS,
    OF_ALL_SAMPLES,
    OPTIONS,
    SEEDS,
    SETTINGS,
    WHOLE,
    assert_replays,
    assert_same_fit,
    clouds,
    perceptron,
    problems_of_three,
    queries_of,
    replay,
    some,
    state,
    without_zero_rows,
)
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples

# These tests do not depend on whether a run ends with an epoch without updates.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHUFFLES = ["once", "epochs", "never"]


# ------------------------------------------------------------------------------------- the training loop


@some(AVERAGINGS)
@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS, shuffle=st.sampled_from(SHUFFLES))
def test_every_combination_of_options_replays_the_oracle(averaging, problem, seed, shuffle):
    X, y = problem
    queries = queries_of(X, seed)
    for options in OPTIONS:
        classifier = perceptron(
            **WHOLE, **options, **averaging, shuffle=shuffle, max_iter=7, random_state=seed
        )
        classifier.fit(X, y)
        assert_array_equal(classifier.classes_, [-1, 1])
        assert_replays(classifier, replay(classifier, X, y), queries, err_msg=str(options))


@some(AVERAGINGS)
@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS, kernel=st.sampled_from(["linear", "precomputed"]))
def test_weights_multiply_updates_and_votes_as_those_of_the_oracle(averaging, problem, seed, kernel):
    X, y = problem
    queries = queries_of(X, seed)
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 2.0, 3.0], len(X))
    weight[0] = 4 * len(X) - weight[1:].sum()  # their mean is 4, by which numbers are divided exactly
    gram = X @ X.T if kernel == "precomputed" else None
    for options in OPTIONS:
        classifier = perceptron(
            **WHOLE,
            **options,
            **averaging,
            shuffle="never",
            max_iter=7,
            kernel=kernel,
            random_state=seed,
        )
        classifier.fit(X if gram is None else gram, y, weight)
        problems = replay(classifier, X, y, gram, weight)
        if gram is None:
            assert_replays(classifier, problems, queries, err_msg=str(options))
        else:
            rows = queries @ X.T
            assert_replays(classifier, problems, rows, err_msg=str(options))


@some(AVERAGINGS)
@examples(10)
@given(
    problem=sample_problems.problems(),
    seed=SEEDS,
    fit_intercept=st.booleans(),
    theta_init=st.sampled_from([1.0, 2.0, 10.0]),
    intercept_scaling=st.sampled_from([0.0, 1.0, 3.0]),
    eta=st.sampled_from([0.25, 1.0, 2.0]),
    tau=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_thresholds_replay_the_oracle(
    averaging, problem, seed, fit_intercept, theta_init, intercept_scaling, eta, tau
):
    X, y = problem
    X = without_zero_rows(X)
    classifier = perceptron(
        theta_init=theta_init,
        intercept_scaling=intercept_scaling,
        fit_intercept=fit_intercept,
        eta=eta,
        tau=tau,
        max_iter=7,
        random_state=seed,
        **averaging,
    ).fit(X, y)
    assert_replays(classifier, replay(classifier, X, y), queries_of(X, seed))
    if not fit_intercept and hasattr(classifier, "intercept_"):
        assert_array_equal(classifier.intercept_, [0.0])


@some(AVERAGINGS)
@examples(15)
@given(
    problem=sample_problems.problems(max_samples=6),
    seed=SEEDS,
    alpha_bound=st.sampled_from([math.inf, 2]),
    shuffle=st.sampled_from(SHUFFLES),
)
def test_an_early_end_gives_the_result_of_all_epochs(averaging, problem, seed, alpha_bound, shuffle):
    X, y = problem
    params = {**WHOLE, **averaging, "alpha_bound": alpha_bound, "shuffle": shuffle}
    classifier = perceptron(**params, max_iter=60, random_state=seed).fit(X, y)
    assert_replays(classifier, replay(classifier, X, y), queries_of(X, seed))


@some(AVERAGINGS)
def test_votes_of_skipped_epochs_are_integers(averaging):
    X, y = np.array([[2.0], [-1.0], [3.0], [-2.0]]), np.array([1, -1, 1, -1])
    few, many = (
        perceptron(**averaging, shuffle="never", max_iter=max_iter).fit(X, y) for max_iter in (50, 10**9)
    )
    assert many.n_updates_ == few.n_updates_
    n_accesses = 3 if averaging["averaging"] == "tail" else 4
    if hasattr(many, "votes_"):
        assert_array_equal(many.votes_[0][:-1], few.votes_[0][:-1])
        assert many.votes_[0][-1] - few.votes_[0][-1] == n_accesses * (10**9 - 50)
    assert_array_equal(many.predict(X), y)


def test_classical_perceptron_is_the_default():
    expected = {
        "tau": 0.0,
        "lam": 0.0,
        "alpha_bound": math.inf,
        "eta": 1.0,
        "theta_init": 0.0,
        "intercept_scaling": 1.0,
        "averaging": "last",
        "weighting": "votes",
        "validation_fraction": 0.1,
        "shuffle": "epochs",
        "max_iter": 1000,
        "kernel": "linear",
        "degree": 3,
        "gamma": "scale",
        "coef0": 0.0,
        "cache_size": 200,
    }
    params = perceptron().get_params()
    assert {key: params[key] for key in expected} == expected


@pytest.mark.parametrize("shuffle", SHUFFLES)
@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS)
def test_default_perceptron_replays_the_oracle(shuffle, problem, seed):
    X, y = problem
    classifier = perceptron(shuffle=shuffle, max_iter=20, random_state=seed).fit(X, y)
    assert_replays(classifier, replay(classifier, X, y), queries_of(X, seed))


# ---------------------------------------------------------------------------- scales, and values by data


@pytest.mark.parametrize("tau", [0.0, 0.5])
@some(OF_ALL_SAMPLES)
def test_values_left_to_the_data_are_mean_squared_norms(averaging, tau):
    X, y = clouds(seed=3)
    mean = np.mean(np.sum(X**2, axis=1))
    params = {"tau": tau, "eta": 0.1, "max_iter": 10, "random_state": 0, **averaging}
    by_data = perceptron(theta_init=None, intercept_scaling=None, **params).fit(X, y)
    given_ = perceptron(theta_init=mean, intercept_scaling=math.sqrt(mean), **params).fit(X, y)
    half = perceptron(theta_init=None, intercept_scaling=math.sqrt(mean), **params).fit(X, y)
    assert by_data.n_updates_ == given_.n_updates_ == half.n_updates_ > 0
    for other in (given_, half):
        assert_allclose(by_data.decision_function(X), other.decision_function(X), rtol=1e-9, atol=1e-9)
    if hasattr(by_data, "coef_"):
        assert_allclose(by_data.coef_, given_.coef_, rtol=1e-9)
        assert_allclose(by_data.intercept_, given_.intercept_, rtol=1e-9)
    gram = perceptron(theta_init=None, intercept_scaling=None, kernel="precomputed", **params)
    gram.fit(X @ X.T, y)
    assert gram.n_updates_ == by_data.n_updates_
    assert_allclose(gram.decision_function(X @ X.T), by_data.decision_function(X), rtol=1e-9, atol=1e-9)


@some(AVERAGINGS)
@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS, factor=st.sampled_from([0.125, 4.0]))
def test_only_the_ratio_of_eta_to_theta_init_matters(averaging, problem, seed, factor):
    X, y = problem
    params = {"tau": 0.5, "intercept_scaling": 2.0, "max_iter": 7, "random_state": seed, **averaging}
    one = perceptron(eta=1.0, theta_init=4.0, lam=1.0, **params).fit(X, y)
    # The offset of the lambda-trick does not depend on eta, so it is scaled as well.
    other = perceptron(eta=factor, theta_init=4.0 * factor, lam=factor, **params).fit(X, y)
    assert other.n_updates_ == one.n_updates_
    queries = queries_of(X, seed)
    assert_array_equal(other.predict(queries), one.predict(queries))
    scale = 1 if averaging["averaging"] in ("voted", "tail") else factor
    assert_array_equal(other.decision_function(queries), scale * one.decision_function(queries))


# ----------------------------------------------------------------------------------- layouts and classes


@some(AVERAGINGS)
@examples(15)
@given(
    problem=sample_problems.problems(), seed=SEEDS, layout=st.sampled_from([*sample_problems.LAYOUTS])
)
def test_every_layout_gives_the_same_fit(averaging, problem, seed, layout):
    X, y = problem
    make = sample_problems.LAYOUTS[layout]
    params = {**WHOLE, **averaging, "tau": 0.5, "lam": 1.0, "max_iter": 7, "random_state": seed}
    expected = perceptron(**params).fit(X, y)
    classifier = perceptron(**params).fit(make(X), y)
    # A mean is not an integer: the rounding of its products depends on the layout.
    averaged = averaging["averaging"] == "averaged"
    assert_same_fit(classifier, expected, besides=["certificates_"] if averaged else [])
    queries = queries_of(X, seed)
    one, other = expected.decision_function(queries), classifier.decision_function(make(queries))
    if averaged:
        assert_allclose(other, one, rtol=1e-12, atol=1e-11)
    else:
        assert_array_equal(other, one)


@some(AVERAGINGS)
@SETTINGS
@given(problem=problems_of_three(), seed=SEEDS, options=st.sampled_from([OPTIONS[0], OPTIONS[-1]]))
def test_three_classes_are_three_problems_in_one_order(averaging, problem, seed, options):
    X, y = problem
    classifier = perceptron(**WHOLE, **options, **averaging, max_iter=7, random_state=seed).fit(X, y)
    assert_array_equal(classifier.classes_, ["ant", "bee", "cat"])
    queries = queries_of(X, seed)
    assert classifier.decision_function(queries).shape == (len(queries), 3)
    assert len(classifier.certificates_) == 3
    assert_replays(classifier, replay(classifier, X, y), queries)


@some(AVERAGINGS)
def test_threads_change_nothing(averaging):
    X, y = clouds(n_classes=4)
    params = {**averaging, "eta": 0.1, "theta_init": None, "max_iter": 20, "random_state": 0}
    alone, together = (perceptron(n_jobs=n_jobs, **params).fit(X, y) for n_jobs in (1, 4))
    assert_same_fit(together, alone)
    assert_array_equal(together.decision_function(X), alone.decision_function(X))


@some(AVERAGINGS)
def test_predictions_for_many_rows_are_complete(averaging):
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (60, 7)).astype(float)
    y = rng.choice([-1, 1], 60)
    classifier = perceptron(**WHOLE, **averaging, max_iter=30, random_state=0).fit(X, y)
    assert classifier.n_updates_ > 500  # nothing separates these
    queries = rng.integers(-9, 10, (3000, 7)).astype(float)
    problems = replay(classifier, X, y)
    assert_replays(classifier, problems, queries)
    if averaging["averaging"] in ("voted", "tail"):
        scores = classifier.decision_function(queries)
        assert_array_equal(scores, np.round(scores))
        for make in sample_problems.LAYOUTS.values():
            assert_array_equal(classifier.decision_function(make(queries)), scores)
        assert classifier.decision_function(queries[:1]).shape == (1,)
        assert_array_equal(classifier.decision_function(queries[:1]), scores[:1])
        assert_array_equal(
            classifier.support_vectors_[classifier.mistakes_[0]], X[problems[0][0].mistakes]
        )


def test_a_tie_of_votes_is_the_first_class():
    X, y = np.array([[1.0], [-1.0]]), np.array([-1, 1])
    classifier = perceptron(averaging="voted", fit_intercept=False, max_iter=5, shuffle="never").fit(
        X, y
    )
    assert_array_equal(classifier.decision_function([[0.0]]), [0.0])
    assert_array_equal(classifier.predict([[0.0]]), [-1])


# -------------------------------------------------------------------------------------------- parameters


NOT_ALLOWED = [
    ("tau", -1.0),
    ("tau", math.nan),
    ("tau", math.inf),
    ("tau", "0.5"),
    ("lam", -0.5),
    ("lam", math.nan),
    ("alpha_bound", 0),
    ("alpha_bound", -1),
    ("alpha_bound", 2**53 + 2),
    ("alpha_bound", math.nan),
    ("eta", 0.0),
    ("eta", -1.0),
    ("eta", math.inf),
    ("eta", None),
    ("theta_init", math.nan),
    ("theta_init", math.inf),
    ("theta_init", "mean"),
    ("intercept_scaling", -1.0),
    ("intercept_scaling", math.nan),
    ("intercept_scaling", "mean"),
    ("averaging", "first"),
    ("averaging", None),
    ("weighting", "mistakes"),
    ("validation_fraction", 0.0),
    ("validation_fraction", 1.0),
    ("validation_fraction", -0.1),
    ("shuffle", "always"),
    ("shuffle", True),
    ("max_iter", 0),
    ("max_iter", 1.5),
    ("kernel", "cosine"),
    ("kernel", None),
    ("degree", -1),
    ("gamma", -0.5),
    ("gamma", "best"),
    ("coef0", math.nan),
    ("cache_size", 0),
    ("fit_intercept", "yes"),
]


def test_a_parameter_not_allowed_is_named():
    X, y = clouds()
    for name, value in NOT_ALLOWED:
        classifier = perceptron(**{name: value})
        with pytest.raises(ValueError, match=rf"\b{name}\b.* Got {re.escape(repr(value))}\."):
            classifier.fit(X, y)
        assert not state(classifier), (name, value)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_margin_in_units_of_a_zero_theta_init_is_rejected(fit_intercept):
    X, y = clouds()
    classifier = perceptron(tau=0.5, theta_init=0.0, fit_intercept=fit_intercept)
    both = r"(?s)(?=.*\btau\b)(?=.*\btheta_init\b)"
    with pytest.raises(ValueError, match=both):
        classifier.fit(X, y)
    with pytest.raises(ValueError, match=both):
        classifier.partial_fit(X, y, classes=[0, 1])
