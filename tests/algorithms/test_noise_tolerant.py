"""Khardon & Wachman's noise-tolerant perceptrons replay their oracle, by their public interface."""

import math

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
    clouds,
    perceptron,
    problems_of_three,
    queries_of,
    replay,
    some,
    without_zero_rows,
)
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples

# These tests do not depend on whether a run ends with an epoch without updates.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHUFFLES = ["once", "epochs", "never"]


# ------------------------------------------------------------------------------------- the training loop


@some(AVERAGINGS)
@examples(3)
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
@examples(3)
@given(problem=sample_problems.problems(), seed=SEEDS, kernel=st.sampled_from(["linear", "precomputed"]))
def test_weights_multiply_updates_and_votes_as_in_the_oracle(averaging, problem, seed, kernel):
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
@examples(9)
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
    expected = {"tau": 0.0, "lam": 0.0, "alpha_bound": math.inf, "eta": 1.0, "theta_init": 0.0}
    expected |= {"intercept_scaling": 1.0, "averaging": "last", "shuffle": "epochs", "max_iter": 1000}
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
@examples(8)
@given(
    problem=sample_problems.problems(),
    seed=SEEDS,
    options=st.sampled_from([OPTIONS[0], OPTIONS[8], OPTIONS[-1]]),
)
def test_linear_kernel_gives_the_primal_run(averaging, problem, seed, options):
    X, y = problem
    queries = queries_of(X, seed)
    params = {**WHOLE, **options, **averaging, "max_iter": 7, "random_state": seed}
    primal = perceptron(**params).fit(X, y)
    by_call = perceptron(kernel=lambda A, B: A @ B.T, **params).fit(X, y)
    by_gram = perceptron(kernel="precomputed", **params).fit(X @ X.T, y)
    problems = replay(primal, X, y, gram=X @ X.T)
    rows = queries @ X.T
    assert_replays(by_call, problems, queries, rows)
    assert_replays(by_gram, problems, rows)
    for dual, points in ((by_call, queries), (by_gram, rows)):
        assert not hasattr(dual, "coef_")
        assert dual.n_updates_ == primal.n_updates_
        scores = primal.decision_function(queries)
        if averaging["averaging"] == "averaged":
            assert_allclose(dual.decision_function(points), scores, rtol=1e-12, atol=1e-11)
        else:
            assert_array_equal(dual.decision_function(points), scores)
        if hasattr(primal, "votes_"):
            assert_array_equal(dual.votes_[0], primal.votes_[0])
            assert_array_equal(dual.mistakes_[0], primal.mistakes_[0])
            assert_array_equal(dual.support_, primal.support_)


# ----------------------------------------------------------------------------------- layouts and classes


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
def test_predictions_for_many_rows_are_complete(averaging):
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (40, 7)).astype(float)
    y = rng.choice([-1, 1], 40)
    classifier = perceptron(**WHOLE, **averaging, max_iter=30, random_state=0).fit(X, y)
    assert classifier.n_updates_ > 300  # nothing separates these
    queries = rng.integers(-9, 10, (1500, 7)).astype(float)
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


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_margin_in_units_of_a_zero_theta_init_is_rejected(fit_intercept):
    X, y = clouds()
    classifier = perceptron(tau=0.5, theta_init=0.0, fit_intercept=fit_intercept)
    both = r"(?s)(?=.*\btau\b)(?=.*\btheta_init\b)"
    with pytest.raises(ValueError, match=both):
        classifier.fit(X, y)
    with pytest.raises(ValueError, match=both):
        classifier.partial_fit(X, y, classes=[0, 1])
